#include "app/views/curves/task_results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/numbers.h"
#include "models/api/files.h"
#include "models/formats/json/json.h"

namespace locus::views {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A member of an object; null where there is none.
json member(const json& value, const char* name) {
  return value.is_object() ? value.value(name, json()) : json();
}

// A list among the members of an object; empty where there is none.
json list_in(const json& value, const char* name) {
  json list = member(value, name);
  return list.is_array() ? list : json::array();
}

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : kNaN;
}

Error malformed(const std::string& expected, const std::string& file) {
  return bad_input("expected " + expected, file);
}

// `{"in": 0.1, …}`, with `{"in": [0.09, 0.11], …}` where there are intervals.
Result<std::vector<Split>> splits_of(const json& record, const std::string& file) {
  const json splits = member(record, "splits");
  if (!splits.is_object() || splits.empty()) {
    return malformed("splits with their values (an object)", file);
  }
  const json intervals = member(record, "interval");
  std::vector<Split> list;
  for (const auto& [name, value] : splits.items()) {
    Split split{name, number_of(value)};
    if (const json interval = list_in(intervals, name.c_str()); interval.size() == 2) {
      split.low = number_of(interval[0]);
      split.high = number_of(interval[1]);
    }
    list.push_back(std::move(split));
  }
  // "in" first; the others keep the file's order.
  std::ranges::stable_sort(list, [](const Split& a, const Split& b) { return a.name == "in" && b.name != "in"; });
  return list;
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

// From splits that are all pairs of lengths, but "in".
std::optional<Field> length_map(const std::vector<Split>& splits) {
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, double>> cells;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  for (const Split& split : splits) {
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
  std::ranges::fill(field.values, std::numeric_limits<float>::quiet_NaN());
  field.row_axis = {"first operand", "digit", 1, 1};
  field.column_axis = {"second operand", "digit", 1, 1};
  for (const auto& [lengths, value] : cells) {
    field.at(lengths.first - 1, lengths.second - 1) = static_cast<float>(value);
  }
  return field;
}

// An array of `count` rows of `width` numbers or nulls.
bool is_table(const json& table, std::size_t count, std::size_t width) {
  return table.is_array() && table.size() == count &&
         std::ranges::all_of(table, [&](const json& row) { return row.is_array() && row.size() == width; });
}

// What --map measured, of lengths that count up by one; else the splits, where they are pairs of lengths.
Status read_map(const json& record, const std::string& file, Accuracy& into) {
  const json map = member(record, "map");
  if (map.is_null()) {
    into.map = length_map(into.splits);
    return {};
  }
  const auto lengths = [&](const char* name) {
    std::vector<std::int64_t> list;
    for (const json& value : list_in(map, name)) {
      const bool next = value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
                        value.get<std::int64_t>() <= kLongestOperand &&
                        (list.empty() || value.get<std::int64_t>() == list.back() + 1);
      if (!next) {
        return std::vector<std::int64_t>();
      }
      list.push_back(value.get<std::int64_t>());
    }
    return list;
  };
  const std::vector<std::int64_t> rows = lengths("rows");
  const std::vector<std::int64_t> columns = lengths("columns");
  if (rows.empty() || columns.empty() || !is_table(member(map, "values"), rows.size(), columns.size())) {
    return malformed("a map of rows, columns (lengths that count up by one) and values (a list a row)", file);
  }
  Field field = Field::zeros(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns.size()));
  field.row_axis = {"first operand", "digit", static_cast<double>(rows.front()), 1};
  field.column_axis = {"second operand", "digit", static_cast<double>(columns.front()), 1};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      field.values[r * columns.size() + c] = static_cast<float>(number_of(map.at("values")[r][c]));
    }
  }
  const json samples = member(map, "samples");
  into.samples = samples.is_number_integer() ? samples.get<std::int64_t>() : 0;
  into.map = std::move(field);
  return {};
}

Result<std::vector<Accuracy>> read_evaluation(const fs::path& path) {
  LOCUS_TRY(const std::string text, models::file_text(path, models::kMaxFileBytes));
  LOCUS_TRY(const json document, parse_json(text, path.string()));
  const json rows = list_in(document, "rows");
  if (rows.empty()) {
    return malformed("what locus evaluate --json prints ({\"task\": …, \"rows\": […]})", path.string());
  }
  std::vector<Accuracy> list;
  for (const json& row : rows) {
    if (!member(row, "checkpoint").is_string() || !member(row, "metric").is_string()) {
      return malformed("rows with checkpoint, metric and splits", path.string());
    }
    LOCUS_TRY(std::vector<Split> splits, splits_of(row, path.string()));
    list.push_back({row.at("checkpoint"), row.at("metric"), std::move(splits)});
    LOCUS_CHECK(read_map(row, path.string(), list.back()));
  }
  return list;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The settings of a run, without its results: the task's options by their own names, the encoding's with "encoding."
// before them, the rest as training.json names it.
std::map<std::string, std::string> settings_of(const json& record) {
  static const std::set<std::string> results{"command",  "data", "steps_done", "tokens", "metric", "splits",
                                             "interval", "map",  "reference",  "seeds",  "what_if"};
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : record.items()) {
    if (results.count(name) == 0 && value.is_primitive() && !value.is_null()) {
      settings[name] = text_of(value);
    }
  }
  settings.try_emplace("train_size", "new");  // new sequences in every step
  const auto add = [&](const json& options, const std::string& prefix) {
    if (options.is_object()) {
      for (const auto& [name, value] : options.items()) {
        settings[prefix + name] = text_of(value);
      }
    }
  };
  add(member(record, "task_options"), "");
  add(member(record, "encoding"), "encoding.");
  if (const auto name = settings.extract("encoding.name")) {
    settings["encoding"] = name.mapped();
  }
  return settings;
}

