// Steps from the states of a text to one vector, as folders of sentence-transformers store them: pooling, dense layers,
// normalisation.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/plan.h"

namespace locus::models {

// How the states (T, C) of a text become one vector.
enum class Pooling { kFirst, kMax, kMean, kMeanRoot, kWeightedMean, kLast };

// The vectors of several poolings stand one after another.
struct PoolStep {
  std::vector<Pooling> modes;
};
// activation(weight x + bias).
struct DenseStep {
  at::Tensor weight;  // (outputs, inputs)
  at::Tensor bias;    // (outputs); undefined: none
  std::string activation;
};
// x / |x|.
struct NormaliseStep {};
// The state of a text's end token: the first with this id, or, of CLIP's first files, the first with the largest id (-1).
// A text without one has no vector.
struct EndTokenStep {
  std::int64_t id = -1;
};
// (x − mean) / √(variance + eps) · weight + bias.
struct LayerNormStep {
  at::Tensor weight, bias;  // (C)
  double eps = 1e-5;
};
// A learned query attends to the states (SigLIP): y = attention, then y + down activation(up norm(y)).
struct ProbeStep {
  at::Tensor probe;  // (C)
  DenseStep query, key, value, output, up, down;
  LayerNormStep norm;
  std::int64_t heads = 1;
  transformer::Activation activation = transformer::Activation::kGeluTanh;
};

class SentenceSteps {
 public:
  using Step = std::variant<PoolStep, DenseStep, NormaliseStep, EndTokenStep, LayerNormStep, ProbeStep>;

  // The steps that modules.json of this folder lists behind the transformer, whose states have `width` channels.
  // Errors: kBadInput naming file, field, expected and found; kUnsupported for modules of other kinds.
  static Result<SentenceSteps> read(const std::filesystem::path& folder, std::int64_t width);

  explicit SentenceSteps(std::vector<Step> steps = {}) : steps_(std::move(steps)) {}

  // "mean over the tokens", "dense 384, tanh", "scaled to length 1".
  std::vector<std::string> text() const;
  // The vector of states (T, C) of a text with these ids (T), which an EndTokenStep reads, and the weight of each token in
  // what was pooled.
  SentenceVector vector(const at::Tensor& states, const at::Tensor& ids = {}) const;

 private:
  std::vector<Step> steps_;
};

// The values of a step's tensor, of this shape. Errors: kBadInput for a missing tensor and for another shape, naming the
// tensor, expected and found; kUnsupported for values in blocks.
Result<at::Tensor> step_tensor(const formats::Source& source, const std::string& name,
                               const std::vector<std::int64_t>& shape, const std::filesystem::path& where);

// Whether the folder holds a sentence-transformers model: a file modules.json.
bool has_sentence_steps(const std::filesystem::path& folder);

// The folder of the transformer that modules.json names. Errors: those of SentenceSteps::read().
Result<std::filesystem::path> sentence_transformer_folder(const std::filesystem::path& folder);

// Warnings: a prompt that sentence-transformers puts in front of every text, a length at which it cuts texts.
std::vector<std::string> sentence_warnings(const std::filesystem::path& folder);

}  // namespace locus::models
