#include "app/workbench/widgets/manual_window.h"

#include <QEvent>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "app/views/shared/view.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

// A macro that must stand outside of namespaces.
static void init_pictures() {
  Q_INIT_RESOURCE(screenshots);
}

namespace locus::workbench {

namespace {

constexpr int kPlaceRole = Qt::UserRole;
constexpr int kAnchorRole = Qt::UserRole + 1;
constexpr int kMargin = 32;  // of a picture, and a scroll bar
constexpr int kResizeMs = 150;

// Links of pages are relative to assets/manual, pictures to assets/screenshots beside it.
QUrl url_of(const manual::Place& place) {
  QUrl url(QStringLiteral("qrc:/manual/%1.md").arg(qt(place.page)));
  url.setFragment(qt(place.anchor));
  return url;
}

bool is_view(const std::string& page) {
  const auto& views = views::views();
  return std::any_of(views.begin(), views.end(), [&](const views::View* view) { return view->info().name == page; });
}

// Between the page's own colour and its text's.
QColor mixed(const QPalette& palette, double text) {
  const QColor base = palette.color(QPalette::Base);
  const QColor ink = palette.color(QPalette::Text);
  const auto part = [text](int a, int b) { return static_cast<int>((1 - text) * a + text * b); };
  return {part(base.red(), ink.red()), part(base.green(), ink.green()), part(base.blue(), ink.blue())};
}

// One line per item, elided at the list's edge.
class OneLineDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return {1, QStyledItemDelegate::sizeHint(option, index).height()};
  }
};

}  // namespace

ManualPage::ManualPage(QWidget* parent) : QTextBrowser(parent) {
  init_pictures();
  setOpenExternalLinks(true);
  document()->setDocumentMargin(12);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);  // one that comes and goes would change the room of pictures
  setAccessibleName(QStringLiteral("Page of the manual"));
  call_after(resized_, kResizeMs, this, [this] { read_again(); });
}

void ManualPage::open(const manual::Place& place) {
  setSource(url_of(place));
}

manual::Place ManualPage::place() const {
  return manual::place_of(
      {}, (source().fileName() + (source().hasFragment() ? "#" + source().fragment() : QString())).toStdString());
}

void ManualPage::set_encodings(std::vector<std::string> names) {
  encodings_ = std::move(names);
}

QVariant ManualPage::loadResource(int type, const QUrl& name) {
  if (type != QTextDocument::ImageResource) {
    return html(QUrl(name).fileName().section('.', 0, 0).toStdString());
  }
  QImage picture(":" + name.path());
  const int room = std::max(viewport()->width() - kMargin, 200);
  if (picture.width() <= room) {
    return picture;
  }
  const double ratio = devicePixelRatioF();
  picture = picture.scaledToWidth(static_cast<int>(room * ratio), Qt::SmoothTransformation);
  picture.setDevicePixelRatio(ratio);
  return picture;
}

// Whatever the ending says, what loadResource() gives is HTML.
void ManualPage::doSetSource(const QUrl& name, QTextDocument::ResourceType /*type*/) {
  QTextBrowser::doSetSource(name, QTextDocument::HtmlResource);
}

void ManualPage::resizeEvent(QResizeEvent* event) {
  QTextBrowser::resizeEvent(event);
  resized_.start();
}

void ManualPage::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && !source().isEmpty()) {
    resized_.start();
  }
}

QString ManualPage::html(const std::string& page) const {
  std::string text(manual::text_of({page, {}}));
  if (is_view(page) && !encodings_.empty()) {
    text += "\n## Encodings that are shown\n\n";
    for (const std::string& name : encodings_) {
      text += std::string(manual::text_of({"encodings", name})) + "\n";
    }
  }
  const manual::HtmlColors colors{mixed(palette(), 0.07).name().toStdString()};
  return qt(manual::to_html(text, colors));
}

void ManualPage::read_again() {
  const int scrolled = verticalScrollBar()->value();
  reload();
  verticalScrollBar()->setValue(scrolled);
}

ManualWindow& ManualWindow::of(QWidget* parent) {
  auto* window = parent->findChild<ManualWindow*>();
  if (window == nullptr) {
    window = new ManualWindow(parent);
  }
  window->show();
  window->raise();
  window->activateWindow();
  return *window;
}

void show_manual_page(QWidget* parent, const QString& page) {
  QWidget* window = parent;
  while (window->parentWidget() != nullptr) {
    window = window->parentWidget();
  }
  ManualWindow::of(window).page().open({page.toStdString(), {}});
}

