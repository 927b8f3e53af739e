// What is asked is measured once: for the figure and its data, whatever its colours, its size and its theme.
#include "app/views/measured_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "app/views/controls.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

struct Ask {
  std::int64_t layer = 0;
  std::string word;
};

// Counts what is asked of it.
class Counting final : public MeasuredView<Ask, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  mutable int measured = 0;

 protected:
  Result<Ask> ask(const ViewInput& input, std::size_t /*column*/) const override {
    LOCUS_TRY(const std::string word, input.options.text("word", ""));
    return Ask{input.layer, word};
  }
  Result<Field> measure(const Ask& ask, const Work& work) const override {
    ++measured;
    report(work.progress, 0.5, "half");
    if (work.stop.stop_requested()) {
      return cancelled();
    }
    Field field = Field::zeros(1, 1);
    field.values[0] = static_cast<float>(10 * ask.layer + work.column.trace->length());
    return field;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override {
    figure::Figure figure;
    figure.title = input.scale.colormap + std::to_string(numbers.front()->values[0]);
    return figure;
  }
  Result<Data> table(const ViewInput& /*input*/, const Numbers& numbers) const override {
    return Data{{1, static_cast<std::int64_t>(numbers.size())}, {numbers.front()->values[0]}, {}};
  }

 private:
  ViewInfo info_{.name = "counting",
                 .title = "Counting",
                 .shows = "",
                 .look_for = "",
                 .paper = "",
                 .uses_layer = true,
                 .controls = {words("word", "", "")}};
};

// Everything about the look that an input has, one after the other.
std::vector<std::function<void(ViewInput&)>> looks() {
  return {[](ViewInput& input) { input.scale.colormap = "magma"; },
          [](ViewInput& input) { input.scale.low = 0.25F; },
          [](ViewInput& input) { input.scale.percentile = 90; },
          [](ViewInput& input) { input.scale.transfer = figure::Transfer::kLog; },
          [](ViewInput& input) { input.scale.mask_color = 0; },
          [](ViewInput& input) { input.scale.shared = false; },
          [](ViewInput& input) { input.ignore_first = true; },
          [](ViewInput& input) { input.width_px = 333; },
          [](ViewInput& input) { input.height_px = 222; }};
}

TEST(MeasuredView, MeasuresAnAskOnce) {
  const Counting view;
  ViewInput input = test_views::input_of("one two three");
  input.layer = 1;
  input.cache = std::make_shared<FieldCache>(1 << 20);
  const auto length = static_cast<float>(input.columns[0].trace->length());
  ASSERT_TRUE(view.figure(input).ok());
  EXPECT_EQ(view.data(input)->values[0], 10 + length);
  EXPECT_EQ(view.measured, 1);
  for (const auto& change : looks()) {
    change(input);
    ASSERT_TRUE(view.figure(input).ok());
  }
  EXPECT_EQ(view.measured, 1);
  EXPECT_EQ(view.figure(input)->title.rfind("magma", 0), 0U);
  input.layer = 2;
  EXPECT_EQ(view.data(input)->values[0], 20 + length);
  EXPECT_EQ(view.measured, 2);
  input.options.set("word", std::string("a b"));
  ASSERT_TRUE(view.figure(input).ok());
  EXPECT_EQ(view.measured, 3);
  input.columns.push_back(input.columns.front());  // the same run once more
  ASSERT_TRUE(view.figure(input).ok());
  EXPECT_EQ(view.measured, 3);
  input.cache.reset();
  ASSERT_TRUE(view.figure(input).ok());
  EXPECT_EQ(view.measured, 5);
}

TEST(MeasuredView, ReportsAndStops) {
  const Counting view;
  ViewInput input = test_views::input_of("one two three");
  std::vector<std::string> news;
  input.progress = [&](const ProgressReport& report) { news.push_back(report.what); };
  ASSERT_TRUE(view.figure(input).ok());
  EXPECT_EQ(news, std::vector<std::string>{"half"});
  std::stop_source stop;
  stop.request_stop();
  input.stop = stop.get_token();
  EXPECT_EQ(view.figure(input).error().code, ErrorCode::kCancelled);
}

struct One {
  std::vector<std::string> words;
};
struct Both {
  double share = 0;
  Range range;
  bool yes = false;
  std::vector<std::int64_t> list;
  models::Quantity quantity = models::Quantity::kLogit;
};

TEST(MeasuredView, EveryMemberOfAnAskIsPartOfItsKey) {
  EXPECT_NE(ask_key(One{{"a b"}}), ask_key(One{{"a", "b"}}));
  const Both plain{0.1, {1, 2}, false, {3}};
  EXPECT_EQ(ask_key(plain), "{0.1 {1 2 } 0 [3 ] 1 }");
  EXPECT_EQ(ask_key(plain), ask_key(Both(plain)));
  std::vector<Both> others(6, plain);
  others[0].share = std::nextafter(0.1, 1);
  others[1].range.end = 3;
  others[2].yes = true;
  others[3].list.push_back(4);
  others[4].quantity = models::Quantity::kGate;
  others[5].range.begin = 0;
  for (const Both& other : others) {
    EXPECT_NE(ask_key(other), ask_key(plain));
  }
}

// The views that measure: a look reports no progress, for nothing is measured, and keeps nothing new.
TEST(MeasuredView, NoLookMeasuresABundledRunAgain) {
  for (const char* name :
       {"distance-profile", "distance-bias", "length-curve", "shift-stability", "heads", "head-difference"}) {
    ViewInput input = test_views::pair_of();
    input.cache = std::make_shared<FieldCache>(64 << 20);
    int reports = 0;
    input.progress = [&](const ProgressReport& /*news*/) { ++reports; };
    const View& view = test_views::view_of(name);
    const auto first = view.figure(input);
    ASSERT_TRUE(first.ok()) << name << ": " << first.error().describe();
    EXPECT_GT(reports, 0) << name;
    reports = 0;
    const std::size_t kept = input.cache->size_bytes();
    for (const auto& change : looks()) {
      change(input);
      ASSERT_TRUE(view.figure(input).ok()) << name;
    }
    ASSERT_TRUE(view.data(input).ok()) << name;
    EXPECT_EQ(reports, 0) << name;
    EXPECT_EQ(input.cache->size_bytes(), kept) << name;
  }
}

// Cancelled while it measures: nothing of it is kept, and it measures all of it the next time.
TEST(MeasuredView, AMeasureThatIsCancelledIsNotKept) {
  for (const char* name :
       {"distance-profile", "distance-bias", "length-curve", "shift-stability", "heads", "head-difference"}) {
    ViewInput input = test_views::pair_of();
    input.cache = std::make_shared<FieldCache>(64 << 20);
    std::stop_source stop;
    input.stop = stop.get_token();
    input.progress = [&](const ProgressReport& /*news*/) { stop.request_stop(); };
    const View& view = test_views::view_of(name);
    const auto cancelled = view.figure(input);
    ASSERT_FALSE(cancelled.ok()) << name;
    EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled) << name;
    input.stop = {};
    input.progress = {};
    EXPECT_TRUE(view.figure(input).ok()) << name;
  }
}

}  // namespace
}  // namespace locus::views
