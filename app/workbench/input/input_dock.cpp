#include "app/workbench/input/input_dock.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QFileDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QMainWindow>
#include <QMenu>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/workbench/input/arc_link.h"
#include "app/workbench/input/chat_button.h"
#include "app/workbench/input/decoder_field.h"
#include "app/workbench/input/find_field.h"
#include "app/workbench/input/generate_controls.h"
#include "app/workbench/input/ids_input.h"
#include "app/workbench/input/ids_panel.h"
#include "app/workbench/input/input_files.h"
#include "app/workbench/input/patch_picture.h"
#include "app/workbench/input/picture_controls.h"
#include "app/workbench/input/position_ruler.h"
#include "app/workbench/input/ruler_link.h"
#include "app/workbench/input/token_menu.h"
#include "app/workbench/input/token_strip.h"
#include "app/workbench/input/video_controls.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/widgets/flow_layout.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/work/text_pictures.h"

namespace locus::workbench {

namespace {

constexpr int kGapPx = 3;       // between the controls above the text
constexpr int kUsualLines = 4;  // of the text, before the strip of tokens has more than a row

}  // namespace

InputDock::InputDock(Studio& studio, const std::filesystem::path& samples, QWidget* parent)
    : QDockWidget(QStringLiteral("Input"), parent), studio_(studio) {
  setObjectName(QStringLiteral("input-dock"));
  auto* body = new QWidget(this);
  auto* layout = make_layout<QVBoxLayout>(body, 4);
  auto* ruler = new PositionRuler(body);
  ruler_ = new RulerLink(studio_, *ruler, this);
  layout->addWidget(make_bar(samples));

  editor_ = make_named<ExactEditor>(body, "editor", QStringLiteral("Input text"));
  editor_->setPlaceholderText(QStringLiteral("Type a text: the model runs on it as you type."));
  editor_->setTabChangesFocus(true);
  editor_->installEventFilter(this);
  picture_ = new PatchPicture(body);
  stack_ = new QStackedWidget(body);
  stack_->addWidget(editor_);
  stack_->addWidget(picture_);
  ids_ = new IdsPanel(body);
  stack_->addWidget(ids_);
  ids_input_ = new IdsInput(studio_, *ids_, *editor_);
  strip_ = new TokenStrip(body);
  arcs_ = new ArcLink(studio_, *strip_, *editor_, this);
  auto* changes = new PictureControls(studio_, *picture_, body);
  connect(changes, &PictureControls::failed, this, &InputDock::failed);
  layout->addWidget(changes);
  layout->addWidget(new VideoControls(studio_, body));
  splitter_ = new QSplitter(Qt::Vertical, body);
  splitter_->addWidget(stack_);
  auto* tokens = new QWidget(body);
  auto* below = make_layout<QVBoxLayout>(tokens, 0);
  below->addWidget(ruler);
  below->addWidget(strip_, 1);
  splitter_->addWidget(tokens);
  splitter_->setStretchFactor(0, 1);
  splitter_->setStretchFactor(1, 1);
  splitter_->setChildrenCollapsible(false);
  splitter_->installEventFilter(this);
  connect(splitter_, &QSplitter::splitterMoved, this, [this] { shared_by_hand_ = true; });
  layout->addWidget(splitter_, 1);
  setWidget(body);

  connect(ids_, &IdsPanel::left, this, &InputDock::left_editor);
  connect(ids_input_, &IdsInput::failed, this, &InputDock::failed);
  connect(editor_, &ExactEditor::textChanged, this, [this] {
    if (!filling_) {
      studio_.inputs().set_text(editor_->bytes());
    }
  });
  const auto toggle = [this](std::int64_t token) { pin(token == own(studio_.state().query) ? views::kNone : token); };
  connect(strip_, &TokenStrip::clicked, this, toggle);
  connect(picture_, &PatchPicture::clicked, this, toggle);
  connect(strip_, &TokenStrip::chosen, this, &InputDock::pin);
  connect(strip_, &TokenStrip::menu_requested, this, &InputDock::show_menu);
  connect(strip_, &TokenStrip::hovered, this, [this](std::int64_t token) {
    studio_.point({known(token), views::kNone});
  });
  connect(&studio_, &Studio::pointed_changed, this, &InputDock::show_pointed);
  connect(&studio_, &Studio::input_changed, this, &InputDock::show_input);
  connect(&studio_, &Studio::runs_changed, this, &InputDock::show_tokens);
  connect(&studio_, &Studio::checkpoints_changed, this, &InputDock::say_what_is_read);
  // The map is of layers of a run that goes on, the tokens are still those of the run before.
  connect(&studio_, &Studio::figure_changed, this, [this] { strip_->set_old(studio_.scheduler().is_early()); });
  connect(&studio_, &Studio::state_changed, this, [this] {
    if (studio_.checkpoints().has_sides()) {
      show_tokens();  // of another side
    }
    show_pointed();
  });
  show_input();
}

// A picture with what is seen in it.
void InputDock::add_sample(QMenu& menu, const std::filesystem::path& file) {
  QString name = qt(file.stem().string());
  name.replace(QLatin1Char('-'), QLatin1Char(' '));
  QAction* action = menu.addAction(name, this, [this, file] { this->open(file); });
  if (is_image(file)) {
    action->setIcon(QIcon(qt(file.string())));
    action->setText(name + QStringLiteral(" (picture)"));
  }
}

QWidget* InputDock::make_bar(const std::filesystem::path& samples) {
  auto* bar = new QWidget(this);
  auto* layout = new FlowLayout(bar, kGapPx);  // in as many lines as larger text takes: it never widens the window
  layout->setContentsMargins(0, 0, 0, 0);
  auto* open =
      make_button<QToolButton>(bar, "", QStringLiteral("Open…"),
                               QStringLiteral("Open a text or an image; dropping it on the window does the same"));
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
    auto* button = make_button<QToolButton>(bar, "", QStringLiteral("Samples"),
                                            QStringLiteral("Texts and an image to start from"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    menu->setObjectName(QStringLiteral("samples"));
    for (const bool pictures : {false, true}) {
      menu->addSection(pictures ? QStringLiteral("Pictures") : QStringLiteral("Texts"));
      for (const auto& file : files) {
        if (is_image(file) == pictures) {
          add_sample(*menu, file);
        }
      }
    }
    button->setMenu(menu);
    layout->addWidget(button);
  }
  auto* text = make_button<QToolButton>(bar, "type-text", QStringLiteral("Type a text"),
                                        QStringLiteral("Run a text again, and no longer the image"));
  connect(text, &QToolButton::clicked, this, [this] {
    studio_.inputs().set_text(editor_->bytes());
    editor_->setFocus();
  });
  connect(&studio_, &Studio::input_changed, text, [this, text] { text->setVisible(!studio_.input().text); });
  text->hide();
  layout->addWidget(text);
  auto* type_ids = make_button<QToolButton>(
      bar, "type-ids", QStringLiteral("Ids…"),
      QStringLiteral("Run ids instead of a text: typed, random, or from the tokenizer of another checkpoint"));
  connect(type_ids, &QToolButton::clicked, this, [this] { ids_input_->begin(); });
  connect(&studio_, &Studio::input_changed, type_ids, [this, type_ids] { type_ids->setVisible(!studio_.input().ids); });
  layout->addWidget(type_ids);
  layout->addWidget(new ChatButton(studio_, bar));
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
  QCheckBox* show_ruler = ruler_->make_switch(bar);
  connect(show_ruler, &QCheckBox::toggled, this, &InputDock::make_room);
  layout->addWidget(show_ruler);
  return bar;
}

bool InputDock::eventFilter(QObject* object, QEvent* event) {
  if (object == editor_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    Q_EMIT left_editor();
    return true;
  }
  if (object == splitter_ && event->type() == QEvent::Resize && !shared_by_hand_) {
    share_room();
  }
  return QDockWidget::eventFilter(object, event);
}

// The text has its usual lines first; it shares what is left with the strip.
void InputDock::share_room() {
  const int whole = splitter_->height() - splitter_->handleWidth();
  const int tokens = splitter_->widget(1)->minimumSizeHint().height();
  const int text = std::min(editor_->height_of_lines(kUsualLines), whole - tokens);
  const int more = (whole - tokens - text) / 2;
  splitter_->setSizes({text + more, whole - text - more});
}

// Its controls stand in as many lines as its width asks for.
int InputDock::least_height() const {
  const int title = minimumSizeHint().height() - widget()->minimumSizeHint().height();
  return title + widget()->layout()->totalMinimumHeightForWidth(width());
}

int InputDock::usual_height() const {
  return least_height() + editor_->height_of_lines(kUsualLines) - editor_->minimumSizeHint().height();
}

// The ruler's room is added to the panel, and given back with it: all that was added, or as much as the ruler had in a
// panel that has been made larger since.
void InputDock::make_room(bool ruler) {
  if (ruler) {
    before_ruler_ = height();
    return;
  }
  const int shown = height();
  const int own = findChild<QWidget*>(QStringLiteral("position-ruler"))->sizeHint().height();
  QTimer::singleShot(0, this, [this, shown, own] {
    constexpr int kLevels = 4;  // of layouts, each of which tells the next that it needs less
    for (int level = 0; level < kLevels; ++level) {
      QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    }
    auto* main = qobject_cast<QMainWindow*>(parentWidget());
    if (main != nullptr && !isFloating() && shown > before_ruler_) {
      const int added = shown - before_ruler_;
      main->resizeDocks({this}, {shown - (added < 2 * own ? added : own)}, Qt::Vertical);
    }
  });
}

void InputDock::give_keyboard() {
  show();
  raise();
  window()->activateWindow();
  QWidget* page = stack_->currentWidget();
  QWidget* field = page == ids_ ? page->findChild<QWidget*>(QStringLiteral("ids-editor")) : page;
  (field == nullptr ? page : field)->setFocus(Qt::ShortcutFocusReason);
}

void InputDock::set_column(std::size_t column) {
  column_ = column;
  ruler_->set_column(column);
  arcs_->set_column(column);
  find_->set_column(column);
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
    picture_->set_file(qt(input.image->string()));
    show_page(picture_);
    if (!picture_->error().isEmpty()) {
      Q_EMIT failed(picture_->error());
    }
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
  const Checkpoint* shown = studio_.checkpoints().column(column_);
  const auto own = shown == nullptr ? nullptr : shown->trace->side(studio_.state().side);
  strip_->set_trace(own ? own : shown == nullptr ? nullptr : shown->trace);
  if (shown != nullptr) {
    picture_->set_trace(shown->trace);
  }
  ruler_->update();
  show_pointed();
  const std::int64_t length = shown == nullptr ? 0 : own ? own->length() : shown->trace->length();
  count_->setText(shown == nullptr ? QString()
                  : length == 1    ? QStringLiteral("1 token")
                                   : QStringLiteral("%1 tokens").arg(length));
  show_beyond(shown == nullptr ? nullptr : own ? own : shown->trace);
  say_what_is_read();
}

void InputDock::say_what_is_read() {
  const CheckpointList::Reads reads = studio_.checkpoints().reads();
  editor_->setPlaceholderText(
      reads == CheckpointList::Reads::kPicture ? QStringLiteral("This model reads pictures: Open… or Samples.")
      : reads == CheckpointList::Reads::kIds   ? QStringLiteral("This model has no tokenizer: Ids… gives it ids.")
                                               : QStringLiteral("Type a text: the model runs on it as you type."));
}

// In the panel's title, which has the room that the controls have not.
void InputDock::show_beyond(const std::shared_ptr<const models::Trace>& trace) {
  const std::string beyond = trace ? views::beyond_text(*trace) : "";
  const QString name = QStringLiteral("Input");
  const QString title = beyond.empty() ? name : name + QStringLiteral(": ") + qt(beyond);
  if (windowTitle() != title) {
    setWindowTitle(title);
    toggleViewAction()->setText(name);  // it is called so whatever is typed
  }
}

void InputDock::show_menu(std::int64_t token, const QPoint& at) {
  const Checkpoint* shown = studio_.checkpoints().column(column_);
  if (shown != nullptr) {
    const views::ViewInput input = studio_.view_input();
    const views::Column& column = input.columns[std::min(column_, input.columns.size() - 1)];
    if (token < column.trace->length()) {
      show_token_menu(studio_, *column.trace, token, {known(token), own(studio_.state().query)}, at, this);
    }
  }
}

void InputDock::pin(std::int64_t token) {
  studio_.pin(known(token));
}

// A token of the strip, as all columns know it.
views::Token InputDock::known(std::int64_t token) const {
  const views::ViewInput input = studio_.view_input();
  if (token < 0 || input.columns.empty()) {
    return {};
  }
  return views::token_at(input, input.columns[std::min(column_, input.columns.size() - 1)], token)
      .value_or(views::Token());
}

// The strip's token for it; −1: none.
std::int64_t InputDock::own(const views::Token& token) const {
  const views::ViewInput input = studio_.view_input();
  return input.columns.empty()
             ? views::kNone
             : views::own_token(input, token, input.columns[std::min(column_, input.columns.size() - 1)]);
}

std::int64_t InputDock::own_key(const views::Token& key) const {
  const views::ViewInput input = studio_.view_input();
  if (input.columns.empty()) {
    return views::kNone;
  }
  const views::Column& column = input.columns[std::min(column_, input.columns.size() - 1)];
  return column.trace->crosses() ? views::kNone : views::own_key(input, key, column);  // of another text
}

void InputDock::show_pointed() {
  constexpr std::size_t kLongestMarked = 1U << 20;  // beyond, finding the place would be felt
  const Pointed& at = studio_.pointed();
  const session::ViewState& state = studio_.state();
  const std::int64_t pinned = own(state.query);
  strip_->set_pinned(pinned);
  picture_->set_pinned(pinned);
  strip_->set_pointed(own(at.query), own_key(at.key));
  std::vector<ExactEditor::Mark> marks;
  const views::ViewInput shown = studio_.view_input();
  const models::Input& input = studio_.input();
  if (!shown.columns.empty() && input.text && input.text->size() < kLongestMarked) {
    const models::Trace& first = *shown.columns.front().trace;
    const auto mark = [&](const views::Token& token, const std::vector<models::TokenInfo>& tokens,
                          const std::string& text, QPalette::ColorRole role) {
      const auto part = token.text ? token.text : views::text_of(tokens, token.index);
      // A run of an older text, and of a text of its own, has its tokens elsewhere.
      if (part && text == *input.text) {
        QColor color = palette().color(role);
        color.setAlpha(100);
        marks.push_back(
            {static_cast<std::size_t>(part->bytes.begin), static_cast<std::size_t>(part->bytes.end), color});
      }
    };
    for (const auto& [query, key] : {std::pair(at.query, at.key), std::pair(state.query, state.key)}) {
      mark(query, first.tokens(), first.text(), QPalette::Highlight);
      mark(key, first.key_tokens(), first.key_text(), QPalette::Link);
    }
  }
  editor_->set_marks(marks);
}

void InputDock::choose_file() {
  const QString path = QFileDialog::getOpenFileName(
      this, QStringLiteral("Open a text or an image"), {},
      QStringLiteral(
          "Texts, images and videos (*.txt *.md *.py *.csv *.json *.png *.jpg *.jpeg *.webp *.tif *.tiff *.mp4 *.webm "
          "*.gif);;All files (*)"));
  if (!path.isEmpty()) {
    open(path.toStdString());
  }
}

void InputDock::open(const std::filesystem::path& path) {
  if (is_image(path)) {
    open_image(path);
  } else if (is_video(path)) {
    open_video(path);
  } else {
    open_text(path);
  }
}

bool InputDock::open_text(const std::filesystem::path& path, bool any) {
  const auto input = text_of_file(path, any);
  if (!input) {
    Q_EMIT failed(qt(input.error().describe()));
    if (const auto all = text_of_file(path, true); all.ok() && !any) {
      Q_EMIT no_text(qt(path.string()));
    }
    return false;
  }
  studio_.inputs().set_input(*input);
  return true;
}

// Where a model reads texts with pictures, at the caret of the text.
void InputDock::open_image(const std::filesystem::path& path) {
  if (!studio_.checkpoints().takes_pictures()) {
    studio_.inputs().set_input(image_of_file(path));
    return;
  }
  insert_file(path, kImageMark, &models::Input::images);
}

void InputDock::open_video(const std::filesystem::path& path) {
  // A checkpoint that is still opening may read them; the run says where none does.
  if (!studio_.checkpoints().takes_pictures() && !studio_.checkpoints().waiting()) {
    Q_EMIT failed(QStringLiteral("%1: expected an open model that reads videos, found none").arg(qt(path.string())));
    return;
  }
  insert_file(path, kVideoMark, &models::Input::videos);
}

// A placeholder at the caret, which stands for the whole file.
void InputDock::insert_into_ids(const std::filesystem::path& path, bool video,
                                std::vector<std::filesystem::path> models::Input::*files) {
  const QString name = qt(path.string());
  const QString what = video ? QStringLiteral("videos") : QStringLiteral("pictures");
  const std::int64_t id = studio_.checkpoints().placeholder(video);
  if (id < 0) {
    Q_EMIT failed(QStringLiteral("%1: expected a shown model that reads %2 beside ids, found none").arg(name, what));
    return;
  }
  models::Input next = studio_.input();
  std::vector<std::filesystem::path>& own = next.*files;
  auto marked = single_marks(*next.ids, ids_->caret(), id, own.size());
  if (!marked) {
    Q_EMIT failed(QStringLiteral("%1: expected ids with one id %2, or one run of it, for each of %3 %4, found others")
                      .arg(name)
                      .arg(id)
                      .arg(own.size())
                      .arg(what));
    return;
  }
  marked->ids.insert(marked->ids.begin() + static_cast<std::ptrdiff_t>(marked->caret), id);
  own.insert(own.begin() + static_cast<std::ptrdiff_t>(marked->place), path);
  next.ids = std::move(marked->ids);
  next.pixels.reset();
  studio_.inputs().set_input(next);
}

void InputDock::insert_file(const std::filesystem::path& path, std::string_view mark,
                            std::vector<std::filesystem::path> models::Input::*files) {
  models::Input next = studio_.input();
  if (next.ids) {
    insert_into_ids(path, mark == kVideoMark, files);
    return;
  }
  if (!next.text) {
    next = {};
    next.text.emplace();
  }
  const std::size_t caret = std::min(next.text == editor_->bytes() ? editor_->caret() : 0, next.text->size());
  std::vector<std::filesystem::path>& own = next.*files;
  const std::size_t place = std::min(marks_before(*next.text, caret, mark), own.size());
  next.text->insert(caret, mark);
  own.insert(own.begin() + static_cast<std::ptrdiff_t>(place), path);
  next.pixels.reset();
  studio_.inputs().set_input(next);
  editor_->set_caret(caret + mark.size());
}

}  // namespace locus::workbench
