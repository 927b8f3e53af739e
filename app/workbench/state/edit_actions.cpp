#include "app/workbench/state/edit_actions.h"

#include <algorithm>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/workbench/state/live_edit.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

// A place of a column; tokens are indices of that column, as edits use them.
struct EditedPlace {
  std::int64_t layer = 0;
  std::int64_t head = 0;  // or kMean
  std::int64_t query = views::kNone;
  std::int64_t key = views::kNone;
};

EditedPlace edited_place(const views::ViewInput& input, std::size_t column, const views::Selection& there) {
  const views::Column& own = input.columns[column];
  const views::HeadRef shown = views::head_of_column(input, column);
  return {there.layer.value_or(shown.layer), there.head.value_or(shown.head),
          there.query ? views::own_token(input, *there.query, own) : views::kNone,
          there.key ? views::own_key(input, *there.key, own) : views::kNone};
}

models::Edit edit_of(models::EditKind kind, const EditedPlace& place) {
  models::Edit edit;
  edit.kind = kind;
  edit.layer = {{place.layer}};
  edit.head = {place.head == views::kMean ? std::vector<std::int64_t>{} : std::vector{place.head}};
  return edit;
}

models::Edit head_edit(const EditedPlace& place, models::HeadTo to) {
  models::Edit edit = edit_of(models::EditKind::kHead, place);
  edit.to = to;
  return edit;
}

Range between(std::int64_t a, std::int64_t b) {
  return {std::min(a, b), std::max(a, b) + 1};
}

// The cells of the rectangle between two places of one head.
models::Edit edge_edit(const EditedPlace& from, const EditedPlace& to) {
  models::Edit edit = edit_of(models::EditKind::kEdge, from);
  edit.queries = between(from.query, to.query);
  edit.keys = between(from.key, to.key);
  return edit;
}

models::Edit gates_edit(const EditedPlace& place, const Range& tokens, const char* to) {
  models::Edit edit = edit_of(models::EditKind::kGates, place);
  edit.tokens = tokens;
  edit.formula = to;
  return edit;
}

models::Edit place_edit(const EditedPlace& place, const Range& tokens, const char* to) {
  models::Edit edit = gates_edit(place, tokens, to);
  edit.kind = models::EditKind::kPlace;
  return edit;
}

models::Edit beta_edit(const EditedPlace& place, const Range& tokens, const char* to) {
  models::Edit edit = gates_edit(place, tokens, to);
  edit.kind = models::EditKind::kBeta;
  return edit;
}

models::Edit direction_edit(const EditedPlace& place, const Range& tokens) {
  models::Edit edit = gates_edit(place, tokens, "mean");
  edit.kind = models::EditKind::kDirection;
  return edit;
}

models::Edit pairs_edit(const EditedPlace& place, const Range& pairs, models::PairsDo action) {
  models::Edit edit = edit_of(models::EditKind::kPairs, place);
  edit.pairs = pairs;
  edit.action = action;
  return edit;
}

// Edits of a mixer at a place of its map.
std::vector<EditChoice> mixer_choices(const models::LayerInfo& layer, const EditedPlace& place, const QString& named) {
  const auto choice = [&](const char* name, const QString& text, models::EditKind kind) {
    return EditChoice{name, text, edit_of(kind, place)};
  };
  std::vector<EditChoice> list;
  if (layer.mixer.empty()) {
    return list;
  }
  list.push_back(
      choice("edit-mixer-zero", QStringLiteral("Zero ablation of head %1").arg(named), models::EditKind::kMixerZero));
  if (layer.mixer_reach > 0) {
    return list;
  }
  list.push_back(choice("edit-keep", QStringLiteral("Head %1 never forgets").arg(named), models::EditKind::kDecay));
  list.push_back(
      choice("edit-steady", QStringLiteral("Head %1 forgets all tokens alike").arg(named), models::EditKind::kDecay));
  list.back().edit.decay = models::DecayTo::kMean;
  if (place.key != views::kNone) {
    list.push_back(
        choice("edit-unwrite", QStringLiteral("Token %1 writes nothing").arg(place.key), models::EditKind::kUnwrite));
    list.back().edit.tokens = between(place.key, place.key);
  }
  if (place.query != views::kNone) {
    list.push_back(
        choice("edit-reset", QStringLiteral("Empty state before token %1").arg(place.query), models::EditKind::kReset));
    list.back().edit.at = place.query;
  }
  return list;
}

}  // namespace

