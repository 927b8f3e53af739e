// The files of a model on the hub, and which of them opening it needs.
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
};

// Reads the hub's answer about a revision: an object with `sha` and `siblings`, a list of objects with `rfilename`.
// Files in folders below are left out. Errors: kBadInput for anything else, for a name that leads out of the folder
// (absolute, "..", hidden controls), and for no file at all; kTooLarge for more than 100,000 names.
Result<Listing> parse_listing(std::string_view json, const std::string& where);

// The text of a small file of the listing: an index of shards.
using ReadFile = std::function<Result<std::string>(const std::string& name)>;

// Configurations, tokenizers and image preparation, and the weights: safetensors, one file or an index with all its
// shards, else torch files likewise, else the only other file of weights, with all its parts where it is a split GGUF
// one. `asked`: these files instead of the weights. Errors: kBadInput for a name that is not listed, an index that is
// none or names files that are not listed, and where there is no such file, or several and none was asked for.
Result<std::vector<std::string>> wanted_files(const Listing& listing, const std::vector<std::string>& asked,
                                              const ReadFile& read, const std::string& where);

}  // namespace locus::hub
