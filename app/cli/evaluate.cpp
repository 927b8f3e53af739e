// locus evaluate: the metric of checkpoints on a task, in and out of distribution.
#include <cmath>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/evaluate_table.h"
#include "app/cli/input_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/json.h"
#include "app/cli/marked_table.h"
#include "app/cli/settings_text.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/train.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {
namespace {

struct EvaluateOptions {
  training::EvaluateOptions evaluate;
  std::vector<std::string> paths;
  std::vector<std::string> task_options;
  std::vector<std::string> validate;
  std::vector<std::string> seeds;
  OverrideOptions overrides;
  EditOptions edits;
  std::int64_t seed = 0;
  bool json = false;
  bool table = false;
  std::optional<std::string> into;
};

Json evaluation_json(const training::Evaluation& row) {
  Json splits = Json::object();
  Json intervals = Json::object();
  for (std::size_t n = 0; n < row.splits.size(); ++n) {
    splits[row.splits[n].first] = row.splits[n].second;
    intervals[row.splits[n].first] = Json::list({row.intervals[n].first, row.intervals[n].second});
  }
  Json json = {{"checkpoint", row.checkpoint},
               {"encoding", row.encoding},
               {"metric", row.metric},
               {"splits", splits},
               {"interval", intervals}};
  for (std::size_t n = 0; n < row.perplexities.size(); ++n) {
    json["perplexity"][row.splits[n].first] = row.perplexities[n];
  }
  if (!row.map.rows.empty()) {
    json["map"] = parsed(training::to_json(row.map));
  }
  return json;
}

std::string cell(const std::string& text, std::size_t width) {
  return padded(text, width - 1) + " ";
}

// Percent of errors, a line per row.
void print_map(const training::EvaluationMap& map, Console& console) {
  if (map.rows.empty()) {
    return;
  }
  console.print("error in percent; rows: " + map.row_label + ", columns: " + map.column_label);
  std::string head = "    ";
  for (const std::int64_t column : map.columns) {
    head += " " + right(std::to_string(column), 3);
  }
  console.print(head);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    std::string line = right(std::to_string(map.rows[row]), 4);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const double value = map.values[row * map.columns.size() + column];
      line += " " + right(std::isnan(value) ? "-" : fixed_text(100 * value, 0), 3);
    }
    console.print(line);
  }
}

void print_rows(const std::vector<training::Evaluation>& rows, const std::string& interval, Console& console) {
  std::string head = cell("checkpoint", 28) + cell("encoding", 16);
  for (const auto& [split, value] : rows.front().splits) {
    head += cell(split, 26);
  }
  console.print(head + "(" + rows.front().metric + ", " + interval + ")");
  for (const training::Evaluation& row : rows) {
    std::string line = cell(row.checkpoint, 28) + cell(row.encoding, 16);
    for (std::size_t n = 0; n < row.splits.size(); ++n) {
      const std::string text = fixed_text(row.splits[n].second, 4) + " [" + fixed_text(row.intervals[n].first, 4) +
                               ", " + fixed_text(row.intervals[n].second, 4) + "]";
      line += cell(std::isnan(row.splits[n].second) ? "length not supported" : text, 26);
    }
    console.print(line);
    if (!row.perplexities.empty()) {
      std::string perplexities = cell("", 28) + cell("perplexity", 16);
      for (const double perplexity : row.perplexities) {
        perplexities += cell(std::isnan(perplexity) ? "" : fixed_text(perplexity, 4), 26);
      }
      console.print(perplexities);
    }
    print_map(row.map, console);
  }
}

std::string kept_rows(std::size_t count, const EvaluateOptions& options) {
  return std::to_string(count) + " of " + std::to_string(options.paths.size()) + " checkpoints were measured" +
         (options.evaluate.record ? " and recorded" : "");
}

Status print(const std::vector<training::Evaluation>& rows, const std::string& interval, const EvaluateOptions& options,
             Console& console) {
  if (options.into) {
    return write_into(*options.into, "locus evaluate " + options.evaluate.task + " --table", evaluation_table(rows));
  }
  if (options.table) {
    const std::string table = evaluation_table(rows);
    console.print(table.substr(0, table.size() - 1));
  } else if (options.json) {
    console.print(dump({{"task", options.evaluate.task}, {"rows", list_of(rows, evaluation_json)}}));
  } else {
    print_rows(rows, interval, console);
  }
  return {};
}

Status run_record_seeds(const EvaluateOptions& options, const Context& context) {
  if (options.paths.size() != 1) {
    return usage("evaluate --seeds: expected one PATH, whose training.json stores the results, found " +
                 std::to_string(options.paths.size()));
  }
  const std::vector<std::filesystem::path> others(options.seeds.begin(), options.seeds.end());
  LOCUS_TRY(const training::Evaluation row, training::record_seeds(options.paths.front(), others));
  return print({row}, "mean, least and largest of " + std::to_string(others.size() + 1) + " seeds", options,
               context.console);
}

