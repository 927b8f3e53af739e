// Paper: a Figure as a PNG, SVG or PDF file, ready for a paper's column, or as a page for a browser (html/html.h). The same figure and options give the same
// bytes on the same machine: no dates, no random names. Needs a QGuiApplication (its offscreen platform is enough).
//
// No type is smaller than 6 pt. Text stays text (SVG names DejaVu Sans, PDF embeds it). In SVG and PDF a heat map is a
// lossless image with one pixel a cell, drawn without smoothing; in PNG it is drawn at the file's pixels, reduced where
// a pixel covers several cells. The figure's recipe is embedded: PNG text "locus.recipe", SVG <metadata>, PDF XMP
// metadata; a page shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/scene.h"

namespace locus::paper {

enum class Format { kPng, kSvg, kPdf, kHtml };

struct PaperOptions {    // a page takes the width that its window has, and of these text_pt and dark
  double width_mm = 84;  // one column of a two-column paper
  double height_mm = 0;  // 0: as high as the figure likes
  double text_pt = 7;    // labels; ticks, titles and notes follow
  double dpi = 300;      // of PNG
  bool dark = false;
};

// By the name's ending. Errors: kUsage for another than .png, .svg, .pdf and .html.
Result<Format> format_of(const std::filesystem::path& file);

// The file's bytes. Errors: kUsage for sizes out of range, kTooLarge for a PNG of more than 2^28 pixels.
Result<std::string> encode(const figure::Figure& figure, Format format, const PaperOptions& options);

// Writes the figure in the format of the file's ending, atomically.
Status export_figure(const figure::Figure& figure, const std::filesystem::path& file, const PaperOptions& options);

// The recipe embedded in a PNG, SVG, PDF or page made here. Errors: kBadInput when the file has none.
Result<std::string> read_recipe(const std::filesystem::path& file);

// Row-major RGBA, 8 bits a channel, not premultiplied; for the clipboard.
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba;
};
Result<Pixels> render(const figure::Figure& figure, const PaperOptions& options);

}  // namespace locus::paper
