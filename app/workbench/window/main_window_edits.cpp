// Edits that are made in the window: the dialog, the menu of a place, a rectangle on a map.
#include <QMenu>
#include <algorithm>

#include "app/views/alignment.h"
#include "app/views/score_maps/score_map.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/docks/edits_dialog.h"
#include "app/workbench/studio/live_edit.h"
#include "app/workbench/window/main_window.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

QString edit_words(const std::string& text) {
  return QString::fromStdString(text);
}

// Whose cell a place of a column is, in that column's own tokens.
struct EditedPlace {
  std::int64_t layer = 0;
  std::int64_t head = 0;  // or kMean
  std::int64_t query = views::kNone;
  std::int64_t key = views::kNone;
};

// An edit counts the tokens of its own column.
EditedPlace edited_place(const views::ViewInput& input, std::size_t column, const views::Selection& there) {
  const views::Column& own = input.columns[column];
  const views::HeadRef shown = views::head_of_column(input, column);
  return {there.layer.value_or(shown.layer), there.head.value_or(shown.head),
          there.query ? views::own_token(input, *there.query, own) : views::kNone,
          there.key ? views::own_key(input, *there.key, own) : views::kNone};
}

Range between(std::int64_t a, std::int64_t b) {
  return {std::min(a, b), std::max(a, b) + 1};
}

}  // namespace

void MainWindow::ask_edits(int id) {
  if (studio_->find(id) != nullptr) {
    (new EditsDialog(*studio_, id, this))->show();
  }
}

void MainWindow::cut_edges(const CanvasBox& box) {
  const views::ViewInput input = studio_->view_input();
  const auto column = static_cast<std::size_t>(box.from.column.value_or(static_cast<std::int64_t>(link_->column())));
  const auto columns = studio_->columns();
  if (column >= columns.size() || !columns[column]->model || columns[column]->model->info().encoder_layers > 0) {
    say(QStringLiteral("edges are cut in runs of open checkpoints: not in traces, not in encoder-decoders"), true);
    return;
  }
  const EditedPlace from = edited_place(input, column, box.from);
  const EditedPlace to = edited_place(input, column, box.to);
  models::Edit edit;
  edit.kind = models::EditKind::kEdge;
  edit.layer = {{from.layer}};
  edit.head = {from.head == views::kMean ? std::vector<std::int64_t>{} : std::vector{from.head}};
  edit.queries = between(from.query, to.query);
  edit.keys = between(from.key, to.key);
  if (std::min({from.query, to.query, from.key, to.key}) < 0) {
    say(QStringLiteral("the rectangle has tokens that this column has not"), true);
    return;
  }
  LiveEdit(*studio_, nullptr).make(columns[column]->id, edit);
  say(QStringLiteral("cut: %1").arg(edit_words(models::to_text(edit))));
}

void MainWindow::open_edited(int id, const std::string& edit) {
  const Checkpoint* checkpoint = studio_->find(id);
  const auto parsed = models::parse_edit(edit, 0);
  if (checkpoint == nullptr || !parsed.ok()) {
    say(parsed.ok() ? QStringLiteral("the column is closed") : edit_words(parsed.error().describe()), true);
    return;
  }
  session::CheckpointEntry entry = checkpoint->entry;
  entry.shown = true;
  entry.edits.push_back(*parsed);
  studio_->open_beside(entry);
  say(QStringLiteral("beside it: %1").arg(edit_words(edit)));
}

// What may be changed at a place: its head, its cell, the band of pairs that is chosen. Each is one more column.
void MainWindow::add_edits_menu(QMenu& menu, const views::Selection& there, std::size_t column) {
  const views::ViewInput input = studio_->view_input();
  const int id = studio_->columns()[column]->id;
  const models::Trace& trace = *input.columns[column].trace;
  const auto [layer, head, query, key] = edited_place(input, column, there);
  const models::EncodingUse* const encoding =
      layer >= 0 && layer < trace.model().layers ? trace.model().encoding_of(layer) : nullptr;
  const views::ViewInfo& view = studio_->view().info();
  const bool of_head = head >= 0 && (view.uses_head || there.head);
  QMenu* edits = menu.addMenu(QStringLiteral("Beside it, with"));
  edits->setObjectName(QStringLiteral("edits-menu"));
  const auto add = [&](const char* name, const QString& text, const std::string& edit) {
    edits->addAction(text, this, [this, id, edit] { open_edited(id, edit); })->setObjectName(QLatin1String(name));
  };
  const std::string place = std::to_string(layer) + "." + std::to_string(head);
  if (of_head) {
    const QString named = edit_words(place);
    add("edit-zero", QStringLiteral("Head %1 silent").arg(named), "head " + place + " zero");
    add("edit-mean", QStringLiteral("Head %1 giving its mean").arg(named), "head " + place + " mean");
    add("edit-uniform", QStringLiteral("Head %1 looking at all keys alike").arg(named), "head " + place + " uniform");
    if (encoding != nullptr && !encoding->content.empty()) {
      add("edit-content", QStringLiteral("Head %1 without positions").arg(named), "head " + place + " content");
    }
  }
  if (of_head && query != views::kNone && key != views::kNone) {
    const auto range = [](std::int64_t n) { return std::to_string(n) + ":" + std::to_string(n + 1); };
    add("edit-edge", QStringLiteral("This edge cut"),
        "edge " + place + " queries " + range(query) + " keys " + range(key));
  }
  const auto option = input.options.text("band", "");
  if (of_head && option.ok() && !option->empty()) {
    const bool one = option->find(':') == std::string::npos;
    const std::string band =
        one ? *option + ":" + std::to_string(parse_number<std::int64_t>(*option).value_or(0) + 1) : *option;
    add("edit-band", QStringLiteral("Pairs %1 knocked out").arg(edit_words(*option)),
        "pairs " + place + " " + band + " drop");
    add("edit-still", QStringLiteral("Pairs %1 standing still").arg(edit_words(*option)),
        "pairs " + place + " " + band + " still");
  }
  edits->addSeparator();
  edits->addAction(QStringLiteral("Other edits…"), this, [this, id] { ask_edits(id); })
      ->setObjectName(QStringLiteral("edit-other"));
}

}  // namespace locus::workbench
