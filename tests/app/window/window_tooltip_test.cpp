// What stands beside the figure, in words and numbers: the lines at the pointer, the inspector, the predictions. They
// say what the figure shows.
#include "tests/support/window.h"

#include <QGroupBox>
#include <QLabel>
#include <QTableWidget>
#include <algorithm>

#include "app/workbench/studio/cell_values.h"
#include "core/base/numbers.h"
#include "models/api/logit_lens.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowTooltip : public WindowTest {
 protected:
  void show(const std::string& view) {
    session::ViewState state = window_->studio().state();
    state.view = view;
    window_->studio().change(state);
    ASSERT_TRUE(settle());
  }
  void point_at(std::size_t panel, double key, double query) {
    figure::Hit hit;
    hit.panel = panel;
    hit.x = key + 0.5;
    hit.y = query + 0.5;
    Q_EMIT window_->canvas()->hovered(hit);
    ASSERT_TRUE(settle());
  }
  std::string lines() {
    std::string all;
    for (const std::string& line : window_->canvas()->content().tooltip) {
      all += line + "\n";
    }
    return all;
  }
  bool says(const std::string& words) { return lines().find(words) != std::string::npos; }
  void shift(bool down) {
    QKeyEvent key(down ? QEvent::KeyPress : QEvent::KeyRelease, Qt::Key_Shift, Qt::ShiftModifier);
    QCoreApplication::sendEvent(window_->canvas(), &key);
    ASSERT_TRUE(settle());
  }
  const QTableWidget& cell() { return *window_->findChild<QTableWidget*>(QStringLiteral("cell")); }
  int row_named(const char* name) {
    for (int row = 0; row < cell().rowCount(); ++row) {
      if (cell().verticalHeaderItem(row)->text() == QLatin1String(name)) {
        return row;
      }
    }
    return -1;
  }
  double drawn(std::size_t panel, std::int64_t query, std::int64_t key) {
    const auto& figure = *window_->canvas()->content().figure;
    return static_cast<double>(std::get<figure::HeatMap>(figure.panels[panel].layers.front()).field->at(query, key));
  }
};

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

class WindowMasked : public WindowTooltip {
 protected:
  WindowMasked() { opener_ = models::open; }
  void open_ids(const char* family, std::vector<std::int64_t> ids) {
    session::CheckpointEntry entry;
    entry.path = test::source_dir() + "/tests/golden/families/" + family;
    window_->studio().open(entry);
    models::Input input;
    input.ids = std::move(ids);
    window_->studio().set_input(input);
    ASSERT_TRUE(settle());
  }
};

TEST_F(WindowMasked, LanguageModelsPredictAtTheChosenToken) {
  open_ids("roberta", {0, 7, 9, 11, 2});
  const auto boxes = window_->findChildren<QGroupBox*>();
  const auto titled = [&](const char* title) {
    return std::ranges::any_of(boxes, [&](const QGroupBox* box) { return box->title() == QString::fromUtf8(title); });
  };
  EXPECT_TRUE(titled("Prediction at the chosen token"));
  const auto* table = window_->findChild<QTableWidget*>(QStringLiteral("predictions"));
  EXPECT_EQ(table->rowCount(), 0);
  const Checkpoint& shown = *window_->studio().checkpoints().shown().front();
  for (const std::int64_t token : {2, 3}) {
    window_->studio().pin(token);
    ASSERT_TRUE(settle());
    const auto top = models::predictions_at(*shown.model, *shown.trace, token, 8);
    ASSERT_TRUE(top.ok()) << top.error().describe();
    ASSERT_EQ(table->rowCount(), 8);
    EXPECT_EQ(table->item(0, 0)->text().toStdString(), top->front().token);
  }
}

}  // namespace
}  // namespace locus::workbench
