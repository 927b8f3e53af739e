#include "app/views/curves/task_groups.h"

#include <algorithm>
#include <cmath>

#include "core/base/listed.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

using Settings = std::map<std::string, std::string>;

std::string setting_of(const Settings& settings, const std::string& name, const std::string& otherwise = {}) {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

Settings without_seed(Settings settings) {
  settings.erase("seed");
  return settings;
}

bool is_alike(const Accuracy& a, const Accuracy& b) {
  return a.settings != b.settings && a.metric == b.metric && !a.map && !b.map &&
         without_seed(a.settings) == without_seed(b.settings);
}

Accuracy join(Accuracy row, const std::vector<std::vector<Split>>& runs) {
  row.seeds = static_cast<std::int64_t>(runs.size());
  for (Split& split : row.splits) {
    double sum = 0;
    split.low = split.high = split.value;
    for (const std::vector<Split>& run : runs) {
      const double value = split_of(run, split.name).value;
      sum += value;
      split.each.push_back(value);
      split.low = std::min(split.low, value);
      split.high = std::max(split.high, value);
    }
    split.value = sum / static_cast<double>(runs.size());
  }
  row.other_seeds.clear();
  return row;
}

// "cope", and "cope gates=sep-key" where others of `list` are cope with other gates.
std::string label_of(const Accuracy& row, const std::vector<Accuracy>& list, const std::string& setting) {
  const std::string name = setting_of(row.settings, "encoding", row.checkpoint);
  if (setting == "encoding") {
    return setting_of(row.settings, "task", row.metric);
  }
  std::string label = name;
  std::map<std::string, bool> differs;
  for (const Accuracy& each : list) {
    for (const auto& [key, text] : each.settings) {
      if (setting_of(each.settings, "encoding") == name && key.rfind("encoding.", 0) == 0 && key != setting) {
        differs[key] = differs[key] || text != setting_of(row.settings, key);
      }
    }
  }
  for (const auto& [key, is_different] : differs) {
    if (is_different && !setting_of(row.settings, key).empty()) {
      label += " " + key.substr(std::string("encoding.").size()) + "=" + setting_of(row.settings, key);
    }
  }
  return label;
}

// Numbers first, ascending; words after them as they came.
void sort_by_number(std::vector<Split>& splits) {
  std::ranges::stable_sort(splits, [](const Split& a, const Split& b) {
    const auto first = parse_number<double>(a.name);
    const auto second = parse_number<double>(b.name);
    return first && (!second || *first < *second);
  });
}

// Every group's values ascend, and the first group names all of them: its order is the axis's.
void put_in_order(std::vector<Accuracy>& groups) {
  for (const std::string& name : split_names(groups)) {
    if (find_split(groups.front().splits, name) == nullptr) {
      groups.front().splits.push_back({name});
    }
  }
  for (Accuracy& group : groups) {
    sort_by_number(group.splits);
  }
}

std::string names_of(const Settings& settings) {
  std::vector<std::string> names;
  for (const auto& [name, value] : settings) {
    names.push_back(name);
  }
  return names.empty() ? "nothing (results from a file)" : listed(names);
}

}  // namespace

std::vector<Accuracy> join_seeds(std::vector<Accuracy> list) {
  std::vector<Accuracy> joined;
  std::vector<bool> taken(list.size(), false);
  for (std::size_t n = 0; n < list.size(); ++n) {
    if (taken[n]) {
      continue;
    }
    std::vector<std::vector<Split>> runs;
    for (std::size_t other = n; other < list.size(); ++other) {
      if (other == n || is_alike(list[n], list[other])) {
        taken[other] = true;
        runs.push_back(list[other].splits);
        runs.insert(runs.end(), list[other].other_seeds.begin(), list[other].other_seeds.end());
      }
    }
    joined.push_back(runs.size() > 1 ? join(std::move(list[n]), runs) : std::move(list[n]));
  }
  return joined;
}

Result<std::vector<Accuracy>> grouped_by(const std::vector<Accuracy>& list, const std::string& setting,
                                         const std::string& split) {
  std::vector<Accuracy> groups;
  std::map<std::pair<std::string, std::string>, std::string> places;
  for (const Accuracy& row : list) {
    const auto found = row.settings.find(setting);
    if (found == row.settings.end()) {
      return bad_input(row.checkpoint + " has no setting " + setting + "; expected one of " + names_of(row.settings));
    }
    const Split* measured = find_split(row.splits, split);
    if (measured == nullptr) {
      return bad_input(row.checkpoint + " has no split " + split + "; expected one of " + listed(split_names({row})));
    }
    const std::string label = label_of(row, list, setting);
    const auto [place, is_free] = places.try_emplace({label, found->second}, row.checkpoint);
    if (!is_free) {
      return bad_input("expected one run of " + label + " with " + setting + " " + found->second + ", found " +
                       place->second + " and " + row.checkpoint + ", which differ in something else");
    }
    auto group = std::ranges::find_if(groups, [&](const Accuracy& each) { return each.checkpoint == label; });
    if (group == groups.end()) {
      groups.push_back({label, row.metric, {}});
      group = groups.end() - 1;
    }
    group->splits.push_back({found->second, measured->value, measured->low, measured->high, measured->each});
    group->seeds = std::max(group->seeds, row.seeds);
  }
  put_in_order(groups);
  return groups;
}

std::vector<std::vector<std::size_t>> columns_by_training(const std::vector<Column>& columns) {
  std::vector<Settings> settings;
  settings.reserve(columns.size());
  for (const Column& column : columns) {
    settings.push_back(settings_of(column));
  }
  const auto seed_of = [&](std::size_t n) { return setting_of(settings[n], "seed"); };
  const auto is_other_seed = [&](std::size_t a, std::size_t b) {
    const models::Trace& first = *columns[a].trace;
    const models::Trace& second = *columns[b].trace;
    return seed_of(a) != seed_of(b) && without_seed(settings[a]) == without_seed(settings[b]) &&
           first.model().first_encoding().options == second.model().first_encoding().options &&
           first.edits() == second.edits();
  };
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const auto group = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& each) {
      return std::ranges::all_of(each, [&](std::size_t other) { return is_other_seed(n, other); });
    });
    if (group == groups.end()) {
      groups.push_back({n});
    } else {
      group->push_back(n);
    }
  }
  return groups;
}

std::string interval_note(const std::vector<Accuracy>& list) {
  std::int64_t seeds = 1;
  bool intervals = false;
  for (const Accuracy& row : list) {
    seeds = std::max(seeds, row.seeds);
    intervals = intervals || std::ranges::any_of(row.splits, [](const Split& split) { return !std::isnan(split.low); });
  }
  if (!intervals) {
    return "";
  }
  return seeds > 1 ? "lines: least and largest of " + std::to_string(seeds) + " seeds" : "lines: 95 %";
}

}  // namespace locus::views
