// The map is the room: columns in a grid, panels that fold, layouts, screens, text sizes, many columns in the
// inspector.
#include "tests/support/window.h"

#include <QAbstractButton>
#include <QAction>
#include <QDockWidget>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QTableWidget>
#include <array>
#include <cstdlib>
#include <utility>

#include "app/viewport/placed_figure.h"
#include "app/workbench/widgets/popover.h"

namespace locus::workbench {
namespace {

class WindowLayout : public WindowTest {
 protected:
  QDockWidget& dock(const char* name) { return *window_->findChild<QDockWidget*>(QLatin1String(name)); }
  void trigger(const char* action) { window_->findChild<QAction*>(QLatin1String(action))->trigger(); }
  void open_four() {
    for (const char* name : {"gentle", "steep", "gentle-trained-on-long-texts", "steep-trained-on-long-texts"}) {
      open(name);
    }
    type("one two three");
    ASSERT_TRUE(settle());
  }
  // Of the maps on the canvas, in device-independent pixels.
  double least_map() {
    place();
    double least = 1e9;
    for (const figure::PanelLayout& panel : window_->canvas()->layout()->panels) {
      least = std::min({least, panel.plot.width, panel.plot.height});
    }
    return least / window_->canvas()->devicePixelRatio();
  }
  std::string seen() {
    std::string names;
    for (const char* name : {"figures-dock", "checkpoints-dock", "input-dock", "inspector-dock"}) {
      names += dock(name).isVisible() ? std::string(name).substr(0, 2) + " " : "";
    }
    return names;
  }
  void control(int key) { press(window_->canvas(), key, {}, Qt::ControlModifier); }
};

TEST_F(WindowLayout, FourColumnsAtTheSmallestScreenHaveMapsOfTwoHundredPixels) {
  window_->resize(1280, 800);
  open_four();
  trigger("reset-layout");
  window_->resize(1280, 800);
  ASSERT_TRUE(wait([this] {
    const auto* layout = window_->canvas()->layout();
    return window_->width() == 1280 && layout != nullptr && layout->panels.size() == 4 && least_map() >= 200;
  })) << least_map();
  EXPECT_LE(window_->height(), 800);
}

TEST_F(WindowLayout, PanelsFoldWithAKeyAndStayFolded) {
  EXPECT_EQ(seen(), "fi ch in in ");
  control(Qt::Key_1);
  control(Qt::Key_4);
  EXPECT_EQ(seen(), "ch in ");
  control(Qt::Key_B);
  EXPECT_EQ(seen(), "");
  control(Qt::Key_B);
  EXPECT_EQ(seen(), "ch in ");  // what was folded stays so
  control(Qt::Key_B);
  window_->close();  // while everything is hidden
  window_.reset();
  make_window();
  EXPECT_EQ(seen(), "ch in ");
  control(Qt::Key_1);
  EXPECT_EQ(seen(), "fi ch in ");
}

TEST_F(WindowLayout, LayoutsShowTheirPanelsAndResetShowsAllInTheirPlaces) {
  trigger("layout-1");
  EXPECT_EQ(seen(), "in ");
  trigger("layout-2");
  EXPECT_EQ(seen(), "ch in ");
  dock("inspector-dock").setFloating(true);
  trigger("layout-0");
  EXPECT_EQ(seen(), "fi ch in in ");
  EXPECT_FALSE(dock("inspector-dock").isFloating());
  window_->addDockWidget(Qt::TopDockWidgetArea, &dock("inspector-dock"));
  dock("input-dock").setFloating(true);
  trigger("reset-layout");
  EXPECT_EQ(seen(), "fi ch in in ");
  EXPECT_FALSE(dock("input-dock").isFloating());
  EXPECT_EQ(window_->dockWidgetArea(&dock("inspector-dock")), Qt::RightDockWidgetArea);
}

// As a new user meets it, on four fifths of the screen: four lines of the text or more, and rows of its tokens.
TEST_F(WindowLayout, TheUsualWindowHasRoomForFourLinesOfText) {
  window_.reset();
  const QTemporaryDir fresh;
  options_.config_dir = fresh.path().toStdString();
  window_ = std::make_unique<MainWindow>(options_, vulkan_, StudioOptions{.opener = opener_});
  window_->show();
  ASSERT_TRUE(wait([this] { return window_->canvas()->isExposed(); }));
  ASSERT_EQ(window_->size(), QSize(1280, 800));
  open("gentle");
  const auto lines = [this] {
    const auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"));
    return editor->verticalScrollBar()->pageStep();
  };
  window_->studio().inputs().set_text("one\ntwo\nthree\nfour\nfive\nsix");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return lines() >= 4; })) << lines();
  EXPECT_TRUE(wait([this] { return least_map() >= 520; })) << least_map();
  window_->resize(1280, 640);
  EXPECT_TRUE(wait([&] { return window_->height() == 640 && lines() >= 4; })) << lines();
  // Below the map a small window has one, and a larger one four.
  trigger("text-below");
  for (const auto& each : {std::pair(800, 1), std::pair(900, 4)}) {
    const int height = each.first;
    const int seen = each.second;
    window_->resize(1280, height);
    EXPECT_TRUE(wait([&] { return window_->height() == height && lines() == seen; })) << height << " " << lines();
  }
  window_.reset();  // before its folder
}

