#include "models/edits/run_edits.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <tuple>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/edits/edited_encoding.h"
#include "models/edits/fields.h"
#include "models/transformer/mixers/mixer_edit.h"

namespace locus::models {

namespace {

using position::PairForm;

// The pairs of a layer's encoding, from one token of zeros.
Result<PairForm> pairs_of(const LayerToEdit& layer) {
  const position::ModelShape& shape = layer.encoding->shape();
  position::Prepared one;
  one.positions = layer.positions;
  one.query = at::zeros({1, shape.heads, 1, shape.head_width});
  one.key = at::zeros({1, shape.kv_heads, 1, shape.head_width});
  LOCUS_TRY(PairForm form, position::pair_form(*layer.encoding, one, layer.encoding_layer));
  if (form.modulation) {
    return unsupported("encoding " + layer.encoding->description().name +
                       " turns no pairs of channels: it modulates an amplitude by the distance");
  }
  return form;
}

bool has_planes(const PairForm& form) {
  return !form.planes.empty() &&
         std::all_of(form.planes.begin(), form.planes.end(), [](const auto& plane) { return plane.size() == 2; }) &&
         std::all_of(form.channels.begin(), form.channels.end(), [](const auto& pair) { return pair.size() == 2; });
}

// A layer's edits, gathered by head.
class LayerBinder {
 public:
  LayerBinder(const ModelInfo& model, const LayerToEdit& layer)
      : model_(model), layer_(layer), heads_(static_cast<std::size_t>(model.heads)) {}

  Status take(const Edit& edit, std::size_t index) {
    switch (edit.kind) {
      case EditKind::kPositions:
      case EditKind::kShift:
      case EditKind::kFlat:
      case EditKind::kShiftImage:
      case EditKind::kDesign:
      case EditKind::kDecay:
      case EditKind::kUnwrite:
      case EditKind::kReset:
      case EditKind::kMixerZero:
        return {};
      case EditKind::kMaskImage:
        return take_mask(edit, index);
      case EditKind::kHead:
        return take_head(edit, index);
      case EditKind::kEdge:
        return each(edit, [&](HeadEdits& head) { head.edges.emplace_back(edit.queries, edit.keys); });
      case EditKind::kScale:
        return each(edit, [&](HeadEdits& head) { head.scale *= edit.by; });
      case EditKind::kPairs:
        return take_pairs(edit, index);
      case EditKind::kBias:
        return take_bias(edit, index);
      case EditKind::kAngles:
        return take_angles(edit, index);
      case EditKind::kGates:
        return take_gates(edit, index);
      case EditKind::kPlace:
        return take_place(edit, index);
      case EditKind::kBeta:
        return take_beta(edit, index);
      case EditKind::kDirection:
        return take_direction(edit, index);
    }
    return {};
  }

  transformer::LayerEdit finish() {
    transformer::LayerEdit made;
    bool encoded = false;
    for (std::size_t n = 0; n < heads_.size(); ++n) {
      HeadEdits& head = heads_[n];
      const auto index = static_cast<std::int64_t>(n);
      if (head.to == HeadTo::kZero || head.to == HeadTo::kMean) {
        const bool zero = *head.to == HeadTo::kZero;
        (zero ? made.silent : made.averaged).push_back(index);
        head.to.reset();
        head = zero ? HeadEdits{} : head;  // zero ablation overrides other edits; the original weights are shown
      } else if (head.to && *head.to != HeadTo::kContent) {
        made.replaced.push_back(index);
      }
      // A dropped pair stays dropped under any other edit.
      std::erase_if(head.still, [&](std::int64_t pair) {
        return std::find(head.dropped.begin(), head.dropped.end(), pair) != head.dropped.end();
      });
      encoded = encoded || head.turns() || head.scores();
    }
    if (encoded) {
      made.encoding = std::make_shared<const EditedEncoding>(layer_.encoding, heads_, layer_.soft_cap,
                                                             layer_.layout.grid_columns, layer_.mask);
    }
    return made;
  }

