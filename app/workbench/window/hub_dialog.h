// HubDialog: lists the models in the Hugging Face cache on this machine, with family, size and whether they open. It
// does not use the network and does not block the window.
#pragma once

#include <QDialog>
#include <vector>

#include "models/formats/hub_cache.h"

class QPushButton;
class QTreeWidget;

namespace locus::workbench {

class Studio;

class HubDialog : public QDialog {
  Q_OBJECT

 public:
  HubDialog(Studio& studio, QWidget* parent);
  ~HubDialog() override;

 Q_SIGNALS:
  void chosen(const QString& folder);
  void wants_another();  // the user wants a model that is not in the cache

 private:
  void look_at(std::size_t index);  // then at the following ones, in order
  void choose();

  Studio& studio_;
  std::vector<formats::HubModel> models_;
  QTreeWidget* tree_ = nullptr;
  QPushButton* open_ = nullptr;
};

}  // namespace locus::workbench
