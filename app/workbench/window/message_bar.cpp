#include "app/workbench/window/message_bar.h"

#include <QLabel>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>
#include <array>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/window/job_list.h"
#include "app/workbench/work/checkpoint_list.h"
#include "core/base/shown.h"

namespace locus::workbench {

namespace {

constexpr int kMessageMs = 8000;
constexpr int kMaxMessages = 500;
constexpr std::size_t kMaxCharacters = 2000;  // of a message
constexpr double kShowWorkAfterMs = 500;
constexpr int kWorkIntervalMs = 200;
constexpr int kMachineIntervalMs = 1000;
constexpr int kProgressPx = 110;
constexpr int kWorkLetters = 34;  // of what is done; the rest is on the canvas

}  // namespace

MessageBar::MessageBar(Studio& studio, const std::string& device, QWidget* parent)
    : QStatusBar(parent), studio_(studio) {
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);  // a long message does not widen the window
  add_widgets(device);
  connect_studio();
  work_timer_.setInterval(kWorkIntervalMs);
  connect(&work_timer_, &QTimer::timeout, this, &MessageBar::show_work);
  machine_timer_.setInterval(kMachineIntervalMs);
  connect(&machine_timer_, &QTimer::timeout, this, &MessageBar::show_machines);
  show_work();
}

void MessageBar::add_widgets(const std::string& device) {
  action_ = new QPushButton(this);
  action_->setObjectName(QStringLiteral("help-with-it"));
  action_->hide();
  device_ = device;
  where_ = new QLabel(qt(device == "cpu" || device == "auto" ? "CPU" : device), this);
  where_->setToolTip(QStringLiteral("Device of the models, and the kernels of matrix products"));
  latency_ = new QLabel(this);
  latency_->setObjectName(QStringLiteral("times"));
  latency_->setToolTip(
      QStringLiteral("Time of the columns' forward passes, and of drawing the figure from them, without waiting"));
  memory_ = new QLabel(this);
  memory_->setToolTip(QStringLiteral("Memory kept for the views: queries, keys and recent fields"));
  machines_ = new QLabel(this);
  machines_->setObjectName(QStringLiteral("machines"));
  machines_->setToolTip(QStringLiteral("Machines of remote checkpoints, with the round-trip time of an empty message"));
  machines_->hide();
  auto* jobs = new JobButton(studio_, this);
  work_ = new QLabel(this);
  progress_ = new QProgressBar(this);
  progress_->setFixedWidth(kProgressPx);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(QStringLiteral("Progress"));
  cancel_ = make_button<QPushButton>(this, "cancel", QStringLiteral("Cancel"));
  connect(cancel_, &QPushButton::clicked, this, [this] {
    studio_.cancel();
    show_cancelled();
  });
  // Widgets that come and go keep their room, so that nothing moves under the pointer.
  const std::array<QWidget*, 9> in_order{action_, where_, machines_, latency_, memory_,
                                         jobs,    work_,  progress_, cancel_};
  for (QWidget* widget : in_order) {
    widget->setContentsMargins(6, 0, 6, 0);
    addPermanentWidget(widget);
  }
  for (QWidget* widget : std::initializer_list<QWidget*>{progress_, cancel_}) {
    QSizePolicy policy = widget->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    widget->setSizePolicy(policy);
  }
}

void MessageBar::connect_studio() {
  connect(&studio_, &Studio::noticed, this, [this](const QString& message) { show_message(message); });
  connect(&studio_, &Studio::input_changed, this, &MessageBar::drop_message);
  connect(&studio_, &Studio::too_large, this, &MessageBar::show_too_large);
  connect(&studio_, &Studio::checkpoints_changed, this, [this] {
    if (!failure_.isEmpty() && !is_held(failure_)) {
      failure_.clear();
      clearMessage();
      action_->hide();
    }
  });
  for (const auto signal :
       {&Studio::work_changed, &Studio::runs_changed, &Studio::checkpoints_changed, &Studio::figure_changed}) {
    connect(&studio_, signal, this, &MessageBar::show_work);
  }
}

// ---- messages

void MessageBar::show_message(const QString& message, bool failure) {
  failure_.clear();
  action_->hide();
  // Messages may quote files.
  last_message_ =
      qt(shown(QString(message).replace(QLatin1Char('\n'), QLatin1Char(' ')).toStdString(), kMaxCharacters));
  messages_ << (failure ? QStringLiteral("⚠ ") + last_message_ : last_message_);
  if (messages_.size() > kMaxMessages) {
    messages_.removeFirst();
  }
  showMessage(messages_.back(), failure ? 0 : kMessageMs);
}

void MessageBar::show_error(const Error& error) {
  show_message(qt(error.describe()), true);
}

void MessageBar::show_checkpoint_failure(const QString& message) {
  show_message(message, true);
  failure_ = is_held(message) ? message : QString();
}

// Whether a checkpoint that is shown still fails with this message.
bool MessageBar::is_held(const QString& failure) const {
  const auto& all = studio_.checkpoints().all();
  return std::any_of(all.begin(), all.end(), [&](const Checkpoint& each) {
    return each.entry.shown && each.error && qt(each.error->describe()) == failure;
  });
}

void MessageBar::show_cancelled() {
  show_message(QStringLiteral("cancelled"));
  show_action(QStringLiteral("Run again"), [this] { studio_.columns().runs().run_cancelled(); });
}

