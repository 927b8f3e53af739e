#include "models/hub/listing.h"

#include <algorithm>
#include <set>

#include "core/base/shown.h"
#include "models/formats/files_read.h"
#include "models/formats/gguf/gguf.h"
#include "models/formats/hub_name.h"
#include "models/formats/json/json.h"
#include "models/formats/safetensors/shard_index.h"

namespace locus::hub {

namespace {

constexpr std::size_t kFileLimit = 100'000;
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kNamesShown = 6;

// True if a name, which may have folders, stays below the target folder.
bool stays_inside(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.back() == '/' || name.find('\\') != std::string::npos) {
    return false;
  }
  std::size_t start = 0;
  while (start <= name.size()) {
    const std::size_t slash = std::min(name.find('/', start), name.size());
    const std::string part = name.substr(start, slash - start);
    if (part.empty() || part == "." || part == ".." || part.size() > kLongestName) {
      return false;
    }
    start = slash + 1;
  }
  return is_utf8(name) && std::all_of(name.begin(), name.end(), [](char symbol) {
           return static_cast<unsigned char>(symbol) >= ' ' && symbol != '\x7F';
         });
}

Result<std::string> name_of_file(const nlohmann::json& sibling, const std::string& where) {
  LOCUS_TRY(const JsonObject file, JsonObject::of(sibling, where + ": siblings"));
  LOCUS_TRY(std::string name, file.get<std::string>("rfilename"));
  return stays_inside(name)
             ? Result<std::string>(std::move(name))
             : bad_input("expected names of files below the model's folder, found \"" + shown(name) + "\"",
                         where + ": rfilename");
}

// "1_Pooling/config.json": a file that opening reads, in a folder with a number, as sentence-transformers names those of
// modules.
bool is_of_module(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::size_t line = name.find('_');
  if (slash == name.npos || line == 0 || line > slash || name.find('/', slash + 1) != name.npos ||
      name.find_first_not_of("0123456789") != line) {
    return false;
  }
  const std::string file = name.substr(slash + 1);
  return formats::is_read_by_name(file) || file == "model.safetensors" || file == "pytorch_model.bin";
}

bool is_listed(const Listing& listing, const std::string& name) {
  return std::binary_search(listing.files.begin(), listing.files.end(), name);
}

// Files of modules, of two files of weights in one folder the safetensors.
std::vector<std::string> files_of_modules(const Listing& listing) {
  std::vector<std::string> files;
  for (const std::string& name : listing.module_files) {
    const std::string folder = name.substr(0, name.find('/') + 1);
    const bool older =
        name.ends_with("/pytorch_model.bin") &&
        std::binary_search(listing.module_files.begin(), listing.module_files.end(), folder + "model.safetensors");
    if (!older) {
      files.push_back(name);
    }
  }
  return files;
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t n = 0; n < std::min(names.size(), kNamesShown); ++n) {
    text += (n == 0 ? "" : ", ") + shown(names[n]);
  }
  return names.empty() ? "none" : text + (names.size() > kNamesShown ? ", …" : "");
}

// A file of weights with its parts: the shards of an index, the parts of a split GGUF file.
Result<std::vector<std::string>> with_its_parts(const Listing& listing, const std::string& name, const ReadFile& read,
                                                const std::string& where) {
  std::set<std::string> files{name};
  if (formats::is_index(name)) {
    LOCUS_TRY(const std::string text, read(name));
    LOCUS_TRY(const formats::ShardIndex index, formats::parse_shard_index(text, where + "/" + name));
    for (const auto& [tensor, shard] : index.weight_map) {
      files.insert(shard);
    }
  }
  if (name.ends_with(".gguf")) {
    for (const std::filesystem::path& part : formats::gguf_parts(name)) {
      files.insert(part.string());
    }
  }
  for (const std::string& file : files) {
    if (!is_listed(listing, file)) {
      return bad_input("expected " + shown(file) + " among the model's files, as in " + shown(name) + ", found none",
                       where);
    }
  }
  return std::vector<std::string>(files.begin(), files.end());
}

