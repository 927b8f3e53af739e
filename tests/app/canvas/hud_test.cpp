// What is said of frames.
#include "app/workbench/canvas/instruments/hud.h"

#include <gtest/gtest.h>

namespace locus::workbench {
namespace {

TEST(Hud, ItsLinesHaveTheNumbersOfTheFrame) {
  viewport::FrameCost cost;
  cost.cpu_ms = 3.25;
  cost.overlay_ms = 0.4;
  cost.uploaded_mb = 1.5;
  cost.gpu_mb = 12;
  cost.gpu_total_mb = 8192;
  cost.draws = 7;
  cost.waiting = 3;
  cost.gpu = "a device (of some version)";
  FrameTimes times;
  times.add(2);
  times.add(4);
  std::string all;
  for (const std::string& line : hud_lines(cost, times, {20, 256, 90})) {
    all += line + "\n";
  }
  EXPECT_EQ(all,
            "frame 3.2 ms\nmedian 4.0 ms\nlongest 4.0 ms\noverlay 0.40 ms\n7 draws\nuploaded 1.5 MB\n3 tiles wait\n"
            "a device\nGPU 12 of 8192 MB\ncache 20 of 256 MB\nruns 90 MB\n");
  cost.waiting = 1;
  EXPECT_EQ(hud_lines(cost, times, {})[6], "1 tile waits");
}

}  // namespace
}  // namespace locus::workbench
