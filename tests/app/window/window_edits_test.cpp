// Edits in the window: typed in a dialog, chosen in the menu of a place; each is a column beside the unedited one.
#include "tests/support/window.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMouseEvent>
#include <QPushButton>

#include "app/session/shared_options.h"
#include "app/views/shared/plots/series.h"
#include "app/workbench/docks/edits_dialog.h"
#include "app/workbench/input/position_ruler.h"
#include "app/workbench/state/edit_actions.h"
#include "app/workbench/state/live_edit.h"
#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/window/palette_sources.h"
#include "models/api/effect.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

std::atomic<int> opened_from_file = 0;

class WindowEdits : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = [](const std::filesystem::path& path, const models::OpenOptions& options, const StopToken& stop,
                 const Progress& progress) {
      ++opened_from_file;
      return models::open(path, options, stop, progress);
    };
    opened_from_file = 0;
    WindowTest::SetUp();
    if (window_ == nullptr) {
      return;
    }
    open((test::source_dir() + "/assets/checkpoints/text-rope").c_str());
    type("one two three one two");
    ASSERT_TRUE(settle());
  }
  const Checkpoint& column(std::size_t n) { return window_->studio().checkpoints().all()[n]; }
  float weight(std::size_t n, std::int64_t query, std::int64_t key) {
    models::MapRequest request;
    request.layer = window_->studio().state().layer;
    request.head = window_->studio().state().head;
    return column(n).trace->map(request)->at(query, key);
  }
  template <class Child>
  Child* find(const QObject& parent, const char* name) {
    return parent.findChild<Child*>(QLatin1String(name));
  }
  // The menu of edits at query 8 and key 2 of the first column; null: there is none.
  QMenu* menu_of_a_cell() {
    Q_EMIT window_->canvas()->context_requested(figure::Hit{0, 2.5, 8.5, -1}, QPoint(40, 40));
    return window_->findChild<QMenu*>(QStringLiteral("edits-menu"));
  }
  // "3.1".
  std::string shown_head() {
    const session::ViewState& state = window_->studio().state();
    return std::to_string(state.layer) + "." + std::to_string(state.head);
  }
  // Each entry of the menu opens a column beside the others, with that edit alone.
  void expect_choices(const QMenu& menu, const std::vector<std::pair<const char*, std::string>>& choices) {
    for (const auto& [name, text] : choices) {
      const std::size_t before = window_->studio().checkpoints().all().size();
      ASSERT_NE(find<QAction>(menu, name), nullptr) << name;
      find<QAction>(menu, name)->trigger();
      ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == before + 1; })) << name;
      ASSERT_TRUE(settle());
      ASSERT_EQ(column(before).entry.edits.size(), 1U) << name;
      EXPECT_EQ(models::to_text(column(before).entry.edits.front()), text);
      EXPECT_NE(column(before).trace, nullptr) << name;
    }
  }
};

TEST_F(WindowEdits, WhatIsTypedRunsBesideTheUntouched) {
  EditsDialog dialog(window_->studio(), column(0).id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  auto* line = find<QLineEdit>(dialog, "edits-line");
  auto* says = find<QLabel>(dialog, "edits-error");
  line->setText(QStringLiteral("bias all.all -d*"));
  ASSERT_TRUE(wait([&] { return !says->text().isEmpty(); }));
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);
  line->setText(QStringLiteral("bias all.all -d*100"));
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says->text().isEmpty());
  ASSERT_TRUE(column(1).trace != nullptr);
  EXPECT_GT(weight(1, 10, 10), 0.999F);  // nothing but itself is near enough
  EXPECT_LT(weight(0, 10, 10), 0.999F);
  // What goes on being typed is the same column; an edit that is kept can be turned off.
  line->setText(QStringLiteral("bias all.all -d*0"));
  ASSERT_TRUE(wait([&] { return column(1).entry.edits.front().formula == "-d*0"; }));
  ASSERT_TRUE(settle());
  EXPECT_NEAR(weight(1, 10, 4), weight(0, 10, 4), 1e-6F);
  ASSERT_EQ(window_->studio().checkpoints().all().size(), 2U);
  find<QPushButton>(dialog, "edits-keep")->click();
  auto* list = find<QListWidget>(dialog, "edits-list");
  ASSERT_EQ(list->count(), 1);
  EXPECT_TRUE(line->text().isEmpty());
  list->item(0)->setCheckState(Qt::Unchecked);
  ASSERT_TRUE(wait([&] { return column(1).entry.edits.empty(); }));
}

