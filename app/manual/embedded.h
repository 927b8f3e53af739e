// The files of assets/manual as they are, compiled in (cmake/EmbedPages.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace locus::manual {

struct EmbeddedPage {
  std::string_view name;  // of the file, without .md
  std::string_view text;
};

// In the order of their names.
const std::vector<EmbeddedPage>& embedded_pages();

}  // namespace locus::manual
