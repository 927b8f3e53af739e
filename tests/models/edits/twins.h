// Edited runs against brute force: whole maps of weights, changed by hand, replayed through the unedited model.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/score_field.h"
#include "core/base/numbers.h"
#include "models/edits/edited_encoding.h"
#include "models/edits/run_edits.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/golden.h"

namespace locus::test {

using attention::Quantity;
using models::Edits;
using transformer::Batch;
using transformer::Observation;
using transformer::Transformer;

constexpr double kTolerance = 1e-4;  // of logits, of weights that are sums over layers of float32
constexpr double kWeightTolerance = 2e-5;
constexpr double kNothing = -std::numeric_limits<double>::infinity();

// A model and what it reads.
struct Subject {
  const Transformer& model;
  models::ModelInfo info;
  Batch batch;
  std::int64_t columns = 0;  // of an image's patches

  std::int64_t length() const { return batch.positions.size(); }
  std::int64_t last() const { return info.layers - 1; }
};

inline Edits edits_of(const std::vector<std::string>& texts) {
  Edits edits;
  for (const std::string& text : texts) {
    const auto edit = models::parse_edit(text, edits.size());
    EXPECT_TRUE(edit.ok()) << (edit.ok() ? "" : edit.error().describe());
    edits.push_back(*edit);
  }
  return edits;
}

inline Result<Batch> edited(const Subject& subject, const Edits& edits) {
  Batch batch = subject.batch;
  LOCUS_CHECK(models::check_edits(edits, subject.info, subject.length()));
  LOCUS_TRY(batch.positions, models::edited_positions(edits, batch.positions, {subject.columns}, subject.model));
  LOCUS_TRY(batch.edits, models::edited_layers(edits, subject.info, subject.model, batch, {subject.columns}));
  return batch;
}

inline Observation observed(const Subject& subject, const Batch& batch) {
  transformer::ObserveOptions options;
  options.all_logits = true;
  auto seen = subject.model.observe(batch, options);
  EXPECT_TRUE(seen.ok()) << (seen.ok() ? "" : seen.error().describe());
  return *std::move(seen);
}

// (H, T, T) of a layer as views show it.
inline at::Tensor map_of(const Subject& subject, const Batch& batch, const Observation& seen, std::int64_t layer,
                         Quantity quantity) {
  const transformer::LayerRecord& record = seen.layers[static_cast<std::size_t>(layer)];
  const auto source = std::make_shared<const attention::ComputedScores>(
      subject.model.encoding_of(batch, layer), subject.model.encoding_layer(layer), record.prepared, record.log_sum_exp,
      record.chosen, subject.model.soft_cap_of(batch, layer));
  const auto map = models::whole_map(attention::ScoreField(source, subject.model.block(layer).mask()), quantity);
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().describe());
  return map.ok() ? map->to(at::kDouble) : at::Tensor();
}

// (T, T) weights of logits whose hidden cells are NaN, masked ones −∞; a sink joins each row.
inline at::Tensor softened(const at::Tensor& logits, std::optional<double> sink) {
  const at::Tensor shown = logits.nan_to_num(kNothing, kNothing, kNothing);
  const at::Tensor powers = (shown - shown.amax(-1, true).clamp_min(-1e30)).exp();
  at::Tensor sums = powers.sum(-1, true);
  if (sink) {
    sums = sums + (*sink - shown.amax(-1, true).clamp_min(-1e30)).exp();
  }
  return at::where(sums > 0, powers / sums, at::zeros_like(powers));
}

// (T, T) weights of hard attention: the first of the largest logits, none in rows without keys.
inline at::Tensor hardened(const at::Tensor& logits) {
  const at::Tensor shown = logits.nan_to_num(kNothing, kNothing, kNothing);
  at::Tensor weights = at::zeros_like(shown);
  for (std::int64_t row = 0; row < shown.size(0); ++row) {
    std::int64_t best = -1;
    for (std::int64_t key = 0; key < shown.size(1); ++key) {
      const double logit = shown[row][key].item<double>();
      if (logit > (best < 0 ? kNothing : shown[row][best].item<double>())) {
        best = key;
      }
    }
    if (best >= 0) {
      weights[row][best] = 1;
    }
  }
  return weights;
}

