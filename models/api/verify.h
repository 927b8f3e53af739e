// verify(): does what Locus shows explain what the model says? The logits are computed once more with the attention
// maps of the trace in place of the model's own soft-max, and compared; a trace of another program is compared
// likewise.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct VerifyRow {
  std::string name;  // "logits from the shown attention", "layers.3.attention"
  // The largest |a − b| / (1 + |b|), where |b| of logits and states is at least the root mean square of their token's;
  // infinite when one side is not finite.
  double difference = 0;
  double tolerance = 0;
  bool passed = false;
};

struct VerifyReport {
  std::vector<VerifyRow> rows;        // "logits …" first, then layer by layer
  bool passed = true;                 // all of them
  std::vector<std::string> warnings;  // those of the weights that info() does not have yet
  // Where scores are too large for float32 to tell weights: why a difference is none of ours; empty: they are not.
  std::string undetermined;
  std::string verified;  // a user's family that this comparison verifies from now on; empty: none
};

// Errors: those of run(), kTooLarge for more than 4096 tokens (whole maps are made), kBadInput for a trace of another
// input.
Result<VerifyReport> verify(const Model& model, const Input& input,
                            const std::optional<std::filesystem::path>& against = std::nullopt, StopToken stop = {},
                            const Progress& progress = {});

// The same for a checkpoint folder with what a reference computes from it, `expected` (safetensors): input_ids [T] or
// pixel_values [3, H, W], logits or hidden, and layers.N.attention [H, T, T]. Of an encoder–decoder decoder_input_ids
// too, encoder.hidden, {encoder,decoder}.layers.N.attention and decoder.layers.N.cross_attention [H, decoder's T,
// encoder's T]. Rows: the outcome, then each layer.
// Errors: those of verify(); kBadInput for a file without input or without anything to compare, or for other shapes.
Result<VerifyReport> verify_expected(const Model& model, const std::filesystem::path& expected, StopToken stop = {});

}  // namespace locus::models