bool lacks_edit(const Studio& studio) {
  const views::View& view = studio.view();
  if (!view.info().of_edits) {
    return false;
  }
  const auto columns = studio.view_input().columns;
  return !columns.empty() && std::ranges::all_of(columns, [&](const views::Column& each) {
    return view.available(each).ok() && each.model->edits().empty();
  });
}

std::string message_of_one_edit(const Error& error) {
  const std::string& message = error.message;
  const std::size_t end = message.find(']');
  if (!message.starts_with("edits[") || end == std::string::npos) {
    return message;
  }
  std::string rest = message.substr(end + 1);
  if (rest.starts_with(".edit: ") || rest.starts_with(": ")) {
    return rest.substr(rest.find(' ') + 1);
  }
  return rest.starts_with('.') ? rest.substr(1) : rest;
}

bool EditActions::can_edit(std::size_t column) const {
  const auto columns = studio_.checkpoints().shown();
  return column < columns.size() && columns[column]->model && columns[column]->model->info().encoder_layers == 0;
}

std::vector<EditChoice> EditActions::choices(const views::Selection& there, std::size_t column) const {
  const views::ViewInput input = studio_.view_input();
  const models::ModelInfo& model = input.columns[column].trace->model();
  const EditedPlace place = edited_place(input, column, there);
  if (place.head < 0 || !(studio_.view().info().uses_head || there.head)) {
    return {};
  }
  const bool known = place.layer >= 0 && place.layer < std::ssize(model.layer_info);
  const models::LayerInfo layer = known ? model.layer_info[static_cast<std::size_t>(place.layer)] : models::LayerInfo();
  const QString named = QStringLiteral("%1.%2").arg(place.layer).arg(place.head);
  if (model.of_mixers()) {
    return mixer_choices(layer, place, named);
  }
  if (!layer.attends) {
    return {};
  }
  std::vector<EditChoice> list{
      {"edit-zero", QStringLiteral("Zero ablation of head %1").arg(named), head_edit(place, models::HeadTo::kZero)},
      {"edit-mean", QStringLiteral("Mean ablation of head %1").arg(named), head_edit(place, models::HeadTo::kMean)},
      {"edit-uniform", QStringLiteral("Uniform attention in head %1").arg(named),
       head_edit(place, models::HeadTo::kUniform)}};
  const models::EncodingUse* encoding =
      place.layer >= 0 && place.layer < model.layers ? model.encoding_of(place.layer) : nullptr;
  if (encoding != nullptr && !encoding->content.empty()) {
    list.push_back({"edit-content", QStringLiteral("Head %1 without its position encoding").arg(named),
                    head_edit(place, models::HeadTo::kContent)});
  }
  const bool forgets = encoding != nullptr && encoding->forgets;
  if (forgets) {
    list.push_back({"edit-gates-one", QStringLiteral("Head %1 never forgets: all gates 1").arg(named),
                    gates_edit(place, {}, "1")});
    list.push_back({"edit-gates-mean", QStringLiteral("Head %1 forgets evenly: all gates their mean").arg(named),
                    gates_edit(place, {}, "mean")});
  }
  if ((forgets || (encoding != nullptr && encoding->has_gates)) && place.key != views::kNone) {
    const Range token = between(place.key, place.key);
    list.push_back({"edit-gate-zero",
                    forgets
                        ? QStringLiteral("Gate 0 at token %1: head %2 forgets all before it").arg(place.key).arg(named)
                        : QStringLiteral("Gate 0 at token %1: head %2 does not count it").arg(place.key).arg(named),
                    gates_edit(place, token, "0")});
    list.push_back({"edit-gate-one",
                    forgets
                        ? QStringLiteral("Gate 1 at token %1: head %2 forgets nothing there").arg(place.key).arg(named)
                        : QStringLiteral("Gate 1 at token %1: head %2 always counts it").arg(place.key).arg(named),
                    gates_edit(place, token, "1")});
  }
  if (encoding != nullptr && encoding->transforms) {
    list.push_back(
        {"edit-betas-zero", QStringLiteral("Head %1 changes no keys: all β 0").arg(named), beta_edit(place, {}, "0")});
    list.push_back({"edit-betas-mean", QStringLiteral("Head %1 changes keys evenly: all β their mean").arg(named),
                    beta_edit(place, {}, "mean")});
    list.push_back({"edit-directions-mean",
                    QStringLiteral("Head %1 changes one part of keys: all directions their mean").arg(named),
                    direction_edit(place, {})});
    if (place.key != views::kNone) {
      const Range token = between(place.key, place.key);
      list.push_back({"edit-beta-zero",
                      QStringLiteral("β 0 at token %1: head %2 leaves the keys before it").arg(place.key).arg(named),
                      beta_edit(place, token, "0")});
      list.push_back({"edit-beta-one",
                      QStringLiteral("β 1 at token %1: head %2 erases its direction").arg(place.key).arg(named),
                      beta_edit(place, token, "1")});
      list.push_back({"edit-direction-mean",
                      QStringLiteral("Direction at token %1: head %2 has its mean there").arg(place.key).arg(named),
                      direction_edit(place, token)});
    }
  }
  if (encoding != nullptr && encoding->learns_positions) {
    list.push_back({"edit-place-index", QStringLiteral("Head %1 takes the index for its positions").arg(named),
                    place_edit(place, {}, "index")});
    if (place.key != views::kNone) {
      const Range token = between(place.key, place.key);
      list.push_back({"edit-place-later",
                      QStringLiteral("Token %1 one step later in head %2").arg(place.key).arg(named),
                      place_edit(place, token, "by 1")});
      list.push_back({"edit-place-earlier",
                      QStringLiteral("Token %1 one step earlier in head %2").arg(place.key).arg(named),
                      place_edit(place, token, "by -1")});
    }
  }
  if (place.query != views::kNone && place.key != views::kNone) {
    list.push_back({"edit-edge", QStringLiteral("Mask this cell"), edge_edit(place, place)});
  }
  const auto typed = input.options.text("band", "");
  if (const auto band = views::band_of(input); typed.ok() && band.ok() && *band) {
    const QString pairs = qt(*typed);
    list.push_back({"edit-band", QStringLiteral("Knock out rotary pairs %1").arg(pairs),
                    pairs_edit(place, **band, models::PairsDo::kDrop)});
    list.push_back({"edit-still", QStringLiteral("Rotary pairs %1 without rotation").arg(pairs),
                    pairs_edit(place, **band, models::PairsDo::kStill)});
  }
  return list;
}

