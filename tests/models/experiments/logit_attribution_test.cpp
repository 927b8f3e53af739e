// Parts of a logit: they sum to it whatever the model's shape, and each is what brute force says.
#include "models/api/logit_attribution.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "tests/models/edits/twins.h"
#include "tests/support/bundled.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/layouts.h"
#include "tests/support/pictured_text.h"

namespace locus::test {
namespace {

constexpr const char* kText = "The cat sat on the mat, and the dog sat on the cat; then both of them slept.";

models::Input text() {
  models::Input input;
  input.text = kText;
  return input;
}

double sum_of(const models::LogitAttribution& made) {
  double sum = 0;
  for (std::int64_t layer = 0; layer < made.heads.rows; ++layer) {
    const auto row = made.heads.values.begin() + layer * made.heads.columns;
    const bool attends = !std::isnan(*row);  // else every head of the layer is NaN
    EXPECT_EQ(std::count_if(row, row + made.heads.columns, [](float value) { return std::isnan(value); }),
              attends ? 0 : made.heads.columns);
    sum += attends ? std::accumulate(row, row + made.heads.columns, 0.0) : 0;
  }
  sum += std::accumulate(made.feed_forwards.begin(), made.feed_forwards.end(), 0.0);
  sum += std::accumulate(made.biases.begin(), made.biases.end(), 0.0);
  sum += std::accumulate(made.mixers.begin(), made.mixers.end(), 0.0);
  for (const auto& [name, value] : made.ends) {
    sum += value;
  }
  return sum;
}

models::LogitAttribution attribution(const models::Model& model, const models::Trace& trace,
                                     const models::AttributionOptions& options = {}) {
  const auto made = models::logit_attribution(model, trace, options);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().describe());
  return made.ok() ? *made : models::LogitAttribution{};
}

// The parts sum to the logits of the run itself, here as run() gives them.
void expect_sums(const models::Model& model, const models::Input& input) {
  models::RunOptions run;
  run.all_logits = true;
  const auto trace = model.run(input, run);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const at::Tensor logits = models::recorded_of(**trace)->data().logits.to(at::kDouble);
  const bool image = model.info().image;
  for (const std::int64_t at : image ? std::vector<std::int64_t>{-1} : std::vector<std::int64_t>{-1, 2, 0}) {
    const at::Tensor row = logits[image ? 0 : at < 0 ? logits.size(0) - 1 : at];
    for (const std::int64_t token : {std::int64_t{-1}, std::int64_t{1}}) {
      const double wanted = token < 0 ? row.max().item<double>() : row[token].item<double>();
      models::AttributionOptions options{token, -1, at};
      const models::LogitAttribution one = attribution(model, **trace, options);
      EXPECT_NEAR(one.logit, wanted, 1e-4 * (1 + std::abs(wanted)));
      EXPECT_NEAR(sum_of(one), one.logit, 1e-4 * (1 + std::abs(one.logit))) << "at " << at;
      options.centred = true;
      const double mean = row.mean().item<double>();
      const models::LogitAttribution above = attribution(model, **trace, options);
      EXPECT_NEAR(above.logit, wanted - mean, 1e-4 * (1 + std::abs(wanted) + std::abs(mean)));
      EXPECT_NEAR(sum_of(above), above.logit, 1e-4 * (1 + std::abs(wanted) + std::abs(mean))) << "at " << at;
      options.against = 2;
      const models::LogitAttribution both = attribution(model, **trace, options);
      const double less = row[2].item<double>();
      EXPECT_NEAR(both.logit, wanted - less, 1e-4 * (1 + std::abs(wanted) + std::abs(less)));
      EXPECT_NEAR(sum_of(both), both.logit, 1e-4 * (1 + std::abs(both.logit))) << "at " << at;
    }
  }
}

TEST(LogitAttribution, PartsSumToTheLogitOnEveryLayout) {
  std::set<std::string> refused;
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const TemporaryFolder folder;
    const WrittenLayout written = write_layout(layout, folder.path());
    const auto model = open_model(written.path);
    ASSERT_NE(model, nullptr);
    models::Input input;
    if (layout.image) {
      input.pixels = folder.path() / "grid.safetensors";
      at::manual_seed(3);
      write_tensors(*input.pixels, {{"pixel_values", at::randn({3, 4 * written.patch, 4 * written.patch})}});
    } else {
      input.ids = written.ids;
    }
    const auto ready = models::loaded_model_of(*model)->checkpoint().ready();
    ASSERT_TRUE(ready.ok());
    if ((*ready)->spec().head && !(*ready)->spec().head_transform) {
      expect_sums(*model, input);
      continue;
    }
    refused.insert(model->info().family);
    const auto trace = model->run(input);
    ASSERT_TRUE(trace.ok());
    const auto none = models::logit_attribution(*model, **trace, {});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  }
  EXPECT_LE(refused.size(), 3U);
}

