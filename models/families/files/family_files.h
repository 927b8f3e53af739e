// Families that are files, in `families` beside the program's other assets and in the user's folder of configurations
// ($XDG_CONFIG_HOME/locus/families). A file NAME.json holds the family NAME. Each is read once, when it is first asked
// for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/families/engine/family.h"

namespace locus::families {

struct FamilyFile {
  std::filesystem::path path;
  const Family* family = nullptr;  // null where the file is wrong; lives as long as the program
  std::optional<Error> error;
};

// All files of both folders, the user's first, by name.
std::vector<FamilyFile> family_files();

// Remembers, in the user's folder, that what unverified_by() names was compared with reference values. Errors:
// kBadInput where the folder cannot be written.
Status remember_verified(const std::string& unverified);

// Sets the user's folder of family files. Precondition: no family was asked for yet.
void set_user_folder(const std::filesystem::path& folder);

// The file, wherever it lies; families that it inherits are looked for in its folder too. Errors: kUnsupported naming
// the file and the place in it, kBadInput for a file that cannot be read.
Result<const Family*> read_family(const std::filesystem::path& file);

// A family that a file may inherit, by its name: a table of the program, or a file of both folders. Errors: kUnsupported.
Result<const Family*> inheritable_family(const std::string& name);

}  // namespace locus::families
