// Data as a file: NPY (version 1.0, little-endian float32, C order) or CSV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

// The table with columns of words before its numbers: `words` row by row.
Data with_words(Data table, std::vector<std::string> names, std::vector<std::string> words);

DataParts in_one_part(Data data);
Result<Data> collected(const DataParts& parts);

// By the name's ending; atomic; a part at a time, so that no more than one is held. With a recipe (JSON), it goes to
// `<file>.recipe.json`. Errors: kUsage for another ending than .npy and .csv, kBadInput when the file cannot be
// written, kCancelled, those of the parts.
//
// In CSV a table has its column names in the first line; with more names than numbers a row it has words in the first
// columns, `titles` row by row (CSV alone). A map has one line per row, maps of more than two axes one block of lines
// after the other with an empty line between. Tokens and titles of maps stand in comments: "# tokens,The, cat" once, "#
// text-rope, layer 0, head 3: attention weight" over each map. Numbers round-trip; NaN is "nan".
Status write_data(const DataParts& parts, const std::string& recipe, const std::filesystem::path& file,
                  const StopToken& stop = {}, const Progress& progress = {});

// Errors: kUsage unless the name ends in .npy or .csv.
Status check_data_name(const std::filesystem::path& file);

}  // namespace locus::views
