// Tables of the manual that commands write: between the lines <!-- COMMAND --> and <!-- end --> of a page.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/atomic_file.h"
#include "core/base/result.h"

namespace locus::cli {

// The file with this text instead of the one between its lines. Atomic. Errors: kBadInput for a file without both
// lines.
inline Status write_into(const std::string& file, const std::string& command, const std::string& text) {
  constexpr std::size_t kPageLimit = 16 << 20;
  const std::string opening = "<!-- " + command + " -->\n";
  LOCUS_TRY(std::string page, read_file(file, kPageLimit));
  const std::size_t line = page.find(opening);
  const std::size_t begin = line == std::string::npos ? line : line + opening.size();
  const std::size_t end = begin == std::string::npos ? begin : page.find("<!-- end -->", begin);
  if (end == std::string::npos) {
    return bad_input("expected a line <!-- " + command + " --> and below it a line <!-- end -->, found none", file);
  }
  page.replace(begin, end - begin, text);
  return write_file(file, page);
}

}  // namespace locus::cli
