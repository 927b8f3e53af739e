// What the window says beside the maps is read at a glance: captions, the box at the pointer, the inspector, the list
// of views, warnings, the trained length.
#include "tests/support/window.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QStatusBar>
#include <QTableWidget>
#include <QTimer>
#include <QTreeWidget>
#include <cmath>
#include <set>

#include "app/session/state_fields.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/export/export_preview.h"
#include "app/workbench/input/token_strip.h"
#include "app/workbench/widgets/popover.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowReading : public WindowTest {
 protected:
  template <typename T>
  T* find(const char* name) {
    return window_->findChild<T*>(QLatin1String(name));
  }
  void pause(int ms) {
    wait([] { return false; }, ms);
  }
  void show_view(const char* name) {
    session::ViewState state = window_->studio().state();
    state.view = name;
    window_->studio().change(state);
    ASSERT_TRUE(settle());
    pause(100);
  }
  // Moves the pointer over the canvas.
  void point(const QPointF& at) {
    QMouseEvent move(QEvent::MouseMove, at, window_->canvas()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
    QCoreApplication::sendEvent(window_->canvas(), &move);
  }
};

// Columns of sentence-transformers: the vectors of their texts and how similar they are stand where predictions do.
TEST_F(WindowReading, TwoTextsHaveACosineSimilarity) {
  opener_ = models::open;
  window_.reset();
  make_window();
  session::CheckpointEntry entry;
  entry.path = std::filesystem::path(test::source_dir()) / "tests/golden/variants/sentence/mean-normalised";
  type("one two three");
  window_->studio().column_actions().open(entry);
  ASSERT_TRUE(settle());
  auto* line = find<QLabel>("predictions-line");
  ASSERT_TRUE(line->isVisible());
  EXPECT_TRUE(line->text().startsWith(QStringLiteral("mean over the tokens"))) << line->text().toStdString();
  EXPECT_FALSE(line->text().contains(QStringLiteral("cosine"))) << line->text().toStdString();
  entry.text = "another text of four words";
  window_->studio().column_actions().open_beside(entry);
  ASSERT_TRUE(settle());
  const auto shown = window_->studio().checkpoints().shown();
  ASSERT_EQ(shown.size(), 2U);
  const double cosine =
      models::cosine_similarity(shown[0]->trace->sentence().values, shown[1]->trace->sentence().values);
  EXPECT_LT(cosine, 0.99999);
  const QString said = QStringLiteral("cosine similarity of the first two: %1").arg(cosine, 0, 'f', 4);
  EXPECT_TRUE(line->isVisible() && line->text().contains(said)) << line->text().toStdString();
  EXPECT_EQ(qobject_cast<QGroupBox*>(line->parentWidget())->title(), QStringLiteral("Vector of the text"));
}

// A picture's column beside one of the same folder's text half: how they fit stands under their vectors.
TEST_F(WindowReading, APictureAndATextHaveALogit) {
  opener_ = models::open;
  window_.reset();
  make_window();
  session::CheckpointEntry entry;
  entry.path = std::filesystem::path(test::source_dir()) / "tests/golden/variants/pairs/clip";
  models::Input picture;
  picture.pixels = entry.path / "pixels.safetensors";
  window_->studio().inputs().set_input(picture);
  window_->studio().column_actions().open(entry);
  ASSERT_TRUE(settle());
  auto* line = find<QLabel>("predictions-line");
  EXPECT_TRUE(line->text().startsWith(QStringLiteral("state of the first token"))) << line->text().toStdString();
  EXPECT_EQ(qobject_cast<QGroupBox*>(line->parentWidget())->title(), QStringLiteral("Vector of the picture"));
  entry.text = "a b c";
  entry.overrides.half = "text";
  window_->studio().column_actions().open_beside(entry);
  ASSERT_TRUE(settle());
  const auto shown = window_->studio().checkpoints().shown();
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_TRUE(shown[1]->name.find("text half") != std::string::npos) << shown[1]->name;
  const auto scores = models::pair_scores(shown[0]->trace->model(), shown[0]->trace->sentence().values,
                                          {shown[1]->trace->sentence().values});
  ASSERT_TRUE(scores.ok()) << scores.error().describe();
  const QString said = QStringLiteral("picture and “a b c”: cosine %1, logit %2, 100.00 %")
                           .arg(scores->front().cosine, 0, 'f', 4)
                           .arg(scores->front().logit, 0, 'f', 4);
  EXPECT_TRUE(line->isVisible() && line->text().contains(said)) << line->text().toStdString();
  EXPECT_EQ(qobject_cast<QGroupBox*>(line->parentWidget())->title(), QStringLiteral("Vectors of picture and text"));
}

