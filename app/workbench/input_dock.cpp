#include "app/workbench/input_dock.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "app/workbench/exact_editor.h"
#include "app/workbench/flow_layout.h"
#include "app/workbench/ids_panel.h"
#include "app/workbench/live_edit.h"
#include "app/workbench/patch_picture.h"
#include "app/workbench/position_ruler.h"
#include "app/workbench/token_strip.h"
#include "app/workbench/token_words.h"
#include "core/base/atomic_file.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kLongestText = 16U << 20;
constexpr int kGapPx = 6;            // between the controls above the text
constexpr int kDecoderLetters = 24;  // of what a decoder has read
constexpr int kWriterLetters = 9;    // of the name of who generates

bool ends_with_any(const std::filesystem::path& path, std::initializer_list<const char*> endings) {
  std::string lower = path.string();
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return lower.ends_with(ending); });
}

}  // namespace

bool is_image(const std::filesystem::path& path) {
  return ends_with_any(path, {".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp"});
}

bool is_text(const std::filesystem::path& path) {
  return ends_with_any(path, {".txt", ".md", ".py", ".cpp", ".h", ".csv", ".tex"});
}

InputDock::InputDock(Studio& studio, const std::filesystem::path& samples, QWidget* parent)
    : QDockWidget(QStringLiteral("Input"), parent), studio_(studio) {
  setObjectName(QStringLiteral("input-dock"));
  auto* body = new QWidget(this);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(4, 4, 4, 4);
  ruler_ = new PositionRuler(body);
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
  below->addWidget(ruler_);
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
  add_generation(*layout, bar);
  add_decoder(*layout, bar);
  find_ = new QLineEdit(bar);
  find_->setObjectName(QStringLiteral("find"));
  find_->setAccessibleName(QStringLiteral("Find in the text, or go to a token"));
  find_->setPlaceholderText(QStringLiteral("find, 12 or 12,7"));
  find_->setToolTip(
      QStringLiteral("A text to find, the number of a token, or a query and a key (Ctrl+F); Enter: the next, "
                     "Shift+Enter: the one before"));
  find_->setClearButtonEnabled(true);
  find_->setMaximumWidth(24 * fontMetrics().averageCharWidth());
  find_->installEventFilter(this);
  layout->addWidget(find_);
  count_ = new QLabel(bar);
  layout->addWidget(count_);
  auto* ids = new QCheckBox(QStringLiteral("ids"), bar);
  ids->setToolTip(QStringLiteral("Show each token's id"));
  connect(ids, &QCheckBox::toggled, this, [this](bool on) { strip_->set_show_ids(on); });
  layout->addWidget(ids);
  add_ruler(*layout, bar);
  return bar;
}

// The line of positions, and what pulling its tokens does.
void InputDock::add_ruler(QLayout& layout, QWidget* bar) {
  auto* box = new QCheckBox(QStringLiteral("ruler"), bar);
  box->setObjectName(QStringLiteral("show-ruler"));
  box->setToolTip(QStringLiteral("Show the tokens along their positions, and pull them elsewhere"));
  ruler_->hide();
  connect(box, &QCheckBox::toggled, this, [this](bool on) {
    ruler_->setVisible(on);
    show_positions();
  });
  layout.addWidget(box);
  pulled_ = new LiveEdit(studio_, this);
  connect(ruler_, &PositionRuler::begun, this, [this] {
    const auto columns = studio_.columns();
    pulled_->begin(columns.empty() ? 0 : columns[std::min(column_, columns.size() - 1)]->id);
  });
  connect(ruler_, &PositionRuler::moved, this, [this](const Range& tokens, double by) {
    models::Edit edit;
    edit.kind = models::EditKind::kShift;
    edit.tokens = tokens;
    edit.by = by;
    pulled_->show(edit);
  });
  connect(ruler_, &PositionRuler::ended, pulled_, &LiveEdit::end);
}

