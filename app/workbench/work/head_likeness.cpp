#include "app/workbench/work/head_likeness.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/score_maps/map_metrics.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kAllQueries = 256;
constexpr std::int64_t kStretches = 8;
constexpr std::int64_t kStretch = 32;

bool attends(const models::ModelInfo& model, std::int64_t layer) {
  return layer >= std::ssize(model.layer_info) || model.layer_info[static_cast<std::size_t>(layer)].attends;
}

// The head's rows of weights, one map for each stretch of queries.
Result<std::vector<Field>> rows_of(const models::Trace& trace, const views::HeadRef& head, const StopToken& stop) {
  std::vector<Field> rows;
  for (const Range& queries : compared_queries(trace.length())) {
    models::MapRequest request;
    request.layer = head.layer;
    request.head = head.head;
    request.rows = queries;
    LOCUS_TRY(rows.emplace_back(), trace.map(request, stop));
  }
  return rows;
}

// Longer stretches count for more.
double distance_of(const std::vector<Field>& a, const std::vector<Field>& b) {
  double sum = 0;
  double rows = 0;
  for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
    if (const auto divergence = views::map_metrics(a[n], b[n], {0, a[n].rows}, true).jensen_shannon) {
      sum += static_cast<double>(a[n].rows) * *divergence;
      rows += static_cast<double>(a[n].rows);
    }
  }
  return rows > 0 ? sum / rows : kNaN;
}

Result<std::vector<views::Fingerprint>> prints_of(const HeadRun& run, const StopToken& stop, const Progress& progress) {
  const models::ModelInfo& model = run.column.trace->model();
  return run.prints.empty() ? views::fingerprints(run.column, {0, model.layers}, stop, progress)
                            : Result<std::vector<views::Fingerprint>>(run.prints);
}

void keep_nearest(std::vector<LikeHead>& heads, std::size_t count) {
  std::erase_if(heads, [](const LikeHead& each) { return !std::isfinite(each.distance); });
  std::ranges::stable_sort(heads, {}, &LikeHead::distance);
  heads.resize(std::min(heads.size(), count));
}

// One run beside the head's own.
class Comparing {
 public:
  Comparing(const HeadRun& own, const views::HeadRef& head, const StopToken& stop, const Progress& progress)
      : own_(own), head_(head), stop_(stop), progress_(progress) {}

  Status by_maps(const HeadRun& other, double done, double share, LikeHeads& made) {
    const models::Trace& trace = *other.column.trace;
    if (own_rows_.empty()) {
      LOCUS_TRY(own_rows_, rows_of(*own_.column.trace, head_, stop_));
    }
    for (std::int64_t layer = 0; layer < trace.model().layers; ++layer) {
      report(progress_, done + share * static_cast<double>(layer) / static_cast<double>(trace.model().layers),
             "layer " + std::to_string(layer) + " of " + other.column.name);
      for (std::int64_t head = 0; attends(trace.model(), layer) && head < trace.model().heads; ++head) {
        if (stop_.stop_requested()) {
          return cancelled();
        }
        if (other.id == own_.id && head_ == views::HeadRef{layer, head}) {
          continue;
        }
        LOCUS_TRY(const std::vector<Field> rows, rows_of(trace, {layer, head}, stop_));
        made.heads.push_back({{layer, head}, distance_of(own_rows_, rows)});
      }
    }
    return {};
  }

  Status by_statistics(const HeadRun& other, LikeHeads& made) {
    made.by_maps = false;
    if (own_prints_.empty()) {
      LOCUS_TRY(own_prints_, prints_of(own_, stop_, progress_));
    }
    LOCUS_TRY(const auto prints, prints_of(other, stop_, progress_));
    const std::int64_t heads = other.column.trace->model().heads;
    const auto at = static_cast<std::size_t>(head_.layer * own_.column.trace->model().heads + head_.head);
    for (std::size_t n = 0; at < own_prints_.size() && n < prints.size(); ++n) {
      const auto index = static_cast<std::int64_t>(n);
      made.heads.push_back(
          {{index / heads, index % heads},
           statistics_distance(own_prints_[at], own_.column.trace->length(), prints[n], other.column.trace->length())});
    }
    return {};
  }

 private:
  const HeadRun& own_;
  const views::HeadRef head_;
  const StopToken& stop_;
  const Progress& progress_;
  std::vector<Field> own_rows_;
  std::vector<views::Fingerprint> own_prints_;
};

}  // namespace

std::vector<Range> compared_queries(std::int64_t length) {
  if (length <= kAllQueries) {
    return {{length > 1 ? 1 : 0, length}};
  }
  std::vector<Range> stretches;
  for (std::int64_t n = 0; n < kStretches; ++n) {
    const std::int64_t end = length * (n + 1) / kStretches;
    stretches.push_back({end - kStretch, end});
  }
  return stretches;
}

double statistics_distance(const views::Fingerprint& a, std::int64_t length_a, const views::Fingerprint& b,
                           std::int64_t length_b) {
  double squares = 0;
  double count = 0;
  const auto add = [&](double of_a, double of_b) {
    if (std::isfinite(of_a) && std::isfinite(of_b)) {
      squares += (of_a - of_b) * (of_a - of_b);
      ++count;
    }
  };
  const auto longest = [](std::int64_t length) { return std::max(1.0, static_cast<double>(length - 1)); };
  const auto widest = [](std::int64_t length) { return std::log(std::max(2.0, static_cast<double>(length))); };
  add(a.previous, b.previous);
  add(a.first, b.first);
  add(a.self, b.self);
  add(a.induction, b.induction);
  add(a.distance / longest(length_a), b.distance / longest(length_b));
  add(a.entropy / widest(length_a), b.entropy / widest(length_b));
  return count > 0 ? std::sqrt(squares / count) : kNaN;
}

Result<std::vector<LikeHeads>> heads_like(const HeadRun& own, const views::HeadRef& head,
                                          const std::vector<HeadRun>& runs, std::size_t count, const StopToken& stop,
                                          const Progress& progress) {
  Comparing comparing(own, head, stop, progress);
  std::vector<LikeHeads> all;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const HeadRun& run = runs[n];
    LikeHeads made;
    made.id = run.id;
    made.name = run.column.name;
    const double share = 1 / static_cast<double>(runs.size());
    const bool alike = views::same_tokens(*own.column.trace, *run.column.trace);
    const Status done = alike ? comparing.by_maps(run, static_cast<double>(n) * share, share, made)
                              : comparing.by_statistics(run, made);
    if (!done.ok() && (done.error().code == ErrorCode::kCancelled || run.id == own.id)) {
      return done.error();
    }
    if (!done.ok()) {
      made.error = done.error();
      made.heads.clear();
    }
    keep_nearest(made.heads, count);
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace locus::workbench