 private:
  template <class Change>
  Status each(const Edit& edit, const Change& change) {
    for (std::size_t n = 0; n < heads_.size(); ++n) {
      if (edit.head.has(static_cast<std::int64_t>(n))) {
        change(heads_[n]);
      }
    }
    return {};
  }

  Status take_head(const Edit& edit, std::size_t index) {
    const std::string& name = layer_.encoding->description().name;
    if (edit.to == HeadTo::kContent && layer_.encoding->description().content.empty()) {
      return of_edit(unsupported("encoding " + name + " has no content: it is mixed into the tokens"), index, "to");
    }
    if (edit.to == HeadTo::kUniform && layer_.encoding->hard_attention()) {
      return of_edit(unsupported("layer " + std::to_string(layer_.layer) + " attends to a single key"), index, "to");
    }
    return each(edit, [&](HeadEdits& head) { head.to = edit.to; });
  }

  // Edges to the cells, a row of them at a time.
  Status take_mask(const Edit& edit, std::size_t index) {
    LOCUS_TRY(const ImageSpan span, picture_of(edit, layer_.layout.pictures, index));
    if (span.rows == 0) {
      return of_edit(unsupported("picture " + std::to_string(edit.image) + " has no rows and columns"), index, "rows");
    }
    for (const auto& [range, count, name] :
         {std::tuple(edit.rows, span.rows, "rows"), std::tuple(edit.columns, span.columns, "columns")}) {
      if (range.end > count) {
        return bad_input(field_name(index, name) + ": expected a range within 0 to " + std::to_string(count) +
                         ", found " + std::to_string(range.begin) + " to " + std::to_string(range.end));
      }
    }
    return each(edit, [&](HeadEdits& head) {
      for (std::int64_t row = edit.rows.begin; row < edit.rows.end; ++row) {
        for (std::int64_t column = edit.columns.begin, end = 0; column < edit.columns.end; column = end) {
          end = span.tile_rows > 0 ? std::min((column / span.tile_columns + 1) * span.tile_columns, edit.columns.end)
                                   : edit.columns.end;
          const std::int64_t first = span.token(row * span.columns + column);
          head.edges.emplace_back(Range{0, layer_.positions.size()}, Range{first, first + end - column});
        }
      }
    });
  }

  Result<PairForm> form(bool planes, std::size_t index, const std::string& field) const {
    Result<PairForm> form = pairs_of(layer_);
    if (!form.ok()) {
      return of_edit(form.error(), index, field);
    }
    if (planes && !has_planes(*form)) {
      return of_edit(unsupported("encoding " + layer_.encoding->description().name +
                                 " turns blocks of channels here that have no angle"),
                     index, field);
    }
    return form;
  }

  // The pairs of a head whose wavelengths are within those of the edit.
  Result<std::vector<std::int64_t>> within(const Edit& edit, const PairForm& form, std::int64_t head,
                                           std::size_t index) const {
    const std::string field = field_name(index, "wavelengths");
    const std::optional<Wavelengths> wanted = parse_wavelengths(edit.formula);
    if (!wanted || !form.frequencies.defined()) {
      return !wanted ? bad_input(field + ": expected A..B, found " + shown(edit.formula))
                     : of_edit(unsupported("the pairs of encoding " + layer_.encoding->description().name +
                                           " have no wavelengths here"),
                               index, "wavelengths");
    }
    const at::Tensor frequencies = form.frequencies.to(at::kCPU, at::kDouble);
    const at::Tensor own = frequencies[frequencies.size(0) == 1 ? 0 : head].norm(2, {1}, false);
    const at::Tensor waves = (2 * std::numbers::pi / own).contiguous();
    std::vector<std::int64_t> pairs;
    for (std::int64_t pair = 0; pair < form.pairs(); ++pair) {
      const double wave = waves.data_ptr<double>()[pair];
      if (wanted->low <= wave && wave <= wanted->high) {
        pairs.push_back(pair);
      }
    }
    if (pairs.empty()) {
      return bad_input(field + ": expected wavelengths of layer " + std::to_string(layer_.layer) + ", which are " +
                       general_text(waves.min().item<double>(), 4) + " to " +
                       general_text(waves.max().item<double>(), 4) + ", found " + shown(edit.formula));
    }
    return pairs;
  }

