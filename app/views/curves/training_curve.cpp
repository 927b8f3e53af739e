// `training-curve`: how checkpoints learned, by the steps of their training.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "app/views/curves/task_results.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/lists.h"
#include "core/base/shown.h"
#include "models/api/files.h"

namespace locus::views {

namespace {

namespace fs = std::filesystem;

// One checkpoint's loss.csv.
struct Training {
  std::string name;
  std::vector<double> step, loss;
  std::vector<double> validated_at, validation;  // where it was measured
  // Splits that locus train was asked for, each where it was measured.
  struct SplitCurve {
    std::string name;
    std::vector<double> at, value;
  };
  std::vector<SplitCurve> splits;
};

constexpr std::string_view kTrainingHeader = "step,loss,learning_rate,validation";
constexpr std::size_t kMaxSplits = 16;

class TrainingCurve final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  // Columns: step; of each checkpoint the loss, the validation and the splits, NaN where there is none.
  Result<Data> data(const ViewInput& input) const override;

 private:
  Result<std::vector<Training>> read(const ViewInput& input) const;

  ViewInfo info_ = described({
      .name = "training-curve",
      .caption = "How the error fell while the model was trained: lower is better.",
      .shows = "How checkpoints learned: the training loss and the metric of the task on held-out samples, by training "
               "step. The numbers come from loss.csv in each checkpoint, which locus train writes.",
      .uses_input = false,
      .controls = {choice("of", "Of",
                          "The metric on held-out samples, the training loss, both with one panel each, or the metric "
                          "on each split that locus train --splits measured",
                          {"validation", "loss", "both", "splits"}),
                   whole("smooth", "Smooth", "Number of steps over which the loss is averaged", 25, 1, 100000),
                   toggle("log-steps", "Logarithmic", "A logarithmic step axis")},
      .brushes = {{"smooth", "", "smooth"}},
  });
};

// The first line: the header, and behind it a column a split.
Status read_header(std::string_view line, const std::string& where, Training& into) {
  const Error wrong = bad_input(
      "line 1: expected " + std::string(kTrainingHeader) + " and at most 16 different splits, found " + shown(line),
      where);
  if (!line.starts_with(kTrainingHeader)) {
    return wrong;
  }
  line.remove_prefix(kTrainingHeader.size());
  if (line.empty()) {
    return {};
  }
  std::vector<std::string_view> names = split(line);
  if (!names.front().empty() || names.size() > kMaxSplits + 1) {
    return wrong;
  }
  names.erase(names.begin());
  for (const std::string_view name : names) {
    if (name.empty() || std::ranges::count(names, name) > 1) {
      return wrong;
    }
    into.splits.push_back({std::string(name), {}, {}});
  }
  return {};
}

// "step,loss,learning_rate,validation" and the splits, of which all from the validation on may be empty.
Status read_row(std::string_view line, const std::string& where, Training& into) {
  const std::vector<std::string_view> fields = split(line);
  const std::size_t columns = 4 + into.splits.size();
  const auto step = fields.empty() ? std::nullopt : parse_number<double>(fields[0]);
  const auto loss = fields.size() == columns ? parse_number<double>(fields[1]) : std::nullopt;
  const bool measured = fields.size() == columns && !fields[3].empty();
  const auto validation = measured ? parse_number<double>(fields[3]) : std::nullopt;
  const bool ascends = step && (into.step.empty() || *step > into.step.back());
  if (!ascends || !loss || (measured && !validation)) {
    return bad_input("expected a step above the last, a loss, a learning rate and a validation or nothing, found " +
                         std::string(line.substr(0, 80)),
                     where);
  }
  for (std::size_t n = 0; n < into.splits.size(); ++n) {
    const std::string_view cell = fields[4 + n];
    const auto value = parse_number<double>(cell);
    if (!cell.empty() && !value) {
      return bad_input("expected a number or nothing for split " + into.splits[n].name + ", found " + shown(cell),
                       where);
    }
    if (value) {
      into.splits[n].at.push_back(*step);
      into.splits[n].value.push_back(*value);
    }
  }
  into.step.push_back(*step);
  into.loss.push_back(*loss);
  if (measured) {
    into.validated_at.push_back(*step);
    into.validation.push_back(*validation);
  }
  return {};
}

Result<Training> read_training_of(const Column& column) {
  LOCUS_TRY(const fs::path file, file_beside(column, "loss.csv", ": locus train writes one"));
  LOCUS_TRY(const std::string text, models::file_text(file, models::kMaxFileBytes));
  Training training;
  training.name = column.name;
  std::size_t number = 0;
  for (const std::string_view line : split_terminated(text, "\n")) {
    ++number;
    if (number == 1) {
      LOCUS_CHECK(read_header(line, file.string(), training));
      continue;
    }
    LOCUS_CHECK(read_row(line, file.string() + ": line " + std::to_string(number), training));
  }
  if (training.step.empty()) {
    return bad_input("expected a line a step, found none", file.string());
  }
  return training;
}

Result<std::vector<Training>> TrainingCurve::read(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  std::vector<Training> list;
  for (const Column& column : input.columns) {
    LOCUS_TRY(list.emplace_back(), read_training_of(column));
  }
  return list;
}

figure::Panel steps_panel(std::vector<figure::Curve> curves, const std::string& label, bool logarithmic) {
  figure::Panel panel;
  Extent x;
  Extent y;
  for (figure::Curve& curve : curves) {
    add_curve(std::move(curve), x, y, panel);
  }
  const figure::Interval steps = x.padded(0);
  panel.x.label = "step";
  panel.x.view = {logarithmic ? std::max(steps.low, 1.0) : std::min(steps.low, 0.0), std::max(steps.high, 2.0)};
  panel.x.logarithmic = logarithmic;
  panel.y.label = label;
  panel.y.view = y.padded(0.05);
  return panel;
}

// What the task's metric is; empty where columns measure different things or do not say.
std::string metric_unit(const ViewInput& input) {
  std::set<std::string> units;
  for (const Column& column : input.columns) {
    const auto settings = settings_of(column);
    const auto task = settings.find("task");
    units.insert(task == settings.end() ? "" : task->second == "text" ? "bits per byte" : "error");
  }
  return units.size() != 1 ? std::string() : *units.begin();
}
std::string validation_label(const ViewInput& input) {
  const std::string unit = metric_unit(input);
  return unit.empty() ? "validation" : "validation (" + unit + ")";
}

// Every split in the order they are met; of one checkpoint a line each in one panel, of several a panel each.
Result<figure::Figure> splits_figure(const std::vector<Training>& list, const std::string& label, bool logarithmic) {
  std::vector<std::string> names;
  for (const Training& each : list) {
    for (const Training::SplitCurve& split : each.splits) {
      if (!split.at.empty() && std::ranges::count(names, split.name) == 0) {
        names.push_back(split.name);
      }
    }
  }
  if (names.empty()) {
    return unsupported("loss.csv has no splits: locus train --splits measures them at every save", list.front().name);
  }
  figure::Figure figure;
  std::vector<figure::Curve> lines;
  Extent y;
  for (const std::string& name : names) {
    std::vector<figure::Curve> curves;
    for (const Training& each : list) {
      const auto own = std::ranges::find(each.splits, name, &Training::SplitCurve::name);
      if (own != each.splits.end()) {
        curves.push_back(curve_through(list.size() > 1 ? each.name : name, own->at, own->value));
        y.add(own->value);
      }
    }
    if (list.size() == 1) {
      lines.push_back(std::move(curves.front()));
    } else {
      figure.panels.push_back(steps_panel(std::move(curves), label, logarithmic));
      figure.panels.back().title = name;
    }
  }
  if (list.size() == 1) {
    figure.panels.push_back(steps_panel(std::move(lines), label, logarithmic));
    figure.panels.back().title = list.front().name;
  }
  for (figure::Panel& panel : figure.panels) {
    panel.y.view = y.padded(0.05);  // one scale, so that splits can be compared
  }
  figure.panels.front().note = "the task's metric on the sequences of each split that locus train measured";
  figure.columns = static_cast<int>(figure.panels.size());
  return figure;
}

Result<figure::Figure> TrainingCurve::figure(const ViewInput& input) const {
  LOCUS_TRY(const std::vector<Training> list, read(input));
  const auto of = option<std::string>(input, "of");
  const auto smooth = option<std::int64_t>(input, "smooth");
  const bool logarithmic = option<bool>(input, "log-steps");
  if (of == "splits") {
    return splits_figure(list, metric_unit(input), logarithmic);
  }
  figure::Figure figure;
  if (of != "loss") {
    std::vector<figure::Curve> curves;
    curves.reserve(list.size());
    for (const Training& each : list) {
      curves.push_back(curve_through(each.name, each.validated_at, each.validation));
    }
    if (std::all_of(curves.begin(), curves.end(), [](const figure::Curve& each) { return each.y.empty(); })) {
      return unsupported("loss.csv has no validation: --option of=loss draws the training's loss", list.front().name);
    }
    figure.panels.push_back(steps_panel(std::move(curves), validation_label(input), logarithmic));
    figure.panels.back().note = "the task's metric on held-out samples";
  }
  if (of != "validation") {
    std::vector<figure::Curve> curves;
    curves.reserve(list.size());
    for (const Training& each : list) {
      curves.push_back(curve_through(each.name, each.step, running_means(each.loss, static_cast<std::size_t>(smooth))));
    }
    figure.panels.push_back(steps_panel(std::move(curves), "training loss (nats)", logarithmic));
    figure.panels.back().note = smooth > 1 ? "mean of " + std::to_string(smooth) + " steps" : "";
  }
  figure.columns = static_cast<int>(figure.panels.size());
  return figure;
}

Result<Data> TrainingCurve::data(const ViewInput& input) const {
  LOCUS_TRY(const std::vector<Training> list, read(input));
  std::vector<double> steps;
  for (const Training& each : list) {
    steps.insert(steps.end(), each.step.begin(), each.step.end());
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const auto at_steps = [&](const std::vector<double>& at, const std::vector<double>& values) {
    std::vector<double> all(steps.size(), kNaN);
    for (std::size_t n = 0; n < at.size(); ++n) {
      const auto place = std::lower_bound(steps.begin(), steps.end(), at[n]) - steps.begin();
      all[static_cast<std::size_t>(place)] = values[n];
    }
    return all;
  };
  std::vector<Series> series{{"step", steps}};
  for (const Training& each : list) {
    series.push_back({each.name + " loss", at_steps(each.step, each.loss)});
    series.push_back({each.name + " validation", at_steps(each.validated_at, each.validation)});
    for (const Training::SplitCurve& split : each.splits) {
      series.push_back({each.name + " " + split.name, at_steps(split.at, split.value)});
    }
  }
  return table_of(series);
}

}  // namespace

const View& training_curve_view() {
  return made_once<TrainingCurve>();
}

}  // namespace locus::views
