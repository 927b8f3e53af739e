// `training`: how heads form: a statistic of heads over the steps of a training, each step an atlas.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

constexpr std::size_t kMaxNamedHeads = 16;  // curves with a name in the legend
constexpr std::size_t kMaxStatedHeads = 3;  // heads that the statement names

struct TrainingKey {
  std::string statistic;

  friend bool operator==(const TrainingKey&, const TrainingKey&) = default;
};

// (L·H)
struct HeadsAtStep {
  std::vector<HeadInterval> heads;
};
std::size_t cached_bytes(const HeadsAtStep& step) {
  return sizeof step + views::cached_bytes(step.heads);
}

std::vector<std::string> names_but_layer() {
  std::vector<std::string> names = atlas_statistic_names();
  std::erase(names, "layer");
  return names;
}

class TrainingView final : public MeasuredView<TrainingKey, HeadsAtStep> {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Status fits(const Column& column) const override {
    return models::atlas_of(*column.trace)->info().step
               ? Status()
               : unsupported(info_.title + " needs the training step of each atlas; " + column.name + " names none");
  }
  Result<TrainingKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    return TrainingKey{option<std::string>(input, "statistic")};
  }
  Result<HeadsAtStep> measure(const TrainingKey& key, const MeasureContext& context) const override {
    report(context.progress, 0, "statistics");
    if (context.stop.stop_requested()) {
      return cancelled();
    }
    HeadsAtStep step;
    LOCUS_TRY(step.heads, head_intervals(*models::atlas_of(*context.column.trace), key.statistic));
    return step;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  // The heads that are shown, in ascending order.
  Result<std::vector<std::size_t>> shown_heads(const ViewInput& input, const Numbers& sorted) const;

  ViewInfo info_ = described({
      .name = "training",
      .caption = "When in training each head learns what it does.",
      .shows =
          "A statistic of heads over the steps of a training. Each column is an atlas of one step; the columns are "
          "sorted by step. Bands are 95 % intervals of the means over the windows. Rings instead of dots: the interval "
          "contains the mean for shuffled tokens. Shown are the heads that change most, or those that are named.",
      .of_runs = false,
      .of_atlases = true,
      .controls = {choice("statistic", "Statistic", "The statistic that is shown over the steps", names_but_layer()),
                   words("heads", "Heads", "The heads that are shown, by layer and head (1.2), by layer (1), or all",
                         "those that change most; 1.2 3 all"),
                   whole("count", "Count", "Number of heads that are shown where none are named", 6, 1, 64),
                   toggle("log-steps", "Logarithmic", "A logarithmic step axis")},
  });
};

double step_of(const ViewInput& input, std::size_t column) {
  return static_cast<double>(*models::atlas_of(*input.columns[column].trace)->info().step);
}

// Columns in the order of their steps. Errors: kUsage for columns of models whose heads differ, and two of one step.
Result<std::vector<std::size_t>> by_step(const ViewInput& input) {
  std::vector<std::size_t> order(input.columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return step_of(input, n); });
  const models::ModelInfo& first = input.columns.front().trace->model();
  for (std::size_t n = 0; n < order.size(); ++n) {
    const models::ModelInfo& own = input.columns[order[n]].trace->model();
    if (own.layers != first.layers || own.heads != first.heads) {
      return usage("training: expected atlases of one model, found " + std::to_string(first.layers) + " × " +
                   std::to_string(first.heads) + " heads and " + std::to_string(own.layers) + " × " +
                   std::to_string(own.heads));
    }
    if (n > 0 && step_of(input, order[n]) == step_of(input, order[n - 1])) {
      return usage("training: expected one atlas a step, found two of step " +
                   std::to_string(std::llround(step_of(input, order[n]))));
    }
  }
  return order;
}

// How far a head's mean moves over the steps.
double change_of(const std::vector<std::shared_ptr<const HeadsAtStep>>& steps, std::size_t head) {
  Extent extent;
  for (const auto& step : steps) {
    extent.add(step->heads[head].mean);
  }
  const figure::Interval range = extent.padded(0);
  return extent.empty() ? 0 : range.high - range.low;
}

Result<std::vector<std::size_t>> TrainingView::shown_heads(const ViewInput& input, const Numbers& sorted) const {
  const models::ModelInfo& model = input.columns.front().trace->model();
  LOCUS_TRY(std::vector<std::size_t> heads,
            heads_named(option<std::string>(input, "heads"), model.layers, model.heads));
  if (heads.empty()) {
    heads.resize(sorted.front()->heads.size());
    std::iota(heads.begin(), heads.end(), std::size_t{0});
    std::ranges::stable_sort(heads, std::greater<>(), [&](std::size_t head) { return change_of(sorted, head); });
    heads.resize(std::min(static_cast<std::size_t>(option<std::int64_t>(input, "count")), heads.size()));
    std::ranges::sort(heads);
  }
  return heads;
}

figure::Curve curve_over(const std::vector<double>& steps, const std::vector<HeadInterval>& at, std::string name) {
  figure::Curve curve = curve_through(std::move(name), steps, numbers_of(at, &HeadInterval::mean));
  curve.low = numbers_of(at, &HeadInterval::low);
  curve.high = numbers_of(at, &HeadInterval::high);
  for (const HeadInterval& each : at) {
    curve.hollow.push_back(each.like_null() ? 1 : 0);
  }
  return curve;
}

