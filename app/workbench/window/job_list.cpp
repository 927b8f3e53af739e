#include "app/workbench/window/job_list.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

using Listed = Worker::Listed;

constexpr int kClockMs = 300;
constexpr int kNumberRole = Qt::UserRole;
constexpr int kStateRole = Qt::UserRole + 1;

bool is_over(const Listed& job) {
  return job.state != Listed::State::kWaiting && job.state != Listed::State::kRunning;
}

QString words_of(const Listed& job) {
  switch (job.state) {
    case Listed::State::kWaiting:
      return QStringLiteral("waits");
    case Listed::State::kRunning:
      return job.progress.what.empty() ? QStringLiteral("runs") : qt(job.progress.what);
    case Listed::State::kDone:
      return QStringLiteral("done");
    case Listed::State::kFailed:
      return QStringLiteral("failed");
    case Listed::State::kCancelled:
      return QStringLiteral("cancelled");
  }
  return {};
}

}  // namespace

JobList::JobList(Studio& studio, QWidget* parent) : QDialog(parent), studio_(studio) {
  setObjectName(QStringLiteral("jobs"));
  setWindowTitle(QStringLiteral("Jobs"));
  auto* layout = new QVBoxLayout(this);
  tree_ = make_named<QTreeWidget>(this, "job-list", QStringLiteral("What runs, waits and ran"));
  tree_->setHeaderLabels({QStringLiteral("Job"), QStringLiteral("State"), QStringLiteral("Time"), QString()});
  tree_->setRootIsDecorated(false);
  tree_->setUniformRowHeights(true);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tree_->header()->setSectionResizeMode(1, QHeaderView::Stretch);
  layout->addWidget(tree_);
  auto* buttons = make_close_box(this);
  layout->addWidget(buttons);
  auto* all = buttons->addButton(QStringLiteral("Cancel &all"), QDialogButtonBox::ActionRole);
  all->setObjectName(QStringLiteral("cancel-all"));
  connect(all, &QPushButton::clicked, this, [this] { studio_.cancel(); });
  resize(70 * fontMetrics().averageCharWidth() + 80, 16 * fontMetrics().lineSpacing() + 80);
  clock_.setInterval(kClockMs);
  connect(&clock_, &QTimer::timeout, this, &JobList::refresh);
}

void JobList::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  refresh();
  clock_.start();
}

void JobList::hideEvent(QHideEvent* event) {
  clock_.stop();
  QDialog::hideEvent(event);
}

void JobList::fill(QTreeWidgetItem* item, const Listed& job) {
  item->setText(0, qt(job.what));
  item->setText(1, words_of(job));
  item->setToolTip(1, item->text(1));
  item->setText(2, job.state == Listed::State::kWaiting ? QString() : qt(models::duration_text(job.elapsed_ms)));
  item->setTextAlignment(2, Qt::AlignRight | Qt::AlignVCenter);
}

// Rows that are the same job stay: a button must not go from under the pointer.
void JobList::refresh() {
  const std::vector<Listed> jobs = studio_.worker().list();
  for (int n = 0; n < static_cast<int>(jobs.size()); ++n) {
    const Listed& job = jobs[static_cast<std::size_t>(n)];
    const auto same = [&](const QTreeWidgetItem* item) {
      return item->data(0, kNumberRole).toULongLong() == job.number &&
             item->data(0, kStateRole).toBool() == is_over(job);
    };
    while (n < tree_->topLevelItemCount() && !same(tree_->topLevelItem(n)) &&
           std::none_of(jobs.begin() + n, jobs.end(), [&](const Listed& each) {
             return each.number == tree_->topLevelItem(n)->data(0, kNumberRole).toULongLong();
           })) {
      delete tree_->takeTopLevelItem(n);
    }
    if (n >= tree_->topLevelItemCount() || !same(tree_->topLevelItem(n))) {
      auto* item = new QTreeWidgetItem;
      item->setData(0, kNumberRole, static_cast<qulonglong>(job.number));
      item->setData(0, kStateRole, is_over(job));
      tree_->insertTopLevelItem(n, item);
      if (!is_over(job)) {
        auto* cancel = new QPushButton(QStringLiteral("Cancel"));
        cancel->setObjectName(QStringLiteral("cancel-job"));
        connect(cancel, &QPushButton::clicked, this,
                [this, number = job.number] { studio_.worker().cancel_job(number); });
        tree_->setItemWidget(item, 3, cancel);
      }
    }
    fill(tree_->topLevelItem(n), job);
  }
  while (tree_->topLevelItemCount() > static_cast<int>(jobs.size())) {
    delete tree_->takeTopLevelItem(tree_->topLevelItemCount() - 1);
  }
  tree_->resizeColumnToContents(2);
  tree_->resizeColumnToContents(3);
}

JobButton::JobButton(Studio& studio, QWidget* parent) : QToolButton(parent), studio_(studio) {
  setObjectName(QStringLiteral("show-jobs"));
  setText(QStringLiteral("Jobs"));
  setToolTip(QStringLiteral("Running, waiting and finished jobs with their times"));
  setAutoRaise(true);
  connect(this, &QToolButton::clicked, this, &JobButton::open);
}

void JobButton::open() {
  if (list_ == nullptr) {
    list_ = new JobList(studio_, window());
  }
  list_->show();
  list_->raise();
}

}  // namespace locus::workbench
