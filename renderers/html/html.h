// HTML: a Figure as one page for a browser, which needs nothing else: no network, no other file. It holds what paper
// cannot: the value of every cell under the pointer with the names of its tokens, zoom (the wheel at the pointer,
// dragging; a double click fits), curves and histograms that the legend hides and shows, numbers as tables.
//
// The page carries its data, and draws them where it is read: maps keep the resolution of their fields, exact where a
// figure has few cells, else rounded as packed_field.h says, which the page itself says too. Words are text. Whatever a
// token, a title or a name contains, it is never read as markup or as script: all of it is data of one JSON text in
// which no "<" stands, and its policy of content allows the page's own script alone. The same figure makes the same
// bytes.
#pragma once

#include <QByteArray>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "renderers/figure/figure.h"

namespace locus::html {

struct PageOptions {
  double text_px = 12;  // of labels
  bool dark = false;
};

// Errors: kTooLarge where the maps together have more than kMaxCells.
inline constexpr std::size_t kMaxCells = std::size_t{1} << 26;
Result<QByteArray> encode(const figure::Figure& figure, const PageOptions& options);

// The recipe of a page made here; none where it holds none.
std::optional<std::string> recipe_of(const QByteArray& page);

}  // namespace locus::html