TEST_F(WindowLayout, TheTextStandsBesideTheMapOrBelowIt) {
  window_->resize(1280, 800);
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  trigger("reset-layout");
  window_->resize(1280, 800);
  EXPECT_EQ(window_->dockWidgetArea(&dock("input-dock")), Qt::LeftDockWidgetArea);
  wait([] { return false; }, 300);
  const double beside = least_map();
  trigger("text-below");
  EXPECT_EQ(window_->dockWidgetArea(&dock("input-dock")), Qt::BottomDockWidgetArea);
  EXPECT_TRUE(wait([&] { return least_map() < beside - 40; })) << least_map() << " and " << beside;
  window_->close();
  window_.reset();
  make_window();
  EXPECT_EQ(window_->dockWidgetArea(&dock("input-dock")), Qt::BottomDockWidgetArea);
  trigger("reset-layout");
  EXPECT_EQ(window_->dockWidgetArea(&dock("input-dock")), Qt::LeftDockWidgetArea);
}

TEST_F(WindowLayout, OneKeyFoldsAllButPictureTextAndValues) {
  EXPECT_EQ(seen(), "fi ch in in ");
  press(window_->canvas(), Qt::Key_F9);
  EXPECT_EQ(seen(), "in in ");
  press(window_->canvas(), Qt::Key_F9);
  EXPECT_EQ(seen(), "fi ch in in ");
  control(Qt::Key_1);
  press(window_->canvas(), Qt::Key_F9);
  EXPECT_EQ(seen(), "in in ");
  window_->close();  // folded, as it starts again
  window_.reset();
  make_window();
  EXPECT_EQ(seen(), "in in ");
  press(window_->canvas(), Qt::Key_F9);
  EXPECT_EQ(seen(), "ch in in ");  // what was folded away by hand stays so
}

TEST_F(WindowLayout, ThePanelOfFiguresIsAsHighAsItsButtonWhileThereAreNone) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  trigger("reset-layout");
  const auto height = [this] { return dock("figures-dock").height(); };
  EXPECT_TRUE(wait([&] { return height() < 90; })) << height();
  window_->studio().sessions().add_bookmark("One");
  EXPECT_TRUE(wait([&] { return height() > 150; })) << height();
  window_->studio().undo();
  EXPECT_TRUE(wait([&] { return height() < 90; })) << height();
}

