#include "app/workbench/input/ids_input.h"

#include <QFileDialog>
#include <QMenu>
#include <algorithm>

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

IdsInput::IdsInput(Studio& studio, IdsPanel& panel, ExactEditor& editor)
    : QObject(&panel), studio_(studio), panel_(panel), editor_(editor) {
  connect(&panel_, &IdsPanel::changed, this,
          [this](const std::vector<std::int64_t>& ids) { studio_.inputs().set_ids(ids); });
  connect(&panel_.lenders(), &QMenu::aboutToShow, this, &IdsInput::fill_lenders);
  // The vocabulary is known before anything has run.
  connect(&studio_, &Studio::checkpoints_changed, this, &IdsInput::bound_vocabulary);
}

void IdsInput::bound_vocabulary() {
  std::int64_t least = 0;
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    const models::ModelInfo* info = each.entry.shown ? each.info() : nullptr;
    least = info == nullptr ? least : least == 0 ? info->vocabulary : std::min(least, info->vocabulary);
  }
  panel_.set_vocabulary(least);
}

void IdsInput::begin() {
  const auto columns = studio_.checkpoints().shown();
  const bool text = !columns.empty() && columns.front()->trace->image_grid().rows == 0;
  models::Input input;
  input.ids = text ? token_ids(columns.front()->trace->tokens()) : std::vector<std::int64_t>();
  if (text && !columns.front()->entry.text) {  // the ids of pictures and videos stand among those of the text
    input.images = studio_.input().images;
    input.picture = input.images.empty() ? models::PictureChanges() : studio_.input().picture;
    input.videos = studio_.input().videos;
    input.video_frames = studio_.input().video_frames;
    input.pixels = studio_.input().text ? studio_.input().pixels : std::nullopt;
  }
  studio_.inputs().set_input(input);
  panel_.take_focus();
}

// Lists the open checkpoints with a tokenizer, and an entry for any folder.
void IdsInput::fill_lenders() {
  QMenu& menu = panel_.lenders();
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
    const QString folder = QFileDialog::getExistingDirectory(&panel_, QStringLiteral("A folder with a tokenizer"));
    if (!folder.isEmpty()) {
      borrow_from(folder.toStdString());
    }
  });
}

template <class Tokens>
void IdsInput::take(const Result<Tokens>& tokens) {
  if (!tokens) {
    Q_EMIT failed(qt(tokens.error().describe()));
    return;
  }
  const std::vector<std::int64_t> ids = token_ids(*tokens);
  panel_.set_ids(ids);
  studio_.inputs().set_ids(ids);
}

void IdsInput::borrow(const Checkpoint& lender) {
  using Tokens = std::vector<models::TokenInfo>;
  models::Input input;
  input.text = editor_.bytes();
  if (!models::machine_of(*lender.model)) {
    take(lender.model->tokenize(input));
    return;
  }
  // On another machine: the worker waits for the answer.
  studio_.worker().submit<Tokens>(
      Priority::kForward, "borrow", "Reading the text",
      [model = lender.model, input](const StopToken&, const Progress&) { return model->tokenize(input); },
      [this](const Result<Tokens>& tokens) { take(tokens); });
}

void IdsInput::borrow_from(const std::filesystem::path& folder) {
  const auto tokenizer = text::open_tokenizer(folder);
  if (!tokenizer || !*tokenizer) {
    Q_EMIT failed(qt(tokenizer ? folder.string() +
                                     ": expected tokenizer.json, tokenizer.model, vocab.json or vocab.txt, found none"
                               : tokenizer.error().describe()));
    return;
  }
  take((*tokenizer)->encode(editor_.bytes()));
}

}  // namespace locus::workbench
