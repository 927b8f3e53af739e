#include "core/position/cope/function.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>

#include "core/position/shared/tile_kernels.h"

namespace locus::position {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kRowsPerTask = 16;

// Where row n of a (B, h, R, K) tile stands.
struct Rows {
  std::int64_t first_row = 0;     // token of row 0
  std::int64_t first_column = 0;  // token of column 0
  std::int64_t rows = 0;          // R
  std::int64_t columns = 0;       // K

  std::int64_t visible(std::int64_t n) const {
    return std::clamp<std::int64_t>(first_row + n % rows + 1 - first_column, 0, columns);
  }
};

template <class Number>
void forward_rows(const Rows& rows, const at::Tensor& content, const at::Tensor& gate_logits, const at::Tensor& table,
                  const at::Tensor& carry, at::Tensor& logits, at::Tensor& sums, at::Tensor& gates,
                  at::Tensor& positions) {
  const std::int64_t vectors = table.size(-1);
  at::parallel_for(0, carry.numel(), kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t at = n * rows.columns;
      kernel::CopeRowOf<Number> row;
      row.content = content.data_ptr<Number>() + at;
      row.gate_logits = gate_logits.data_ptr<Number>() + at;
      row.z = table.data_ptr<Number>() + n * vectors;
      row.p_max = static_cast<Number>(vectors - 1);
      row.columns = row.visible = rows.visible(n);
      row.logits = logits.data_ptr<Number>() + at;
      row.gates = gates.data_ptr<Number>() + at;
      row.positions = positions.data_ptr<Number>() + at;
      sums.data_ptr<Number>()[n] = kernel::cope_row(row, carry.data_ptr<Number>()[n]);
      std::fill(row.logits + row.visible, row.logits + rows.columns, Number{0});
    }
  });
}

template <class Number>
void backward_rows(const Rows& rows, const at::Tensor& logits, const at::Tensor& sums, const at::Tensor& gates,
                   const at::Tensor& positions, const at::Tensor& table, at::Tensor& content, at::Tensor& gate_logits,
                   at::Tensor& z, at::Tensor& carry) {
  const std::int64_t vectors = table.size(-1);
  const bool joint = !content.defined();  // content and gate logits are one tensor, whose gradient is the sum
  at::parallel_for(0, carry.numel(), kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t at = n * rows.columns;
      kernel::CopeGradientRow<Number> row;
      row.logits = logits.data_ptr<Number>() + at;
      row.gates = gates.data_ptr<Number>() + at;
      row.positions = positions.data_ptr<Number>() + at;
      row.z = table.data_ptr<Number>() + n * vectors;
      row.last = vectors - 1;
      row.visible = rows.visible(n);
      row.carry = sums.defined() ? sums.data_ptr<Number>()[n] : Number{0};
      row.gate_logits = gate_logits.data_ptr<Number>() + at;
      row.z_gradient = z.data_ptr<Number>() + n * vectors;
      carry.data_ptr<Number>()[n] = kernel::cope_row_gradient(row);
      std::fill(row.gate_logits + row.visible, row.gate_logits + rows.columns, Number{0});
      Number* const through = joint ? row.gate_logits : content.data_ptr<Number>() + at;
      for (std::int64_t c = 0; c < row.visible; ++c) {
        through[c] = joint ? through[c] + row.logits[c] : row.logits[c];
      }
      if (!joint) {
        std::fill(through + row.visible, through + rows.columns, Number{0});
      }
    }
  });
}

class CopeFunction : public torch::autograd::Function<CopeFunction> {
 public:
  // There are no `gate_logits` where the gates come from `content`.
  static variable_list forward(AutogradContext* context, const at::Tensor& content,
                               const c10::optional<at::Tensor>& gate_logits, const at::Tensor& table,
                               const at::Tensor& carry, std::int64_t first_row, std::int64_t first_column) {
    const Rows rows{first_row, first_column, content.size(2), content.size(3)};
    const at::Tensor solid = content.contiguous();
    const at::Tensor gating = gate_logits ? gate_logits->contiguous() : solid;
    const at::Tensor z = table.contiguous();
    at::Tensor logits = at::empty_like(solid);
    at::Tensor gates = at::empty_like(solid);
    at::Tensor positions = at::empty_like(solid);
    const at::Tensor from = carry.contiguous();
    at::Tensor sums = at::empty_like(from);
    AT_DISPATCH_FLOATING_TYPES(solid.scalar_type(), "cope", [&] {
      forward_rows<scalar_t>(rows, solid, gating, z, from, logits, sums, gates, positions);
    });
    context->save_for_backward({gates, positions, z});
    context->saved_data["first_row"] = first_row;
    context->saved_data["first_column"] = first_column;
    context->saved_data["joint"] = !gate_logits.has_value();
    context->set_materialize_grads(false);
    return {logits, sums};
  }

  static variable_list backward(AutogradContext* context, const variable_list& given) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& gates = saved[0];
    const Rows rows{context->saved_data["first_row"].toInt(), context->saved_data["first_column"].toInt(),
                    gates.size(2), gates.size(3)};
    const at::Tensor logits = given[0].defined() ? given[0].contiguous() : at::zeros_like(gates);
    const at::Tensor sums = given[1].defined() ? given[1].contiguous() : at::Tensor();
    const bool joint = context->saved_data["joint"].toBool();
    at::Tensor content = joint ? at::Tensor() : at::empty_like(gates);
    at::Tensor gate_logits = at::empty_like(gates);
    at::Tensor z = at::zeros_like(saved[2]);
    at::Tensor carry = at::empty({gates.size(0), gates.size(1), gates.size(2)}, gates.options());
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "cope_gradient", [&] {
      backward_rows<scalar_t>(rows, logits, sums, gates, saved[1], saved[2], content, gate_logits, z, carry);
    });
    if (joint) {
      return {gate_logits, at::Tensor(), z, carry, at::Tensor(), at::Tensor()};
    }
    return {content, gate_logits, z, carry, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool cope_function_applies(const CopeTile& work) {
  const at::ScalarType type = work.biased.scalar_type();
  return work.table.defined() && work.biased.device().is_cpu() && (type == at::kFloat || type == at::kDouble);
}

std::pair<at::Tensor, at::Tensor> learned_cope(const CopeTile& work, const Tile& tile) {
  c10::optional<at::Tensor> gating;
  if (!work.gate_logits.is_same(work.biased)) {
    gating = work.gate_logits;
  }
  const variable_list result =
      CopeFunction::apply(work.biased, gating, work.table, work.carry, tile.rows.begin, tile.columns.begin);
  return {result[0], result[1]};
}

}  // namespace locus::position