TEST_F(WindowLayout, ViewsShowThePanelsThatTheyUse) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  const auto show = [this](const char* view) {
    session::ViewState state = window_->studio().state();
    session::show_view(state, view);
    window_->studio().change(state);
    window_->studio().cancel();
    ASSERT_TRUE(settle());
  };
  const auto* cell = window_->findChild<QWidget*>(QStringLiteral("cell-box"));
  EXPECT_TRUE(cell->isVisible());
  show("training-curve");
  EXPECT_EQ(seen(), "fi ch in ");  // no text
  EXPECT_FALSE(cell->isVisible());
  show("attention");
  EXPECT_EQ(seen(), "fi ch in in ");
  EXPECT_TRUE(cell->isVisible());
  // What the user has chosen stays.
  show("training-curve");
  control(Qt::Key_3);
  EXPECT_EQ(seen(), "fi ch in in ");
  show("attention");
  control(Qt::Key_3);
  show("training-curve");
  show("attention");
  EXPECT_EQ(seen(), "fi ch in ");
}

TEST_F(WindowLayout, GroupsOfViewsAreButtonsWithTheirLists) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  for (const char* group : {"look", "position", "frequency", "change", "measure"}) {
    auto* button = window_->findChild<QAbstractButton*>(QStringLiteral("views-") + QLatin1String(group));
    ASSERT_NE(button, nullptr) << group;
    EXPECT_TRUE(button->isVisible()) << group;
    EXPECT_FALSE(button->icon().isNull()) << group;
    EXPECT_EQ(button->isChecked(), std::string(group) == "look");
    button->click();
    auto* menu = window_->findChild<QMenu*>(QStringLiteral("menu-views-") + QLatin1String(group));
    ASSERT_NE(menu, nullptr);
    std::size_t wanted = 0;
    for (const views::View* view : views::views()) {
      wanted += QString::fromStdString(views::title_of(view->info().group)).toLower() == QLatin1String(group) ? 1 : 0;
    }
    EXPECT_EQ(static_cast<std::size_t>(menu->actions().size()), wanted) << group;
    menu->close();
  }
  auto* look = window_->findChild<QAbstractButton*>(QStringLiteral("views-look"));
  look->click();
  auto* menu = window_->findChild<QMenu*>(QStringLiteral("menu-views-look"));
  for (QAction* action : menu->actions()) {
    if (action->text() == QStringLiteral("All heads")) {
      action->trigger();
    }
  }
  menu->close();
  EXPECT_EQ(window_->studio().state().view, "attention-grid");
  EXPECT_TRUE(look->isChecked());
  ASSERT_TRUE(settle());
}

TEST_F(WindowLayout, TheWindowOpensInsideTheScreen) {
  const QRect screen = window_->screen()->availableGeometry();
  window_->setGeometry(screen.right() - 200, screen.bottom() - 150, screen.width() + 400, screen.height() + 300);
  window_->close();
  window_.reset();
  const MainWindow again(options_, vulkan_, {});
  EXPECT_TRUE(screen.contains(again.geometry()))
      << again.geometry().x() << " " << again.geometry().y() << " " << again.width() << " " << again.height();
}

TEST_F(WindowLayout, TextGrowsAndShrinksWithoutBreakingTheLayoutAndSurvives) {
  window_->resize(1280, 800);
  open_four();
  const double usual = QApplication::font().pointSizeF();
  for (int n = 0; n < 4; ++n) {
    control(Qt::Key_Plus);
  }
  const double larger = QApplication::font().pointSizeF();
  EXPECT_NEAR(larger, usual * 1.4641, 0.2);
  ASSERT_TRUE(settle());
  wait([] { return false; }, 500);
  EXPECT_EQ(window_->width(), 1280);  // no panel pushes the window out of its screen
  EXPECT_EQ(window_->height(), 800);
  EXPECT_GE(least_map(), 90);
  window_->close();
  window_.reset();
  make_window();
  EXPECT_NEAR(QApplication::font().pointSizeF(), larger, 0.1);
  for (int n = 0; n < 4; ++n) {
    control(Qt::Key_Minus);
  }
  EXPECT_NEAR(QApplication::font().pointSizeF(), usual, 0.1);
}

