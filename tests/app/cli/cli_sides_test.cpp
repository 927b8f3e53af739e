// Encoder–decoders on the command line: their three sides in runs, traces, figures and files, and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/formats/tensor_source.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using nlohmann::json;

constexpr const char* kEncoderIds = "5,9,13,2,7,44,60,3,18,21,33,8,1";
constexpr const char* kDecoderIds = "0,4,8,15,16,23";

class CliSides : public CheckpointTest {
 protected:
  static std::string t5() {
    return (std::filesystem::path(locus::test::source_dir()) / "tests/golden/families/t5").string();
  }
  // The values of a map as `figure` writes them, where it has this shape.
  std::vector<float> values(std::vector<std::string> words, const std::string& shape) {
    const std::string npy = file("map.npy");
    words.insert(words.end(), {"--data", npy});
    const auto outcome = run_locus(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::string bytes = read_text(npy);
    EXPECT_NE(bytes.find("'shape': (" + shape + ")"), std::string::npos) << bytes.substr(0, 128);
    const std::size_t header = 10 + static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
    std::vector<float> numbers((bytes.size() - header) / sizeof(float));
    std::memcpy(numbers.data(), bytes.data() + header, numbers.size() * sizeof(float));
    return numbers;
  }
};

TEST_F(CliSides, InfoNamesTheEncoder) {
  const auto text = run_locus({"info", t5()});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("encoder         2 layers"), std::string::npos) << text.out;
  EXPECT_EQ(text.err, "");
  const json info = json::parse(run_locus({"info", t5(), "--json"}).out);
  EXPECT_EQ(info.at("encoder_layers"), 2);
  EXPECT_EQ(info.at("layers"), 2);
  EXPECT_EQ(info.at("causal"), true);
  EXPECT_EQ(json::parse(run_locus({"info", path(), "--json"}).out).at("encoder_layers"), 0);
}

