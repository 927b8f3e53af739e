// The training facade: train a small model with any position encoding, and measure it. No ATen type appears here.
//
// Letters: T tokens, V vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/api/model.h"
#include "models/api/process_group.h"

namespace locus::training {

// One text of a corpus. `title` is what training.json names it by; paths are never written.
struct CorpusFile {
  std::filesystem::path path;
  std::string title;  // empty: the file's name
};

enum class Decay { kCosine, kLinear, kConstant };
Result<Decay> parse_decay(const std::string& name);

// One row of loss.csv.
struct CurvePoint {
  std::int64_t step = 0;
  double loss = 0;  // nats a token
  double learning_rate = 0;
  double validation = 0;            // NaN when not measured
  std::vector<double> splits = {};  // of TrainOptions::splits, in their order; empty when not measured
};

constexpr std::int64_t kMaxTrainSequences = 1 << 24;  // whose order is kept in memory

struct TrainOptions {
  std::string task = "text";
  Settings task_options;
  std::vector<CorpusFile> corpus;    // task text: what is learned
  std::vector<CorpusFile> validate;  // task text: what is only measured

  // The model's shape: that of a checkpoint whose weights are trained further, or of a config.json (`model_type:
  // locus`), or of the numbers below.
  std::filesystem::path from;
  bool freeze_base = false;  // with `from`: train the position encoding's parameters alone
  // With `from`: train additions of this rank to the projections of self-attention alone (LoRA), which are part of the
  // written weights; 0: none.
  std::int64_t lora = 0;
  std::filesystem::path config;

  std::string encoding;       // empty: that of `from` or `config`, otherwise rope
  Settings encoding_options;  // with an empty `encoding`: instead of those of `from` or `config`, one by one
  // Every n-th layer (n−1, 2n−1, …) has this encoding, or "none", instead; later ones win.
  std::vector<std::pair<std::int64_t, std::string>> every;
  // Windows by layer, (layer, window): a pattern as long as the last one named is deep, repeated over all layers; 0,
  // and layers that are not named: all keys.
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t width = 128;
  std::int64_t inner = 0;   // of the gated feed-forward; 0: 8/3 · width, rounded up to a multiple of 8
  std::int64_t length = 0;  // T of one training sequence; 0: the task's own (text: 256)

  std::int64_t batch = 32;          // sequences a step
  std::int64_t gradient_parts = 1;  // the batch is cut into this many forward and backward passes
  std::int64_t train_size = 0;      // different sequences to learn from, each once an epoch; 0: new ones in every step
  std::int64_t steps = 1000;
  double learning_rate = 2e-3;
  std::int64_t warmup = 100;     // steps of linear warm-up
  Decay decay = Decay::kCosine;  // from the learning rate to 0 at the last step
  double weight_decay = 0.1;     // of matrices; never of norms, embeddings and position encodings
  double clip = 1.0;             // largest norm of the gradient; 0: none
  std::uint64_t seed = 0;

