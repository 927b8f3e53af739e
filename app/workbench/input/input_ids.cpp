// The input as ids: how the dock comes to them and where they come from.
#include <QFileDialog>
#include <QLayout>
#include <QMenu>
#include <QToolButton>

#include "app/workbench/input/ids_panel.h"
#include "app/workbench/input/input_dock.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/exact_editor.h"
#include "app/workbench/widgets/qt_text.h"
#include "models/api/machine.h"
#include "models/text/tokenizer.h"

namespace locus::workbench {

namespace {

template <class Tokens>
std::vector<std::int64_t> token_ids(const Tokens& tokens) {
  std::vector<std::int64_t> ids;
  ids.reserve(tokens.size());
  for (const auto& token : tokens) {
    ids.push_back(token.id);
  }
  return ids;
}

}  // namespace

void InputDock::add_ids_button(QLayout& layout, QWidget* bar) {
  auto* button = make_button<QToolButton>(
      bar, "type-ids", QStringLiteral("Ids…"),
      QStringLiteral("Run ids instead of a text: typed, random, or from the tokenizer of another checkpoint"));
  connect(button, &QToolButton::clicked, this, &InputDock::type_ids);
  connect(&studio_, &Studio::input_changed, button, [this, button] { button->setVisible(!studio_.input().ids); });
  layout.addWidget(button);
}

void InputDock::type_ids() {
  const auto columns = studio_.checkpoints().shown();
  const bool text = !columns.empty() && columns.front()->trace->image_grid().rows == 0;
  models::Input input;
  input.ids = text ? token_ids(columns.front()->trace->tokens()) : std::vector<std::int64_t>();
  studio_.inputs().set_input(input);
  ids_->take_focus();
}

void InputDock::connect_ids() {
  connect(ids_, &IdsPanel::changed, &studio_,
          [this](const std::vector<std::int64_t>& ids) { studio_.inputs().set_ids(ids); });
  connect(ids_, &IdsPanel::left, this, &InputDock::left_editor);
  connect(&ids_->lenders(), &QMenu::aboutToShow, this, &InputDock::fill_lenders);
  const auto bound = [this] {
    std::int64_t least = 0;
    for (const Checkpoint& each : studio_.checkpoints().all()) {
      const models::ModelInfo* info = each.entry.shown ? each.info() : nullptr;
      least = info == nullptr ? least : least == 0 ? info->vocabulary : std::min(least, info->vocabulary);
    }
    ids_->set_vocabulary(least);
  };
  connect(&studio_, &Studio::checkpoints_changed, ids_, bound);  // also where nothing has run yet
}

// The open checkpoints that read text, and any folder.
void InputDock::fill_lenders() {
  QMenu& menu = ids_->lenders();
  menu.clear();
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    if (each.model && each.model->info().tokenizer) {
      menu.addAction(qt(each.name), this, [this, id = each.id] {
        if (const Checkpoint* lender = studio_.checkpoints().find(id)) {
          borrow(*lender);
        }
      });
    }
  }
  menu.addAction(QStringLiteral("A checkpoint's folder…"), this, [this] {
    const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("A folder with a tokenizer"));
    if (!folder.isEmpty()) {
      borrow_from(folder.toStdString());
    }
  });
}

template <class Tokens>
void InputDock::take_ids(const Result<Tokens>& tokens) {
  if (!tokens) {
    Q_EMIT failed(qt(tokens.error().describe()));
    return;
  }
  const std::vector<std::int64_t> ids = token_ids(*tokens);
  ids_->set_ids(ids);
  studio_.inputs().set_ids(ids);
}

void InputDock::borrow(const Checkpoint& lender) {
  using Tokens = std::vector<models::TokenInfo>;
  models::Input input;
  input.text = editor_->bytes();
  if (!models::machine_of(*lender.model)) {
    take_ids(lender.model->tokenize(input));
    return;
  }
  // Another machine answers: the worker waits for it.
  studio_.worker().submit<Tokens>(
      Priority::kForward, "borrow", "Reading the text",
      [model = lender.model, input](const StopToken&, const Progress&) { return model->tokenize(input); },
      [this](Result<Tokens> tokens) { take_ids(tokens); });
}

void InputDock::borrow_from(const std::filesystem::path& folder) {
  const auto tokenizer = text::open_tokenizer(folder);
  if (!tokenizer || !*tokenizer) {
    Q_EMIT failed(qt(tokenizer ? folder.string() +
                                     ": expected tokenizer.json, tokenizer.model, vocab.json or vocab.txt, found none"
                               : tokenizer.error().describe()));
    return;
  }
  take_ids((*tokenizer)->encode(editor_->bytes()));
}

}  // namespace locus::workbench
