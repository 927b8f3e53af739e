// FileDraft: a family file before it is written, and what of a checkpoint it explains.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/families/engine/family.h"
#include "models/formats/json/tree.h"

namespace locus::families {

// The keys of assets/manual/families.md; those without content are not written.
struct FileDraft {
  std::string name;
  std::string inherits;
  std::string note;
  std::map<std::string, formats::Tree> set;
  std::map<std::string, formats::Tree> fields;
  std::map<std::string, formats::Tree> settled;
  std::vector<std::string> ignore;
  std::map<std::string, formats::Tree> encodings;
  std::vector<formats::Tree> layers;
  std::vector<std::string> prefixes;
  std::map<std::string, formats::Tree> tensors;
  std::map<std::string, formats::Tree> head;

  // The text of the file, a line for each key.
  std::string text() const;
  // The family that the text describes. Errors: those of read_family_draft().
  Result<Family> family() const;
  // Lines of content beyond what is inherited.
  std::size_t size() const;
};

// A row as a file writes it: "TENSOR", or ["TENSOR", "1/2", "transposed"].
formats::Tree written_row(const Name& row);

}  // namespace locus::families