TEST_F(WindowLayout, PanelsGiveBackWhatTheirTextTookAndRowsHoldIt) {
  window_->resize(1280, 800);
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  const auto rest = [this] {
    ASSERT_TRUE(settle());
    wait([] { return false; }, 300);
  };
  rest();
  const auto sizes = [this] {
    return std::array<int, 3>{dock("checkpoints-dock").width(), dock("inspector-dock").width(),
                              dock("input-dock").height()};
  };
  const auto usual = sizes();
  const double map = least_map();
  for (int n = 0; n < 6; ++n) {
    control(Qt::Key_Plus);
    rest();
  }
  EXPECT_GT(sizes()[1], usual[1] * 1.15);  // its text is larger too
  for (const char* name : {"cell", "predictions"}) {
    const auto* table = window_->findChild<QTableWidget*>(QLatin1String(name));
    EXPECT_GE(table->rowHeight(0), table->fontMetrics().height()) << name;
  }
  for (int n = 0; n < 6; ++n) {
    control(Qt::Key_Minus);
    rest();
  }
  for (std::size_t n = 0; n < usual.size(); ++n) {
    EXPECT_NEAR(sizes()[n], usual[n], 4) << n;
  }
  EXPECT_NEAR(least_map(), map, 4);
}

TEST_F(WindowLayout, ControlsAboveTheTextStandOnOneLineAboutItsMiddle) {
  window_->resize(1280, 800);
  open("gentle-trained-on-long-texts");
  open("steep");
  window_->studio().inputs().set_text(std::string(238, 'a'));
  ASSERT_TRUE(settle());
  window_->resizeDocks({&dock("checkpoints-dock"), &dock("inspector-dock")}, {224, 243}, Qt::Horizontal);
  trigger("text-below");  // where one line has the room for all of them
  const QWidget& find = *window_->findChild<QWidget*>(QStringLiteral("find"));
  const QWidget& ruler = *window_->findChild<QWidget*>(QStringLiteral("show-ruler"));
  EXPECT_TRUE(wait([&] { return std::abs(find.geometry().center().y() - ruler.geometry().center().y()) <= 1; }));
  const int width = find.width();
  window_->findChild<QLineEdit*>(QStringLiteral("find"))->setText(QStringLiteral("three"));
  wait([] { return false; }, 100);
  EXPECT_EQ(find.width(), width);
  EXPECT_NEAR(find.geometry().center().y(), ruler.geometry().center().y(), 1);
}

TEST_F(WindowLayout, TheInspectorShowsEveryColumnReadably) {
  window_->move(0, 0);
  window_->resize(1600, 1000);
  open_four();
  figure::Hit hit;
  hit.x = 4.5;
  hit.y = 6.5;
  Q_EMIT window_->canvas()->clicked(hit);
  ASSERT_TRUE(settle());
  for (const char* name : {"cell", "predictions"}) {  // a row for each
    auto* table = window_->findChild<QTableWidget*>(QLatin1String(name));
    ASSERT_EQ(table->rowCount(), 4) << name;
    QStringList headers;
    for (int n = 0; n < 4; ++n) {
      ASSERT_NE(table->verticalHeaderItem(n), nullptr) << name;
      headers << table->verticalHeaderItem(n)->text();
      EXPECT_FALSE(table->item(n, 0)->text().isEmpty());
      EXPECT_LE(table->fontMetrics().horizontalAdvance(headers.back()), table->verticalHeader()->width());
      for (int column = 0; column < table->columnCount(); ++column) {  // wide enough for what is in it
        EXPECT_GE(table->columnWidth(column), table->fontMetrics().horizontalAdvance(table->item(n, column)->text()))
            << name << " " << n;
      }
    }
    headers.removeDuplicates();
    EXPECT_EQ(headers.size(), 4) << name;
  }
  // As wide as its content; and as before with two.
  const auto* cell = window_->findChild<QTableWidget*>(QStringLiteral("cell"));
  EXPECT_TRUE(wait([&] { return cell->horizontalScrollBar()->maximum() == 0; }));
  const int wide = dock("inspector-dock").width();
  for (int n = 0; n < 2; ++n) {
    window_->studio().columns().set_shown(window_->studio().checkpoints().all()[static_cast<std::size_t>(n)].id, false);
  }
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return dock("inspector-dock").width() < wide; })) << wide;
  EXPECT_EQ(cell->columnCount(), 2);
}

