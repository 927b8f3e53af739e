// Models, random inputs, forward passes, heads and trace files that several groups of the benchmark share.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/attention/score_field.h"
#include "core/base/result.h"
#include "models/transformer/transformer.h"

namespace locus::bench {

using namespace models;

// GPT-2-small's shape, positions up to `length`; with `quick` two layers of it and a tenth of its vocabulary.
transformer::Spec gpt2_small(std::int64_t length, bool quick);
// A Llama of 1.2 billion parameters, as Llama 3.2 1B has them; a small one of the same kind for quick runs.
transformer::Spec billion_llama(bool quick, transformer::QkvLayout qkv);

template <class Value>
Status status_of(const Result<Value>& value) {
  return value.ok() ? Status() : Status(value.error());
}

// (1, length) random tokens of the model.
at::Tensor random_ids(const transformer::Transformer& model, std::int64_t length);

// A forward pass over so many random tokens.
Status observe_random(const transformer::Transformer& model, std::int64_t length);
// A run over so many random tokens, to be continued.
Result<transformer::ReusedTokens> begin_run(const transformer::Transformer& model, std::int64_t length);
// Continues it by one random token.
Status append_token(const transformer::Transformer& model, transformer::ReusedTokens& reused);

constexpr std::int64_t kBenchWidth = 64;  // of a random head

// Causal scores of random queries, keys and parameters of this encoding, whose rows are summed as they are looked at.
Result<std::shared_ptr<const attention::ScoreField>> random_heads(const std::string& encoding, std::int64_t heads,
                                                                  std::int64_t length);

// `measure` with a trace of one random head in a temporary file.
Status with_trace_file(const std::string& encoding, std::int64_t length,
                       const std::function<Status(const std::filesystem::path& path)>& measure);

}  // namespace locus::bench
