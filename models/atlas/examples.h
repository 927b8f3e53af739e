// Examples: the windows in which each head acts most, and a sample of each level of its activation. A process finds
// those that may be among them and adds them to its block; Examples, on rank 0, keeps what stays of all blocks. What
// stays depends on the windows alone, so that any number of processes keeps the same.
//
// The first windows of an atlas, which lie all over the corpus, are all kept until they are complete: their activations
// divide a head's windows into levels of equal shares, and the samples are drawn from them. After that only windows that
// are among the largest so far are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/cell_means.h"
#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/formats/atlas/contents.h"

namespace locus::models::atlas {

struct ExamplePlan {
  ExampleOptions options;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t windows = 0;  // N
  std::int64_t length = 0;   // T
  std::uint64_t seed = 0;

  // Number of windows that are kept of every head at first: 4 for each of a sample.
  std::int64_t first_windows() const;
};

// Errors: kUsage for options that are out of range, naming them as flags; kUnsupported for windows that are too long.
Status check_plan(const ExamplePlan& plan);

// Which windows of this process may stay.
class ExampleFinder {
 public:
  explicit ExampleFinder(const ExamplePlan& plan);

  // Whether a window may be among the examples of a head, given all that were asked about before. Windows of a head come
  // in ascending order. Never one without an activation (NaN).
  bool may_stay(std::int64_t layer, std::int64_t head, std::int64_t window, double activation);

 private:
  ExamplePlan plan_;
  std::vector<std::vector<double>> largest_;  // (L · H) the largest activations so far, ascending
};

// Items of a block, as numbers that can be sent; padded with zeros.
void write_window(std::int64_t window, std::span<const std::int64_t> ids, std::vector<double>& items);
void write_example(std::int64_t layer, std::int64_t head, std::int64_t window, double activation,
                   std::span<const analysis::SparseCell> cells, std::int64_t length, std::vector<double>& items);

// How tokens of the model are shown.
using LabelsOf = std::function<Result<std::vector<std::string>>(const std::vector<std::int64_t>& ids)>;

class Examples {
 public:
  explicit Examples(const ExamplePlan& plan);

  // Adds the items of a block; blocks come in the order of their windows.
  void add(std::span<const double> items);
  // After every round: `done` windows are added.
  void settle(std::int64_t done);

  // Errors: those of `labels`.
  Status write_to(ExampleContents& contents, const LabelsOf& labels) const;
  // Of a file with the same plan.
  void read_from(const ExampleContents& contents);

 private:
  struct Head {
    std::vector<KeptWindow> kept;  // by window
    std::vector<double> bounds;    // where levels are known
  };
  Head& head_at(std::int64_t layer, std::int64_t head);
  void keep(std::int64_t layer, KeptWindow window);
  // Levels and samples of the windows that wait.
  void draw(std::size_t place);
  void forget_windows();
  std::int64_t level_of(const Head& head, double activation) const;

  ExamplePlan plan_;
  std::vector<Head> heads_;  // (L · H)
  bool drawn_ = false;
  std::map<std::int64_t, std::vector<std::int64_t>> ids_;  // of windows that are kept
};

}  // namespace locus::models::atlas