TEST_F(WindowReading, EveryViewHasACaptionBesideItsFigure) {
  window_->resize(1560, 760);
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  int beside = 0;
  int below = 0;
  for (const char* view : {"attention", "attention-grid", "attention-text"}) {
    show_view(view);
    const viewport::PlacedCaption* caption = window_->canvas()->placed().caption();
    ASSERT_NE(caption, nullptr) << view;
    std::string read;
    for (const std::string& line : caption->lines) {
      read += (read.empty() ? "" : " ") + line;
    }
    EXPECT_EQ(read, window_->studio().view().info().caption);
    // It covers nothing.
    place();
    const figure::Layout& layout = *window_->canvas()->layout();
    for (const figure::PanelLayout& panel : layout.panels) {
      EXPECT_TRUE(caption->area.intersected(panel.plot).empty()) << view;
    }
    (caption->below ? below : beside) += 1;
    EXPECT_EQ(layout.height < window_->canvas()->height(), caption->below) << "only then the figure gives it room";
  }
  EXPECT_GT(beside, 0);
  EXPECT_GT(below, 0);
  find<QAction>("captions")->trigger();
  pause(100);
  EXPECT_EQ(window_->canvas()->placed().caption(), nullptr);
  window_->close();
  window_.reset();
  make_window();
  EXPECT_FALSE(find<QAction>("captions")->isChecked()) << "it is kept";
}

TEST_F(WindowReading, TheBoxAtThePointerStaysInItsMap) {
  for (const char* name : {"gentle", "steep", "calm"}) {
    open(name);
  }
  window_->resize(1280, 800);
  window_->studio().inputs().set_text(std::string(40, 'a'));
  ASSERT_TRUE(settle());
  place(2);
  const figure::Layout layout = *window_->canvas()->layout();
  ASSERT_EQ(layout.panels.size(), 3U);
  const double ratio = window_->canvas()->devicePixelRatio();
  for (const figure::PanelLayout& panel : layout.panels) {
    const figure::Rect& plot = panel.plot;
    for (const auto& [x, y] : {std::pair(0.1, 0.1), std::pair(0.85, 0.9), std::pair(0.15, 0.95), std::pair(0.5, 0.8)}) {
      const QPointF at((plot.x + x * plot.width) / ratio, (plot.y + y * plot.height) / ratio);
      point(at);
      ASSERT_TRUE(settle());
      ASSERT_TRUE(wait([this] { return !window_->canvas()->box().empty(); }));
      pause(50);
      const figure::Rect box = window_->canvas()->box();
      EXPECT_FALSE(box.contains(at.x() * ratio, at.y() * ratio));
      for (const figure::PanelLayout& other : layout.panels) {
        if (&other != &panel) {
          EXPECT_TRUE(box.intersected(other.plot).empty())
              << box.width << " × " << box.height << " at " << box.x << ", " << box.y
              << " hides another map than that of " << plot.width << " at " << plot.x << ", " << plot.y;
        }
      }
    }
  }
}

TEST_F(WindowReading, ViewsStandBelowTheirKinds) {
  const auto* list = find<QComboBox>("view");
  const auto* model = qobject_cast<const QStandardItemModel*>(list->model());
  std::vector<std::string> headings;
  std::string group;
  int seen = 0;
  for (int row = 0; row < list->count(); ++row) {
    const std::string name = list->itemData(row).toString().toStdString();
    if (name.empty()) {
      group = list->itemText(row).toStdString();
      headings.push_back(group);
      EXPECT_FALSE(model->item(row)->isEnabled()) << "a heading is no view";
      continue;
    }
    ++seen;
    const auto view = views::find_view(name);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(views::title_of((*view)->info().group), group) << name;
  }
  EXPECT_EQ(seen, static_cast<int>(views::views().size()));
  EXPECT_EQ(headings, (std::vector<std::string>{"Look", "Position", "Frequency", "Change", "Measure"}));
  std::set<std::string> captions;
  for (const views::View* view : views::views()) {
    const std::string& caption = view->info().caption;
    EXPECT_TRUE(captions.insert(caption).second) << caption;
    EXPECT_TRUE(caption.ends_with('.') && caption.size() > 30 && caption.size() <= 95) << caption;
  }
  // The menu has the same.
  int in_menu = 0;
  for (const auto* menu : window_->findChildren<QMenu*>()) {
    const bool kind = std::find(headings.begin(), headings.end(), menu->title().toStdString()) != headings.end();
    in_menu += kind ? static_cast<int>(menu->actions().size()) : 0;
  }
  EXPECT_EQ(in_menu, seen);
}

