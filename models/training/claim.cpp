#include "models/training/claim.h"
#include "models/api/local.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/input_files.h"
#include "models/formats/files_read.h"
#include "models/training/folder.h"

namespace locus::training {

namespace {

namespace fs = std::filesystem;

// A file by which a folder is known to hold a checkpoint; empty when there is none.
std::string checkpoint_file(const fs::path& folder) {
  std::error_code failure;
  std::string first;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    const bool weights = name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") ||
                         name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth");
    if ((name == "config.json" || weights) && (first.empty() || name < first)) {
      first = name;
    }
  }
  return first;
}

// Finds whether the run to be resumed is finished, and why it starts anew where there is nothing to resume.
Status find_run(const TrainOptions& options, const Task& task, Claim& claim) {
  LOCUS_TRY(const std::optional<RunRecord> record, read_record(options.out, options, task));
  if (has_state(options.out)) {
    return {};
  }
  if (const std::string found = checkpoint_file(options.out); !record && !found.empty()) {
    return bad_input("expected a run to resume, found a checkpoint (" + found +
                         ") without a record of a run; --overwrite replaces it",
                     options.out.string());
  }
  claim.finished = record && record->step >= options.steps;
  if (!claim.finished) {
    const bool lost = record && record->step > 0;
    claim.note = options.out.string() + ": no training_state.safetensors to resume from" +
                 (lost ? ", though step " + std::to_string(record->step) + " is recorded" : "") + ": begins at step 0";
  }
  return {};
}

// Checks that no input of the run would be removed. Errors: kUsage.
Status check_inputs(const TrainOptions& options, const std::vector<fs::path>& removed) {
  InputFiles inputs;
  inputs.add(options.config);
  for (const std::vector<CorpusFile>* const corpus : {&options.corpus, &options.validate}) {
    for (const CorpusFile& file : *corpus) {
      inputs.add(file.path);
    }
  }
  if (!options.from.empty()) {
    for (const fs::path& file : formats::files_read(options.from)) {
      inputs.add(file);
    }
  }
  for (const fs::path& file : removed) {
    LOCUS_CHECK(inputs.check(file, "--overwrite"));
  }
  return {};
}

// Removes the overwritten files before the new run's are written, the record first: if the process is killed at any
// moment, the folder holds weights without a record, or none, and never the old ones under the new run's record.
Status remove_checkpoint(const TrainOptions& options) {
  const fs::path& folder = options.out;
  std::vector<fs::path> files = local::written_files(folder);
  std::stable_partition(files.begin(), files.end(),
                        [](const fs::path& file) { return file.filename() == "training.json"; });
  const std::vector<fs::path> read = formats::files_read(folder);
  files.insert(files.end(), read.begin(), read.end());
  const std::vector<fs::path> kept = kept_folders(folder);
  for (const fs::path& step : kept) {
    const std::vector<fs::path> own = local::written_files(step);
    files.insert(files.end(), own.begin(), own.end());
  }
  LOCUS_CHECK(check_inputs(options, files));
  LOCUS_CHECK(remove_state(folder));
  for (const fs::path& file : files) {
    std::error_code failure;
    fs::remove(file, failure);
    if (failure) {
      return bad_input("cannot be removed: " + failure.message(), file.string());
    }
  }
  for (const fs::path& step : kept) {
    std::error_code not_empty;
    fs::remove(step, not_empty);  // kept if it contains anything else
  }
  return {};
}

Status check_free(const fs::path& folder) {
  if (has_state(folder)) {
    return bad_input("holds a stopped run; continue with --resume, or start again with --overwrite", folder.string());
  }
  if (const std::string found = checkpoint_file(folder); !found.empty()) {
    return bad_input("holds a checkpoint (" + found + "); --overwrite replaces it, another folder keeps it",
                     folder.string());
  }
  for (const fs::path& step : kept_folders(folder)) {
    if (const std::string found = checkpoint_file(step); !found.empty()) {
      return bad_input("holds a checkpoint (" + step.filename().string() + "/" + found +
                           "); --overwrite replaces it, another folder keeps it",
                       folder.string());
    }
  }
  return {};
}

}  // namespace

Result<Claim> claim(const TrainOptions& options, const Task& task) {
  std::error_code failure;
  fs::create_directories(options.out, failure);
  if (failure) {
    return bad_input("cannot be made: " + failure.message(), options.out.string());
  }
  LOCUS_TRY(FolderLock lock, FolderLock::take(options.out, "training.lock", options.command));
  Claim claim{std::move(lock), false, {}};
  remove_abandoned(options.out);
  if (options.resume) {
    LOCUS_CHECK(find_run(options, task, claim));
  } else {
    LOCUS_CHECK(options.overwrite ? remove_checkpoint(options) : check_free(options.out));
  }
  if (!claim.finished && !has_state(options.out)) {
    LOCUS_CHECK(write_record(options.out, options, task, {}));
  }
  return claim;
}

}  // namespace locus::training
