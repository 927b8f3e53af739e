// What frames, exports and the window cost, each row with its reference of the same run and its target.
//   render_bench [GROUP]     GROUP: frames, first, export, keys, instruments or window; empty: all
#include <QApplication>
#include <cstdio>
#include <string>

#include "core/base/numbers.h"
#include "tests/bench/render/groups.h"
#include "tests/bench/rows.h"
#include "tests/support/display.h"

int main(int argc, char** argv) {
  using namespace locus::bench;
  const auto display = locus::test::start_display();
  if (qEnvironmentVariableIsEmpty("DISPLAY")) {
    std::fprintf(stderr, "there is no X display and no Xvfb (Debian: xvfb)\n");
    return 4;
  }
  qputenv("QT_QPA_PLATFORM", "xcb");
  const std::string only = argc > 1 ? argv[1] : "";
  {
    const QApplication application(argc, argv);
    locus::use_plain_numbers();
    print_head();
    const auto group = [&](const char* name, void (*run)(const Print&)) {
      if (only.empty() || only == name) {
        run(print_row);
      }
    };
    group("frames", bench_frames);
    group("first", bench_first);
    group("export", bench_exports);
    group("keys", bench_keystrokes);
    group("instruments", bench_instruments);
    group("window", bench_window);
  }
  return 0;
}
