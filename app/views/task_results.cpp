#include "app/views/task_results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "models/text/json.h"

namespace locus::views {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongestFile = std::size_t{64} << 20;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : kNoValue;
}

Error malformed(const std::string& expected, const std::string& file) {
  return bad_input("expected " + expected, file);
}

// `{"in": 0.1, …}`, with `{"in": [0.09, 0.11], …}` where there are intervals.
Result<std::vector<Split>> splits_of(const json& record, const std::string& file) {
  const json splits = record.value("splits", json());
  if (!splits.is_object() || splits.empty()) {
    return malformed("splits with their values (an object)", file);
  }
  const json intervals = record.value("interval", json::object());
  std::vector<Split> list;
  for (const auto& [name, value] : splits.items()) {
    Split split{name, number_of(value)};
    if (intervals.is_object() && intervals.contains(name) && intervals.at(name).is_array() &&
        intervals.at(name).size() == 2) {
      split.low = number_of(intervals.at(name)[0]);
      split.high = number_of(intervals.at(name)[1]);
    }
    list.push_back(std::move(split));
  }
  // "in" first; the others keep the file's order.
  std::stable_sort(list.begin(), list.end(),
                   [](const Split& a, const Split& b) { return a.name == "in" && b.name != "in"; });
  return list;
}

Result<std::vector<Accuracy>> read_evaluation(const fs::path& path) {
  LOCUS_TRY(const std::string text, read_file(path, kLongestFile));
  LOCUS_TRY(const json document, parse_json(text, path.string()));
  const json rows = document.is_object() ? document.value("rows", json()) : json();
  if (!rows.is_array() || rows.empty()) {
    return malformed("what locus evaluate --json prints ({\"task\": …, \"rows\": […]})", path.string());
  }
  std::vector<Accuracy> list;
  for (const json& row : rows) {
    if (!row.is_object() || !row.value("checkpoint", json()).is_string() || !row.value("metric", json()).is_string()) {
      return malformed("rows with checkpoint, metric and splits", path.string());
    }
    LOCUS_TRY(std::vector<Split> splits, splits_of(row, path.string()));
    list.push_back({row.at("checkpoint"), row.at("metric"), std::move(splits)});
  }
  return list;
}

Result<Accuracy> read_training(const Column& column) {
  const models::ModelInfo& model = column.model ? column.model->info() : column.trace->model();
  const fs::path folder = model.files.empty() ? fs::path() : fs::path(model.files.front()).parent_path();
  std::error_code ignored;
  if (folder.empty() || !fs::exists(folder / "training.json", ignored)) {
    return unsupported("no training.json beside the weights: give the results of locus evaluate --json", column.name);
  }
  const std::string file = (folder / "training.json").string();
  LOCUS_TRY(const std::string text, read_file(file, kLongestFile));
  LOCUS_TRY(const json record, parse_json(text, file));
  if (!record.is_object() || !record.value("metric", json()).is_string()) {
    return malformed("a metric and splits", file);
  }
  LOCUS_TRY(std::vector<Split> splits, splits_of(record, file));
  return Accuracy{column.name, record.at("metric"), std::move(splits)};
}

// "12+7" and "12x7" are the lengths of two operands.
std::optional<std::pair<std::int64_t, std::int64_t>> lengths_of(const std::string& name) {
  const std::size_t sign = name.find_first_not_of("0123456789");
  if (sign == 0 || sign == std::string::npos || sign > 6 || (name[sign] != '+' && name[sign] != 'x')) {
    return std::nullopt;
  }
  const std::string second = name.substr(sign + 1);
  if (second.empty() || second.size() > 6 || second.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::pair(std::stoll(name.substr(0, sign)), std::stoll(second));
}

constexpr std::int64_t kLongestOperand = 1024;

}  // namespace

Result<std::vector<Accuracy>> read_accuracies(const ViewInput& input) {
  LOCUS_TRY(const std::string file, input.options.text("file", ""));
  if (!file.empty()) {
    return read_evaluation(file);
  }
  std::vector<Accuracy> list;
  for (const Column& column : input.columns) {
    LOCUS_TRY(Accuracy each, read_training(column));
    list.push_back(std::move(each));
  }
  return list;
}

std::vector<std::string> split_names(const std::vector<Accuracy>& list) {
  std::vector<std::string> names;
  for (const Accuracy& each : list) {
    for (const Split& split : each.splits) {
      if (std::find(names.begin(), names.end(), split.name) == names.end()) {
        names.push_back(split.name);
      }
    }
  }
  return names;
}

const Split* find_split(const Accuracy& row, const std::string& name) {
  const auto found =
      std::find_if(row.splits.begin(), row.splits.end(), [&](const Split& split) { return split.name == name; });
  return found == row.splits.end() ? nullptr : &*found;
}

std::optional<Field> length_map(const Accuracy& row) {
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, double>> cells;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  for (const Split& split : row.splits) {
    const auto lengths = lengths_of(split.name);
    if (!lengths && split.name != "in") {
      return std::nullopt;
    }
    if (lengths && lengths->first >= 1 && lengths->second >= 1 && lengths->first <= kLongestOperand &&
        lengths->second <= kLongestOperand) {
      cells.emplace_back(*lengths, split.value);
      rows = std::max(rows, lengths->first);
      columns = std::max(columns, lengths->second);
    }
  }
  if (cells.empty()) {
    return std::nullopt;
  }
  Field field = Field::zeros(rows, columns);
  std::fill(field.values.begin(), field.values.end(), std::numeric_limits<float>::quiet_NaN());
  field.row_axis = {"first operand", "digit", 1, 1};
  field.column_axis = {"second operand", "digit", 1, 1};
  for (const auto& [lengths, value] : cells) {
    field.at(lengths.first - 1, lengths.second - 1) = static_cast<float>(value);
  }
  return field;
}

}  // namespace locus::views
