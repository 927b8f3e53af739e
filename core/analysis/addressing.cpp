#include "core/analysis/addressing.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/analysis/addressing_parts.h"
#include "core/analysis/row_blocks.h"
#include "core/attention/fused_scores.h"
#include "core/base/numbers.h"
#include "core/position/shared/adds_to_content.h"

namespace locus::analysis {

namespace {

constexpr std::size_t kBlockQueries = 128;
constexpr std::int64_t kBlockCells = std::int64_t{1} << 23;  // of all heads that are split at once
constexpr double kMaxCells = 1 << 24;                        // that a head's queries cost, where cells are scored
constexpr std::int64_t kSparse = 8;  // rows from one query to the next beyond which each is computed by itself
constexpr double kNormal = 1.959963984540054;  // 95 % of a normal distribution
constexpr std::int64_t kShortest = 3;
constexpr double kNothing = 1e-18;  // of the largest weight of a swap: even all swaps of a long text are none

// Rows of a map that is computed by ranges: (…, Q, K) of these queries, from (…, rows, K).
Result<at::Tensor> queried_rows(const std::vector<std::int64_t>& queries, std::int64_t dimension,
                                const std::function<Result<at::Tensor>(Range rows)>& map) {
  const Range all{queries.front(), queries.back() + 1};
  if (all.size() <= kSparse * static_cast<std::int64_t>(queries.size())) {
    LOCUS_TRY(const at::Tensor rows, map(all));
    const at::Tensor which = at::tensor(at::ArrayRef<std::int64_t>(queries), at::kLong) - all.begin;
    return rows.index_select(dimension, which.to(rows.device()));
  }
  std::vector<at::Tensor> rows;
  for (const std::int64_t query : queries) {
    LOCUS_TRY(at::Tensor row, map({query, query + 1}));
    rows.push_back(std::move(row));
  }
  return at::cat(rows, dimension);
}

struct ShareSums {
  double sum = 0, squares = 0;
  void add(double x) { sum += x, squares += x * x; }
  double mean(double count) const { return sum / count; }
  double half(double count) const {
    const double variance = (squares - sum * sum / count) / (count - 1);
    return count > 1 ? kNormal * std::sqrt(std::max(variance, 0.0) / count) : kNaN;
  }
};

// Means over queries of their shares.
struct HeadSums {
  ShareSums place, word, both;
  double variance = 0;
  double queries = 0;  // that vary
  double asked = 0;
  std::vector<double> place_rows, word_rows, both_rows;

  void add(const QueryParts& parts) {
    for (std::size_t n = 0; n < parts.place.size(); ++n) {
      const double whole = variance_of(parts, n);
      ++asked;
      if (!(whole > 0)) {
        continue;
      }
      place.add(parts.place[n] / whole);
      word.add(parts.word[n] / whole);
      both.add(parts.both[n] / whole);
      variance += whole;
      ++queries;
    }
    const auto join = [](std::vector<double>& sums, const std::vector<double>& more) {
      sums.resize(more.size());
      std::ranges::transform(sums, more, sums.begin(), std::plus<>());
    };
    join(place_rows, parts.place_rows);
    join(word_rows, parts.word_rows);
    join(both_rows, parts.both_rows);
  }