// --record writes the checkpoints' own records: no file that is measured on.
Status check_records(const EvaluateOptions& options) {
  InputFiles measured;
  for (const std::string& file : options.validate) {
    measured.add(file);
  }
  for (const std::string& path : options.evaluate.record ? options.paths : std::vector<std::string>()) {
    LOCUS_CHECK(measured.check(std::filesystem::path(path) / "training.json", "--record"));
  }
  return {};
}

Status run_evaluate(const EvaluateOptions& options, const Context& context) {
  if (options.paths.empty()) {
    return usage("evaluate: expected at least one PATH");
  }
  if (options.table && (options.json || !options.seeds.empty())) {
    return usage("--table: expected without --json and --seeds, found together");
  }
  if (options.into && !options.table) {
    return usage("--into: expected together with --table, found alone");
  }
  LOCUS_CHECK(check_records(options));
  if (!options.seeds.empty()) {
    return run_record_seeds(options, context);
  }
  training::EvaluateOptions evaluate = options.evaluate;
  LOCUS_TRY(evaluate.task_options, parse_settings("--task-option", options.task_options));
  for (const std::string& path : options.validate) {
    evaluate.validate.push_back({path, {}});
  }
  LOCUS_TRY(evaluate.overrides, options.overrides.read());
  LOCUS_TRY(evaluate.edits, options.edits.read());
  evaluate.device = context.globals.device;
  evaluate.seed = static_cast<std::uint64_t>(options.seed);
  warn_of_slow_products(context);
  const Interrupt interrupt(kWhileSaving);
  std::vector<training::Evaluation> rows;
  Status measured;
  for (const std::string& name : options.paths) {
    LOCUS_TRY(const std::filesystem::path path, formats::find_checkpoint(name));
    const auto progress = [&](const ProgressReport& report) {
      context.console.progress(name + " " + report.what + " " + fixed_text(100 * report.fraction, 0) + " %");
    };
    Result<training::Evaluation> row = training::evaluate(path, evaluate, progress, interrupt.token());
    if (!row.ok()) {
      measured = keeping(row.error(), rows.empty() ? "nothing was measured" : kept_rows(rows.size(), options));
      break;
    }
    rows.push_back(std::move(*row));
  }
  if (!measured.ok() && (measured.error().code != ErrorCode::kCancelled || rows.empty())) {
    return measured;
  }
  LOCUS_CHECK(print(rows, "95 % interval", options, context.console));
  return measured;
}

}  // namespace

Action declare_evaluate(Arguments& arguments) {
  auto options = std::make_shared<EvaluateOptions>();
  training::EvaluateOptions& evaluate = options->evaluate;
  arguments.positional("TASK", evaluate.task, true, "the task to measure; locus train --help lists the tasks");
  arguments.positionals("PATH", options->paths, "checkpoints", FileUse::kCheckpoint);
  arguments.repeated("--task-option", options->task_options,
                     "an option of the task, instead of the one used in training");
  arguments.list("--validate", options->validate, "task text: files to measure bits per byte on", FileUse::kRead);
  arguments.integer("--samples", evaluate.samples, {}, "number of sequences per split; 0: the number of the task");
  arguments.repeated(
      "--split", evaluate.splits,
      "measure only this split: in, or another split of the task; may be repeated (locus train takes one "
      "list, --splits NAME,…)",
      "NAME");
  arguments.flag(
      "--record", evaluate.record,
      "write the first split's value into training.json as reference, and the map as map; with --rope-base or "
      "--rope-scaling, all results go into what_if");
  arguments.list(
      "--seeds", options->seeds,
      "checkpoints of the same training with other seeds: store their results in PATH's training.json, measure nothing",
      FileUse::kCheckpoint);
  arguments.integer("--map", evaluate.map_samples, {},
                    "sequences per cell of the task's map (addition: by operand lengths)");
  options->overrides.declare(arguments);
  options->edits.declare(arguments);
  arguments.integer("--seed", options->seed, {}, "seed for the sequences");
  arguments.flag("--json", options->json, "print JSON");
  arguments.flag("--table", options->table, "print a Markdown table, with the steps and the seed of each training");
  arguments.text("--into", options->into,
                 "with --table: write the table into this file, between <!-- locus evaluate TASK --table --> and "
                 "<!-- end -->",
                 FileUse::kWritten);
  return [options](const Context& context) { return run_evaluate(*options, context); };
}

}  // namespace locus::cli
