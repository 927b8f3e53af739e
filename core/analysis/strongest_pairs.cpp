// core/analysis/kernel_source.h: logits of single tokens, and the largest of all pairs of them.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/analysis/kernel_source.h"
#include "core/position/shared/pair_form.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kVectorBlock = 2048;  // tokens that are prepared at once
constexpr std::int64_t kQueryBlock = 1024;   // of V × V products at once
constexpr std::int64_t kKeyBlock = 4096;

using Encoding = std::shared_ptr<const position::PositionEncoding>;

// Tokens of one head beside one of the other side that has no content: what a logit owes to them alone.
struct Beside {
  at::Tensor turned;  // (n, W) as the score sees them
  at::Tensor alone;   // (n) their logit with that one
};

// Queries (n, W) with what fades by the distance faded (xPos), which is no part of what the encoding prepares.
Result<at::Tensor> faded_by(const position::PositionEncoding& encoding, std::int64_t layer,
                            const position::Prepared& prepared, const at::Tensor& queries, double distance) {
  const auto form = position::pair_form(encoding, prepared, layer);
  if (!form || !form->decay.defined()) {
    return queries;
  }
  at::Tensor factor = at::ones({queries.size(1)}, at::kDouble);
  for (std::int64_t m = 0; m < form->pairs(); ++m) {
    for (const std::int64_t channel : form->channels[static_cast<std::size_t>(m)]) {
      factor[channel] = (form->decay[m] * distance).exp();
    }
  }
  return queries * factor.to(queries.options());
}

// A block of queries against a key of zeros, or of keys against a query of zeros. Before them stand a token at position
// 0, which makes the text as long as the query's position says, the one of zeros, and one of zeros beside the block.
Result<Beside> beside_nothing(const Encoding& encoding, std::int64_t layer, std::int64_t head, const at::Tensor& tokens,
                              bool queries, double query_at, double key_at) {
  const position::ModelShape& shape = encoding->shape();
  const std::int64_t count = tokens.size(0);
  const double own_at = queries ? query_at : key_at;
  position::Positions positions;
  positions.ids = at::cat({at::zeros({1}, at::kDouble), at::full({1}, queries ? key_at : query_at, at::kDouble),
                           at::full({count + 1}, own_at, at::kDouble)});
  LOCUS_CHECK(encoding->accepts(positions));
  const at::Tensor rows =
      at::cat({at::zeros({3, tokens.size(1)}, tokens.options()), tokens}).view({1, 1, count + 3, -1});
  const auto of_heads = [&](const at::Tensor& x, std::int64_t heads) { return x.expand({1, heads, -1, -1}); };
  const at::Tensor nothing = at::zeros_like(rows);
  position::Projections projections;
  projections.query = of_heads(queries ? rows : nothing, shape.heads);
  projections.key = projections.value = of_heads(queries ? nothing : rows, shape.kv_heads);
  const position::Prepared prepared = encoding->prepare(encoding->begin(positions, 1), layer, projections);
  const Range all{3, count + 3};
  const position::Tile tile{layer, {head, head + 1}, queries ? all : Range{1, 2}, queries ? Range{1, 2} : all};
  const std::int64_t key_head = head / (shape.heads / shape.kv_heads);
  const at::Tensor prepared_head =
      (queries ? prepared.query.select(1, head) : prepared.key.select(1, key_head)).select(0, 0);
  // Without what a token has by its place alone (SeqPE), which is in the logit beside nothing already.
  at::Tensor turned = prepared_head.slice(0, 3) - prepared_head.slice(0, 2, 3);
  if (queries) {
    LOCUS_TRY(turned, faded_by(*encoding, layer, prepared, turned, query_at - key_at));
  }
  return Beside{turned, encoding->score(prepared, tile).logits.flatten()};
}

