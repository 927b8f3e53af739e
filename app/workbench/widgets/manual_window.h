// The manual in a window, with pictures, search and Back. Does not block the workbench.
#pragma once

#include <QDialog>
#include <QTextBrowser>
#include <QTimer>
#include <string>
#include <vector>

#include "app/manual/manual.h"

class QLineEdit;
class QListWidget;
class QListWidgetItem;

namespace locus::workbench {

// One page of the manual in the colours of the window. Links open other pages; web links open the browser.
class ManualPage : public QTextBrowser {
  Q_OBJECT

 public:
  explicit ManualPage(QWidget* parent);

  void open(const manual::Place& place);
  manual::Place place() const;
  // Sets the encodings whose equations are shown below the page of a view.
  void set_encodings(std::vector<std::string> names);

  QVariant loadResource(int type, const QUrl& name) override;

 protected:
  void doSetSource(const QUrl& name, QTextDocument::ResourceType type) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QString html(const std::string& page) const;
  void read_again();

  std::vector<std::string> encodings_;
  QTimer resized_;
};

class ManualWindow : public QDialog {
  Q_OBJECT

 public:
  // The manual window of this window, created if necessary and raised.
  static ManualWindow& of(QWidget* parent);

  ManualPage& page() { return *page_; }

 private:
  explicit ManualWindow(QWidget* parent);
  void list_pages();
  void list_found(const QString& words);
  void add_group(const QString& name);
  void choose(const QListWidgetItem* item);
  // Selects the page in the list.
  void follow();

  QLineEdit* search_ = nullptr;
  QListWidget* list_ = nullptr;
  ManualPage* page_ = nullptr;
};

// Shows a page in front of the window of `parent` and of its dialogs.
void show_manual_page(QWidget* parent, const QString& page);

}  // namespace locus::workbench