  Status take_pairs(const Edit& edit, std::size_t index) {
    LOCUS_TRY(const PairForm form, this->form(edit.action == PairsDo::kStill, index, "do"));
    if (edit.pairs.end > form.pairs()) {
      return bad_input(field_name(index, "pairs") + ": expected a range within 0 to " + std::to_string(form.pairs()) +
                       ", found " + std::to_string(edit.pairs.begin) + " to " + std::to_string(edit.pairs.end));
    }
    std::vector<std::vector<std::int64_t>> pairs(heads_.size());
    for (std::size_t n = 0; n < pairs.size(); ++n) {
      for (std::int64_t pair = edit.pairs.begin; pair < edit.pairs.end; ++pair) {
        pairs[n].push_back(pair);
      }
      if (!edit.formula.empty() && edit.head.has(static_cast<std::int64_t>(n))) {
        LOCUS_TRY(pairs[n], within(edit, form, static_cast<std::int64_t>(n), index));
      }
    }
    return each(edit, [&](HeadEdits& head) {
      for (const std::int64_t pair : pairs[static_cast<std::size_t>(&head - heads_.data())]) {
        std::vector<std::int64_t>& list = edit.action == PairsDo::kStill ? head.still : head.dropped;
        if (std::find(list.begin(), list.end(), pair) == list.end()) {
          list.push_back(pair);
        }
      }
    });
  }

  Status take_bias(const Edit& edit, std::size_t index) {
    if (layer_.positions.dimensions() > 2) {
      return of_edit(unsupported("expected positions of one number, found vectors (M-RoPE)"), index, "formula");
    }
    Result<Formula> compiled = Formula::compile(edit.formula, bias_variables());
    if (!compiled.ok()) {
      return of_edit(compiled.error(), index, "formula");
    }
    auto bias = std::make_shared<BiasFormula>(BiasFormula{*std::move(compiled), model_.heads, layer_.positions.size(),
                                                          static_cast<double>(model_.trained_length)});
    tabulate(*bias, edit.head);
    return each(edit, [&](HeadEdits& head) { head.biases.push_back(bias); });
  }

  // A formula of d and h only is computed once for every whole distance of the run.
  void tabulate(BiasFormula& bias, const Places& heads) const {
    const at::Tensor places = places_of(layer_.positions, layer_.layout.grid_columns);
    const double span = places.max().item<double>() - places.min().item<double>();
    const double most = 8 * static_cast<double>(layer_.positions.size()) + 4096;
    if (bias.formula.uses("i") || bias.formula.uses("j") || !at::equal(places, places.floor()) || !(span <= most)) {
      return;
    }
    bias.low = -span;
    const auto count = 2 * static_cast<std::int64_t>(span) + 1;
    at::Tensor last;
    for (std::int64_t head = 0; head < model_.heads; ++head) {
      if (!last.defined() || (bias.formula.uses("h") && heads.has(head))) {
        last = at::empty({count}, at::kDouble);
        bias.formula.each(
            count,
            [&](std::int64_t n, double* v) {
              v[0] = bias.low + static_cast<double>(n);
              v[3] = static_cast<double>(head + 1);
              v[4] = static_cast<double>(bias.heads);
              v[5] = static_cast<double>(bias.length);
              v[6] = bias.trained;
            },
            last.data_ptr<double>());
        last.masked_fill_(last.isfinite().logical_not(), -std::numeric_limits<double>::infinity());
      }
      bias.tables.push_back(last);
    }
  }

