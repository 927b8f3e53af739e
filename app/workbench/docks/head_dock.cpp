#include "app/workbench/docks/head_dock.h"

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QImage>
#include <QKeyEvent>
#include <QLabel>
#include <QMainWindow>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/state/change_state.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/numbers.h"
#include "models/api/atlas_trace.h"
#include "renderers/figure/color_scale.h"

namespace locus::workbench {

namespace {

constexpr const char* kCardSlot = "head card";  // slots of the worker
constexpr const char* kSharesSlot = "head shares";
constexpr const char* kEffectSlot = "head effect";
constexpr const char* kAlikeSlot = "heads alike";
constexpr std::size_t kReadRows = 5;
constexpr std::size_t kAlikeHeads = 5;  // of each checkpoint
constexpr std::int64_t kPictureCells = 150;
constexpr int kPicturePx = 150;
constexpr double kLeastSink = 0.1;  // of a weight that is named
constexpr int kLeastCardWidth = 190;
constexpr int kHeadRole = Qt::UserRole;  // of an item: checkpoint, layer, head

QColor opaque_color(std::uint32_t rgba) {
  return {static_cast<int>(rgba >> 24), static_cast<int>(rgba >> 16 & 0xFF), static_cast<int>(rgba >> 8 & 0xFF)};
}

// The map as the matrix of heads shows it: weights by their root, so that small ones are seen.
QImage head_picture(const Field& map, bool dark) {
  figure::ColorScale scale;
  scale.transfer = figure::Transfer::kGamma;
  scale.gamma = 0.5F;
  scale.mask_color = dark ? 0x3A3D42FF : 0xDADDE2FF;
  QImage image(static_cast<int>(map.columns), static_cast<int>(map.rows), QImage::Format_RGB32);
  for (std::int64_t row = 0; row < map.rows; ++row) {
    for (std::int64_t column = 0; column < map.columns; ++column) {
      image.setPixelColor(static_cast<int>(column), static_cast<int>(row),
                          opaque_color(figure::color_of(scale, map.at(row, column))));
    }
  }
  return image;
}

QString head_text(const views::HeadRef& head) {
  return QStringLiteral("%1.%2").arg(head.layer).arg(head.head);
}

// The work's progress, after which more urgent jobs of the worker run.
Progress resting(Worker& worker, const Progress& progress) {
  return [&worker, progress](const ProgressReport& news) {
    progress(news);
    worker.rest();
  };
}

QLabel* make_words(QWidget* parent, const char* object_name) {
  QLabel* label = make_label(parent, object_name);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

// "sink: “.” (token 12), 0.31" and "key head 1 shared with heads 3, 5"; empty where there is neither.
QString keys_text(const models::Trace& trace, const views::Fingerprint& print, std::int64_t layer, std::int64_t head) {
  QStringList lines;
  if (print.sink_key >= 0 && print.sink_key < trace.keys() && print.sink >= kLeastSink) {
    lines << QStringLiteral("sink: “%1” (token %2), %3")
                 .arg(qt(trace.key_tokens()[static_cast<std::size_t>(print.sink_key)].label))
                 .arg(print.sink_key)
                 .arg(qt(share_text(print.sink)));
  }
  const models::ModelInfo& model = trace.model();
  const std::int64_t own = model.layer_info.empty() ? 0 : model.layer_info[static_cast<std::size_t>(layer)].kv_heads;
  const std::int64_t key_heads = own > 0 ? own : model.kv_heads;
  if (key_heads > 0 && key_heads < model.heads && head >= 0) {
    const std::int64_t size = model.heads / key_heads;
    QStringList others;
    for (std::int64_t other = head / size * size; other < head / size * size + size; ++other) {
      others << (other == head ? QStringList() : QStringList(QString::number(other)));
    }
    lines << QStringLiteral("key head %1, shared with %2 %3")
                 .arg(head / size)
                 .arg(others.size() == 1 ? QStringLiteral("head") : QStringLiteral("heads"),
                      others.join(QStringLiteral(", ")));
  }
  return lines.join(QLatin1Char('\n'));
}

// An empty one takes no room.
void say(QLabel& label, const QString& text) {
  label.setText(text);
  label.setVisible(!text.isEmpty());
}

}  // namespace

// A number between 0 and 1 as a bar.
class ShareBar : public QWidget {
 public:
  explicit ShareBar(QWidget* parent) : QWidget(parent) { setMinimumSize(kWidth, kHeight); }

