// PairLayer: what the analyses of pairs share. A layer's queries and keys as host tensors, its pair form, and which
// cells lie at which distance.
//
// Letters: as in pairs.h; P the dimensions of a position: 1 in a text, 2 (row, column) in an image, 3 (time, row,
// column) in a text with pictures under M-RoPE.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/pairs.h"
#include "core/attention/score_field.h"
#include "core/position/shared/pair_form.h"

namespace locus::analysis {

using Steps = std::array<double, 3>;  // δ, in the dimensions of a position

// A place in a vector.
inline std::size_t index(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// The cells whose key stands `lag` entries before the query.
struct Lag {
  std::int64_t lag = 0;
  std::int64_t distance = 0;
  double count = 0;  // visible cells
  Steps steps{};
};

// How the tokens of a layer lie: in a text one after the other, in an image (or a picture in a text) row by row with
// gaps between the rows, so that a lag belongs to one offset alone.
struct Places {
  std::vector<std::int64_t> of_token;  // (T) the entry of each token; −1: it has no position
  std::int64_t entries = 0;
  std::vector<Range> segments;  // of entries that see each other (chunks)
  std::vector<Lag> lags;
  std::int64_t most = 0;       // largest |lag|
  std::vector<double> count;   // cells of each distance
  std::optional<double> step;  // δ of neighbours in a text; none: positions do not count evenly
  std::int64_t skip_keys = 0;  // first keys of a text that are left out
};

struct PairLayer {
  const attention::ComputedScores* scores = nullptr;
  attention::Mask mask;
  position::PairForm form;
  at::Tensor query;  // (H, T, W) float32, contiguous, on the host
  at::Tensor key;    // (Hkv, T, W)
  at::Tensor ids;    // (T, P) float64
  std::int64_t prefix = 0;
  Range
      placed;  // the tokens that distances are between: all; an image's patches; the cells of a text's largest picture
  double scale = 1;
  std::int64_t heads = 0;
  std::int64_t group = 1;  // query heads that share a key head
  std::int64_t length = 0;

  static Result<PairLayer> of(const PairSource& source);

  std::int64_t rows() const { return form.pairs() + (form.rest.empty() ? 0 : 1); }
  const std::vector<std::int64_t>& channels(std::int64_t row) const {
    return row < form.pairs() ? form.channels[static_cast<std::size_t>(row)] : form.rest;
  }
  const float* query_of(std::int64_t head) const { return query.data_ptr<float>() + head * length * query.size(2); }
  const float* key_of(std::int64_t head) const { return key.data_ptr<float>() + head / group * length * key.size(2); }
  Status check_head(std::int64_t head) const;
  bool grid() const { return ids.size(1) > 1; }
  // True for a text, with pictures or without; false for an image.
  bool of_text() const { return ids.size(1) != 2; }
  std::string unit() const { return !grid() ? "token" : of_text() ? "cell" : "patch"; }  // of distances
  // δ of two tokens.
  Steps steps(std::int64_t query, std::int64_t key) const;
  // θ of a row over `steps`, in radians; 0 for the rest. Precondition: form.frequencies defined.
  double angle(std::int64_t head, std::int64_t row, const Steps& steps) const;
  // ln of what a row fades by over `steps` of a text.
  double decay(std::int64_t row, double steps) const;
  PairList list(std::int64_t head) const;
  // Errors: kUnsupported for patches or cells that are no grid.
  Result<Places> places(std::int64_t skip_keys = 0) const;
};

// The unrotated queries and keys of one head as complex numbers, one per token: real parts, then imaginary ones.
struct Unrotated {
  std::vector<double> query_real, query_imaginary, key_real, key_imaginary;
};
// The components of a pair that is a plane. Errors: kUnsupported where it is none.
Result<Unrotated> unrotated(const PairLayer& layer, std::int64_t head, std::int64_t pair);

}  // namespace locus::analysis