TEST_F(WindowEdits, AnEditedColumnStartsWhereItsOriginalIs) {
  window_->studio().column_actions().set_own_head(0, views::HeadRef{2, 1});
  ASSERT_TRUE(settle());
  LiveEdit(window_->studio(), nullptr).make(column(0).id, *models::parse_edit("head 2.1 uniform", 0));
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(column(1).entry.own, (views::HeadRef{2, 1}));
  const auto& panels = window_->studio().scheduler().figure()->panels;
  ASSERT_EQ(panels.size(), 2U);
  for (const figure::Panel& panel : panels) {
    EXPECT_NE(panel.title.find("⚮ layer 2, head 1"), std::string::npos) << panel.title;
  }
}

// Where no column has an edit, a view of edits says so and offers some of the present head.
TEST_F(WindowEdits, AViewOfEditsOffersOneWhereThereIsNone) {
  auto* offer = find<QWidget>(*window_, "edit-offer");
  ASSERT_NE(offer, nullptr);
  EXPECT_FALSE(offer->isVisible());
  session::ViewState state = window_->studio().state();
  session::show_view(state, "effect");
  state.layer = 2;
  state.head = 1;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().scheduler().figure(), nullptr);
  ASSERT_TRUE(wait([&] {
    return window_->canvas()->content().message.find("Effect shows what edits change, and no column has one") == 0;
  })) << window_->canvas()->content().message;
  EXPECT_TRUE(offer->isVisible());
  find<QPushButton>(*offer, "offer-edits")->click();
  auto* dialog = window_->findChild<EditsDialog*>();
  ASSERT_NE(dialog, nullptr);
  dialog->close();
  auto* zero = find<QPushButton>(*offer, "offer-edit-zero");
  ASSERT_NE(zero, nullptr);
  EXPECT_EQ(zero->text(), QStringLiteral("Zero ablation of head 2.1"));
  zero->click();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(models::to_text(column(1).entry.edits.front()), "head 2.1 zero");
  EXPECT_NE(window_->studio().scheduler().figure(), nullptr);
  EXPECT_FALSE(offer->isVisible());
  window_->studio().undo();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 1; }));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(offer->isVisible());
  session::show_view(state, "attention");
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(offer->isVisible());
}

// Below an edited column stands what its edits change, at the chosen token and over all.
TEST_F(WindowEdits, TheEffectStandsBelowTheEditedColumn) {
  auto* strip = find<QWidget>(*window_, "effect-strip");
  ASSERT_NE(strip, nullptr);
  EXPECT_FALSE(strip->isVisible());
  LiveEdit(window_->studio(), nullptr).make(column(0).id, *models::parse_edit("head 2.1 zero", 0));
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 2; }));
  ASSERT_TRUE(settle());
  const auto words = [&](const char* name) {
    auto* label = find<QLabel>(*window_, name);
    return label != nullptr ? label->text().toStdString() : std::string();
  };
  ASSERT_TRUE(wait([&] { return words("effect-1").find("KL") != std::string::npos; })) << words("effect-1");
  EXPECT_TRUE(strip->isVisible());
  EXPECT_EQ(words("effect-0"), "");
  const auto effect = models::effect_on(*column(1).model, *column(1).trace);
  ASSERT_TRUE(effect.ok()) << effect.error().describe();
  const auto expect_of = [&](std::int64_t token) {
    const auto at = static_cast<std::size_t>(token);
    const std::string text = words("effect-1");
    EXPECT_EQ(text.find("after token " + std::to_string(token) + ": “" + effect->top[at].token + "” "), 0U) << text;
    EXPECT_NE(text.find("→ “" + effect->top_edited[at].token + "” "), std::string::npos) << text;
    EXPECT_NE(text.find("KL " + views::short_number(effect->kl[at]) + " nats"), std::string::npos) << text;
  };
  const std::int64_t length = column(1).trace->length();
  expect_of(length - 1);
  std::size_t changes = 0;
  for (std::size_t n = 0; n < effect->top.size(); ++n) {
    changes += effect->top[n].id != effect->top_edited[n].id ? 1 : 0;
  }
  EXPECT_NE(words("effect-1")
                .find("\n" + std::to_string(changes) + " of " + std::to_string(length) +
                      " first choices change · differs from layer 2 on"),
            std::string::npos)
      << words("effect-1");
  window_->studio().pin(4);
  ASSERT_TRUE(settle());
  expect_of(4);
  // The next edit is another effect; without edits there is none.
  window_->studio().column_actions().change_edits(column(1).id, {*models::parse_edit("head 3.0 zero", 0)});
  ASSERT_TRUE(wait([&] { return words("effect-1").find("from layer 3 on") != std::string::npos; }))
      << words("effect-1");
  window_->studio().column_actions().remove(column(1).id);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(strip->isVisible());
}