void EditActions::open_beside(int id, const models::Edit& edit) {
  const Checkpoint* checkpoint = studio_.checkpoints().find(id);
  if (checkpoint == nullptr) {
    Q_EMIT reported(QStringLiteral("the column was closed"), true);
    return;
  }
  session::CheckpointEntry entry = checkpoint->entry;
  entry.shown = true;
  entry.edits.push_back(edit);
  studio_.column_actions().open_beside(entry);
  Q_EMIT reported(QStringLiteral("beside it: %1").arg(qt(models::to_text(edit))), false);
}

void EditActions::cut_edges(const views::Selection& from, const views::Selection& to, std::size_t column) {
  if (!can_edit(column)) {
    Q_EMIT reported(
        QStringLiteral("cells can be masked in runs of open checkpoints, not in traces and encoder-decoders"), true);
    return;
  }
  const views::ViewInput input = studio_.view_input();
  if (input.columns[column].trace->model().of_mixers()) {
    Q_EMIT reported(QStringLiteral("cells of attention can be masked, not those of a layer without a softmax"), true);
    return;
  }
  const EditedPlace first = edited_place(input, column, from);
  const EditedPlace last = edited_place(input, column, to);
  if (std::min({first.query, last.query, first.key, last.key}) < 0) {
    Q_EMIT reported(QStringLiteral("the rectangle contains tokens that this column does not have"), true);
    return;
  }
  const models::Edit edit = edge_edit(first, last);
  LiveEdit(studio_, nullptr).make(studio_.checkpoints().shown()[column]->id, edit);
  Q_EMIT reported(QStringLiteral("cut: %1").arg(qt(models::to_text(edit))), false);
}

}  // namespace locus::workbench
