// Help: the manual in a window, with its pictures, a search field and a way back. Does not block the workbench.
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

// One page of the manual, in the colours of the window; links lead to the other pages, those to the web to a browser.
class ManualPage : public QTextBrowser {
  Q_OBJECT

 public:
  explicit ManualPage(QWidget* parent);

  void open(const manual::Place& place);
  manual::Place place() const;
  // Encodings whose equations stand below the page of a view: those of the columns that are shown.
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
  // The one of this window, made when there is none, in front of the others.
  static ManualWindow& of(QWidget* parent);

  ManualPage& page() { return *page_; }

 private:
  explicit ManualWindow(QWidget* parent);
  void list_pages();
  void list_found(const QString& words);
  void add_group(const QString& name);
  void choose(const QListWidgetItem* item);
  // Marks the page in the list of pages.
  void follow();

  QLineEdit* search_ = nullptr;
  QListWidget* list_ = nullptr;
  ManualPage* page_ = nullptr;
};

// Shows the page in front of the window of `parent` and its dialogs, one of which may have asked for it.
void show_manual_page(QWidget* parent, const QString& page);

}  // namespace locus::workbench