// On a screen of 800 pixels a strip of words alone gives its line to the maps until one of them is set.
TEST_F(WindowLayout, OptionsOfEveryViewAreReachedAndOperatedByKeys) {
  window_->resize(1280, 900);
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  int operated = 0;
  for (const views::View* view : views::views()) {
    session::ViewState state = window_->studio().state();
    state.view = view->info().name;
    window_->studio().change(state);
    for (const views::Control& control : view->info().controls) {
      const QString name = QStringLiteral("option-") + QString::fromStdString(control.name);
      QWidget* box = nullptr;
      wait([&] {  // the bar is filled in a turn of the event loop
        for (QWidget* each : window_->findChildren<QWidget*>(name)) {
          if (!each->isVisible() && each->isVisibleTo(each->window())) {
            open_popover_of(*each);  // it is behind "More…"
          }
          box = each->isVisible() ? each : box;
        }
        return box != nullptr;
      });
      ASSERT_NE(box, nullptr) << view->info().name << " " << control.name;
      EXPECT_NE(box->focusPolicy() & Qt::TabFocus, 0);
      EXPECT_FALSE(box->accessibleName().isEmpty());
      // Whole, and inside the window or the popover.
      EXPECT_GE(box->width(), box->minimumSizeHint().width()) << view->info().name << " " << control.name;
      EXPECT_TRUE(box->window()->rect().contains(box->mapTo(box->window(), box->rect().bottomRight())))
          << view->info().name << " " << control.name;
      const auto value = [&] {
        const auto& all = window_->studio().state().options;
        const auto own = all.find(view->info().name);
        return own == all.end() ? Settings() : own->second;
      };
      const Settings before = value();
      if (control.kind == views::Control::Kind::kToggle) {
        press(box, Qt::Key_Space, QStringLiteral(" "));
      } else if (control.kind == views::Control::Kind::kText) {
        press(box, Qt::Key_A, QStringLiteral("a"));
        press(box, Qt::Key_Return);
      } else {
        press(box, Qt::Key_Down);
        press(box, Qt::Key_Up);
        press(box, Qt::Key_Up);
        press(box, Qt::Key_Down);
        press(box, Qt::Key_Down);
      }
      EXPECT_NE(value().values(), before.values()) << view->info().name << " " << control.name;
      ++operated;
    }
  }
  EXPECT_GE(operated, 20);
  window_->studio().cancel();
  EXPECT_TRUE(settle());
}

// No view asks for more than a small screen has, with its options, whatever width they are wrapped at; and a window
// that was small gives its panels back what it took from them.
TEST_F(WindowLayout, NoViewNeedsMoreThanSevenHundredPixels) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  constexpr int kMaxHeight = 700;
  for (const int width : {1000, 1280}) {
    for (const views::View* view : views::views()) {
      session::ViewState state = window_->studio().state();
      state.view = view->info().name;
      window_->studio().change(state);
      window_->resize(width, kMaxHeight);
      ASSERT_TRUE(wait([&] { return window_->size() == QSize(width, kMaxHeight); }))
          << view->info().name << ": " << window_->width() << " × " << window_->height();
      wait([] { return false; }, 30);
      EXPECT_LE(window_->minimumSizeHint().height(), kMaxHeight) << view->info().name;
      EXPECT_LE(window_->height(), kMaxHeight) << view->info().name;
      EXPECT_GE(window_->canvas()->height(), 200) << view->info().name;
    }
  }
  window_->studio().cancel();
  EXPECT_TRUE(settle());
}

