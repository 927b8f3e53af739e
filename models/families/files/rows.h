// Rows of a family file: parameters of a transformer and the tensors that hold them.
#pragma once

#include <string>
#include <vector>

#include "models/families/engine/family.h"
#include "models/formats/json/node.h"

namespace locus::families {

// A parameter (with braces and N and J as in transformer::Name) and its tensors, in the order in which they are looked
// for; without any, the inherited rows are removed.
struct FileRow {
  std::string parameter;
  std::vector<Name> names;
};

// An object of rows: PARAMETER: TENSOR, [TENSOR, WORD, …] or a list of these; WORD is a part "1/2", "transposed", "plus
// one", "stacked", "rows" (every of-th row) or "reshaped". Remembers as the node's error what is wrong: an unknown
// parameter, braces that differ, an unknown word.
std::vector<FileRow> read_rows(const formats::Node& node);

// Puts rows in place of those of the same parameters in both lists, and adds them to the first.
void replace_rows(const std::vector<FileRow>& rows, std::vector<Name>& names, std::vector<Name>& others);

// The first parameter that two of the rows name; "" where there is none.
std::string named_twice(const std::vector<FileRow>& rows);

}  // namespace locus::families
