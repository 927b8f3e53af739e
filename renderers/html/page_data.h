// A Figure as the JSON that its page draws from (page/*.js read it).
#pragma once

#include <QByteArray>

#include "renderers/figure/figure.h"
#include "renderers/figure/style.h"

namespace locus::html {

// Maps of a figure with no more cells than this are exact (float32), others float16: 1024² cells stay below 3 MB.
inline constexpr std::size_t kExactCells = std::size_t{1} << 17;

bool is_exact(const figure::Figure& figure);

// {theme, title, columns, exact, names: [{cells, words}], fields, images, colormaps, panels}; without "<", ">" and "&",
// which it writes as \u003c and so on.
QByteArray page_data(const figure::Figure& figure, const figure::Style& style);

// JSON in which nothing can end a script element.
QByteArray without_markup(QByteArray json);

}  // namespace locus::html
