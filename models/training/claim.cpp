#include "models/training/claim.h"

#include <string>
#include <utility>

#include "core/base/atomic_file.h"
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

// Whether the run that is asked to go on is done.
Result<bool> is_finished(const TrainOptions& options, const Task& task) {
  LOCUS_TRY(const std::optional<RunRecord> record, read_record(options.out, options, task));
  if (has_state(options.out)) {
    return false;
  }
  if (const std::string found = checkpoint_file(options.out); !record && !found.empty()) {
    return bad_input("expected a run to go on with, found a checkpoint (" + found +
                         ") of none; --overwrite replaces it, another folder keeps it",
                     options.out.string());
  }
  return record && record->step >= options.steps;
}

Status check_free(const fs::path& folder) {
  if (has_state(folder)) {
    return bad_input("holds a run that was stopped; go on with --resume, or begin again with --overwrite",
                     folder.string());
  }
  if (const std::string found = checkpoint_file(folder); !found.empty()) {
    return bad_input("holds a checkpoint (" + found + "); --overwrite replaces it, another folder keeps it",
                     folder.string());
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
  Claim claim{std::move(lock)};
  remove_abandoned(options.out);
  if (options.resume) {
    LOCUS_TRY(claim.finished, is_finished(options, task));
  } else {
    LOCUS_CHECK(options.overwrite ? remove_state(options.out) : check_free(options.out));
  }
  if (!claim.finished && !has_state(options.out)) {
    LOCUS_CHECK(write_record(options.out, options, task, {}));
  }
  return claim;
}

}  // namespace locus::training
