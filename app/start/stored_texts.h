// What the build asked the program to print, kept in the executable that starts at once (cmake/StoredTexts.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace locus::start {

struct StoredText {
  std::string_view words;  // of the command line: "figure --help"
  std::string_view text;   // without its last line end
};

const std::vector<StoredText>& stored_texts();

}  // namespace locus::start