TEST_F(CliSides, RunsBothSidesAndContinuesTheDecoder) {
  const auto start = run_locus({"run", t5(), "--ids", kEncoderIds, "--json"});
  ASSERT_EQ(start.status, 0) << start.err;
  EXPECT_EQ(json::parse(start.out).at("input_ids").size(), 13U);
  EXPECT_EQ(json::parse(start.out).at("decoder_input_ids"), json::parse("[0]"));
  const auto made = run_locus({"run", t5(), "--ids", kEncoderIds, "--generate", "3", "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const json ids = json::parse(made.out).at("generated").at("ids");
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(json::parse(start.out).at("top").at(0).at("id"), ids.at(0));
  std::string so_far = "0";
  for (std::size_t n = 0; n < 2; ++n) {
    so_far += "," + ids.at(n).dump();
    const auto next = run_locus({"run", t5(), "--ids", kEncoderIds, "--decoder-ids", so_far, "--json"});
    ASSERT_EQ(next.status, 0) << next.err;
    EXPECT_EQ(json::parse(next.out).at("top").at(0).at("id"), ids.at(n + 1)) << n;
  }
  const auto text = run_locus({"run", t5(), "--ids", kEncoderIds, "--decoder-ids", kDecoderIds});
  EXPECT_NE(text.out.find("encoder: 13 tokens: 5 9"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("decoder: 6 tokens: 0 4"), std::string::npos) << text.out;
}

TEST_F(CliSides, FiguresShowEachSide) {
  const std::vector<std::string> map{"figure",    "attention", t5(), "--ids",  kEncoderIds, "--decoder-ids",
                                     kDecoderIds, "--layer",   "1",  "--head", "2"};
  const auto side = [&](const std::string& name) {
    std::vector<std::string> words = map;
    words.insert(words.end(), {"--side", name});
    return words;
  };
  const std::vector<float> own = values(map, "6, 6");
  EXPECT_EQ(values(side("decoder"), "6, 6"), own);
  EXPECT_EQ(own[1], 0);  // a decoder's queries see no later keys
  const std::vector<float> cross = values(side("cross"), "6, 13");
  const std::vector<float> encoder = values(side("encoder"), "13, 13");
  for (const auto& [numbers, keys] : {std::pair(&own, 6U), std::pair(&cross, 13U), std::pair(&encoder, 13U)}) {
    for (std::size_t row = 0; row < numbers->size() / keys; ++row) {
      float sum = 0;
      for (std::size_t key = 0; key < keys; ++key) {
        sum += (*numbers)[row * keys + key];
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  // Rows of kept queries below the map are over the encoder's keys.
  std::vector<std::string> kept = side("cross");
  kept.insert(kept.end(), {"--option", "queries=1 5", "--out", file("kept.svg")});
  const auto drawn = run_locus(kept);
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  // All heads, and as named columns of a CSV file.
  values({"figure", "attention-grid", t5(), "--ids", kEncoderIds, "--decoder-ids", kDecoderIds, "--side", "cross"},
         "2, 4, 6, 13");
  const std::string csv = file("map.csv");
  std::vector<std::string> words = side("cross");
  words.insert(words.end(), {"--data", csv});
  ASSERT_EQ(run_locus(words).status, 0);
  EXPECT_NE(read_text(csv).find("5,9,13,2,7"), std::string::npos) << read_text(csv);  // the encoder's tokens

  // The recipe beside the data says the side, and makes the same again.
  const std::string npy = file("first.npy");
  words = side("cross");
  words.insert(words.end(), {"--data", npy});
  ASSERT_EQ(run_locus(words).status, 0);
  const json recipe = json::parse(read_text(npy + ".recipe.json"));
  EXPECT_EQ(recipe.at("state").at("side"), "cross");
  EXPECT_EQ(recipe.at("input").at("decoder_ids").size(), 6U);
  EXPECT_EQ(values({"figure", "--recipe", npy + ".recipe.json"}, "6, 13"), cross);
}

TEST_F(CliSides, TracesHoldAllSidesAndOpenAgain) {
  for (const std::string keep : {"attention", "q,k", "all"}) {
    SCOPED_TRACE(keep);
    const std::string trace = file("t5.safetensors");
    const auto run =
        run_locus({"run", t5(), "--ids", kEncoderIds, "--decoder-ids", kDecoderIds, "--trace", trace, "--keep", keep});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto source = locus::formats::open_tensors(trace);
    ASSERT_TRUE(source.ok()) << source.error().describe();
    const auto shape = [&](const std::string& name) {
      const auto* const tensor = (*source)->find(name);
      return tensor == nullptr ? std::vector<std::int64_t>() : tensor->shape;
    };
    using Shape = std::vector<std::int64_t>;
    EXPECT_EQ(shape("input_ids"), Shape{13});
    EXPECT_EQ(shape("decoder_input_ids"), Shape{6});
    if (keep != "q,k") {
      EXPECT_EQ(shape("encoder.layers.1.attention"), (Shape{4, 13, 13}));
      EXPECT_EQ(shape("decoder.layers.1.attention"), (Shape{4, 6, 6}));
      EXPECT_EQ(shape("decoder.layers.1.cross_attention"), (Shape{4, 6, 13}));
    }
    if (keep == "all") {
      EXPECT_EQ(shape("logits"), (Shape{6, 61}));
      EXPECT_EQ(shape("encoder.hidden"), (Shape{13, 32}));
    }
    const auto verified =
        run_locus({"verify", t5(), "--ids", kEncoderIds, "--decoder-ids", kDecoderIds, "--against", trace});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    EXPECT_NE(verified.out.find("decoder.layers.1.cross_attention"), std::string::npos) << verified.out;
    EXPECT_NE(verified.out.find("encoder.layers.0.attention"), std::string::npos) << verified.out;
    for (const auto& [name, size] :
         {std::pair("decoder", "6, 6"), std::pair("encoder", "13, 13"), std::pair("cross", "6, 13")}) {
      const std::vector<std::string> kept{"figure", "attention", trace, "--layer", "1", "--head", "3", "--side", name};
      const std::vector<std::string> made{"figure",    "attention", t5(), "--ids",  kEncoderIds, "--decoder-ids",
                                          kDecoderIds, "--layer",   "1",  "--head", "3",         "--side",
                                          name};
      const std::vector<float> read = values(kept, size);
      const std::vector<float> own = values(made, size);
      ASSERT_EQ(read.size(), own.size());
      for (std::size_t n = 0; n < own.size(); ++n) {
        EXPECT_NEAR(read[n], own[n], 1e-5) << name;
      }
    }
    expect_error(run_locus({"figure", "attention", trace, "--ids", kDecoderIds, "--data", file("x.npy")}), 2, "--ids");
  }
}

TEST_F(CliSides, RefusesWhatMakesNoSense) {
  const std::string out = file("x.npy");
  expect_error(run_locus({"figure", "attention", t5(), "--ids", "1", "--side", "both", "--data", out}), 2, "--side");
  expect_error(run_locus({"figure", "heads", t5(), "--ids", kEncoderIds, "--side", "cross", "--data", file("x.csv")}),
               4, "heads");
  expect_error(run_locus({"figure", "length-curve", t5(), "--ids", kEncoderIds, "--data", file("x.csv")}), 4,
               "encoder-decoder");
  expect_error(run_locus({"run", t5(), "--ids", "1", "--decoder-ids", "1,x"}), 2, "--decoder-ids");
  expect_error(run_locus({"run", t5(), "--ids", "1", "--decoder-ids", ""}), 3, "--decoder-ids");
  expect_error(run_locus({"run", t5(), "--ids", "1", "--decoder-ids", "61"}), 3, "decoder: token 0");
  expect_error(run_locus({"run", t5(), "--ids", "1", "--decoder-ids", "1", "--decoder-text", "a"}), 2,
               "--decoder-text");
  expect_error(run_locus({"run", t5(), "--decoder-ids", "1"}), 2, "--ids");
  expect_error(run_locus({"run", t5(), "--ids", "1", "--decoder-text", "a"}), 3, "no tokenizer");
}

}  // namespace
