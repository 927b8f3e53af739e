#include "renderers/paper/paper.h"

#include <gtest/gtest.h>

#include <QByteArray>
#include <QImage>
#include <QJsonDocument>
#include <QXmlStreamReader>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "core/base/atomic_file.h"
#include "renderers/paper/map_image.h"
#include "renderers/paper/png_chunks.h"
#include "tests/support/sample_figures.h"

namespace locus::paper {
namespace {

std::filesystem::path scratch(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / "locus_paper_test";
  std::filesystem::create_directories(folder);
  return folder / name;
}

std::string encoded(const figure::Figure& figure, Format format, const PaperOptions& options = {}) {
  const auto bytes = encode(figure, format, options);
  EXPECT_TRUE(bytes) << bytes.error().describe();
  return bytes ? *bytes : "";
}

// The bytes of the stream of the object whose dictionary holds `key`, inflated.
QByteArray pdf_stream(const std::string& pdf, const std::string& key) {
  const std::size_t at = pdf.find(key);
  const std::size_t begin = pdf.find("stream\n", at) + 7;
  const std::size_t end = pdf.find("\nendstream", begin);
  QByteArray packed(4, '\0');
  packed[1] = 1;  // qUncompress wants a guess of the size first
  packed.append(pdf.data() + begin, static_cast<qsizetype>(end - begin));
  return qUncompress(packed);
}

TEST(Paper, TheSameFigureGivesTheSameBytes) {
  for (const Format format : {Format::kPng, Format::kSvg, Format::kPdf, Format::kHtml}) {
    for (const auto& figure : {samples::attention(20), samples::length_curve(), samples::token_strip()}) {
      EXPECT_EQ(encoded(figure, format), encoded(figure, format));
    }
  }
}

// A value between two that are missing is a dot on paper, as it is on the screen.
TEST(Paper, ALonelyValueIsADot) {
  figure::Curve curve;
  curve.x = {0.2, 0.5, 0.8};
  curve.y = {std::nan(""), 0.5, std::nan("")};
  curve.color = 0xFF0000FF;
  curve.width_px = 4;
  figure::Figure figure;
  figure.panels.emplace_back().layers.emplace_back(curve);
  QImage image;
  const std::string png = encoded(figure, Format::kPng);
  ASSERT_TRUE(image.loadFromData(reinterpret_cast<const uchar*>(png.data()), static_cast<int>(png.size())));
  int red = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const QColor color = image.pixelColor(x, y);
      red += color.red() > 200 && color.green() < 80 && color.blue() < 80 ? 1 : 0;
    }
  }
  EXPECT_GT(red, 50);
}

TEST(Paper, RecipesComeBackFromEveryFormat) {
  figure::Figure figure = samples::histogram();
  figure.recipe = R"({"text":"café <&> ]]> \"ж\" 数\\n","base":10000.0})";
  for (const char* name : {"a.png", "a.svg", "a.PDF", "a.html"}) {
    ASSERT_TRUE(export_figure(figure, scratch(name), {}));
    const auto recipe = read_recipe(scratch(name));
    ASSERT_TRUE(recipe) << recipe.error().describe();
    EXPECT_EQ(*recipe, figure.recipe) << name;
  }
}

// Tokens, titles and texts may have characters that XML has no place for.
// In words, for readers who cannot see the figure.
TEST(Paper, EveryFormatHasThePlaceForTheDescription) {
  figure::Figure figure = samples::attention(8);
  figure.recipe = "{}";
  figure.description = "head 1.2 reads “⏎” & more: 62 % < 70 %";
  const std::string escaped = "head 1.2 reads “⏎” &amp; more: 62 % &lt; 70 %";
  EXPECT_EQ(text_of_png(encoded(figure, Format::kPng), "Description"), figure.description);
  EXPECT_NE(encoded(figure, Format::kSvg).find("<desc>" + escaped + "</desc>"), std::string::npos);
  EXPECT_NE(encoded(figure, Format::kPdf).find("<rdf:li xml:lang=\"x-default\">" + escaped + "</rdf:li>"),
            std::string::npos);
  EXPECT_NE(encoded(figure, Format::kHtml).find(escaped), std::string::npos);
}