TEST_F(WindowLayout, ASmallWindowGivesItsPanelsBackWhatItTook) {
  auto* inspector = window_->findChild<QWidget*>(QStringLiteral("inspector-dock"));
  auto* checkpoints = window_->findChild<QWidget*>(QStringLiteral("checkpoints-dock"));
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  window_->resize(1400, 800);
  ASSERT_TRUE(wait([this] { return window_->width() == 1400; }));
  wait([] { return false; }, 200);
  const int before = inspector->width();
  const int left = checkpoints->width();
  window_->resize(700, 600);
  ASSERT_TRUE(wait([this] { return window_->width() < 900; }));
  wait([] { return false; }, 200);
  EXPECT_GE(inspector->width(), 165);  // its numbers can be read
  window_->resize(1400, 800);
  EXPECT_TRUE(wait([&] {
    return std::abs(inspector->width() - before) <= 3 && std::abs(checkpoints->width() - left) <= 3;
  })) << inspector->width()
      << " was " << before << ", " << checkpoints->width() << " was " << left;
}

TEST_F(WindowLayout, TheRulerGivesItsRoomBack) {
  auto* input = window_->findChild<QWidget*>(QStringLiteral("input-dock"));
  auto* show = window_->findChild<QAbstractButton*>(QStringLiteral("show-ruler"));
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  wait([] { return false; }, 200);
  const int before = input->height();
  for (int times = 0; times < 2; ++times) {
    show->setChecked(true);
    wait([] { return false; }, 200);
    EXPECT_GE(input->height(), before);
    show->setChecked(false);
    EXPECT_TRUE(wait([&] { return std::abs(input->height() - before) <= 2; })) << input->height() << " was " << before;
  }
}

std::shared_ptr<const figure::Figure> square_map() {
  figure::HeatMap map;
  auto field = std::make_shared<Field>(Field::zeros(10, 10));
  map.field = field;
  figure::Panel panel;
  panel.title = "SmolLM2-135M-Instruct.Q4_1.gguf · layer 0, head 0";
  panel.x.label = "key";
  panel.y.label = "query";
  panel.x.view = panel.y.view = {0, 10};
  panel.equal_aspect = true;
  panel.layers.emplace_back(std::move(map));
  figure::Figure figure;
  figure.panels.push_back(std::move(panel));
  return std::make_shared<const figure::Figure>(std::move(figure));
}

// Whatever the canvas's size, also where the caption below makes the figure smaller.
TEST_F(WindowLayout, TheStatementLiesOnNoTextOfTheFigure) {
  viewport::CanvasContent content;
  content.figure = square_map();
  content.caption = "One head: each row is a token that looks, each column a token that it looks at.";
  viewport::PlacedFigure placed;
  placed.show(content);
  int shown = 0;
  int lowered = 0;
  for (int width = 480; width <= 1200; width += 24) {
    for (int height = 360; height <= 900; height += 12) {
      placed.update(QSize(width, height), figure::Style::light(13, 1),
                    "head 0.0 gives its own token 0.26, the one before 0.23, the first 0.15");
      const viewport::PlacedCaption* const statement = placed.statement();
      if (statement == nullptr) {
        continue;
      }
      ++shown;
      lowered += statement->below ? 1 : 0;
      for (const figure::Rect& each : viewport::text_places(*placed.layout(), placed.typeface())) {
        EXPECT_TRUE(statement->area.intersected(each).empty()) << width << " × " << height;
      }
      if (placed.caption() != nullptr) {
        EXPECT_TRUE(statement->area.intersected(placed.caption()->area).empty()) << width << " × " << height;
      }
    }
  }
  EXPECT_GT(shown, 500);
  EXPECT_GT(lowered, 100);
}

}  // namespace
}  // namespace locus::workbench
