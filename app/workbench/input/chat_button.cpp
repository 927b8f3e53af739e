#include "app/workbench/input/chat_button.h"

#include <utility>

#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr const char* kSlot = "chat template";  // of the worker

// The checkpoint that a text is written for; null: there is none that reads texts.
const models::ModelInfo* reader_of(const Studio& studio) {
  const auto columns = studio.checkpoints().shown();
  const bool any = !columns.empty() && columns.front()->model && columns.front()->model->info().tokenizer &&
                   !columns.front()->entry.text && !columns.front()->model->info().files.empty();
  return any ? &columns.front()->model->info() : nullptr;
}

}  // namespace

ChatButton::ChatButton(Studio& studio, QWidget* parent) : QToolButton(parent), studio_(studio) {
  setObjectName(QStringLiteral("chat"));
  connect(this, &QToolButton::clicked, this, &ChatButton::write);
  connect(&studio_, &Studio::checkpoints_changed, this, &ChatButton::refresh);
  connect(&studio_, &Studio::runs_changed, this, &ChatButton::refresh);
  connect(&studio_, &Studio::input_changed, this, &ChatButton::refresh);
  refresh();
}

ChatButton::Template ChatButton::present() {
  const models::ModelInfo* const reader = reader_of(studio_);
  if (reader == nullptr) {
    return std::nullopt;
  }
  const auto known = known_.find(reader->files.front());
  if (known == known_.end()) {
    ask(reader->files.front());
    return std::nullopt;
  }
  return known->second;
}

void ChatButton::ask(const std::filesystem::path& weights) {
  known_[weights] = std::nullopt;
  studio_.worker().submit<Template>(
      Priority::kExact, kSlot + weights.string(), "",
      [weights](const StopToken&, const Progress&) { return formats::chat_template(weights); },
      [this, weights](Result<Template> read) {
        if (read) {
          known_[weights] = *std::move(read);
          refresh();
        } else if (read.error().code == ErrorCode::kCancelled) {
          known_.erase(weights);  // it is read at the next change
        }
      });
}

void ChatButton::refresh() {
  const Template format = present();
  const models::Input& input = studio_.input();
  setVisible(format && input.text);
  if (!format) {
    return;
  }
  const QString who = qt(studio_.checkpoints().shown().front()->name);
  setEnabled(!format->name.empty());
  const bool written = input.text && formats::text_of_message(*format, *input.text);
  setText(written ? QStringLiteral("No chat") : QStringLiteral("As chat"));
  if (format->name.empty()) {
    setToolTip(
        QStringLiteral("The chat template of %1 is none of those that are known, and templates are not run").arg(who));
  } else if (written) {
    setToolTip(QStringLiteral("The text alone, without the marks of %1").arg(qt(format->name)));
  } else {
    setToolTip(QStringLiteral("Write the text as a message to %1, in the format %2%3")
                   .arg(who, qt(format->name),
                        format->note.empty() ? QString()
                                             : QStringLiteral("; its template also writes %1").arg(qt(format->note))));
  }
}

void ChatButton::write() {
  const Template format = present();
  if (!format || format->name.empty() || !studio_.input().text) {
    return;
  }
  models::Input next = studio_.input();
  const auto plain = formats::text_of_message(*format, *next.text);
  next.text = plain ? *plain : formats::as_message(*format, *next.text);
  studio_.inputs().set_input(next);
}

}  // namespace locus::workbench
