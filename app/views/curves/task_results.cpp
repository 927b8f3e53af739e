#include "app/views/curves/task_results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/files.h"
#include "models/api/train.h"
#include "models/formats/json/tree.h"

namespace locus::views {

namespace {

namespace fs = std::filesystem;
using formats::Tree;

// A field of an object; null where there is none.
const Tree& field_in(const Tree& value, std::string_view name) {
  static const Tree kNull;
  const Tree* found = value.find(name);
  return found != nullptr ? *found : kNull;
}

double number_of(const Tree& value) {
  return value.as<double>().value_or(kNaN);
}

Error malformed(const std::string& expected, const std::string& file) {
  return bad_input("expected " + expected, file);
}

// By which splits are sorted: "in" first, then lengths ("512") by size, then the others by name.
std::tuple<bool, bool, std::size_t, std::string> place_of(const Split& split) {
  const bool length = !split.name.empty() && split.name.find_first_not_of("0123456789") == std::string::npos;
  return {split.name != "in", !length, length ? split.name.size() : 0, split.name};
}

// `{"in": 0.1, …}`, with `{"in": [0.09, 0.11], …}` where there are intervals.
Result<std::vector<Split>> splits_of(const Tree& record, const std::string& file) {
  const Tree& splits = field_in(record, "splits");
  if (splits.fields().empty()) {
    return malformed("splits with their values (an object)", file);
  }
  const Tree& intervals = field_in(record, "interval");
  std::vector<Split> list;
  for (const auto& [name, value] : splits.fields()) {
    Split split{name, number_of(value)};
    if (const Tree::List& interval = field_in(intervals, name).items(); interval.size() == 2) {
      split.low = number_of(interval[0]);
      split.high = number_of(interval[1]);
    }
    list.push_back(std::move(split));
  }
  std::ranges::sort(list, std::less(), place_of);
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

// A list of `count` rows of `width` numbers or nulls.
bool is_table(const Tree& table, std::size_t count, std::size_t width) {
  return table.is_list() && table.items().size() == count && std::ranges::all_of(table.items(), [&](const Tree& row) {
           return row.is_list() && row.items().size() == width;
         });
}

// Reads the map that --map measured, of lengths that count up by one; else the splits, where they are pairs of lengths.
Status read_map(const Tree& record, const std::string& file, Accuracy& into) {
  const Tree& map = field_in(record, "map");
  if (map.is_null()) {
    into.map = length_map(into.splits);
    return {};
  }
  const auto lengths = [&](const char* name) {
    std::vector<std::int64_t> list;
    for (const Tree& value : field_in(map, name).items()) {
      const auto length = value.as<std::int64_t>();
      if (!length || *length < 0 || *length > kLongestOperand || (!list.empty() && *length != list.back() + 1)) {
        return std::vector<std::int64_t>();
      }
      list.push_back(*length);
    }
    return list;
  };
  const std::vector<std::int64_t> rows = lengths("rows");
  const std::vector<std::int64_t> columns = lengths("columns");
  const Tree& values = field_in(map, "values");
  if (rows.empty() || columns.empty() || !is_table(values, rows.size(), columns.size())) {
    return malformed("a map of rows, columns (lengths that count up by one) and values (a list a row)", file);
  }
  Field field = Field::zeros(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns.size()));
  field.row_axis = {"first operand", "digit", static_cast<double>(rows.front()), 1};
  field.column_axis = {"second operand", "digit", static_cast<double>(columns.front()), 1};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      field.values[r * columns.size() + c] = static_cast<float>(number_of(values.items()[r].items()[c]));
    }
  }
  into.samples = field_in(map, "samples").as<std::int64_t>().value_or(0);
  into.map = std::move(field);
  return {};
}

// Reads the name that a file gives to the splits of its rows; empty where it gives none.
Result<std::string> read_axis(const Tree& document, const std::string& file) {
  constexpr std::size_t kMaxAxis = 40;  // bytes
  const Tree& axis = field_in(document, "axis");
  const auto text = axis.as<std::string>();
  if (axis.is_null()) {
    return std::string();
  }
  if (!text || text->empty() || text->size() > kMaxAxis) {
    return malformed("axis: a text of 1 to " + std::to_string(kMaxAxis) + " bytes, which names the splits", file);
  }
  return printable(*text);
}

Result<std::vector<Accuracy>> read_evaluation(const fs::path& path) {
  LOCUS_TRY(const std::string text, models::file_text(path, models::kMaxFileBytes));
  LOCUS_TRY(const Tree document, Tree::parse(text, path.string()));
  const Tree::List& rows = field_in(document, "rows").items();
  if (rows.empty()) {
    return malformed("what locus evaluate --json prints ({\"task\": …, \"rows\": […]})", path.string());
  }
  LOCUS_TRY(const std::string axis, read_axis(document, path.string()));
  std::vector<Accuracy> list;
  for (const Tree& row : rows) {
    const auto checkpoint = field_in(row, "checkpoint").as<std::string>();
    const auto metric = field_in(row, "metric").as<std::string>();
    if (!checkpoint || !metric) {
      return malformed("rows with checkpoint, metric and splits", path.string());
    }
    LOCUS_TRY(std::vector<Split> splits, splits_of(row, path.string()));
    list.push_back({*checkpoint, *metric, std::move(splits)});
    list.back().axis = axis;
    LOCUS_CHECK(read_map(row, path.string(), list.back()));
  }
  return list;
}

