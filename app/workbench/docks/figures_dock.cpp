#include "app/workbench/docks/figures_dock.h"

#include <QAction>
#include <QEvent>
#include <QHash>
#include <QKeyEvent>
#include <QListWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "app/session/portable.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kShowMs = 250;  // from an arrow key to the figure

// Finds the checkpoints of figures that do not exist on disk; each path is looked up once.
class Missing {
 public:
  QStringList of(const session::Bookmark& bookmark) {
    QStringList paths;
    for (const session::CheckpointEntry& entry : bookmark.columns) {
      const QString path = qt(entry.path.string());
      std::error_code code;
      const auto known = there_.find(path);
      const bool there =
          known != there_.end() ? *known : *there_.insert(path, std::filesystem::exists(entry.path, code));
      if (!there && !paths.contains(path)) {
        paths << path;
      }
    }
    return paths;
  }

 private:
  QHash<QString, bool> there_;
};

// Whether the list must be filled anew.
bool same_names(const std::vector<session::Bookmark>& a, const std::vector<session::Bookmark>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const session::Bookmark& one, const session::Bookmark& other) {
                      return one.name == other.name && one.about == other.about && one.columns == other.columns;
                    });
}

}  // namespace

FiguresDock::FiguresDock(Studio& studio, QWidget* parent)
    : QDockWidget(QStringLiteral("Figures"), parent), studio_(studio) {
  setObjectName(QStringLiteral("figures-dock"));
  auto* body = new QWidget(this);
  auto* layout = make_layout<QVBoxLayout>(body, 4);
  list_ = make_named<QListWidget>(body, "figures", QStringLiteral("Figures of this session"));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setResizeMode(QListView::Adjust);
  list_->setWordWrap(true);  // laid out anew when its width changes, as it does when the scroll bar appears
  list_->setItemDelegate(new FigureDelegate(*list_, FigureDelegate::Form::kList));
  list_->setContextMenuPolicy(Qt::ActionsContextMenu);
  list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  layout->addWidget(list_, 1);
  layout->addWidget(make_tools(body));
  setWidget(body);
  list_->installEventFilter(this);
  call_after(resting_, kShowMs, this, [this] {
    if (list_->currentItem() != nullptr) {
      choose(list_->currentItem());
    }
  });
  connect(list_, &QListWidget::itemClicked, this, &FiguresDock::choose);
  connect(list_, &QListWidget::itemActivated, this, &FiguresDock::choose);  // Enter
  connect(list_, &QListWidget::itemChanged, this, &FiguresDock::rename);
  connect(list_, &QListWidget::currentRowChanged, this, &FiguresDock::enable_tools);
  connect(&studio_, &Studio::state_changed, this, &FiguresDock::refresh);
  refresh();
  fold_empty();
}

void FiguresDock::set_pictures(FigurePicture picture) {
  picture_ = std::move(picture);
  show_pictures();
}

void FiguresDock::show_pictures() {
  filling_ = true;
  for (int row = 0; row < list_->count() && row < static_cast<int>(shown_.size()); ++row) {
    list_->item(row)->setData(FigureDelegate::kPicture, picture_(shown_[static_cast<std::size_t>(row)]));
  }
  filling_ = false;
}

// Arrow keys show the figures that they come to, once they rest.
bool FiguresDock::eventFilter(QObject* object, QEvent* event) {
  if (object == list_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool moves = key->key() == Qt::Key_Up || key->key() == Qt::Key_Down || key->key() == Qt::Key_Home ||
                       key->key() == Qt::Key_End || key->key() == Qt::Key_PageUp || key->key() == Qt::Key_PageDown;
    if (moves && key->modifiers() == Qt::NoModifier) {
      resting_.start();
    }
  }
  return QDockWidget::eventFilter(object, event);
}

void FiguresDock::fold_empty() {
  const bool any = list_->count() > 0;
  const bool changes = list_->isHidden() == any;
  list_->setVisible(any);
  for (QWidget* button : buttons_of_chosen_) {
    button->setVisible(any);
  }
  widget()->setMaximumHeight(QWIDGETSIZE_MAX);
  if (!any) {
    widget()->layout()->activate();
    widget()->setMaximumHeight(widget()->minimumSizeHint().height());
  }
  if (changes) {
    Q_EMIT filled(any);
  }
}

