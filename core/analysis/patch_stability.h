// How much maps and states over the patches of a picture change when the picture is moved, after its own movement is
// undone: an encoding that is equivariant to it changes nothing.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

// The patches of a grid that a moved picture still shows whole, and where each of them is then: between four patches,
// weighted bilinearly. Patch n of the grid is row n / columns.
class PatchPlaces {
 public:
  // A patch at column x and row y is moved to x' = m₀ x + m₁ y + m₂, y' = m₃ x + m₄ y + m₅. It counts where the patches
  // that x', y' lies between are in the grid, and so are the places that these came from. `map` must be invertible.
  PatchPlaces(std::int64_t rows, std::int64_t columns, const std::array<double, 6>& map);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  // (n) int64: the patches that count.
  const at::Tensor& patches() const { return patches_; }
  std::int64_t count() const { return patches_.size(0); }
  // (…, P, …) with patches along `axis` → (…, n, …): what each patch that counts has at its moved place.
  at::Tensor undo(const at::Tensor& moved, std::int64_t axis) const;

 private:
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  at::Tensor patches_;
  at::Tensor corners_;  // (4, n) int64
  at::Tensor weights_;  // (4, n) float32
};

// Mean over heads and the patches i that count of ½ Σ_j |A'(i, j) − A(i, j)|, 0 to 1: j runs over the patches that
// count, over which both rows are divided by their sums, so that what came into the picture or left it takes nothing
// from them. A' is `moved` at the places of i and j. `tokens` (P) are those of the patches. NaN below two patches.
// Errors: kBadInput where heads or lengths differ; the fields' own; kCancelled.
Result<double> patch_attention_change(const attention::ScoreField& plain, const attention::ScoreField& moved,
                                      const at::Tensor& tokens, const PatchPlaces& places, StopToken stop = {});

// √(Σ ‖f'(i) − f(i)‖² / Σ ‖f(i) − f̄‖²) over the patches i that count, f̄ their mean: 0 where nothing changes, √2 of
// unrelated states. (T, C) each. NaN below two patches.
double patch_state_change(const at::Tensor& plain, const at::Tensor& moved, const at::Tensor& tokens,
                          const PatchPlaces& places);

}  // namespace locus::analysis