Result<Beside> all_beside(const Encoding& encoding, std::int64_t layer, std::int64_t head, const at::Tensor& tokens,
                          bool queries, double query_at, double key_at) {
  std::vector<at::Tensor> turned;
  std::vector<at::Tensor> alone;
  for (const at::Tensor& block : tokens.split(kVectorBlock)) {
    LOCUS_TRY(const Beside part, beside_nothing(encoding, layer, head, block, queries, query_at, key_at));
    turned.push_back(part.turned);
    alone.push_back(part.alone);
  }
  return Beside{at::cat(turned), at::cat(alone)};
}

bool stronger(const StrongPair& a, const StrongPair& b) {
  return a.logit != b.logit ? a.logit > b.logit : std::pair(a.query, a.key) < std::pair(b.query, b.key);
}

// The block's pairs that may be among the largest.
void take_block(const at::Tensor& products, std::int64_t first_query, std::int64_t first_key, std::int64_t count,
                std::vector<StrongPair>& kept) {
  const bool full = static_cast<std::int64_t>(kept.size()) == count;
  const double least = full ? kept.back().logit : -std::numeric_limits<double>::infinity();
  if (full && products.max().item<double>() < least) {
    return;
  }
  const at::Tensor flat = products.flatten();
  const auto [values, cells] = flat.topk(std::min(count, flat.numel()));
  const at::Tensor logits = values.to(at::kDouble);
  for (std::int64_t n = 0; n < logits.numel(); ++n) {
    const auto cell = cells[n].item<std::int64_t>();
    kept.push_back(
        {first_query + cell / products.size(1), first_key + cell % products.size(1), logits[n].item<double>()});
  }
  std::sort(kept.begin(), kept.end(), stronger);
  kept.resize(std::min(kept.size(), static_cast<std::size_t>(count)));
}

}  // namespace

Result<CellVectors> cell_vectors(const Encoding& encoding, std::int64_t layer, std::int64_t head,
                                 const at::Tensor& query, const at::Tensor& key, double query_at, double key_at) {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(has_kernel(*encoding, layer));
  LOCUS_TRY(const Beside queries, all_beside(encoding, layer, head, query, true, query_at, key_at));
  LOCUS_TRY(const Beside keys, all_beside(encoding, layer, head, key, false, query_at, key_at));
  LOCUS_TRY(const Beside none,
            beside_nothing(encoding, layer, head, at::zeros({1, key.size(1)}, key.options()), true, query_at, key_at));
  // Both sides' parts hold the bias once.
  const at::Tensor own = (queries.alone - none.alone).unsqueeze(1);
  const at::Tensor others = keys.alone.unsqueeze(1);
  return CellVectors{at::cat({queries.turned * encoding->scale(), own, at::ones_like(own)}, 1),
                     at::cat({keys.turned, at::ones_like(others), others}, 1)};
}

Result<std::vector<StrongPair>> strongest_pairs(const CellVectors& vectors, std::int64_t count, StopToken stop,
                                                const Progress& progress) {
  const at::NoGradGuard no_grad;
  std::vector<StrongPair> kept;
  const std::int64_t queries = vectors.query.size(0);
  const std::int64_t keys = vectors.key.size(0);
  for (std::int64_t first = 0; first < queries && count > 0; first += kQueryBlock) {
    report(progress, static_cast<double>(first) / static_cast<double>(queries), "pairs of tokens");
    const at::Tensor block = vectors.query.slice(0, first, std::min(first + kQueryBlock, queries));
    for (std::int64_t from = 0; from < keys; from += kKeyBlock) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      const at::Tensor others = vectors.key.slice(0, from, std::min(from + kKeyBlock, keys));
      take_block(at::matmul(block, others.t()), first, from, count, kept);
    }
  }
  for (StrongPair& pair : kept) {  // without the rounding of the products
    pair.logit = vectors.query[pair.query].to(at::kDouble).dot(vectors.key[pair.key].to(at::kDouble)).item<double>();
  }
  std::sort(kept.begin(), kept.end(), stronger);
  return kept;
}

}  // namespace locus::analysis
