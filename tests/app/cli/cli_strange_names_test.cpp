// Names that a stranger chose: of folders, files, tokens and figures. They are printed so that no terminal obeys them,
// and what they cannot be written into says so before anything is computed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_locus.h"

namespace {

namespace fs = std::filesystem;
using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;
using nlohmann::json;

// Neither controls, but line ends, nor marks of direction, nor bytes that are no UTF-8.
void expect_plain(const std::string& text) {
  EXPECT_NO_THROW(static_cast<void>(json(text).dump())) << text;
  for (const char* const moving : {"\x1B", "\a", "\r", "\x7F", "\xC2\x9B", "\xE2\x80\xAE"}) {
    EXPECT_EQ(text.find(moving), std::string::npos) << text;
  }
}

class CliStrangeNames : public CheckpointTest {
 protected:
  static Outcome done(const std::vector<std::string>& words) {
    const Outcome outcome = run_locus(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    expect_plain(outcome.out);
    expect_plain(outcome.err);
    return outcome;
  }
};

TEST_F(CliStrangeNames, NoNameMovesATerminal) {
  const std::string strange = copy("\x1B[31mEVIL \xE2\x80\xAE\x7F\xC2\x9B");
  const Outcome info = done({"info", strange});
  EXPECT_NE(info.out.find("checkpoint      \\x1B[31mEVIL \\u202E\\x7F\\u009B\n"), std::string::npos) << info.out;
  EXPECT_TRUE(json::parse(done({"info", strange, "--json"}).out).contains("name"));
  done({"run", strange, "--text", "one"});
  done({"figure", "attention", strange, "--text", "one", "--data", strange + "/x\x1B.npy"});
  done({"evaluate", "text", strange, "--validate", file("corpus.txt")});
  const std::string trace = strange + "/t\x1B.safetensors";
  done({"run", strange, "--text", "one", "--trace", trace, "--keep", "q,k"});
  done({"figure", "attention", trace, "--data", file("x.npy")});
  done({"convert", path(), "--to", "f16", "--out", strange + "/c\x1B.safetensors"});
}

TEST_F(CliStrangeNames, AFolderThatIsNotUtf8) {
  const std::string strange = copy("\xFF\xFE");
  EXPECT_NE(done({"info", strange}).out.find("checkpoint      \\xFF\\xFE\n"), std::string::npos);
  done({"info", strange, "--json"});
  done({"run", strange, "--text", "one", "--trace", file("t.safetensors"), "--keep", "q,k"});
  done({"figure", "attention", file("t.safetensors"), "--data", file("x.npy")});
  done({"atlas", strange, "--corpus", file("corpus.txt"), "--windows", "2", "--length", "16", "--out",
        file("atlas.safetensors")});
  done({"info", file("atlas.safetensors")});
  // A figure has a recipe, which is text: one line, before anything runs.
  const std::string corpus = file("\xFF.txt");
  fs::copy_file(file("corpus.txt"), corpus);
  for (const std::vector<std::string>& words : {std::vector<std::string>{strange}, {path(), "--reference", strange}}) {
    std::vector<std::string> line{"figure", "attention"};
    line.insert(line.end(), words.begin(), words.end());
    line.insert(line.end(), {"--text", "one", "--data", file("refused.npy")});
    const Outcome refused = run_locus(line);
    expect_error(refused, 3, "\\xFF\\xFE: expected a path in UTF-8");
    EXPECT_FALSE(fs::exists(file("refused.npy")));
  }
  // Of files that a record names alone.
  done({"train", "text", "--corpus", corpus, "--steps", "2", "--layers", "1", "--heads", "1", "--width", "8",
        "--length", "8", "--threads", "1", "--out", file("\xFF.trained")});
  done({"evaluate", "text", strange, "--validate", corpus, "--record"});
  done({"train", "text", "--from", strange, "--corpus", corpus, "--steps", "2", "--length", "8", "--threads", "1",
        "--out", file("from")});
}

TEST_F(CliStrangeNames, LongNamesOfFiguresAreCut) {
  const std::string name(5000, 'a');
  const std::string state = R"("state": {"view": "attention", "layer": 0, "head": 0})";
  const std::string figure = R"({"name": ")" + name + R"(", "about": "x", "input": {"text": "one"}, )" + state + "}";
  const auto write = [&](const std::string& checkpoint) {
    std::ofstream(file("long.locus.json"))
        << R"({"locus": "session/1", "checkpoints": [{"path": ")" << checkpoint << R"(", "shown": true}], )"
        << R"("input": {"text": "one"}, )" << state << R"(, "bookmarks": [)" << figure << ", " << figure << "]}";
  };
  write(path());
  const Outcome drawn = run_program({"--figures", file("long"), file("long.locus.json")});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  for (const std::string& stem : {std::string(100, 'a'), std::string(100, 'a') + "-2"}) {
    EXPECT_TRUE(fs::exists(fs::path(file("long")) / (stem + ".png"))) << stem;
  }
  write("/nowhere/at/all");
  const Outcome missing = run_program({"--figures", file("long"), file("long.locus.json")});
  EXPECT_EQ(missing.status, 3);
  EXPECT_LT(missing.err.size(), 1500U) << missing.err;
}

}  // namespace
