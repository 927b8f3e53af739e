// `task-accuracy`: what checkpoints of a task get wrong, in and out of the trained distribution.
#include <algorithm>
#include <cmath>

#include "app/views/curves/task_drawing.h"
#include "app/views/curves/task_groups.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

class TaskAccuracy final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;

 private:
  Result<std::vector<Accuracy>> read(const ViewInput& input) const;

  ViewInfo info_ = described({
      .name = "task-accuracy",
      .caption = "How well models do a task, in and out of their training, or other numbers of a file.",
      .shows =
          "The error of task checkpoints, or their accuracy, in and out of the trained distribution: one group of bars "
          "per split, with 95 "
          "% intervals where they are known. Runs that differ only in their seed form one bar, their mean, with the "
          "smallest and the largest value. Addition is shown as a map by the lengths of its operands. A file may hold "
          "any other numbers in the same form, with a unit of their own.",
      .uses_input = false,
      .controls =
          {words("file", "Results",
                 "A file that locus evaluate --json printed; empty: the training.json of every checkpoint",
                 "training.json; a file"),
           choice("as", "As",
                  "A map by the lengths of the operands, bars, or a table of numbers; auto: the map where there is one",
                  {"auto", "bars", "table", "map"}),
           words("by", "By",
                 "One group of bars per value of this setting of the training, one bar per encoding: variables, "
                 "train_size, steps, encoding.gates; empty: one group per split",
                 "splits; steps"),
           words("split", "Split", "The split to compare when a setting is given; empty: in", "in"),
           toggle("accuracy", "Accuracy",
                  "Show the share of correct answers, as in TAPE's Fig. 2, instead of the error"),
           toggle("log", "Logarithmic", "A logarithmic error axis for bars")},
  });
};

void turn_to_accuracy(Accuracy& row) {
  row.metric = "accuracy";
  for (Split& split : row.splits) {
    split = {split.name, 1 - split.value, 1 - split.high, 1 - split.low, std::move(split.each)};
    for (double& each : split.each) {
      each = 1 - each;
    }
  }
  if (row.map) {
    for (float& value : row.map->values) {
      value = 1 - value;
    }
  }
}

Result<std::vector<Accuracy>> TaskAccuracy::read(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  LOCUS_TRY(std::vector<Accuracy> runs, read_accuracies(input));
  const auto setting = option<std::string>(input, "by");
  const auto split = option<std::string>(input, "split");
  std::vector<Accuracy> list = join_seeds(std::move(runs));
  if (!setting.empty()) {
    LOCUS_TRY(list, grouped_by(list, setting, split.empty() ? "in" : split));
  }
  const bool accuracy = option<bool>(input, "accuracy");
  for (Accuracy& each : list) {
    if (accuracy && each.metric != "error") {
      return unsupported("the accuracy is what is left of an error; " + each.checkpoint + " is measured in " +
                         each.metric);
    }
    if (accuracy) {
      turn_to_accuracy(each);
    }
  }
  return list;
}

// Names the axis of the splits: as a file does, or "split".
std::string split_word(const std::vector<Accuracy>& list) {
  return list.front().axis.empty() ? "split" : list.front().axis;
}

Error no_map(const std::string& checkpoint) {
  return unsupported("no map of lengths: locus evaluate addition PATH --map N --record measures one", checkpoint);
}

std::string find_without_map(const std::vector<Accuracy>& list) {
  const auto found = std::find_if(list.begin(), list.end(), [](const Accuracy& each) { return !each.map; });
  return found == list.end() ? "" : found->checkpoint;
}

Result<figure::Figure> TaskAccuracy::figure(const ViewInput& input) const {
  LOCUS_TRY(const std::vector<Accuracy> list, read(input));
  const auto as = option<std::string>(input, "as");
  for (const Accuracy& each : list) {
    if (each.metric != list.front().metric) {
      return bad_input("expected one metric, found " + list.front().metric + " (" + list.front().checkpoint + ") and " +
                       each.metric + " (" + each.checkpoint + ")");
    }
  }
  const bool mapped = std::all_of(list.begin(), list.end(), [](const Accuracy& each) { return each.map.has_value(); });
  if (as == "map" && !mapped) {
    return no_map(find_without_map(list));
  }
  if (as == "map" || (as == "auto" && mapped)) {
    return map_figure(input, list);
  }
  const auto setting = option<std::string>(input, "by");
  const std::string cells = setting.empty() ? split_word(list) : metric_label(setting);
  return as == "table" ? table_figure(input, list, cells) : bar_figure(list, cells, option<bool>(input, "log"));
}

// Bars: one row per split, in the order shown, its number first (a setting's value where that is a number); value, low
// and high a checkpoint. Maps: the first checkpoint's.
Result<Data> TaskAccuracy::data(const ViewInput& input) const {
  LOCUS_TRY(const std::vector<Accuracy> list, read(input));
  const auto as = option<std::string>(input, "as");
  if (as == "map" && !list.front().map) {
    return no_map(list.front().checkpoint);
  }
  if ((as == "map" || as == "auto") && list.front().map) {
    return Data{{list.front().map->rows, list.front().map->columns}, list.front().map->values, {}};
  }
  const std::vector<std::string> names = split_names(list);
  const auto setting = option<std::string>(input, "by");
  std::vector<Series> series{{setting.empty() ? split_word(list) : setting, {}}};
  for (std::size_t n = 0; n < names.size(); ++n) {
    const auto value = setting.empty() ? std::nullopt : parse_number<double>(names[n]);
    series[0].values.push_back(value.value_or(setting.empty() ? static_cast<double>(n) : kNaN));
  }
  for (const Accuracy& each : list) {
    const auto of_splits = [&](double Split::*number) {
      return numbers_of(names, [&](const std::string& name) { return split_of(each.splits, name).*number; });
    };
    series.push_back({each.checkpoint + " " + each.metric, of_splits(&Split::value)});
    series.push_back({each.checkpoint + " low", of_splits(&Split::low)});
    series.push_back({each.checkpoint + " high", of_splits(&Split::high)});
  }
  return table_of(series);
}

}  // namespace

const View& task_accuracy_view() {
  return made_once<TaskAccuracy>();
}

}  // namespace locus::views
