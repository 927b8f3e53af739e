// Recipe: what makes a figure or a data file again, embedded in it as JSON: a session of one view, the checkpoints'
// digests, and the sizes on paper.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/session/paper_fields.h"
#include "app/session/session.h"
#include "core/base/result.h"

namespace locus::session {

struct Recipe {
  Session session;
  PaperState paper;
  std::vector<std::string> digests;  // SHA-256 of each checkpoint's weights; empty where it was not computed
  // The paths of a parsed recipe as it has them: kept, so that a figure made again from anywhere is the same file.
  std::vector<std::string> stored;
};

// Paths are relative to the working directory when below it: a recipe's file is not known here.
std::string to_json(const Recipe& recipe, const StateFields& fields = state_fields());
// Stored paths are looked for from the working directory and from the recipe's folder (find_stored()), then by their
// SHA-256 (find_weights()). Errors: kBadInput naming `file`, the field, what is expected and what was found. A
// checkpoint that is found nowhere is no error here.
Result<Recipe> parse_recipe(const std::string& text, const std::string& file);

// SHA-256 of a checkpoint: of its one file, or of the list of its files' digests, one line each. Empty when they are
// larger than a gigabyte together.
Result<std::string> checkpoint_digest(const std::vector<std::string>& files);

// The file of one layer and head of many: "map.png" becomes "map-l3-h1.png".
std::filesystem::path numbered(const std::filesystem::path& file, std::int64_t layer, std::int64_t head);

}  // namespace locus::session
