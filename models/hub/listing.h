// The files of a model on the hub, and the files needed for opening it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::hub {

struct Listing {
  std::string commit;              // 40 hexadecimal digits
  std::vector<std::string> files;  // of the model's top folder, each fit to be the name of a file; sorted
  // Files in folders of a sentence-transformers model's modules that opening reads: "1_Pooling/config.json"; sorted.
  std::vector<std::string> module_files;
};

// Reads the hub's answer about a revision: an object with `sha` and `siblings`, a list of objects with `rfilename`.
// Files in other subfolders are left out. Errors: kBadInput for anything else, for a name that leaves the folder (absolute,
// "..", control characters), and for an empty list; kTooLarge for more than 100,000 names.
Result<Listing> parse_listing(std::string_view json, const std::string& where);

// Reads the text of a small file of the listing: an index of shards.
using ReadFile = std::function<Result<std::string>(const std::string& name)>;

// Configurations, tokenizers and image preprocessing, files of modules where there is a modules.json, and the weights: safetensors (one file or an index with all its
// shards), else torch files in the same way, else the only other file of weights, with all its parts for a split GGUF
// file. `asked`: these files instead of the weights. Errors: kBadInput for a name that is not listed, an index that is
// invalid or names files that are not listed, and where there is no file of weights, or several and none was chosen.
Result<std::vector<std::string>> wanted_files(const Listing& listing, const std::vector<std::string>& asked,
                                              const ReadFile& read, const std::string& where);

}  // namespace locus::hub
