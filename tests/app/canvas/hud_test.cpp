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
  cost.gpu = "a device";
  FrameTimes times;
  times.add(2);
  times.add(4);
  std::string all;
  for (const std::string& line : hud_lines(cost, times, {20, 256, 90})) {
    all += line + "\n";
  }
  EXPECT_EQ(all,
            "frame 3.2 ms, median 4.0, longest 4.0\ninstruments 0.40 ms, 7 draws\nuploaded 1.5 MB, 3 tiles wait\n"
            "a device\nvalues on the GPU 12 MB of 8192 MB\ncache 20 of 256 MB, runs 90 MB\n");
  cost.waiting = 1;
  EXPECT_NE(hud_lines(cost, times, {})[2].find("1 tile waits"), std::string::npos);
}

}  // namespace
}  // namespace locus::workbench