TEST(Paper, WhateverItSaysAnSvgIsXml) {
  const std::string hostile = std::string("a\0\x1B[31m\x0B \uFFFE \uFFFF \uFFFD <&> \"", 26);
  figure::Figure figure = samples::histogram();
  figure.title = figure.description = hostile;
  figure.recipe = "{\"text\":\"\uFFFE \uFFFF\"}";
  for (figure::Panel& panel : figure.panels) {
    panel.title = hostile;
    panel.x.label = hostile;
  }
  const auto svg = encode(figure, Format::kSvg, {});
  ASSERT_TRUE(svg) << svg.error().describe();
  QXmlStreamReader reader(QByteArray::fromStdString(*svg));
  QString words;
  while (!reader.atEnd()) {
    reader.readNext();
    words += reader.isCharacters() ? reader.text().toString() : QString();
  }
  EXPECT_FALSE(reader.hasError()) << reader.errorString().toStdString();
  EXPECT_TRUE(words.contains(QStringLiteral("\\x1B[31m"))) << words.toStdString();
  EXPECT_TRUE(words.contains(QStringLiteral("\\uFFFE")));
  // The recipe is the same value.
  for (const char* name : {"x.svg", "x.pdf", "x.html", "x.png"}) {
    ASSERT_TRUE(export_figure(figure, scratch(name), {}));
    const auto recipe = read_recipe(scratch(name));
    ASSERT_TRUE(recipe) << name;
    EXPECT_EQ(QJsonDocument::fromJson(QByteArray::fromStdString(*recipe)),
              QJsonDocument::fromJson(QByteArray::fromStdString(figure.recipe)))
        << name << ": " << *recipe;
  }
}

// A chunk of a PNG, whole.
std::string chunk(const std::string& kind, const std::string& data) {
  const auto number = [](std::uint32_t value) {
    return std::string{static_cast<char>(value >> 24U), static_cast<char>(value >> 16U), static_cast<char>(value >> 8U),
                       static_cast<char>(value)};
  };
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : kind + data) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1U) != 0 ? 0xEDB88320U ^ (crc >> 1U) : crc >> 1U;
    }
  }
  return number(static_cast<std::uint32_t>(data.size())) + kind + data + number(crc ^ 0xFFFFFFFFU);
}

// Whole chunks in an order, or with data, that libpng has much to say of.
TEST(Paper, ADamagedPngIsSilent) {
  using namespace std::string_literals;
  const std::string start = "\x89PNG\r\n\x1A\n" + chunk("IHDR", "\0\0\0\1\0\0\0\1\x08\0\0\0\0"s);
  const std::string end = chunk("IEND", "");
  const std::string packed("\0\0\0\4abcd", 8);
  for (const std::string& inner :
       {""s, chunk("PLTE", "abc"), chunk("IDAT", "broken"), chunk("zTXt", "locus.recipe\0\0broken"s),
        chunk("zTXt", "locus.recipe"), chunk("iTXt", "locus.recipe\0\1"s), chunk("iTXt", "locus.recipe\0\1\0x\0y\0z"s),
        chunk("tEXt", "locus.recip\0e"s), chunk("IHDX", "x")}) {
    ASSERT_TRUE(write_file(scratch("damaged.png"), start + inner + end));
    testing::internal::CaptureStderr();
    const auto recipe = read_recipe(scratch("damaged.png"));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    ASSERT_FALSE(recipe) << *recipe;
    EXPECT_EQ(recipe.error().code, ErrorCode::kBadInput);
  }
  // Texts of each kind are read, whoever wrote them.
  for (const auto& [kind, data] :
       {std::pair{"tEXt"s, "locus.recipe\0{\xE9}"s}, {"iTXt"s, "locus.recipe\0\0\0fr\0recette\0{\u00E9}"s}}) {
    ASSERT_TRUE(write_file(scratch("damaged.png"), start + chunk("tEXt", "other\0x"s) + chunk(kind, data) + end));
    EXPECT_EQ(read_recipe(scratch("damaged.png")).value(), "{\u00E9}") << kind;
  }
  const QByteArray zipped = qCompress(QByteArray("{\xE9}")).mid(4);
  ASSERT_TRUE(
      write_file(scratch("damaged.png"), start + chunk("zTXt", "locus.recipe\0\0"s + zipped.toStdString()) + end));
  EXPECT_EQ(read_recipe(scratch("damaged.png")).value(), "{\u00E9}");
}

