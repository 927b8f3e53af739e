// What is asked is measured once: for the figure and its data, whatever its colours, its size and its theme.
#include "app/views/shared/measured/measured_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/controls.h"
#include "tests/support/counting_trace.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_atlas.h"
#include "tests/support/fake_model.h"
#include "tests/support/family_column.h"
#include "tests/support/hybrid.h"

namespace locus::views {
namespace {

struct CountingKey {
  std::int64_t layer = 0;
  std::string word;

  friend bool operator==(const CountingKey&, const CountingKey&) = default;
};

// Counts what is asked of it.
class Counting final : public MeasuredView<CountingKey, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  mutable int measured = 0;

 protected:
  Result<CountingKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    LOCUS_TRY(const std::string word, input.options.text("word", ""));
    return CountingKey{input.layer, word};
  }
  Result<Field> measure(const CountingKey& key, const MeasureContext& context) const override {
    ++measured;
    report(context.progress, 0.5, "half");
    if (context.stop.stop_requested()) {
      return cancelled();
    }
    Field field = Field::zeros(1, 1);
    field.values[0] = static_cast<float>(10 * key.layer + context.column.trace->length());
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
                 .group = Group::kLook,
                 .caption = "",
                 .shows = "",
                 .uses_layer = true,
                 .controls = {words("word", "", "", "")}};
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

TEST(MeasuredView, MeasuresAKeyOnce) {
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

  friend bool operator==(const One&, const One&) = default;
};
struct Both {
  double share = 0;
  Range range;
  bool yes = false;
  std::vector<std::int64_t> list;
  models::Quantity quantity = models::Quantity::kLogit;