  Status take_angles(const Edit& edit, std::size_t index) {
    LOCUS_TRY(const PairForm form, this->form(true, index, "formula"));
    const Result<Formula> compiled = Formula::compile(edit.formula, angle_variables());
    if (!compiled.ok()) {
      return of_edit(compiled.error(), index, "formula");
    }
    const Result<double> base = layer_.encoding->settings().number("base", 0);
    if (compiled->uses("base") && !(base.ok() && *base > 0)) {
      return bad_input(field_name(index, "formula") + ": expected no base, since encoding " +
                       layer_.encoding->description().name + " has none, found \"" + shown(edit.formula) + "\"");
    }
    at::Tensor theta = at::empty({form.pairs()}, at::kDouble);
    compiled->each(
        form.pairs(),
        [&](std::int64_t m, double* v) {
          v[0] = static_cast<double>(m);
          v[1] = static_cast<double>(form.pairs());
          v[2] = static_cast<double>(layer_.encoding->shape().head_width);
          v[3] = base.ok() ? *base : 0;
          v[4] = static_cast<double>(model_.trained_length);
          v[5] = static_cast<double>(layer_.positions.size());
        },
        theta.data_ptr<double>());
    for (std::int64_t m = 0; m < form.pairs(); ++m) {
      if (!std::isfinite(theta[m].item<double>())) {
        return bad_input(field_name(index, "formula") + ": expected angles that are numbers, found none for pair " +
                         std::to_string(m) + " of \"" + edit.formula + "\"");
      }
    }
    const std::int64_t sets = form.frequencies.defined() ? form.frequencies.size(0) : 1;
    for (std::int64_t head = 0; sets > 1 && head < sets; ++head) {
      if (edit.head.has(head) && !form.frequencies[head].any().item<bool>()) {
        return of_edit(
            unsupported("head " + std::to_string(head) + " of encoding " + layer_.encoding->description().name +
                        " does not turn: its angles have no direction"),
            index, "head");
      }
    }
    return each(edit, [&](HeadEdits& head) { head.angles = theta; });
  }

  // Layers without gates are left as they are, unless they are named.
  Status take_gates(const Edit& edit, std::size_t index) {
    const std::optional<GateValue> gate = parse_gate(edit.formula);
    if (!gate) {
      return bad_input(field_name(index, "to") + ": expected a number from 0 to 1 or mean, found " +
                       shown(edit.formula));
    }
    const position::Description& about = layer_.encoding->description();
    if (about.forgets || (about.has_gates && gate->value)) {
      return each(edit, [&](HeadEdits& head) { head.gates.push_back({edit.tokens, gate->value}); });
    }
    if (edit.layer.indices.empty() && !about.has_gates) {
      return {};
    }
    return of_edit(unsupported("encoding " + about.name +
                               (about.has_gates ? " has a gate for each query and key, and no mean of a token's"
                                                : " has no gates")),
                   index, "to");
  }

  // Layers that learn no positions are left as they are, unless they are named.
  Status take_place(const Edit& edit, std::size_t index) {
    const std::optional<PlaceValue> place = parse_place(edit.formula);
    if (!place) {
      return bad_input(field_name(index, "to") + ": expected " + std::string(kPlaceForms) + ", found " +
                       shown(edit.formula));
    }
    const position::Description& about = layer_.encoding->description();
    if (about.learns_positions) {
      return each(edit, [&](HeadEdits& head) { head.places.push_back({edit.tokens, *place}); });
    }
    return edit.layer.indices.empty()
               ? Status()
               : Status(of_edit(unsupported("encoding " + about.name + " learns no positions"), index, "to"));
  }

  Status take_beta(const Edit& edit, std::size_t index) {
    const std::optional<GateValue> beta = parse_beta(edit.formula);
    if (!beta) {
      return bad_input(field_name(index, "to") + ": expected a number from 0 to 2 or mean, found " +
                       shown(edit.formula));
    }
    return each_that_transforms(edit, index, [&](HeadEdits& head) {
      head.strengths.push_back({edit.tokens, beta->value});
    });
  }

  Status take_direction(const Edit& edit, std::size_t index) {
    if (edit.formula != kMeanDirection) {
      return bad_input(field_name(index, "to") + ": expected mean, found " + shown(edit.formula));
    }
    return each_that_transforms(edit, index, [&](HeadEdits& head) { head.directed.push_back(edit.tokens); });
  }