TEST(Paper, FilesWithoutRecipeSaySo) {
  figure::Figure figure = samples::histogram();
  for (const char* name : {"b.png", "b.svg", "b.pdf", "b.html"}) {
    ASSERT_TRUE(export_figure(figure, scratch(name), {}));
    const auto recipe = read_recipe(scratch(name));
    ASSERT_FALSE(recipe);
    EXPECT_EQ(recipe.error().code, ErrorCode::kBadInput);
  }
  for (const std::string& content : {std::string("\x89PNG\r\n\x1a\n broken"), std::string("<locus:recipe>"),
                                     std::string("<locus:recipe><a></locus:recipe>"), std::string()}) {
    ASSERT_TRUE(write_file(scratch("broken"), content));
    EXPECT_FALSE(read_recipe(scratch("broken")));
  }
  EXPECT_EQ(read_recipe(scratch("missing")).error().code, ErrorCode::kBadInput);
}

TEST(Paper, BadRequestsAreUsageErrors) {
  const figure::Figure figure = samples::histogram();
  EXPECT_EQ(export_figure(figure, scratch("a.jpg"), {}).error().code, ErrorCode::kUsage);
  PaperOptions options;
  options.width_mm = -1;
  EXPECT_EQ(encode(figure, Format::kPdf, options).error().code, ErrorCode::kUsage);
  options.width_mm = std::nan("");
  EXPECT_EQ(encode(figure, Format::kPdf, options).error().code, ErrorCode::kUsage);
  options = {};
  options.width_mm = 2000;
  options.dpi = 2400;
  EXPECT_EQ(encode(figure, Format::kPng, options).error().code, ErrorCode::kTooLarge);
}

TEST(Paper, PngHasTheAskedSize) {
  PaperOptions options;
  options.width_mm = 50.8;
  options.height_mm = 25.4;
  options.dpi = 300;
  const std::string png = encoded(samples::histogram(), Format::kPng, options);
  const QImage image = QImage::fromData(QByteArray::fromStdString(png));
  EXPECT_EQ(image.size(), QSize(600, 300));
  EXPECT_NEAR(image.dotsPerMeterX() * 0.0254, 300, 0.1);
}

TEST(Paper, TextStaysText) {
  const std::string svg = encoded(samples::attention(20), Format::kSvg);
  EXPECT_NE(svg.find(">attention weight</text>"), std::string::npos);
  EXPECT_NE(svg.find("width=\"84mm\""), std::string::npos);
  EXPECT_NE(svg.find("DejaVu Sans"), std::string::npos);
  const std::string pdf = encoded(samples::attention(20), Format::kPdf);
  EXPECT_NE(pdf.find("/FontFile2"), std::string::npos);
  EXPECT_NE(pdf.find("/ToUnicode"), std::string::npos);
}

// Nothing of the moment, of which Qt writes more with each version: dates in two places, a random identifier.
TEST(Paper, APdfIsTheSameAtAnyTime) {
  const std::string first = encoded(samples::attention(20), Format::kPdf);
  EXPECT_NE(first.find("/CreationDate (D:20000101000000Z)"), std::string::npos);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // dates have whole seconds
  EXPECT_EQ(encoded(samples::attention(20), Format::kPdf), first);
}

TEST(Paper, APdfMapHasAPixelACell) {
  const figure::Figure figure = samples::attention(20);
  const auto& map = std::get<figure::HeatMap>(figure.panels[0].layers[0]);
  const std::string pdf = encoded(figure, Format::kPdf);
  ASSERT_NE(pdf.find("/Width 20\n/Height 20\n"), std::string::npos);
  const QByteArray cells = pdf_stream(pdf, "/Width 20\n/Height 20\n");
  ASSERT_EQ(cells.size(), 400);
  for (std::int64_t r = 0; r < 20; ++r) {
    for (std::int64_t c = 0; c < 20; ++c) {
      const auto index = static_cast<unsigned char>(cells[qsizetype{20 * r + c}]);
      const float value = map.field->at(r, c);
      EXPECT_EQ(index, std::isnan(value) ? 255 : std::lround(value * 254)) << r << ", " << c;
    }
  }
}

