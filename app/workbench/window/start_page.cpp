#include "app/workbench/window/start_page.h"

#include <QImage>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QPointer>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <map>

#include "app/figures/figure_job.h"
#include "app/figures/open_columns.h"
#include "app/figures/view_input.h"
#include "app/session/pins.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr QSize kCard(244, 156);  // of a live figure
constexpr int kGap = 14;
constexpr std::size_t kCardBytes = std::size_t{16} << 20;
constexpr int kTypingMs = 250;  // from the last key to the run
constexpr double kMmPerInch = 25.4;
constexpr double kDotsPerInch = 96;

// A list of figures as a sheet, as high as its rows.
class Sheet final : public QListWidget {
 public:
  explicit Sheet(QWidget* parent) : QListWidget(parent) {
    setViewMode(QListView::IconMode);
    setMovement(QListView::Static);
    setResizeMode(QListView::Adjust);
    setUniformItemSizes(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setItemDelegate(new FigureDelegate(*this, FigureDelegate::Form::kSheet));
    viewport()->setAutoFillBackground(false);
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QListWidget::resizeEvent(event);
    const QSize item = sizeHintForIndex(model()->index(0, 0));
    const int across = std::max(1, (viewport()->width() - 1) / std::max(1, item.width()));
    setFixedHeight((count() + across - 1) / across * item.height() + 2 * frameWidth() + 2);
  }
};

}  // namespace

// A picture, a title and a sentence; a click shows the figure.
class LiveCard final : public QToolButton {
 public:
  // A live figure: one of the bundled session, as many of its columns, and what is seen there.
  struct Shown {
    const char* figure;
    std::size_t columns;
    bool typed;  // it reads what is typed
    const char* title;
    const char* sentence;
  };

  // `stored`: the figure's small picture, shown until it is drawn.
  LiveCard(Studio& studio, const Shown& shown, session::Bookmark figure, QPixmap stored, QWidget* parent)
      : QToolButton(parent),
        studio_(studio),
        shown_(shown),
        figure_(std::move(figure)),
        stored_(std::move(stored)),
        slot_(std::string("start ") + shown.figure),
        kitchen_(std::make_shared<Kitchen>()) {
    if (figure_.columns.size() > shown_.columns) {
      figure_.columns.resize(shown_.columns);
    }
    setObjectName(QStringLiteral("start-") +
                  QString::fromUtf8(shown_.title).toLower().replace(QLatin1Char(' '), QLatin1Char('-')));
    setAccessibleName(QString::fromUtf8(shown_.title));
    setAccessibleDescription(QString::fromUtf8(shown_.sentence));
    setAutoRaise(true);
    setFocusPolicy(Qt::StrongFocus);
  }
  ~LiveCard() override { stop(); }

  QSize sizeHint() const override {
    const int words = QFontMetrics(bold()).height() + 2 * fontMetrics().height();
    return {kCard.width() + 2 * kBorder, kCard.height() + words + 3 * kBorder};
  }

  const session::Bookmark& figure() const { return figure_; }
  bool has_picture() const { return !picture_.isNull(); }
  void set_dark(bool dark) { dark_ = dark; }
  void set_text(const std::string& text) { text_ = text; }
  void stop() { studio_.worker().drop(slot_); }

