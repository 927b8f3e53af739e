// Learned absolute positions: a trained row per position, added to the token embeddings (GPT-2 `wpe`, ViT `pos_embed`).
#pragma once

#include <memory>
#include <vector>

#include "core/position/shared/with_options.h"

namespace locus::position {

enum class TableResampling { kBicubic, kBicubicAntialias, kBilinear, kBilinearAntialias, kBilinearCorners, kBuckets };

struct LearnedOptions : TableOptions<LearnedOptions> {
  std::int64_t length = 0;   // positions in the table (0: the trained length); a grid's rows·columns
  bool interpolate = false;  // option `beyond`: "error" or "interpolate"
  // Leading rows of tokens without position (CLS); later such tokens get nothing. Position 0 of a sequence reads the
  // row behind them (OPT), position −1, that of padding, the last of them (RoBERTa).
  std::int64_t class_rows = 0;
  std::int64_t after_rows = 0;    // trailing rows, of tokens without position behind the patches of a grid
  std::int64_t grid_rows = 0;     // the patch grid the table was trained on; 0: a sequence
  std::int64_t grid_columns = 0;  // likewise
  // Option `resample`: "bicubic" (a = −0.75), "bicubic-antialias" (a = −0.5), "bilinear" (sample centres at half steps;
  // DPT), "bilinear-antialias" (NaFlex), "bilinear-corners" (the corners of both grids lie on each other; Qwen3-VL), or
  // "buckets": row i of n reads the table's row ⌊i·S/n⌋ of S, with the roundings of float32 that transformers has
  // (NaViT's positions, Idefics).
  TableResampling resample = TableResampling::kBicubic;
  // Option `table`: "patches", a row for each patch of the grid, or "axes", a row for each of its columns and then one for
  // each of its rows, whose sum a patch has (Gemma 4's tower). Grids beyond those are an Error.
  bool axes = false;

  static const OptionTable<LearnedOptions> kTable;
  Status check() const;
};

// x_i + P[i]. Fractional ids lie between their neighbours' rows. Sequences beyond the table: an Error, or the table
// stretched to the sequence's length (linear, sample centres at half steps; SeqPE App. B.1). Images of another grid:
// an Error, or the table resampled, bicubically as Hugging Face's ViT does or as the option says.
class Learned final : public WithOptions<Learned, LearnedOptions> {
 public:
  static const Description& about();
  static Status settle(LearnedOptions& options, const ModelShape& shape);

  // The table starts Gaussian with standard deviation 0.02.
  Learned(const ModelShape& shape, const LearnedOptions& options);

  std::vector<Parameter> parameters() override { return {{"position_embedding", &table_}}; }
  Status accepts(const Positions& positions) const override;
  // table: (T, C), the row of every token.
  State begin(const Positions& positions, std::int64_t batch) const override;
  at::Tensor embed(const State& state) const override { return state.table; }
  at::Tensor vectors(const State& state, std::int64_t layer) const override;

 private:
  // kBadInput for a position between two rows, unless rows are interpolated.
  Status accepts_whole(const at::Tensor& ids) const;
  at::Tensor sequence_rows(const at::Tensor& ids) const;
  at::Tensor grid_rows(const Positions& positions) const;
  // (patches, C) by the part of the table that is of patches, for ids (patches, 2) of a grid of high × wide.
  at::Tensor patch_rows(const at::Tensor& rows, const at::Tensor& ids, std::int64_t high, std::int64_t wide) const;

  at::Tensor table_;  // (class_rows + length + after_rows, C)
};

}  // namespace locus::position
