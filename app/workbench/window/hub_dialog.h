// HubDialog: the models of Hugging Face's cache on this machine, with family, size and whether they open. Nothing is
// fetched here. Does not block the window.
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
  void wants_another();  // that is not in the cache

 private:
  void look_at(std::size_t index);  // and at those behind it, one after the other
  void choose();

  Studio& studio_;
  std::vector<formats::HubModel> models_;
  QTreeWidget* tree_ = nullptr;
  QPushButton* open_ = nullptr;
};

}  // namespace locus::workbench
