// ChatButton: writes the text as the message of a user, in the chat format of the first column's checkpoint, and back.
// Hidden where the checkpoint has no chat template; of a template that is none of the known ones it says so.
#pragma once

#include <QToolButton>
#include <filesystem>
#include <map>
#include <optional>

#include "app/workbench/state/studio.h"
#include "models/formats/chat_template.h"

namespace locus::workbench {

class ChatButton : public QToolButton {
  Q_OBJECT

 public:
  ChatButton(Studio& studio, QWidget* parent);

 private:
  using Template = std::optional<formats::ChatTemplate>;

  // The template of the first column with a model, and what says whose it is; empty: it has none, or it is being read.
  Template present();
  // Reads it on the worker, once for each checkpoint.
  void ask(const std::filesystem::path& weights);
  void refresh();
  void write();

  Studio& studio_;
  std::map<std::filesystem::path, Template> known_;  // by the first file of the weights
};

}  // namespace locus::workbench