  void set_share(double share) {
    share_ = std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
    update();
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    const QRect groove(0, (height() - kHeight) / 2, width(), kHeight);
    painter.fillRect(groove, palette().color(QPalette::Button));
    painter.fillRect(
        QRect(groove.left(), groove.top(), static_cast<int>(std::lround(share_ * groove.width())), kHeight),
        palette().color(QPalette::Highlight));
  }

 private:
  static constexpr int kWidth = 20;
  static constexpr int kHeight = 8;
  double share_ = 0;
};

HeadDock::HeadDock(Studio& studio, QWidget* parent) : QDockWidget(QStringLiteral("Head"), parent), studio_(studio) {
  setObjectName(QStringLiteral("head-dock"));
  QScrollArea* scroll = make_scroll(this, make_body());
  scroll->setMinimumWidth(kLeastCardWidth);
  setWidget(scroll);
  for (const auto change : {&Studio::state_changed, &Studio::runs_changed, &Studio::checkpoints_changed}) {
    connect(&studio_, change, this, &HeadDock::follow);
  }
  // A new figure, too: what was asked for before it was dropped.
  for (const auto change : {&Studio::fingerprints_changed, &Studio::figure_changed}) {
    connect(&studio_, change, this, &HeadDock::show_numbers);
  }
  connect(this, &QDockWidget::visibilityChanged, this, [this](bool seen) {
    seen_ = seen;
    follow();
  });
}

// ---- parts

HeadDock::NumberRow HeadDock::add_row(QGridLayout& grid, const char* object_name, const QString& name) {
  QWidget* parent = grid.parentWidget();
  NumberRow row;
  row.name = new QLabel(name, parent);
  row.bar = new ShareBar(parent);
  row.text = new QLabel(parent);
  row.text->setObjectName(QLatin1String(object_name));
  row.text->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  const int line = grid.rowCount();
  grid.addWidget(row.name, line, 0);
  grid.addWidget(row.bar, line, 1);
  grid.addWidget(row.text, line, 2);
  return row;
}

void HeadDock::set_row(const NumberRow& row, double share, const QString& text) {
  row.bar->set_share(share);
  row.text->setText(text);
}

QWidget* HeadDock::make_body() {
  auto* body = new QWidget(this);
  auto* column = make_layout<QVBoxLayout>(body, 4);
  title_ = make_words(body, "head-title");
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  column->addWidget(title_);
  missing_ = make_words(body, "head-missing");
  column->addWidget(missing_);
  content_ = new QWidget(body);
  column->addWidget(content_);
  column->addStretch(1);
  auto* layout = make_layout<QVBoxLayout>(content_, 0);

  picture_ = make_named<QLabel>(content_, "head-picture", QStringLiteral("Map of the head on this text"));
  picture_->setAlignment(Qt::AlignCenter);
  layout->addWidget(picture_);
  auto* holder = new QWidget(content_);
  auto* rows = make_layout<QGridLayout>(holder, 0);
  rows->setColumnStretch(1, 1);
  rows->setVerticalSpacing(2);
  layout->addWidget(holder);
  for (const auto& [object_name, name] :
       {std::pair("head-previous", "previous"), std::pair("head-first", "first"),
        std::pair("head-induction", "induction"), std::pair("head-distance", "distance")}) {
    numbers_.push_back(add_row(*rows, object_name, QLatin1String(name)));
  }
  for (const auto& [object_name, name] :
       {std::pair("head-place", "place"), std::pair("head-word", "word"), std::pair("head-both", "both")}) {
    shares_.push_back(add_row(*rows, object_name, QLatin1String(name)));
  }
  shares_said_ = make_words(content_, "head-shares");
  layout->addWidget(shares_said_);
  keys_ = make_words(content_, "head-keys");
  layout->addWidget(keys_);
  pairs_ = make_words(content_, "head-pairs");
  layout->addWidget(pairs_);

  reads_said_ = make_words(content_, "head-reads-title");
  layout->addWidget(reads_said_);
  auto* reads = new QWidget(content_);
  auto* list = make_layout<QGridLayout>(reads, 0);
  list->setColumnStretch(1, 1);
  list->setVerticalSpacing(2);
  for (std::size_t n = 0; n < kReadRows; ++n) {
    const QByteArray object_name = "head-reads-" + QByteArray::number(static_cast<int>(n));
    reads_.push_back(add_row(*list, object_name.constData(), {}));
  }
  layout->addWidget(reads);

  measure_ = make_button<QPushButton>(content_, "head-measure", QStringLiteral("&Effect without it"),
                                      QStringLiteral("Runs the input without the head, which gives its mean over the "
                                                     "queries instead, and compares the loss of every token"));
  connect(measure_, &QPushButton::clicked, this, &HeadDock::ask_effect);
  layout->addWidget(measure_);
  effect_ = make_words(content_, "head-effect");
  layout->addWidget(effect_);

  find_ = make_button<QPushButton>(content_, "head-find", QStringLiteral("&Find heads like this"),
                                   QStringLiteral("The nearest heads of every open checkpoint: by their maps where the "
                                                  "tokens are the same, by their statistics where they differ"));
  connect(find_, &QPushButton::clicked, this, &HeadDock::ask_alike);
  layout->addWidget(find_);
  alike_said_ = make_words(content_, "head-alike-said");
  layout->addWidget(alike_said_);
  alike_ = make_named<QTreeWidget>(content_, "head-alike", QStringLiteral("Heads like this one; Enter shows one"));
  alike_->setHeaderHidden(true);
  alike_->setColumnCount(2);
  alike_->setRootIsDecorated(false);
  alike_->header()->setStretchLastSection(false);
  alike_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  alike_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  alike_->hide();
  connect(alike_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) { go_to(*item); });
  connect(alike_, &QTreeWidget::itemClicked, this, [this](QTreeWidgetItem* item) { go_to(*item); });
  layout->addWidget(alike_);

