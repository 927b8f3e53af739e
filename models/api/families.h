// Families of checkpoints, in the program and in files. A header of its own: the command line alone lists them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::models {

// One row per family, for `locus families`.
struct FamilyInfo {
  std::string name;
  std::vector<std::string> types;  // values of model_type
  std::string file;                // "": built in
  bool replaces = false;           // takes the place of a built-in family
  std::string wrong;               // why the file is refused; "" where it is not
};
// Lists the families of the program, then those of files.
std::vector<FamilyInfo> families();
// Sets the folder of the user's family files, instead of the desktop's. Call it before any other function.
void set_families_folder(const std::filesystem::path& folder);
// Reads the file of a family. Errors: kUnsupported naming the file and the place in it, kBadInput.
Result<FamilyInfo> check_family(const std::filesystem::path& file);

// A family file for a checkpoint that no family reads, drafted from the nearest family: `locus families suggest`.
struct FamilyDraft {
  std::string name;      // the checkpoint's model_type
  std::string inherits;  // the nearest family
  std::string text;      // of NAME.json
  // What it does not explain: parameters without a tensor and tensors without a parameter, by pattern and shape; without
  // any of these the checkpoint opens with it.
  std::vector<std::string> absent;
  std::vector<std::string> leftover;
  std::vector<std::string> unread;   // fields that are settled or ignored without being understood
  std::vector<std::string> guessed;  // rows by the words of their names alone
  // Comparison with expected values.
  int compared = 0;  // drafts; 0: none was
  bool agrees = false;
  double difference = 0;    // the largest |a − b| / (1 + |b|), or that of the first row that differs
  std::string first_wrong;  // that row, layer by layer

  bool opens() const { return absent.empty() && leftover.empty(); }
};
// Drafts a family file. With `expected`, values as verify_expected() reads them, it also tries what shapes do not show,
// and returns the draft that agrees best. Errors: kBadInput for a path without config.json, a type that a family reads,
// or a file that cannot be read; kUnsupported; kCancelled.
Result<FamilyDraft> suggest_family(const std::filesystem::path& path,
                                   const std::optional<std::filesystem::path>& expected = std::nullopt,
                                   StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::models
