#include "app/workbench/docks/figures_dock.h"

#include <QAction>
#include <QApplication>
#include <QHash>
#include <QListWidget>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTextLayout>
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

constexpr int kAboutRole = Qt::UserRole;
constexpr int kThereRole = Qt::UserRole + 1;  // its checkpoints are
constexpr int kMargin = 4;
constexpr int kMaxLines = 4;  // of what is seen in a figure; the tooltip has all of it

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

// The lines of a text within `width`; where they are too many, the last one says so by an ellipsis.
QStringList lines_of(QString text, const QFont& font, int width) {
  text.replace(QLatin1Char('\n'), QChar::LineSeparator);  // where a layout ends a line
  QTextLayout layout(text, font);
  layout.beginLayout();
  QStringList lines;
  for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
    line.setLineWidth(width);
    if (lines.size() == kMaxLines) {
      const auto last = static_cast<int>(layout.lineAt(kMaxLines - 1).textStart());
      lines.back() = QFontMetrics(font).elidedText(text.mid(last), Qt::ElideRight, width);
      break;
    }
    lines << text.mid(line.textStart(), line.textLength()).trimmed();
  }
  layout.endLayout();
  return lines;
}

// A name and, below it, smaller, what is seen there, on a few lines.
class FigureDelegate final : public QStyledItemDelegate {
 public:
  FigureDelegate(const QListWidget& list, QObject* parent) : QStyledItemDelegate(parent), list_(list) {}

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const int width = list_.viewport()->width() - 2 * kMargin;
    const QFont small = about_font(option);
    const auto lines = static_cast<int>(lines_of(index.data(kAboutRole).toString(), small, width).size());
    const int height = QFontMetrics(name_font(option)).height() + lines * QFontMetrics(small).height() + 2 * kMargin;
    return {list_.viewport()->width(), height};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    item.text.clear();
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, option.widget);
    const bool selected = option.state.testFlag(QStyle::State_Selected);
    const bool there = index.data(kThereRole).toBool();
    const auto color = [&](QPalette::ColorRole role) {
      return option.palette.color(selected ? QPalette::HighlightedText : there ? role : QPalette::PlaceholderText);
    };
    QRect rest = option.rect.adjusted(kMargin, kMargin, -kMargin, -kMargin);
    painter->setFont(name_font(option));
    painter->setPen(color(QPalette::Text));
    const int line = painter->fontMetrics().height();
    painter->drawText(
        rest, Qt::AlignLeft | Qt::AlignTop,
        painter->fontMetrics().elidedText(index.data(Qt::DisplayRole).toString(), Qt::ElideRight, rest.width()));
    rest.setTop(rest.top() + line);
    painter->setFont(about_font(option));
    painter->setPen(color(QPalette::PlaceholderText));
    for (const QString& each : lines_of(index.data(kAboutRole).toString(), about_font(option), rest.width())) {
      painter->drawText(rest, Qt::AlignLeft | Qt::AlignTop | Qt::TextSingleLine, each);
      rest.setTop(rest.top() + painter->fontMetrics().height());
    }
  }

 private:
  static QFont name_font(const QStyleOptionViewItem& option) {
    QFont font = option.font;
    font.setBold(true);
    return font;
  }
  static QFont about_font(const QStyleOptionViewItem& option) {
    QFont font = option.font;
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
  }

  const QListWidget& list_;
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
  list_->setItemDelegate(new FigureDelegate(*list_, list_));
  list_->setContextMenuPolicy(Qt::ActionsContextMenu);
  list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  layout->addWidget(list_, 1);
  layout->addWidget(make_tools(body));
  auto* keep = make_button<QPushButton>(
      body, "keep", QStringLiteral("&Keep this view…"),
      QStringLiteral("Adds what is shown now, with its text and checkpoints, to this list (Ctrl+D)"));
  layout->addWidget(keep);
  setWidget(body);
  connect(keep, &QPushButton::clicked, this, &FiguresDock::keep_requested);
  connect(list_, &QListWidget::itemClicked, this, &FiguresDock::choose);
  connect(list_, &QListWidget::itemActivated, this, &FiguresDock::choose);  // Enter
  connect(list_, &QListWidget::itemChanged, this, &FiguresDock::rename);
  connect(list_, &QListWidget::currentRowChanged, this, &FiguresDock::enable_tools);
  connect(&studio_, &Studio::state_changed, this, &FiguresDock::refresh);
  refresh();
}

QWidget* FiguresDock::make_tools(QWidget* body) {
  auto* tools = new QWidget(body);
  auto* layout = new FlowLayout(tools, 4);
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
  };
  add("figure-rename", QStringLiteral("Rename"), QStringLiteral("Rename the figure"), QKeySequence(Qt::Key_F2),
      [this] { list_->editItem(list_->currentItem()); });
  add("figure-update", QStringLiteral("Update"), QStringLiteral("Replace the figure by what is shown now"), {},
      [this] { update_chosen(); });
  add("figure-up", QStringLiteral("↑"), QStringLiteral("Move the figure up"), QKeySequence(Qt::ALT | Qt::Key_Up),
      [this] { move_chosen(-1); });
  add("figure-down", QStringLiteral("↓"), QStringLiteral("Move the figure down"), QKeySequence(Qt::ALT | Qt::Key_Down),
      [this] { move_chosen(1); });
  add("figure-delete", QStringLiteral("Delete"), QStringLiteral("Delete the figure; Ctrl+Z restores it"),
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
  item->setData(kThereRole, missing.isEmpty());
  if (!missing.isEmpty()) {
    QStringList names;
    for (const QString& path : missing) {
      names << path.section(QLatin1Char('/'), -1);
    }
    item->setToolTip(QStringLiteral("Not found: %1").arg(missing.join(QStringLiteral("\n"))));
    about += QStringLiteral("%1Not here: %2")
                 .arg(about.isEmpty() ? QString() : QStringLiteral(" "), names.join(QStringLiteral(", ")));
  }
  item->setData(kAboutRole, about);
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
  for (const session::Bookmark& bookmark : shown_) {
    list_->addItem(make_item(bookmark, missing.of(bookmark)));
  }
  filling_ = false;
  const bool there = row >= 0 && row < list_->count() && shown_[static_cast<std::size_t>(row)].name == chosen;
  list_->setCurrentRow(there ? row : -1);
  enable_tools();
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
