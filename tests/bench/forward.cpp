// Rows of the forward pass: against eager ATen that keeps every map, against the rate of a matrix product, its memory,
// how it grows, and one token more.
#include <ATen/Parallel.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/transformer/transformer.h"
#include "tests/bench/groups.h"
#include "tests/bench/growth.h"
#include "tests/bench/reading.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

namespace {

constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kWidth = 768;
constexpr std::int64_t kHeadWidth = kWidth / kHeads;
constexpr double kGrowthMs = 6000;  // of a length's runs: short ones scatter, long ones are long enough

// The same numbers the way eager code computes them: whole (H, T, T) maps, kept.
class Eager {
 public:
  explicit Eager(transformer::Transformer& model) : layers_(model.spec().depth()) {
    for (const transformer::Parameter& parameter : model.parameters()) {
      weights_.emplace(parameter.name, *parameter.value);
    }
  }

  // Last-row logits; the maps of all layers go to `maps`.
  at::Tensor forward(const at::Tensor& ids, std::vector<at::Tensor>& maps) const {
    const at::NoGradGuard no_grad;
    const std::int64_t length = ids.size(1);
    const at::Tensor mask = at::ones({length, length}, at::kBool).tril();
    at::Tensor x = at::embedding(weight("embedding.weight"), ids).select(0, 0) +
                   weight("position.position_embedding").slice(0, 0, length);
    for (std::int64_t n = 0; n < layers_; ++n) {
      const std::string layer = "layers." + std::to_string(n) + ".";
      at::Tensor y = norm(x, layer + "attention_norm");
      const at::Tensor qkv =
          linear(y, layer + "attention.qkv").view({1, length, 3, kHeads, kHeadWidth}).permute({2, 0, 3, 1, 4});
      const at::Tensor scores =
          at::matmul(qkv[0], qkv[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(kHeadWidth));
      maps.push_back(at::softmax(scores.masked_fill(mask.logical_not(), -3.4e38), -1));
      y = at::matmul(maps.back(), qkv[2]).transpose(1, 2).reshape({length, kWidth});
      x = x + linear(y, layer + "attention.output");
      y = at::gelu(linear(norm(x, layer + "feed_forward_norm"), layer + "feed_forward.up"), "tanh");
      x = x + linear(y, layer + "feed_forward.down");
    }
    return at::linear(norm(x.narrow(0, length - 1, 1), "final_norm"), weight("embedding.weight"));
  }

 private:
  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }
  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    return at::linear(x, weight(name + ".weight"), weight(name + ".bias"));
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    return at::layer_norm(x, {kWidth}, weight(name + ".weight"), weight(name + ".bias"));
  }

  std::int64_t layers_;
  std::map<std::string, at::Tensor> weights_;
};

// Multiply-accumulates of a forward pass with last-row logits: what a causal model of these shapes must do, blocks
// above the diagonal and the last layer's unused rows left out.
double useful_macs(const transformer::Spec& spec, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const auto width = static_cast<double>(kWidth);
  const double projections = tokens * 3 * width * width;
  const double scores = tokens * (tokens + 1) / 2 * width;
  const double rest = 9 * width * width;
  const double whole = projections + 2 * scores + tokens * rest;
  const double last = projections + scores + tokens * width + rest;
  return static_cast<double>(spec.depth() - 1) * whole + last + width * static_cast<double>(spec.vocabulary);
}

class Forward {
 public:
  Forward(Rig& rig, std::int64_t longest) : rig_(rig), longest_(longest) {}

  Status run() {
    LOCUS_TRY(model_, transformer::Transformer::create(gpt2_small(longest_, rig_.quick()), true, 1));
    const std::int64_t length = rig_.quick() ? 64 : 1024;
    LOCUS_CHECK(speed(length));
    LOCUS_CHECK(append(length / 2));
    LOCUS_CHECK(append_in_place(2 * length));
    LOCUS_CHECK(memory("forward memory beyond the weights, T = " + std::to_string(length), length, 350));
    LOCUS_CHECK(memory("forward memory beyond the weights, T = " + std::to_string(longest_), longest_, 1500));
    return grow();
  }

