// Task: the data of a small model. A task makes batches of token sequences and marks the next tokens that count;
// training, evaluation and the command line use only this interface.
//
// Letters: B sequences or images, T tokens.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/api/train.h"
#include "models/training/random.h"
#include "models/transformer/connector.h"
#include "models/transformer/spec.h"

namespace locus::training {

constexpr std::int64_t kIgnored = -100;  // a target that loss and metrics ignore

// Text: (B, T) int64 each, the tokens and their next tokens (or kIgnored). Images: normalised pixels and (B, 1)
// classes. Texts with pictures: ids, targets and pixels, one picture per sequence, with placeholders at the same tokens
// of all sequences.
struct Examples {
  at::Tensor ids;
  at::Tensor targets;
  at::Tensor pixels;  // (B, channels, height, width) float32

  std::int64_t size() const { return targets.size(0); }
  Examples slice(std::int64_t begin, std::int64_t end) const;
};

// The vision part for a task of texts with pictures.
struct Sight {
  transformer::Spec tower;  // an image model without head
  transformer::ConnectorSpec connector;
  std::int64_t placeholder = 0;  // the placeholder token of a picture's vectors
};

// The metric of a split.
enum class Metric {
  kBitsPerByte,  // mean −log2 p of the counted targets
  kError,        // share of sequences with at least one counted target that is not the most likely token
};
std::string_view metric_name(Metric metric);

// A table of the metric by two numbers (addition: the lengths of the operands); empty: none.
struct TaskMap {
  std::string row_label;
  std::string column_label;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
};

class Task {
 public:
  virtual ~Task() = default;

  // Number of tokens, or of classes of images.
  virtual std::int64_t vocabulary() const = 0;
  // T of training sequences; for images the patches and one class token.
  virtual std::int64_t length() const = 0;
  // The stem for training images; patch 0 for text.
  virtual transformer::ImageStem image() const { return {}; }
  // The vision part for the pictures of a text whose vectors have `width` channels; none without pictures.
  virtual std::optional<Sight> sight(std::int64_t /*width*/) const { return std::nullopt; }
  // The classes' names; empty for text.
  virtual std::vector<std::string> labels() const { return {}; }
  virtual Metric metric() const = 0;

  // B training sequences; depend only on the stream.
  virtual Examples training_examples(Random& random, std::int64_t count) const = 0;

  // "in", then the splits out of distribution.
  virtual std::vector<std::string> splits() const = 0;
  // Sequences [first, first + count) of a split; fewer at its end, none beyond it. Batches of one split may have
  // different T. They depend only on (split, seed, first), and are disjoint from the training streams.
  virtual Examples evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                                       std::int64_t count) const = 0;
  // Default number of sequences of a split.
  virtual std::int64_t evaluation_count(std::size_t split) const = 0;

  // Sequences for the error of one cell of the map: rows[r] and columns[c].
  virtual TaskMap map() const { return {}; }
  virtual Examples map_examples(std::size_t /*row*/, std::size_t /*column*/, std::uint64_t /*seed*/,
                                std::int64_t /*count*/) const {
    return {};
  }
  // Mean bytes of text per counted target over a split: bits per byte are bits per target divided by it.
  virtual double bytes_per_target(std::size_t /*split*/) const { return 1; }

  // Writes the files that checkpoints of this task need to read input: the tokenizer, or preprocessor_config.json.
  virtual Status write_input_files(const std::filesystem::path& folder) const = 0;
  // Title, bytes and SHA-256 of the task's data, as JSON text; "[]" for generated data.
  virtual std::string data_json() const { return "[]"; }
};

// The options of a task.
struct TaskRequest {
  Settings options;
  std::int64_t length = 0;  // 0: the task's default
  std::vector<CorpusFile> corpus;
  std::vector<CorpusFile> validate;
  std::filesystem::path
      tokenizer_folder;  // task text: file of the tokenizer; empty: bytes, or a BPE trained on the corpus
  bool training = true;  // false: only the evaluation splits are needed
};

struct TaskEntry {
  std::string name;  // in training::tasks()
  Result<std::unique_ptr<Task>> (*make)(const TaskRequest& request);
};

// The list of all tasks. To add one: its file in tasks/, its line in task_list.h, one in task.cpp, and its text in
// models/api/tasks.cpp.
const std::vector<TaskEntry>& task_list();
Result<std::unique_ptr<Task>> make_task(const std::string& name, const TaskRequest& request);
// The same for typed options: one that the task does not have is a usage error.
Result<std::unique_ptr<Task>> typed_task(const std::string& name, const TaskRequest& request, const Settings& typed);

}  // namespace locus::training
