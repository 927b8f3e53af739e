// Which layers another base or scaling reaches: what transformers 5.24 gives where the RoPE of these layers alone is
// changed, in rope_parameters of config.json or in the layers' own cosines and sines.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/base/numbers.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr double kLayersTolerance = 1e-4;

fs::path folder_of(const std::string& family) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "families" / family;
}

// "linear:2@local", or "500@1": a base.
models::OpenOptions options_of(const std::string& words) {
  const std::size_t sign = words.find('@');
  const std::string value = words.substr(0, sign);
  const std::string layers = sign == std::string::npos ? "" : words.substr(sign + 1);
  models::OpenOptions options;
  if (const auto base = parse_number<double>(value)) {
    options.overrides = {base, "", layers, ""};
  } else {
    options.overrides = {std::nullopt, value, "", layers};
  }
  return options;
}

TEST(WhatIfLayers, ObeyAsTheReferencesDo) {
  const test::Golden golden("what_if_layers");
  std::set<std::string> names;
  for (const auto& [array, unused] : golden.arrays()) {
    names.insert(array.substr(0, array.rfind(' ')));
  }
  ASSERT_EQ(names.size(), 13U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string family = name.substr(0, name.find(' '));
    const test::Golden plain("families/" + family + "/expected");
    const auto model = test::open_model(folder_of(family), options_of(name.substr(name.find(' ') + 1)));
    ASSERT_NE(model, nullptr);
    models::Input input;
    input.ids = test::ids_of(plain["input_ids"]);
    models::RunOptions options;
    options.all_logits = true;
    const auto trace = model->run(input, options);
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    const models::TraceData data = test::recorded(**trace);
    EXPECT_CLOSE(data.logits, golden[name + " logits"], kLayersTolerance);
    EXPECT_GT(test::deviation(data.logits, plain["logits"]), 100 * kLayersTolerance);
    for (std::size_t n = 0; n < data.layers.size(); ++n) {
      const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
      ASSERT_TRUE(map.ok());
      EXPECT_CLOSE(*map, golden[name + " layers." + std::to_string(n) + ".attention"], kLayersTolerance)
          << "layer " << n;
    }
  }
}

// What was applied names its layers where not all that turn obey, as a column's title says it.
TEST(WhatIfLayers, AreNamedByWhatWasApplied) {
  const auto label = [](const char* family, const std::string& words) {
    const auto model = test::open_model(folder_of(family), options_of(words));
    return model == nullptr ? "" : models::label_of(model->info().overrides);
  };
  EXPECT_EQ(label("gemma3_text", "linear:2.0"), " linear:2@global");
  EXPECT_EQ(label("gemma3_text", "500"), " base 500@global");
  EXPECT_EQ(label("gemma3_text", "500@local"), " base 500@local");
  EXPECT_EQ(label("gemma3_text", "500@3,1,0"), " base 500@local");
  EXPECT_EQ(label("gemma3_text", "500@0,2"), " base 500@0,2");
  EXPECT_EQ(label("gemma3_text", "500@0,1,2,3"), " base 500");
  EXPECT_EQ(label("gemma3_text", "100@0"), "");  // as it is
  EXPECT_EQ(label("gemma2", "500"), " base 500");
  EXPECT_EQ(label("gemma2", "500@global"), " base 500@global");
  EXPECT_EQ(label("cohere2", "500"), " base 500");
  EXPECT_EQ(label("smollm3", "500@global"), " base 500");
  const auto both = test::open_model(folder_of("gemma2"), {.overrides = {500.0, "linear:2", "local", ""}});
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(models::label_of(both->info().overrides), " base 500@local linear:2");
  EXPECT_EQ(models::layer_text(both->info(), 0), "rope base=500 scaling=linear, window 5");
  EXPECT_EQ(models::layer_text(both->info(), 1), "rope base=10000 scaling=linear");
  const auto info = test::open_model(folder_of("gemma3_text"))->info();
  EXPECT_EQ(models::usual_layers(info), "global");
  EXPECT_EQ(models::turning_encoding(info)->options.number("base", 0).value(), 20000);
  EXPECT_EQ(models::turning_encoding(info, "local")->options.number("base", 0).value(), 100);
  EXPECT_EQ(models::turning_encoding(info, "7"), nullptr);
  EXPECT_EQ(models::usual_layers(test::open_model(folder_of("gemma2"))->info()), "");
}

TEST(WhatIfLayers, RefusesThoseThatDoNotTurn) {
  const auto refusal = [](const fs::path& folder, const std::string& words, ErrorCode code) {
    const auto model = test::open(folder, options_of(words));
    EXPECT_FALSE(model.ok()) << words;
    EXPECT_EQ(model.error().code, code) << words;
    return model.ok() ? "" : model.error().describe();
  };
  EXPECT_EQ(refusal(folder_of("gemma3_text"), "500@4", ErrorCode::kUsage),
            "rope base: expected @global, @local or layers from 0 to 3 as in @0,2, found @4");
  EXPECT_EQ(refusal(folder_of("gemma3_text"), "linear:2@0,,1", ErrorCode::kUsage),
            "rope scaling: expected @global, @local or layers from 0 to 3 as in @0,2, found @0,,1");
  EXPECT_EQ(refusal(folder_of("cohere2"), "500@3", ErrorCode::kUnsupported), "rope base: layer 3 has no base");
  EXPECT_EQ(refusal(folder_of("cohere2"), "linear:2@global", ErrorCode::kUnsupported),
            "rope scaling: no global layer has a scaling");
  EXPECT_EQ(refusal(folder_of("smollm3"), "500@local", ErrorCode::kUnsupported),
            "rope base: no local layer has a base");
  const fs::path tape = fs::path(test::source_dir()) / "assets" / "checkpoints" / "text-tape";
  EXPECT_NE(refusal(tape, "500@1", ErrorCode::kUnsupported).find("the layers share what tape has learned"),
            std::string::npos);
}

// Positions without a run are those of the layer that is asked, whichever layers obey in a run.
TEST(WhatIfLayers, APositionTableIsOfItsOwnLayer) {
  const auto model = test::open_model(folder_of("gemma3_text"));
  ASSERT_NE(model, nullptr);
  for (const std::int64_t layer : {0, 2}) {
    const auto products = [&](std::optional<double> base) {
      const auto table = model->position_table({.length = 9, .overrides = {base, ""}}, layer);
      EXPECT_TRUE(table.ok()) << table.error().describe();
      return (*table)->dot_product(0, {0, 9}, {0, 9}, {}).value();
    };
    const auto slow = products(5000);
    EXPECT_NE(slow.at(0, 8), products({}).at(0, 8)) << "layer " << layer;
    EXPECT_NEAR(slow.at(0, 0), products({}).at(0, 0), 1e-5);
  }
}

}  // namespace
}  // namespace locus
