// Hugging Face's cache on this machine. The folder of a model is models--ORG--NAME: refs/REVISION holds a commit,
// snapshots/COMMIT the files (links into blobs/). Nothing here downloads (see models/hub).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::formats {

// HF_HUB_CACHE, else HF_HOME/hub, else huggingface/hub below XDG_CACHE_HOME or ~/.cache.
std::filesystem::path hub_cache();

// The path for a name given by a user. A file or folder of that name comes first, then the files of a sharded run's
// trace (first_rank_of()); a text that cannot be a model's name is returned unchanged; ORG/NAME, or ORG/NAME@REVISION
// with a branch, a tag or a commit (default: main), is the folder of its snapshot. Errors: kBadInput naming the place
// where the model was expected.
Result<std::filesystem::path> find_checkpoint(const std::string& name);

// "ORG/NAME" of a snapshot's folder or a file in it, in any cache; empty for other paths.
std::string hub_name(const std::filesystem::path& path);

// A model in the cache, and its snapshots by ref (by commit where no ref names them).
struct HubModel {
  std::string name;      // "ORG/NAME"
  std::string revision;  // "main"
  std::filesystem::path folder;
};
// Ordered by name; empty when there is no cache.
std::vector<HubModel> hub_models();

}  // namespace locus::formats
