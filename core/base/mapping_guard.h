// Mapped files that shrink while they are read. The system ends a program that touches a page which its file no longer
// has (SIGBUS). Here such a page becomes one of zeros, the reader goes on, and what it made is refused afterwards: the
// file is remembered as lost.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace locus {

// From now on until unguard_mapping(): a fault within `bytes`, a mapping of `path`, does not end the program. The first
// call installs the handler; faults elsewhere do what they did before.
void guard_mapping(std::span<const std::byte> bytes, const std::filesystem::path& path);
// Before the mapping goes. A file that was lost is forgotten.
void unguard_mapping(std::span<const std::byte> bytes);

// Gives the memory of the whole pages within these bytes back to the system, which reads them again where they are
// touched. Does nothing outside a guarded mapping.
void release_mapping(std::span<const std::byte> bytes);

// A file that was lost and is still mapped, as the error of all that was read from it: kBadInput. None is the rule, and
// costs one load.
std::optional<Error> lost_file();

}  // namespace locus
