// Rows of score maps: tiles and exact overviews of one head against eager ATen, samples, and a head over 131,072 tokens
// opened from a file.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "core/analysis/head_statistics.h"
#include "core/attention/score_field.h"
#include "models/api/model.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

namespace {

using attention::ScoreField;

constexpr std::int64_t kTile = 512;
constexpr std::int64_t kPixels = 1024;

using Head = std::shared_ptr<const ScoreField>;

// The logits of a rectangle as eager code has them.
at::Tensor eager_logits(const Head& head, Range rows, Range columns) {
  const position::Prepared& prepared = head->source().computed()->prepared();
  const at::Tensor query = prepared.query.select(1, 0).slice(1, rows.begin, rows.end);
  const at::Tensor key = prepared.key.select(1, 0).slice(1, columns.begin, columns.end);
  return at::matmul(query, key.transpose(-1, -2)) / std::sqrt(static_cast<double>(kBenchWidth));
}

class Scores {
 public:
  explicit Scores(Rig& rig) : rig_(rig), length_(rig.quick() ? 2048 : 16384) {}

  Status run() {
    LOCUS_CHECK(rows_of("rope", "RoPE", 2, 600));
    LOCUS_CHECK(rows_of("cope", "CoPE", 5, 1500));
    LOCUS_CHECK(any_length());
    LOCUS_CHECK(statistics());
    return long_head();
  }

 private:
  Status rows_of(const std::string& name, const std::string& title, double tile_ms, double overview_ms) {
    LOCUS_TRY(const Head head, random_heads(name, 1, length_));
    const std::string at = ", T = " + std::to_string(length_);
    const Range rows{length_ - kTile, length_};
    const Range columns{length_ / 2, length_ / 2 + kTile};
    // The first tile of the rows makes CoPE's one pass over them, and sums them.
    const auto tile = [&] { return status_of(head->map({attention::Quantity::kWeight, 0, rows, columns})); };
    const auto eager_tile = [&]() -> Status {
      eager_logits(head, rows, columns).exp();
      return {};
    };
    LOCUS_TRY(const Timed tiles, rig_.time(tile, eager_tile));
    rig_.add(title + " 512 × 512 tile of weights" + at, tiles, "eager ATen q·kᵀ → scale → exp", Target::kValueAtMost,
             tile_ms);

    const auto preview = [&] {
      return status_of(head->preview({attention::Quantity::kLogit, 0, {}, {}}, kPixels, kPixels));
    };
    LOCUS_TRY(const Timed previews, rig_.time(preview));
    rig_.add({title + " preview of 1024 × 1024 pixels" + at, previews.milliseconds, "ms", "", 0, 0,
              Target::kValueAtMost, 20, false, "logits"});

    for (const auto& [reduction, how] : {std::pair{Reduction::kMean, "mean"}, std::pair{Reduction::kMax, "maximum"}}) {
      const auto exact = [&, reduction = reduction] {
        return status_of(head->overview({attention::Quantity::kWeight, 0, {}, {}}, kPixels, kPixels, reduction));
      };
      const auto eager = [&] { return eager_overview(head); };
      LOCUS_TRY(const Timed times, rig_.time(exact, eager));
      rig_.add(title + " exact " + how + " of weights, 1024 × 1024 pixels" + at, times,
               "eager ATen by row blocks: q·kᵀ → soft-max → mean", Target::kValueAtMost, overview_ms, "row sums known");
    }
    return {};
  }

  // Row blocks of whole rows, their soft-max and the mean of each pixel: q·kᵀ alone, whatever the encoding adds.
  Status eager_overview(const Head& head) const {
    constexpr std::int64_t kBlock = 256;
    for (std::int64_t begin = 0; begin < length_; begin += kBlock) {
      const Range rows{begin, begin + kBlock};
      const at::Tensor logits = eager_logits(head, rows, {0, length_}).select(0, 0);
      const at::Tensor hidden = at::arange(length_).unsqueeze(0) > at::arange(begin, begin + kBlock).unsqueeze(1);
      const at::Tensor weights = at::softmax(logits.masked_fill(hidden, -3.4e38), -1);
      const std::int64_t pixel = std::max<std::int64_t>(1, length_ / kPixels);
      weights.view({kBlock / pixel, pixel, length_ / pixel, pixel}).mean(at::IntArrayRef{1, 3});
    }
    return {};
  }