  // Layers whose tokens change no keys are left as they are, unless they are named.
  template <typename Do>
  Status each_that_transforms(const Edit& edit, std::size_t index, const Do& change) {
    const position::Description& about = layer_.encoding->description();
    if (about.transforms) {
      return each(edit, change);
    }
    return edit.layer.indices.empty()
               ? Status()
               : Status(of_edit(unsupported("encoding " + about.name + " changes no keys"), index, "to"));
  }

  const ModelInfo& model_;
  const LayerToEdit& layer_;
  std::vector<HeadEdits> heads_;
};

// The edits of a layer's mixer; null where there are none.
std::shared_ptr<const transformer::MixerEdit> edited_mixer(const Edits& edits, const LayerToEdit& layer) {
  const std::int64_t heads = layer.mixer->heads;
  const auto none = [](at::IntArrayRef shape) { return at::zeros(shape, at::kBool); };
  auto made = std::make_shared<transformer::MixerEdit>();
  made->keep = none(heads);
  made->steady = none(heads);
  made->silent = none(heads);
  made->reset = none({heads, layer.positions.size()});
  made->unwritten = none({heads, layer.positions.size()});
  bool any = false;
  for (const Edit& edit : edits) {
    for (std::int64_t head = 0; of_mixers(edit) && edit.layer.has(layer.layer) && head < heads; ++head) {
      if (!edit.head.has(head)) {
        continue;
      }
      any = true;
      if (edit.kind == EditKind::kDecay) {
        made->keep[head] = edit.decay == DecayTo::kKeep;
        made->steady[head] = edit.decay == DecayTo::kMean;
      } else if (edit.kind == EditKind::kUnwrite) {
        made->unwritten[head].slice(0, edit.tokens.begin, edit.tokens.end).fill_(true);
      } else if (edit.kind == EditKind::kReset) {
        made->reset[head][edit.at] = true;
      } else {
        made->silent[head] = true;
      }
    }
  }
  return any ? std::move(made) : nullptr;
}

}  // namespace

Result<transformer::LayerEdit> edited_layer(const Edits& edits, const ModelInfo& model, const LayerToEdit& layer) {
  transformer::LayerEdit made;
  if (layer.encoding) {
    LayerBinder binder(model, layer);
    for (std::size_t n = 0; n < edits.size(); ++n) {
      if (!moves(edits[n]) && edits[n].layer.has(layer.layer)) {
        LOCUS_CHECK(binder.take(edits[n], n));
      }
    }
    made = binder.finish();
  }
  if (layer.mixer != nullptr) {
    made.mixer = edited_mixer(edits, layer);
  }
  return made;
}

LayerToEdit layer_to_edit(std::int64_t layer, const transformer::Transformer& model, const transformer::Batch& batch,
                          const Layout& layout) {
  const transformer::LayerSpec& spec = model.block(layer).spec();
  LayerToEdit made{.layer = layer, .encoding = nullptr, .positions = batch.positions, .layout = layout};
  if (spec.attends) {
    made.encoding = model.layer_encoding(layer);
    made.encoding_layer = model.encoding_layer(layer);
    made.soft_cap = spec.attention.soft_cap;
    made.mask = model.mask(batch, layer);
  }
  made.mixer = spec.has_mixer() ? &spec.mixer : nullptr;
  return made;
}

Result<std::shared_ptr<const transformer::LayerEdits>> edited_layers(const Edits& edits, const ModelInfo& info,
                                                                     const transformer::Transformer& model,
                                                                     const transformer::Batch& batch,
                                                                     const Layout& layout) {
  auto layers = std::make_shared<transformer::LayerEdits>();
  if (std::all_of(edits.begin(), edits.end(), moves)) {
    return std::shared_ptr<const transformer::LayerEdits>();
  }
  for (std::int64_t n = 0; n < info.layers; ++n) {
    LOCUS_TRY(transformer::LayerEdit own, edited_layer(edits, info, layer_to_edit(n, model, batch, layout)));
    layers->push_back(std::move(own));
  }
  return std::shared_ptr<const transformer::LayerEdits>(std::move(layers));
}

}  // namespace locus::models
