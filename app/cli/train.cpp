// locus train: a small model with any position encoding, on a task.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/paint.h"
#include "app/cli/settings_text.h"
#include "app/views/shared/plots/series.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/train.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {
namespace {

constexpr double kMax = 4294967296;  // of layers, channels, steps
constexpr double kSmallestRate = 1e-12;
constexpr const char* kCurvePicture = "loss.png";

struct TrainOptions {
  training::TrainOptions train;
  std::vector<std::string> corpus;
  std::vector<std::string> validate;
  std::vector<std::string> titles;
  std::vector<std::string> encoding_options;
  std::vector<std::string> task_options;
  std::vector<std::string> every;
  std::string windows;
  std::string splits;
  std::string decay = "cosine";
  std::string dtype = "float32";
  std::string out;
  std::string from;
  std::string config;
  std::int64_t seed = 0;
};

// Each file with its title: `--title FILE=TITLE` by file name.
Result<std::vector<training::CorpusFile>> corpus_of(const std::vector<std::string>& paths,
                                                    const std::vector<std::string>& titles) {
  std::vector<training::CorpusFile> files;
  for (const std::string& path : paths) {
    training::CorpusFile file{path, {}};
    for (const std::string& title : titles) {
      const auto equal = title.find('=');
      if (equal == std::string::npos) {
        return usage("--title: expected FILE=TITLE, found " + shown(title));
      }
      if (title.substr(0, equal) == file.path.filename().string()) {
        file.title = title.substr(equal + 1);
      }
    }
    files.push_back(std::move(file));
  }
  return files;
}

// The files of a training in this folder.
std::vector<std::string> written_into(const std::string& folder) {
  std::vector<std::string> files;
  if (!folder.empty()) {
    for (const std::filesystem::path& file : training::written_files(folder)) {
      files.push_back(file.string());
    }
    files.push_back((std::filesystem::path(folder) / kCurvePicture).string());
  }
  return files;
}

// "4:none" -> 4 and "none".
Result<std::pair<std::int64_t, std::string>> numbered(const char* flag, const char* form, const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto number = parse_number<std::int64_t>(text.substr(0, colon));
  if (colon == std::string::npos || colon + 1 == text.size() || !number) {
    return usage(std::string(flag) + ": expected " + form + ", found " + shown(text));
  }
  return std::pair{*number, text.substr(colon + 1)};
}

Result<std::vector<std::pair<std::int64_t, std::string>>> every_of(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::int64_t, std::string>> every;
  for (const std::string& text : texts) {
    LOCUS_TRY(every.emplace_back(), numbered("--every", "N:ENCODING", text));
  }
  return every;
}

Result<std::vector<std::pair<std::int64_t, std::int64_t>>> windows_of(const std::string& text) {
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  for (const std::string_view part : split_terminated(text)) {
    LOCUS_TRY(const auto named, numbered("--window", "LAYER:KEYS", std::string(part)));
    const auto window = parse_number<std::int64_t>(named.second);
    if (!window) {
      return usage("--window: expected LAYER:KEYS, found " + shown(part));
    }
    windows.emplace_back(named.first, *window);
  }
  return windows;
}

std::string duration(double seconds) {
  const long long whole = std::llround(seconds);
  char text[32];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  return text;
}

std::string progress_line(const training::TrainProgress& progress) {
  return "step " + std::to_string(progress.step) + " of " + std::to_string(progress.steps) + "  loss " +
         fixed_text(progress.loss, 4) + "  lr " + scientific_text(progress.learning_rate, 2) + "  " +
         fixed_text(progress.tokens_per_second, 0) + " tokens/s  " + duration(progress.seconds_left) + " left";
}

// Loss and validation over the steps. Errors: kUnsupported in a build that cannot paint.
Status draw_curve(const std::vector<training::CurvePoint>& curve, const std::filesystem::path& file) {
  figure::Curve loss = views::curve_through("one batch", {}, {});
  figure::Curve validation = views::curve_through("validation metric", {}, {});
  loss.color = 0x8888884DU;
  double highest = 0;
  for (const training::CurvePoint& point : curve) {
    const auto step = static_cast<double>(point.step);
    loss.x.push_back(step);
    loss.y.push_back(point.loss);
    highest = std::isfinite(point.loss) ? std::max(highest, point.loss) : highest;
    if (!std::isnan(point.validation)) {
      validation.x.push_back(step);
      validation.y.push_back(point.validation);
      highest = std::max(highest, point.validation);
    }
  }
  const auto mean = views::curve_through("mean of the batches before", loss.x,
                                         views::running_means(loss.y, std::max<std::size_t>(curve.size() / 50, 1)));
  figure::Panel panel;
  panel.x.label = "step";
  panel.x.view = {0, loss.x.back()};
  panel.y.label = "loss (nats a target)";
  panel.y.view = {0, highest > 0 ? 1.02 * highest : 1};
  panel.layers = {loss, mean};
  if (!validation.x.empty()) {
    panel.layers.emplace_back(validation);
  }
  LOCUS_TRY(const std::unique_ptr<Painter> painter, Painter::create());
  return painter->write(views::figure_of(std::move(panel)), file, {});
}

Status run_train(const TrainOptions& options, const Context& context) {
  training::TrainOptions train = options.train;
  LOCUS_TRY(train.corpus, corpus_of(options.corpus, options.titles));
  LOCUS_TRY(train.validate, corpus_of(options.validate, options.titles));
  LOCUS_TRY(train.encoding_options, parse_settings("--option", options.encoding_options));
  LOCUS_TRY(train.task_options, parse_settings("--task-option", options.task_options));
  LOCUS_TRY(train.decay, training::parse_decay(options.decay));
  LOCUS_TRY(train.every, every_of(options.every));
  LOCUS_TRY(train.windows, windows_of(options.windows));
  if (!options.splits.empty()) {
    for (const std::string_view name : split(options.splits)) {
      train.splits.emplace_back(name);
    }
  }
  train.seed = static_cast<std::uint64_t>(options.seed);
  train.half = options.dtype == "float16";
  train.out = options.out;
  LOCUS_TRY(train.from, formats::find_checkpoint(options.from));
  train.config = options.config;
  train.threads = context.globals.threads;
  train.device = context.globals.device;
  train.command = context.command;
  warn_of_slow_products(context);
  LOCUS_TRY(train.group, models::open_process_group());
  const bool leads = train.group == nullptr || train.group->rank() == 0;
  if (train.group != nullptr) {
    context.console.note(models::describe(train.group.get()));
  }
  const Interrupt interrupt(kWhileSaving);
  Console& console = context.console;
  const auto on_progress = [&console, leads](const training::TrainProgress& progress) {
    if (!leads) {
      return;  // rank 0 says it for all
    }
    if (!progress.note.empty()) {
      console.warn(progress.note);
    } else if (progress.validation) {
      console.print(progress_line(progress) + "  validation " + fixed_text(*progress.validation, 4));
    } else {
      console.progress(progress_line(progress));
    }
  };
  LOCUS_TRY(const training::TrainSummary summary, training::train(train, on_progress, interrupt.token()));
  if (!leads && !summary.stopped) {
    return {};
  }
  if (summary.was_finished) {
    console.print(options.out + ": this run is complete after " + std::to_string(summary.steps) +
                  " steps; there is nothing to do");
    return {};
  }
  console.print(std::to_string(summary.steps) + " steps, " + std::to_string(summary.parameters) + " parameters, loss " +
                fixed_text(summary.loss, 4) + ", " + fixed_text(summary.tokens_per_second, 0) + " tokens/s");
  for (const auto& [split, value] : summary.splits) {
    console.print(summary.metric + " " + split + " " + fixed_text(value, 4));
  }
  if (!summary.curve.empty()) {
    const Status drawn = draw_curve(summary.curve, train.out / kCurvePicture);
    if (!drawn.ok() && drawn.error().code != ErrorCode::kUnsupported) {
      return drawn;
    }
  }
  if (summary.stopped) {
    return keeping(cancelled(), "the state after step " + std::to_string(summary.steps) + " of " +
                                    std::to_string(train.steps) + " is kept in " + options.out +
                                    "; continue it with --resume");
  }
  console.print("written to " + options.out);
  return {};
}

}  // namespace