// The only file of weights without a usual name: a safetensors file, else torch, else GGUF.
Result<std::string> only_weights(const Listing& listing, const std::string& where) {
  std::vector<std::vector<std::string>> kinds(3);
  for (const std::string& name : listing.files) {
    const bool first = !name.ends_with(".gguf") || formats::gguf_parts(name).front() == name;
    if (formats::may_be_weights(name) && !formats::is_training_state(name) && !formats::is_read_by_name(name) &&
        first) {
      kinds[name.ends_with(".safetensors") ? 0 : name.ends_with(".gguf") ? 2 : 1].push_back(name);
    }
  }
  const auto found = std::find_if(kinds.begin(), kinds.end(), [](const auto& names) { return !names.empty(); });
  if (found == kinds.end()) {
    return bad_input(
        "expected weights (safetensors, torch or GGUF) among the model's files, found " + some_of(listing.files),
        where);
  }
  return found->size() == 1 ? Result<std::string>(found->front())
                            : bad_input("expected one file of weights, found " + some_of(*found) +
                                            ": name the wanted one (--file NAME)",
                                        where);
}

}  // namespace

Result<Listing> parse_listing(std::string_view json, const std::string& where) {
  LOCUS_TRY(const nlohmann::json document, parse_json(json, where));
  LOCUS_TRY(const JsonObject object, JsonObject::of(document, where));
  Listing listing;
  LOCUS_TRY(listing.commit, object.get<std::string>("sha"));
  if (!formats::is_hub_commit(listing.commit)) {
    return object.wrong("sha", "40 hexadecimal digits");
  }
  LOCUS_TRY(const nlohmann::json* const siblings, object.array("siblings"));
  if (siblings->size() > kFileLimit) {
    return too_large("expected at most 100,000 files, found " + std::to_string(siblings->size()), where);
  }
  for (const nlohmann::json& sibling : *siblings) {
    LOCUS_TRY(std::string name, name_of_file(sibling, where));
    if (name.find('/') == std::string::npos) {
      listing.files.push_back(std::move(name));
    } else if (is_of_module(name)) {
      listing.module_files.push_back(std::move(name));
    }
  }
  for (std::vector<std::string>* files : {&listing.files, &listing.module_files}) {
    std::sort(files->begin(), files->end());
    files->erase(std::unique(files->begin(), files->end()), files->end());
  }
  return listing.files.empty() ? Result<Listing>(bad_input("expected files, found none", where)) : listing;
}

Result<std::vector<std::string>> wanted_files(const Listing& listing, const std::vector<std::string>& asked,
                                              const ReadFile& read, const std::string& where) {
  std::vector<std::string> weights = asked;
  for (const std::string_view usual : formats::kUsualWeights) {
    if (weights.empty() && is_listed(listing, std::string(usual))) {
      weights.emplace_back(usual);
    }
  }
  std::set<std::string> files;
  if (is_listed(listing, "modules.json")) {
    const std::vector<std::string> modules = files_of_modules(listing);
    files.insert(modules.begin(), modules.end());
  }
  const bool inside = std::any_of(files.begin(), files.end(), [](const std::string& name) {
    return name.starts_with("0_") && formats::may_be_weights(name);
  });
  if (weights.empty() && !inside) {
    LOCUS_TRY(const std::string only, only_weights(listing, where));
    weights.push_back(only);
  }
  for (const std::string& name : weights) {
    if (!is_listed(listing, name)) {
      return bad_input(
          "expected a file of the model's top folder, found " + shown(name) + "; there are " + some_of(listing.files),
          where);
    }
    LOCUS_TRY(const std::vector<std::string> parts, with_its_parts(listing, name, read, where));
    files.insert(parts.begin(), parts.end());
  }
  constexpr std::string_view kTraining = "training_state.safetensors";
  for (const std::string& name : listing.files) {
    if (formats::is_read_by_name(name) && name != kTraining) {
      files.insert(name);
    }
  }
  return std::vector<std::string>(files.begin(), files.end());
}

}  // namespace locus::hub