 private:
  Status speed(std::int64_t length) {
    const at::Tensor left = at::randn({1024, 1024});
    const at::Tensor right = at::randn({1024, 1024});
    at::Tensor product = at::empty({1024, 1024});
    const auto gemm = [&]() -> Status {
      at::mm_out(product, left, right);
      return {};
    };
    const Eager eager(*model_);
    const at::Tensor ids = random_ids(*model_, length);
    const auto with_maps = [&]() -> Status {
      std::vector<at::Tensor> maps;
      eager.forward(ids, maps);
      return {};
    };
    const auto streamed = [&] { return observe_random(*model_, length); };
    LOCUS_TRY(const Timed against_eager, rig_.time(streamed, with_maps));
    rig_.add("forward, T = " + std::to_string(length), against_eager, "eager ATen with all maps kept",
             Target::kRatioAtMost, 0.45);
    LOCUS_TRY(const Timed against_gemm, rig_.time(streamed, gemm));
    rig_.add({"forward rate, T = " + std::to_string(length),
              2e-6 * useful_macs(model_->spec(), length) / against_gemm.milliseconds, "GFLOP/s", "1024³ product",
              2e-6 * 1024 * 1024 * 1024 / against_gemm.reference_milliseconds, 0, Target::kRatioAtLeast, 0.75, false,
              ""});
    return {};
  }

  // One token more, everything before it taken over.
  Status append(std::int64_t length) {
    LOCUS_TRY(transformer::ReusedTokens reused, begin_run(*model_, length));
    const auto appended = [&] { return append_token(*model_, reused); };
    const ByteSpans weights = weights_read(*model_);
    LOCUS_TRY(const Timed times, rig_.time(appended, [&] { return read_once(weights); }));
    rig_.add("appended token, T = " + std::to_string(length), times, "reading the weights once", Target::kRatioAtMost,
             1.5);
    return {};
  }

  // What it saves that the rows before it lie where they are.
  Status append_in_place(std::int64_t length) {
    LOCUS_TRY(transformer::ReusedTokens reused, begin_run(*model_, length));
    LOCUS_TRY(transformer::ReusedTokens copied, begin_run(*model_, length));
    const auto appended = [&] { return append_token(*model_, reused); };
    const auto copying = [&] {
      copied.rows.reset();
      return append_token(*model_, copied);
    };
    LOCUS_TRY(const Timed times, rig_.time(appended, copying));
    rig_.add("appended token, T = " + std::to_string(length), times, "the same, what is taken over copied",
             Target::kNone, 0);
    return {};
  }

  Status memory(std::string name, std::int64_t length, double target_mb) {
    double elapsed_ms = 0;
    LOCUS_TRY(const double megabytes, Rig::peak_megabytes([&]() -> Status {
                LOCUS_TRY(elapsed_ms, Rig::once([&] { return observe_random(*model_, length); }));
                return {};
              }));
    rig_.add({std::move(name), megabytes, "MB", "", 0, 0, Target::kValueAtMost, target_mb, false,
              "one run, " + std::to_string(std::llround(elapsed_ms)) + " ms"});
    return {};
  }

  Status grow() {
    std::vector<double> lengths;
    std::vector<double> times;
    for (std::int64_t length = longest_ / 32; length <= longest_; length *= 2) {
      if (rig_.options().stop.stop_requested()) {
        return cancelled();
      }
      LOCUS_TRY(const double time, rig_.time_within(kGrowthMs, [&] { return observe_random(*model_, length); }));
      lengths.push_back(static_cast<double>(length));
      times.push_back(time);
    }
    rig_.add({"forward, T = " + std::to_string(longest_), times.back(), "ms", "", 0, 0, Target::kNone, 0, true,
              to_text(fit_growth(lengths, times))});
    return {};
  }

  Rig& rig_;
  std::int64_t longest_;
  std::unique_ptr<transformer::Transformer> model_;
};

}  // namespace

Status bench_forward(Rig& rig) {
  return Forward(rig, rig.quick() ? 256 : 8192).run();
}

}  // namespace locus::bench