std::string text_of(const Tree& value) {
  return value.as<std::string>().value_or(value.dump(-1, Tree::Order::kByName));
}

// The settings of a run, without its results: the task's options by their own names, the encoding's with "encoding."
// before them, the rest as training.json names it.
std::map<std::string, std::string> settings_of(const Tree& record) {
  static const std::set<std::string> results{"command",  "data", "steps_done", "tokens", "metric", "splits",
                                             "interval", "map",  "reference",  "seeds",  "what_if"};
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : record.fields()) {
    if (results.count(name) == 0 && !value.is_object() && !value.is_list() && !value.is_null()) {
      settings[name] = text_of(value);
    }
  }
  settings.try_emplace("train_size", "new");  // new sequences in every step
  const auto add = [&](const Tree& options, const std::string& prefix) {
    for (const auto& [name, value] : options.fields()) {
      settings[prefix + name] = text_of(value);
    }
  };
  add(field_in(record, "task_options"), "");
  add(field_in(record, "encoding"), "encoding.");
  if (const auto name = settings.extract("encoding.name")) {
    settings["encoding"] = name.mapped();
  }
  return settings;
}

struct Record {
  std::string file;
  Tree values;
};

Result<Record> read_record(const Column& column) {
  LOCUS_TRY(const fs::path path, file_beside(column, "training.json", ": give the results of locus evaluate --json"));
  const std::string file = path.string();
  LOCUS_TRY(const std::string text, models::file_text(file, models::kMaxFileBytes));
  LOCUS_TRY(Tree record, Tree::parse(text, file));
  if (!record.is_object()) {
    return malformed("a metric and splits", file);
  }
  return Record{file, std::move(record)};
}

// The results of a checkpoint, those measured under its overrides where it has some, in the form of a training.json's
// own. Errors: kUnsupported where that was not recorded.
Result<Tree> results_of(const Column& column, const Record& read) {
  const models::Overrides& overrides = (column.model ? column.model->info() : column.trace->model()).overrides;
  const models::Edits edits = column.model ? column.model->edits() : column.trace->edits();
  if (!edits.empty()) {
    return unsupported("what is recorded is of the checkpoint without edits: give the results of locus evaluate --json",
                       column.name);
  }
  if (overrides == models::Overrides()) {
    return read.values;
  }
  if (overrides.fast) {
    return unsupported("what is recorded is of exact products, not of fast ones", column.name);
  }
  const auto same = [](const Tree& found, const std::string& wanted) {
    return wanted.empty() ? found.is_null() : found.as<std::string>() == wanted;
  };
  for (const Tree& entry : field_in(read.values, "what_if").items()) {
    const Tree& base = field_in(entry, "rope_base");
    if ((overrides.rope_base ? base.as<double>() == overrides.rope_base : base.is_null()) &&
        same(field_in(entry, "rope_scaling"), overrides.rope_scaling) &&
        same(field_in(entry, "rope_base_layers"), overrides.rope_base_layers) &&
        same(field_in(entry, "rope_scaling_layers"), overrides.rope_scaling_layers)) {
      Tree results = entry;
      results["metric"] = field_in(read.values, "metric");
      return results;
    }
  }
  return unsupported("what is recorded is of the checkpoint as it was trained, not with" + models::label_of(overrides) +
                         ": locus evaluate --record with it measures that",
                     column.name);
}

// The task's option `length` of this training; training.json has it where it is not the task's own.
std::int64_t trained_length(const Tree& record) {
  if (const auto length = field_in(field_in(record, "task_options"), "length").as<std::int64_t>()) {
    return *length;
  }
  const std::string name = field_in(record, "task").as<std::string>().value_or("");
  for (const training::TaskInfo& task : training::tasks()) {
    for (const training::TaskInfo::Option& option : task.options) {
      if (task.name == name && option.name == "length") {
        return parse_number<std::int64_t>(option.fallback).value_or(0);
      }
    }
  }
  return 0;
}

Result<Accuracy> read_training(const Column& column) {
  LOCUS_TRY(const Record read, read_record(column));
  const auto& [file, record] = read;
  const auto metric = field_in(record, "metric").as<std::string>();
  if (!metric) {
    return malformed("a metric and splits", file);
  }
  LOCUS_TRY(const Tree results, results_of(column, read));
  LOCUS_TRY(std::vector<Split> splits, splits_of(results, file));
  Accuracy accuracy{column.name, *metric, std::move(splits)};
  LOCUS_CHECK(read_map(results, file, accuracy));
  accuracy.trained = trained_length(record);
  accuracy.settings = settings_of(record);
  for (const char* const name : {"rope_base", "rope_scaling", "rope_base_layers", "rope_scaling_layers"}) {
    if (const Tree* found = results.find(name)) {
      accuracy.settings[name] = text_of(*found);
    }
  }
  for (const Tree& seed : field_in(results, "seeds").items()) {
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