  Addressing head() const {
    if (queries == 0) {
      return {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, 0};
    }
    return {place.mean(queries), word.mean(queries), both.mean(queries),         place.half(queries),
            word.half(queries),  both.half(queries), std::sqrt(variance / asked)};
  }
};

Status check(const AddressingSource& source, const AddressingOptions& options) {
  const std::int64_t length = source.field.source().length();
  if (length < kShortest) {
    return bad_input("addressing: expected at least " + std::to_string(kShortest) + " tokens, found " +
                     std::to_string(length));
  }
  if (options.permutations < 4 || options.queries < 0 || options.least_keys < 1 || !(options.cells > 0)) {
    return bad_input("addressing: expected at least 4 permutations, 0 queries, 1 key and some cells, found " +
                     std::to_string(options.permutations) + ", " + std::to_string(options.queries) + ", " +
                     std::to_string(options.least_keys) + " and " + general_text(options.cells, 6));
  }
  return {};
}

Status check_head(const AddressingSource& source, std::int64_t head) {
  const std::int64_t heads = source.field.source().heads();
  return head >= 0 && head < heads ? Status()
                                   : Status(bad_input("head: expected 0 to " + std::to_string(heads - 1) + ", found " +
                                                      std::to_string(head)));
}

// The queries that are split: a sample of those that see enough keys, and as many of it as their cells allow.
std::vector<std::int64_t> chosen_queries(const AddressingSource& source, const AddressingSplit& split,
                                         const AddressingOptions& options) {
  const attention::Mask& mask = source.field.mask();
  const std::int64_t length = source.field.source().length();
  const std::int64_t keys = source.field.source().keys();
  std::vector<std::int64_t> seen;
  for (std::int64_t query = 0; query < length; ++query) {
    seen.push_back(mask.scattered() ? static_cast<std::int64_t>(keys_of(mask, query, keys).size())
                                    : mask.columns({query, query + 1}, keys).size());
  }
  const std::int64_t most = *std::ranges::max_element(seen);
  const std::int64_t least = std::max<std::int64_t>(std::min(options.least_keys, most / 2), 1);
  std::vector<std::int64_t> enough;
  double cells = 0;
  for (std::int64_t query = 0; query < length; ++query) {
    if (seen[index(query)] > least) {
      enough.push_back(query);
      cells += split.cells(seen[index(query)]);
    }
  }
  const auto count = static_cast<std::int64_t>(enough.size());
  std::int64_t wanted = options.queries > 0 ? std::min(options.queries, count) : count;
  if (cells > 0 && count > 0) {
    const double each = cells / static_cast<double>(count);
    wanted = std::min(wanted,
                      std::max<std::int64_t>(static_cast<std::int64_t>(std::min(options.cells, kMaxCells) / each), 1));
  }
  std::vector<std::int64_t> chosen;
  for (const std::int64_t n : sample_rows({0, count}, wanted, options.seed)) {
    chosen.push_back(enough[index(n)]);
  }
  return chosen;
}

// Heads whose weights fit a block.
std::vector<Range> head_groups(const AddressingSource& source, std::size_t queries) {
  const std::int64_t heads = source.field.source().heads();
  const auto rows = static_cast<std::int64_t>(std::clamp<std::size_t>(queries, 1, kBlockQueries));
  const std::int64_t most = std::max<std::int64_t>(kBlockCells / (rows * source.field.source().keys()), 1);
  std::vector<Range> groups;
  for (std::int64_t begin = 0; begin < heads; begin += most) {
    groups.push_back({begin, std::min(begin + most, heads)});
  }
  return groups;
}

// Visits the queries of a group of heads, block by block.
Status for_each_block(const AddressingSource& source, const std::vector<std::int64_t>& queries, Range heads,
                      CellWeights weights, const std::function<Status(const QueryBlock&)>& visit) {
  for (std::size_t begin = 0; begin < queries.size(); begin += kBlockQueries) {
    const std::size_t end = std::min(begin + kBlockQueries, queries.size());
    const auto first = queries.begin() + static_cast<std::ptrdiff_t>(begin);
    LOCUS_TRY(const QueryBlock block,
              query_block(source, {first, queries.begin() + static_cast<std::ptrdiff_t>(end)}, heads, weights));
    LOCUS_CHECK(visit(block));
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> keys_of(const attention::Mask& mask, std::int64_t query, std::int64_t keys) {
  const Range seen = mask.columns({query, query + 1}, keys);
  std::vector<std::int64_t> list;
  for (std::int64_t key = seen.begin; key < seen.end; ++key) {
    if (!mask.scattered() || mask.visible(query, key)) {
      list.push_back(key);
    }
  }
  return list;
}

double variance_of(const QueryParts& parts, std::size_t query) {
  return parts.place[query] + parts.word[query] + parts.both[query];
}

at::Tensor weighted_variance(const at::Tensor& weights, const at::Tensor& values) {
  const at::Tensor p = weights.contiguous();
  const at::Tensor x = values.contiguous();
  const std::int64_t keys = p.size(1);
  at::Tensor variance = at::empty({p.size(0)}, at::kDouble);
  at::parallel_for(0, p.size(0), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const double* const own = p.data_ptr<double>() + n * keys;
      const double* const value = x.data_ptr<double>() + n * keys;
      const double mean = std::inner_product(own, own + keys, value, 0.0);
      variance.data_ptr<double>()[n] =
          std::inner_product(own, own + keys, value, 0.0, std::plus<>(),
                             [mean](double weight, double at) { return weight * (at - mean) * (at - mean); });
    }
  });
  return variance;
}

namespace {

// p of one row: `share` of it as it attends, the rest alike for each of the `seen` keys.
void weigh_row(const float* attention, const bool* hidden, std::int64_t keys, double share, double* p) {
  double seen = 0;
  double sum = 0;
  for (std::int64_t key = 0; key < keys; ++key) {
    seen += hidden[key] ? 0 : 1;
    sum += attention == nullptr || hidden[key] ? 0 : static_cast<double>(attention[key]);
  }
  const double attended = sum > 0 ? share : 0;  // a row that a sink takes whole has none
  for (std::int64_t key = 0; key < keys; ++key) {
    const double own = attended > 0 && !hidden[key] ? attended * static_cast<double>(attention[key]) / sum : 0;
    p[key] = hidden[key] ? 0 : own + (1 - attended) / seen;
  }
}

}  // namespace

namespace {

// (h, Q, K) the weights with which queries attend.
Result<at::Tensor> attention_rows(const attention::ScoreField& field, const std::vector<std::int64_t>& queries,
                                  Range heads, Range keys) {
  const attention::ScoreSource& scores = field.source();
  const attention::ComputedScores* const computed = scores.computed();
  const auto fused = computed != nullptr ? computed->fused(field.mask()) : nullptr;
  if (fused == nullptr) {
    LOCUS_TRY(const at::Tensor rows, queried_rows(queries, 1, [&](Range rows) -> Result<at::Tensor> {
                at::Tensor carry;
                return scores.scores(attention::Quantity::kWeight, heads, rows, keys, carry);
              }));
    return rows.to(at::kCPU, at::kFloat).contiguous();
  }
  std::vector<std::int64_t> columns(index(keys.size()));
  std::iota(columns.begin(), columns.end(), keys.begin);
  at::Tensor rows = at::empty({heads.size(), std::ssize(queries), keys.size()}, at::kFloat);
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    Field field = Field::zeros(std::ssize(queries), keys.size());
    LOCUS_CHECK(fused->sample({attention::Quantity::kWeight, head, {}, {}}, queries, columns, field, {}));
    std::ranges::copy(field.values, rows.data_ptr<float>() + (head - heads.begin) * std::ssize(field.values));
  }
  return rows;
}

}  // namespace

Result<QueryBlock> query_block(const AddressingSource& source, std::vector<std::int64_t> queries, Range heads,
                               CellWeights weights) {
  const attention::Mask& mask = source.field.mask();
  const attention::ScoreSource& scores = source.field.source();
  QueryBlock block;
  block.keys = mask.columns({queries.front(), queries.back() + 1}, scores.keys());
  LOCUS_TRY(const at::Tensor hidden, queried_rows(queries, 0, [&](Range rows) -> Result<at::Tensor> {
              return mask.hidden(rows, block.keys, at::kCPU);
            }));
  block.queries = std::move(queries);
  at::Tensor attention;
  if (weights != CellWeights::kCells) {
    LOCUS_TRY(attention, attention_rows(source.field, block.queries, heads, block.keys));
  }
  const double share = weights == CellWeights::kCells ? 0 : weights == CellWeights::kHalf ? 0.5 : 1;
  const at::Tensor rows = hidden.contiguous();
  const std::int64_t count = rows.size(0);
  const std::int64_t keys = rows.size(1);
  block.weights = at::empty({heads.size(), count, keys}, at::kDouble);
  at::parallel_for(0, heads.size() * count, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      weigh_row(attention.defined() ? attention.data_ptr<float>() + row * keys : nullptr,
                rows.data_ptr<bool>() + row % count * keys, keys, share, block.weights.data_ptr<double>() + row * keys);
    }
  });
  return block;
}

