// Weights, edits and limits that leave no numbers: one line and exit status 3, or a warning that says what was done.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;
namespace fs = std::filesystem;

class CliNumbers : public CheckpointTest {
 protected:
  // Sets one number of a float32 tensor of a safetensors file.
  static void set(const fs::path& file, const std::string& tensor, float value) {
    std::string bytes = read_text(file);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const auto header = nlohmann::json::parse(bytes.substr(8, length));
    const auto offset = header.at(tensor).at("data_offsets").at(0).get<std::size_t>();
    std::memcpy(bytes.data() + 8 + length + offset, &value, sizeof value);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  static std::string bundled(const std::string& name) {
    return locus::test::source_dir() + "/assets/checkpoints/" + name;
  }
  static std::vector<std::string> words(std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  // Ends well, with one warning that has these words, and says nothing of NaN.
  static void expect_warned(const Outcome& outcome, const std::string& warning) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("locus: warning: ", 0), 0U) << outcome.err;
    EXPECT_NE(outcome.err.find(warning), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos) << outcome.out;
  }
};

TEST_F(CliNumbers, AWeightThatIsNoneIsAnError) {
  const fs::path folder = copy("none");
  set(folder / "model.safetensors", "model.layers.1.self_attn.q_proj.weight", std::nanf(""));
  const std::string data = file("none.npy");
  const std::vector<std::string> text{"--text", "one two"};
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", folder.string()},
                                                  {"run", folder.string(), "--json"},
                                                  {"run", folder.string(), "--generate", "2"},
                                                  {"run", folder.string(), "--trace", file("none.safetensors")},
                                                  {"verify", folder.string()},
                                                  {"effect", folder.string(), "--edit", "head 0.1 zero"},
                                                  {"figure", "attention", folder.string(), "--data", data},
                                                  {"figure", "heads", folder.string(), "--data", data},
                                                  {"figure", "logit-lens", folder.string(), "--data", data}}) {
    SCOPED_TRACE(command.at(0) + " " + command.at(1));
    const Outcome outcome = run_locus(words(command, text));
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("locus: error: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("layer 1: expected finite"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(data));
  EXPECT_FALSE(fs::exists(file("none.safetensors")));
}

TEST_F(CliNumbers, ScoresThatOverflowAreHeldWithAWarning) {
  for (const char* edit : {"scale 0.0 by 1e308", "scale 0.0 by 1e300", "bias 0.0 1e300*d", "bias 0.1 exp(60*d)"}) {
    SCOPED_TRACE(edit);
    const std::string data = file("held.npy");
    expect_warned(run_locus({"run", path(), "--text", "one two three", "--edit", edit, "--json"}),
                  "edits: layer 0: scores overflow");
    expect_warned(run_locus({"figure", "attention", path(), "--text", "one two three", "--edit", edit, "--data", data}),
                  "edits: layer 0: scores overflow");
    const Outcome verified = run_locus({"verify", path(), "--text", "one two three", "--edit", edit});
    EXPECT_EQ(verified.status, 0) << verified.err << verified.out;
  }
}

TEST_F(CliNumbers, WhichEditOfAHeadDecidesIsSaid) {
  expect_warned(run_locus({"run", path(), "--text", "one two", "--edit", "head 1.0 zero", "--edit", "bias 1.0 d",
                           "--edit", "scale 1.0 by 5"}),
                "edits: \"head 1.0 zero\" decides over layer 1, head 0: \"bias 1.0 d\", \"scale 1.0 by 5\" have no "
                "effect there");
}

// Positions of CoPE that are no numbers: by an edit, by a weight, in a trace of such a run.
TEST_F(CliNumbers, CopeWithoutNumbersEndsInALine) {
  const std::string trace = file("cope.safetensors");
  const Outcome edited = run_locus({"run", bundled("text-cope"), "--text", "one two three four five", "--edit",
                                    "bias 0.0 exp(d*5)", "--edit", "bias 1.1 -d", "--trace", trace, "--keep", "all"});
  EXPECT_EQ(edited.status, 0) << edited.err;
  const Outcome shown = run_locus({"figure", "attention", trace, "--head", "0", "--data", file("cope.npy")});
  EXPECT_EQ(shown.status, 0) << shown.err;
  set(trace, "layers.1.k", std::nanf(""));
  for (const char* view : {"attention", "positions", "gates", "heads"}) {
    const Outcome outcome =
        run_locus({"figure", view, trace, "--layer", "1", "--head", "0", "--data", file("cope.npy")});
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 3) << view << outcome.err;
  }
}

TEST_F(CliNumbers, ALimitOnTheSizeOfFilesIsAnError) {
  const std::string trace = file("limited.safetensors");
  const Outcome outcome =
      run_program({"run", path(), "--text", "one two three", "--trace", trace, "--keep", "all"}, "ulimit -f 4; ");
  expect_error(outcome, 3, "File too large");
  EXPECT_FALSE(fs::exists(trace));
}

TEST_F(CliNumbers, ALockThatIsALinkIsAnError) {
  const fs::path out = file("linked");
  fs::create_directories(out);
  fs::create_symlink("nowhere", out / "training.lock");
  expect_error(run_locus({"train", "flip-flop", "--steps", "1", "--out", out.string()}), 3, "found a symbolic link");
}

TEST_F(CliNumbers, KernelsAreChosenByTheEnvironment) {
  const Outcome plain = run_program({"info", path()}, "LOCUS_KERNELS=plain OPENBLAS_CORETYPE=Prescott ");
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_EQ(plain.err, "") << "kernels as narrow as the program's own are no surprise";
  EXPECT_NE(plain.out.find("; own kernels plain; "), std::string::npos) << plain.out;
  const Outcome json = run_program({"info", path(), "--json"}, "LOCUS_KERNELS=plain ");
  EXPECT_EQ(nlohmann::json::parse(json.out).at("runtime").at("own_kernels"), "plain");
  expect_error(run_program({"info", path()}, "LOCUS_KERNELS=sse9 "), 2,
               "LOCUS_KERNELS: expected plain, avx2, avx512 or amx, found sse9");
}

}  // namespace
