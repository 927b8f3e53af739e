#include <chrono>
#include <cmath>
#include <vector>

#include "renderers/paper/paper.h"
#include "tests/bench/groups.h"
#include "tests/bench/window/frame_rig.h"
#include "tests/support/sample_figures.h"

namespace locus::bench {
namespace {

constexpr double kAllowedMs = 6;  // above an empty ImGui frame
constexpr double kFrameMs = 1000.0 / 60;
constexpr double kBlockedMs = 50;
constexpr int kFrames = 120;

template <class Work>
double elapsed_ms(const Work& work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
}

figure::Figure map_figure(std::int64_t cells) {
  figure::Figure result = samples::attention(20);
  figure::Panel& panel = result.panels[0];
  panel.x.cell_names = panel.y.cell_names = nullptr;
  auto& map = std::get<figure::HeatMap>(panel.layers[0]);
  map.field = samples::waves(cells, cells);
  map.scale.low = -1;
  panel.x.view = {0, static_cast<double>(cells)};
  panel.y.view = {static_cast<double>(cells), 0};
  return result;
}

// The visible square of a figure's map after `n` steps of zooming in and panning.
void move_view(figure::Figure& figure, double cells, int n) {
  const double side = cells * (0.15 + 0.85 * std::abs(std::cos(0.05 * n)));
  const double first = (cells - side) * (0.5 + 0.5 * std::sin(0.11 * n));
  figure.panels[0].x.view = {first, first + side};
  figure.panels[0].y.view = {first + side, first};
}

// A rectangle a cell through ImGui's draw list, as ImPlot draws heat maps.
void add_rectangles(const Field& field, const figure::ColorScale& scale, ImDrawList* list) {
  const float side = 700.0F / static_cast<float>(field.columns);
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c) {
      const figure::Color color = figure::color_at(figure::colormaps()[0], figure::normalised(scale, field.at(r, c)));
      const ImVec2 at(300 + side * static_cast<float>(c), 30 + side * static_cast<float>(r));
      list->AddRectFilled(at, ImVec2(at.x + side, at.y + side),
                          IM_COL32(color >> 24, color >> 16 & 0xFF, color >> 8 & 0xFF, 255));
    }
  }
}

Row frame_row(std::string name, double value, double empty) {
  return {.name = std::move(name),
          .value = value,
          .unit = "ms",
          .reference_name = "an empty ImGui frame; target: that and 6 ms",
          .reference = empty,
          .bounds = Target::kValueAtMost,
          .target = empty + kAllowedMs};
}

// Pan and zoom, thumbnails, colormap and range, each beside empty frames of the same moment.
void bench_moving(FrameRig& rig, Rig& rows) {
  figure::Figure large = map_figure(4096);
  figure::Figure colored = large;
  const figure::Figure thumbnails = samples::thumbnails(12, 12, 64);
  auto& scale = std::get<figure::HeatMap>(colored.panels[0].layers[0]).scale;
  rig.frame(&large);
  rig.frame(&thumbnails);
  std::vector<double> empty;
  std::vector<double> moved;
  std::vector<double> grid;
  std::vector<double> recolored;
  VkDeviceSize uploaded = 0;
  for (int n = 0; n < kFrames; ++n) {
    empty.push_back(elapsed_ms([&] { rig.frame(nullptr); }));
    move_view(large, 4096, n);
    moved.push_back(elapsed_ms([&] { rig.frame(&large); }));
    grid.push_back(elapsed_ms([&] { rig.frame(&thumbnails); }));
    scale.colormap = figure::colormaps()[static_cast<std::size_t>(n) % figure::colormaps().size()].name;
    scale.high = 0.5F + 0.01F * static_cast<float>(n % 50);
    recolored.push_back(elapsed_ms([&] { rig.frame(&colored); }));
    uploaded += n == 0 ? 0 : rig.offscreen->stats().bytes_uploaded;  // the first time there are new labels
  }
  rows.add(frame_row("frame, panning and zooming a map of 4096²", median(moved), median(empty)));
  rows.add(frame_row("frame, grid of 144 thumbnails of 64²", median(grid), median(empty)));
  Row row;
  rows.add({.name = "frame after another colormap and range, 4096²",
            .value = median(recolored),
            .unit = "ms",
            .bounds = Target::kValueAtMost,
            .target = kFrameMs,
            .note = "values uploaded again: " + std::to_string(uploaded / 4 >= 4096UL * 4096 ? 1 : 0)});
}

