// Data as a file: NPY (version 1.0, little-endian float32, C order) or CSV.
#pragma once

#include <filesystem>
#include <string>

#include "app/views/view.h"

namespace locus::views {

std::string to_npy(const Data& data);
// A table has its column names in the first line; a map has one line a row, maps of more than two axes one block of
// lines after the other with an empty line between. Numbers round-trip; NaN is "nan".
std::string to_csv(const Data& data);

// Errors: kUsage unless the name ends in .npy or .csv.
Status check_data_name(const std::filesystem::path& file);

// By the name's ending; atomic. With a recipe (JSON), it goes to `<file>.recipe.json`. Errors: kUsage for another
// ending than .npy and .csv, kBadInput when the file cannot be written.
Status write_data(const Data& data, const std::string& recipe, const std::filesystem::path& file);

}  // namespace locus::views