TEST(Paper, APdfsCrossReferencesPointAtTheirObjects) {
  const std::string pdf = encoded(samples::attention_pair(), Format::kPdf);
  const std::size_t start = std::stoul(pdf.substr(pdf.rfind("startxref") + 10));
  ASSERT_EQ(pdf.substr(start, 5), "xref\n");
  const std::size_t first = pdf.find('\n', start + 5) + 1;
  int objects = 0;
  for (std::size_t n = 1; pdf.compare(first + 20 * n, 7, "trailer") != 0; ++n) {
    const std::string entry = pdf.substr(first + 20 * n, 20);
    ASSERT_EQ(entry.size(), 20U);
    if (entry[17] == 'n') {
      const std::string begin = std::to_string(n) + " 0 obj";
      EXPECT_EQ(pdf.substr(std::stoul(entry.substr(0, 10)), begin.size()), begin);
      ++objects;
    }
  }
  EXPECT_GT(objects, 10);
}

TEST(Paper, OnlyTheVisibleCellsAreEmbedded) {
  figure::Figure figure = samples::attention(200);
  figure.panels[0].x.view = {10.5, 20.5};
  figure.panels[0].y.view = {60, 50};
  EXPECT_NE(encoded(figure, Format::kPdf).find("/Width 11\n/Height 10\n"), std::string::npos);
}

TEST(Paper, MirroredAxesMirrorTheCells) {
  figure::MapMark mark;
  mark.field = samples::waves(3, 2);
  mark.scale.low = -1;
  mark.x_begin = 20;  // column 0 on the right
  mark.x_end = 0;
  mark.y_begin = 30;  // row 0 at the bottom
  mark.y_end = 0;
  const IndexedMap map = data_image(mark, {0, 0, 20, 30});
  ASSERT_EQ(map.cells.size(), 6U);
  const auto expected = [&](std::int64_t r, std::int64_t c) {
    return std::lround((mark.field->at(r, c) + 1) / 2 * 254);
  };
  EXPECT_EQ(map.cells[0], expected(2, 1));
  EXPECT_EQ(map.cells[5], expected(0, 0));
  const QImage pixels = pixel_image(mark, {0, 0, 20, 30});
  EXPECT_EQ(figure::color_of(mark.scale, mark.field->at(2, 1)) >> 8, pixels.pixel(2, 2) & 0xFFFFFF);
  EXPECT_EQ(figure::color_of(mark.scale, mark.field->at(0, 0)) >> 8, pixels.pixel(17, 27) & 0xFFFFFF);
}

TEST(Paper, TranslucentMasksLetTheImageThrough) {
  figure::Figure figure = samples::image_overlay();
  auto& map = std::get<figure::HeatMap>(figure.panels[0].layers[1]);
  Field field = *map.field;
  std::fill(field.values.begin(), field.values.end(), std::nanf(""));
  map.field = std::make_shared<const Field>(std::move(field));
  map.scale.mask_color = 0x00000000;
  figure.panels[0].show_axes = false;
  figure::Figure bare = figure;
  bare.panels[0].layers.pop_back();
  bare.panels[0].color_bar_label = "";
  figure.panels[0].color_bar_label = "";
  EXPECT_EQ(render(figure, {})->rgba, render(bare, {})->rgba);
  EXPECT_NE(encoded(figure, Format::kPdf).find("/Mask [255 255]"), std::string::npos);
}

TEST(Paper, DarkThemesAreDark) {
  PaperOptions options;
  options.dark = true;
  const auto pixels = render(samples::histogram(), options);
  ASSERT_TRUE(pixels);
  EXPECT_LT(pixels->rgba[0], 64);
}

}  // namespace
}  // namespace locus::paper