  std::string device = "auto";    // as in OpenOptions
  std::int64_t threads = 0;       // sequences are spread over them; 0: one a core
  std::int64_t save_every = 200;  // steps between resumable saves and validations
  std::filesystem::path out;      // folder of the checkpoint
  // Splits of the task that are measured at every save and at the end, on their first 256 sequences at most, each a
  // column of loss.csv.
  std::vector<std::string> splits = {};
  bool resume = false;     // go on from `out`, when a save of these very options is there
  bool overwrite = false;  // replace the run or checkpoint that `out` holds
  bool keep = false;       // keep the checkpoint of every save, and of step 0, in folders stepN within `out`
  bool half = false;       // write float16 weights
  std::string command;     // recorded in training.json, free of paths
  // Processes that train together (null: this one alone): every step has `batch` sequences of each, and they come to
  // what one process would with batch × size() of them. Rank 0 alone writes.
  std::shared_ptr<models::ProcessGroup> group = {};
};

struct TrainProgress {
  std::int64_t step = 0;  // done
  std::int64_t steps = 0;
  double loss = 0;  // nats a token, of the last step
  double learning_rate = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
  std::optional<double> validation = {};  // the task's metric on its first split, when just measured
  std::string note = {};                  // said once, before the first step: a resume that begins at step 0
};
using OnProgress = std::function<void(const TrainProgress&)>;

struct TrainSummary {
  std::int64_t steps = 0;  // done, less than asked when stopped
  std::int64_t parameters = 0;
  double loss = 0;  // mean of the last steps
  double tokens_per_second = 0;
  bool stopped = false;                  // by the StopToken; the state is saved
  bool was_finished = false;             // a resume found the run done: nothing was computed or written
  std::string metric;                    // "bits_per_byte", "error"
  std::map<std::string, double> splits;  // after the last step; empty when stopped
  std::vector<CurvePoint> curve;
};

// Trains and writes a checkpoint folder: config.json (a plain `llama` one for rope, otherwise `model_type: locus`),
// model.safetensors, the tokenizer (of images preprocessor_config.json), training.json (command, seed, data by title
// and SHA-256, steps, metrics) and loss.csv. Every `save_every` steps, and when `stop` is requested, all of it and a
// resumable state are written atomically. The folder is locked meanwhile (training.lock). Errors: kUsage for options
// that make no model or task, kBadInput for files, for a folder that another training writes, for one that holds a run
// or a checkpoint unless it is resumed or overwritten, and for a resume with other options or data; kTooLarge.
Result<TrainSummary> train(const TrainOptions& options, const OnProgress& on_progress = {}, StopToken stop = {});

// The files that a training writes into its folder, whatever its task.
std::vector<std::filesystem::path> written_files(const std::filesystem::path& out);

struct EvaluateOptions {
  std::string task;
  Settings task_options;
  std::vector<CorpusFile> validate;  // task text
  std::uint64_t seed = 0;
  std::int64_t samples = 0;         // sequences a split; 0: the task's own
  std::vector<std::string> splits;  // only these; empty: all
  // Write into training.json: the first split's value as the checkpoint's `reference`, and the map as its `map`; with
  // overrides all of it as an element of `what_if`.
  bool record = false;
  std::int64_t map_samples = 0;  // sequences a cell of the task's map; 0: no map
  models::Overrides overrides;   // another RoPE base or scaling than the checkpoint's
  models::Edits edits;           // what every run does otherwise than the checkpoint says
  std::string device = "auto";   // as in OpenOptions
};

// The metric by two numbers: addition's error by the lengths of its operands.
struct EvaluationMap {
  std::string row_label;
  std::string column_label;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::int64_t samples = 0;                          // of each cell
  std::vector<double> values;                        // row by row
  std::vector<std::pair<double, double>> intervals;  // 95 %, binomial
};

// {"row": …, "rows": […], "column": …, "columns": […], "samples": n, "values": [[…]], "low": [[…]], "high": [[…]]}: as
// `locus evaluate --json` prints it and training.json keeps it. A cell that has no value is null.
std::string to_json(const EvaluationMap& map);

// Settings of the training as a checkpoint's training.json says; 0: it does not say.
struct Budget {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;  // of all steps; of images and symbols too
  std::int64_t seed = 0;
  std::int64_t other_seeds = 0;  // whose results it keeps (record_seeds())
};

// One checkpoint's row of `locus evaluate`.
struct Evaluation {
  std::string checkpoint;
  std::string encoding;
  std::string metric;
  Budget budget;
  std::vector<std::pair<std::string, double>> splits;  // in the task's order
  std::vector<std::pair<double, double>> intervals;    // 95 %, of each split
  std::vector<double> perplexities;                    // a token, of each split; empty for errors
  EvaluationMap map;                                   // without rows when not asked for, or the task has none
};

// Errors: kUsage for an unknown task or split and for `record` with edits, kBadInput when the checkpoint does not fit
// it (vocabulary).
Result<Evaluation> evaluate(const std::filesystem::path& checkpoint, const EvaluateOptions& options,
                            const Progress& progress = {}, StopToken stop = {});

// Keeps what other seeds of a training came to in `checkpoint`'s training.json, as `seeds`: [{"seed": n, "splits": …}]
// beside its own. Nothing is measured. The row's splits are the means, its intervals the least and the largest. Errors:
// kBadInput for a training.json that is missing or unfinished, for a run that differs in more than its seed or has a
// seed already met; nothing is written then.
Result<Evaluation> record_seeds(const std::filesystem::path& checkpoint,
                                const std::vector<std::filesystem::path>& others);

struct TaskInfo {
  std::string name;
  std::string summary;
  std::string paper;
  std::string metric;
  struct Option {
    std::string name;
    std::string fallback;
    std::string meaning;
  };
  std::vector<Option> options;
};
const std::vector<TaskInfo>& tasks();

}  // namespace locus::training