void InputDock::show_positions() {
  const auto columns = studio_.columns();
  if (columns.empty() || !ruler_->isVisible()) {
    ruler_->set_trace(nullptr, 0);
    return;
  }
  const Checkpoint* shown = columns[std::min(column_, columns.size() - 1)];
  if (const int edited = studio_.edited(shown->id); edited != 0) {
    shown = studio_.find(edited);
  }
  if (shown->trace == nullptr) {
    return;  // it runs: what was pulled stays where it is
  }
  const bool editable = shown->model != nullptr && shown->model->info().encoder_layers == 0;
  ruler_->set_editable(editable, editable ? QString()
                                          : QStringLiteral("Positions of a trace and of an encoder-decoder stay "
                                                           "where they are"));
  ruler_->set_trace(shown->trace, studio_.input().position_start);
}

void InputDock::add_generation(QLayout& layout, QWidget* bar) {
  auto* tokens = new QSpinBox(bar);
  tokens->setObjectName(QStringLiteral("generate-count"));
  tokens->setRange(1, 1000);
  tokens->setValue(20);
  tokens->setSuffix(QStringLiteral(" tokens"));
  tokens->setAccessibleName(QStringLiteral("Tokens to generate"));
  auto* temperature = new QDoubleSpinBox(bar);
  temperature->setObjectName(QStringLiteral("generate-temperature"));
  temperature->setRange(0, 5);
  temperature->setSingleStep(0.1);
  temperature->setPrefix(QStringLiteral("T "));
  temperature->setToolTip(QStringLiteral("Temperature; 0: always the likeliest token"));
  temperature->setAccessibleName(QStringLiteral("Temperature"));
  auto* generate = new QToolButton(bar);
  generate->setObjectName(QStringLiteral("generate"));
  generate->setText(QStringLiteral("Generate"));
  const auto name_writer = [this, generate] {
    const auto columns = studio_.columns();
    const QString who = columns.empty() ? QStringLiteral("the first column's checkpoint")
                                        : QString::fromStdString(columns.front()->name);
    const QString name =
        fontMetrics().elidedText(who, Qt::ElideMiddle, kWriterLetters * fontMetrics().averageCharWidth());
    generate->setText(columns.size() > 1 ? QStringLiteral("Generate: %1").arg(name) : QStringLiteral("Generate"));
    generate->setToolTip(QStringLiteral("%1 continues the text").arg(who));
  };
  name_writer();
  connect(&studio_, &Studio::runs_changed, generate, name_writer);
  connect(generate, &QToolButton::clicked, this,
          [this, tokens, temperature] { studio_.generate(tokens->value(), temperature->value()); });
  for (QWidget* widget :
       {static_cast<QWidget*>(generate), static_cast<QWidget*>(tokens), static_cast<QWidget*>(temperature)}) {
    layout.addWidget(widget);
    // Where there is no text to continue they leave their room to the picture, or to the ids.
    connect(&studio_, &Studio::input_changed, widget, [this, widget] {
      const models::Input& input = studio_.input();
      widget->setVisible(!input.image && !input.pixels && !input.ids);
      widget->setEnabled(input.text.has_value());
    });
  }
}

// What the decoder of an encoder–decoder has read, while one is open.
void InputDock::add_decoder(QLayout& layout, QWidget* bar) {
  auto* decoder = new QLineEdit(bar);
  decoder->setObjectName(QStringLiteral("decoder-text"));
  decoder->setAccessibleName(QStringLiteral("What the decoder has read"));
  decoder->setPlaceholderText(QStringLiteral("decoder: its start token"));
  decoder->setToolTip(
      QStringLiteral("What the decoder of an encoder-decoder has read, behind its start token; ids where there is no "
                     "tokenizer. The text below is the encoder's"));
  decoder->setClearButtonEnabled(true);
  decoder->setMinimumWidth(kDecoderLetters * fontMetrics().averageCharWidth());
  layout.addWidget(decoder);
  connect(decoder, &QLineEdit::textEdited, this,
          [this](const QString& text) { studio_.set_decoder_input(text.toStdString()); });
  const auto show = [this, decoder] {
    const models::Input& input = studio_.input();
    QString text = QString::fromStdString(input.decoder_text.value_or(""));
    if (input.decoder_ids) {
      QStringList ids;
      for (const std::int64_t id : *input.decoder_ids) {
        ids << QString::number(id);
      }
      text = ids.join(QLatin1Char(','));
    }
    if (!decoder->hasFocus() && decoder->text() != text) {
      decoder->setText(text);
    }
    decoder->setVisible(studio_.has_decoder());
  };
  connect(&studio_, &Studio::input_changed, decoder, show);
  connect(&studio_, &Studio::checkpoints_changed, decoder, show);
  show();
}

