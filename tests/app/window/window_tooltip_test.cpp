// What stands beside the figure, in words and numbers: the lines at the pointer, the inspector, the predictions. They
// say what the figure shows.
#include "tests/support/pointer.h"

#include <QApplication>
#include <QClipboard>
#include <QGroupBox>
#include <QLabel>
#include <QMouseEvent>
#include <QTableWidget>
#include <algorithm>

#include "app/workbench/work/cell_values.h"
#include "core/base/numbers.h"
#include "models/api/logit_lens.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowTooltip : public PointerTest {};

TEST_F(WindowTooltip, WithShiftHeldTheReferenceIsRead) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  point_at(0, 3, 8);
  const double own = drawn(0, 8, 3);
  const double reference = drawn(1, 8, 3);
  ASSERT_NE(general_text(own, 5), general_text(reference, 5));
  EXPECT_TRUE(says("attention weight " + general_text(own, 5))) << lines();
  EXPECT_FALSE(says("reference")) << lines();
  shift(true);
  EXPECT_EQ(lines().rfind("attention weight " + general_text(reference, 5) + "\nreference: steep\n", 0), 0U) << lines();
  EXPECT_FALSE(says(general_text(own, 5))) << lines();
  EXPECT_FALSE(says("gentle")) << lines();
  shift(false);
  EXPECT_TRUE(says("attention weight " + general_text(own, 5))) << lines();
  EXPECT_FALSE(says("reference")) << lines();
}

// The reference has other tokens: those of the place that is seen are read.
TEST_F(WindowTooltip, WithShiftHeldTheReferencesOwnTokensAreRead) {
  open("gentle");
  open("pairs");  // two letters a token
  type("one two three");
  ASSERT_TRUE(settle());
  point_at(0, 4, 10);
  EXPECT_TRUE(says("query 10  \"r\"")) << lines();
  shift(true);
  EXPECT_TRUE(says("\nreference: pairs\n")) << lines();
  EXPECT_TRUE(says("query 5  \"re\"")) << lines();
  EXPECT_TRUE(says("key 2  \"tw\"")) << lines();
  EXPECT_TRUE(says("attention weight " + general_text(drawn(0, 5, 2), 5))) << lines();
  shift(false);
  EXPECT_TRUE(says("query 10  \"r\"")) << lines();
}

TEST_F(WindowTooltip, PositionsAreReadWithoutTokensAndWithoutScores) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  show("pe-dot-product");
  point_at(0, 9, 3);  // a key behind its query, which a map of attention would mask
  const std::string value = general_text(drawn(0, 3, 9), 5);
  EXPECT_TRUE(says("position i = 3\nposition j = 9\n")) << lines();
  EXPECT_TRUE(says(" " + value)) << lines();
  for (const char* other : {"query", "key", "weight", "logit", "masked"}) {
    EXPECT_FALSE(says(other)) << lines();
  }
  ASSERT_EQ(window_->studio().scheduler().cells().size(), 1U);
  EXPECT_EQ(cell().item(row_named("value"), 0)->text().toStdString(), value);
  EXPECT_TRUE(cell().isRowHidden(row_named("weight")));
  EXPECT_EQ(cell().item(row_named("position i"), 0)->text(), QStringLiteral("3"));
  show("attention");
  point_at(0, 3, 9);
  EXPECT_FALSE(cell().isRowHidden(row_named("weight")));
  EXPECT_TRUE(cell().isRowHidden(row_named("value")));
  EXPECT_EQ(row_named("position i"), -1);
}

// The pointer rests while a key or a menu opens another view: what is said is of that view.
TEST_F(WindowTooltip, ARestingPointerReadsTheNextView) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  viewport::Canvas* const canvas = window_->canvas();
  const figure::Rect plot = place().plot;
  const QPointF at = QPointF(plot.x + 0.3 * plot.width, plot.y + 0.6 * plot.height) / canvas->devicePixelRatio();
  const auto move = [&] {
    QMouseEvent event(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QCoreApplication::sendEvent(canvas, &event);
  };
  move();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(says("attention weight")) << lines();
  for (const auto& [view, row] : {std::pair("pe-dot-product", "position i = "), std::pair("attention", "query ")}) {
    show(view);
    const auto reads_its_place = [&, row = std::string(row)] {
      const auto hit = canvas->layout_is_current()
                           ? figure::hit_test(*canvas->layout(), at.x() * canvas->devicePixelRatio(),
                                              at.y() * canvas->devicePixelRatio())
                           : std::nullopt;
      return hit && says(row + std::to_string(static_cast<int>(hit->y)));
    };
    EXPECT_TRUE(wait(reads_its_place)) << view << ": " << lines();
  }
}

