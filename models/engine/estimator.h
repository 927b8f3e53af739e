// Estimator: what a run needs, before it starts: memory from shapes, time from multiply-accumulates and the machine's
// throughput.
#pragma once

#include <cstdint>

#include "models/engine/checkpoint.h"

namespace locus::models {

struct TextImages;

// Bytes that a run needs beside the weights: what the trace keeps, with maps that are written, and the widest moment of
// one layer.
struct RunBytes {
  double kept = 0;
  double working = 0;

  double all() const { return kept + working; }
};
RunBytes run_bytes(const transformer::Transformer& model, std::int64_t length, const RunOptions& options);

class Estimator {
 public:
  explicit Estimator(const Checkpoint& checkpoint) : checkpoint_(checkpoint), parts_(checkpoint.parts()) {}

  // Multiply-accumulates of a forward pass over `length` tokens, of both sides of an encoder–decoder.
  double macs(std::int64_t length) const;
  // A run over `length` tokens.
  Estimate estimate(std::int64_t length, const RunOptions& options) const;
  // Time and memory that tower and connector take for the input's pictures that are not kept; see pictures_estimate().
  Estimate pictures(const Input& input, const RunOptions& options) const;
  // kTooLarge where a run over `length` tokens does not fit, with what would.
  Status check_memory(std::int64_t length, const RunOptions& options, const TextImages* pictures = nullptr) const;

 private:
  // Needs of the tower for pictures.
  double picture_mb(const TextImages& pictures, const RunOptions& options) const;

  const Checkpoint& checkpoint_;
  const CheckpointParts& parts_;
};

}  // namespace locus::models
