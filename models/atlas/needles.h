// Needles: a sentence hidden in a text at several depths and lengths, and whether the model reproduces it at the end.
// After Wu et al. 2024 (arXiv 2404.15574): a head retrieves where, at the step that copies a token, more than half of
// its weight is on that token in the needle.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"
#include "models/atlas/sums.h"
#include "models/atlas/windows.h"

namespace locus::models::atlas {

// One text with its needle: haystack, needle, haystack, question, answer.
struct NeedleText {
  std::vector<std::int64_t> ids;
  Range needle;                       // tokens of the sentence, including its answer
  std::vector<std::int64_t> copied;   // indices in the needle of each token of the answer
  std::vector<std::int64_t> queries;  // token that predicts that token
  std::int64_t question = 0;          // start of the question: everything before may be shuffled
};

class Needles {
 public:
  // `what`: "retrieval", "spans" or both. `encode` as for Windows; `model` and `windows` outlive this. Errors: those of
  // encode; kUnsupported where T has no room for needle and question.
  static Result<Needles> make(const Model& model, const Windows& windows, Encode encode,
                              const std::vector<std::string>& what);

  void plan(Slots& slots) const;
  std::map<std::string, std::vector<double>> axes() const;
  // True if needles are measured with window `index` of so many: at least two samples, one per 256 windows. They are
  // the first windows of the first blocks, so that processes have equal work at the same time.
  static bool with_window(std::int64_t index, std::int64_t windows);

  // Sample `index`: all depths and lengths, in the text of window `index`; and the same with the text before the
  // question shuffled. Errors: run()'s.
  Status add(std::int64_t index, const Slots& slots, Block& block, const StopToken& stop) const;

  // The text of one cell of the grid. `depth` 0 … 1.
  Result<NeedleText> text(std::int64_t index, double depth, std::int64_t length) const;
  const std::vector<double>& depths() const { return depths_; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }

 private:
  Needles(const Model& model, const Windows& windows, Encode encode)
      : model_(&model), windows_(&windows), encode_(std::move(encode)) {}
  Result<std::vector<std::int64_t>> plain(const std::string& text) const;
  Status measure(const NeedleText& text, Kind kind, std::size_t cell, const Slots& slots, std::vector<double>& numbers,
                 const StopToken& stop) const;
  // Adds the numbers of one layer's heads, from a trace that has its scores.
  Status measure_heads(const Trace& trace, std::int64_t layer, const NeedleText& text, Kind kind, std::size_t cell,
                       const Slots& slots, std::vector<double>& numbers, const StopToken& stop) const;

  const Model* model_;
  const Windows* windows_;
  Encode encode_;
  bool retrieval_ = false;
  bool spans_ = false;
  std::vector<double> depths_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace locus::models::atlas
