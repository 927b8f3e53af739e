// Measure: the numbers that a model gives for each sample of an atlas.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/cell_means.h"
#include "core/analysis/pairs.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/atlas_run.h"
#include "models/api/model.h"
#include "models/atlas/needles.h"
#include "models/atlas/sums.h"
#include "models/atlas/windows.h"

namespace locus::models::atlas {

struct MeasureOptions {
  std::vector<std::string> what;  // of atlas_statistics()
  std::int64_t length = 0;        // T
  std::int64_t map_size = 0;
  std::uint64_t seed = 0;
};

class Measure {
 public:
  // `model` outlives this; `probe` is a run of it over a few tokens, which tells what its layers have. Of `needles` the
  // plan alone is kept here.
  Measure(const Model& model, const MeasureOptions& options, const Trace& probe, Needles needles);

  const Slots& slots() const { return slots_; }
  // "profile.edges", …
  std::map<std::string, std::vector<double>> axes() const;

  // Adds window `index` and what else is measured with it to `block`: its tokens shuffled (every `shuffle_every`-th
  // window), random tokens given twice, and needles. Errors: run()'s; kUnsupported where a trace has no scores.
  Status add(const Windows& windows, std::int64_t index, Block& block, const StopToken& stop);
  // How many windows there are from one with a null to the next: 1 of few windows, 16 of many.
  static std::int64_t shuffle_every(std::int64_t windows);

 private:
  bool wants(const std::string& name) const;
  void plan_windows(Kind kind);
  void plan_repeats(Kind kind);
  // Maps go into `block` at once, the others into `numbers`.
  Status measure_cells(const Trace& trace, Kind kind, std::vector<double>& numbers, Block& block,
                       const StopToken& stop);
  Status measure_loss(const Trace& trace, const Window& window, Kind kind, std::vector<double>& numbers) const;
  Status add_repeats(std::int64_t index, Block& block, const StopToken& stop) const;
  void put(Kind kind, const std::string& statistic, std::int64_t layer, std::size_t head,
           std::span<const double> values, std::vector<double>& numbers) const;
  Status measure_pairs(const Trace& trace, Kind kind, std::vector<double>& numbers, const StopToken& stop) const;
  const analysis::CellGrid& grid_of(const attention::Mask& mask, bool map);
  MapCells cells_of(const attention::Mask& mask);

  const Model& model_;
  MeasureOptions options_;
  Needles needles_;
  std::vector<std::optional<analysis::PairList>> pairs_;  // of each layer; none where nothing turns
  std::vector<MapCells> map_cells_;                       // of each layer
  Slots slots_;
  // Where a statistic's numbers begin.
  std::map<std::pair<Kind, std::pair<std::string, std::int64_t>>, const Slot*> places_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t, bool>, analysis::CellGrid> grids_;
};

}  // namespace locus::models::atlas