// Three columns may stand in two rows: what is said of each edited one names it.
TEST_F(WindowEdits, TheEffectsOfSeveralColumnsAreNamed) {
  EditActions actions(window_->studio());
  for (const char* edit : {"head 2.1 zero", "head 1.0 zero"}) {
    actions.open_beside(column(0).id, *models::parse_edit(edit, 0));
    ASSERT_TRUE(settle());
  }
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 3U);
  EXPECT_FALSE(find<QLabel>(*window_, "effect-0")->isVisible());
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}}) {
    const auto* label = find<QLabel>(*window_, n == 1 ? "effect-1" : "effect-2");
    const QString named = QString::fromStdString(window_->studio().checkpoints().shown()[n]->name) + ": after token ";
    EXPECT_TRUE(wait([&] { return label->text().startsWith(named); })) << label->text().toStdString();
    EXPECT_TRUE(label->isVisible());
  }
}

TEST_F(WindowEdits, ASilencedHeadIsStruckThroughInTheTitle) {
  session::ViewState state = window_->studio().state();
  state.layer = 2;
  state.head = 1;
  window_->studio().change(state);
  LiveEdit(window_->studio(), nullptr).make(column(0).id, *models::parse_edit("head 2.1 zero", 0));
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().shown().size() == 2; }));
  ASSERT_TRUE(settle());
  const auto struck = [&](std::size_t n) { return window_->studio().scheduler().figure()->panels[n].struck; };
  EXPECT_EQ(struck(0), "");
  EXPECT_EQ(struck(1), "layer 2, head 1");
  for (const char* view : {"attention-text", "attention"}) {
    state.view = view;
    state.head = view == std::string("attention") ? 0 : 1;
    window_->studio().change(state);
    ASSERT_TRUE(settle());
    EXPECT_EQ(struck(1), state.head == 1 ? "layer 2, head 1" : "") << view;
  }
}

TEST_F(WindowEdits, TheDialogSpeaksOfTheLineAndOfTheHeadThatIsShown) {
  session::ViewState state = window_->studio().state();
  state.layer = 1;
  state.head = 2;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EditsDialog dialog(window_->studio(), column(0).id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  dialog.show();
  auto* presets = find<QComboBox>(dialog, "edits-presets");
  auto* line = find<QLineEdit>(dialog, "edits-line");
  auto* says = find<QLabel>(dialog, "edits-error");
  Q_EMIT presets->activated(1);
  EXPECT_EQ(line->text(), QStringLiteral("head 1.2 zero"));
  EXPECT_NE(line->placeholderText().indexOf(QStringLiteral("head 1.2 ")), -1);
  for (const char* words : {"head 99.0 zero", "nothing", "head 0.0 wave", "shift 0:99 by 1", "bias all.all d+"}) {
    says->clear();
    line->setText(QLatin1String(words));
    ASSERT_TRUE(wait([&] { return !says->text().isEmpty(); })) << words;
    EXPECT_EQ(says->text().indexOf(QStringLiteral("edits[")), -1) << says->text().toStdString();
    EXPECT_NE(says->text().indexOf(QStringLiteral("xpected")), -1) << says->text().toStdString();
  }
  auto* about = find<QLabel>(dialog, "edits-about");
  Q_EMIT about->linkActivated(QStringLiteral("edits"));
  EXPECT_EQ(ManualWindow::of(window_.get()).page().place().page, "edits");
  EXPECT_TRUE(ManualWindow::of(window_.get()).isVisible());
}

// Every preset can be read and has its place in the model; what is typed instead goes on from there.
TEST_F(WindowEdits, PresetsAreEditsThatFit) {
  EditsDialog dialog(window_->studio(), column(0).id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  auto* presets = find<QComboBox>(dialog, "edits-presets");
  auto* line = find<QLineEdit>(dialog, "edits-line");
  ASSERT_GT(presets->count(), 10);
  for (int n = 1; n < presets->count(); ++n) {
    Q_EMIT presets->activated(n);
    const auto edit = models::parse_edit(line->text().toStdString(), 0);
    ASSERT_TRUE(edit.ok()) << line->text().toStdString();
    EXPECT_TRUE(models::check_edits({*edit}, *column(0).info(), column(0).trace->length()).ok())
        << line->text().toStdString();
  }
}

TEST_F(WindowEdits, AHeadIsSilencedAndAnEdgeCutFromTheMenuOfItsPlace) {
  QMenu* const menu = menu_of_a_cell();
  ASSERT_NE(menu, nullptr);
  find<QAction>(*menu, "edit-edge")->trigger();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 2; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(weight(1, 8, 2), 0.0F);
  EXPECT_GT(weight(0, 8, 2), 0.0F);
  find<QAction>(*menu, "edit-uniform")->trigger();
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 3; }));
  ASSERT_TRUE(settle());
  EXPECT_NEAR(weight(2, 9, 3), 0.1F, 1e-6F);
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
}