void FiguresDock::changeEvent(QEvent* event) {
  QDockWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && list_ != nullptr) {
    fold_empty();
  }
}

QWidget* FiguresDock::make_tools(QWidget* body) {
  auto* tools = new QWidget(body);
  auto* layout = new FlowLayout(tools, 3);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* keep = make_button<QToolButton>(
      tools, "keep", QStringLiteral("&Keep view…"),
      QStringLiteral("Adds what is shown now, with its text and checkpoints, to this list (Ctrl+D)"));
  keep->setFocusPolicy(Qt::StrongFocus);
  connect(keep, &QToolButton::clicked, this, &FiguresDock::keep_requested);
  layout->addWidget(keep);
  const auto add = [&](const char* name, const QString& sign, const QString& text, const QKeySequence& keys,
                       const std::function<void()>& run) {
    auto* action = new QAction(text, list_);
    action->setObjectName(QLatin1String(name));
    action->setIconText(sign);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);  // in the list alone: these are keys of other things elsewhere
    action->setToolTip(keys.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, keys.toString()));
    action->setEnabled(false);
    connect(action, &QAction::triggered, this, run);
    list_->addAction(action);
    of_chosen_.push_back(action);
    auto* button = new QToolButton(tools);
    button->setDefaultAction(action);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setAccessibleName(text);
    button->setFocusPolicy(Qt::StrongFocus);
    layout->addWidget(button);
    buttons_of_chosen_.push_back(button);
  };
  add("figure-rename", QStringLiteral("✎"), QStringLiteral("Rename the figure"), QKeySequence(Qt::Key_F2),
      [this] { list_->editItem(list_->currentItem()); });
  add("figure-update", QStringLiteral("⟳"), QStringLiteral("Replace the figure by what is shown now"), {},
      [this] { update_chosen(); });
  add("figure-up", QStringLiteral("↑"), QStringLiteral("Move the figure up"), QKeySequence(Qt::ALT | Qt::Key_Up),
      [this] { move_chosen(-1); });
  add("figure-down", QStringLiteral("↓"), QStringLiteral("Move the figure down"), QKeySequence(Qt::ALT | Qt::Key_Down),
      [this] { move_chosen(1); });
  add("figure-delete", QStringLiteral("✕"), QStringLiteral("Delete the figure; Ctrl+Z restores it"),
      QKeySequence(Qt::Key_Delete), [this] { erase_chosen(); });
  return tools;
}

void FiguresDock::enable_tools() {
  chosen_at_ = 0;
  for (QAction* action : of_chosen_) {
    action->setEnabled(list_->currentRow() >= 0);
  }
}

void FiguresDock::set(std::vector<session::Bookmark> figures, int chosen) {
  chosen_at_ = 0;
  studio_.sessions().set_bookmarks(std::move(figures));
  list_->setCurrentRow(std::min(chosen, list_->count() - 1));
  chosen_at_ = studio_.history().depth();
}

// The chosen figure is not what is shown once the step that chose it is undone: Update would replace it by something
// else.
void FiguresDock::follow_undo() {
  if (list_->currentRow() >= 0 && studio_.history().depth() < chosen_at_) {
    list_->setCurrentRow(-1);
    list_->clearSelection();
  }
}

void FiguresDock::rename(const QListWidgetItem* item) {
  const int row = list_->row(item);
  if (filling_ || row < 0) {
    return;
  }
  std::vector<session::Bookmark> figures = studio_.sessions().document().figures();
  if (static_cast<std::size_t>(row) >= figures.size()) {
    return;  // the list is of the figures before
  }
  session::Bookmark& figure = figures[static_cast<std::size_t>(row)];
  const std::string name = item->text().trimmed().toStdString();
  if (name == figure.name) {
    return;
  }
  figure.name = name.empty() ? figure.name : name;
  // Later: the list is filled anew, and must not be within its own signal.
  QMetaObject::invokeMethod(
      this,
      [this, figures, row] {
        shown_.clear();
        set(figures, row);
      },
      Qt::QueuedConnection);
}

