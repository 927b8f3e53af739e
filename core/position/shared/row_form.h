// RowForm: a layer's scores in the form that a driver of rows computes by itself, key by key from the diagonal
// leftwards, without score():
//   logit_ij = scale()·q_i·k_j + z_i(p_ij),  p_ij = min(Σ_{k=j..i} σ(scale()·gate_query_i·gate_key_k), p_max)
// with q, k and the gates' of a Prepared. Without `counts` there is no z. Every encoding that is a dot product has one;
// others say so by being a RowFormed.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "core/position/position_encoding.h"

namespace locus::position {

// Letters: B batch, H query heads, Hkv key heads, T tokens, D head width.
struct RowForm {
  bool has_content = true;   // the content is scale()·content_query·content_key,
  at::Tensor content_query;  // (B, H, T, D), undefined: q·k's own
  at::Tensor content_key;    // (B, Hkv, T, D)
  bool counts = false;
  at::Tensor asking;   // (B, H, T, D) the queries that ask for positions
  at::Tensor vectors;  // (D, p_max + 1): z_i[p] = asking_i·vectors[:, p], interpolated; undefined: z_i(p) = slopes_h·p
  at::Tensor slopes;   // (H)
  double p_max = 0;    // infinity: unlimited
};

// An encoding that knows the form of its scores better than is_dot_product() tells.
class RowFormed {
 public:
  virtual ~RowFormed() = default;
  // The form of a layer's scores, equal to score() up to rounding; nothing where only score() can.
  virtual std::optional<RowForm> row_form(const Prepared& prepared, std::int64_t layer) const = 0;
};

// The form of a dot product.
inline RowForm dot_product_form(const PositionEncoding& encoding, const Prepared& prepared) {
  RowForm form;
  const Description& about = encoding.description();
  form.has_content = !about.content.empty() && (prepared.content_query.defined() || !about.rotates);
  form.content_query = prepared.content_query;
  form.content_key = prepared.content_key;
  return form;
}

// The form of any encoding's scores; nothing where only score() can.
inline std::optional<RowForm> row_form(const PositionEncoding& encoding, const Prepared& prepared, std::int64_t layer) {
  if (const auto* formed = dynamic_cast<const RowFormed*>(&encoding)) {
    return formed->row_form(prepared, layer);
  }
  return encoding.is_dot_product() ? std::optional(dot_product_form(encoding, prepared)) : std::nullopt;
}

}  // namespace locus::position