TEST_F(WindowTooltip, WhatIsDrawnLeadsWhateverTheQuantity) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  for (const auto& [quantity, name] :
       {std::pair(models::Quantity::kContent, "content"), std::pair(models::Quantity::kContribution, "contribution"),
        std::pair(models::Quantity::kWeight, "weight")}) {
    session::ViewState state = window_->studio().state();
    state.quantity = quantity;
    window_->studio().change(state);
    ASSERT_TRUE(settle());
    point_at(0, 4, 9);
    const std::string first = lines().substr(0, lines().find('\n'));
    EXPECT_NE(first.find(name), std::string::npos) << lines();
    EXPECT_TRUE(first.ends_with(" " + general_text(drawn(0, 9, 4), 5))) << name << ": " << lines();
    const viewport::Tooltip& box = window_->canvas()->content().tooltip;
    ASSERT_TRUE(box.tick.has_value()) << name;
    EXPECT_EQ(box.tick->value, static_cast<float>(drawn(0, 9, 4)));
    EXPECT_EQ(box.small, 1U) << lines();  // the other scores
  }
}

// Maps of one range have one bar, beside the last of them; a map that is coloured by shares marks the share.
TEST_F(WindowTooltip, TheValueHasItsPlaceOnTheBarThatShowsItsColour) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  point_at(0, 3, 8);
  const auto tick = [this] { return window_->canvas()->content().tooltip.tick; };
  ASSERT_TRUE(tick().has_value());
  EXPECT_EQ(tick()->panel, 1U);
  EXPECT_EQ(tick()->value, static_cast<float>(drawn(0, 8, 3)));
  point_at(0, 8, 3);  // masked
  EXPECT_FALSE(tick().has_value());
  EXPECT_EQ(lines().rfind("attention weight, masked: the key comes after the query\n", 0), 0U) << lines();
}

TEST_F(WindowTooltip, WhatIsCopiedIsWhatIsShown) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  point_at(0, 4, 9);
  ASSERT_TRUE(wait([this] { return window_->canvas()->content().tooltip.small == 1; }));
  QKeyEvent copy(QEvent::KeyPress, Qt::Key_C, Qt::ControlModifier);
  QCoreApplication::sendEvent(window_->canvas(), &copy);
  EXPECT_EQ(QApplication::clipboard()->text().toStdString() + "\n", lines());
  EXPECT_EQ(lines().rfind("attention weight ", 0), 0U) << lines();
}

TEST_F(WindowTooltip, NumbersOfFourColumnsAreNeverCut) {
  window_->resize(1280, 800);
  for (const char* name : {"gentle", "steep", "calm", "text-of-a-long-name"}) {
    open(name);
  }
  type("one two three four");
  ASSERT_TRUE(settle());
  for (const auto& [query, key] : {std::pair(16, 2), std::pair(5, 2), std::pair(9, 9), std::pair(2, 8)}) {
    window_->studio().pin(query, key);
    ASSERT_TRUE(settle());
    wait([] { return false; }, 200);
    ASSERT_EQ(cell().columnCount(), 4);
    for (int row = row_named("content"); row < row_named("encoding"); ++row) {
      for (int column = 0; column < 4 && !cell().isRowHidden(row); ++column) {
        const QString text = cell().item(row, column)->text();
        constexpr int kMargins = 4;
        EXPECT_LE(cell().fontMetrics().horizontalAdvance(text) + kMargins, cell().columnWidth(column))
            << text.toStdString();
      }
    }
  }
}

TEST_F(WindowTooltip, CausalModelsSayAfterWhichTokenTheirPredictionIs) {
  open("gentle");
  type("one two");
  ASSERT_TRUE(settle());
  const auto boxes = window_->findChildren<QGroupBox*>();
  EXPECT_TRUE(std::ranges::any_of(
      boxes, [](const QGroupBox* box) { return box->title() == QStringLiteral("Next token after “o”"); }));
}

}  // namespace
}  // namespace locus::workbench