void FiguresDock::update_chosen() {
  const int row = list_->currentRow();
  std::vector<session::Bookmark> figures = studio_.sessions().document().figures();
  if (row >= 0 && row < static_cast<int>(figures.size())) {
    session::Bookmark& figure = figures[static_cast<std::size_t>(row)];
    const std::string about = figure.about;
    figure = studio_.sessions().present(figure.name);
    figure.about = about;
    set(std::move(figures), row);
  }
}

void FiguresDock::move_chosen(int by) {
  const int row = list_->currentRow();
  const int to = row + by;
  const auto& figures = studio_.sessions().document().figures();
  if (row >= 0 && to >= 0 && to < static_cast<int>(figures.size())) {
    set(moved(figures, static_cast<std::size_t>(row), static_cast<std::size_t>(to)), to);
  }
}

void FiguresDock::erase_chosen() {
  const int row = list_->currentRow();
  std::vector<session::Bookmark> figures = studio_.sessions().document().figures();
  if (row >= 0 && row < static_cast<int>(figures.size())) {
    figures.erase(figures.begin() + row);
    set(std::move(figures), row);
  }
}

// Complete before the list has it: what is changed there is laid out anew.
QListWidgetItem* FiguresDock::make_item(const session::Bookmark& bookmark, const QStringList& missing) {
  auto* item = new QListWidgetItem(qt(bookmark.name));
  QString about = qt(bookmark.about);
  item->setFlags(item->flags() | Qt::ItemIsEditable);
  item->setToolTip(about);
  item->setData(FigureDelegate::kThere, missing.isEmpty());
  if (!missing.isEmpty()) {
    QStringList names;
    for (const QString& path : missing) {
      names << path.section(QLatin1Char('/'), -1);
    }
    item->setToolTip(QStringLiteral("Not found: %1").arg(missing.join(QStringLiteral("\n"))));
    about += QStringLiteral("%1Not here: %2")
                 .arg(about.isEmpty() ? QString() : QStringLiteral(" "), names.join(QStringLiteral(", ")));
  }
  item->setData(FigureDelegate::kAbout, about);
  item->setData(Qt::AccessibleDescriptionRole, about);
  return item;
}

void FiguresDock::refresh() {
  follow_undo();
  if (same_names(shown_, studio_.sessions().document().figures())) {
    return;
  }
  const int row = list_->currentRow();
  const std::string chosen =
      row >= 0 && row < static_cast<int>(shown_.size()) ? shown_[static_cast<std::size_t>(row)].name : "";
  shown_ = studio_.sessions().document().figures();
  filling_ = true;
  list_->clear();
  Missing missing;
  const std::vector<QString> headings = headings_of(shown_);
  for (std::size_t n = 0; n < shown_.size(); ++n) {
    QListWidgetItem* item = make_item(shown_[n], missing.of(shown_[n]));
    item->setData(FigureDelegate::kHeading, headings[n]);
    item->setData(FigureDelegate::kPicture, picture_ ? picture_(shown_[n]) : QPixmap());
    list_->addItem(item);
  }
  filling_ = false;
  const bool there = row >= 0 && row < list_->count() && shown_[static_cast<std::size_t>(row)].name == chosen;
  list_->setCurrentRow(there ? row : -1);
  enable_tools();
  fold_empty();
}

void FiguresDock::choose(const QListWidgetItem* item) {
  const auto row = static_cast<std::size_t>(list_->row(item));
  if (row >= studio_.sessions().document().figures().size()) {
    return;
  }
  const session::Bookmark bookmark = studio_.sessions().document().figures()[row];
  chosen_at_ = 0;
  studio_.sessions().show(bookmark);
  chosen_at_ = studio_.history().depth();
  if (const QStringList paths = Missing().of(bookmark); !paths.isEmpty()) {
    Q_EMIT missing(qt(bookmark.name), paths);
  }
}

}  // namespace locus::workbench