Result<Split> split_of(const AddressingSource& source, const AddressingOptions& options) {
  if (source.scores.keys() != source.scores.length()) {
    return unsupported("addressing: expected queries and keys of the same tokens, found cross-attention");
  }
  LOCUS_TRY(Split pairs, split_by_pairs(source, options.weights));
  if (pairs != nullptr) {
    return pairs;
  }
  if (dynamic_cast<const position::AddsToContent*>(&source.scores.encoding()) != nullptr) {
    return split_by_sum(source);
  }
  return split_by_contents(source, options);
}

Result<LayerAddressing> addressing_by(const AddressingSource& source, AddressingSplit& split,
                                      const AddressingOptions& options, StopToken stop) {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(check(source, options));
  const std::vector<std::int64_t> queries = chosen_queries(source, split, options);
  const std::int64_t heads = source.field.source().heads();
  LayerAddressing layer{split.way(), static_cast<std::int64_t>(queries.size()), {}};
  std::vector<HeadSums> sums(index(heads));
  for (const Range group : head_groups(source, queries.size())) {
    LOCUS_CHECK(for_each_block(source, queries, group, options.weights, [&](const QueryBlock& block) -> Status {
      LOCUS_TRY(const std::vector<QueryParts> parts, split.split(block, group, {}, stop));
      for (std::size_t n = 0; n < parts.size(); ++n) {
        sums[index(group.begin) + n].add(parts[n]);
      }
      return {};
    }));
  }
  std::ranges::transform(sums, std::back_inserter(layer.heads), &HeadSums::head);
  return layer;
}

