// Large maps in the window: sampled, then exact band by band; Cancel, and another camera on the way.
#include "tests/support/long_head.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

// The window with a head whose maps become exact a band a picture.
class WindowRefining : public WindowTest {
 protected:
  void open_long_head() {
    const auto path = std::filesystem::path(config_.path().toStdString()) / "head.safetensors";
    ASSERT_TRUE(test::write_long_head(path, 6000).ok());
    QObject::connect(&window_->studio(), &Studio::figure_changed, window_.get(), [this] { note_figure(); });
    session::CheckpointEntry entry;
    entry.path = path;
    window_->studio().column_actions().open(entry);
  }
  void note_figure() {
    const auto& figure = window_->studio().scheduler().figure();
    if (!figure || figure->panels.empty()) {
      return;
    }
    const auto& map = std::get<figure::HeatMap>(figure->panels.front().layers.front());
    seen_.push_back(
        {map.field->column_axis.first, map.field->rows, map.refined.size(), figure->panels.front().color_bar_label});
    if (react_) {
      react_(seen_.back());
    }
  }

  struct Seen {
    double first_column = 0;
    std::int64_t rows = 0;
    std::int64_t exact = 0;
    std::string label;
  };
  std::vector<Seen> seen_;
  std::function<void(const Seen&)> react_;
};

TEST_F(WindowRefining, AMapAppearsSampledAndBecomesExactBandByBand) {
  open_long_head();
  ASSERT_TRUE(settle());
  ASSERT_GE(seen_.size(), 4U);
  EXPECT_EQ(seen_.front().label, "attention weight, sampled");
  for (std::size_t n = 1; n < seen_.size(); ++n) {
    EXPECT_GE(seen_[n].exact, seen_[n - 1].exact);
    const bool done = seen_[n].exact == seen_[n].rows;
    EXPECT_EQ(seen_[n].label.find(" % exact") == std::string::npos, done) << seen_[n].label;
  }
  EXPECT_EQ(seen_.back().exact, seen_.back().rows);
  EXPECT_EQ(seen_.back().label, "attention weight");
}

TEST_F(WindowRefining, CancelLeavesWhatIsExactAndAChangeGoesOn) {
  bool cancelled = false;
  react_ = [&](const Seen& seen) {
    if (!cancelled && seen.exact > 0) {
      cancelled = true;
      window_->studio().cancel();
    }
  };
  open_long_head();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(cancelled);
  const std::int64_t kept = seen_.back().exact;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, seen_.back().rows);
  EXPECT_NE(seen_.back().label.find(" % exact"), std::string::npos);
  EXPECT_FALSE(window_->studio().scheduler().error().has_value());
  const std::size_t before = seen_.size();
  window_->studio().change(window_->studio().state());
  ASSERT_TRUE(settle());
  EXPECT_EQ(seen_[before].exact, kept);  // not from the beginning
  EXPECT_EQ(seen_.back().exact, seen_.back().rows);
}

TEST_F(WindowRefining, AnotherCameraEndsTheOutdatedRefinement) {
  bool moved = false;
  std::size_t after = 0;
  react_ = [&](const Seen& seen) {
    if (!moved && seen.exact > 0) {
      moved = true;
      after = seen_.size();
      session::ViewState state = window_->studio().state();
      state.camera = views::Camera{{3000, 6000}, {6000, 3000}};
      window_->studio().change(state);
    }
  };
  open_long_head();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(moved);
  ASSERT_GT(seen_.size(), after);
  for (std::size_t n = after; n < seen_.size(); ++n) {
    EXPECT_EQ(seen_[n].first_column, 1500);  // half a screen left of the camera: never the old window again
  }
  EXPECT_EQ(seen_.back().exact, seen_.back().rows);
}

}  // namespace
}  // namespace locus::workbench