using Change = std::function<void(at::Tensor& logits)>;    // (T, T), in place
using Replace = std::function<void(at::Tensor& weights)>;  // (T, T), in place

struct Twin {
  Edits edits;
  std::int64_t layer = 0;
  std::int64_t head = 0;
  Change logits{};    // then softened; or
  Replace shown{};    // the weights that are shown, or
  Replace output{};   // those that stand for a changed output, shown as they were
  bool sink = true;   // a sink keeps its share
  bool hard = false;  // the largest logit has all the weight
};

// What the edited run says is what the twin's weights say.
inline void expect_twin(const Subject& subject, const Twin& twin) {
  SCOPED_TRACE(models::label_of(twin.edits));
  const at::NoGradGuard no_grad;
  const Observation plain = observed(subject, subject.batch);
  const auto batch = edited(subject, twin.edits);
  ASSERT_TRUE(batch.ok()) << batch.error().describe();
  const Observation seen = observed(subject, *batch);

  const at::Tensor& sinks = subject.model.block(twin.layer).weights().sinks;
  at::Tensor weights = map_of(subject, subject.batch, plain, twin.layer, Quantity::kWeight);
  at::Tensor own = weights.select(0, twin.head);
  if (twin.logits) {
    at::Tensor logits =
        map_of(subject, subject.batch, plain, twin.layer, Quantity::kLogit).select(0, twin.head).clone();
    twin.logits(logits);
    own.copy_(twin.hard ? hardened(logits)
                        : softened(logits, sinks.defined() && twin.sink ? std::optional(sinks[twin.head].item<double>())
                                                                        : std::nullopt));
  }
  if (twin.shown) {
    twin.shown(own);
  }
  EXPECT_CLOSE(map_of(subject, *batch, seen, twin.layer, Quantity::kWeight), weights, kWeightTolerance);
  if (twin.output) {
    twin.output(own);
  }
  const auto replayed = subject.model.replay(subject.batch, [&](std::int64_t layer) -> Result<at::Tensor> {
    const at::Tensor map = layer == twin.layer ? weights : map_of(subject, *batch, seen, layer, Quantity::kWeight);
    return map.to(at::kFloat).unsqueeze(0);
  });
  ASSERT_TRUE(replayed.ok()) << replayed.error().describe();
  EXPECT_CLOSE(*replayed, seen.logits, kTolerance);
  EXPECT_CLOSE(subject.model.forward(*batch), seen.logits, kTolerance);
  const at::Tensor before = map_of(subject, subject.batch, plain, twin.layer, Quantity::kWeight);
  EXPECT_TRUE(deviation(weights, before) > 1e-6 || deviation(seen.logits, plain.logits) > 1e-6)
      << "the edit changes nothing";
}

// Two layers of four heads, of 8 channels each, with one encoding; what it reads is left to say.
inline transformer::Spec small_spec(std::int64_t kv_heads, const std::string& encoding, const Settings& options) {
  transformer::Spec spec;
  transformer::LayerSpec layer;
  spec.width = 32;
  layer.attention.heads = 4;
  layer.attention.head_width = 8;
  layer.attention.kv_heads = kv_heads;
  layer.feed_forward.inner = 24;
  spec.repeat(layer, 2);
  spec.encodings = {{encoding, options}};
  return spec;
}

// Weights by the seed alone, so that specs which differ in an encoding's options have the same ones.
inline std::unique_ptr<Transformer> model_of(const transformer::Spec& spec) {
  at::manual_seed(5);
  auto made = Transformer::create(spec, true, 3);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().describe());
  const at::NoGradGuard no_grad;
  for (const transformer::Parameter& parameter : (*made)->parameters()) {
    parameter.value->add_(at::randn_like(*parameter.value) * 0.2);
  }
  return std::move(*made);
}