TEST_F(WindowReading, QuantitiesAreCalledAsOnTheCommandLine) {
  const auto* list = find<QComboBox>("quantity");
  const auto& fields = session::state_fields();
  const auto field =
      std::find_if(fields.begin(), fields.end(), [](const auto& each) { return each.flag == "--quantity"; });
  ASSERT_NE(field, fields.end());
  std::set<std::string> typed(field->parameter.choices.begin(), field->parameter.choices.end());
  for (int n = 0; n < list->count(); ++n) {
    EXPECT_EQ(typed.erase(list->itemText(n).toStdString()), 1U) << list->itemText(n).toStdString();
  }
  EXPECT_EQ(field->parameter.label, "Quantity");
  const auto* cell = find<QTableWidget>("cell");
  std::set<std::string> rows;
  for (int row = 0; row < cell->rowCount(); ++row) {
    rows.insert(cell->verticalHeaderItem(row)->text().toStdString());
  }
  for (const std::string& name : field->parameter.choices) {
    EXPECT_TRUE(rows.contains(name)) << name;
  }
}

// With a row for each, below each other, and what is the same in all of them once.
TEST_F(WindowReading, TheInspectorShowsAllColumnsOfASmallScreen) {
  window_->resize(1280, 800);
  for (const char* name : {"gentle", "steep", "calm", "text-of-a-long-name"}) {
    open(name);
  }
  type("one two");
  ASSERT_TRUE(settle());
  window_->studio().pin(5, 2);
  ASSERT_TRUE(settle());
  pause(200);
  for (const char* name : {"cell", "predictions"}) {
    const auto* table = find<QTableWidget>(name);
    ASSERT_EQ(table->rowCount(), 4) << name;
    EXPECT_EQ(table->viewport()->height(), table->rowHeight(0) * 4) << name;  // all are seen
  }
  const auto* cell = find<QTableWidget>("cell");
  QStringList values;
  for (int n = 0; n < cell->columnCount(); ++n) {
    values << cell->horizontalHeaderItem(n)->text();
  }
  EXPECT_TRUE(values.contains(QStringLiteral("weight")) && values.contains(QStringLiteral("logit")))
      << values.join(QStringLiteral(" ")).toStdString();
  EXPECT_FALSE(values.contains(QStringLiteral("query")));
  EXPECT_TRUE(find<QLabel>("context")->text().contains(QStringLiteral("Δ 3")))
      << find<QLabel>("context")->text().toStdString();
  for (int row = 0; row < 4; ++row) {
    for (int n = 0; n < cell->columnCount(); ++n) {
      EXPECT_LE(cell->fontMetrics().horizontalAdvance(cell->item(row, n)->text()), cell->columnWidth(n));
    }
  }
}

TEST_F(WindowReading, PatchesHaveNoDistanceAndNoLinesToAxesThatAreNotThere) {
  open("eyes");
  QTemporaryDir folder;
  const QString picture = folder.filePath(QStringLiteral("picture.png"));
  QImage pixels(20, 12, QImage::Format_RGB32);
  pixels.fill(Qt::darkBlue);
  ASSERT_TRUE(pixels.save(picture));
  window_->open_path(picture.toStdString());
  ASSERT_TRUE(settle());
  window_->studio().pin(4, 7);
  ASSERT_TRUE(settle());
  ASSERT_FALSE(window_->studio().scheduler().cells().empty());
  EXPECT_EQ(find<QTableWidget>("cell")->item(2, 0)->text(), QStringLiteral("–"));
  session::ViewState state = window_->studio().state();
  state.view = "attention-image";
  state.key = views::kNone;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  pause(200);
  // Below the chosen patch, of row 0 and column 3, where a line would lead to an axis: the picture alone, a patch of
  // which has one colour.
  ASSERT_FALSE(window_->canvas()->content().outlines.empty());
  EXPECT_FALSE(place().frame);
  const figure::Rect plot = place().plot;
  const QImage seen = grab();
  const auto middle = static_cast<int>(std::lround(plot.x + 3.5 / 5 * plot.width));
  const auto bottom = static_cast<int>(plot.bottom());
  for (int y = bottom - 12; y < bottom - 4; ++y) {
    for (int x = middle - 4; x <= middle + 4; ++x) {
      const QColor here = seen.pixelColor(x, y);
      const QColor beside = seen.pixelColor(middle - 10, y);
      const int apart = std::abs(here.red() - beside.red()) + std::abs(here.green() - beside.green());
      EXPECT_LT(apart, 24) << x << ", " << y;  // the picture is smoothed; half of an orange line would be 60 and more
    }
  }
}

