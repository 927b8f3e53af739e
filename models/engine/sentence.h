// Steps from the states of a text to one vector, as folders of sentence-transformers store them: pooling, dense layers,
// normalisation.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
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

class SentenceSteps {
 public:
  using Step = std::variant<PoolStep, DenseStep, NormaliseStep>;

  // The steps that modules.json of this folder lists behind the transformer, whose states have `width` channels.
  // Errors: kBadInput naming file, field, expected and found; kUnsupported for modules of other kinds.
  static Result<SentenceSteps> read(const std::filesystem::path& folder, std::int64_t width);

  // "mean over the tokens", "dense 384, tanh", "scaled to length 1".
  std::vector<std::string> text() const;
  // The vector of states (T, C), and the weight of each token in what was pooled.
  SentenceVector vector(const at::Tensor& states) const;

 private:
  std::vector<Step> steps_;
};

// Whether the folder holds a sentence-transformers model: a file modules.json.
bool has_sentence_steps(const std::filesystem::path& folder);

// The folder of the transformer that modules.json names. Errors: those of SentenceSteps::read().
Result<std::filesystem::path> sentence_transformer_folder(const std::filesystem::path& folder);

// Warnings: a prompt that sentence-transformers puts in front of every text, a length at which it cuts texts.
std::vector<std::string> sentence_warnings(const std::filesystem::path& folder);

}  // namespace locus::models