  auto* open = make_button<QPushButton>(content_, "head-open", QStringLiteral("&Open its map"),
                                        QStringLiteral("The whole map, in the view Attention"));
  connect(open, &QPushButton::clicked, this, &HeadDock::open_map);
  layout->addWidget(open);
  auto* copy = make_button<QPushButton>(content_, "head-copy", QStringLiteral("&Copy as command"),
                                        QStringLiteral("The command line of locus that draws this map"));
  connect(copy, &QPushButton::clicked, this, [this] {
    if (const auto chosen = head()) {
      Q_EMIT copy_requested(column_, *chosen);
    }
  });
  layout->addWidget(copy);
  return body;
}

// ---- which head

void HeadDock::set_column(std::size_t column) {
  column_ = column;
  follow();
}

// In the place of the values, which it gives back when it is closed.
void HeadDock::show_card() {
  auto* main = qobject_cast<QMainWindow*>(parentWidget());
  auto* values = main == nullptr ? nullptr : main->findChild<QDockWidget*>(QStringLiteral("inspector-dock"));
  if (isHidden() && !isFloating() && values != nullptr && values->isVisible() && !values->isFloating()) {
    main->tabifyDockWidget(values, this);
  }
  show();
  raise();
  follow();
}

std::optional<views::HeadRef> HeadDock::head() const {
  const views::ViewInput input = own_input();
  return input.columns.empty() ? std::nullopt : std::optional(views::HeadRef{input.layer, input.head});
}

views::ViewInput HeadDock::own_input() const {
  views::ViewInput input = studio_.view_input();
  if (input.columns.empty()) {
    return input;
  }
  const std::size_t column = std::min(column_, input.columns.size() - 1);
  const views::HeadRef head = views::head_of_column(input, column);
  const models::ModelInfo& model = input.columns[column].trace->model();
  input.columns = {input.columns[column]};
  input.columns.front().own.reset();
  input.partners.clear();
  input.layer = head.layer;
  input.head = head.head;
  input.difference = false;
  input.reference = views::kNone;
  if (head.layer < 0 || head.head < 0 || head.layer >= model.layers || head.head >= model.heads) {
    input.columns.clear();
  }
  return input;
}

void HeadDock::follow() {
  if (!seen_) {
    return;
  }
  const views::ViewInput input = own_input();
  const bool any = !input.columns.empty();
  content_->setVisible(any);
  missing_->setVisible(!any);
  if (!any) {
    const bool mean = !studio_.view_input().columns.empty();
    title_->setText(QStringLiteral("No head is chosen"));
    missing_->setText(mean ? QStringLiteral("The mean of all heads is shown: → or ← on the canvas chooses one, and so "
                                            "does a click on a head.")
                           : QStringLiteral("Nothing has run yet."));
    about_.reset();
    drop_all();
    return;
  }
  const views::Column& column = input.columns.front();
  const views::HeadRef head{input.layer, input.head};
  const bool same =
      about_ && about_->trace.lock() == column.trace && about_->head == head && about_->name == column.name;
  if (same) {
    return;
  }
  about_ = About{column.trace, column.name, head};
  drop_all();
  title_->setText(QStringLiteral("Head %1 of %2").arg(head_text(head), qt(column.name)));
  title_->setToolTip(qt(models::layer_text(column.trace->model(), head.layer)));
  show_numbers();
  show_map();
  const Error waits{ErrorCode::kCancelled, "…", {}};
  show_reads(waits);
  show_shares(waits);
  say(*effect_, {});
  say(*alike_said_, {});
  alike_->clear();
  alike_->hide();
  ask_card(input);
  ask_shares(input);
}

void HeadDock::drop_all() {
  map_.reset();
  for (const char* slot : {kCardSlot, kSharesSlot, kEffectSlot, kAlikeSlot}) {
    studio_.worker().drop(slot);
  }
  measure_->setEnabled(true);
  find_->setEnabled(true);
}

// ---- work

void HeadDock::ask_card(const views::ViewInput& input) {
  const views::HeadRef head{input.layer, input.head};
  studio_.worker().submit<HeadCard>(
      Priority::kTile, kCardSlot, "",
      [&worker = studio_.worker(), trace = input.columns.front().trace, head](const StopToken& stop,
                                                                              const Progress& progress) {
        return head_card(*trace, head, kPictureCells, stop, resting(worker, progress));
      },
      [this](Result<HeadCard> card) {
        if (card) {
          map_ = card->map;
        }
        show_map();
        show_reads(card);
      });
}

void HeadDock::ask_shares(const views::ViewInput& input) {
  studio_.worker().submit<PlaceAndWord>(
      Priority::kExact, kSharesSlot, "Place and word of head " + head_text({input.layer, input.head}).toStdString(),
      [&worker = studio_.worker(), input](const StopToken& stop, const Progress& progress) {
        views::ViewInput asked = input;
        asked.stop = stop;
        asked.progress = resting(worker, progress);
        return place_and_word(asked);
      },
      [this](const Result<PlaceAndWord>& shares) { show_shares(shares); });
}

void HeadDock::ask_effect() {
  const views::ViewInput input = own_input();
  if (input.columns.empty()) {
    return;
  }
  measure_->setEnabled(false);
  say(*effect_, QStringLiteral("running without it …"));
  const views::HeadRef head{input.layer, input.head};
  studio_.worker().submit<HeadEffect>(
      Priority::kExact, kEffectSlot, "Effect of head " + head_text(head).toStdString(),
      [&worker = studio_.worker(), column = input.columns.front(), head](const StopToken& stop,
                                                                         const Progress& progress) {
        return head_effect(column, head, stop, resting(worker, progress));
      },
      [this](const Result<HeadEffect>& effect) {
        measure_->setEnabled(true);
        show_effect(effect);
      });
}

HeadRun HeadDock::own_run(const views::Column& column) const {
  HeadRun run;
  run.column = column;
  const HeadSurvey* survey = studio_.fingerprints().known(column);
  if (survey != nullptr && survey->done) {
    run.prints = survey->prints;
  }
  return run;
}

void HeadDock::ask_alike() {
  const views::ViewInput input = own_input();
  if (input.columns.empty()) {
    return;
  }
  const views::ViewInput all = studio_.view_input();
  const auto shown = studio_.checkpoints().shown();
  std::vector<HeadRun> runs;
  for (std::size_t n = 0; n < std::min(all.columns.size(), shown.size()); ++n) {
    runs.push_back(own_run(all.columns[n]));
    runs.back().id = shown[n]->id;
  }
  HeadRun own = own_run(input.columns.front());
  own.id = shown[std::min(column_, shown.size() - 1)]->id;
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    if (!each.entry.shown && each.trace && !each.waiting()) {  // hidden, and kept with its latest run
      runs.push_back(own_run({each.name, each.model, each.trace}));
      runs.back().id = each.id;
    }
  }
  std::erase_if(runs, [](const HeadRun& run) { return models::atlas_of(*run.column.trace) != nullptr; });
  find_->setEnabled(false);
  say(*alike_said_, QStringLiteral("comparing …"));
  const views::HeadRef head{input.layer, input.head};
  studio_.worker().submit<std::vector<LikeHeads>>(
      Priority::kExact, kAlikeSlot, "Heads like " + head_text(head).toStdString(),
      [&worker = studio_.worker(), own, head, runs](const StopToken& stop, const Progress& progress) {
        return heads_like(own, head, runs, kAlikeHeads, stop, resting(worker, progress));
      },
      [this](const Result<std::vector<LikeHeads>>& alike) {
        find_->setEnabled(true);
        show_alike(alike);
      });
}

