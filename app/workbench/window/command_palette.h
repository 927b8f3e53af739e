// CommandPalette: finds any command of the window by a few letters of its name.
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
  QString hint;  // its key, or its present value
  std::function<void()> run;
  QString also{};         // other search words: "--scale", "ignore-first"
  bool available = true;  // false: the hint gives the reason
  QString way_out{};      // what `run` does instead while it is not available; empty: nothing
};

// Indices of the commands that contain every word of `typed`, best match first: matches at the beginning of a word
// before those inside one, matches in the name before those in other search words. Unavailable commands come last.
std::vector<std::size_t> found_commands(const std::vector<Command>& commands, const QString& typed);

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  // Commands made from the words that are typed ("head 3.2"); they come first.
  using Typed = std::function<std::vector<Command>(const QString& words)>;
  CommandPalette(std::vector<Command> commands, Typed typed, QWidget* parent);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void refresh();
  void add_item(const Command& command);
  void run_chosen();

  const std::vector<Command> commands_;
  const Typed typed_;
  std::vector<Command> found_;  // in the order of the list
  QLineEdit* line_ = nullptr;
  QListWidget* list_ = nullptr;
};

}  // namespace locus::workbench