Result<LayerAddressing> addressing(const AddressingSource& source, const AddressingOptions& options, StopToken stop) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const Split split, split_of(source, options));
  return addressing_by(source, *split, options, std::move(stop));
}

Result<AddressingSpectrum> addressing_spectrum(const AddressingSource& source, std::int64_t head,
                                               const AddressingOptions& options, StopToken stop) {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(check(source, options));
  LOCUS_CHECK(check_head(source, head));
  AddressingSpectrum spectrum;
  LOCUS_TRY(spectrum.pairs, pair_list({source.scores, source.field.mask()}, head));
  LOCUS_TRY(const Split split, split_by_pairs(source, options.weights));
  if (split == nullptr) {
    return unsupported("the pairs of encoding " + source.scores.encoding().description().name +
                       " are no planes that turn with the position alone");
  }
  const Range own{head, head + 1};
  const std::vector<std::int64_t> queries = chosen_queries(source, *split, options);
  HeadSums sums;
  LOCUS_CHECK(for_each_block(source, queries, own, options.weights, [&](const QueryBlock& block) -> Status {
    LOCUS_TRY(const std::vector<QueryParts> parts, split->split(block, own, {.rows = true}, stop));
    sums.add(parts.front());
    return {};
  }));
  const auto means = [&](const std::vector<double>& rows) {
    std::vector<double> list;
    std::ranges::transform(rows, std::back_inserter(list), [&](double row) { return row / sums.queries; });
    return list;
  };
  spectrum.place = means(sums.place_rows);
  spectrum.word = means(sums.word_rows);
  spectrum.both = means(sums.both_rows);
  spectrum.head = sums.head();
  spectrum.queries = static_cast<std::int64_t>(queries.size());
  return spectrum;
}

Result<AddressingRow> addressing_row(const AddressingSource& source, std::int64_t head, std::int64_t query,
                                     const AddressingOptions& options, StopToken stop) {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(check(source, options));
  LOCUS_CHECK(check_head(source, head));
  const std::int64_t length = source.field.source().length();
  if (query < 0 || query >= length) {
    return bad_input("query: expected 0 to " + std::to_string(length - 1) + ", found " + std::to_string(query));
  }
  LOCUS_TRY(const Split split, split_of(source, options));
  const Range own{head, head + 1};
  LOCUS_TRY(const QueryBlock block, query_block(source, {query}, own, options.weights));
  LOCUS_TRY(const std::vector<QueryParts> all, split->split(block, own, {.effects = true}, stop));
  const QueryParts& parts = all.front();
  const position::Tile tile{source.scores.layer(), own, {query, query + 1}, block.keys};
  const at::Tensor logits = source.scores.encoding().score(source.scores.prepared(), tile).logits;
  const at::Tensor logit = logits.select(0, 0).select(0, 0).select(0, 0).to(at::kCPU, at::kDouble);
  AddressingRow row;
  row.way = split->way();
  row.keys = keys_of(source.field.mask(), query, source.field.source().keys());
  row.mean = parts.mean[0].item<double>();
  const at::Tensor place = parts.place_effect[0].contiguous();
  const at::Tensor word = parts.word_effect[0].contiguous();
  for (const std::int64_t key : row.keys) {
    const std::int64_t n = key - block.keys.begin;
    row.place.push_back(place.data_ptr<double>()[n]);
    row.word.push_back(word.data_ptr<double>()[n]);
    row.logit.push_back(logit[n].item<double>());
    row.both.push_back(row.logit.back() - row.mean - row.place.back() - row.word.back());
  }
  const double whole = variance_of(parts, 0);
  row.spread = std::sqrt(std::max(whole, 0.0));
  row.place_share = whole > 0 ? parts.place[0] / whole : kNaN;
  row.word_share = whole > 0 ? parts.word[0] / whole : kNaN;
  row.both_share = whole > 0 ? parts.both[0] / whole : kNaN;
  return row;
}

