// The digest by which a figure's recipe names a checkpoint, whatever folder it lies in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::checkpoint {

// SHA-256 of a checkpoint's files, 64 hexadecimal digits. Of one file it is the file's own digest (what sha256sum
// prints); of several, that of the lines "DIGEST  NAME\n" in the order of the names, so that neither the folder nor the
// order given matters. Reads every byte: reports progress and stops on request between pieces of 4 MiB. Errors:
// kBadInput for a file that cannot be read or an empty list, kCancelled.
Result<std::string> digest_of(std::vector<std::filesystem::path> files, const Progress& progress = {},
                              const StopToken& stop = {});

}  // namespace locus::checkpoint
