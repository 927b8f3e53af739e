// The encoders behind paper.h: a Scene in points (1/72 inch) to a file's bytes, and the recipe back out of them.
#pragma once

#include <QByteArray>
#include <QImage>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "renderers/figure/scene.h"
#include "renderers/text/typeface.h"

namespace locus::paper {

struct Page {
  figure::Scene scene;
  std::string title;
  std::string recipe;
  std::string description;
  const text::Typeface& typeface;
};

QImage rasterise(const Page& page, double dpi);
Result<QByteArray> encode_png(const Page& page, double dpi);
Result<QByteArray> encode_svg(const Page& page);
Result<QByteArray> encode_pdf(const Page& page);

// None when the bytes hold no recipe.
std::optional<std::string> recipe_of_png(const QByteArray& bytes);
std::optional<std::string> recipe_of_xml(const QByteArray& bytes);  // the first <locus:recipe> element: SVG, XMP in PDF

// <locus:recipe xmlns:locus="…">…</locus:recipe>, or nothing for an empty recipe.
QByteArray recipe_element(const std::string& recipe);

}  // namespace locus::paper