// Texts with pictures: of a word, of a cell, and of what pictures add again behind layers.
TEST(LogitAttribution, PartsSumToTheLogitOfTextsWithPictures) {
  std::set<std::string> parts;
  int summed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/families-vlm")) {
    if (!std::filesystem::exists(entry.path() / "config.json")) {
      continue;
    }
    SCOPED_TRACE(entry.path().filename().string());
    const auto opened = models::open(entry.path());
    ASSERT_TRUE(opened.ok()) << opened.error().describe();
    const auto input = pictured_input(entry.path().filename().string());
    ASSERT_TRUE(input.ok()) << input.error().describe();
    const models::RunOptions run{.keep = {"logits"}, .all_logits = true};
    const auto trace = (*opened)->run(*input, run);
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    ASSERT_FALSE((*trace)->images().empty());
    const at::Tensor logits = models::recorded_of(**trace)->data().logits.to(at::kDouble);
    for (const std::int64_t at : {logits.size(0) - 1, (*trace)->images().front().token(1)}) {
      const models::LogitAttribution made = attribution(**opened, **trace, {1, 2, at});
      const double wanted = logits[at][1].item<double>() - logits[at][2].item<double>();
      EXPECT_NEAR(made.logit, wanted, 1e-4 * (1 + std::abs(wanted)));
      EXPECT_NEAR(sum_of(made), made.logit, 1e-4 * (1 + std::abs(made.logit))) << "at " << at;
      EXPECT_EQ(made.ends.back().first == "cap" ? "other biases" : made.ends.back().first, "other biases");
      for (const auto& [name, value] : made.ends) {
        parts.insert(name);
        EXPECT_TRUE(value != 0 || !name.starts_with("picture")) << name;
      }
    }
    ++summed;
  }
  EXPECT_GE(summed, 10);
  EXPECT_TRUE(parts.count("picture") == 1 && parts.count("picture after layer 0") == 1);
}

// Post-norms, capped logits, layer scales, experts, latent attention, pools: every family there is a checkpoint of.
TEST(LogitAttribution, PartsSumToTheLogitOfEveryFamily) {
  std::set<std::string> summed;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/families")) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const auto opened = test::open(entry.path());
    if (!opened.ok() || (*opened)->info().encoder_layers > 0) {
      continue;
    }
    const models::Model& model = **opened;
    const auto ready = models::loaded_model_of(model)->checkpoint().ready();
    ASSERT_TRUE(ready.ok()) << ready.error().describe();
    const transformer::Spec& spec = (*ready)->spec();
    if (!spec.head || spec.head_transform) {
      continue;
    }
    const TemporaryFolder folder;
    models::Input input;
    if (spec.is_image()) {
      const std::int64_t side = spec.image.rows * spec.image.patch;
      input.pixels = folder.path() / "pixels.safetensors";
      at::manual_seed(3);
      write_tensors(*input.pixels, {{"pixel_values", at::randn({3, side, side})}});
    } else {
      input.ids = std::vector<std::int64_t>{5, 9, 3, 17, 9, 3, 11, 5, 9, 3, 17};
    }
    expect_sums(model, input);
    summed.insert(name);
  }
  for (const char* name : {"gemma2", "gemma3_text", "olmo2", "cohere", "falcon", "gpt_oss", "phi", "deepseek_v3", "opt",
                           "granite", "mixtral"}) {
    EXPECT_EQ(summed.count(name), 1U) << name;
  }
}

TEST(LogitAttribution, PartsSumToTheLogitUnderEncodingsThatCount) {
  for (const char* name : {"text-rope", "text-cope", "text-tape", "text-tapa", "text-alibi", "text-learned"}) {
    SCOPED_TRACE(name);
    const auto model = bundled(name);
    expect_sums(*model, text());
    const auto edited = model->edited(edits_of({"head 1.2 zero", "shift 4:9 by 3", "head 0.1 uniform"}));
    ASSERT_TRUE(edited.ok());
    expect_sums(**edited, text());
    const auto trace = (*edited)->run(text());
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(attribution(**edited, **trace).heads.at(1, 2), 0) << "a silent head writes nothing";
  }
  for (const char* name : {"shapes-rope-mixed", "shapes-seqpe", "shapes-learned"}) {
    SCOPED_TRACE(name);
    models::Input input;
    input.image = source_dir() + "/assets/samples/star.png";
    expect_sums(*bundled(name), input);
  }
}