ManualWindow::ManualWindow(QWidget* parent) : QDialog(parent) {
  setWindowTitle(QStringLiteral("Locus: the manual"));
  resize(1000, 720);
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(QStringLiteral("Search the manual"));
  search_->setAccessibleName(QStringLiteral("Search the manual"));
  search_->setClearButtonEnabled(true);
  list_ = new QListWidget(this);
  list_->setAccessibleName(QStringLiteral("Pages"));
  list_->setItemDelegate(new OneLineDelegate(list_));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  page_ = new ManualPage(this);
  auto* back = make_button<QToolButton>(this, "", QStringLiteral("← Back"));
  auto* forward = make_button<QToolButton>(this, "", QStringLiteral("Forward →"));
  auto* bar = new QHBoxLayout;
  bar->addWidget(back);
  bar->addWidget(forward);
  bar->addStretch();
  auto* left = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(left, 0);
  column->addLayout(bar);
  column->addWidget(search_);
  column->addWidget(list_);
  auto* parts = new QSplitter(this);
  parts->addWidget(left);
  parts->addWidget(page_);
  parts->setStretchFactor(1, 1);
  parts->setSizes({260, 740});
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(parts);

  back->setEnabled(false);
  forward->setEnabled(false);
  connect(back, &QToolButton::clicked, page_, &QTextBrowser::backward);
  connect(forward, &QToolButton::clicked, page_, &QTextBrowser::forward);
  connect(page_, &QTextBrowser::backwardAvailable, back, &QWidget::setEnabled);
  connect(page_, &QTextBrowser::forwardAvailable, forward, &QWidget::setEnabled);
  connect(page_, &QTextBrowser::sourceChanged, this, [this] { follow(); });
  connect(search_, &QLineEdit::textChanged, this,
          [this](const QString& words) { words.trimmed().isEmpty() ? list_pages() : list_found(words); });
  connect(search_, &QLineEdit::returnPressed, this, [this] {
    if (list_->count() > 0) {
      list_->setCurrentRow(0);
      choose(list_->item(0));
    }
  });
  connect(list_, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) { choose(item); });
  connect(list_, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) { choose(item); });
  connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, search_, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  connect(new QShortcut(QKeySequence::Back, this), &QShortcut::activated, page_, &QTextBrowser::backward);
  connect(new QShortcut(QKeySequence::Forward, this), &QShortcut::activated, page_, &QTextBrowser::forward);
  list_pages();
  page_->setFocus();
}

void ManualWindow::add_group(const QString& name) {
  auto* item = new QListWidgetItem(name, list_);
  item->setFlags(Qt::NoItemFlags);
  QFont font = item->font();
  font.setBold(true);
  item->setFont(font);
}

void ManualWindow::list_pages() {
  list_->clear();
  std::string group;
  for (const manual::Page& page : manual::pages()) {
    if (page.group != group) {
      group = page.group;
      add_group(qt(group));
    }
    auto* item = new QListWidgetItem(qt(page.title), list_);
    item->setToolTip(qt(page.summary));
    item->setData(kPlaceRole, qt(page.name));
  }
  follow();
}

void ManualWindow::list_found(const QString& words) {
  list_->clear();
  const std::vector<manual::Hit> hits = manual::search(words.toStdString());
  for (const manual::Hit& hit : hits) {
    const QString line = qt(hit.heading + (hit.excerpt.empty() ? "" : ": " + hit.excerpt));
    auto* item = new QListWidgetItem(line.simplified(), list_);
    item->setToolTip(line);
    item->setData(kPlaceRole, qt(hit.place.page));
    item->setData(kAnchorRole, qt(hit.place.anchor));
  }
  if (hits.empty()) {
    add_group(QStringLiteral("No page of the manual contains this."));
  }
}

void ManualWindow::choose(const QListWidgetItem* item) {
  if ((item->flags() & Qt::ItemIsEnabled) != 0) {
    page_->open({item->data(kPlaceRole).toString().toStdString(), item->data(kAnchorRole).toString().toStdString()});
  }
}

void ManualWindow::follow() {
  if (!search_->text().trimmed().isEmpty()) {
    return;
  }
  const QString page = qt(page_->place().page);
  for (int row = 0; row < list_->count(); ++row) {
    if (!page.isEmpty() && list_->item(row)->data(kPlaceRole).toString() == page) {
      list_->setCurrentRow(row);
    }
  }
}

}  // namespace locus::workbench