namespace {

// The scores of one query, from the table of its keys but itself and their weights.
SwapScores scores_of_swaps(const at::Tensor& table, const std::vector<double>& weights, double temperature) {
  const auto count = static_cast<std::int64_t>(weights.size());
  const double* const cell = table.data_ptr<double>();
  const auto at = [&](std::int64_t place, std::int64_t content) { return cell[place * count + content]; };
  double largest = 0;
  for (const double a : weights) {
    for (const double b : weights) {
      largest = std::max(largest, std::abs(a - b));
    }
  }
  double sum = 0;
  SwapScores scores;
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t c = j + 1; c < count; ++c) {
      const double weight = std::exp((std::abs(weights[index(j)] - weights[index(c)]) - largest) / temperature);
      if (weight < kNothing) {
        continue;
      }
      // Only the ratio of two weights matters to an angle: those of the logits, less the larger one.
      const auto ratio = [](double first, double second) {
        const double most = std::max(first, second);
        return std::pair(std::exp(first - most), std::exp(second - most));
      };
      const auto [x, y] = ratio(at(j, j), at(c, c));
      const auto [u, v] = ratio(at(j, c), at(c, j));
      const double norms = std::sqrt((x * x + y * y) * (u * u + v * v));
      scores.positional += weight * (x * u + y * v) / norms;
      scores.symbolic += weight * (y * u + x * v) / norms;
      sum += weight;
    }
  }
  return {scores.positional / sum, scores.symbolic / sum};
}

}  // namespace

Result<std::vector<SwapScores>> swap_scores(const AddressingSource& source, double temperature,
                                            const AddressingOptions& options, StopToken stop) {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(check(source, options));
  if (!(temperature > 0)) {
    return bad_input("temperature: expected a number above 0, found " + general_text(temperature, 6));
  }
  LOCUS_TRY(const Split split, split_of(source, options));
  const std::vector<std::int64_t> queries = chosen_queries(source, *split, options);
  std::vector<SwapScores> all;
  for (std::int64_t head = 0; head < source.field.source().heads(); ++head) {
    SwapScores sums;
    double swapped = 0;  // queries with two keys to swap
    for (const std::int64_t query : queries) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      std::vector<std::int64_t> keys = keys_of(source.field.mask(), query, source.field.source().keys());
      std::erase(keys, query);
      if (keys.size() < 2) {
        continue;
      }
      LOCUS_TRY(const QueryBlock block, query_block(source, {query}, {head, head + 1}, CellWeights::kAttention));
      const double* const row = block.weights.data_ptr<double>();
      std::vector<double> weights;
      std::ranges::transform(keys, std::back_inserter(weights),
                             [&](std::int64_t key) { return row[key - block.keys.begin]; });
      LOCUS_TRY(const at::Tensor table, split->table(head, query, keys));
      const SwapScores own = scores_of_swaps(table.contiguous(), weights, temperature);
      sums.positional += own.positional;
      sums.symbolic += own.symbolic;
      ++swapped;
    }
    all.push_back(swapped > 0 ? SwapScores{sums.positional / swapped, sums.symbolic / swapped}
                              : SwapScores{kNaN, kNaN});
  }
  return all;
}

}  // namespace locus::analysis
