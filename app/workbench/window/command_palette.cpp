#include "app/workbench/window/command_palette.h"
#include "app/workbench/widgets/build.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

namespace locus::workbench {

namespace {

constexpr int kRole = Qt::UserRole;  // the index of the command
constexpr int kWidthLetters = 70;
constexpr int kLines = 14;
constexpr int kWithin = 1000;            // cost of a match inside a word
constexpr int kElsewhere = 2 * kWithin;  // cost of a match outside the name
constexpr int kUnavailable = 1'000'000;  // more than any match

// The cost of a match, 0 for the best; empty: the word does not occur.
std::optional<int> match_cost(const QString& name, const QString& word) {
  int best = -1;
  for (qsizetype at = name.indexOf(word, 0, Qt::CaseInsensitive); at >= 0;
       at = name.indexOf(word, at + 1, Qt::CaseInsensitive)) {
    const bool begins = at == 0 || !name[at - 1].isLetterOrNumber();
    // "2" matches the number 2 before 21.
    const qsizetype end = at + word.size();
    const bool ends = end == name.size() || !name[end].isLetterOrNumber();
    // "Difference" before "View: Head difference".
    const int cost = (begins ? 0 : kWithin) + (ends ? 0 : 1) + (at == 0 ? 0 : 2);
    best = best < 0 ? cost : std::min(best, cost);
  }
  return best < 0 ? std::nullopt : std::optional(best);
}

}  // namespace

std::vector<std::size_t> found_commands(const std::vector<Command>& commands, const QString& typed) {
  const QStringList words = typed.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<std::pair<int, std::size_t>> found;
  for (std::size_t n = 0; n < commands.size(); ++n) {
    int cost = commands[n].available ? 0 : kUnavailable;
    bool all = true;
    for (const QString& word : words) {
      auto one = match_cost(commands[n].name, word);
      if (const auto other = match_cost(commands[n].also, word); !one && other) {
        one = kElsewhere + *other;
      }
      all = all && one.has_value();
      cost += one.value_or(0);
    }
    if (all) {
      found.emplace_back(cost, n);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> order;
  order.reserve(found.size());
  for (const auto& [cost, n] : found) {
    order.push_back(n);
  }
  return order;
}

CommandPalette::CommandPalette(std::vector<Command> commands, Typed typed, QWidget* parent)
    : QDialog(parent), commands_(std::move(commands)), typed_(std::move(typed)) {
  make_lasting(this, "palette", QStringLiteral("Commands"));
  auto* layout = new QVBoxLayout(this);
  line_ = make_named<QLineEdit>(this, "palette-line", QStringLiteral("Find a command"));
  line_->setPlaceholderText(
      QStringLiteral("a view, layer 2, head 3.2, head 3.2 zero, an option, a figure, a checkpoint, a menu's entry"));
  line_->installEventFilter(this);
  layout->addWidget(line_);
  list_ = make_named<QListWidget>(this, "palette-list", QStringLiteral("Commands that were found"));
  list_->setWordWrap(true);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setFocusPolicy(Qt::NoFocus);  // the line has the keys
  layout->addWidget(list_);
  resize(kWidthLetters * fontMetrics().averageCharWidth(), kLines * (fontMetrics().height() + 6));
  connect(line_, &QLineEdit::textChanged, this, &CommandPalette::refresh);
  connect(line_, &QLineEdit::returnPressed, this, &CommandPalette::run_chosen);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_chosen);
  refresh();
}

void CommandPalette::refresh() {
  list_->clear();
  found_ = typed_ ? typed_(line_->text()) : std::vector<Command>();
  for (const std::size_t n : found_commands(commands_, line_->text())) {
    found_.push_back(commands_[n]);
  }
  for (const Command& command : found_) {
    add_item(command);
  }
  if (found_.empty()) {
    (new QListWidgetItem(QStringLiteral("no command has these words in its name, and no edit begins so"), list_))
        ->setFlags(Qt::NoItemFlags);
  }
  list_->setCurrentRow(0);
}

// What is not available is grey, with the reason and what can be done instead.
void CommandPalette::add_item(const Command& command) {
  QString hint = command.hint;
  if (!command.available && !command.way_out.isEmpty()) {
    hint += QStringLiteral("\n    Enter: ") + command.way_out;
  }
  auto* item = new QListWidgetItem(hint.isEmpty() ? command.name : command.name + QStringLiteral("    ") + hint, list_);
  item->setData(kRole, list_->count() - 1);
  item->setData(Qt::AccessibleDescriptionRole, hint);
  item->setToolTip(hint);
  if (!command.available && command.way_out.isEmpty()) {
    item->setFlags(Qt::ItemIsSelectable);
  } else if (!command.available) {
    item->setForeground(palette().color(QPalette::PlaceholderText));
  }
}

void CommandPalette::run_chosen() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr || !item->data(kRole).isValid()) {
    return;
  }
  const Command& command = found_[static_cast<std::size_t>(item->data(kRole).toInt())];
  if (!command.available && command.way_out.isEmpty()) {
    return;
  }
  const auto run = command.run;
  accept();
  run();
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (object == line_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int page = kLines - 2;
    const int by = key == Qt::Key_Down       ? 1
                   : key == Qt::Key_Up       ? -1
                   : key == Qt::Key_PageDown ? page
                   : key == Qt::Key_PageUp   ? -page
                                             : 0;
    if (by != 0 && list_->count() > 0) {
      list_->setCurrentRow(std::clamp(list_->currentRow() + by, 0, list_->count() - 1));
      return true;
    }
  }
  return QDialog::eventFilter(object, event);
}

}  // namespace locus::workbench