inline std::string place(std::int64_t layer, std::int64_t head) {
  return std::to_string(layer) + "." + std::to_string(head) + " ";
}

// Every kind that any layer of any model takes, of one head of one layer.
inline void expect_twins(const Subject& subject, std::int64_t layer, std::int64_t head) {
  const std::int64_t length = subject.length();
  const std::string at = place(layer, head);
  const bool last = layer == subject.last();
  const bool updates = subject.model.layer_encoding(layer)->description().updates;
  const auto twin = [&](const std::string& text, Change logits, bool sink = true) {
    expect_twin(subject, {edits_of({text}), layer, head, std::move(logits), {}, {}, sink});
  };
  const at::Tensor ids = models::places_of(subject.batch.positions, subject.columns);
  const at::Tensor distance = ids.unsqueeze(1) - ids;

  twin("scale " + at + "by 2.5", [](at::Tensor& logits) { logits.mul_(2.5); });
  twin("edge " + at + "3:5 0:" + std::to_string(length),
       [](at::Tensor& logits) { logits.slice(0, 3, 5).fill_(kNothing); });
  twin("edge " + at + "2:" + std::to_string(length) + " 1:3",
       [](at::Tensor& logits) { logits.slice(0, 2).slice(1, 1, 3).fill_(kNothing); });
  twin("bias " + at + "-abs(d)*2^(-8*h/H)", [&](at::Tensor& logits) {
    logits.sub_(distance.abs() *
                std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(subject.info.heads)));
  });
  twin("bias " + at + "i == 3 ? 1/0 : (j > 2 ? 0.1*j : -0.2*i)", [&](at::Tensor& logits) {
    const at::Tensor row = ids.unsqueeze(1).expand_as(logits);
    const at::Tensor column = ids.unsqueeze(0).expand_as(logits);
    logits.add_(at::where(column > 2, 0.1 * column, -0.2 * row)).masked_fill_(row == 3, kNothing);
  });
  // Replaced weights: the sink has no share, and what the list does to the head before is overruled.
  expect_twin(subject, {edits_of({"head " + at + "uniform", "scale " + at + "by 3"}),
                        layer,
                        head,
                        [](at::Tensor& logits) { logits.sub_(logits); },
                        {},
                        {},
                        false});
  const auto onto = [&](const std::function<std::int64_t(std::int64_t)>& key) {
    return [&, key](at::Tensor& weights) {
      weights.zero_();
      const attention::Mask mask = subject.model.block(layer).mask();
      for (std::int64_t row = 0; row < length; ++row) {
        if (mask.visible(row, key(row))) {
          weights[row][key(row)] = 1;
        }
      }
    };
  };
  expect_twin(subject, {edits_of({"head " + at + "first"}), layer, head, {}, onto([](auto) { return 0; })});
  expect_twin(subject, {edits_of({"head " + at + "self"}), layer, head, {}, onto([](auto row) { return row; })});
  expect_twin(subject, {edits_of({"head " + at + "previous"}), layer, head, {}, onto([](auto row) {
                          return std::max<std::int64_t>(row - 1, 0);
                        })});
  // A state that rides along with the values keeps what the head's weights make of it.
  if (last || !updates) {
    expect_twin(subject, {edits_of({"head " + at + "zero"}), layer, head, {}, {}, [](at::Tensor& w) { w.zero_(); }});
    expect_twin(subject, {edits_of({"head " + at + "mean"}), layer, head, {}, {}, [](at::Tensor& w) {
                            w.copy_(w.mean(0, true).expand_as(w));
                          }});
  }
  // In this order whatever the list's: scaled, biased, cut.
  expect_twin(subject, {edits_of({"edge " + at + "4:5 0:2", "bias " + at + "0.3*j", "scale " + at + "by 0.5",
                                  "bias " + at + "-0.1*i", "scale " + at + "by 3"}),
                        layer, head, [&](at::Tensor& logits) {
                          logits.mul_(1.5).add_(0.3 * ids.unsqueeze(0) - 0.1 * ids.unsqueeze(1));
                          logits.slice(0, 4, 5).slice(1, 0, 2).fill_(kNothing);
                        }});
}

