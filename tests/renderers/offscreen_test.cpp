#include "renderers/vulkan/offscreen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "renderers/paper/paper.h"
#include "renderers/vulkan/resources.h"
#include "tests/support/sample_figures.h"

namespace locus::vulkan {
namespace {

using namespace figure;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

class OffscreenDrawing {
 public:
  explicit OffscreenDrawing(OffscreenOptions options = {}) {
    options.validation = true;
    auto made = Offscreen::create(options, typeface);
    EXPECT_TRUE(made) << made.error().describe();
    offscreen = *std::move(made);
  }
  ~OffscreenDrawing() {
    for (const std::string& message : offscreen->messages()) {
      ADD_FAILURE() << message;
    }
  }

  PixelImage draw(const Scene& scene) {
    const PlacedScene placed{&scene, 0, 0, 1};
    auto image = offscreen->render({&placed, 1}, static_cast<std::uint32_t>(scene.width),
                                   static_cast<std::uint32_t>(scene.height));
    EXPECT_TRUE(image) << image.error().describe();
    return image ? *std::move(image) : PixelImage{};
  }

  text::Typeface typeface;
  std::unique_ptr<Offscreen> offscreen;
};

std::shared_ptr<const Field> random_field(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.3F, 0.6F);
  Field field = Field::zeros(rows, columns);
  for (float& value : field.values) {
    value = random() % 16 == 0 ? kNone : normal(random);
  }
  field.values[0] = std::numeric_limits<float>::infinity();
  field.values[1] = -std::numeric_limits<float>::infinity();
  return std::make_shared<const Field>(std::move(field));
}

// One map alone, `zoom` pixels a cell.
Scene map_scene(std::shared_ptr<const Field> field, const ColorScale& scale, double zoom, Reduction reduction) {
  MapMark mark;
  mark.x_end = std::round(static_cast<double>(field->columns) * zoom);
  mark.y_end = std::round(static_cast<double>(field->rows) * zoom);
  mark.field = std::move(field);
  mark.scale = scale;
  mark.reduction = reduction;
  Scene scene{mark.x_end, mark.y_end, 0x000000FF, {}};
  Mark wrapped{mark, {0, 0, mark.x_end, mark.y_end}};
  scene.marks.push_back(wrapped);
  return scene;
}

int worst_channel(const std::uint8_t* pixel, Color color) {
  int worst = 0;
  for (int n = 0; n < 3; ++n) {
    worst = std::max(worst, std::abs(static_cast<int>(pixel[n]) - static_cast<int>(color >> (24 - 8 * n) & 0xFF)));
  }
  return worst;
}

TEST(Offscreen, ShaderColoursAreTheCpusColours) {
  OffscreenDrawing drawing;
  const auto field = random_field(64, 48, 1);
  for (const Colormap& map : colormaps()) {
    for (const auto& [transfer, centred] : {std::pair{Transfer::kLinear, false},
                                            {Transfer::kLog, false},
                                            {Transfer::kGamma, false},
                                            {Transfer::kLinear, true},
                                            {Transfer::kLog, true},
                                            {Transfer::kGamma, true}}) {
      ColorScale scale{map.name, transfer == Transfer::kLog ? 0.01F : -0.8F, 1.1F, transfer, 0.45F, 0x336699FF};
      scale.centred = centred;
      const PixelImage image = drawing.draw(map_scene(field, scale, 3, Reduction::kMax));
      for (std::int64_t r = 0; r < field->rows; ++r) {
        for (std::int64_t c = 0; c < field->columns; ++c) {
          const std::size_t pixel = static_cast<std::size_t>((3 * r + 1) * image.width + 3 * c + 1) * 4;
          ASSERT_LE(worst_channel(&image.rgba[pixel], color_of(scale, field->at(r, c))), 1)
              << map.name << " of " << field->at(r, c) << " at " << r << ", " << c;
        }
      }
    }
  }
}

// The share of pixels that differ by more than a rounding inside `area`.
double share_off(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b, std::uint32_t width,
                 const Rect& area) {
  double off = 0;
  for (auto y = static_cast<std::size_t>(area.y); y < static_cast<std::size_t>(area.bottom()); ++y) {
    for (auto x = static_cast<std::size_t>(area.x); x < static_cast<std::size_t>(area.right()); ++x) {
      const std::size_t at = (y * width + x) * 4;
      const Color color = Color{b[at]} << 24 | Color{b[at + 1]} << 16 | Color{b[at + 2]} << 8 | 0xFF;
      off += worst_channel(&a[at], color) > 1 ? 1 : 0;
    }
  }
  return off / (area.width * area.height);
}

TEST(Offscreen, ScreenAndPaperShowTheSameMap) {
  OffscreenDrawing drawing;
  paper::PaperOptions options;
  options.dpi = 72;
  options.text_pt = 12;
  options.width_mm = 640 * 25.4 / 72;
  options.height_mm = 480 * 25.4 / 72;
  for (const auto& [figure, allowed] : {std::pair(samples::attention(20), 0.0), std::pair(samples::attention(48), 0.0),
                                        std::pair(samples::attention(1500), 0.01)}) {
    const Style style = Style::light(12, 1);
    const auto screen = render(*drawing.offscreen, figure, 640, 480, style, drawing.typeface);
    const auto page = paper::render(figure, options);
    ASSERT_TRUE(screen && page);
    ASSERT_EQ(page->width, 640);
    ASSERT_EQ(page->height, 480);
    const Layout layout = lay_out(figure, 640, 480, style, drawing.typeface);
    EXPECT_LE(share_off(screen->rgba, page->rgba, 640, layout.panels[0].plot), allowed);
    EXPECT_LE(share_off(screen->rgba, page->rgba, 640, layout.panels[0].color_bar), 0.0);
  }
}

TEST(Offscreen, ReductionsAreTheCpus) {
  OffscreenDrawing drawing;
  const auto field = random_field(300, 300, 2);
  for (const Reduction reduction : {Reduction::kMax, Reduction::kMean}) {
    for (const double zoom : {0.6, 0.5, 0.21}) {
      const ColorScale scale{"gray", -1, 2, Transfer::kLinear, 1, 0xFF0000FF};
      const PixelImage image = drawing.draw(map_scene(field, scale, zoom, reduction));
      const Pyramid pyramid(field, {0, 0, 300, 300}, reduction);
      const double cells = 300.0 / image.width;
      const double center = 0.5 + kSampleShift;
      int off = 0;
      for (std::uint32_t y = 0; y < image.height; ++y) {
        for (std::uint32_t x = 0; x < image.width; ++x) {
          const float value = pyramid.sample((y + center) * cells, (x + center) * cells, cells, cells);
          off += worst_channel(&image.rgba[(std::size_t{y} * image.width + x) * 4], color_of(scale, value)) > 1 ? 1 : 0;
        }
      }
      // A sample that falls on the edge of two cells may be rounded to either.
      EXPECT_LE(off, 0.02 * image.width * image.height) << zoom;
    }
  }
}

TEST(Offscreen, TilesJoinWithoutASeam) {
  OffscreenOptions options;
  options.fields.tile = 300;  // rounded down to 256
  OffscreenDrawing tiled(options);
  OffscreenDrawing whole;
  const auto field = random_field(700, 600, 3);
  const ColorScale scale{"viridis", -1, 2, Transfer::kLinear, 1, 0xD0D0D0FF};
  for (const double zoom : {2.0, 1.37}) {
    const Scene scene = map_scene(field, scale, zoom, Reduction::kMax);
    EXPECT_TRUE(tiled.draw(scene).rgba == whole.draw(scene).rgba) << zoom;
  }
}

TEST(Offscreen, StagedSlicedAndWholeUploadsShowTheSame) {
  OffscreenOptions options;
  options.fields.maps_memory = false;
  OffscreenDrawing staged(options);
  options.fields.slice_cells = 1;  // a band of 256 rows a frame
  OffscreenDrawing sliced(options);
  OffscreenDrawing whole;
  // Rows that bands do not divide, fewer than a band of them, columns fewer than a strip: every shape of strips and
  // levels.
  for (const auto& [rows, columns] :
       {std::pair(1300, 700), std::pair(200, 900), std::pair(3000, 3), std::pair(3, 3000)}) {
    const auto field = random_field(rows, columns, 6);
    const ColorScale scale{"viridis", -1, 2, Transfer::kLinear, 1, 0xD0D0D0FF};
    const Scene scene = map_scene(field, scale, 0.37, Reduction::kMean);
    const PixelImage expected = whole.draw(scene);
    EXPECT_FALSE(whole.offscreen->stats().pending);
    EXPECT_EQ(whole.offscreen->stats().waiting, 0U);
    EXPECT_TRUE(staged.draw(scene).rgba == expected.rgba) << rows << " × " << columns;
    PixelImage last = sliced.draw(scene);
    EXPECT_EQ(sliced.offscreen->stats().waiting, static_cast<std::size_t>(std::max(1, rows / 256) - 1));
    int frames = 1;
    for (; sliced.offscreen->stats().pending; ++frames) {
      last = sliced.draw(scene);
    }
    EXPECT_EQ(frames, std::max(1, rows / 256));
    EXPECT_TRUE(last.rgba == expected.rgba) << rows << " × " << columns;
    EXPECT_TRUE(sliced.draw(scene).rgba == expected.rgba);
    EXPECT_EQ(sliced.offscreen->stats().bytes_uploaded, 0U);
  }
}

TEST(Offscreen, OfAFieldThatBecomesExactOnlyChangedBandsAreWritten) {
  OffscreenOptions options;
  options.fields.maps_memory = false;
  options.fields.slice_cells = 1;
  OffscreenDrawing sliced(options);
  OffscreenDrawing mapped;
  OffscreenDrawing plain;
  for (const auto& [rows, columns] : {std::pair(1300, 700), std::pair(300, 300)}) {
    const auto base = random_field(rows, columns, 8);
    const auto exact = random_field(rows, columns, 9);
    const ColorScale scale{"viridis", -1, 2, Transfer::kLinear, 1, 0xD0D0D0FF};
    // Growing to both sides, all, and back to a part when a cache has forgotten the rest.
    for (const Range refined :
         {Range{}, Range{100, 200}, Range{100, 290}, Range{50, 300}, Range{0, rows}, Range{20, 40}}) {
      Field field = *base;
      std::copy(exact->values.begin() + refined.begin * columns, exact->values.begin() + refined.end * columns,
                field.values.begin() + refined.begin * columns);
      const auto shown = std::make_shared<const Field>(std::move(field));
      Scene scene = map_scene(shown, scale, 0.37, Reduction::kMax);
      const PixelImage expected = plain.draw(scene);
      auto& mark = std::get<MapMark>(scene.marks.front().shape);
      mark.base = base;
      mark.refined = refined;
      EXPECT_TRUE(mapped.draw(scene).rgba == expected.rgba) << rows << ": " << refined.begin << " … " << refined.end;
      if (refined == Range{100, 200} && rows == 1300) {
        // One band of 256 rows of 1300, with its pyramid.
        EXPECT_LT(4 * mapped.offscreen->stats().bytes_uploaded, plain.offscreen->stats().bytes_uploaded);
      }
      PixelImage last = sliced.draw(scene);
      while (sliced.offscreen->stats().pending) {
        last = sliced.draw(scene);
      }
      EXPECT_TRUE(last.rgba == expected.rgba) << rows << ": " << refined.begin << " … " << refined.end;
      EXPECT_TRUE(sliced.draw(scene).rgba == expected.rgba);
      EXPECT_EQ(sliced.offscreen->stats().bytes_uploaded, 0U);
      EXPECT_EQ(sliced.offscreen->stats().fields, 1U);
    }
  }
}

TEST(Offscreen, RangeScaleColormapAndZoomUploadNothing) {
  OffscreenDrawing drawing;
  const auto field = random_field(512, 512, 4);
  drawing.draw(map_scene(field, {}, 1, Reduction::kMax));
  EXPECT_GE(drawing.offscreen->stats().bytes_uploaded, 512U * 512U * 4U);
  for (const ColorScale& scale :
       {ColorScale{"magma", 0.2F, 3, Transfer::kLog, 1, 0}, ColorScale{"vik", -1, 1, Transfer::kGamma, 2, 0}}) {
    for (const double zoom : {1.0, 0.7}) {
      drawing.draw(map_scene(field, scale, zoom, Reduction::kMax));
      EXPECT_EQ(drawing.offscreen->stats().bytes_uploaded, 0U);
    }
  }
}

TEST(Offscreen, ThousandsOfThumbnailsAreOneDraw) {
  OffscreenDrawing drawing;
  Scene scene{1000, 500, 0x000000FF, {}};
  std::vector<std::shared_ptr<const Field>> fields;
  for (int n = 0; n < 2000; ++n) {
    MapMark mark;
    mark.field = n < 1000 ? random_field(16, 16, static_cast<unsigned>(n)) : fields[static_cast<std::size_t>(n - 1000)];
    fields.push_back(mark.field);
    mark.x_begin = n % 50 * 20;
    mark.x_end = mark.x_begin + 16;
    const int row = n / 50;
    mark.y_begin = row * 12;
    mark.y_end = mark.y_begin + 12;
    Mark wrapped{mark, {0, 0, 1000, 500}};
    scene.marks.push_back(wrapped);
  }
  drawing.draw(scene);
  EXPECT_EQ(drawing.offscreen->stats().draws, 1U);
  EXPECT_EQ(drawing.offscreen->stats().fields, 1000U);
}

TEST(Offscreen, TexturesGoWithTheirFields) {
  OffscreenDrawing drawing;
  for (const std::int64_t size : {40, 400}) {
    auto field = random_field(size, size, 5);
    Scene scene = map_scene(field, {}, 1, Reduction::kMax);
    drawing.draw(scene);
    EXPECT_EQ(drawing.offscreen->stats().fields, 1U);
    scene = Scene{8, 8, 0xFFFFFFFF, {}};
    field.reset();
    drawing.draw(scene);
    EXPECT_EQ(drawing.offscreen->stats().fields, 0U);
  }
}

TEST(Offscreen, TextureMemoryIsBounded) {
  OffscreenOptions options;
  options.fields.limit_bytes = VkDeviceSize{5} << 20;
  OffscreenDrawing drawing(options);
  std::vector<std::shared_ptr<const Field>> fields;
  for (unsigned n = 0; n < 6; ++n) {
    fields.push_back(random_field(600, 600, n));  // 1.9 MB each with its levels
    drawing.draw(map_scene(fields.back(), {}, 1, Reduction::kMax));
    EXPECT_LE(drawing.offscreen->stats().field_bytes, options.fields.limit_bytes);
  }
  // What was let go comes back.
  const ColorScale scale;
  const PixelImage image = drawing.draw(map_scene(fields[0], scale, 1, Reduction::kMax));
  const std::size_t pixel = (100 * 600 + 200) * std::size_t{4};
  EXPECT_LE(worst_channel(&image.rgba[pixel], color_of(scale, fields[0]->at(100, 200))), 1);
}

TEST(Offscreen, AFullLabelAtlasStartsAnew) {
  OffscreenDrawing drawing;
  for (int frame = 0; frame < 4; ++frame) {
    Scene scene{400, 400, 0xFFFFFFFF, {}};
    for (int n = 0; n < 400; ++n) {
      PlacedText text;
      text.text = "label number " + std::to_string(1000 * frame + n);
      text.at = {4, 30};
      text.size = 24;
      Mark mark{TextMark{text}, {0, 0, 400, 400}};
      scene.marks.push_back(mark);
    }
    const PixelImage image = drawing.draw(scene);
    int dark = 0;
    for (std::size_t n = 0; n < image.rgba.size(); n += 4) {
      dark += image.rgba[n] < 64 ? 1 : 0;
    }
    EXPECT_GT(dark, 300);
  }
}

TEST(Offscreen, ScenesGoWhereTheyArePlaced) {
  OffscreenDrawing drawing;
  const Scene red{10, 10, 0xFF0000FF, {}};
  const Scene blue{10, 10, 0x0000FFFF, {}};
  const std::vector<PlacedScene> placed = {{&red, 0, 0, 2}, {&blue, 20, 5, 1}};
  const auto image = drawing.offscreen->render(placed, 40, 20);
  ASSERT_TRUE(image);
  const auto at = [&](std::uint32_t x, std::uint32_t y) { return &image->rgba[(std::size_t{y} * 40 + x) * 4]; };
  EXPECT_EQ(worst_channel(at(19, 19), 0xFF0000FF), 0);
  EXPECT_EQ(worst_channel(at(29, 14), 0x0000FFFF), 0);
  EXPECT_EQ(worst_channel(at(25, 4), 0x000000FF), 0);
  EXPECT_EQ(worst_channel(at(30, 10), 0x000000FF), 0);
}

TEST(Offscreen, ALostDeviceIsAnErrorNotACrash) {
  OffscreenOptions options;
  options.lose_device_at = 1;
  OffscreenDrawing drawing(options);
  const Scene scene{8, 8, 0xFFFFFFFF, {}};
  const PlacedScene placed{&scene, 0, 0, 1};
  EXPECT_TRUE(drawing.offscreen->render({&placed, 1}, 8, 8));
  for (int n = 0; n < 2; ++n) {
    const auto image = drawing.offscreen->render({&placed, 1}, 8, 8);
    ASSERT_FALSE(image);
    EXPECT_NE(image.error().message.find("the graphics device was lost"), std::string::npos);
  }
}

TEST(Offscreen, NoDriverIsAClearMessage) {
  const char* before = std::getenv("VK_ICD_FILENAMES");
  const std::string kept = before == nullptr ? "" : before;
  setenv("VK_ICD_FILENAMES", "/nonexistent/driver.json", 1);
  const text::Typeface typeface;
  const auto offscreen = Offscreen::create({}, typeface);
  if (before == nullptr) {
    unsetenv("VK_ICD_FILENAMES");
  } else {
    setenv("VK_ICD_FILENAMES", kept.c_str(), 1);
  }
  ASSERT_FALSE(offscreen);
  EXPECT_EQ(offscreen.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(offscreen.error().message.find("Vulkan"), std::string::npos);
}

TEST(Offscreen, SizesOutOfRangeAreErrors) {
  OffscreenDrawing drawing;
  EXPECT_EQ(drawing.offscreen->render({}, 0, 10).error().code, ErrorCode::kUsage);
  EXPECT_EQ(drawing.offscreen->render({}, 10, 1U << 30).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace locus::vulkan
