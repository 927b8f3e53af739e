// figure_golden NAME WIDTHxHEIGHT light|dark [--update]: draws a sample figure with Vulkan and compares it with its
// stored picture; the validation layer must be silent.
#include <QGuiApplication>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/golden_image.h"
#include "tests/support/keep_driver.h"
#include "tests/support/sample_figures.h"

namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  locus::test::keep_driver();
  const QGuiApplication application(argc, argv);
  unsigned width = 0;
  unsigned height = 0;
  if (argc < 4 || std::sscanf(argv[2], "%ux%u", &width, &height) != 2) {
    return fail("usage: figure_golden NAME WIDTHxHEIGHT light|dark [--update]");
  }
  const std::string name = argv[1];
  const std::string theme = argv[3];
  const auto figure = locus::samples::by_name(name);
  if (!figure) {
    return fail("no sample figure is called " + name);
  }
  const locus::text::Typeface typeface;
  locus::vulkan::OffscreenOptions options;
  options.validation = true;
  const auto offscreen = locus::vulkan::Offscreen::create(options, typeface);
  if (!offscreen) {
    return fail(offscreen.error().describe());
  }
  const auto style = theme == "dark" ? locus::figure::Style::dark(12, 1) : locus::figure::Style::light(12, 1);
  const auto image = locus::vulkan::render(**offscreen, *figure, width, height, style, typeface);
  if (!image) {
    return fail(image.error().describe());
  }
  if (!(*offscreen)->messages().empty()) {
    return fail((*offscreen)->messages().front());
  }
  const bool update = argc > 4 && std::string(argv[4]) == "--update";
  const auto status = locus::golden::check_image(*image, "renderers", name + "-" + theme, update);
  return status ? 0 : fail(status.error().describe());
}