  friend bool operator==(const Both&, const Both&) = default;
};

TEST(MeasuredView, EveryParameterIsPartOfAKey) {
  EXPECT_NE(MeasureKey("one", One{{"a b"}}), MeasureKey("one", One{{"a", "b"}}));
  const Both plain{0.1, {1, 2}, false, {3}};
  EXPECT_EQ(MeasureKey("both", plain), MeasureKey("both", Both(plain)));
  EXPECT_NE(MeasureKey("both", plain), MeasureKey("one", plain));
  EXPECT_NE(MeasureKey("both", plain), MeasureKey("both", One{}));
  EXPECT_NE(MeasureKey("both", plain), MeasureKey());
  EXPECT_EQ(MeasureKey(), MeasureKey());
  std::vector<Both> others(6, plain);
  others[0].share = std::nextafter(0.1, 1);
  others[1].range.end = 3;
  others[2].yes = true;
  others[3].list.push_back(4);
  others[4].quantity = models::Quantity::kGate;
  others[5].range.begin = 0;
  for (const Both& other : others) {
    EXPECT_NE(MeasureKey("both", other), MeasureKey("both", plain));
  }
}

// What measures through the analyses, which read what a run keeps.
const std::vector<std::string> kAnalyses{
    "addressing",    "distance-profile",  "distance-bias", "length-curve", "shift-stability",
    "heads",         "head-difference",   "kernel",        "knock-out",    "move",
    "logit-lens",    "logit-attribution", "effect",        "atlas",        "score-sources",
    "mean-map",      "loss-by-position",  "training",      "needle",       "examples",
    "repeated-text", "state-norms"};

// Two runs, or two atlases of steps.
ViewInput columns_for(const View& view) {
  ViewInput input = test_views::pair_for(view);
  if (!view.info().of_runs) {
    input.columns = {test::atlas_column("early", 100, 0.5), test::atlas_column("late", 300)};
  }
  if (view.info().name == "transform-steps") {
    input.columns = {test::family_column("path_attn"), test::family_column("path_attn")};
  }
  if (view.info().name == "picture-stability") {
    models::Input picture;
    picture.image = test::source_dir() + "/assets/samples/star.png";
    input.columns = {test::column_of(test::bundled("shapes-learned"), picture, "shapes-learned")};
    input.options.set("steps", std::int64_t{1});
  }
  return input;
}

// Of pictures, too: picture-stability runs its model again.
bool is_analysis(const std::string& view) {
  return view.starts_with("pair-") || view == "picture-stability" || view == "transform-steps" ||
         view == "perceived-distance" || std::count(kAnalyses.begin(), kAnalyses.end(), view) > 0;
}

// A look reports no progress, for nothing is measured, and keeps nothing new; nor do the data of what is shown.
TEST(MeasuredView, NoLookMeasuresABundledRunAgain) {
  for (const View* view : views()) {
    const std::string& name = view->info().name;
    if (!is_analysis(name)) {
      continue;
    }
    ViewInput input = columns_for(*view);
    input.cache = std::make_shared<FieldCache>(64 << 20);
    if (name == "knock-out") {
      input.options.set("null", std::int64_t{2});  // each copy costs as much as the map
    }
    int reports = 0;
    input.progress = [&](const ProgressReport& /*news*/) { ++reports; };
    const auto first = view->figure(input);
    ASSERT_TRUE(first.ok()) << name << ": " << first.error().describe();
    EXPECT_GT(input.cache->size_bytes(), 0U) << name;
    const bool long_one = std::count(kAnalyses.begin(), kAnalyses.end(), name) > 0;
    EXPECT_TRUE(reports > 0 || !long_one) << name;
    reports = 0;
    const std::size_t kept = input.cache->size_bytes();
    for (const auto& change : looks()) {
      change(input);
      ASSERT_TRUE(view->figure(input).ok()) << name;
    }
    ASSERT_TRUE(!long_one || view->data(input).ok()) << name;
    EXPECT_EQ(reports, 0) << name;
    EXPECT_EQ(input.cache->size_bytes(), kept) << name;
  }
}

// The views of maps, over two columns of a run that it shows: colours read nothing of the runs again, and of views
// whose maps are not of the screen's size neither does another size, nor the data.
TEST(MeasuredView, NoLookReadsARunAgain) {
  const auto two_of = [](const char* name, const models::Input& input) {
    const auto model = test::bundled(name);
    return std::vector{test::column_of(model, input), test::column_of(model, input, "again")};
  };
  models::Input text;
  text.text = test_views::kText;
  models::Input ids;
  ids.ids = {1, 2, 1, 3, 0, 2, 1, 3, 0, 2};
  test::FakeShape shape;
  shape.rows = shape.columns = 4;
  const Column image{"image", std::make_shared<test::FakeModel>(shape), std::make_shared<test::FakeTrace>(shape, "")};
  Column hybrid = test::hybrid_column("qwen3_next");
  hybrid.trace = hybrid.trace->side(models::Side::kMixer);
  const Column path = test::family_column("path_attn");
  const std::vector<std::vector<Column>> pairs{
      two_of("text-rope", text), two_of("flip-flop-cope", ids), two_of("text-repo", text), {image, image}, {path, path},
      {hybrid, hybrid}};
  for (const View* view : views()) {
    if (!view->info().uses_input || is_analysis(view->info().name) || view->info().name == "word-problem") {
      continue;  // shows files; or reads more than maps, as the test above sees by its progress; or the text alone
    }
    const auto pair = std::find_if(pairs.begin(), pairs.end(),
                                   [&](const auto& columns) { return view->available(columns.front()).ok(); });
    ASSERT_NE(pair, pairs.end()) << view->info().name;
    ViewInput input;
    std::vector<std::shared_ptr<test::CountingTrace>> counters;
    for (const Column& column : *pair) {
      counters.push_back(std::make_shared<test::CountingTrace>(column.trace));
      input.columns.push_back({column.name, column.model, counters.back()});
    }
    const auto reads = [&] { return counters[0]->reads() + counters[1]->reads(); };
    input.cache = std::make_shared<FieldCache>(std::size_t{64} << 20);
    const auto first = view->figure(input);
    ASSERT_TRUE(first.ok()) << view->info().name << ": " << first.error().describe();
    const int before = reads();
    for (const auto& change : looks()) {
      ViewInput changed = input;
      change(changed);
      if (!view->info().uses_camera || (changed.width_px == input.width_px && changed.height_px == input.height_px)) {
        ASSERT_TRUE(view->figure(changed).ok()) << view->info().name;
      }
    }
    if (!view->info().uses_camera) {
      ASSERT_TRUE(view->data(input).ok()) << view->info().name;
    }
    EXPECT_EQ(reads(), before) << view->info().name;
    EXPECT_GT(before, 0) << view->info().name;
  }
}

// Cancelled while it measures: nothing of it is kept, and it measures all of it the next time.
TEST(MeasuredView, AMeasureThatIsCancelledIsNotKept) {
  for (const std::string& name : kAnalyses) {
    ViewInput input = columns_for(test_views::view_of(name));
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