TEST_F(WindowReading, WarningsGoWhenTheyNoLongerHold) {
  open("gentle");
  open("broken");
  auto* bar = window_->statusBar();
  EXPECT_TRUE(bar->currentMessage().contains(QStringLiteral("120 bytes")));
  const auto* tree = find<QTreeWidget>("checkpoints");
  const QString said = tree->topLevelItem(1)->text(1);
  EXPECT_TRUE(said.contains(QStringLiteral("expected a header of 120 bytes, found 8"))) << said.toStdString();
  EXPECT_FALSE(said.contains(QStringLiteral("broken"))) << "the path stands beside it: " << said.toStdString();
  EXPECT_TRUE(tree->topLevelItem(1)->toolTip(1).contains(QStringLiteral("broken")));
  window_->studio().column_actions().remove(window_->studio().checkpoints().all().back().id);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(bar->currentMessage().isEmpty()) << bar->currentMessage().toStdString();
  // One that was hidden is of an older text.
  window_->studio().inputs().set_ids({1, 2, 3});  // the model reads texts alone
  ASSERT_TRUE(settle());
  const int id = window_->studio().checkpoints().all().front().id;
  ASSERT_TRUE(window_->studio().checkpoints().find(id)->error.has_value());
  window_->studio().columns().set_shown(id, false);
  EXPECT_TRUE(bar->currentMessage().isEmpty());
  window_->studio().inputs().set_text("one two");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window_->studio().checkpoints().find(id)->error.has_value());
}

TEST_F(WindowReading, ATextBeyondTheTrainedLengthSaysSo) {
  opener_ = [](const std::filesystem::path&, const models::OpenOptions&, const StopToken&, const Progress&) {
    test::FakeShape shape;
    shape.trained_length = 20;
    return Result(std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape)));
  };
  window_.reset();
  make_window();
  open("short");
  window_->studio().inputs().set_text(std::string(20, 'a'));
  ASSERT_TRUE(settle());
  auto* dock = find<QDockWidget>("input-dock");
  EXPECT_EQ(dock->windowTitle(), QStringLiteral("Input"));
  const QImage usual = find<TokenStrip>("token-strip")->grab().toImage();
  window_->studio().inputs().set_text(std::string(30, 'a'));
  ASSERT_TRUE(settle());
  EXPECT_EQ(dock->windowTitle(), QStringLiteral("Input: 10 of 30 tokens stand beyond the trained length of 20"));
  EXPECT_EQ(dock->toggleViewAction()->text(), QStringLiteral("Input"));
  // Underlined in the colour of links, which no other chip of a text has.
  auto* strip = find<TokenStrip>("token-strip");
  const QColor link = strip->palette().color(QPalette::Link);
  const auto pixels = [&](const QImage& image) {
    int many = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        many += image.pixelColor(x, y) == link ? 1 : 0;
      }
    }
    return many;
  };
  EXPECT_EQ(pixels(usual), 0);
  EXPECT_GT(pixels(strip->grab().toImage()), 100);
}

// As they are painted: the font that a panel names need not be the one of its title.
TEST_F(WindowReading, TitlesOfPanelsGrowWithTheText) {
  const auto title_height = [this] {
    pause(300);
    auto* dock = find<QDockWidget>("inspector-dock");
    const QImage title = dock->grab(QRect(0, 0, 90, dock->widget()->y())).toImage();
    int first = title.height();
    int last = -1;
    for (int y = 0; y < title.height(); ++y) {
      for (int x = 0; x < title.width(); ++x) {
        if (title.pixelColor(x, y).lightness() < 110) {
          first = std::min(first, y);
          last = y;
        }
      }
    }
    return last - first + 1;
  };
  const int usual = title_height();
  EXPECT_GT(usual, 5);
  for (int n = 0; n < 5; ++n) {
    find<QAction>("larger-text")->trigger();
  }
  const int larger = title_height();
  EXPECT_GE(larger, static_cast<int>(1.35 * usual)) << "from " << usual << ", by 1.61";
  // And where the window begins so.
  window_->close();
  window_.reset();
  make_window();
  EXPECT_NEAR(title_height(), larger, 1);
  for (int n = 0; n < 5; ++n) {
    find<QAction>("smaller-text")->trigger();
  }
  EXPECT_NEAR(title_height(), usual, 1);
}

