// Rates of work on a device of this machine, from which a run's time is estimated. Nothing of the model runs for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "models/transformer/transformer.h"

namespace locus::models {

// In milliseconds.
struct Throughput {
  double product = 0;         // a multiply-accumulate of a layer's products
  std::vector<double> cells;  // a cell of one head's map, from score to value, by encoding of the model
};

// Products are timed once a process, by some milliseconds of one, and of a fast one for models that have these; cells where the model's weights are there, by
// attention over a few hundred tokens of random numbers with each of its encodings, 50 ms at most together. Without
// weights, or where an encoding cannot take such tokens, a cell has the time of its products.
Throughput measure_throughput(const transformer::Transformer& model, bool has_weights, const at::Device& device);

// Time of so many multiply-accumulates of products, in milliseconds.
double products_ms(double macs, const at::Device& device);

// Time of observe() over `length` tokens at this throughput, in milliseconds.
double run_ms(const transformer::Transformer& model, const Throughput& throughput, std::int64_t length,
              bool all_logits);

// The throughput of a model, measured once, so that estimates of the same text agree: as its weights are there and a
// run is asked for that may be long.
class CachedThroughput {
 public:
  // run_ms() of the model that it is kept for.
  double run_ms(const transformer::Transformer& model, bool has_weights, std::int64_t length, bool all_logits,
                const at::Device& device);

 private:
  std::mutex mutex_;
  std::optional<Throughput> throughput_;
};

}  // namespace locus::models
