// Predictions of masked language models, and cells that no query sees, in the window.
#include <QGroupBox>
#include <algorithm>

#include "core/base/numbers.h"
#include "models/api/logit_lens.h"
#include "tests/support/paths.h"
#include "tests/support/pointer.h"

namespace locus::workbench {
namespace {

class WindowMasked : public PointerTest {
 protected:
  WindowMasked() { opener_ = models::open; }
  void open_ids(const char* family, std::vector<std::int64_t> ids) {
    session::CheckpointEntry entry;
    entry.path = test::source_dir() + "/tests/golden/families/" + family;
    window_->studio().column_actions().open(entry);
    models::Input input;
    input.ids = std::move(ids);
    window_->studio().inputs().set_input(input);
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

TEST_F(WindowMasked, AKeyOutsideTheWindowIsSaidToBeMasked) {
  open_ids("gemma2", {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  show("attention");
  point_at(0, 2, 10);
  EXPECT_TRUE(says("masked: the key is outside the window of 5 tokens")) << lines();
  EXPECT_EQ(cell().item(row_named("weight"), 0)->text(), QStringLiteral("masked"));
  point_at(0, 8, 10);
  EXPECT_TRUE(says("attention weight " + general_text(drawn(0, 10, 8), 5))) << lines();
}

}  // namespace
}  // namespace locus::workbench