void bench_rectangles(FrameRig& rig, Rig& rows) {
  figure::Figure figure = map_figure(1024);
  const auto field = samples::waves(1024, 1024);
  figure::ColorScale scale;
  scale.low = -1;
  rig.frame(&figure);
  std::vector<double> moved;
  std::vector<double> rectangles;
  for (int n = 0; n < 5; ++n) {
    rectangles.push_back(
        elapsed_ms([&] { rig.frame(nullptr, [&](ImDrawList* list) { add_rectangles(*field, scale, list); }); }));
    for (int k = 0; k < 12; ++k) {
      move_view(figure, 1024, 12 * n + k);
      moved.push_back(elapsed_ms([&] { rig.frame(&figure); }));
    }
  }
  rows.add({.name = "frame, panning and zooming a map of 1024²",
            .value = median(moved),
            .unit = "ms",
            .reference_name = "a rectangle a cell through ImGui's draw list",
            .reference = median(rectangles),
            .bounds = Target::kRatioAtMost,
            .target = 1.0 / 20});
}

// A new map of 4096², uploaded in slices as the window does.
void bench_first_frames(FrameRig& rig, Rig& rows) {
  std::vector<double> longest;
  std::vector<double> whole;
  int frames = 0;
  for (int n = 0; n < 5; ++n) {
    const figure::Figure figure = map_figure(4096);
    double worst = 0;
    double sum = 0;
    frames = 0;
    do {
      const double ms = elapsed_ms([&] { rig.frame(&figure); });
      worst = std::max(worst, ms);
      sum += ms;
      ++frames;
    } while (rig.offscreen->stats().pending);
    longest.push_back(worst);
    whole.push_back(sum);
  }
  rows.add(
      {.name = "longest frame while a new map of 4096² is uploaded",
       .value = median(longest),
       .unit = "ms",
       .bounds = Target::kValueAtMost,
       .target = kBlockedMs,
       .note = std::to_string(frames) + " frames, " + std::to_string(static_cast<int>(median(whole))) + " ms in all"});
}

}  // namespace

Status bench_frames(Rig& rows) {
  FrameRig rig;
  bench_moving(rig, rows);
  bench_rectangles(rig, rows);
  return {};
}

Status bench_first(Rig& rows) {
  vulkan::OffscreenOptions options;
  options.fields.slice_cells = std::int64_t{1} << 20;  // as app/viewport/canvas_renderer.cpp
  FrameRig rig(options);
  bench_first_frames(rig, rows);
  return {};
}

Status bench_exports(Rig& rows) {
  for (const bool noise : {false, true}) {
    figure::Figure figure = map_figure(4096);
    auto& map = std::get<figure::HeatMap>(figure.panels[0].layers[0]);
    if (noise) {  // the least compressible map
      Field field = *map.field;
      std::uint32_t seed = 1;
      for (float& value : field.values) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<float>(seed >> 8) / static_cast<float>(1U << 23) - 1;
      }
      map.field = std::make_shared<const Field>(std::move(field));
    }
    std::vector<double> times;
    double megabytes = 0;
    for (int n = 0; n < 3; ++n) {
      times.push_back(elapsed_ms([&] {
        const auto bytes = paper::encode(figure, paper::Format::kPdf, {});
        if (!bytes) {
          stop(bytes.error());
        }
        megabytes = static_cast<double>(bytes->size()) / 1e6;
      }));
    }
    rows.add({.name = noise ? "PDF of a map of 4096², noise" : "PDF of a map of 4096²",
              .value = median(times),
              .unit = "ms",
              .bounds = Target::kValueAtMost,
              .target = 1000,
              .note = std::to_string(megabytes) + " MB"});
  }
  return {};
}

}  // namespace locus::bench
