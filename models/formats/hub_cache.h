// Hugging Face's cache on this machine. A model lies in models--ORG--NAME: refs/REVISION holds a commit,
// snapshots/COMMIT the files (links into blobs/). Nothing is fetched here (models/hub does, where it is asked to).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::formats {

// HF_HUB_CACHE, else HF_HOME/hub, else huggingface/hub below XDG_CACHE_HOME or ~/.cache.
std::filesystem::path hub_cache();

// Where what a user calls `name` lies. A file or folder of that name wins, then the files of a
// sharded run's trace (first_rank_of()); whatever cannot be a model's name stays
// as it is; ORG/NAME, or ORG/NAME@REVISION with a branch, a tag or a commit (without: main), is the folder of its
// snapshot. Errors: kBadInput naming the place where the model is not.
Result<std::filesystem::path> find_checkpoint(const std::string& name);

// "ORG/NAME" of a snapshot's folder or a file in it, whatever the cache; empty for other paths.
std::string hub_name(const std::filesystem::path& path);

// A model in the cache, and its snapshots by the refs that name them (by commit where none does).
struct HubModel {
  std::string name;      // "ORG/NAME"
  std::string revision;  // "main"
  std::filesystem::path folder;
};
// In the order of their names; empty when there is no cache.
std::vector<HubModel> hub_models();

}  // namespace locus::formats