Action declare_train(Arguments& arguments) {
  auto options = std::make_shared<TrainOptions>();
  training::TrainOptions& train = options->train;
  std::string names;
  std::vector<std::string> tasks;
  for (const training::TaskInfo& task : training::tasks()) {
    tasks.push_back(task.name);
    names += "\n  " + task.name + ": " + task.summary;
    for (const auto& option : task.options) {
      names += "\n    " + option.name + " (" + option.fallback + "): " + option.meaning;
    }
  }
  arguments.positional("TASK", train.task, true, "the task to train on; see below");
  arguments.propose("TASK", std::move(tasks));
  arguments.list("--corpus", options->corpus, "task text: files to train on", FileUse::kRead);
  arguments.list("--validate", options->validate, "task text: files to measure bits per byte on", FileUse::kRead);
  arguments.list("--title", options->titles, "FILE=TITLE: name of a corpus file in training.json");
  arguments.text("--from", options->from,
                 "continue training from the weights of this checkpoint, with its shape instead of that of the flags",
                 FileUse::kCheckpoint);
  arguments.flag("--freeze-base", train.freeze_base, "with --from: train only the parameters of the position encoding");
  arguments.integer("--lora", train.lora, {0, kMax},
                    "with --from: train only additions of this rank to the attention's projections (LoRA); 0: none");
  arguments.text("--config", options->config, "take the shape of the model from this config.json (model_type locus)",
                 FileUse::kRead);
  arguments.text("--encoding", train.encoding,
                 "position encoding (locus info --encodings); default: that of --from or --config, else rope");
  arguments.repeated("--option", options->encoding_options, "an option of the encoding");
  arguments.repeated("--every", options->every, "give every N-th layer this encoding (or none) instead", "N:NAME");
  arguments.text("--window", options->windows,
                 "number of keys that a query sees, as a repeating pattern of layers LAYER:KEYS,…; 0: all");
  arguments.repeated("--task-option", options->task_options, "an option of the task");
  arguments.integer("--layers", train.layers, {1, kMax}, "number of layers");
  arguments.integer("--heads", train.heads, {1, kMax}, "number of query heads");
  arguments.integer("--kv-heads", train.kv_heads, {0, kMax}, "number of key heads; 0: as many as query heads");
  arguments.integer("--width", train.width, {1, kMax}, "number of channels");
  arguments.integer("--inner", train.inner, {0, kMax}, "number of channels of the feed-forward; 0: 8/3 of the width");
  arguments.integer("--length", train.length, {0, kMax},
                    "length of a training sequence in tokens; 0: the length of the task");
  arguments.integer("--batch", train.batch, {1, kMax}, "sequences per step, of each process");
  arguments.integer("--grad-accum", train.gradient_parts, {1, kMax},
                    "split each batch into this many parts, to use less memory");
  arguments.integer("--train-size", train.train_size, {0, training::kMaxTrainSequences},
                    "number of different sequences to train on repeatedly; 0: new sequences in every step");
  arguments.integer("--steps", train.steps, {1, kMax}, "number of updates");
  arguments.number("--lr", train.learning_rate, {kSmallestRate, 1000}, "maximum learning rate");
  arguments.integer("--warmup", train.warmup, {0, kMax}, "steps of linear warm-up");
  arguments.choice("--decay", options->decay, {"cosine", "linear", "constant"},
                   "decay of the learning rate, to 0 at the end");
  arguments.number("--weight-decay", train.weight_decay, {0, 1000}, "weight decay of matrices");
  arguments.number("--clip", train.clip, {}, "maximum norm of the gradient; 0: no limit");
  arguments.integer("--seed", options->seed, {}, "seed for weights and batches");
  arguments.integer("--save-every", train.save_every, {1, kMax}, "steps between saves and validations");
  arguments.flag("--keep", train.keep, "keep the checkpoint of every save, and of step 0, in folders stepN of --out");
  arguments.text("--splits", options->splits,
                 "splits of the task to measure at every save, as columns of loss.csv: NAME,… (locus evaluate takes "
                 "--split NAME for each)");
  arguments.choice("--dtype", options->dtype, {"float32", "float16"}, "dtype of the written weights");
  arguments.text("--out", options->out, "folder to write");
  arguments.files("--out", FileUse::kWritten, [&out = options->out] { return written_into(out); });
  arguments.flag("--resume", train.resume, "continue an interrupted run with the same options");
  arguments.flag("--overwrite", train.overwrite, "replace the run or checkpoint in --out");
  arguments.footer("tasks:" + names);
  return [options](const Context& context) { return run_train(*options, context); };
}

}  // namespace locus::cli
