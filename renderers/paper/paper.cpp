#include "renderers/paper/paper.h"

#include <QGuiApplication>
#include <algorithm>
#include <cmath>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "renderers/html/html.h"
#include "renderers/paper/formats.h"
#include "renderers/paper/limits.h"
#include "renderers/paper/png_chunks.h"

namespace locus::paper {
namespace {

constexpr double kPointsPerMm = 72 / 25.4;
constexpr double kSmallestPt = 6;  // what journals ask for
constexpr double kUsualPt = 7;     // text on paper is so large where it is
constexpr double kPagePx = 12.5;   // so large on a page for a browser
constexpr double kMaxPixels = 1 << 28;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

Status check(const char* what, double value, const Limits& limits, const char* unit) {
  return limits.hold(value)
             ? Status()
             : Status(usage(std::string(what) + " of a figure: expected " + number_text(limits.low) + " to " +
                            number_text(limits.high) + " " + unit + ", found " + number_text(value)));
}

Status check_options(const PaperOptions& options) {
  LOCUS_CHECK(check("width", options.width_mm, kWidthMm, "mm"));
  LOCUS_CHECK(options.height_mm == 0 ? Status() : check("height", options.height_mm, kHeightMm, "mm"));
  LOCUS_CHECK(check("resolution", options.dpi, kDpi, "dpi"));
  LOCUS_CHECK(check("text size", options.text_pt, kTextPt, "pt"));
  if (QGuiApplication::instance() == nullptr) {
    return internal("a figure is painted without a QGuiApplication");
  }
  return {};
}

figure::Scene compose_page(const figure::Figure& figure, const PaperOptions& options, double pixel,
                           const text::Typeface& typeface) {
  figure::Style style =
      options.dark ? figure::Style::dark(options.text_pt, pixel) : figure::Style::light(options.text_pt, pixel);
  style.smallest = std::min(options.text_pt, kSmallestPt);
  const figure::Layout layout =
      figure::lay_out(figure, options.width_mm * kPointsPerMm, options.height_mm * kPointsPerMm, style, typeface);
  return figure::compose(figure, layout);
}

Status check_pixels(const figure::Scene& scene, double dpi) {
  const double pixels = scene.width * scene.height * (dpi / 72) * (dpi / 72);
  if (pixels > kMaxPixels) {
    return too_large("a figure of " + std::to_string(static_cast<long long>(pixels)) + " pixels; at most " +
                     std::to_string(static_cast<long long>(kMaxPixels)) + " are painted: lower the resolution");
  }
  return {};
}

}  // namespace

Result<Format> format_of(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  for (char& letter : ending) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (ending == ".png") {
    return Format::kPng;
  }
  if (ending == ".svg") {
    return Format::kSvg;
  }
  if (ending == ".pdf") {
    return Format::kPdf;
  }
  if (ending == ".html") {
    return Format::kHtml;
  }
  return usage(file.string() + ": a figure's name ends in .png, .svg, .pdf or .html");
}

Result<std::string> encode(const figure::Figure& figure, Format format, const PaperOptions& options) {
  LOCUS_CHECK(check_options(options));
  if (format == Format::kHtml) {
    LOCUS_TRY(const QByteArray page, html::encode(figure, {kPagePx * options.text_pt / kUsualPt, options.dark}));
    return page.toStdString();
  }
  const text::Typeface typeface;
  const double pixel = format == Format::kPng ? 72 / options.dpi : 0;
  const Page page{compose_page(figure, options, pixel, typeface), figure.title, figure.recipe, figure.description,
                  typeface};
  if (format == Format::kPng) {
    LOCUS_CHECK(check_pixels(page.scene, options.dpi));
  }
  LOCUS_TRY(const QByteArray bytes, format == Format::kPng   ? encode_png(page, options.dpi)
                                    : format == Format::kSvg ? encode_svg(page)
                                                             : encode_pdf(page));
  return bytes.toStdString();
}

Status export_figure(const figure::Figure& figure, const std::filesystem::path& file, const PaperOptions& options) {
  LOCUS_TRY(const Format format, format_of(file));
  LOCUS_TRY(const std::string bytes, encode(figure, format, options));
  return write_file(file, bytes);
}

Result<std::string> read_recipe(const std::filesystem::path& file) {
  LOCUS_TRY(const std::string content, read_file(file, kMaxFileBytes));
  const QByteArray bytes = QByteArray::fromStdString(content);
  const bool is_png = bytes.startsWith("\x89PNG");
  if (const Status whole = is_png ? check_png(content) : Status(); !whole.ok()) {
    return whole.error().within(file.string());
  }
  auto recipe = is_png ? recipe_of_png(bytes) : recipe_of_xml(bytes);
  recipe = recipe || is_png ? recipe : html::recipe_of(bytes);
  if (!recipe) {
    return bad_input("expected a PNG, SVG, PDF or HTML figure with an embedded recipe, found none", file.string());
  }
  return *recipe;
}

Result<Pixels> render(const figure::Figure& figure, const PaperOptions& options) {
  LOCUS_CHECK(check_options(options));
  const text::Typeface typeface;
  const Page page{compose_page(figure, options, 72 / options.dpi, typeface), figure.title, figure.recipe,
                  figure.description, typeface};
  LOCUS_CHECK(check_pixels(page.scene, options.dpi));
  const QImage image = rasterise(page, options.dpi).convertToFormat(QImage::Format_RGBA8888);
  Pixels pixels{image.width(), image.height(), {}};
  pixels.rgba.reserve(static_cast<std::size_t>(image.width()) * static_cast<std::size_t>(image.height()) * 4);
  for (int y = 0; y < image.height(); ++y) {
    const std::uint8_t* line = image.constScanLine(y);
    pixels.rgba.insert(pixels.rgba.end(), line, line + static_cast<std::ptrdiff_t>(image.width()) * 4);
  }
  return pixels;
}

}  // namespace locus::paper
