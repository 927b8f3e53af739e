// Rows of score maps: tiles and exact overviews of one head against eager ATen, samples, and a head over 131,072 tokens
// opened from a file.
#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/analysis/head_statistics.h"
#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "models/api/model.h"
#include "models/bench/rig.h"
#include "models/checkpoint/tensor_source.h"

namespace locus::models {

namespace {

using attention::ScoreField;

constexpr std::int64_t kScoreWidth = 64;
constexpr std::int64_t kTile = 512;
constexpr std::int64_t kPixels = 1024;

// One head of random queries and keys.
struct Head {
  position::Prepared prepared;
  std::shared_ptr<const ScoreField> field;
};

Result<Head> random_head(const std::string& name, std::int64_t length) {
  const at::NoGradGuard no_grad;
  position::ModelShape shape;
  shape.head_width = shape.width = kScoreWidth;
  shape.trained_length = length;
  LOCUS_TRY(auto made, position::make_encoding(name, {}, shape));
  for (const position::Parameter& parameter : made->parameters()) {
    parameter.value->normal_(0, 0.3);
  }
  const std::shared_ptr<const position::PositionEncoding> encoding = std::move(made);
  const at::Tensor query = at::randn({1, 1, length, kScoreWidth});
  const at::Tensor key = at::randn({1, 1, length, kScoreWidth});
  Head head;
  head.prepared =
      encoding->prepare(encoding->begin(position::Positions::sequence(length), 1), 0, {query, key, key, key[0]});
  auto source = attention::ComputedScores::unsummed(encoding, 0, head.prepared, {true, 0});
  if (source == nullptr) {
    return internal("encoding " + name + " has no fused scores");
  }
  head.field = std::make_shared<const ScoreField>(std::move(source), attention::Mask{true, 0});
  return head;
}

// The logits of a rectangle as eager code has them.
at::Tensor eager_logits(const Head& head, Range rows, Range columns) {
  const at::Tensor query = head.prepared.query.select(1, 0).slice(1, rows.begin, rows.end);
  const at::Tensor key = head.prepared.key.select(1, 0).slice(1, columns.begin, columns.end);
  return at::matmul(query, key.transpose(-1, -2)) / std::sqrt(static_cast<double>(kScoreWidth));
}

template <class Fields>
Status status_of(const Fields& fields) {
  return fields.ok() ? Status() : Status(fields.error());
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
    LOCUS_TRY(const Head head, random_head(name, length_));
    const std::string at = ", T = " + std::to_string(length_);
    const Range rows{length_ - kTile, length_};
    const Range columns{length_ / 2, length_ / 2 + kTile};
    // The first tile of the rows makes CoPE's one pass over them, and sums them.
    const auto tile = [&] { return status_of(head.field->map({attention::Quantity::kWeight, 0, rows, columns})); };
    const auto eager_tile = [&]() -> Status {
      eager_logits(head, rows, columns).exp();
      return {};
    };
    LOCUS_TRY(const Timed tiles, rig_.time(tile, eager_tile));
    rig_.add({title + " 512 × 512 tile of weights" + at, tiles.milliseconds, "ms", "eager ATen q·kᵀ → scale → exp",
              tiles.reference_milliseconds, 0, BenchTarget::kValueAtMost, tile_ms, false, ""});

    const auto preview = [&] {
      return status_of(head.field->preview({attention::Quantity::kLogit, 0, {}, {}}, kPixels, kPixels));
    };
    LOCUS_TRY(const Timed previews, rig_.time(preview));
    rig_.add({title + " preview of 1024 × 1024 pixels" + at, previews.milliseconds, "ms", "", 0, 0,
              BenchTarget::kValueAtMost, 20, false, "logits"});

    for (const auto& [reduction, how] : {std::pair{Reduction::kMean, "mean"}, std::pair{Reduction::kMax, "maximum"}}) {
      const auto exact = [&, reduction = reduction] {
        return status_of(head.field->overview({attention::Quantity::kWeight, 0, {}, {}}, kPixels, kPixels, reduction));
      };
      const auto eager = [&] { return eager_overview(head); };
      LOCUS_TRY(const Timed times, rig_.time(exact, eager));
      rig_.add({title + " exact " + how + " of weights, 1024 × 1024 pixels" + at, times.milliseconds, "ms",
                "eager ATen by row blocks: q·kᵀ → soft-max → mean", times.reference_milliseconds, 0,
                BenchTarget::kValueAtMost, overview_ms, false, "row sums known"});
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
    LOCUS_TRY(const Head head, random_head("rope", length));
    const auto fused = [&] { return status_of(analysis::head_statistics(*head.field)); };
    const auto eager = [&]() -> Status {
      eager_statistics(head, length);
      return {};
    };
    LOCUS_TRY(const Timed times, rig_.time(fused, eager));
    rig_.add({"RoPE statistics of one head, T = " + std::to_string(length), times.milliseconds, "ms",
              "eager ATen by row blocks: q·kᵀ → soft-max → entropy, distance", times.reference_milliseconds, 0,
              BenchTarget::kValueAtMost, 500, false, "a sixteenth of 8 s"});
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
    LOCUS_TRY(const Head short_head, random_head("rope", length_ / 4));
    LOCUS_TRY(const Head long_head, random_head("rope", 4 * length_));
    const auto tile = [](const Head& head) {
      const std::int64_t length = head.field->source().length();
      return status_of(head.field->map({attention::Quantity::kLogit, 0, {length - kTile, length}, {0, kTile}}));
    };
    LOCUS_TRY(const Timed times, rig_.time([&] { return tile(long_head); }, [&] { return tile(short_head); }));
    rig_.add({"RoPE tile of logits, T = " + std::to_string(4 * length_), times.milliseconds, "ms",
              "the tile at T = " + std::to_string(length_ / 4), times.reference_milliseconds, 0,
              BenchTarget::kRatioAtMost, 1.5, false, "independent of T"});
    return {};
  }

  // A trace file of q and k alone.
  Status long_head() {
    const std::int64_t length = rig_.quick() ? 4096 : 131072;
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("locus_bench_" + std::to_string(::getpid()) + ".safetensors");
    LOCUS_CHECK(write_head(path, length));
    const Status status = measure_file(path, length);
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return status;
  }

  static Status write_head(const std::filesystem::path& path, std::int64_t length) {
    std::vector<checkpoint::OutputTensor> tensors;
    std::vector<at::Tensor> kept;
    for (const char* name : {"layers.0.q", "layers.0.k"}) {
      kept.push_back(at::randn({1, length, kScoreWidth}));
      tensors.push_back(
          {name, checkpoint::DType::kF32, kept.back().sizes().vec(),
           std::as_bytes(std::span(kept.back().data_ptr<float>(), static_cast<std::size_t>(kept.back().numel())))});
    }
    return checkpoint::write_safetensors(
        path, tensors, {{"locus.format", "trace/1"}, {"encoding", R"({"name": "none"})"}, {"causal", "true"}});
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
    rig_.add({name + "opened", open_ms, "ms", "", 0, 0, BenchTarget::kNone, 0, true, ""});
    rig_.add({name + "preview of logits", logit_ms, "ms", "", 0, 0, BenchTarget::kValueAtMost, 60, false, ""});
    rig_.add({name + "first preview of weights", weight_ms, "ms", "", 0, 0, BenchTarget::kNone, 0, true,
              "sums its 1024 sampled rows"});
    rig_.add(
        {name + "first tile of weights", tile_ms, "ms", "", 0, 0, BenchTarget::kNone, 0, true, "sums its 512 rows"});
    rig_.add({name + "memory", megabytes, "MB", "", 0, 0, BenchTarget::kValueAtMost, 1000, false, ""});
    return {};
  }

  Rig& rig_;
  std::int64_t length_;
};

}  // namespace

Status bench_scores(Rig& rig) {
  return Scores(rig).run();
}

}  // namespace locus::models
