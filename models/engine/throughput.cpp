#include "models/engine/throughput.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "core/attention/attend.h"

namespace locus::models {

namespace {

using Clock = std::chrono::steady_clock;

// The share of a large matrix product's rate that a layer's products reach.
constexpr double kUsualEfficiency = 0.7;
constexpr std::int64_t kTriedTokens = 2048;
constexpr std::int64_t kTriedNumbers = std::int64_t{1} << 21;  // of all queries: fewer tokens of wide models
constexpr std::int64_t kFewestTokens = 32;                     // fewer tell nothing of blocks of attention
constexpr std::int64_t kTriedRows = 64;      // the last ones: cells far from the diagonal can be cheaper (ALiBi)
constexpr std::int64_t kRandomTokens = 128;  // repeated: drawing random numbers takes longer than attention
constexpr double kTriedMs = 10;              // of one encoding
constexpr int kMaxTries = 3;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A multiply-accumulate of a 384³ product, in milliseconds.
double product_ms() {
  static const double time = [] {
    const at::NoGradGuard no_grad;
    constexpr std::int64_t kSize = 384;
    const at::Tensor left = at::ones({kSize, kSize});
    at::Tensor product = at::matmul(left, left);
    double best_ms = 1e9;
    for (int n = 0; n < 3; ++n) {
      const auto begin = Clock::now();
      at::mm_out(product, left, left);
      best_ms = std::min(best_ms, since(begin));
    }
    return best_ms / std::pow(static_cast<double>(kSize), 3);
  }();
  return time;
}

// Cells of one head that attention visits.
double cells_of(const transformer::AttentionSpec& attention, bool causal, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  double keys = tokens;
  if (attention.window > 0) {
    keys = std::min(keys, static_cast<double>(attention.window) * (causal ? 1 : 2));
  }
  if (attention.chunk > 0) {
    keys = std::min(keys, static_cast<double>(attention.chunk));
  }
  // A causal query sees half of its chunk or of the text, in the mean, and less than its window near the beginning.
  const double missed = !causal ? 0 : attention.chunk > 0 && keys < tokens ? tokens * keys / 2 : keys * keys / 2;
  return tokens * keys - missed;
}

// (1, heads, length, width) random numbers.
at::Tensor random(std::int64_t heads, std::int64_t length, std::int64_t width) {
  const std::int64_t drawn = std::min(length, kRandomTokens);
  const at::Tensor numbers = at::randn({1, heads, drawn, width});
  return numbers.repeat({1, 1, (length + drawn - 1) / drawn, 1}).narrow(2, 0, length).contiguous();
}

// Attention over random tokens with one encoding of the model, as a layer that has it; a cell's time in milliseconds.
// Empty where the encoding cannot take so many tokens.
std::optional<double> tried(const transformer::Transformer& model, std::int64_t layer, std::int64_t length) {
  const position::PositionEncoding& encoding = *model.layer_encoding(layer);
  const position::ModelShape& shape = encoding.shape();
  const position::Positions positions = position::Positions::sequence(length);
  if (!encoding.accepts(positions).ok()) {
    return std::nullopt;
  }
  const transformer::AttentionSpec& spec = model.block(layer).spec().attention;
  position::Projections projections;
  projections.query = random(shape.heads, length, shape.head_width);
  projections.key = random(shape.kv_heads, length, shape.head_width);
  projections.value = random(shape.kv_heads, length, spec.values());
  projections.hidden = random(1, length, shape.width).squeeze(1);
  const std::int64_t number = model.encoding_layer(layer);
  const position::State state = encoding.begin(positions, 1);
  const position::Prepared prepared = encoding.prepare(state, number, projections);
  const at::Tensor state_values = encoding.state_values(state, number);
  const attention::Mask mask{model.spec().causal};
  const attention::Attention attention{encoding,     prepared, number,       projections.value,
                                       state_values, mask,     spec.soft_cap};
  const Range rows{std::max(length - kTriedRows, std::int64_t{0}), length};
  double best_ms = 1e9;
  const auto begin = Clock::now();
  for (int n = 0; n < kMaxTries && since(begin) < kTriedMs; ++n) {
    const auto first = Clock::now();
    if (!attend_streaming(attention, {rows, 0, 0, {}}).ok()) {
      return std::nullopt;
    }
    best_ms = std::min(best_ms, since(first));
  }
  const double seen = cells_of({}, mask.causal, length);
  const double cells = mask.causal ? seen - cells_of({}, true, rows.begin) : static_cast<double>(rows.size() * length);
  return best_ms / (static_cast<double>(spec.heads) * cells);
}

// The products of a cell, score and value.
double cell_macs(const transformer::AttentionSpec& attention) {
  return static_cast<double>(attention.head_width + attention.values());
}

double tried_cell(const transformer::Transformer& model, std::int64_t layer) {
  const transformer::AttentionSpec& attention = model.block(layer).spec().attention;
  const std::int64_t most = kTriedNumbers / (attention.heads * attention.head_width);
  for (std::int64_t length = std::min(kTriedTokens, most); length >= kFewestTokens; length /= 2) {
    if (const auto time = tried(model, layer, length)) {
      return *time;
    }
  }
  return cell_macs(attention) * product_ms() / kUsualEfficiency;
}

}  // namespace

double products_ms(double macs) {
  return macs * product_ms() / kUsualEfficiency;
}

Throughput measure_throughput(const transformer::Transformer& model, bool has_weights) {
  const at::NoGradGuard no_grad;
  Throughput throughput{products_ms(1), std::vector<double>(model.encodings().size())};
  for (std::int64_t layer = 0; layer < model.spec().depth(); ++layer) {
    double& cell = throughput.cells[static_cast<std::size_t>(model.encodings().slot(layer))];
    if (cell == 0) {
      const bool tries = has_weights && !model.spec().is_image();
      cell = tries ? tried_cell(model, layer) : cell_macs(model.block(layer).spec().attention) * throughput.product;
    }
  }
  return throughput;
}

double CachedThroughput::run_ms(const transformer::Transformer& model, bool has_weights, std::int64_t length,
                                bool all_logits) {
  constexpr double kShortMs = 20;  // by products alone
  const double least = models::run_ms(model, measure_throughput(model, false), length, all_logits);
  if (!has_weights || least < kShortMs) {
    return least;
  }
  const std::lock_guard lock(mutex_);
  if (!throughput_) {
    throughput_ = measure_throughput(model, true);
  }
  return models::run_ms(model, *throughput_, length, all_logits);
}

double run_ms(const transformer::Transformer& model, const Throughput& throughput, std::int64_t length,
              bool all_logits) {
  const transformer::Spec& spec = model.spec();
  const auto tokens = static_cast<double>(length);
  double macs = transformer::token_macs(spec, length, all_logits);
  double ms = 0;
  for (std::int64_t layer = 0; layer < spec.depth(); ++layer) {
    const transformer::AttentionSpec& attention = model.block(layer).spec().attention;
    const double heads = static_cast<double>(attention.heads);
    ms += heads * cells_of(attention, spec.causal, length) *
          throughput.cells[static_cast<std::size_t>(model.encodings().slot(layer))];
    macs += tokens * model.layer_encoding(layer)->macs(model.encoding_layer(layer), 1);
  }
  return ms + macs * throughput.product;
}

}  // namespace locus::models