  void run() {
    models::Input input = figure_.input.value_or(models::Input());
    if (shown_.typed && !text_.empty()) {
      input = {};
      input.text = text_;
    }
    studio_.worker().submit<paper::Pixels>(
        Priority::kExact, slot_, "",
        [kitchen = kitchen_, figure = figure_, input, ratio = devicePixelRatioF(), dark = dark_](
            const StopToken& stop, const Progress& /*progress*/) {
          return draw(*kitchen, figure, input, ratio, dark, stop);
        },
        [card = QPointer<LiveCard>(this)](const Result<paper::Pixels>& pixels) {
          if (card && !pixels.ok()) {
            card->said_ = qt(pixels.error().describe());
            card->stored_ = {};
            card->update();
          } else if (card) {
            const QImage image(pixels->rgba.data(), pixels->width, pixels->height, QImage::Format_RGBA8888);
            card->picture_ = QPixmap::fromImage(image);
            card->picture_.setDevicePixelRatio(card->devicePixelRatioF());
            card->setProperty("drawn", true);
            card->update();
          }
        });
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    const QRect at(kBorder, kBorder, kCard.width(), kCard.height());
    painter.fillRect(rect(), palette().color(underMouse() || hasFocus() ? QPalette::AlternateBase : QPalette::Base));
    if (picture_.isNull() && !stored_.isNull()) {
      constexpr double kPale = 0.6;
      const QPixmap small = stored_.scaled(at.size(), Qt::KeepAspectRatio, Qt::SmoothTransformation);
      painter.setOpacity(kPale);
      painter.drawPixmap(QRect(at.topLeft() + QPoint((at.width() - small.width()) / 2, 0), small.size()), small);
      painter.setOpacity(1);
    } else if (picture_.isNull()) {
      painter.setPen(palette().color(QPalette::PlaceholderText));
      painter.drawText(at, Qt::AlignCenter | Qt::TextWordWrap, said_);
    } else {
      painter.drawPixmap(at.topLeft(), picture_);
    }
    QRect words(at.left(), at.bottom() + kBorder, at.width(), height() - at.bottom() - kBorder);
    painter.setPen(palette().color(QPalette::Text));
    painter.setFont(bold());
    painter.drawText(words, Qt::AlignLeft | Qt::AlignTop, QString::fromUtf8(shown_.title));
    words.setTop(words.top() + painter.fontMetrics().height());
    painter.setFont(font());
    painter.drawText(words, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, QString::fromUtf8(shown_.sentence));
    painter.setPen(QPen(palette().color(hasFocus() ? QPalette::Highlight : QPalette::Mid), hasFocus() ? 2 : 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }

 private:
  // What a live figure is made of; used on the worker alone.
  struct Kitchen {
    session::ColumnMaker maker{
        [](const auto& path, const auto& options, StopToken stop, const Progress& progress) {
          return models::open(path, options, std::move(stop), progress);
        },
        [](const models::Model& model, const models::Input& input) { return model.run(input, {}, {}); }};
    std::shared_ptr<views::FieldCache> cache = std::make_shared<views::FieldCache>(kCardBytes);
  };

  static Result<paper::Pixels> draw(Kitchen& kitchen, session::Bookmark figure, const models::Input& input,
                                    double ratio, bool dark, const StopToken& stop) {
    session::assign_unlinked_heads(figure.state, figure.columns);
    LOCUS_TRY(const views::View* const view, views::find_view(figure.state.view));
    LOCUS_TRY(auto columns, kitchen.maker.columns(figure.columns, input));
    if (const auto sides = session::on_side(columns, figure.state.side); !sides.empty()) {
      session::resolve_tokens(figure.state, *sides.front().trace);
    }
    views::ViewInput asked = session::view_input(figure.state, std::move(columns), *view);
    asked.width_px = static_cast<int>(kCard.width() * ratio);
    asked.height_px = static_cast<int>(kCard.height() * ratio);
    asked.stop = stop;
    asked.cache = kitchen.cache;
    LOCUS_TRY(figure::Figure made, view->figure(asked));
    for (figure::Panel& panel : made.panels) {
      panel.note.clear();
      panel.color_bar_label.clear();
    }
    paper::PaperOptions options;
    options.width_mm = kCard.width() / kDotsPerInch * kMmPerInch;
    options.height_mm = kCard.height() / kDotsPerInch * kMmPerInch;
    options.dpi = kDotsPerInch * ratio;
    options.text_pt = 6;
    options.dark = dark;
    return paper::render(figures::on_paper(std::move(made), {}), options);
  }

  static constexpr int kBorder = 6;
  QFont bold() const {
    QFont bold = font();
    bold.setBold(true);
    return bold;
  }

  Studio& studio_;
  const Shown shown_;
  session::Bookmark figure_;
  QPixmap stored_;
  const std::string slot_;
  const std::shared_ptr<Kitchen> kitchen_;
  std::string text_;
  QPixmap picture_;
  QString said_ = QStringLiteral("drawing …");  // while there is no picture
  bool dark_ = false;
};

namespace {

constexpr std::array<LiveCard::Shown, 4> kShown = {
    {{"One head", 1, true, "A head", "Each row is a word that looks, each column a word that it looks at."},
     {"Words under three encodings", 2, true, "Two encodings", "The same words under RoPE and CoPE, side by side."},
     {"Word to picture", 1, false, "Word to picture", "What the word “red” reads in the picture before it."},
     {"Move of a key", 1, false, "A moved token", "Where a head finds its key when one token stands elsewhere."}}};

}  // namespace

StartPage::StartPage(Studio& studio, const std::vector<session::Bookmark>& figures, const FigurePicture& picture,
                     QWidget* parent)
    : QScrollArea(parent), studio_(studio) {
  give_name(this, "start-page", QStringLiteral("Getting started"));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* body = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(body, kGap);
  column->addWidget(make_label(
      body, "start-line",
      QStringLiteral("Locus shows how transformers address positions: what each head attends to, and what its position "
                     "encoding contributes.")));
  column->addWidget(make_cards(figures, picture));
  column->addWidget(make_ways());
  std::map<QString, std::vector<session::Bookmark>> groups;
  for (const session::Bookmark& figure : figures) {
    groups[group_of(figure)].push_back(figure);
  }
  for (const char* group : {"TAPE", "CoPE", "TAPA", "SeqPE", "Tools"}) {
    if (const auto found = groups.find(QLatin1String(group)); found != groups.end()) {
      add_sheet(*column, found->first, found->second, picture);
    }
  }
  column->addStretch(1);
  setWidget(body);
}

StartPage::~StartPage() = default;

QWidget* StartPage::make_cards(const std::vector<session::Bookmark>& figures, const FigurePicture& picture) {
  auto* row = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(row, 0);
  auto* pictures = new QWidget(row);
  auto* line = new FlowLayout(pictures, kGap);
  line->setContentsMargins(0, 0, 0, 0);
  line->set_even();
  for (const LiveCard::Shown& shown : kShown) {
    const auto found = std::ranges::find(figures, shown.figure, &session::Bookmark::name);
    if (found == figures.end()) {
      continue;
    }
    auto* card = new LiveCard(studio_, shown, *found, picture ? picture(*found) : QPixmap(), pictures);
    connect(card, &QToolButton::clicked, this, [this, card] { Q_EMIT figure_chosen(card->figure()); });
    line->addWidget(card);
    cards_.push_back(card);
  }
  column->addWidget(pictures);
  text_ = make_named<QLineEdit>(row, "start-typed", QStringLiteral("A text for the first two"));
  text_->setPlaceholderText(QStringLiteral("Type here: the first two run as you type."));
  text_->setVisible(!cards_.empty());
  auto* typing = new QTimer(this);
  call_after(*typing, kTypingMs, this, [this] {
    for (LiveCard* card : cards_) {
      card->set_text(text_->text().toStdString());
      card->run();
    }
  });
  connect(text_, &QLineEdit::textEdited, typing, qOverload<>(&QTimer::start));
  column->addWidget(text_);
  return row;
}

QWidget* StartPage::make_ways() {
  auto* ways = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(ways, 0);
  auto* buttons = new QWidget(ways);
  auto* line = new FlowLayout(buttons, kGap / 2);
  line->setContentsMargins(0, 0, 0, 0);
  const auto add = [&](const char* name, const QString& text, const QString& tip, void (StartPage::*wanted)()) {
    auto* button = make_button<QPushButton>(buttons, name, text, tip);
    connect(button, &QPushButton::clicked, this, wanted);
    line->addWidget(button);
  };
  add("start-checkpoint", QStringLiteral("Open a checkpoint…"),
      QStringLiteral("A folder in the Hugging Face format, a GGUF file, a trace (Ctrl+O)"),
      &StartPage::checkpoint_wanted);
  add("start-hub", QStringLiteral("From the hub's cache…"),
      QStringLiteral("Models that are stored on this machine already"), &StartPage::hub_wanted);
  add("start-text", QStringLiteral("Type a text"), QStringLiteral("The models run as you type (Ctrl+L)"),
      &StartPage::text_wanted);
  add("start-manual", QStringLiteral("Manual"),
      QStringLiteral("F1 opens the page of what is shown, Ctrl+K finds everything by its name, ? lists the keys"),
      &StartPage::manual_wanted);
  column->addWidget(buttons);
  auto* drop = make_label(ways, "start-drop",
                          QStringLiteral("Or drop a folder, a file, a text or a picture anywhere on this window."));
  column->addWidget(drop);
  recent_ = new QWidget(ways);
  give_name(recent_, "start-recent");
  new FlowLayout(recent_, kGap / 2);
  recent_->layout()->setContentsMargins(0, 0, 0, 0);
  column->addWidget(recent_);
  return ways;
}

void StartPage::set_recent(const QStringList& paths) {
  qDeleteAll(recent_->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly));
  recent_->setVisible(!paths.isEmpty());
  if (paths.isEmpty()) {
    return;
  }
  recent_->layout()->addWidget(new QLabel(QStringLiteral("Recent:"), recent_));
  for (const QString& path : paths) {
    const QString name = path.section(QLatin1Char('/'), -1, -1, QString::SectionSkipEmpty);
    auto* button = make_button<QToolButton>(recent_, "", name, path);
    button->setFocusPolicy(Qt::StrongFocus);
    connect(button, &QToolButton::clicked, this, [this, path] { Q_EMIT path_chosen(path); });
    recent_->layout()->addWidget(button);
  }
}

void StartPage::add_sheet(QBoxLayout& column, const QString& group, const std::vector<session::Bookmark>& figures,
                          const FigurePicture& picture) {
  auto* heading = make_label(widget(), "", group);
  QFont bold = heading->font();
  bold.setBold(true);
  heading->setFont(bold);
  column.addWidget(heading);
  auto* sheet = new Sheet(this);
  give_name(sheet, "", QStringLiteral("Figures: ") + group);
  sheet->setObjectName(QStringLiteral("sheet-") + group.toLower());
  for (const session::Bookmark& figure : figures) {
    auto* item = new QListWidgetItem(qt(figure.name), sheet);
    item->setData(FigureDelegate::kAbout, qt(figure.about));
    item->setData(FigureDelegate::kThere, true);
    item->setData(FigureDelegate::kPicture, picture(figure));
    item->setData(Qt::AccessibleDescriptionRole, qt(figure.about));
    item->setToolTip(qt(figure.about));
  }
  const auto choose = [this, sheet, figures](const QListWidgetItem* item) {
    Q_EMIT figure_chosen(figures[static_cast<std::size_t>(sheet->row(item))]);
  };
  connect(sheet, &QListWidget::itemClicked, this, choose);
  connect(sheet, &QListWidget::itemActivated, this, choose);  // Enter
  column.addWidget(sheet);
}

void StartPage::set_dark(bool dark) {
  for (LiveCard* card : cards_) {
    card->set_dark(dark);
    if (isVisible()) {
      card->run();
    }
  }
}

void StartPage::set_live(bool live) {
  for (LiveCard* card : cards_) {
    if (!live) {
      card->stop();
    } else if (!card->has_picture()) {
      card->run();
    }
  }
}

void StartPage::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT left();
    return;
  }
  QScrollArea::keyPressEvent(event);
}

}  // namespace locus::workbench