models::Edit shift(Range tokens, double by) {
  models::Edit edit;
  edit.kind = models::EditKind::kShift;
  edit.tokens = tokens;
  edit.by = by;
  return edit;
}

TEST_F(WindowEdits, ShiftsOfTheSameTokensAddUp) {
  const models::Edits once = with_edit({}, shift({3, 4}, 5));
  EXPECT_EQ(once, models::Edits{shift({3, 4}, 5)});
  EXPECT_EQ(with_edit(once, shift({3, 4}, -2)), models::Edits{shift({3, 4}, 3)});
  EXPECT_EQ(with_edit(once, shift({3, 5}, 1)), (models::Edits{shift({3, 4}, 5), shift({3, 5}, 1)}));
  EXPECT_TRUE(with_edit(once, shift({3, 4}, -5)).empty());
}

// A hand that pulls: the model runs on the way, all of it is one step of undo, and the weights are read once.
TEST_F(WindowEdits, ATokenIsPulledAlongItsPositions) {
  window_->findChild<QCheckBox*>(QStringLiteral("show-ruler"))->setChecked(true);
  auto& ruler = *window_->findChild<PositionRuler*>();
  ASSERT_TRUE(wait([&] { return ruler.isVisible() && ruler.viewport()->width() > 100; }));
  const auto send = [&](QEvent::Type type, QPointF at, Qt::MouseButtons buttons, Qt::KeyboardModifiers keys = {}) {
    QMouseEvent event(type, at, ruler.viewport()->mapToGlobal(at), Qt::LeftButton, buttons, keys);
    QApplication::sendEvent(ruler.viewport(), &event);
  };
  const QPointF from = ruler.place_of(4);
  const double an_id = ruler.place_of(5).x() - from.x();
  send(QEvent::MouseButtonPress, from, Qt::LeftButton);
  send(QEvent::MouseMove, from + QPointF(3 * an_id, 0), Qt::LeftButton);
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 2 && column(1).trace; }));
  EXPECT_EQ(column(1).trace->tokens()[4].position, 7);
  send(QEvent::MouseMove, from + QPointF(6 * an_id, 0), Qt::LeftButton);
  send(QEvent::MouseMove, from + QPointF(7 * an_id, 0), Qt::LeftButton);
  ASSERT_TRUE(wait([&] { return column(1).trace && column(1).trace->tokens()[4].position == 11; }));
  send(QEvent::MouseButtonRelease, from + QPointF(7 * an_id, 0), {});
  ASSERT_TRUE(settle());
  ASSERT_EQ(column(1).entry.edits, models::Edits{shift({4, 5}, 7)});
  EXPECT_EQ(column(0).trace->tokens()[4].position, 4);
  EXPECT_EQ(opened_from_file, 1);

  // Another gesture goes on from there: a gap before token 8.
  const QPointF eight = ruler.place_of(8);
  send(QEvent::MouseButtonPress, eight, Qt::LeftButton, Qt::ShiftModifier);
  send(QEvent::MouseMove, eight + QPointF(2 * an_id, 0), Qt::LeftButton, Qt::ShiftModifier);
  send(QEvent::MouseButtonRelease, eight + QPointF(2 * an_id, 0), {});
  ASSERT_TRUE(settle());
  const std::int64_t length = column(1).trace->length();
  ASSERT_EQ(column(1).entry.edits, (models::Edits{shift({4, 5}, 7), shift({8, length}, 2)}));
  EXPECT_EQ(column(1).trace->tokens()[9].position, 11);

  window_->studio().undo();
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().checkpoints().all().size(), 2U);
  EXPECT_EQ(column(1).entry.edits, models::Edits{shift({4, 5}, 7)});
  EXPECT_EQ(column(1).trace->tokens()[9].position, 9);
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);
  EXPECT_EQ(ruler.place_of(4), from);  // the line follows
  window_->studio().redo();
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 2U);
  EXPECT_EQ(column(1).trace->tokens()[4].position, 11);
  EXPECT_EQ(opened_from_file, 1);
}

