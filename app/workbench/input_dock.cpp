#include "app/workbench/input_dock.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/workbench/decoder_field.h"
#include "app/workbench/exact_editor.h"
#include "app/workbench/find_field.h"
#include "app/workbench/flow_layout.h"
#include "app/workbench/generate_controls.h"
#include "app/workbench/ids_panel.h"
#include "app/workbench/input_files.h"
#include "app/workbench/patch_picture.h"
#include "app/workbench/position_ruler.h"
#include "app/workbench/ruler_link.h"
#include "app/workbench/token_menu.h"
#include "app/workbench/token_strip.h"

namespace locus::workbench {

namespace {

constexpr int kGapPx = 3;  // between the controls above the text

}  // namespace

InputDock::InputDock(Studio& studio, const std::filesystem::path& samples, QWidget* parent)
    : QDockWidget(QStringLiteral("Input"), parent), studio_(studio) {
  setObjectName(QStringLiteral("input-dock"));
  auto* body = new QWidget(this);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* ruler = new PositionRuler(body);
  ruler_ = new RulerLink(studio_, *ruler, this);
  layout->addWidget(make_bar(samples));

  editor_ = new ExactEditor(body);
  editor_->setObjectName(QStringLiteral("editor"));
  editor_->setAccessibleName(QStringLiteral("Input text"));
  editor_->setPlaceholderText(QStringLiteral("Type a text: the model runs on it as you type."));
  editor_->setTabChangesFocus(true);
  editor_->setMinimumHeight(2 * editor_->fontMetrics().lineSpacing() + 12);  // a low window keeps room for the map
  editor_->installEventFilter(this);
  picture_ = new PatchPicture(body);
  stack_ = new QStackedWidget(body);
  stack_->addWidget(editor_);
  stack_->addWidget(picture_);
  ids_ = new IdsPanel(body);
  stack_->addWidget(ids_);
  strip_ = new TokenStrip(body);
  auto* splitter = new QSplitter(Qt::Vertical, body);
  splitter->addWidget(stack_);
  auto* tokens = new QWidget(body);
  auto* below = new QVBoxLayout(tokens);
  below->setContentsMargins(0, 0, 0, 0);
  below->addWidget(ruler);
  below->addWidget(strip_, 1);
  splitter->addWidget(tokens);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  layout->addWidget(splitter, 1);
  setWidget(body);

  connect_ids();
  connect(editor_, &ExactEditor::textChanged, this, [this] {
    if (!filling_) {
      studio_.set_text(editor_->bytes());
    }
  });
  const auto toggle = [this](std::int64_t token) { pin(studio_.state().query == token ? views::kNone : token); };
  connect(strip_, &TokenStrip::clicked, this, toggle);
  connect(picture_, &PatchPicture::clicked, this, toggle);
  connect(strip_, &TokenStrip::chosen, this, &InputDock::pin);
  connect(strip_, &TokenStrip::menu_requested, this, &InputDock::show_menu);
  connect(strip_, &TokenStrip::hovered, this, [this](std::int64_t token) { studio_.point({token, views::kNone}); });
  connect(&studio_, &Studio::pointed_changed, this, &InputDock::show_pointed);
  connect(&studio_, &Studio::input_changed, this, &InputDock::show_input);
  connect(&studio_, &Studio::runs_changed, this, &InputDock::show_tokens);
  connect(&studio_, &Studio::state_changed, this, [this] {
    if (studio_.has_sides()) {
      show_tokens();  // of another side
    }
    strip_->set_pinned(studio_.state().query);
    picture_->set_pinned(studio_.state().query);
    show_pointed();
  });
  show_input();
}

QWidget* InputDock::make_bar(const std::filesystem::path& samples) {
  auto* bar = new QWidget(this);
  auto* layout = new FlowLayout(bar, kGapPx);  // in as many lines as larger text takes: it never widens the window
  layout->setContentsMargins(0, 0, 0, 0);
  auto* open = new QToolButton(bar);
  open->setText(QStringLiteral("Open…"));
  open->setToolTip(QStringLiteral("Open a text or an image; dropping it on the window does the same"));
  connect(open, &QToolButton::clicked, this, &InputDock::choose_file);
  layout->addWidget(open);

  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(samples, code)) {
    if (entry.is_regular_file(code)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (!files.empty()) {
    auto* button = new QToolButton(bar);
    button->setText(QStringLiteral("Samples"));
    button->setToolTip(QStringLiteral("Texts and an image to start from"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    menu->setObjectName(QStringLiteral("samples"));
    for (const auto& file : files) {
      QString name = QString::fromStdString(file.stem().string());
      name.replace(QLatin1Char('-'), QLatin1Char(' '));
      menu->addAction(name, this, [this, file] { this->open(file); });
    }
    button->setMenu(menu);
    layout->addWidget(button);
  }
  auto* text = new QToolButton(bar);
  text->setObjectName(QStringLiteral("type-text"));
  text->setText(QStringLiteral("Type a text"));
  text->setToolTip(QStringLiteral("Run a text again, and no longer the image"));
  connect(text, &QToolButton::clicked, this, [this] {
    studio_.set_text(editor_->bytes());
    editor_->setFocus();
  });
  connect(&studio_, &Studio::input_changed, text, [this, text] { text->setVisible(!studio_.input().text); });
  text->hide();
  layout->addWidget(text);
  add_ids_button(*layout, bar);
  add_generate_controls(studio_, *layout, bar);
  layout->addWidget(new DecoderField(studio_, bar));
  find_ = new FindField(studio_, bar);
  connect(find_, &FindField::failed, this, &InputDock::failed);
  connect(find_, &FindField::left, this, &InputDock::left_editor);
  layout->addWidget(find_);
  count_ = new QLabel(bar);
  // The first run leaves the controls in their lines, and the canvas its size.
  count_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000 tokens")));
  layout->addWidget(count_);
  auto* ids = new QCheckBox(QStringLiteral("ids"), bar);
  ids->setToolTip(QStringLiteral("Show each token's id"));
  connect(ids, &QCheckBox::toggled, this, [this](bool on) { strip_->set_show_ids(on); });
  layout->addWidget(ids);
  layout->addWidget(ruler_->make_switch(bar));
  return bar;
}

bool InputDock::eventFilter(QObject* object, QEvent* event) {
  if (object == editor_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    Q_EMIT left_editor();
    return true;
  }
  return QDockWidget::eventFilter(object, event);
}

void InputDock::set_column(std::size_t column) {
  column_ = column;
  ruler_->set_column(column);
  show_tokens();
}

// Pages that are not seen take no room from the map.
void InputDock::show_page(QWidget* page) {
  for (int n = 0; n < stack_->count(); ++n) {
    QWidget* each = stack_->widget(n);
    each->setSizePolicy(QSizePolicy::Expanding, each == page ? QSizePolicy::Expanding : QSizePolicy::Ignored);
  }
  stack_->setCurrentWidget(page);
}

void InputDock::show_input() {
  const models::Input& input = studio_.input();
  if (input.image) {
    picture_->set_file(QString::fromStdString(input.image->string()));
    show_page(picture_);
    return;
  }
  if (input.ids) {
    ids_->set_ids(*input.ids);
    show_page(ids_);
    return;
  }
  show_page(editor_);
  const std::string text = input.text.value_or("");
  if (text != editor_->bytes()) {
    filling_ = true;
    editor_->set_bytes(text, true);
    filling_ = false;
  }
}

void InputDock::show_tokens() {
  const Checkpoint* shown = studio_.column(column_);
  const auto own = shown == nullptr ? nullptr : shown->trace->side(studio_.state().side);
  strip_->set_trace(own ? own : shown == nullptr ? nullptr : shown->trace);
  strip_->set_pinned(studio_.state().query);
  if (shown != nullptr) {
    picture_->set_trace(shown->trace);
  }
  ruler_->update();
  show_pointed();
  const std::int64_t length = shown == nullptr ? 0 : own ? own->length() : shown->trace->length();
  count_->setText(shown == nullptr ? QString()
                  : length == 1    ? QStringLiteral("1 token")
                                   : QStringLiteral("%1 tokens").arg(length));
}

void InputDock::show_menu(std::int64_t token, const QPoint& at) {
  const Checkpoint* shown = studio_.column(column_);
  if (shown != nullptr && token < shown->trace->length()) {
    show_token_menu(studio_, *shown->trace, token, at, this);
  }
}

void InputDock::pin(std::int64_t token) {
  studio_.pin(token);
}

void InputDock::show_pointed() {
  constexpr std::size_t kLongestMarked = 1U << 20;  // beyond, finding the place would be felt
  const Pointed& at = studio_.pointed();
  strip_->set_pointed(at.query, at.key);
  std::vector<ExactEditor::Mark> marks;
  const auto columns = studio_.columns();
  const models::Input& input = studio_.input();
  // A run of an older text has its tokens elsewhere.
  if (!columns.empty() && input.text && input.text->size() < kLongestMarked &&
      columns.front()->trace->text() == *input.text) {
    const auto& tokens = columns.front()->trace->tokens();
    const auto mark = [&](std::int64_t token, QPalette::ColorRole role) {
      if (token >= 0 && token < static_cast<std::int64_t>(tokens.size())) {
        const Range bytes = tokens[static_cast<std::size_t>(token)].bytes;
        QColor color = palette().color(role);
        color.setAlpha(100);
        marks.push_back({static_cast<std::size_t>(bytes.begin), static_cast<std::size_t>(bytes.end), color});
      }
    };
    mark(at.query, QPalette::Highlight);
    mark(at.key, QPalette::Link);
    mark(studio_.state().query, QPalette::Highlight);
    mark(studio_.state().key, QPalette::Link);
  }
  editor_->set_marks(marks);
}

void InputDock::choose_file() {
  const QString path = QFileDialog::getOpenFileName(
      this, QStringLiteral("Open a text or an image"), {},
      QStringLiteral(
          "Texts and images (*.txt *.md *.py *.csv *.json *.png *.jpg *.jpeg *.webp *.tif *.tiff);;All files (*)"));
  if (!path.isEmpty()) {
    open(path.toStdString());
  }
}

void InputDock::open(const std::filesystem::path& path) {
  if (is_image(path)) {
    open_image(path);
  } else {
    open_text(path);
  }
}

bool InputDock::open_text(const std::filesystem::path& path) {
  const auto input = text_of_file(path);
  if (!input) {
    Q_EMIT failed(QString::fromStdString(input.error().describe()));
    return false;
  }
  studio_.set_input(*input);
  return true;
}

void InputDock::open_image(const std::filesystem::path& path) {
  studio_.set_input(image_of_file(path));
}

}  // namespace locus::workbench
