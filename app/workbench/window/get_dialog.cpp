#include "app/workbench/window/get_dialog.h"

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <memory>
#include <utility>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "models/formats/hub_cache.h"

namespace locus::workbench {

namespace {

enum GetColumn { kGetFile, kGetSize, kGetState };
constexpr int kGetBarSteps = 1000;

QString state_of_fetch(const hub::PlannedFile& file) {
  if (file.present == file.bytes) {
    return QStringLiteral("there already");
  }
  return file.present == 0 ? QStringLiteral("to fetch")
                           : qt(hub::size_text(file.present)) + QStringLiteral(" there, the rest to fetch");
}

// Says through `progress` what is waited for.
hub::HubSettings telling(hub::HubSettings settings, const Progress& progress) {
  settings.waiting = [progress](const std::string& what) { report(progress, -1, what); };
  return settings;
}

}  // namespace

GetDialog::GetDialog(QWidget* parent) : QDialog(parent) {
  make_lasting(this, "get", QStringLiteral("Get a model from the hub"));
  resize(720, 440);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(
      make_label(this, "",
                 QStringLiteral("A model of Hugging Face's hub is fetched into its cache on this machine, %1, where "
                                "other programs find it too. The hub is asked when you press Look up, and files are "
                                "fetched when you press Fetch.")
                     .arg(qt(formats::hub_cache().string()))));
  auto* row = new QHBoxLayout;
  name_ = make_named<QLineEdit>(this, "get-name", QStringLiteral("Name of the model"));
  name_->setPlaceholderText(QStringLiteral("ORG/NAME, or ORG/NAME@REVISION"));
  look_ = make_button<QPushButton>(this, "get-look", QStringLiteral("&Look up"),
                                   QStringLiteral("Look up the files of the model on the hub"));
  look_->setDefault(true);
  row->addWidget(name_, 1);
  row->addWidget(look_);
  layout->addLayout(row);
  files_ = make_named<QTreeWidget>(this, "get-files", QStringLiteral("Files of the model"));
  files_->setRootIsDecorated(false);
  files_->setHeaderLabels({QStringLiteral("File"), QStringLiteral("Size"), QStringLiteral("On this machine")});
  files_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  files_->header()->setStretchLastSection(false);
  files_->header()->setSectionResizeMode(kGetFile, QHeaderView::Stretch);
  layout->addWidget(files_, 1);
  bar_ = make_named<QProgressBar>(this, "get-bar", QStringLiteral("How much is there"));
  bar_->setRange(0, kGetBarSteps);
  bar_->hide();
  layout->addWidget(bar_);
  status_label_ = make_label(this, "get-says");
  layout->addWidget(status_label_);
  auto* buttons = make_close_box(this);
  fetch_ = buttons->addButton(QStringLiteral("&Fetch and open"), QDialogButtonBox::ActionRole);
  give_name(fetch_, "get-fetch");
  stop_ = buttons->addButton(QStringLiteral("&Stop"), QDialogButtonBox::ActionRole);
  give_name(stop_, "get-stop");
  layout->addWidget(buttons);
  connect(look_, &QPushButton::clicked, this, &GetDialog::look_up);
  connect(fetch_, &QPushButton::clicked, this, &GetDialog::fetch);
  connect(stop_, &QPushButton::clicked, this, &GetDialog::stop);
  connect(name_, &QLineEdit::textChanged, this, [this] {
    plan_.reset();
    show_plan();
    set_busy(false);
  });
  set_busy(false);
  name_->setFocus();
}

GetDialog::~GetDialog() {
  stop();
}

template <class T>
void GetDialog::start(std::function<Result<T>(const StopToken&, const Progress&)> work,
                      std::function<void(Result<T>)> done) {
  set_busy(true);
  // The thread ends before the dialog does: what it queues for the dialog goes with it.
  work_ = std::jthread([this, work = std::move(work), done = std::move(done)](const std::stop_token& stop) {
    const Progress progress = [this](const ProgressReport& report) {
      QMetaObject::invokeMethod(
          this, [this, report] { show_progress(report); }, Qt::QueuedConnection);
    };
    auto result = std::make_shared<Result<T>>(work(stop, progress));
    QMetaObject::invokeMethod(
        this,
        [this, done, result] {
          set_busy(false);
          done(std::move(*result));
        },
        Qt::QueuedConnection);
  });
}

void GetDialog::look_up() {
  const auto settings = hub::hub_settings();
  if (!settings.ok()) {
    return say(qt(settings.error().describe()));
  }
  settings_ = *settings;
  say(QStringLiteral("Asking %1 …").arg(qt(settings->endpoint)));
  start<hub::DownloadPlan>(
      [settings = *settings, name = name_->text().trimmed().toStdString()](const StopToken& token,
                                                                           const Progress& progress) {
        return hub::plan_download(telling(settings, progress), name, {}, token);
      },
      [this](const Result<hub::DownloadPlan>& plan) {
        plan_ = plan.ok() ? std::optional(*plan) : std::nullopt;
        show_plan();
        if (!plan.ok()) {
          say(qt(plan.error().describe()));
        }
      });
}

void GetDialog::show_plan() {
  files_->clear();
  bar_->hide();
  say({});
  fetch_->setEnabled(plan_.has_value());
  if (!plan_) {
    return;
  }
  for (const hub::PlannedFile& file : plan_->files) {
    new QTreeWidgetItem(files_, {qt(file.name), qt(hub::size_text(file.bytes)), state_of_fetch(file)});
  }
  const std::int64_t missing = plan_->missing();
  say(missing == 0 ? QStringLiteral("All files are already on this machine.")
                   : QStringLiteral("%1 of %2 to fetch, revision %3 (%4).")
                         .arg(qt(hub::size_text(missing)), qt(hub::size_text(plan_->bytes())), qt(plan_->revision),
                              qt(plan_->commit.substr(0, 8))));
}

void GetDialog::fetch() {
  if (!plan_ || !settings_) {
    return;
  }
  bar_->setValue(0);
  bar_->show();
  start<void>(
      [settings = *settings_, plan = *plan_](const StopToken& token, const Progress& progress) {
        return hub::fetch(telling(settings, progress), plan, token, progress);
      },
      [this](const Status& status) {
        if (status.ok()) {
          Q_EMIT fetched(qt(plan_->folder.string()));
          close();
          return;
        }
        const bool stopped = status.error().code == ErrorCode::kCancelled;
        say(stopped ? QStringLiteral("Stopped. Complete files are kept and will not be downloaded again.")
                    : qt(status.error().describe()));
      });
}

void GetDialog::stop() {
  work_.request_stop();
}

void GetDialog::show_progress(const ProgressReport& report) {
  if (report.fraction >= 0) {
    bar_->setValue(static_cast<int>(report.fraction * kGetBarSteps));
  }
  say(qt(report.what));
}

void GetDialog::say(const QString& text) {
  status_label_->setText(text);
}

void GetDialog::set_busy(bool busy) {
  name_->setEnabled(!busy);
  look_->setEnabled(!busy && !name_->text().trimmed().isEmpty());
  fetch_->setEnabled(!busy && plan_.has_value());
  stop_->setEnabled(busy);
}

}  // namespace locus::workbench
