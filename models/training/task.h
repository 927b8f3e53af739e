// Task: what a small model is trained on. A task makes batches of token sequences and says which of the next tokens
// count; training, evaluation and the command line know nothing else of it.
//
// Letters: B sequences, T tokens.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/train.h"
#include "models/training/random.h"

namespace locus::training {

constexpr std::int64_t kIgnored = -100;  // a target that no loss and no metric counts

// (B, T) int64 each: the tokens, and for each the one that follows (or kIgnored).
struct Examples {
  at::Tensor ids;
  at::Tensor targets;
};

// What a split's metric is made of.
enum class Metric {
  kBitsPerByte,  // mean −log2 p of the counted targets
  kError,        // share of sequences with at least one counted target that is not the most likely token
};
std::string_view metric_name(Metric metric);

class Task {
 public:
  virtual ~Task() = default;

  virtual std::int64_t vocabulary() const = 0;
  // T of training sequences.
  virtual std::int64_t length() const = 0;
  virtual Metric metric() const = 0;

  // B training sequences; a function of the stream alone.
  virtual Examples training_examples(Random& random, std::int64_t count) const = 0;

  // "in", then those out of distribution.
  virtual std::vector<std::string> splits() const = 0;
  // Sequences [first, first + count) of a split; fewer at its end, none beyond it. Batches of one split may have
  // different T. A function of (split, seed, first) alone, and disjoint from the training streams.
  virtual Examples evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                                       std::int64_t count) const = 0;
  // How many sequences a split has when nothing else is asked.
  virtual std::int64_t evaluation_count(std::size_t split) const = 0;

  // The tokenizer files of checkpoints trained on it.
  virtual Status write_tokenizer(const std::filesystem::path& folder) const = 0;
  // Title, bytes and SHA-256 of the data it reads, as JSON text; "[]" for generated data.
  virtual std::string data_json() const { return "[]"; }
};

// What a task is made from.
struct TaskRequest {
  Settings options;
  std::int64_t length = 0;  // 0: the task's own
  std::vector<CorpusFile> corpus;
  std::vector<CorpusFile> validate;
  bool training = true;  // false: only the evaluation splits are needed
};

struct TaskEntry {
  TaskInfo info;
  Result<std::unique_ptr<Task>> (*make)(const TaskRequest& request);
};

// The one list of tasks. To add one: its file in tasks/, and one line in task.cpp.
const std::vector<TaskEntry>& task_list();
Result<std::unique_ptr<Task>> make_task(const std::string& name, const TaskRequest& request);

}  // namespace locus::training
