// What frames and exports cost. Frames are drawn offscreen at 1280 × 800 and waited for; each lays the figure out and
// composes it anew, as the workbench does, and draws an ImGui frame over it. Compare with EmptyFrame of the same run.
#include <backends/imgui_impl_vulkan.h>
#include <benchmark/benchmark.h>
#include <imgui.h>

#include <QGuiApplication>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "renderers/paper/paper.h"
#include "renderers/vulkan/offscreen.h"
#include "tests/support/sample_figures.h"

namespace locus {
namespace {

constexpr std::uint32_t kWidth = 1280;
constexpr std::uint32_t kHeight = 800;

void stop(const Error& error) {
  std::cerr << error.describe() << "\n";
  std::exit(1);
}

// An Offscreen with ImGui in its render pass.
class Bench {
 public:
  Bench() {
    auto made = vulkan::Offscreen::create({}, typeface);
    if (!made) {
      stop(made.error());
    }
    offscreen = *std::move(made);
    const vulkan::Offscreen::Native native = offscreen->native();
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 4};
    VkDescriptorPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool_info.maxSets = 4;
    pool_info.poolSizeCount = 1;
    pool_info.pPoolSizes = &size;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    if (vkCreateDescriptorPool(native.device, &pool_info, nullptr, &pool) != VK_SUCCESS) {
      stop(internal("no descriptor pool"));
    }
    pool_ = vulkan::DescriptorPoolHandle(native.device, pool);
    ImGui::CreateContext();
    ImGui::GetIO().DisplaySize = ImVec2(kWidth, kHeight);
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplVulkan_InitInfo info{};
    info.Instance = native.instance;
    info.PhysicalDevice = native.physical;
    info.Device = native.device;
    info.QueueFamily = native.queue_family;
    info.Queue = native.queue;
    info.DescriptorPool = pool;
    info.MinImageCount = 2;
    info.ImageCount = 2;
    ImGui_ImplVulkan_Init(&info, native.render_pass);
    upload_fonts(native);
    offscreen->set_overlay(
        [](VkCommandBuffer commands) { ImGui_ImplVulkan_RenderDrawData(ImGui::GetDrawData(), commands); });
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    ImGui_ImplVulkan_Shutdown();
    ImGui::DestroyContext();
  }

  // One frame of the figures, with what `controls` adds to ImGui's background list.
  template <class Controls>
  void frame(const figure::Figure* figure, const Controls& controls) {
    ImGui_ImplVulkan_NewFrame();
    ImGui::NewFrame();
    controls(ImGui::GetBackgroundDrawList());
    ImGui::Render();
    figure::Scene scene{kWidth, kHeight, 0xFFFFFFFF, {}};
    if (figure != nullptr) {
      scene =
          figure::compose(*figure, figure::lay_out(*figure, kWidth, kHeight, figure::Style::light(13, 1), typeface));
    }
    const vulkan::PlacedScene placed{&scene, 0, 0, 1};
    const Status status = offscreen->draw({&placed, 1}, kWidth, kHeight);
    if (!status) {
      stop(status.error());
    }
  }
  void frame(const figure::Figure* figure) {
    frame(figure, [](ImDrawList*) {});
  }

  text::Typeface typeface;
  std::unique_ptr<vulkan::Offscreen> offscreen;

