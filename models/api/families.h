// Families of checkpoints, in the program and in files. A header of its own: the command line alone lists them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace locus::models