void MessageBar::show_written(const Result<std::vector<std::filesystem::path>>& files) {
  if (!files) {
    show_message(qt(files.error().describe()), files.error().code != ErrorCode::kCancelled);
  } else if (files->size() == 1) {
    show_message(QStringLiteral("written: %1").arg(qt(files->front().string())));
  } else {
    show_message(
        QStringLiteral("written: %1 files in %2").arg(files->size()).arg(qt(files->front().parent_path().string())));
  }
}

void MessageBar::show_action(const QString& words, std::function<void()> run) {
  action_->setText(words);
  action_->disconnect(this);
  connect(action_, &QPushButton::clicked, this, [this, run = std::move(run)] {
    action_->hide();
    run();
  });
  action_->show();
}

// Removes a message about the previous input.
void MessageBar::drop_message() {
  clearMessage();
  action_->hide();
  if (auto* box = window()->findChild<QMessageBox*>(QStringLiteral("too-large"))) {
    box->close();
  }
}

// One box, however often one types on.
void MessageBar::show_too_large(const QString& message) {
  auto* box = window()->findChild<QMessageBox*>(QStringLiteral("too-large"));
  if (box == nullptr) {
    box = new QMessageBox(QMessageBox::Warning, QStringLiteral("Locus"), message, QMessageBox::Ok, window());
    make_lasting(box, "too-large", QStringLiteral("Locus"));
    box->setTextFormat(Qt::PlainText);
    box->setModal(false);
    const QPushButton* limit = box->addButton(QStringLiteral("&Memory limit…"), QMessageBox::ActionRole);
    connect(limit, &QPushButton::clicked, this, &MessageBar::memory_limit_requested);
  }
  box->setText(message);
  box->show();
}

// ---- work

void MessageBar::show_device() {
  if (device_shown_ || !models::engine_is_loaded()) {
    return;
  }
  device_shown_ = true;
  const models::Products products = models::products();
  const models::Runtime runtime = models::runtime();
  const std::string device = device_ == "auto" ? runtime.device : device_;
  if (device != "cpu") {
    where_->setText(qt(device));
    return;
  }
  where_->setText(qt("CPU · " + runtime.blas + " " + products.kernels + (products.warning.empty() ? "" : " ⚠")));
  if (!products.warning.empty()) {
    where_->setToolTip(qt(products.warning));
  }
}

void MessageBar::show_work() {
  show_device();
  const Worker::State state = studio_.worker().state();
  const bool shown = state.busy && state.elapsed_ms > kShowWorkAfterMs && !state.what.empty();
  work_->setVisible(shown);
  progress_->setVisible(shown);
  cancel_->setVisible(shown || studio_.checkpoints().question());
  if (shown) {
    const QString what = qt(state.what);
    const QString all =
        state.progress.what.empty() ? what : QStringLiteral("%1: %2").arg(what, qt(state.progress.what));
    const int room = kWorkLetters * fontMetrics().averageCharWidth();
    work_->setText(fontMetrics().elidedText(all, Qt::ElideMiddle, room));
    work_->setToolTip(all);
    progress_->setRange(0, state.progress.fraction < 0 ? 0 : 1000);
    progress_->setValue(static_cast<int>(state.progress.fraction * 1000));
  }
  // The clock runs only while there is work, so that an idle window costs nothing.
  if (state.busy != work_timer_.isActive()) {
    state.busy ? work_timer_.start() : work_timer_.stop();
  }
  const auto columns = studio_.checkpoints().shown();
  double forward_ms = 0;
  for (const Checkpoint* column : columns) {
    forward_ms += column->trace->time_ms();
  }
  latency_->setText(columns.empty() ? QString()
                                    : QStringLiteral("run %1 ms, figure %2 ms")
                                          .arg(forward_ms, 0, 'f', 0)
                                          .arg(studio_.scheduler().drawing_ms(), 0, 'f', 0));
  memory_->setText(
      QStringLiteral("%1 MB kept").arg(studio_.scheduler().memory_mb() + studio_.checkpoints().memory_mb()));
  show_machines();
}

// Each machine once, with its latency; a lost line is said once, with what helps.
void MessageBar::show_machines() {
  QStringList texts;
  std::string lost;
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    const auto machine = each.entry.shown ? machine_of(each) : nullptr;
    if (machine == nullptr) {
      continue;
    }
    const std::optional<Error> error = machine->lost();
    const QString text =
        error ? QStringLiteral("%1: no connection").arg(qt(machine->name()))
              : QStringLiteral("%1 %2 ms").arg(qt(machine->name())).arg(machine->latency_ms(), 0, 'f', 0);
    if (!texts.contains(text)) {
      texts << text;
    }
    lost = error && !each.opening ? error->describe() : lost;
  }
  machines_->setVisible(!texts.isEmpty());
  machines_->setText(texts.join(QStringLiteral(", ")));
  offer_reconnect(lost);
  if (machine_timer_.isActive() == texts.isEmpty()) {
    texts.isEmpty() ? machine_timer_.stop() : machine_timer_.start();
  }
}

// Other messages replace the text; the button returns when the buttons of other messages are gone.
void MessageBar::offer_reconnect(const std::string& lost) {
  const QString reconnect = QStringLiteral("Reconnect");
  if (!lost.empty() && lost != lost_) {
    show_message(qt(lost), true);
  }
  if (!lost.empty() && action_->isHidden()) {
    show_action(reconnect, [this] { studio_.columns().reconnect(); });
  } else if (lost.empty() && action_->text() == reconnect) {
    action_->hide();
  }
  lost_ = lost;
}

}  // namespace locus::workbench
