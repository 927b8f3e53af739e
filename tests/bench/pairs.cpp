// Rows of rotary pairs: energy against reading q and k, a profile against the exact overview of the same head, the split
// of logits into place and word against a forward pass, and a profile of 131,072 tokens from a trace of q and k alone.
#include "core/analysis/pairs.h"
#include "core/analysis/addressing.h"
#include "core/attention/score_field.h"
#include "models/api/pairs.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

namespace {

constexpr std::int64_t kPairsHeads = 8;

analysis::PairSource source_of(const attention::ScoreField& heads) {
  return {*heads.source().computed(), heads.mask()};
}

Status energy(Rig& rig) {
  const std::int64_t length = rig.quick() ? 2048 : 32768;
  LOCUS_TRY(const auto layer, random_heads("rope", kPairsHeads, length));
  const auto norms = [&] { return status_of(analysis::pair_energy(source_of(*layer), analysis::PairNorm::kProduct)); };
  const auto read = [&]() -> Status {
    layer->source().computed()->prepared().query.norm();
    layer->source().computed()->prepared().key.norm();
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time(norms, read));
  rig.add("pair energy of a layer, 8 heads, T = " + std::to_string(length), times,
          "one read of q and k: their norms by ATen", Target::kRatioAtMost, 1.25, "each number is read once");
  return {};
}

Status profile(Rig& rig) {
  const std::int64_t length = rig.quick() ? 1024 : 4096;
  constexpr std::int64_t kPixels = 1024;
  LOCUS_TRY(const auto head, random_heads("rope", 1, length));
  const auto pairs = [&] { return status_of(analysis::pair_profile(source_of(*head), 0)); };
  const auto overview = [&] {
    return status_of(head->overview({attention::Quantity::kWeight, 0, {}, {}}, kPixels, kPixels, Reduction::kMean));
  };
  LOCUS_TRY(const Timed times, rig.time(pairs, overview));
  rig.add({"pair profile of a head, T = " + std::to_string(length), times.milliseconds, "ms",
           "exact mean of its weights, 1024 × 1024 pixels", times.reference_milliseconds, 0, Target::kRatioAtMost, 4,
           false, "all cells, 32 pairs"});
  return {};
}

// Place, word and both of all heads of GPT-2-small's size, of 128 queries each, against a forward pass over the text.
Status split_logits(Rig& rig) {
  const std::int64_t length = rig.quick() ? 256 : 1024;
  transformer::Spec spec = gpt2_small(length, rig.quick());
  spec.encodings = {{"rope", {}}};
  LOCUS_TRY(const auto model, transformer::Transformer::create(spec));
  LOCUS_TRY(const auto layer, random_heads("rope", spec.layers.front().attention.heads, length));
  const auto split = [&]() -> Status {
    for (std::int64_t n = 0; n < spec.depth(); ++n) {
      LOCUS_CHECK(status_of(analysis::addressing({*layer, *layer->source().computed()})));
    }
    return {};
  };
  LOCUS_TRY(const Timed times, rig.time(split, [&] { return observe_random(*model, length); }));
  rig.add(
      "place and word of all heads, " + std::to_string(spec.depth()) + " layers of 12, T = " + std::to_string(length),
      times, "a forward pass of that size over the text", Target::kRatioAtMost, 1.2, "128 queries of each head");
  return {};
}

Status long_profile(Rig& rig) {
  const std::int64_t length = rig.quick() ? 4096 : 131072;
  double profile_ms = 0;
  double energy_ms = 0;
  double megabytes = 0;
  LOCUS_CHECK(with_trace_file("rope", length, [&](const std::filesystem::path& path) -> Status {
    const auto measure = [&]() -> Status {
      LOCUS_TRY(const std::shared_ptr<const Trace> trace, open_trace(path));
      LOCUS_TRY(profile_ms, Rig::once([&] { return status_of(pair_profile(*trace, 0, 0)); }));
      LOCUS_TRY(energy_ms, Rig::once([&] { return status_of(pair_energy(*trace, 0, analysis::PairNorm::kProduct)); }));
      return {};
    };
    LOCUS_TRY(megabytes, Rig::peak_megabytes(measure));
    return {};
  }));
  const std::string at = ", a trace of q and k, T = " + std::to_string(length);
  rig.add({"pair profile" + at, profile_ms, "ms", "", 0, 0, Target::kNone, 0, true, "all cells, 32 pairs"});
  rig.add({"pair energy" + at, energy_ms, "ms", "", 0, 0, Target::kNone, 0, true, ""});
  rig.add({"memory of both" + at, megabytes, "MB", "", 0, 0, Target::kValueAtMost, 1000, false, ""});
  return {};
}

}  // namespace

Status bench_pairs(Rig& rig) {
  LOCUS_CHECK(energy(rig));
  LOCUS_CHECK(profile(rig));
  LOCUS_CHECK(split_logits(rig));
  return long_profile(rig);
}

}  // namespace locus::bench
