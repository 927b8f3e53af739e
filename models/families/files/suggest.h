// Drafts of family files for a checkpoint that no family reads: the nearest families, and what differs from them as far
// as names, fields and shapes show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "models/families/files/file_draft.h"

namespace locus::families {

// A draft, and what it leaves unexplained.
struct Suggestion {
  FileDraft draft;
  std::vector<std::string> absent;    // parameters without a tensor of their shape, by pattern
  std::vector<std::string> leftover;  // tensors that no parameter uses, by pattern
  std::vector<std::string> unread;    // fields that are settled or ignored without being understood
  std::vector<std::string> guessed;   // rows by the words of their names alone
  std::optional<Error> error;         // why the configuration cannot be read with it
  double cost = 0;                    // a measure of all this

  // Whether the checkpoint opens with it.
  bool opens() const { return !error && absent.empty() && leftover.empty(); }
};

// Drafts from the nearest families, the best first; at least one, which reads the configuration. Errors: kBadInput for a checkpoint without config.json
// or model_type, or one that a family reads, or a configuration that no draft reads; kUnsupported for quantised
// weights; kCancelled.
Result<std::vector<Suggestion>> suggest(const CheckpointFiles& checkpoint, const StopToken& stop);

// The draft with each single change in what fields, names and shapes do not say, as far as the checkpoint still opens,
// all its fields included.
std::vector<FileDraft> hidden_changes(const CheckpointFiles& checkpoint, const FileDraft& draft);

}  // namespace locus::families
