#include "models/engine/throughput.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/attention/attend.h"
#include "core/base/block_formats.h"
#include "core/products/linear.h"
#include "core/products/packed.h"

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
constexpr double kTriedMs = 10;              // of a product, of one encoding
constexpr int kMaxTries = 3;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Waits until the device has computed the tensor.
void finish(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) {
    tensor.flatten().narrow(0, 0, 1).to(at::kCPU);
  }
}

// A square matrix in blocks, with fast products.
at::Tensor fast_matrix(const at::Tensor& numbers) {
  const blocks::Format& format = *blocks::format_of("Q8_0");
  const std::int64_t count = numbers.numel() / format.elements;
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(count * format.bytes));
  blocks::pack(format, numbers.data_ptr<float>(), count, bytes->data());
  return products::with_fast_products(
      products::packed_tensor({&format, bytes->data(), numbers.size(0), numbers.size(1), 0, bytes}));
}

// A multiply-accumulate of a product of two square matrices as layers compute it, in milliseconds. `fast`: on the CPU.
double timed_product_ms(const at::Device& device, bool fast) {
  const at::NoGradGuard no_grad;
  const std::int64_t size = device.is_cpu() ? 384 : 2048;  // a product that keeps the device busy
  const at::Tensor left = at::randn({size, size}).to(device);
  const at::Tensor right = fast ? fast_matrix(left) : left;
  at::Tensor product = products::linear(left, right);
  double best_ms = 1e9;
  const auto first = Clock::now();
  for (int n = 0; n < 3 || (n < 20 && since(first) < kTriedMs); ++n) {  // other threads may have the cores for a moment
    finish(product);
    const auto begin = Clock::now();
    product = products::linear(left, right);
    finish(product);
    best_ms = std::min(best_ms, since(begin));
  }
  return best_ms / std::pow(static_cast<double>(size), 3);
}

double product_ms(const at::Device& device, bool fast = false) {
  static std::mutex mutex;
  static std::map<std::string, double> times;
  const std::lock_guard lock(mutex);
  const auto [time, is_new] = times.try_emplace(device.str() + (fast ? " fast" : ""), 0);
  if (is_new) {
    time->second = timed_product_ms(device, fast);
  }
  return time->second;
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
at::Tensor random(std::int64_t heads, std::int64_t length, std::int64_t width, const at::Device& device) {
  const std::int64_t drawn = std::min(length, kRandomTokens);
  const at::Tensor numbers = at::randn({1, heads, drawn, width}).to(device);
  return numbers.repeat({1, 1, (length + drawn - 1) / drawn, 1}).narrow(2, 0, length).contiguous();
}

// Attention over random tokens with one encoding of the model, as a layer that has it; a cell's time in milliseconds.
// Empty where the encoding cannot take so many tokens.
std::optional<double> tried(const transformer::Transformer& model, std::int64_t layer, std::int64_t length,
                            const at::Device& device) {
  const position::PositionEncoding& encoding = *model.layer_encoding(layer);
  const position::ModelShape& shape = encoding.shape();
  const position::Positions positions = position::Positions::sequence(length);
  if (!encoding.accepts(positions).ok()) {
    return std::nullopt;
  }
  const transformer::AttentionSpec& spec = model.block(layer).spec().attention;
  position::Projections projections;
  projections.query = random(shape.heads, length, shape.head_width, device);
  projections.key = random(shape.kv_heads, length, shape.head_width, device);
  projections.value = random(shape.kv_heads, length, spec.values(), device);
  projections.hidden = random(1, length, shape.width, device).squeeze(1);
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
    const auto attended = attend_streaming(attention, {rows, 0, 0, {}});
    if (!attended.ok()) {
      return std::nullopt;
    }
    finish(attended->output);
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

double tried_cell(const transformer::Transformer& model, std::int64_t layer, const at::Device& device) {
  const transformer::AttentionSpec& attention = model.block(layer).spec().attention;
  const std::int64_t most = kTriedNumbers / (attention.heads * attention.head_width);
  for (std::int64_t length = std::min(kTriedTokens, most); length >= kFewestTokens; length /= 2) {
    if (const auto time = tried(model, layer, length, device)) {
      return *time;
    }
  }
  return cell_macs(attention) * product_ms(device) / kUsualEfficiency;
}

// Whether the model has fast products, as its output matrix says.
bool is_fast(const transformer::Transformer& model) {
  const products::Packed* const matrix =
      model.spec().head ? products::packed_of(model.head().output().weight) : nullptr;
  return matrix != nullptr && matrix->fast;
}

}  // namespace

double products_ms(double macs, const at::Device& device) {
  return macs * product_ms(device) / kUsualEfficiency;
}

Throughput measure_throughput(const transformer::Transformer& model, bool has_weights, const at::Device& device) {
  const at::NoGradGuard no_grad;
  const bool fast = has_weights && device.is_cpu() && is_fast(model);
  Throughput throughput{product_ms(device, fast) / kUsualEfficiency, std::vector<double>(model.encodings().size())};
  for (std::int64_t layer = 0; layer < model.spec().depth(); ++layer) {
    double& cell = throughput.cells[static_cast<std::size_t>(model.encodings().slot(layer))];
    if (cell == 0) {
      const bool tries = has_weights && !model.spec().is_image();
      cell = tries ? tried_cell(model, layer, device)
                   : cell_macs(model.block(layer).spec().attention) * throughput.product;
    }
  }
  return throughput;
}

double CachedThroughput::run_ms(const transformer::Transformer& model, bool has_weights, std::int64_t length,
                                bool all_logits, const at::Device& device) {
  constexpr double kShortMs = 20;  // by products alone
  const double least = models::run_ms(model, measure_throughput(model, false, device), length, all_logits);
  if (!has_weights || least < kShortMs) {
    return least;
  }
  const std::lock_guard lock(mutex_);
  if (!throughput_) {
    throughput_ = measure_throughput(model, true, device);
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