 private:
  // ImGui wants a command buffer of its own for its font.
  void upload_fonts(const vulkan::Offscreen::Native& native) {
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = native.queue_family;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandBufferCount = 1;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    bool good = vkCreateCommandPool(native.device, &pool_info, nullptr, &pool) == VK_SUCCESS;
    const vulkan::CommandPoolHandle owner(native.device, pool);
    info.commandPool = pool;
    good = good && vkAllocateCommandBuffers(native.device, &info, &commands) == VK_SUCCESS &&
           vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS && ImGui_ImplVulkan_CreateFontsTexture(commands) &&
           vkEndCommandBuffer(commands) == VK_SUCCESS &&
           vkQueueSubmit(native.queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS &&
           vkDeviceWaitIdle(native.device) == VK_SUCCESS;
    if (!good) {
      stop(internal("cannot upload ImGui's font"));
    }
    ImGui_ImplVulkan_DestroyFontUploadObjects();
  }

  vulkan::DescriptorPoolHandle pool_;
};

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

void EmptyFrame(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    bench.frame(nullptr);
  }
}

void PanZoomMap(benchmark::State& state) {
  Bench bench;
  const std::int64_t cells = state.range(0);
  figure::Figure figure = map_figure(cells);
  bench.frame(&figure);
  int n = 0;
  for (auto _ : state) {
    move_view(figure, static_cast<double>(cells), ++n);
    bench.frame(&figure);
  }
}

void ChangeColormapAndRange(benchmark::State& state) {
  Bench bench;
  figure::Figure figure = map_figure(4096);
  auto& scale = std::get<figure::HeatMap>(figure.panels[0].layers[0]).scale;
  bench.frame(&figure);
  std::size_t n = 0;
  for (auto _ : state) {
    scale.colormap = figure::colormaps()[++n % figure::colormaps().size()].name;
    scale.high = 0.5F + 0.01F * static_cast<float>(n % 50);
    bench.frame(&figure);
  }
}

void FirstFrameOfMap(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    state.PauseTiming();
    const figure::Figure figure = map_figure(4096);
    state.ResumeTiming();
    bench.frame(&figure);
  }
}

void Thumbnails144(benchmark::State& state) {
  Bench bench;
  const figure::Figure figure = samples::thumbnails(12, 12, 64);
  bench.frame(&figure);
  for (auto _ : state) {
    bench.frame(&figure);
  }
}

// A rectangle a cell through ImGui's draw list, as ImPlot draws heat maps.
void RectangleACell(benchmark::State& state) {
  Bench bench;
  const auto field = samples::waves(1024, 1024);
  figure::ColorScale scale;
  scale.low = -1;
  const float side = 700.0F / 1024;
  for (auto _ : state) {
    bench.frame(nullptr, [&](ImDrawList* list) {
      for (std::int64_t r = 0; r < 1024; ++r) {
        for (std::int64_t c = 0; c < 1024; ++c) {
          const figure::Color color =
              figure::color_at(figure::colormaps()[0], figure::normalised(scale, field->at(r, c)));
          const ImVec2 at(300 + side * static_cast<float>(c), 30 + side * static_cast<float>(r));
          list->AddRectFilled(at, ImVec2(at.x + side, at.y + side),
                              IM_COL32(color >> 24, color >> 16 & 0xFF, color >> 8 & 0xFF, 255));
        }
      }
    });
  }
}

void ExportPdf(benchmark::State& state) {
  figure::Figure figure = map_figure(4096);
  auto& map = std::get<figure::HeatMap>(figure.panels[0].layers[0]);
  if (state.range(0) == 1) {  // noise: the least compressible map
    Field field = *map.field;
    std::uint32_t seed = 1;
    for (float& value : field.values) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<float>(seed >> 8) / static_cast<float>(1U << 23) - 1;
    }
    map.field = std::make_shared<const Field>(std::move(field));
  }
  for (auto _ : state) {
    const auto bytes = paper::encode(figure, paper::Format::kPdf, {});
    if (!bytes) {
      stop(bytes.error());
    }
    state.counters["MB"] = static_cast<double>(bytes->size()) / 1e6;
  }
}

BENCHMARK(EmptyFrame)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(PanZoomMap)->MeasureProcessCPUTime()->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ChangeColormapAndRange)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(FirstFrameOfMap)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(5);
BENCHMARK(Thumbnails144)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(RectangleACell)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(5);
BENCHMARK(ExportPdf)
    ->MeasureProcessCPUTime()
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(3);

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  const QGuiApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
