#include "app/workbench/window/hub_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPointer>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

enum Column { kName, kRevision, kFamily, kSize, kOpens };

// Total size of the files of a snapshot, which are links.
std::uintmax_t bytes_of(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code code;
  for (std::filesystem::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code own;
    const std::uintmax_t size = entry->is_regular_file(own) ? entry->file_size(own) : 0;
    bytes += own ? 0 : size;
  }
  return bytes;
}

}  // namespace

HubDialog::HubDialog(Studio& studio, QWidget* parent)
    : QDialog(parent), studio_(studio), models_(formats::hub_models()) {
  make_lasting(this, "hub", QStringLiteral("Models of the hub's cache"));
  resize(760, 420);
  auto* layout = new QVBoxLayout(this);
  const QString place = qt(formats::hub_cache().string());
  layout->addWidget(make_label(this, "",
                               models_.empty()
                                   ? QStringLiteral("There is no model in %1. Models come there with Get "
                                                    "another, locus get, or Hugging Face's own tools.")
                                         .arg(place)
                                   : QStringLiteral("In %1. Listing them does not use the network.").arg(place)));
  tree_ = make_named<QTreeWidget>(this, "hub-models", QStringLiteral("Models of the hub's cache"));
  tree_->setRootIsDecorated(false);
  tree_->setHeaderLabels({QStringLiteral("Model"), QStringLiteral("Revision"), QStringLiteral("Family"),
                          QStringLiteral("Size"), QStringLiteral("Opens")});
  for (const formats::HubModel& model : models_) {
    auto* item = new QTreeWidgetItem(
        tree_, {qt(model.name), qt(model.revision), QStringLiteral("…"),
                QLocale(QLocale::English).formattedDataSize(static_cast<qint64>(bytes_of(model.folder)), 1),
                QStringLiteral("…")});
    item->setToolTip(kName, qt(model.folder.string()));
  }
  tree_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  layout->addWidget(tree_, 1);
  auto* buttons = make_close_box(this);
  layout->addWidget(buttons);
  open_ = buttons->addButton(QStringLiteral("&Open"), QDialogButtonBox::ActionRole);
  open_->setObjectName(QStringLiteral("hub-open"));
  open_->setEnabled(!models_.empty());
  auto* another = buttons->addButton(QStringLiteral("&Get another…"), QDialogButtonBox::ActionRole);
  another->setObjectName(QStringLiteral("hub-get"));
  connect(another, &QPushButton::clicked, this, [this] {
    Q_EMIT wants_another();
    close();
  });
  connect(open_, &QPushButton::clicked, this, &HubDialog::choose);
  connect(tree_, &QTreeWidget::itemActivated, this, &HubDialog::choose);
  tree_->setCurrentItem(tree_->topLevelItem(0));
  look_at(0);
}

HubDialog::~HubDialog() {
  studio_.columns().opener().drop_look();
}

void HubDialog::look_at(std::size_t index) {
  if (index >= models_.size()) {
    return;
  }
  studio_.columns().opener().look_at(
      models_[index].folder, [self = QPointer<HubDialog>(this), index](const Result<models::ModelInfo>& info) {
        if (!self) {
          return;
        }
        QTreeWidgetItem* item = self->tree_->topLevelItem(static_cast<int>(index));
        const QString why = info ? QString() : qt(info.error().message);
        item->setText(kFamily, info ? qt(info->family) : QStringLiteral("–"));
        item->setText(kOpens, info ? QStringLiteral("yes") : QStringLiteral("no: ") + why);
        item->setToolTip(kOpens, why);
        self->look_at(index + 1);
      });
}

void HubDialog::choose() {
  const int index = tree_->indexOfTopLevelItem(tree_->currentItem());
  if (index >= 0) {
    Q_EMIT chosen(qt(models_[static_cast<std::size_t>(index)].folder.string()));
    close();
  }
}

}  // namespace locus::workbench
