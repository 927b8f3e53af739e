// Measure: the numbers of each sample of an atlas, from runs of a model.
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
#include "models/atlas/examples.h"
#include "models/atlas/needles.h"
#include "models/atlas/sums.h"
#include "models/atlas/windows.h"

namespace locus::models::atlas {

struct MeasureOptions {
  std::vector<std::string> what;  // of atlas_statistics()
  std::int64_t length = 0;        // T
  std::int64_t map_size = 0;
  std::uint64_t seed = 0;
  std::int64_t windows = 0;  // N
  ExampleOptions examples = {};
};

class Measure {
 public:
  // `model` outlives this; `probe` is a run of it over a few tokens, which shows what its layers provide. Only the plan
  // of `needles` is kept.
  Measure(const Model& model, const MeasureOptions& options, const Trace& probe, Needles needles);

  const Slots& slots() const { return slots_; }
  // The most heads of a measured layer without a soft-max; 0: none is measured.
  std::int64_t mixer_heads() const { return mixer_heads_; }
  // Whether every head's activation may be measured: not --activation content where nothing can be split.
  bool has_activation() const { return !finder_ || options_.examples.activation != "content" || addressed_; }
  ExamplePlan example_plan() const;
  // "profile.edges", …
  std::map<std::string, std::vector<double>> axes() const;

  // Adds window `index` and the samples measured with it to `block`: its tokens shuffled (every `shuffle_every`-th
  // window), random tokens repeated twice, and needles. Errors: run()'s; kUnsupported where a trace has no scores.
  Status add(const Windows& windows, std::int64_t index, Block& block, const StopToken& stop);
  // Number of windows from one shuffled window to the next: 1 for few windows, 16 for many.
  static std::int64_t shuffle_every(std::int64_t windows);

 private:
  // A window whose numbers are being measured.
  struct Sample {
    const Window& window;
    Kind kind = Kind::kWindow;
    std::int64_t index = 0;
    Block& block;  // maps and examples are added to it directly
    const StopToken& stop;
    std::vector<double> numbers = {};                 // of the other statistics
    std::optional<analysis::MarkedCells> marks = {};  // cells of the activation `induction`
    bool has_examples = false;
  };

  bool wants(const std::string& name) const;
  void plan_windows(Kind kind);
  void plan_repeats(Kind kind);
  void put(Kind kind, const std::string& statistic, std::int64_t layer, std::size_t head,
           std::span<const double> values, std::vector<double>& numbers) const;
  // Runs a text and adds all its numbers; layers are measured one after the other, as the run computes them.
  Status add_window(const Window& window, Kind kind, std::int64_t index, Block& block, const StopToken& stop);
  Status add_repeats(std::int64_t index, Block& block, const StopToken& stop) const;

  // Measure one layer, from a trace that has its scores.
  Status measure_layer(const Trace& trace, std::int64_t layer, Sample& sample);
  Status measure_cells(const Trace& trace, std::int64_t layer, Sample& sample);
  Status measure_addressing(const Trace& trace, std::int64_t layer, Sample& sample);
  Status measure_pairs(const Trace& trace, std::int64_t layer, Sample& sample) const;
  // What may stay of this window for the heads of a layer, from their activations.
  Status add_examples(const Trace& trace, std::int64_t layer, Sample& sample);

  // Measure what needs the whole run.
  Status measure_loss(const Trace& trace, Sample& sample) const;
  // The layers that mix without a soft-max, on the side of the mixers.
  Status measure_mixers(const Trace& trace, Sample& sample);
  // From activations_, which the layers leave: its statistics.
  void put_activations(Sample& sample) const;
  double& activation_at(std::int64_t layer, std::size_t head) {
    return activations_[static_cast<std::size_t>(layer * model_.info().heads) + head];
  }
  const analysis::CellGrid& grid_of(const attention::Mask& mask, bool map);
  MapCells cells_of(const attention::Mask& mask);

  const Model& model_;
  MeasureOptions options_;
  Needles needles_;
  std::vector<std::optional<analysis::PairList>> pairs_;  // one per layer; empty without rotary pairs
  std::vector<MapCells> map_cells_;                       // one per layer
  bool addressed_ = false;                                // heads are split into place and word
  std::int64_t mixer_heads_ = 0;
  std::vector<std::int64_t> mixing_;     // layers with a mixer, where they are asked for
  std::optional<ExampleFinder> finder_;  // where examples are asked for
  std::vector<double> activations_;      // (L · H) of the window; NaN without one
  Slots slots_;
  // Start of a statistic's numbers.
  std::map<std::pair<Kind, std::pair<std::string, std::int64_t>>, const Slot*> places_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t, bool>, analysis::CellGrid> grids_;
};

}  // namespace locus::models::atlas
