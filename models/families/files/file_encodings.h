// Position encodings of a family file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/families/files/value.h"
#include "models/transformer/plan.h"

namespace locus::families {

// An encoding by its name in the file: {"rope": PATH or [PATH, …], "base": VALUE, "pairs": "halves", "neighbours"
// or "swapped", "fraction": VALUE} reads RoPE from the first of these objects that the config has ("rope_parameters" alone: as
// set_rope() does, with rope_scaling and blocks by layer type), with "bases": LIST a base for each layer, 0 for a layer
// that does not turn; {"kind": NAME, OPTION: VALUE, …} is any encoding.
struct FileEncoding {
  std::string name;
  std::string kind;
  std::vector<std::string> paths;
  const char* layout = "half";  // of RoPE's pairs (core/position/rope.h)
  std::vector<Value> base;
  std::string bases;  // a list of the config; "": none
  std::vector<Value> fraction;
  std::vector<std::pair<std::string, Value>> options;
};

// Remembers a wrong value as the node's error.
std::vector<FileEncoding> read_file_encodings(const formats::Node& node);

// Sets the plan's encodings; every layer has the first. Errors: those of rope_options(), kBadInput.
Status apply_file_encodings(const std::vector<FileEncoding>& encodings, const formats::Config& config,
                            transformer::Plan& plan);

}  // namespace locus::families
