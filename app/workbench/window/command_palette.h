// CommandPalette: everything the window can do, found by typing a few letters of it.
#pragma once

#include <QDialog>
#include <QString>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace locus::workbench {

struct Command {
  QString name;  // "View: Attention"
  QString hint;  // its key, or what it is now
  std::function<void()> run;
  QString also{};         // other words that find it: "--scale", "ignore-first"
  bool available = true;  // else the hint says why it cannot be run now
};

// Those that `typed` finds, best first, as indices: every word of it occurs, at the beginning of a word before within
// one; the name's words before the others; of equals, in their order. Those that cannot be run now are last.
std::vector<std::size_t> found_commands(const std::vector<Command>& commands, const QString& typed);

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(std::vector<Command> commands, QWidget* parent);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void refresh();
  void run_chosen();

  const std::vector<Command> commands_;
  QLineEdit* line_ = nullptr;
  QListWidget* list_ = nullptr;
};

}  // namespace locus::workbench