bool InputDock::eventFilter(QObject* object, QEvent* event) {
  if (object == editor_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    Q_EMIT left_editor();
    return true;
  }
  if (object == find_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      go_to(find_->text(), key->modifiers().testFlag(Qt::ShiftModifier));
      return true;
    }
    if (key->key() == Qt::Key_Escape) {
      Q_EMIT left_editor();
      return true;
    }
  }
  return QDockWidget::eventFilter(object, event);
}

void InputDock::set_column(std::size_t column) {
  column_ = column;
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
  const auto columns = studio_.columns();
  const Checkpoint* shown = columns.empty() ? nullptr : columns[std::min(column_, columns.size() - 1)];
  const auto own = shown == nullptr ? nullptr : shown->trace->side(studio_.state().side);
  strip_->set_trace(own ? own : shown == nullptr ? nullptr : shown->trace);
  strip_->set_pinned(studio_.state().query);
  if (shown != nullptr) {
    picture_->set_trace(shown->trace);
  }
  show_positions();
  show_pointed();
  const std::int64_t length = shown == nullptr ? 0 : own ? own->length() : shown->trace->length();
  count_->setText(shown == nullptr ? QString()
                  : length == 1    ? QStringLiteral("1 token")
                                   : QStringLiteral("%1 tokens").arg(length));
}

// What can be done with a token.
void InputDock::show_menu(std::int64_t token, const QPoint& at) {
  const auto columns = studio_.columns();
  const Checkpoint* shown = columns.empty() ? nullptr : columns[std::min(column_, columns.size() - 1)];
  if (shown == nullptr || token >= shown->trace->length()) {
    return;
  }
  const models::TokenInfo& info = shown->trace->tokens()[static_cast<std::size_t>(token)];
  auto* menu = new QMenu(this);
  menu->setObjectName(QStringLiteral("token-menu"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto add = [&](const char* name, const QString& text, const std::function<void()>& run) {
    menu->addAction(text, this, run)->setObjectName(QLatin1String(name));
  };
  const auto copy = [](const QString& text) { return [text] { QApplication::clipboard()->setText(text); }; };
  const QString label = QString::fromStdString(shown_token(*shown->trace, token));
  add("copy-token", QStringLiteral("Copy “%1”").arg(label), copy(label));
  add("copy-id", QStringLiteral("Copy its id %1").arg(info.id), copy(QString::number(info.id)));
  menu->addSeparator();
  const bool pinned = studio_.state().query == token;
  add("pin-query", pinned ? QStringLiteral("Unpin") : QStringLiteral("Pin as query"),
      [this, token, pinned] { pin(pinned ? views::kNone : token); });
  if (studio_.state().query != views::kNone) {
    add("pin-key", QStringLiteral("Pin as key of query %1").arg(studio_.state().query),
        [this, token] { studio_.pin(studio_.state().query, token); });
  }
  add("in-text", QStringLiteral("Show what it attends to in the text"), [this, token] {
    session::ViewState state = studio_.state();
    state.view = "attention-text";
    state.camera.reset();
    state.query = token;
    studio_.change(state);
  });
  menu->popup(at);
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

void InputDock::go_to(const QString& wanted, bool backwards) {
  const auto columns = studio_.columns();
  if (columns.empty() || wanted.isEmpty()) {
    return;
  }
  const auto target = find_target(*columns.front()->trace, wanted.toStdString(), studio_.state().query, backwards);
  if (target) {
    studio_.pin(target->query, target->key);
  } else {
    Q_EMIT failed(QStringLiteral("%1: not in the text, and no token of 0 to %2")
                      .arg(wanted)
                      .arg(columns.front()->trace->length() - 1));
  }
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
  const auto text = read_file(path, kLongestText);
  if (!text) {
    Q_EMIT failed(QString::fromStdString(text.error().describe()));
    return false;
  }
  models::Input input;
  input.text = *text;
  studio_.set_input(input);
  return true;
}

void InputDock::open_image(const std::filesystem::path& path) {
  models::Input input;
  input.image = path;
  studio_.set_input(input);
}

}  // namespace locus::workbench
