// Fused float32 loops for tiles that need no gradient, where a chain of whole-tile operations would cost more than the
// matrix product. One call handles one row; every loop equals the differentiable form up to rounding (tested).
//
// K is the number of columns of the tile. Rows are contiguous.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace locus::position::kernel {

// logits[c] += bias[c].
void add_bias(std::span<float> logits, const float* bias);

// logits[c] = amplitude[c] · cos(2π · distance[c] · phase[c]).
void modulate(std::span<float> logits, const float* amplitude, const float* phase, const float* distance);

// A continuous piecewise linear function of one number for each of H heads: segment s covers (knots[s−1], knots[s]].
struct PiecewiseLinear {
  std::vector<float> knots;       // (S − 1), ascending
  std::vector<float> slopes;      // (S, H)
  std::vector<float> intercepts;  // (S, H)
  std::int64_t heads = 0;
};

// logits[c] += f_head(numerator[c] · factor) for each head of `heads`, whose rows start at the given pointers.
void add_piecewise(const PiecewiseLinear& f, const float* numerator, float factor, std::int64_t columns,
                   std::span<float* const> logits, std::int64_t first_head);

// One row of CoPE (Eq. 3, 4, 8). From right to left: g = σ(gate_logit), p += g, position = min(p, p_max),
// logits[c] = content[c] + z interpolated at the position. Columns from `visible` on have gate 0 and keep p.
template <class Number>
struct CopeRowOf {
  const Number* content = nullptr;      // (K)
  const Number* gate_logits = nullptr;  // (K), may be `content`
  const Number* z = nullptr;            // (p_max + 1) q·e[p]; null: slope · p is added instead
  Number slope = 0;                     // CoPE_ALiBi: m
  Number p_max = 0;                     // infinity: unlimited (slope only)
  std::int64_t columns = 0;             // K
  std::int64_t visible = 0;             // columns with j ≤ i
  Number* logits = nullptr;             // (K) out, may be `content`
  Number* gates = nullptr;              // (K) out
  Number* positions = nullptr;          // (K) out, clamped
};
using CopeRow = CopeRowOf<float>;
// Returns `carry` + Σ gates. Float64 is for checks: plain loops.
float cope_row(const CopeRow& row, float carry);
double cope_row(const CopeRowOf<double>& row, double carry);
// The same with sums in float64, each rounded once: tiles then agree with the whole row, however it is cut.
double cope_row_exact(const CopeRow& row, double carry);

// The gradients of one row with z, from those of its logits and of the returned carry. Only the `visible` columns
// count: what lies beyond them is hidden by the model's mask.
template <class Number>
struct CopeGradientRow {
  const Number* logits = nullptr;     // (K) dL/dlogits
  const Number* gates = nullptr;      // (K) as cope_row() wrote them
  const Number* positions = nullptr;  // (K) likewise
  const Number* z = nullptr;          // (p_max + 1)
  std::int64_t last = 0;              // p_max
  std::int64_t visible = 0;
  Number carry = 0;               // dL/d(returned carry)
  Number* gate_logits = nullptr;  // (K) out: dL/dgate_logits, the visible columns
  Number* z_gradient = nullptr;   // (p_max + 1) added to
};
// Returns dL/dcarry.
float cope_row_gradient(const CopeGradientRow<float>& row);
double cope_row_gradient(const CopeGradientRow<double>& row);

}  // namespace locus::position::kernel