  // All statistics of one head, as the table of heads shows them for each.
  Status statistics() {
    const std::int64_t length = rig_.quick() ? 2048 : 20'000;
    LOCUS_TRY(const Head head, random_heads("rope", 1, length));
    const auto fused = [&] { return status_of(analysis::head_statistics(*head)); };
    const auto eager = [&]() -> Status {
      eager_statistics(head, length);
      return {};
    };
    LOCUS_TRY(const Timed times, rig_.time(fused, eager));
    rig_.add("RoPE statistics of one head, T = " + std::to_string(length), times,
             "eager ATen by row blocks: q·kᵀ → soft-max → entropy, distance", Target::kValueAtMost, 500,
             "a sixteenth of 8 s");
    return {};
  }

  void eager_statistics(const Head& head, std::int64_t length) const {
    constexpr std::int64_t kBlock = 100;
    for (std::int64_t begin = 0; begin < length; begin += kBlock) {
      const Range rows{begin, std::min(begin + kBlock, length)};
      const at::Tensor logits = eager_logits(head, rows, {0, length}).select(0, 0);
      const at::Tensor distance = at::arange(rows.begin, rows.end).unsqueeze(1) - at::arange(length).unsqueeze(0);
      const at::Tensor weights = at::softmax(logits.masked_fill(distance < 0, -3.4e38), -1);
      at::xlogy(weights, weights).sum(-1);
      (weights * distance.abs().to(at::kFloat)).sum(-1);
    }
  }

  // A tile costs the same wherever it lies in however long a text.
  Status any_length() {
    LOCUS_TRY(const Head short_head, random_heads("rope", 1, length_ / 4));
    LOCUS_TRY(const Head long_head, random_heads("rope", 1, 4 * length_));
    const auto tile = [](const Head& head) {
      const std::int64_t length = head->source().length();
      return status_of(head->map({attention::Quantity::kLogit, 0, {length - kTile, length}, {0, kTile}}));
    };
    LOCUS_TRY(const Timed times, rig_.time([&] { return tile(long_head); }, [&] { return tile(short_head); }));
    rig_.add("RoPE tile of logits, T = " + std::to_string(4 * length_), times,
             "the tile at T = " + std::to_string(length_ / 4), Target::kRatioAtMost, 1.5, "independent of T");
    return {};
  }

  // A trace file of q and k alone.
  Status long_head() {
    const std::int64_t length = rig_.quick() ? 4096 : 131072;
    return with_trace_file("none", length,
                           [&](const std::filesystem::path& path) { return measure_file(path, length); });
  }

  Status measure_file(const std::filesystem::path& path, std::int64_t length) {
    const std::string name = "synthetic head, T = " + std::to_string(length) + ": ";
    std::shared_ptr<const Trace> trace;
    double open_ms = 0;
    double logit_ms = 0;
    double weight_ms = 0;
    double tile_ms = 0;
    const auto preview = [&](models::Quantity quantity) {
      return status_of(trace->preview({0, 0, quantity, {}, {}}, kPixels, kPixels));
    };
    LOCUS_TRY(
        const double megabytes, Rig::peak_megabytes([&]() -> Status {
          LOCUS_TRY(open_ms, Rig::once([&]() -> Status {
                      LOCUS_TRY(trace, open_trace(path));
                      return {};
                    }));
          LOCUS_TRY(weight_ms, Rig::once([&] { return preview(models::Quantity::kWeight); }));
          LOCUS_TRY(const Timed logits, rig_.time([&] { return preview(models::Quantity::kLogit); }));
          logit_ms = logits.milliseconds;
          const MapRequest zoomed{
              0, 0, models::Quantity::kWeight, {length / 2, length / 2 + kTile}, {length / 4, length / 4 + kTile}};
          LOCUS_TRY(tile_ms, Rig::once([&] { return status_of(trace->map(zoomed)); }));
          return {};
        }));
    rig_.add({name + "opened", open_ms, "ms", "", 0, 0, Target::kNone, 0, true, ""});
    rig_.add({name + "preview of logits", logit_ms, "ms", "", 0, 0, Target::kValueAtMost, 60, false, ""});
    rig_.add({name + "first preview of weights", weight_ms, "ms", "", 0, 0, Target::kNone, 0, true,
              "sums its 1024 sampled rows"});
    rig_.add({name + "first tile of weights", tile_ms, "ms", "", 0, 0, Target::kNone, 0, true, "sums its 512 rows"});
    rig_.add({name + "memory", megabytes, "MB", "", 0, 0, Target::kValueAtMost, 1000, false, ""});
    return {};
  }

  Rig& rig_;
  std::int64_t length_;
};

}  // namespace

Status bench_scores(Rig& rig) {
  return Scores(rig).run();
}

}  // namespace locus::bench