// A Llama-shaped model by hand: whole maps, values, the output projection's columns of a head, the last norm's scale.
TEST(LogitAttribution, AHeadsPartIsWhatItsColumnsWrite) {
  const at::NoGradGuard no_grad;
  const auto model = bundled("text-rope");
  const transformer::Transformer& transformer = **models::loaded_model_of(*model)->checkpoint().ready();
  ASSERT_EQ(transformer.spec().norm, transformer::Norm::kRms);
  const auto prepared = models::loaded_model_of(*model)->runner().prepare(text());
  ASSERT_TRUE(prepared.ok());
  const Subject subject{transformer, model->info(), prepared->batch, 0};
  transformer::ObserveOptions observe;
  observe.hidden = observe.values = observe.all_logits = observe.writes = true;
  const auto seen = transformer.observe(subject.batch, observe);
  ASSERT_TRUE(seen.ok());
  const std::int64_t at = 20;
  const std::int64_t token = 30;
  std::map<std::string, at::Tensor> named;
  for (const transformer::Parameter& parameter : const_cast<transformer::Transformer&>(transformer).parameters()) {
    named[parameter.name] = parameter.value->to(at::kDouble);
  }
  const at::Tensor stream = seen->stream[0][at].to(at::kDouble);
  const at::Tensor& out = named.count("head.weight") != 0 ? named["head.weight"] : named["embedding.weight"];
  const at::Tensor direction =
      out[token] * named["final_norm.weight"] / (stream.square().mean() + transformer.spec().norm_eps).sqrt();
  const auto trace = model->run(text());
  const models::LogitAttribution made = attribution(*model, **trace, {token, -1, at});
  for (std::int64_t layer = 0; layer < subject.info.layers; ++layer) {
    const transformer::LayerRecord& record = seen->layers[static_cast<std::size_t>(layer)];
    const at::Tensor weights = map_of(subject, subject.batch, *seen, layer, Quantity::kWeight);
    at::Tensor left = layer + 1 < subject.info.layers
                          ? seen->layers[static_cast<std::size_t>(layer + 1)].hidden[0][at].to(at::kDouble)
                          : stream;
    left = left - record.hidden[0][at].to(at::kDouble);
    for (std::int64_t head = 0; head < subject.info.heads; ++head) {
      const at::Tensor value = record.value[0][head * subject.info.kv_heads / subject.info.heads].to(at::kDouble);
      const at::Tensor found = at::matmul(weights[head][at], value);
      const at::Tensor& project = named["layers." + std::to_string(layer) + ".attention.output.weight"];
      const std::int64_t width = value.size(1);
      const at::Tensor written = at::matmul(project.slice(1, head * width, (head + 1) * width), found);
      EXPECT_NEAR(made.heads.at(layer, head), direction.dot(written).item<double>(), 1e-4) << layer << "." << head;
      left = left - written;
    }
    EXPECT_NEAR(made.feed_forwards[static_cast<std::size_t>(layer)], direction.dot(left).item<double>(), 2e-4);
  }
  EXPECT_EQ(made.ends.front().first, "embedding");
  EXPECT_NEAR(made.ends.front().second, direction.dot(seen->layers[0].hidden[0][at].to(at::kDouble)).item<double>(),
              1e-4);
}

// What every logit has in common is taken away: a part is the mean of its parts of each difference from another token.
TEST(LogitAttribution, CentredPartsAreTheMeanOverAllOtherTokens) {
  const auto model = bundled("text-rope");
  const auto trace = model->run(text());
  models::AttributionOptions options{30, -1, 20, true};
  const models::LogitAttribution centred = attribution(*model, **trace, options);
  options.centred = false;
  std::vector<double> sums(centred.heads.values.size() + 1, 0.0);
  const std::int64_t vocabulary = model->info().vocabulary;
  for (std::int64_t other = 0; other < vocabulary; ++other) {
    options.against = other;
    const models::LogitAttribution pair = attribution(*model, **trace, options);
    for (std::size_t n = 0; n < pair.heads.values.size(); ++n) {
      sums[n] += static_cast<double>(pair.heads.values[n]);
    }
    sums.back() += pair.feed_forwards.back();
  }
  for (std::size_t n = 0; n < centred.heads.values.size(); ++n) {
    EXPECT_NEAR(static_cast<double>(centred.heads.values[n]), sums[n] / static_cast<double>(vocabulary), 1e-4);
  }
  EXPECT_NEAR(centred.feed_forwards.back(), sums.back() / static_cast<double>(vocabulary), 1e-4);
}

// Positions that are added to the tokens have a part of their own.
TEST(LogitAttribution, AddedPositionsAreAPart) {
  const auto model = bundled("text-learned");
  const auto trace = model->run(text());
  const models::LogitAttribution made = attribution(*model, **trace);
  ASSERT_GE(made.ends.size(), 2U);
  EXPECT_EQ(made.ends[1].first, "positions");
  EXPECT_NE(made.ends[1].second, 0);
}

TEST(LogitAttribution, RefusesWhatDoesNotExist) {
  const auto model = bundled("text-rope");
  const auto trace = model->run(text());
  for (const models::AttributionOptions& options :
       {models::AttributionOptions{100000, -1, -1}, models::AttributionOptions{-1, 100000, -1},
        models::AttributionOptions{-1, -1, 100000}}) {
    const auto made = models::logit_attribution(*model, **trace, options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kBadInput);
  }
}

}  // namespace
}  // namespace locus::test
