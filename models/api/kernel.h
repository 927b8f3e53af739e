// A head's preference by distance from its weights alone, before any text; no ATen type appears here. What each number
// means stands in core/analysis/kernel.h.
//
// Letters: V tokens of the vocabulary, N the largest distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/analysis/kernel.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct KernelRequest {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t reach = 4096;  // N; less where the encoding has no such positions, or no query of the layer sees so far
  std::int64_t sample = 0;    // tokens that are read of a vocabulary of more than four times as many; 0: every token

  friend bool operator==(const KernelRequest&, const KernelRequest&) = default;
};

struct HeadKernel : analysis::Kernel {
  std::int64_t reach = 0;       // N, as it was possible
  std::int64_t tokens = 0;      // that were read
  std::int64_t vocabulary = 0;  // V
  bool shortened = false;       // the encoding has no positions up to the N that was asked for
  bool windowed = false;        // the layer's window or chunk ends before that N
  // Layer 0 reads the embeddings themselves. Deeper layers read what the layers before made of them: their kernel is an
  // approximation, of a stream to which no layer has added anything.
  bool exact = true;
};

// The head's kernel with the embeddings of all V tokens or of a sample at equal steps of their ids, the layer's norm and
// its projections; `trace` says which side of an encoder–decoder is meant. Without the edits of the run. Errors:
// kUnsupported for models of images, traces of files, encodings that depend on the text, and positions that enter before
// two norms or a norm of queries; kBadInput for a layer or head that does not exist; kCancelled.
Result<HeadKernel> head_kernel(const Model& model, const Trace& trace, const KernelRequest& request,
                               StopToken stop = {}, const Progress& progress = {});

struct TokenPair {
  std::int64_t query = 0;  // ids
  std::int64_t key = 0;
  std::string query_label;
  std::string key_label;
  double logit = 0;
};

// The `count` pairs of tokens whose logit is largest where the key stands `distance` before the query, which is at
// position N: of all V × V, in blocks. O(V²·D) time, O(V·D) memory. Errors: head_kernel()'s; kBadInput for a distance
// that is not within 0 … N.
Result<std::vector<TokenPair>> strongest_token_pairs(const Model& model, const Trace& trace,
                                                     const KernelRequest& request, std::int64_t distance,
                                                     std::int64_t count = 20, StopToken stop = {},
                                                     const Progress& progress = {});

}  // namespace locus::models
