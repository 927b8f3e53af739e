// locus atlas: means over many windows of a corpus, with intervals.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/interrupt.h"
#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "models/api/atlas.h"
#include "models/api/atlas_run.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {

namespace {

namespace fs = std::filesystem;

struct AtlasFlags {
  std::vector<std::string> paths;
  std::vector<std::string> corpus;
  models::AtlasOptions atlas;
  std::string what;
  std::string out;
  std::string headvis;
  std::int64_t seed = 0;
};

// Where the atlas of each checkpoint goes: `out` itself for one of them; for several a file of its name in that folder.
Result<std::vector<fs::path>> files_of(const AtlasFlags& flags) {
  if (flags.paths.size() == 1) {
    return std::vector<fs::path>{flags.out};
  }
  std::vector<fs::path> files;
  std::set<std::string> names;
  for (const std::string& path : flags.paths) {
    const fs::path normal = fs::path(path).lexically_normal();
    const std::string name = (normal.has_filename() ? normal : normal.parent_path()).filename().string();
    if (!names.insert(name).second) {
      return usage("atlas: expected checkpoints of different names, found " + name + " twice");
    }
    files.push_back(fs::path(flags.out) / (name + ".safetensors"));
  }
  return files;
}

std::vector<std::string> words_of(const std::vector<models::AtlasStatistic>& list) {
  std::vector<std::string> words;
  words.reserve(list.size());
  for (const models::AtlasStatistic& each : list) {
    words.push_back(each.name);
  }
  return words;
}

std::string progress_line(const models::AtlasProgress& progress) {
  return "window " + std::to_string(progress.done) + " of " + std::to_string(progress.windows) + ", " +
         general_text(progress.windows_per_second, 3) + " windows/s, " +
         models::duration_text(1000 * progress.seconds_left) + " left";
}

Status make_one(const std::string& path, const models::AtlasOptions& options, const Interrupt& interrupt,
                const Context& context) {
  Console& console = context.console;
  LOCUS_TRY(const auto model, open_model(path, {}, context));
  LOCUS_TRY(const fs::path found, formats::find_checkpoint(path));
  const bool leads = options.group == nullptr || options.group->rank() == 0;
  const auto on_progress = [&](const models::AtlasProgress& progress) {
    if (leads && progress.note.empty()) {
      console.progress(progress_line(progress));
    }
  };
  const auto made = models::make_atlas(*model, found, options, on_progress, interrupt.token());
  console.end_progress();
  LOCUS_TRY(const models::AtlasSummary summary, made);
  const std::string out = options.out.string();
  if (summary.stopped) {
    return keeping(cancelled(), std::to_string(summary.done) + " of " + std::to_string(summary.windows) +
                                    " windows are kept in " + out + "; continue with --resume");
  }
  if (!leads) {
    return {};
  }
  if (summary.was_finished) {
    console.print(out + ": this atlas is complete with " + std::to_string(summary.windows) + " windows; " +
                  (summary.made_compact ? "intervals have taken the place of replicates" : "there is nothing to do"));
    return {};
  }
  console.print(out + ": " + std::to_string(summary.done) + " windows, " + general_text(summary.windows_per_second, 3) +
                " windows/s");
  return {};
}

// The examples of an atlas that is there.
Status export_headvis(const fs::path& atlas, const AtlasFlags& flags, const Interrupt& interrupt,
                      const Context& context) {
  LOCUS_TRY(const auto opened, models::open_atlas(atlas));
  LOCUS_CHECK(models::write_headvis(*opened, flags.headvis, interrupt.token()));
  context.console.print(flags.headvis + ": a folder for HeadVis");
  return {};
}

// Refuses settings of examples where none are measured.
Status check_examples(const models::AtlasOptions& options) {
  const bool measured = std::ranges::find(options.what, "examples") != options.what.end();
  return measured || options.examples == models::ExampleOptions()
             ? Status()
             : usage("atlas: --activation, --top, --sample and --levels need --what with examples");
}

// Before anything is measured.
Status check_export(const AtlasFlags& flags, const models::AtlasOptions& options) {
  if (flags.headvis.empty()) {
    return {};
  }
  if (flags.paths.size() != 1 || std::ranges::find(options.what, "examples") == options.what.end()) {
    return usage("atlas: --export-headvis takes one PATH, and --what with examples");
  }
  std::error_code code;
  return !fs::exists(flags.headvis, code) ||
                 (fs::is_directory(flags.headvis, code) && fs::is_empty(flags.headvis, code))
             ? Status()
             : bad_input("expected a new or empty folder, found one with files in it, or a file", flags.headvis);
}

Status run_atlas(const AtlasFlags& flags, const Context& context) {
  if (!flags.headvis.empty() && flags.paths.size() == 1 && models::is_atlas(flags.paths.front())) {
    return flags.corpus.empty() && flags.out.empty()
               ? export_headvis(flags.paths.front(), flags, Interrupt(kWhileSaving), context)
               : Status(usage("atlas: expected --export-headvis alone with an atlas, or a checkpoint"));
  }
  if (flags.paths.empty() || flags.corpus.empty() || flags.out.empty()) {
    return usage("atlas: expected at least one PATH, --corpus and --out");
  }
  models::AtlasOptions options = flags.atlas;
  options.corpus.assign(flags.corpus.begin(), flags.corpus.end());
  options.seed = static_cast<std::uint64_t>(flags.seed);
  for (const std::string_view word : split_words(flags.what, ",")) {
    options.what.emplace_back(word);
  }
  LOCUS_CHECK(check_examples(options));
  LOCUS_CHECK(check_export(flags, options));
  if (options.resume && options.overwrite) {
    return usage("atlas: expected --resume or --overwrite, found both");
  }
  LOCUS_TRY(const std::vector<fs::path> files, files_of(flags));
  LOCUS_TRY(options.group, models::open_process_group());
  if (options.group != nullptr) {
    context.console.note(models::describe(options.group.get()));
  }
  if (flags.paths.size() > 1) {
    std::error_code code;
    fs::create_directories(flags.out, code);
    if (code) {
      return bad_input("cannot make the folder: " + code.message(), flags.out);
    }
  }
  warn_of_slow_products(context);
  const Interrupt interrupt(kWhileSaving);
  for (std::size_t n = 0; n < files.size(); ++n) {
    options.out = files[n];
    LOCUS_CHECK(make_one(flags.paths[n], options, interrupt, context));
  }
  const bool leads = options.group == nullptr || options.group->rank() == 0;
  return flags.headvis.empty() || !leads ? Status() : export_headvis(files.front(), flags, interrupt, context);
}

}  // namespace