struct Record {
  std::string file;
  json values;
};

Result<Record> read_record(const Column& column) {
  LOCUS_TRY(const fs::path path, file_beside(column, "training.json", ": give the results of locus evaluate --json"));
  const std::string file = path.string();
  LOCUS_TRY(const std::string text, models::file_text(file, models::kMaxFileBytes));
  LOCUS_TRY(json record, parse_json(text, file));
  if (!record.is_object()) {
    return malformed("a metric and splits", file);
  }
  return Record{file, std::move(record)};
}

// The results of a checkpoint, those measured under its overrides where it has some, in the form of a training.json's
// own. Errors: kUnsupported where that was not recorded.
Result<json> results_of(const Column& column, const Record& read) {
  const models::Overrides& overrides = (column.model ? column.model->info() : column.trace->model()).overrides;
  const models::Edits edits = column.model ? column.model->edits() : column.trace->edits();
  if (!edits.empty()) {
    return unsupported("what is recorded is of the checkpoint without edits: give the results of locus evaluate --json",
                       column.name);
  }
  if (overrides == models::Overrides()) {
    return read.values;
  }
  const auto text = [](const std::string& value) { return value.empty() ? json() : json(value); };
  const std::map<std::string, json> wanted{{"rope_base", overrides.rope_base ? json(*overrides.rope_base) : json()},
                                           {"rope_scaling", text(overrides.rope_scaling)},
                                           {"rope_base_layers", text(overrides.rope_base_layers)},
                                           {"rope_scaling_layers", text(overrides.rope_scaling_layers)}};
  for (const json& entry : list_in(read.values, "what_if")) {
    if (std::all_of(wanted.begin(), wanted.end(),
                    [&](const auto& each) { return member(entry, each.first.c_str()) == each.second; })) {
      json results = entry;
      results["metric"] = read.values.at("metric");
      return results;
    }
  }
  return unsupported("what is recorded is of the checkpoint as it was trained, not with" + models::label_of(overrides) +
                         ": locus evaluate --record with it measures that",
                     column.name);
}

Result<Accuracy> read_training(const Column& column) {
  LOCUS_TRY(const Record read, read_record(column));
  const auto& [file, record] = read;
  if (!member(record, "metric").is_string()) {
    return malformed("a metric and splits", file);
  }
  LOCUS_TRY(const json results, results_of(column, read));
  LOCUS_TRY(std::vector<Split> splits, splits_of(results, file));
  const json trained = member(member(record, "task_options"), "length");
  Accuracy accuracy{column.name, record.at("metric"), std::move(splits)};
  LOCUS_CHECK(read_map(results, file, accuracy));
  accuracy.trained = trained.is_number_integer() ? trained.get<std::int64_t>() : 0;
  accuracy.settings = settings_of(record);
  for (const char* const name : {"rope_base", "rope_scaling", "rope_base_layers", "rope_scaling_layers"}) {
    if (results.contains(name)) {
      accuracy.settings[name] = text_of(results.at(name));
    }
  }
  for (const json& seed : list_in(results, "seeds")) {
    if (!seed.is_object()) {
      return malformed("seeds, each with its splits", file);
    }
    LOCUS_TRY(accuracy.other_seeds.emplace_back(), splits_of(seed, file));
  }
  return accuracy;
}

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

Result<fs::path> file_beside(const Column& column, const std::string& name, const std::string& hint) {
  const models::ModelInfo& model = column.model ? column.model->info() : column.trace->model();
  const fs::path folder = model.files.empty() ? fs::path() : fs::path(model.files.front()).parent_path();
  if (folder.empty() || !models::file_exists(folder / name)) {
    return unsupported("no " + name + " beside the weights" + hint, column.name);
  }
  return folder / name;
}

std::map<std::string, std::string> settings_of(const Column& column) {
  const Result<Record> read = read_record(column);
  return read.ok() ? settings_of(read->values) : std::map<std::string, std::string>();
}

std::vector<std::string> split_names(const std::vector<Accuracy>& list) {
  std::vector<std::string> names;
  for (const Accuracy& each : list) {
    for (const Split& split : each.splits) {
      if (std::ranges::find(names, split.name) == names.end()) {
        names.push_back(split.name);
      }
    }
  }
  return names;
}

const Split* find_split(const std::vector<Split>& splits, const std::string& name) {
  const auto found = std::ranges::find_if(splits, [&](const Split& split) { return split.name == name; });
  return found == splits.end() ? nullptr : &*found;
}

Split split_of(const std::vector<Split>& splits, const std::string& name) {
  const Split* const found = find_split(splits, name);
  return found != nullptr ? *found : Split{name};
}

}  // namespace locus::views
