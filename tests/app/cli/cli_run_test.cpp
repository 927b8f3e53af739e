#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/formats/tensor_source.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;
using nlohmann::json;

class CliRun : public CheckpointTest {};

TEST_F(CliRun, JsonHasTheFixedKeys) {
  const auto outcome = run_locus({"run", path(), "--text", "one two\n", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json run = json::parse(outcome.out);
  EXPECT_EQ(run.at("tokens").size(), 8U);
  EXPECT_EQ(run.at("input_ids"), json::parse("[111,110,101,32,116,119,111,10]"));
  EXPECT_EQ(run.at("tokens").at(3), "·");
  EXPECT_GT(run.at("time_ms").get<double>(), 0);
  EXPECT_GE(run.at("kept_mb").get<int>(), 0);
  EXPECT_GT(run.at("peak_mb").get<int>(), 20);  // LibTorch alone takes as much
  EXPECT_LT(run.at("peak_mb").get<int>(), 20000);
  EXPECT_FALSE(run.contains("memory_mb"));
  double last = 1;
  ASSERT_FALSE(run.at("top").empty());
  for (const json& top : run.at("top")) {
    EXPECT_LE(top.at("probability").get<double>(), last);
    last = top.at("probability").get<double>();
    EXPECT_TRUE(top.at("token").is_string());
    EXPECT_TRUE(top.at("id").is_number_integer());
  }
}

// A folder of sentence-transformers: the vector, the tokens' weights, and another text's cosine as transformers gives it.
TEST_F(CliRun, SentenceTransformersCompareTexts) {
  const std::string folder = locus::test::source_dir() + "/tests/golden/variants/sentence/mean-normalised";
  const auto outcome = run_locus({"run", folder, "--text", "a b c", "--similar-to", "a d", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json run = json::parse(outcome.out);
  EXPECT_EQ(run.at("vector").size(), 16U);
  EXPECT_EQ(run.at("token_weights"), json::parse("[0.2,0.2,0.2,0.2,0.2]").get<std::vector<float>>());
  EXPECT_EQ(run.at("similar_to"), "a d");
  const locus::test::Golden golden("variants/sentence/mean-normalised/expected");
  EXPECT_NEAR(run.at("cosine").get<double>(), golden["cosine"].item<double>(), 1e-5);
  const auto printed = run_locus({"run", folder, "--text", "a b c", "--similar-to", "a d"});
  EXPECT_NE(printed.out.find("vector of 16 numbers (mean over the tokens, scaled to length 1): "), std::string::npos);
  EXPECT_NE(printed.out.find("cosine similarity to a d: "), std::string::npos) << printed.out;
  expect_error(run_locus({"run", path(), "--text", "a", "--similar-to", "b"}), 4, "expected a folder of sentence-");
}

// Both halves of a folder: a picture beside several texts, with the logits that transformers gives.
TEST_F(CliRun, ComparesAPictureWithTexts) {
  for (const std::string name : {"clip", "siglip"}) {
    SCOPED_TRACE(name);
    const std::string folder = locus::test::source_dir() + "/tests/golden/variants/pairs/" + name;
    const std::vector<std::string> words{"run",          folder,  "--pixels",     folder + "/pixels.safetensors",
                                         "--similar-to", "a b c", "--similar-to", "d a"};
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const auto outcome = run_locus(with_json);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json run = json::parse(outcome.out);
    const locus::test::Golden golden("variants/pairs/" + name + "/expected");
    ASSERT_EQ(run.at("similar").size(), 2U);
    EXPECT_EQ(run.at("similar").at(1).at("text"), "d a");
    for (int n = 0; n < 2; ++n) {
      EXPECT_NEAR(run.at("similar").at(static_cast<std::size_t>(n)).at("logit").get<double>(),
                  golden["logits_per_image"][n].item<double>(), 1e-4);
    }
    EXPECT_EQ(run.at("vector").size(), static_cast<std::size_t>(golden["image_embeds"].numel()));
    const auto printed = run_locus(words);
    EXPECT_NE(printed.out.find("cosine similarity to d a: "), std::string::npos) << printed.out;
    EXPECT_NE(printed.out.find(", logit "), std::string::npos) << printed.out;
    const auto text =
        run_locus({"run", folder, "--half", "text", "--text", "a b c", "--similar-to", "a b c", "--json"});
    ASSERT_EQ(text.status, 0) << text.err;
    const json read = json::parse(text.out);
    EXPECT_EQ(read.at("tokens").size(), name == "clip" ? 5U : 12U);
    EXPECT_NEAR(read.at("cosine").get<double>(), 1, 1e-6);
    EXPECT_FALSE(read.at("similar").at(0).contains("logit"));
    const json info = json::parse(run_locus({"info", folder, "--half", "text", "--json"}).out);
    EXPECT_EQ(info.at("half"), "text");
    EXPECT_FALSE(info.at("image").get<bool>());
  }
  const std::string folder = locus::test::source_dir() + "/tests/golden/variants/pairs/clip";
  expect_error(run_locus({"run", folder, "--text", "a"}), 3, "its text half does");
  expect_error(run_locus({"run", folder, "--half", "sound", "--text", "a"}), 2, "sound");
  expect_error(run_locus({"run", path(), "--half", "text", "--text", "a"}), 4, "text half: expected clip");
}

// A discriminator gives each token one number; what reads predictions says that there are none.
TEST_F(CliRun, DiscriminatorsScoreEachToken) {
  const std::string folder = locus::test::source_dir() + "/tests/golden/families/electra-discriminator";
  const std::vector<std::string> words{"run", folder, "--ids", "5,9,13,2"};
  const auto printed = run_locus(words);
  ASSERT_EQ(printed.status, 0) << printed.err;
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = printed.out.find(" % replaced ", at)) != std::string::npos; ++at) {
    ++lines;
  }
  EXPECT_EQ(lines, 4U) << printed.out;
  const auto outcome = run_locus({"run", folder, "--ids", "5,9,13,2", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json run = json::parse(outcome.out);
  EXPECT_EQ(run.at("token_scores").size(), 4U);
  EXPECT_TRUE(run.at("top").empty());
  EXPECT_FALSE(json::parse(run_locus({"run", path(), "--text", "one", "--json"}).out).contains("token_scores"));

  const std::string trace = file("scores.safetensors");
  const auto kept = run_locus({"run", folder, "--ids", "5,9,13,2", "--trace", trace, "--keep", "logits,q,k"});
  ASSERT_EQ(kept.status, 0) << kept.err;
  const auto source = locus::formats::open_tensors(trace);
  ASSERT_TRUE(source.ok());
  ASSERT_NE((*source)->find("logits"), nullptr);
  EXPECT_EQ((*source)->find("logits")->shape, (std::vector<std::int64_t>{4, 1}));

  const std::string out = file("view.png");
  for (const char* const view : {"logit-lens", "logit-attribution", "knock-out"}) {
    const auto refused = run_locus({"figure", view, folder, "--ids", "5,9,13,2", "--out", out});
    expect_error(refused, 4, "gives each token one number and predicts no token");
  }
  EXPECT_EQ(run_locus({"figure", "attention", folder, "--ids", "5,9,13,2", "--out", out}).status, 0);
}

TEST_F(CliRun, IdsAndTextAreTheSameInput) {
  const auto ids = run_locus({"run", path(), "--ids", "111,110,101", "--json"});
  const auto text = run_locus({"run", path(), "--text", "one", "--json"});
  ASSERT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(json::parse(ids.out).at("top"), json::parse(text.out).at("top"));
}

TEST_F(CliRun, TextComesThroughPipes) {
  const std::string text = run_locus({"run", path(), "--text", "one two\n", "--json"}).out;
  const std::string expected = json::parse(text).at("input_ids").dump();
  const auto expect_same = [&](const std::string& before, const std::string& name) {
    const auto outcome = run_program({"run", path(), "--text-file", name, "--json"}, before);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out).at("input_ids").dump(), expected) << before << name;
  };
  const std::string pipe = file("pipe");
  const std::string written = file("two.txt");
  std::ofstream(written) << "one two\n";
  expect_same("printf 'one two\\n' | ", "-");
  expect_same("printf 'one two\\n' | ", "/dev/stdin");
  expect_same("< '" + written + "' ", "-");
  expect_same("mkfifo '" + pipe + "'; cat '" + written + "' > '" + pipe + "' & ", pipe);
  expect_error(run_program({"run", path(), "--text-file", "-"}, "true | "), 3, "empty");
}

TEST_F(CliRun, WritesATrace) {
  const std::string trace = file("trace.safetensors");
  const auto outcome = run_locus({"run", path(), "--text", "one two", "--trace", trace, "--keep", "attention,logits"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto source = locus::formats::open_tensors(trace);
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_EQ((*source)->metadata().at("locus.format"), "trace/1");
  const auto shape = [&source](const std::string& name) {
    const auto* const tensor = (*source)->find(name);
    return tensor == nullptr ? std::vector<std::int64_t>{} : tensor->shape;
  };
  EXPECT_EQ(shape("input_ids"), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(shape("logits"), (std::vector<std::int64_t>{7, 256}));
  EXPECT_EQ(shape("layers.0.attention"), (std::vector<std::int64_t>{2, 7, 7}));
  EXPECT_EQ(shape("layers.1.attention"), (std::vector<std::int64_t>{2, 7, 7}));
}

TEST_F(CliRun, GeneratesGreedily) {
  const auto one = run_locus({"run", path(), "--text", "one two", "--generate", "3", "--json"});
  ASSERT_EQ(one.status, 0) << one.err;
  const json run = json::parse(one.out);
  ASSERT_EQ(run.at("generated").at("ids").size(), 3U);
  EXPECT_EQ(run.at("generated").at("text").get<std::string>().size(), 3U);
  // The trace covers the continuation, and each id is the likeliest after those before it.
  ASSERT_EQ(run.at("input_ids").size(), 10U);
  std::string text = "one two";
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(run.at("input_ids").at(7 + n), run.at("generated").at("ids").at(n));
    const auto step = run_locus({"run", path(), "--text", text, "--json"});
    ASSERT_EQ(step.status, 0) << step.err;
    EXPECT_EQ(run.at("generated").at("ids").at(n), json::parse(step.out).at("top").at(0).at("id"));
    text += run.at("generated").at("text").get<std::string>()[n];
  }
}

TEST_F(CliRun, DrawsFollowTheirSeed) {
  const auto drawn = [this](const char* seed) {
    const auto outcome =
        run_locus({"run", path(), "--text", "one", "--generate", "30", "--temperature", "2", "--seed", seed, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out).at("generated").at("ids");
  };
  EXPECT_EQ(drawn("4"), drawn("4"));
  EXPECT_NE(drawn("4"), drawn("5"));
}

TEST_F(CliRun, RefusesMapsThatDoNotFitBeforeMakingThem) {
  expect_error(run_locus({"--memory-limit-mb", "40", "run", path(), "--text", std::string(3000, 'a'), "--trace",
                          file("maps.safetensors"), "--keep", "attention"}),
               5, "tokens would fit");
}

TEST_F(CliRun, RefusesMoreThanTheMemoryLimit) {
  expect_error(run_locus({"--memory-limit-mb", "1", "run", path(), "--ids",
                          [] {
                            std::string ids = "1";
                            for (int n = 0; n < 60000; ++n) {
                              ids += ",1";
                            }
                            return ids;
                          }()}),
               5);
}

}  // namespace