// ---- what was found

void HeadDock::show_numbers() {
  const views::ViewInput input = own_input();
  if (!seen_ || input.columns.empty()) {
    return;
  }
  const views::Column& column = input.columns.front();
  const auto print = studio_.fingerprints().of(column, input.layer, input.head);
  const bool known = print && print->ok();
  const QString none = print ? QStringLiteral("–") : QStringLiteral("…");
  const views::Fingerprint head = known ? **print : views::Fingerprint{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
  const auto share = [&](std::size_t row, double value) {
    set_row(numbers_[row], value, known ? qt(share_text(value)) : none);
  };
  share(0, head.previous);
  share(1, head.first);
  share(2, head.induction);
  const double longest = std::max<double>(1, static_cast<double>(column.trace->length() - 1));
  set_row(
      numbers_[3], head.distance / longest,
      known && std::isfinite(head.distance) ? QStringLiteral("%1 tokens").arg(qt(fixed_text(head.distance, 1))) : none);
  say(*keys_, keys_text(*column.trace, head, input.layer, input.head));
  for (const NumberRow& row : numbers_) {
    row.text->setToolTip(print && !print->ok() ? qt(print->error().message) : QString());
  }
}

void HeadDock::show_map() {
  if (!map_) {
    picture_->setText(QStringLiteral("…"));
    return;
  }
  const bool dark = palette().color(QPalette::Window).lightness() < palette().color(QPalette::Text).lightness();
  const QImage image = head_picture(*map_, dark);
  const auto wide = static_cast<int>(std::min<std::int64_t>(kPicturePx, 8 * map_->columns));
  picture_->setPixmap(QPixmap::fromImage(image.scaled(
      wide, wide, Qt::KeepAspectRatio, image.width() > wide ? Qt::SmoothTransformation : Qt::FastTransformation)));
}

void HeadDock::show_reads(const Result<HeadCard>& card) {
  const bool waits = !card && card.error().code == ErrorCode::kCancelled;
  reads_said_->setText(card    ? QStringLiteral("Reads most (mean weight; times in the text)")
                       : waits ? QStringLiteral("Reads most …")
                               : QStringLiteral("What it reads is not known: %1").arg(qt(card.error().message)));
  if (!card && !waits) {
    picture_->clear();
  }
  for (std::size_t n = 0; n < reads_.size(); ++n) {
    const bool there = card && n < card->reads.size();
    for (QWidget* part : {static_cast<QWidget*>(reads_[n].name), static_cast<QWidget*>(reads_[n].bar),
                          static_cast<QWidget*>(reads_[n].text)}) {
      part->setVisible(there);
    }
    if (there) {
      const ReadKey& each = card->reads[n];
      reads_[n].name->setText(QStringLiteral("“%1”").arg(qt(each.label)));
      set_row(reads_[n], each.share, QStringLiteral("%1 (%2×)").arg(qt(share_text(each.share))).arg(each.count));
    }
  }
}

void HeadDock::show_shares(const Result<PlaceAndWord>& shares) {
  const bool waits = !shares && shares.error().code == ErrorCode::kCancelled;
  const PlaceAndWord none{kNaN, kNaN, kNaN, {}, {}};
  const PlaceAndWord& made = shares ? *shares : none;
  const double values[] = {made.place, made.word, made.both};
  for (std::size_t n = 0; n < shares_.size(); ++n) {
    set_row(shares_[n], values[n],
            waits ? QString::fromStdString(shares.error().message == "…" ? "…" : "–") : qt(share_text(values[n])));
    shares_[n].text->setToolTip(shares || waits ? QString() : qt(shares.error().message));
  }
  say(*shares_said_, qt(made.said));
  say(*pairs_, qt(made.pairs));
}

void HeadDock::show_effect(const Result<HeadEffect>& effect) {
  if (!effect) {
    say(*effect_, effect.error().code == ErrorCode::kCancelled
                      ? QStringLiteral("cancelled")
                      : QStringLiteral("not measured: %1").arg(qt(effect.error().message)));
    return;
  }
  const std::string sign = effect->value > 0 ? "+" : "";
  const std::string value = sign + views::short_number(effect->value);
  const bool none = std::isfinite(effect->half) && std::abs(effect->value) <= effect->half;
  say(*effect_,
      effect->of_loss
          ? QStringLiteral("loss %1 nats a token [%2, %3], of %4 tokens%5")
                .arg(qt(value), qt(views::short_number(effect->value - effect->half)),
                     qt(views::short_number(effect->value + effect->half)))
                .arg(effect->tokens)
                .arg(none ? QStringLiteral(": no effect that could be told from 0") : QString())
          : QStringLiteral("KL(with ‖ without) %1 nats, mean of %2 outputs").arg(qt(value)).arg(effect->tokens));
}

void HeadDock::show_alike(const Result<std::vector<LikeHeads>>& alike) {
  alike_->clear();
  alike_->setVisible(alike.ok());
  if (!alike) {
    say(*alike_said_, alike.error().code == ErrorCode::kCancelled
                          ? QStringLiteral("cancelled")
                          : QStringLiteral("not compared: %1").arg(qt(alike.error().message)));
    return;
  }
  bool maps = false;
  bool statistics = false;
  int lines = 0;
  for (const LikeHeads& run : *alike) {
    auto* title = new QTreeWidgetItem(alike_);
    title->setText(
        0, run.error ? QStringLiteral("%1: %2").arg(qt(run.name), qt(run.error->message))
                     : QStringLiteral("by %1: %2")
                           .arg(run.by_maps ? QStringLiteral("maps") : QStringLiteral("statistics"), qt(run.name)));
    title->setFlags(Qt::ItemIsEnabled);
    title->setToolTip(0, title->text(0));
    title->setFirstColumnSpanned(true);
    ++lines;
    for (const LikeHead& each : run.heads) {
      auto* item = new QTreeWidgetItem(title);
      item->setText(0, QStringLiteral("head %1").arg(head_text(each.head)));
      item->setText(1, qt(fixed_text(each.distance, 2)));
      item->setData(
          0, kHeadRole,
          QVariantList{run.id, static_cast<qlonglong>(each.head.layer), static_cast<qlonglong>(each.head.head)});
      ++lines;
    }
    maps = maps || (run.by_maps && !run.error);
    statistics = statistics || (!run.by_maps && !run.error);
  }
  alike_->expandAll();
  const int row = alike_->fontMetrics().height() + 4;
  alike_->setFixedHeight(std::min(lines, 14) * row + 2 * alike_->frameWidth() + 2);
  QStringList how;
  if (maps) {
    how << QStringLiteral("maps: mean Jensen–Shannon divergence of the rows in bits, 0: the same, 1: no key in common");
  }
  if (statistics) {
    how << QStringLiteral(
        "statistics, where the tokens differ: root mean square of the differences of previous, "
        "first, self, induction, distance and entropy");
  }
  say(*alike_said_, how.join(QStringLiteral("; ")));
}

// Shows a head of the list in its own column; of a hidden checkpoint that column first.
void HeadDock::go_to(const QTreeWidgetItem& item) {
  const QVariantList where = item.data(0, kHeadRole).toList();
  if (where.size() != 3) {
    return;
  }
  const int id = where[0].toInt();
  const views::HeadRef head{where[1].toLongLong(), where[2].toLongLong()};
  const auto shown = studio_.checkpoints().shown();
  const auto place = std::ranges::find(shown, id, &Checkpoint::id);
  if (place == shown.end()) {
    studio_.columns().set_shown(id, true);
    studio_.columns().set_own_head(id, head);
    return;
  }
  const auto column = static_cast<std::size_t>(place - shown.begin());
  if (shown.size() > 1) {  // the others stay where they are
    studio_.column_actions().set_own_head(column, head);
    return;
  }
  change_state(studio_, [&head](session::ViewState& state) {
    state.layer = head.layer;
    state.head = head.head;
  });
}

void HeadDock::open_map() {
  change_state(studio_, [](session::ViewState& state) { session::show_view(state, "attention"); });
}

// ---- events

bool HeadDock::event(QEvent* event) {
  if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    hide();
    Q_EMIT left();
    return true;
  }
  return QDockWidget::event(event);
}

void HeadDock::changeEvent(QEvent* event) {
  QDockWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && picture_ != nullptr) {
    show_map();
  }
}

}  // namespace locus::workbench