// The content instead of the logits, where there is one.
inline void expect_content(const Subject& subject, std::int64_t layer, std::int64_t head) {
  const Edits edits = edits_of({"head " + place(layer, head) + "position off"});
  if (subject.model.layer_encoding(layer)->description().content.empty()) {
    const auto refused = edited(subject, edits);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(refused.error().describe().find("edits[0].to: "), 0U) << refused.error().describe();
    return;
  }
  const at::NoGradGuard no_grad;
  const at::Tensor content =
      map_of(subject, subject.batch, observed(subject, subject.batch), layer, Quantity::kContent).select(0, head);
  const at::Tensor logits =
      map_of(subject, subject.batch, observed(subject, subject.batch), layer, Quantity::kLogit).select(0, head);
  if (deviation(content, logits) > 1e-5) {
    expect_twin(subject, {edits, layer, head, [&](at::Tensor& own) { own.copy_(content); }});
  }
}

// Pairs of one head that are still or dropped: logits from the projected vectors, channel by channel.
inline void expect_pairs(const Subject& subject, std::int64_t layer, std::int64_t head, bool interleaved) {
  const at::NoGradGuard no_grad;
  const Observation plain = observed(subject, subject.batch);
  const position::Prepared& prepared = plain.layers[static_cast<std::size_t>(layer)].prepared;
  const auto of_head = [&](const at::Tensor& x) {
    return x[0].select(0, head * x.size(1) / subject.info.heads).to(at::kDouble);
  };
  const std::int64_t pairs = subject.info.head_width / 2;
  const auto part = [&](const at::Tensor& query, const at::Tensor& key, std::int64_t pair) {
    const std::int64_t a = interleaved ? 2 * pair : pair;
    const std::int64_t b = interleaved ? 2 * pair + 1 : pair + pairs;
    const at::Tensor q = of_head(query);
    const at::Tensor k = of_head(key);
    return (q.select(1, a).outer(k.select(1, a)) + q.select(1, b).outer(k.select(1, b))) /
           std::sqrt(static_cast<double>(subject.info.head_width));
  };
  for (const std::int64_t pair : {std::int64_t{0}, pairs - 1}) {
    const std::string range = std::to_string(pair) + ":" + std::to_string(pair + 1);
    const at::Tensor turned = part(prepared.query, prepared.key, pair);
    const at::Tensor content = part(prepared.content_query, prepared.content_key, pair);
    expect_twin(subject, {edits_of({"pairs " + place(layer, head) + range + " drop"}), layer, head,
                          [&](at::Tensor& own) { own.sub_(turned); }});
    expect_twin(subject, {edits_of({"head " + place(layer, head) + "pairs " + std::to_string(pair) + "-" +
                                    std::to_string(pair) + " off"}),
                          layer, head, [&](at::Tensor& own) { own.sub_(turned); }});
    if (subject.batch.positions.dimensions() == 1) {  // of the base 10000
      const double wave = 2 * std::numbers::pi *
                          std::pow(1e4, static_cast<double>(2 * pair) / static_cast<double>(subject.info.head_width));
      expect_twin(subject, {edits_of({"head " + place(layer, head) + "wavelengths " + general_text(0.9 * wave, 9) +
                                      ".." + general_text(1.1 * wave, 9) + " off"}),
                            layer, head, [&](at::Tensor& own) { own.sub_(turned); }});
    }
    expect_twin(subject, {edits_of({"pairs " + place(layer, head) + range + " still"}), layer, head,
                          [&](at::Tensor& own) { own.sub_(turned).add_(content); }});
    expect_twin(subject, {edits_of({"pairs " + place(layer, head) + range + " still",
                                    "pairs " + place(layer, head) + "0:" + std::to_string(pairs) + " drop"}),
                          layer, head, [&](at::Tensor& own) { own.sub_(own); }});
  }
}

}  // namespace locus::test
