// Rows of rotary pairs: energy against reading q and k, a profile against the exact overview of the same head, and a
// profile of 131,072 tokens from a trace of q and k alone.
#include <ATen/ATen.h>
#include <unistd.h>

#include <filesystem>
#include <span>

#include "core/analysis/pairs.h"
#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "models/api/pairs.h"
#include "models/bench/rig.h"
#include "models/checkpoint/tensor_source.h"

namespace locus::models {

namespace {

constexpr std::int64_t kPairsWidth = 64;
constexpr std::int64_t kPairsHeads = 8;

struct Layer {
  std::shared_ptr<const attention::ComputedScores> scores;
  attention::Mask mask{true, 0};
  analysis::PairSource source() const { return {*scores, mask}; }
};

Result<Layer> random_layer(std::int64_t heads, std::int64_t length) {
  const at::NoGradGuard no_grad;
  position::ModelShape shape;
  shape.heads = shape.kv_heads = heads;
  shape.head_width = kPairsWidth;
  shape.width = heads * kPairsWidth;
  shape.trained_length = length;
  LOCUS_TRY(auto made, position::make_encoding("rope", {}, shape));
  const std::shared_ptr<const position::PositionEncoding> encoding = std::move(made);
  const at::Tensor query = at::randn({1, heads, length, kPairsWidth});
  const at::Tensor key = at::randn({1, heads, length, kPairsWidth});
  Layer layer;
  layer.scores = attention::ComputedScores::unsummed(
      encoding, 0,
      encoding->prepare(encoding->begin(position::Positions::sequence(length), 1), 0, {query, key, key, {}}),
      layer.mask);
  return layer;
}

template <class Value>
Status status_of(const Result<Value>& value) {
  return value.ok() ? Status() : Status(value.error());
}

Status energy(Rig& rig) {
  const std::int64_t length = rig.quick() ? 2048 : 32768;
  LOCUS_TRY(const Layer layer, random_layer(kPairsHeads, length));
  const auto norms = [&] { return status_of(analysis::pair_energy(layer.source(), analysis::PairNorm::kProduct)); };
  const auto read = [&]() -> Status {
    layer.scores->prepared().query.norm();
    layer.scores->prepared().key.norm();
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time(norms, read));
  rig.add({"pair energy of a layer, 8 heads, T = " + std::to_string(length), times.milliseconds, "ms",
           "one read of q and k: their norms by ATen", times.reference_milliseconds, 0, BenchTarget::kRatioAtMost, 1.25,
           false, "each number is read once"});
  return {};
}

Status profile(Rig& rig) {
  const std::int64_t length = rig.quick() ? 1024 : 4096;
  constexpr std::int64_t kPixels = 1024;
  LOCUS_TRY(const Layer layer, random_layer(1, length));
  const attention::ScoreField field(layer.scores, layer.mask);
  const auto pairs = [&] { return status_of(analysis::pair_profile(layer.source(), 0)); };
  const auto overview = [&] {
    return status_of(field.overview({attention::Quantity::kWeight, 0, {}, {}}, kPixels, kPixels, Reduction::kMean));
  };
  LOCUS_TRY(const Timed times, rig.time(pairs, overview));
  rig.add({"pair profile of a head, T = " + std::to_string(length), times.milliseconds, "ms",
           "exact mean of its weights, 1024 × 1024 pixels", times.reference_milliseconds, 0, BenchTarget::kRatioAtMost,
           4, false, "all cells, 32 pairs"});
  return {};
}

Status write_layer(const std::filesystem::path& path, std::int64_t length) {
  std::vector<checkpoint::OutputTensor> tensors;
  std::vector<at::Tensor> kept;
  for (const char* name : {"layers.0.q", "layers.0.k"}) {
    kept.push_back(at::randn({1, length, kPairsWidth}));
    tensors.push_back(
        {name, checkpoint::DType::kF32, kept.back().sizes().vec(),
         std::as_bytes(std::span(kept.back().data_ptr<float>(), static_cast<std::size_t>(kept.back().numel())))});
  }
  return checkpoint::write_safetensors(
      path, tensors, {{"locus.format", "trace/1"}, {"encoding", R"({"name": "rope"})"}, {"causal", "true"}});
}

Status long_profile(Rig& rig) {
  const std::int64_t length = rig.quick() ? 4096 : 131072;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("locus_bench_pairs_" + std::to_string(::getpid()) + ".safetensors");
  LOCUS_CHECK(write_layer(path, length));
  double profile_ms = 0;
  double energy_ms = 0;
  const auto measure = [&]() -> Status {
    LOCUS_TRY(const std::shared_ptr<const Trace> trace, open_trace(path));
    LOCUS_TRY(profile_ms, Rig::once([&] { return status_of(pair_profile(*trace, 0, 0)); }));
    LOCUS_TRY(energy_ms, Rig::once([&] { return status_of(pair_energy(*trace, 0, analysis::PairNorm::kProduct)); }));
    return {};
  };
  const Result<double> megabytes = Rig::peak_megabytes(measure);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!megabytes.ok()) {
    return megabytes.error();
  }
  const std::string at = ", a trace of q and k, T = " + std::to_string(length);
  rig.add({"pair profile" + at, profile_ms, "ms", "", 0, 0, BenchTarget::kNone, 0, true, "all cells, 32 pairs"});
  rig.add({"pair energy" + at, energy_ms, "ms", "", 0, 0, BenchTarget::kNone, 0, true, ""});
  rig.add({"memory of both" + at, *megabytes, "MB", "", 0, 0, BenchTarget::kValueAtMost, 1000, false, ""});
  return {};
}

}  // namespace

Status bench_pairs(Rig& rig) {
  LOCUS_CHECK(energy(rig));
  LOCUS_CHECK(profile(rig));
  return long_profile(rig);
}

}  // namespace locus::models