// The steps with room for the dots of the first and the last.
figure::Interval around(const std::vector<double>& steps, bool logarithmic) {
  if (logarithmic) {
    const double room = std::pow(std::max(steps.back() / steps.front(), 2.0), 0.03);
    return {steps.front() / room, steps.back() * room};
  }
  const double room = 0.03 * std::max(steps.back() - steps.front(), 10.0);
  return {steps.front() - room, steps.back() + room};
}

// "head 0.3: 0.0039 [0.0038, 0.0040] as with shuffled tokens at step 25, 0.67 [0.66, 0.67] at step 1500"
std::string head_line(const std::string& name, const std::vector<double>& steps, const std::vector<HeadInterval>& at) {
  const auto said = [&](std::size_t n) {
    return with_interval(at[n].mean, at[n].low, at[n].high) + (at[n].like_null() ? " as with shuffled tokens" : "") +
           " at step " + std::to_string(std::llround(steps[n]));
  };
  return "head " + name + ": " + said(0) + (steps.size() > 1 ? ", " + said(steps.size() - 1) : "");
}

Result<figure::Figure> TrainingView::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(std::vector<std::size_t> order, by_step(input));
  const bool logarithmic = option<bool>(input, "log-steps");
  if (logarithmic) {
    std::erase_if(order, [&](std::size_t n) { return step_of(input, n) < 1; });
  }
  if (order.empty()) {
    return usage("training: expected a step above 0, which a logarithmic axis shows, found none");
  }
  const std::int64_t count = input.columns.front().trace->model().heads;
  std::vector<double> steps;
  Numbers sorted;
  for (const std::size_t n : order) {
    steps.push_back(step_of(input, n));
    sorted.push_back(numbers[n]);
  }
  LOCUS_TRY(const std::vector<std::size_t> heads, shown_heads(input, sorted));
  figure::Panel panel;
  Extent extent;
  std::string statement;
  for (std::size_t n = 0; n < heads.size(); ++n) {
    std::vector<HeadInterval> at;
    for (const Pointer& step : sorted) {
      at.push_back(step->heads[heads[n]]);
    }
    figure::Curve curve = curve_over(steps, at, heads.size() <= kMaxNamedHeads ? head_name_at(heads[n], count) : "");
    for (const std::vector<double>* const list : {&curve.y, &curve.low, &curve.high}) {
      extent.add(*list);
    }
    panel.layers.emplace_back(std::move(curve));
    if (heads.size() == 1) {
      figure::Curve null = curve_through("shuffled tokens", steps, numbers_of(at, &HeadInterval::null));
      null.dashed = true;
      extent.add(null.y);
      panel.layers.emplace_back(std::move(null));
    }
    if (n < kMaxStatedHeads) {
      statement += (n > 0 ? "; " : "") + head_line(head_name_at(heads[n], count), steps, at);
    }
  }
  const models::AtlasInfo& info = models::atlas_of(*input.columns[order.back()].trace)->info();
  const bool one = std::ranges::all_of(order, [&](std::size_t n) {
    return models::atlas_of(*input.columns[n].trace)->info().checkpoint == info.checkpoint;
  });
  panel.title = (one ? info.checkpoint + " · " : "") + std::to_string(steps.size()) +
                (steps.size() == 1 ? " step" : " steps") + " of training";
  panel.x.label = "training step";
  panel.x.view = around(steps, logarithmic);
  panel.x.logarithmic = logarithmic;
  panel.y.label = meaning_of(option<std::string>(input, "statistic"));
  panel.y.view = extent.padded();
  panel.note = windows_text(info) + "; bands: 95 % of the mean; rings: as in shuffled tokens" +
               (option<std::string>(input, "heads").empty() ? "; the heads that change most" : "");
  figure::Figure figure = figure_of(std::move(panel));
  figure.statement = heads.size() > kMaxStatedHeads
                         ? statement + "; and " + std::to_string(heads.size() - kMaxStatedHeads) + " more"
                         : statement;
  return figure;
}

Result<Data> TrainingView::table(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::vector<std::size_t> order, by_step(input));
  const std::int64_t count = input.columns.front().trace->model().heads;
  std::vector<Series> series{{"step", {}}, {"layer", {}}, {"head", {}},    {"mean", {}},
                             {"low", {}},  {"high", {}},  {"shuffled", {}}};
  for (const std::size_t n : order) {
    for (std::int64_t head = 0; head < std::ssize(numbers[n]->heads); ++head) {
      const HeadInterval& at = numbers[n]->heads[static_cast<std::size_t>(head)];
      const std::int64_t layer = head / count;
      const std::vector<double> row{step_of(input, n),
                                    static_cast<double>(layer),
                                    static_cast<double>(head % count),
                                    at.mean,
                                    at.low,
                                    at.high,
                                    at.null};
      for (std::size_t c = 0; c < row.size(); ++c) {
        series[c].values.push_back(row[c]);
      }
    }
  }
  return table_of(std::move(series));
}

}  // namespace

const View& training_view() {
  return made_once<TrainingView>();
}

}  // namespace locus::views
