// The mean norm of each pair: one pass over queries and keys, token by token, so that each number is read once.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/analysis/pair_layer.h"
#include "core/analysis/pairs.h"
#include "core/attention/tasks.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kEnergyBlock = 256;  // tokens

// Pairs whose two channels both move on by `step` from one pair to the next: a loop over memory.
struct PairRun {
  std::int64_t row = 0;
  std::int64_t count = 1;
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::int64_t step = 1;
};

struct PairRuns {
  explicit PairRuns(const PairLayer& layer);

  std::vector<PairRun> runs;
  std::vector<std::int64_t> others;  // rows of one channel, or of many
};

PairRuns::PairRuns(const PairLayer& layer) {
  for (std::int64_t row = 0; row < layer.rows(); ++row) {
    const std::vector<std::int64_t>& channels = layer.channels(row);
    if (channels.size() != 2) {
      others.push_back(row);
      continue;
    }
    if (!runs.empty()) {
      PairRun& run = runs.back();
      const std::int64_t step = run.count == 1 ? channels[0] - run.first : run.step;
      const bool next = row == run.row + run.count && (step == 1 || step == 2) &&
                        channels[0] == run.first + run.count * step && channels[1] == run.second + run.count * step;
      if (next) {
        run.step = step;
        ++run.count;
        continue;
      }
    }
    runs.push_back({row, 1, channels[0], channels[1], 1});
  }
}

template <int step>
void run_norms(const float* first, const float* second, std::int64_t count, float* norms) {
  for (std::int64_t n = 0; n < count; ++n) {
    const float a = first[n * step];
    const float b = second[n * step];
    norms[n] = std::sqrt(a * a + b * b);
  }
}

// The norms of one token's rows.
void norms_of(const PairLayer& layer, const PairRuns& rows, const float* token, float* norms) {
  for (const PairRun& run : rows.runs) {
    const auto norms_of_run = run.step == 1 ? run_norms<1> : run_norms<2>;
    norms_of_run(token + run.first, token + run.second, run.count, norms + run.row);
  }
  for (const std::int64_t row : rows.others) {
    float square = 0;
    for (const std::int64_t channel : layer.channels(row)) {
      square += token[channel] * token[channel];
    }
    norms[row] = std::sqrt(square);
  }
}

// One thread's norms of a block of tokens.
struct BlockNorms {
  std::vector<float> query, key;
};

// Whether a caller asks for each of the three norms, in the order of PairNorm.
using Norms = std::array<bool, 3>;
bool has(const Norms& norms, PairNorm norm) {
  return norms[static_cast<std::size_t>(norm)];
}

// sums[row] += query[row] · key[row]; a missing factor is 1.
void add_norms(const float* query, const float* key, std::int64_t rows, double* sums) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const double left = query == nullptr ? 1.0 : static_cast<double>(query[row]);
    sums[row] += key == nullptr ? left : left * static_cast<double>(key[row]);
  }
}

// Adds to sums (3, H, rows) what one block of tokens gives to the heads that share a key head.
void add_block(const PairLayer& layer, const PairRuns& runs, const Norms& norms, std::int64_t key_head, Range tokens,
               BlockNorms& with, double* sums) {
  const std::int64_t width = layer.query.size(2);
  const std::int64_t rows = layer.rows();
  const bool product = has(norms, PairNorm::kProduct);
  const auto of = [&](PairNorm norm, std::int64_t head) {
    return sums + (static_cast<std::int64_t>(norm) * layer.heads + head) * rows;
  };
  with.query.resize(index(rows));
  with.key.resize(index(tokens.size() * rows));
  if (product || has(norms, PairNorm::kKey)) {
    const float* const key = layer.key_of(key_head * layer.group) + tokens.begin * width;
    for (std::int64_t t = 0; t < tokens.size(); ++t) {
      norms_of(layer, runs, key + t * width, with.key.data() + t * rows);
    }
  }
  for (std::int64_t head = key_head * layer.group; head < (key_head + 1) * layer.group; ++head) {
    const float* const query = layer.query_of(head) + tokens.begin * width;
    for (std::int64_t t = 0; t < tokens.size(); ++t) {
      const float* const key = with.key.data() + t * rows;
      if (product || has(norms, PairNorm::kQuery)) {
        norms_of(layer, runs, query + t * width, with.query.data());
      }
      if (has(norms, PairNorm::kQuery)) {
        add_norms(with.query.data(), nullptr, rows, of(PairNorm::kQuery, head));
      }
      if (has(norms, PairNorm::kKey)) {
        add_norms(nullptr, key, rows, of(PairNorm::kKey, head));
      }
      if (product) {
        add_norms(with.query.data(), key, rows, of(PairNorm::kProduct, head));
      }
    }
  }
}

// The fields of `norms`; the others stay empty.
Result<PairEnergies> energies(const PairSource& source, const Norms& norms, const StopToken& stop) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const PairLayer layer, PairLayer::of(source));
  const PairRuns rows(layer);
  const std::int64_t key_heads = layer.heads / layer.group;
  const std::int64_t blocks = (layer.length + kEnergyBlock - 1) / kEnergyBlock;
  // Each run of blocks sums for itself, in an order that no number of threads changes.
  const std::int64_t runs = std::min<std::int64_t>(blocks, 16);
  const std::int64_t entries = layer.heads * layer.rows();
  const std::int64_t each = std::ssize(norms) * entries;
  std::vector<double> sums(index(runs * each), 0.0);
  LOCUS_CHECK(attention::run_tasks<BlockNorms>(runs * key_heads, stop, [&](std::int64_t task, BlockNorms& with) {
    const std::int64_t run = task / key_heads;
    for (std::int64_t block = blocks * run / runs; block < blocks * (run + 1) / runs; ++block) {
      const Range tokens{block * kEnergyBlock, std::min((block + 1) * kEnergyBlock, layer.length)};
      add_block(layer, rows, norms, task % key_heads, tokens, with, sums.data() + run * each);
    }
  }));
  PairEnergies fields;
  for (std::size_t norm = 0; norm < norms.size(); ++norm) {
    if (!norms[norm]) {
      continue;
    }
    Field& field = fields[norm] = Field::zeros(layer.heads, layer.rows());
    field.row_axis.name = "head";
    field.column_axis.name = "pair";
    field.quantity = "mean norm";
    for (std::int64_t n = 0; n < entries; ++n) {
      double sum = 0;
      for (std::int64_t run = 0; run < runs; ++run) {
        sum += sums[index(run * each + static_cast<std::int64_t>(norm) * entries + n)];
      }
      field.values[index(n)] = static_cast<float>(sum / static_cast<double>(layer.length));
    }
  }
  return fields;
}

}  // namespace

Result<Field> pair_energy(const PairSource& source, PairNorm norm, StopToken stop) {
  Norms norms{};
  norms[static_cast<std::size_t>(norm)] = true;
  LOCUS_TRY(PairEnergies fields, energies(source, norms, stop));
  return std::move(fields[static_cast<std::size_t>(norm)]);
}

Result<PairEnergies> pair_energies(const PairSource& source, StopToken stop) {
  return energies(source, {true, true, true}, stop);
}

}  // namespace locus::analysis
