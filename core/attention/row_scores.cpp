#include "core/attention/row_scores.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/position/shared/additive_bias.h"

namespace locus::attention {

namespace {

bool readable(const at::Tensor& tensor) {
  return !tensor.defined() || (tensor.dim() == 4 && position::kernels_apply(tensor));
}

}  // namespace

TokenVectors::TokenVectors(const at::Tensor& tensor, std::int64_t batch, std::int64_t head, std::int64_t heads) {
  if (!tensor.defined()) {
    return;
  }
  const std::int64_t own = head * tensor.size(1) / heads;
  data = tensor.data_ptr<float>() + batch * tensor.stride(0) + own * tensor.stride(1);
  token_stride = tensor.stride(2);
  depth_stride = tensor.stride(3);
  width = tensor.size(3);
}

std::optional<RowProgram> RowProgram::make(const position::PositionEncoding& encoding,
                                           const position::Prepared& prepared, std::int64_t layer, const Mask& mask,
                                           double soft_cap) {
  const at::NoGradGuard no_grad;
  if (!prepared.query.device().is_cpu()) {
    return std::nullopt;
  }
  std::optional<position::RowForm> form = position::row_form(encoding, prepared, layer);
  if (!form || encoding.hard_attention() || mask.scattered() ||
      std::max(prepared.query.size(2), prepared.key.size(2)) >= std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  if (form->vectors.defined()) {
    form->vectors = form->vectors.detach().to(at::kFloat).contiguous();
  }
  if (form->slopes.defined()) {
    form->slopes = form->slopes.detach().to(at::kFloat).contiguous();
  }
  for (const at::Tensor* tensor :
       {&prepared.query, &prepared.key, &prepared.gate_query, &prepared.gate_key, &std::as_const(form->asking),
        &std::as_const(form->content_query), &std::as_const(form->content_key)}) {
    if (!readable(*tensor)) {
      return std::nullopt;
    }
  }
  RowProgram program;
  program.prepared_ = prepared;
  program.form_ = *std::move(form);
  program.mask_ = mask;
  program.scale_ = static_cast<float>(encoding.scale());
  program.soft_cap_ = static_cast<float>(soft_cap);
  program.heads_ = prepared.query.size(1);
  program.length_ = prepared.query.size(2);
  program.keys_ = prepared.key.size(2);
  return program;
}

void RowScores::pack(const TokenVectors& vectors, float factor, LaneBuffer& out) const {
  out.resize(vectors.width * kLanes);
  float* const packed = out.data();
  std::fill_n(packed, vectors.width * kLanes, 0.0F);
  for (std::int64_t lane = 0; lane < count_; ++lane) {
    const float* const row = vectors.at(tokens_[static_cast<std::size_t>(lane)]);
    for (std::int64_t k = 0; k < vectors.width; ++k) {
      packed[k * kLanes + lane] = row[k * vectors.depth_stride] * factor;
    }
  }
}

void RowScores::begin(const RowProgram& program, std::int64_t batch, std::int64_t head, Range rows) {
  std::array<std::int64_t, kLanes> tokens{};
  const auto count = static_cast<std::size_t>(rows.size());
  std::iota(tokens.begin(), tokens.begin() + rows.size(), rows.begin);
  begin(program, batch, head, std::span<const std::int64_t>(tokens).first(count));
}

void RowScores::begin(const RowProgram& program, std::int64_t batch, std::int64_t head,
                      std::span<const std::int64_t> rows) {
  program_ = &program;
  kernels_ = &lane_kernels();
  rows_ = {rows.front(), rows.back() + 1};
  count_ = static_cast<std::int64_t>(rows.size());
  visible_ = program.mask_.columns(rows_, program.keys_);
  first_.fill(0);
  last_.fill(0);
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    const Range keys = program.mask_.columns({rows[lane], rows[lane] + 1}, program.keys_);
    tokens_[lane] = rows[lane];
    first_[lane] = static_cast<std::int32_t>(keys.begin);
    last_[lane] = static_cast<std::int32_t>(keys.end);
  }
  const position::Prepared& prepared = program.prepared_;
  const std::int64_t heads = program.heads_;
  keys_ = {};
  keys_.key = TokenVectors(prepared.key, batch, head, heads);
  pack(TokenVectors(prepared.query, batch, head, heads), program.scale_, query_);
  logits_.resize(kChunk * kLanes);
  const position::RowForm& form = program.form_;
  keys_.content = TokenVectors(form.content_key, batch, head, heads);
  if (form.content_query.defined()) {
    pack(TokenVectors(form.content_query, batch, head, heads), program.scale_, content_query_);
  }
  content_.resize(kChunk * kLanes);
  if (!form.counts) {
    return;
  }
  gates_.resize(kChunk * kLanes);
  positions_.resize(kChunk * kLanes);
  excess_.resize(kChunk * kLanes);
  sums_.fill(0);
  saturated_ = false;
  p_max_ = static_cast<float>(form.p_max);
  own_gates_ = prepared.gate_key.defined();
  if (own_gates_) {
    keys_.gate = TokenVectors(prepared.gate_key, batch, head, heads);
    const at::Tensor& query = prepared.gate_query.defined() ? prepared.gate_query : prepared.query;
    pack(TokenVectors(query, batch, head, heads), program.scale_, gate_query_);
  }
  if (form.vectors.defined()) {
    const std::int64_t entries = form.vectors.size(1);
    pack(TokenVectors(form.asking, batch, head, heads), 1.0F, asking_);
    table_.resize(entries * kLanes);
    kernels_->product(asking_.data(), form.vectors.data_ptr<float>(), 1, entries, form.vectors.size(0), entries, count_,
                      false, table_.data());
  } else {
    slope_ = form.slopes.data_ptr<float>()[head];
  }
}

bool RowScores::all_visible(Range columns) const {
  return program_->mask_.covers(rows_, columns);
}

void RowScores::dot(const LaneBuffer& packed, const TokenVectors& key, Range columns, float* out) const {
  kernels_->product(packed.data(), key.at(columns.begin), key.token_stride, key.depth_stride, key.width, columns.size(),
                    count_, false, out);
}

// Gates of the columns, from their logits in gates_.
void RowScores::count(const Keys& keys, Range columns) {
  kernels_->gate(gates_.data(), columns.size());
  // CoPE counts every key up to the query; a window hides keys from the soft-max alone.
  if (&keys == &keys_ && columns.end - 1 > rows_.begin) {
    alignas(64) static constexpr std::array<std::int32_t, kLanes> kFromTheStart{};
    kernels_->hide(gates_.data(), columns.size(), columns.begin, kFromTheStart.data(), last_.data(), 0.0F);
  }
}

void RowScores::set_sums(const float* sums) {
  std::copy_n(sums, kSums, sums_.begin());
  look_at_sums();
}

void RowScores::look_at_sums() {
  saturated_ = std::all_of(sums_.begin(), sums_.begin() + count_, [&](float sum) { return sum >= p_max_; });
}

void RowScores::skip(Range columns) {
  if (saturated_) {
    return;
  }
  dot(own_gates_ ? gate_query_ : query_, own_gates_ ? keys_.gate : keys_.key, columns, gates_.data());
  count(keys_, columns);
  kernels_->count(gates_.data(), columns.size(), p_max_, count_, sums_.data(), positions_.data(), excess_.data());
  look_at_sums();
}

bool RowScores::settled(const ChunkWanted& wanted) const {
  return !program_->form_.counts || saturated_ || !(wanted.logits || wanted.positions);
}

void RowScores::chunk(Range columns, const ChunkWanted& wanted) {
  chunk_of(keys_, columns, wanted);
}

void RowScores::scattered(std::span<const std::int64_t> columns, const ChunkWanted& wanted) {
  Keys few;
  const std::array parts{std::pair{&keys_.key, &few.key}, std::pair{&keys_.content, &few.content},
                         std::pair{&keys_.gate, &few.gate}};
  std::int64_t width = 0;
  for (const auto& [from, to] : parts) {
    width += from->width;
  }
  few_.resize(width * static_cast<std::int64_t>(columns.size()));
  float* place = few_.data();
  for (const auto& [from, to] : parts) {
    if (from->data == nullptr) {
      continue;
    }
    to->data = place;
    to->token_stride = to->width = from->width;
    to->depth_stride = 1;
    for (const std::int64_t column : columns) {
      const float* const vector = from->at(column);
      for (std::int64_t k = 0; k < from->width; ++k) {
        *place++ = vector[k * from->depth_stride];
      }
    }
  }
  chunk_of(few, {0, static_cast<std::int64_t>(columns.size())}, wanted);
}

void RowScores::chunk_of(const Keys& keys, Range columns, const ChunkWanted& wanted) {
  scores_of(keys, columns, wanted);
  const float cap = program_->soft_cap_;
  if (cap > 0 && wanted.logits) {
    kernels_->soft_cap(logits_.data(), columns.size(), cap);
  }
  if (cap > 0 && wanted.content) {
    kernels_->soft_cap(content_.data(), columns.size(), cap);
  }
}

void RowScores::scores_of(const Keys& keys, Range columns, const ChunkWanted& wanted) {
  const std::int64_t width = columns.size();
  const bool counting = program_->form_.counts;
  if (wanted.logits || (counting && !own_gates_) || (wanted.content && keys.content.data == nullptr)) {
    dot(query_, keys.key, columns, logits_.data());
  }
  if (wanted.content && keys.content.data != nullptr) {
    dot(content_query_, keys.content, columns, content_.data());
  } else if (wanted.content) {
    std::copy_n(logits_.data(), width * kLanes, content_.data());
  }
  if (!counting) {
    return;
  }
  const bool moves = !saturated_ && (wanted.logits || wanted.positions);
  if (moves || wanted.gates) {
    if (own_gates_) {
      dot(gate_query_, keys.gate, columns, gates_.data());
    } else {
      std::copy_n(logits_.data(), width * kLanes, gates_.data());
    }
    count(keys, columns);
  }
  if (moves) {
    kernels_->count(gates_.data(), width, p_max_, count_, sums_.data(), positions_.data(), excess_.data());
  } else if (wanted.positions) {
    std::fill_n(positions_.data(), width * kLanes, p_max_);
  }
  if (wanted.logits && program_->form_.vectors.defined()) {
    const auto last = static_cast<std::int32_t>(p_max_);
    if (saturated_) {
      kernels_->add_row(logits_.data(), width, table_.data() + last * kLanes, 1.0F);
    } else {
      kernels_->interpolate(logits_.data(), positions_.data(), excess_.data(), table_.data(), last, width);
    }
  } else if (wanted.logits) {
    kernels_->add_line(logits_.data(), positions_.data(), slope_, width);
    kernels_->add_line(logits_.data(), excess_.data(), -slope_, width);
  }
  if (moves) {
    look_at_sums();
  }
}

}  // namespace locus::attention