TEST_F(WindowEdits, ARectangleCutsItsEdges) {
  viewport::Canvas& canvas = *window_->canvas();
  Q_EMIT canvas.boxed(figure::Hit{0, 6.5, 9.5, -1}, figure::Hit{0, 2.5, 11.5, -1}, false);
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);
  EXPECT_TRUE(std::any_of(canvas.content().outlines.begin(), canvas.content().outlines.end(), [](const auto& each) {
    return each.x.low == 2 && each.x.high == 7 && each.y.low == 9 && each.y.high == 12;
  }));
  Q_EMIT canvas.boxed(figure::Hit{0, 6.5, 9.5, -1}, figure::Hit{0, 2.5, 11.5, -1}, true);
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 2; }));
  ASSERT_TRUE(settle());
  for (const std::int64_t query : {8, 9, 10, 11, 12}) {
    for (const std::int64_t key : {1, 2, 6, 7}) {
      const bool cut = query >= 9 && query < 12 && key >= 2 && key < 7;
      EXPECT_EQ(weight(1, query, key) == 0, cut) << query << ", " << key;
    }
  }
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);
}

TEST_F(WindowEdits, AGateIsSetFromTheMenuOfItsKey) {
  window_->studio().column_actions().remove(column(0).id);
  open((test::source_dir() + "/assets/checkpoints/text-cope").c_str());
  ASSERT_TRUE(settle());
  QMenu* const menu = menu_of_a_cell();
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(find<QAction>(*menu, "edit-gates-mean"), nullptr);  // a gate of a query and a key is no token's
  const std::string place = shown_head();
  expect_choices(*menu, {{"edit-gate-zero", "gates " + place + " tokens 2:3 0"},
                         {"edit-gate-one", "gates " + place + " tokens 2:3 1"}});
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
}

