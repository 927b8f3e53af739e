// A family as a JSON file (assets/manual/families.md): an inherited family, and what differs from it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "models/families/engine/family.h"

namespace locus::families {

// At most this many bytes in a file, and files that inherit each other.
inline constexpr std::size_t kFamilyFileLimit = std::size_t{64} << 10;
inline constexpr std::size_t kFamilyLevels = 8;

// The family that a file names as `inherits`. Errors: kUnsupported for an unknown name, a cycle, or too many levels.
using Inherited = std::function<Result<const Family*>(const std::string& name)>;

// Reads a family from the text of a file. Names that the family keeps live as long as the program. Errors: kUnsupported
// in one line that names the file and the place in it: "FILE: $.set.width: expected …".
Result<Family> read_family_file(std::string_view text, const std::string& file, const Inherited& inherited);

// The same for a draft, in which parameters may be without a row.
Result<Family> read_family_draft(std::string_view text, const std::string& file, const Inherited& inherited);

}  // namespace locus::families