Action declare_atlas(Arguments& arguments) {
  auto flags = std::make_shared<AtlasFlags>();
  models::AtlasOptions& atlas = flags->atlas;
  constexpr double kMost = 1e9;
  const auto& all = models::atlas_statistics();
  arguments.positionals("PATH", flags->paths, "checkpoints; one atlas is made of each", FileUse::kCheckpoint);
  arguments.list("--corpus", flags->corpus, "text files, and folders of .txt files", FileUse::kRead);
  arguments.integer("--windows", atlas.windows, {1, kMost}, "number of windows, spread over the corpus");
  arguments.integer("--length", atlas.length, {0, kMost},
                    "tokens of a window; 0: the trained length, at most 1024, or 512 where it is unknown");
  arguments.integer("--seed", flags->seed, {}, "seed of the windows, of shuffled tokens and of the intervals");
  arguments.text("--what", flags->what, "statistics, with commas: " + listed(all, [](const auto& each) {
                                          return each.name;
                                        }) + "; default: all that the model has but examples");
  arguments.choice("--activation", atlas.examples.activation, words_of(models::example_activations()),
                   "examples: what a head's activation in a window is");
  arguments.integer("--top", atlas.examples.top, {1, 1000}, "examples: windows of the largest activations");
  arguments.integer("--sample", atlas.examples.sample, {0, 1000}, "examples: windows drawn from each level");
  arguments.integer("--levels", atlas.examples.levels, {2, 100},
                    "examples: levels of activation, equal shares of the windows");
  arguments.integer("--map-size", atlas.map_size, {1, 1024}, "pixels on a side of mean-map");
  arguments.integer("--replicates", atlas.replicates, {2, 10000}, "bootstrap replicates, from which intervals follow");
  arguments.number("--save-seconds", atlas.save_seconds, {0, kMost}, "seconds between two writes of the file");
  arguments.text("--out", flags->out, "file to write; of several checkpoints a folder, with a file of each name",
                 FileUse::kWritten);
  arguments.text("--export-headvis", flags->headvis,
                 "write the examples as a folder for HeadVis; PATH may then be an atlas, alone", FileUse::kWritten);
  arguments.flag("--resume", atlas.resume, "continue the atlas in --out, with the same options");
  arguments.flag("--overwrite", atlas.overwrite, "replace the atlas in --out");
  arguments.flag(
      "--compact", atlas.compact,
      "write intervals instead of replicates at the end: a small file that cannot be continued; with --resume, "
      "also of a file that is finished");
  std::string names;
  for (const models::AtlasStatistic& each : all) {
    names += "\n  " + each.name + ": " + each.meaning;
  }
  names += "\nactivations:";
  for (const models::AtlasStatistic& each : models::example_activations()) {
    names += "\n  " + each.name + ": " + each.meaning;
  }
  arguments.footer("statistics:" + names);
  return [flags](const Context& context) { return run_atlas(*flags, context); };
}

}  // namespace locus::cli