TEST_F(WindowEdits, AStrengthIsSetFromTheMenuOfItsKey) {
  window_->studio().column_actions().remove(column(0).id);
  models::Input input;
  input.ids = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  window_->studio().inputs().set_input(input);
  open((test::source_dir() + "/tests/golden/families/path_attn").c_str());
  ASSERT_TRUE(settle());
  QMenu* const menu = menu_of_a_cell();
  ASSERT_NE(menu, nullptr);
  const std::string place = shown_head();
  expect_choices(*menu, {{"edit-betas-zero", "beta " + place + " 0"},
                         {"edit-betas-mean", "beta " + place + " mean"},
                         {"edit-directions-mean", "direction " + place + " mean"},
                         {"edit-beta-zero", "beta " + place + " tokens 2:3 0"},
                         {"edit-beta-one", "beta " + place + " tokens 2:3 1"},
                         {"edit-direction-mean", "direction " + place + " tokens 2:3 mean"}});
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
  EditsDialog dialog(window_->studio(), column(0).id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  auto* presets = find<QComboBox>(dialog, "edits-presets");
  auto* line = find<QLineEdit>(dialog, "edits-line");
  int betas = 0;
  for (int n = 1; n < presets->count(); ++n) {
    Q_EMIT presets->activated(n);
    const auto edit = models::parse_edit(line->text().toStdString(), 0);
    ASSERT_TRUE(edit.ok()) << line->text().toStdString();
    if (edit->kind == models::EditKind::kBeta || edit->kind == models::EditKind::kDirection) {
      ++betas;
      EXPECT_TRUE(models::check_edits({*edit}, *column(0).info(), column(0).trace->length()).ok());
    }
  }
  EXPECT_EQ(betas, 4);
}

TEST_F(WindowEdits, ALearnedPositionIsMovedFromTheMenuOfItsKey) {
  window_->studio().column_actions().remove(column(0).id);
  open((test::source_dir() + "/assets/checkpoints/text-repo").c_str());
  ASSERT_TRUE(settle());
  QMenu* const menu = menu_of_a_cell();
  ASSERT_NE(menu, nullptr);
  const std::string place = shown_head();
  expect_choices(*menu, {{"edit-place-index", "place " + place + " index"},
                         {"edit-place-later", "place " + place + " tokens 2:3 by 1"},
                         {"edit-place-earlier", "place " + place + " tokens 2:3 by -1"}});
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
}

// On the side of the mixers, whose layers have no attention to mask.
TEST_F(WindowEdits, AMixersHeadIsEditedFromTheMenuOfItsPlace) {
  window_->studio().column_actions().remove(column(0).id);
  open((test::source_dir() + "/assets/checkpoints/text-delta-nope").c_str());
  ASSERT_TRUE(settle());
  session::ViewState state = window_->studio().state();
  state.side = models::Side::kMixer;
  state.layer = 0;
  state.head = 1;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  QMenu* const menu = menu_of_a_cell();
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(find<QAction>(*menu, "edit-edge"), nullptr);
  EXPECT_EQ(find<QAction>(*menu, "edit-zero"), nullptr);
  expect_choices(*menu, {{"edit-mixer-zero", "mixer zero 0.1"},
                         {"edit-keep", "decay 0.1 keep"},
                         {"edit-steady", "decay 0.1 mean"},
                         {"edit-unwrite", "unwrite 0.1 2:3"},
                         {"edit-reset", "reset 0.1 at 8"}});
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
  EditsDialog dialog(window_->studio(), column(0).id, window_.get());
  dialog.setAttribute(Qt::WA_DeleteOnClose, false);
  auto* presets = find<QComboBox>(dialog, "edits-presets");
  auto* line = find<QLineEdit>(dialog, "edits-line");
  for (int n = 1; n <= 5; ++n) {
    Q_EMIT presets->activated(n);
    const auto edit = models::parse_edit(line->text().toStdString(), 0);
    ASSERT_TRUE(edit.ok()) << line->text().toStdString();
    EXPECT_TRUE(models::of_mixers(*edit));
    EXPECT_TRUE(models::check_edits({*edit}, *column(0).info(), column(0).trace->length()).ok())
        << line->text().toStdString();
  }
}

TEST_F(WindowEdits, EnterMakesAKnockOutsCellAColumn) {
  session::ViewState state = window_->studio().state();
  state.view = "knock-out";
  state.layer = 1;
  state.head = 2;
  session::set_option(state, "knock-out", "to", std::string("mean"));
  session::set_option(state, "knock-out", "null", std::int64_t{0});
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_Return);
  ASSERT_TRUE(wait([&] { return window_->studio().checkpoints().all().size() == 2; }));
  ASSERT_TRUE(settle());
  ASSERT_EQ(column(1).entry.edits.size(), 1U);
  EXPECT_EQ(models::to_text(column(1).entry.edits.front()), "head 1.2 mean");
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);
}

TEST_F(WindowEdits, ThePaletteTakesATypedEdit) {
  Studio& studio = window_->studio();
  press(window_->canvas(), Qt::Key_K, {}, Qt::ControlModifier);
  auto* line = find<QLineEdit>(*window_, "palette-line");
  ASSERT_NE(line, nullptr);
  line->setText(QStringLiteral("head 1.0 zero"));
  press(line, Qt::Key_Return);
  ASSERT_TRUE(wait([&] { return studio.checkpoints().all().size() == 2; }));
  ASSERT_TRUE(settle());
  ASSERT_EQ(column(1).entry.edits.size(), 1U);
  EXPECT_EQ(models::to_text(column(1).entry.edits.front()), "head 1.0 zero");
  const auto beyond = edit_commands(studio, QStringLiteral("head 7.1 zero"));
  ASSERT_FALSE(beyond.empty());
  EXPECT_FALSE(beyond.front().available);
  EXPECT_TRUE(beyond.front().hint.startsWith(QStringLiteral("layer: "))) << beyond.front().hint.toStdString();
  EXPECT_TRUE(edit_commands(studio, QStringLiteral("head 1.0 zer")).empty());
  EXPECT_TRUE(edit_commands(studio, QString()).empty());
}

}  // namespace
}  // namespace locus::workbench
