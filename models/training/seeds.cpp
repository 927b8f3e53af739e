// record_seeds(): the results of trainings that differ only in their seed, recorded with one of them.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/atomic_file.h"
#include "models/api/local.h"
#include "models/api/train.h"
#include "models/formats/json/json.h"
#include "models/training/record.h"

namespace locus::training {

namespace {

using nlohmann::ordered_json;

struct Run {
  std::filesystem::path file;  // training.json
  ordered_json record;
};

Result<Run> read_run(const std::filesystem::path& checkpoint) {
  Run run{checkpoint / "training.json", {}};
  LOCUS_TRY(const std::string text, read_file(run.file, kLongestRecord));
  LOCUS_CHECK(parse_json(text, run.file.string()));
  run.record = ordered_json::parse(text);
  const ordered_json encoding = run.record.is_object() ? run.record.value("encoding", ordered_json()) : ordered_json();
  const bool is_whole = encoding.is_object() && encoding.value("name", ordered_json()).is_string() &&
                        run.record.value("seed", ordered_json()).is_number_integer() &&
                        run.record.value("metric", ordered_json()).is_string() &&
                        run.record.value("splits", ordered_json()).is_object() && !run.record["splits"].empty();
  if (!is_whole) {
    return bad_input("expected a finished training: an encoding, a seed, a metric and splits", run.file.string());
  }
  return run;
}

// The first setting in which two trainings differ, other than seed and results; empty: none.
std::string difference(const Run& a, const Run& b) {
  static const std::set<std::string> free{"command",  "seed",      "seeds", "splits",
                                          "interval", "reference", "map",   "what_if"};
  for (const auto& [name, value] : a.record.items()) {
    if (free.count(name) == 0 && b.record.value(name, ordered_json()) != value) {
      return name;
    }
  }
  for (const auto& [name, value] : b.record.items()) {
    if (free.count(name) == 0 && !a.record.contains(name)) {
      return name;
    }
  }
  for (const auto& [name, value] : a.record["splits"].items()) {
    if (!value.is_number() || !b.record["splits"].value(name, ordered_json()).is_number()) {
      return "split " + name;
    }
  }
  return {};
}

Evaluation summary_of(const std::filesystem::path& checkpoint, const Run& kept, const std::vector<Run>& others) {
  Evaluation row;
  row.checkpoint = checkpoint.filename().string();
  row.encoding = kept.record["encoding"]["name"];
  row.metric = kept.record["metric"];
  for (const auto& [name, value] : kept.record["splits"].items()) {
    double sum = value.get<double>();
    std::pair<double, double> range{sum, sum};
    for (const Run& other : others) {
      const auto each = other.record["splits"][name].get<double>();
      sum += each;
      range = {std::min(range.first, each), std::max(range.second, each)};
    }
    row.splits.emplace_back(name, sum / static_cast<double>(others.size() + 1));
    row.intervals.push_back(range);
  }
  return row;
}

}  // namespace

Result<Evaluation> local::record_seeds(const std::filesystem::path& checkpoint,
                                       const std::vector<std::filesystem::path>& others) {
  LOCUS_TRY(Run kept, read_run(checkpoint));
  std::map<std::int64_t, std::string> seeds{{kept.record["seed"].get<std::int64_t>(), kept.file.string()}};
  std::vector<Run> runs;
  for (const std::filesystem::path& path : others) {
    LOCUS_TRY(Run run, read_run(path));
    if (const std::string name = difference(kept, run); !name.empty()) {
      return bad_input("expected the training of " + checkpoint.string() + " with another seed, found another " + name,
                       run.file.string());
    }
    const auto seed = run.record["seed"].get<std::int64_t>();
    const auto [place, is_new] = seeds.try_emplace(seed, run.file.string());
    if (!is_new) {
      return bad_input("expected another seed than " + std::to_string(seed) + ", which " + place->second + " has",
                       run.file.string());
    }
    runs.push_back(std::move(run));
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.record["seed"] < b.record["seed"]; });
  kept.record["seeds"] = ordered_json::array();
  for (const Run& run : runs) {
    kept.record["seeds"].push_back({{"seed", run.record["seed"]}, {"splits", run.record["splits"]}});
  }
  LOCUS_CHECK(write_file(kept.file, kept.record.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n"));
  return summary_of(checkpoint, kept, runs);
}

}  // namespace locus::training