TEST_F(WindowReading, EmptyFieldsSayWhatHolds) {
  open("gentle");
  type("one two");
  ASSERT_TRUE(settle());
  window_->resize(1280, 900);
  for (const views::View* view : views::views()) {
    session::ViewState state = window_->studio().state();
    state.view = view->info().name;
    window_->studio().change(state);
    for (const views::Control& control : view->info().controls) {
      if (control.kind != views::Control::Kind::kText) {
        continue;
      }
      QLineEdit* field = nullptr;
      ASSERT_TRUE(wait([&] {
        field = nullptr;
        for (auto* each :
             window_->findChildren<QLineEdit*>(QStringLiteral("option-") + QString::fromStdString(control.name))) {
          if (!each->isVisible() && each->isVisibleTo(each->window())) {
            open_popover_of(*each);  // it is behind "More…"
          }
          field = each->isVisible() ? each : field;
        }
        return field != nullptr;
      }));
      EXPECT_FALSE(field->placeholderText().isEmpty()) << view->info().name << " " << control.name;
      EXPECT_LE(field->fontMetrics().horizontalAdvance(field->placeholderText()), field->width())
          << view->info().name << " " << control.name;
    }
  }
}

TEST_F(WindowReading, ThePreviewOfAnExportZooms) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  std::vector<double> widths;
  QTimer look;
  const auto dialog = [this] { return find<QDialog>("export-figure-dialog"); };
  QObject::connect(&look, &QTimer::timeout, &look, [&] {
    auto* preview = dialog() == nullptr ? nullptr : dialog()->findChild<ExportPreview*>();
    auto* label = dialog() == nullptr ? nullptr : dialog()->findChild<QLabel*>(QStringLiteral("preview"));
    if (label == nullptr || label->pixmap().isNull() || !window_->studio().settled()) {
      return;
    }
    widths.push_back(label->pixmap().deviceIndependentSize().width());
    if (widths.size() == 1) {
      dialog()
          ->findChild<QComboBox*>(QStringLiteral("preview-zoom"))
          ->setCurrentIndex(dialog()->findChild<QComboBox*>(QStringLiteral("preview-zoom"))->findData(2.0));
    } else if (widths.size() == 2) {
      QObject* viewport = dialog()->findChild<QScrollArea*>()->viewport();
      QWheelEvent wheel({100, 100}, {100, 100}, {}, {0, 120}, Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase,
                        false);
      QCoreApplication::sendEvent(viewport, &wheel);
    } else {
      EXPECT_EQ(preview->zoom(), 3);
      dialog()->reject();
    }
  });
  look.start(50);
  find<QAction>("export-figure")->trigger();
  ASSERT_EQ(widths.size(), 3U);
  EXPECT_NEAR(widths[1] / widths[0], 2, 0.02);
  EXPECT_NEAR(widths[2] / widths[0], 3, 0.02);
  ASSERT_TRUE(settle());
}

TEST_F(WindowReading, SeveralCheckpointsOpenInOneDialog) {
  QTemporaryDir folder;
  for (const char* name : {"first", "second", "third"}) {
    ASSERT_TRUE(QDir(folder.path()).mkdir(QLatin1String(name)));
  }
  bool several = false;
  QTimer::singleShot(0, window_.get(), [&] {
    ASSERT_TRUE(wait([this] { return find<QFileDialog>("open-folders") != nullptr; }));
    auto* dialog = find<QFileDialog>("open-folders");
    dialog->setDirectory(folder.path());
    auto* list = dialog->findChild<QAbstractItemView*>(QStringLiteral("listView"));
    several = list->selectionMode() == QAbstractItemView::ExtendedSelection;
    ASSERT_TRUE(wait([&] { return list->model()->rowCount(list->rootIndex()) == 3; }));
    for (const int row : {0, 2}) {
      list->selectionModel()->select(list->model()->index(row, 0, list->rootIndex()),
                                     QItemSelectionModel::Select | QItemSelectionModel::Rows);
    }
    dialog->findChild<QDialogButtonBox*>(QStringLiteral("buttonBox"))->button(QDialogButtonBox::Open)->click();
  });
  for (QAction* action : window_->findChildren<QAction*>()) {
    if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_O)) {
      action->trigger();
    }
  }
  ASSERT_TRUE(settle());
  EXPECT_TRUE(several);
  std::vector<std::string> names;
  for (const Checkpoint& each : window_->studio().checkpoints().all()) {
    names.push_back(each.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"first", "third"}));
}

}  // namespace
}  // namespace locus::workbench
