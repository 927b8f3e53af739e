// The input as ids: how the dock comes to them and where they come from.
#include <QLayout>
#include <QMenu>
#include <QToolButton>

#include "app/workbench/exact_editor.h"
#include "app/workbench/ids_panel.h"
#include "app/workbench/input_dock.h"

namespace locus::workbench {

void InputDock::add_ids_button(QLayout& layout, QWidget* bar) {
  auto* button = new QToolButton(bar);
  button->setObjectName(QStringLiteral("type-ids"));
  button->setText(QStringLiteral("Ids…"));
  button->setToolTip(
      QStringLiteral("Run ids instead of a text: typed, random, or from the tokenizer of another checkpoint"));
  connect(button, &QToolButton::clicked, this, [this] {
    std::vector<std::int64_t> ids;
    const auto columns = studio_.columns();
    if (!columns.empty() && columns.front()->trace->image_grid().rows == 0) {
      for (const models::TokenInfo& token : columns.front()->trace->tokens()) {
        ids.push_back(token.id);
      }
    }
    models::Input input;
    input.ids = std::move(ids);
    studio_.set_input(input);
    ids_->take_focus();
  });
  connect(&studio_, &Studio::input_changed, button, [this, button] { button->setVisible(!studio_.input().ids); });
  layout.addWidget(button);
}

void InputDock::connect_ids() {
  connect(ids_, &IdsPanel::changed, &studio_, &Studio::set_ids);
  connect(ids_, &IdsPanel::left, this, &InputDock::left_editor);
  connect(&ids_->lenders(), &QMenu::aboutToShow, this, &InputDock::fill_lenders);
  const auto bound = [this] {
    std::int64_t least = 0;
    for (const Checkpoint& each : studio_.checkpoints()) {
      const models::ModelInfo* info = each.entry.shown ? each.info() : nullptr;
      least = info == nullptr ? least : least == 0 ? info->vocabulary : std::min(least, info->vocabulary);
    }
    ids_->set_vocabulary(least);
  };
  connect(&studio_, &Studio::checkpoints_changed, ids_, bound);  // also where nothing has run yet
}

// The open checkpoints that read text.
void InputDock::fill_lenders() {
  ids_->lenders().clear();
  for (const Checkpoint& each : studio_.checkpoints()) {
    if (each.model && each.model->info().tokenizer) {
      ids_->lenders().addAction(QString::fromStdString(each.name), this, [this, id = each.id] {
        if (const Checkpoint* lender = studio_.find(id)) {
          borrow(*lender);
        }
      });
    }
  }
  if (ids_->lenders().isEmpty()) {
    ids_->lenders().addAction(QStringLiteral("no open checkpoint has a tokenizer"))->setEnabled(false);
  }
}

void InputDock::borrow(const Checkpoint& lender) {
  models::Input input;
  input.text = editor_->bytes();
  const auto tokens = lender.model->tokenize(input);
  if (!tokens) {
    Q_EMIT failed(QString::fromStdString(tokens.error().describe()));
    return;
  }
  std::vector<std::int64_t> ids;
  for (const models::TokenInfo& token : *tokens) {
    ids.push_back(token.id);
  }
  ids_->set_ids(ids);
  studio_.set_ids(ids);
}

}  // namespace locus::workbench
