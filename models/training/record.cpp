#include "models/training/record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "models/api/local.h"

namespace locus::training {

namespace {

using nlohmann::ordered_json;

constexpr std::array kOverrideKeys{"rope_base", "rope_scaling", "rope_base_layers", "rope_scaling_layers"};

ordered_json number(double value) {
  return std::isnan(value) ? ordered_json(nullptr) : ordered_json(value);
}

// Values row by row, as lists of rows.
ordered_json rows_of(const EvaluationMap& map, const std::function<double(std::size_t)>& value) {
  ordered_json rows = ordered_json::array();
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    ordered_json& cells = rows.emplace_back(ordered_json::array());
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      cells.push_back(number(value(row * map.columns.size() + column)));
    }
  }
  return rows;
}

ordered_json map_of(const EvaluateOptions& options, const Evaluation& evaluation) {
  ordered_json map = ordered_json::parse(local::to_json(evaluation.map));
  map["seed"] = options.seed;
  return map;
}

ordered_json what_if(const EvaluateOptions& options, const models::Overrides& overrides, const Evaluation& evaluation) {
  ordered_json entry;
  if (overrides.rope_base) {
    entry["rope_base"] = *overrides.rope_base;
  }
  if (!overrides.rope_scaling.empty()) {
    entry["rope_scaling"] = overrides.rope_scaling;
  }
  for (const auto& [name, layers] : {std::pair{"rope_base_layers", overrides.rope_base_layers},
                                     {"rope_scaling_layers", overrides.rope_scaling_layers}}) {
    if (!layers.empty()) {
      entry[name] = layers;
    }
  }
  for (std::size_t n = 0; n < evaluation.splits.size(); ++n) {
    const auto& [name, value] = evaluation.splits[n];
    const auto& [low, high] = evaluation.intervals[n];
    entry["splits"][name] = number(value);
    entry["interval"][name] = {number(low), number(high)};
  }
  entry["samples"] = options.samples;
  entry["seed"] = options.seed;
  if (!evaluation.map.rows.empty()) {
    entry["map"] = map_of(options, evaluation);
  }
  return entry;
}

// Inserts into the list, replacing an entry with the same overrides.
void keep(ordered_json& list, ordered_json entry) {
  const auto same = std::find_if(list.begin(), list.end(), [&](const ordered_json& known) {
    return known.is_object() && std::all_of(kOverrideKeys.begin(), kOverrideKeys.end(), [&](const char* key) {
             return known.value(key, ordered_json()) == entry.value(key, ordered_json());
           });
  });
  if (same == list.end()) {
    list.push_back(std::move(entry));
  } else {
    *same = std::move(entry);
  }
}

}  // namespace

std::string local::to_json(const EvaluationMap& map) {
  const ordered_json json = {{"row", map.row_label},
                             {"rows", map.rows},
                             {"column", map.column_label},
                             {"columns", map.columns},
                             {"samples", map.samples},
                             {"values", rows_of(map, [&](std::size_t n) { return map.values[n]; })},
                             {"low", rows_of(map, [&](std::size_t n) { return map.intervals[n].first; })},
                             {"high", rows_of(map, [&](std::size_t n) { return map.intervals[n].second; })}};
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Status record_evaluation(const std::filesystem::path& checkpoint, const Task& task, const EvaluateOptions& options,
                         const models::Overrides& overrides, const Evaluation& evaluation) {
  const std::filesystem::path file = checkpoint / "training.json";
  LOCUS_TRY(const std::string text, read_file(file, kLongestRecord));
  ordered_json record = ordered_json::parse(text, nullptr, false);
  if (!record.is_object() || !std::isfinite(evaluation.splits.front().second)) {
    return bad_input("expected a JSON object to write a finite reference into", file.string());
  }
  if (overrides == models::Overrides()) {
    record["reference"] = {{"split", evaluation.splits.front().first},
                           {"samples", options.samples},
                           {"seed", options.seed},
                           {"data", ordered_json::parse(task.data_json())},
                           {"value", evaluation.splits.front().second}};
    if (!evaluation.map.rows.empty()) {
      record["map"] = map_of(options, evaluation);
    }
  } else {
    ordered_json& list = record.emplace("what_if", ordered_json::array()).first.value();
    if (!list.is_array()) {
      return bad_input("expected a list what_if", file.string());
    }
    keep(list, what_if(options, overrides, evaluation));
  }
  return write_file(file, record.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace locus::training
