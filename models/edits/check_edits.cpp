// Checks of edits against a model and a text.
#include <algorithm>

#include "core/base/shown.h"
#include "models/api/model.h"
#include "models/edits/fields.h"
#include "models/edits/formula.h"
#include "models/edits/position_design.h"

namespace locus::models {

namespace {

Status check_places(const Places& places, std::int64_t count, const std::string& field) {
  for (const std::int64_t index : places.indices) {
    if (index >= count) {
      return bad_input(field + ": expected 0 to " + std::to_string(count - 1) + ", found " + std::to_string(index));
    }
  }
  return {};
}

Status check_formula(const Edit& edit, const ModelInfo& model, const std::string& field) {
  if (edit.kind == EditKind::kPairs) {
    return edit.formula.empty() || parse_wavelengths(edit.formula)
               ? Status()
               : Status(bad_input(field + ": expected wavelengths A..B from 0 with A ≤ B, A.. or ..B, found " +
                                  shown(edit.formula)));
  }
  if (edit.kind == EditKind::kGates) {
    const std::optional<GateValue> gate = parse_gate(edit.formula);
    if (!gate) {
      return bad_input(field + ": expected a number from 0 to 1 or mean, found " + shown(edit.formula));
    }
    if (!model.forgets() && (!gate->value || !model.has_gates())) {
      return unsupported(field + ": expected a checkpoint with " +
                         (gate->value ? std::string("gates (CoPE, FoX)") : "a gate a token (FoX)") +
                         ", found none in this one");
    }
    return {};
  }
  if (edit.kind == EditKind::kPlace) {
    if (!parse_place(edit.formula)) {
      return bad_input(field + ": expected " + std::string(kPlaceForms) + ", found " + shown(edit.formula));
    }
    return model.learns_positions()
               ? Status()
               : Status(unsupported(field +
                                    ": expected a checkpoint that learns positions (RePo), found none in this one"));
  }
  if (edit.kind == EditKind::kBeta) {
    if (!parse_beta(edit.formula)) {
      return bad_input(field + ": expected a number from 0 to 2 or mean, found " + shown(edit.formula));
    }
    return model.transforms()
               ? Status()
               : Status(unsupported(field +
                                    ": expected a checkpoint whose tokens change keys (PaTH), found none in this one"));
  }
  if (edit.kind == EditKind::kDirection) {
    if (edit.formula != kMeanDirection) {
      return bad_input(field + ": expected mean, found " + shown(edit.formula));
    }
    return model.transforms()
               ? Status()
               : Status(unsupported(field +
                                    ": expected a checkpoint whose tokens change keys (PaTH), found none in this one"));
  }
  if (edit.kind == EditKind::kDesign) {
    return parse_design(edit.formula) ? Status()
                                      : Status(bad_input(field + ": expected " + std::string(kDesignForms) +
                                                         ", found " + shown(edit.formula)));
  }
  const bool bias = edit.kind == EditKind::kBias;
  const Result<Formula> formula = Formula::compile(edit.formula, bias ? bias_variables() : angle_variables());
  if (!formula.ok()) {
    return bad_input(field + ": " + formula.error().message);
  }
  if (formula->uses("L") && model.trained_length == 0) {
    return bad_input(field + ": expected no L, since this checkpoint has no trained length, found \"" + edit.formula +
                     "\"");
  }
  return {};
}

// An edit of one layer changes its attention.
Status check_attends(const Places& layers, const ModelInfo& model, const std::string& field) {
  for (const std::int64_t layer : layers.indices) {
    if (!model.layer_info.empty() && !model.layer_info[static_cast<std::size_t>(layer)].attends) {
      return unsupported(field + ": expected a layer with attention, found layer " + std::to_string(layer) + " (" +
                         layer_text(model, layer) + ")");
    }
  }
  return {};
}

// The heads that an edit of mixers counts: those of the chosen layers with a mixer that it can change, of which there is
// at least one; chosen by its number, a layer is such a one.
Status check_mixers(const Edit& edit, const ModelInfo& model, std::size_t index) {
  bool any = false;
  for (std::size_t n = 0; n < model.layer_info.size(); ++n) {
    const LayerInfo& layer = model.layer_info[n];
    const auto number = static_cast<std::int64_t>(n);
    const bool decays = layer.mixer_reach == 0 || edit.kind == EditKind::kMixerZero;
    if (!edit.layer.has(number)) {
      continue;
    }
    if (layer.mixer.empty() || !decays) {
      if (!edit.layer.indices.empty()) {
        const std::string found = "layer " + std::to_string(number);
        return unsupported(field_name(index, "layer") +
                           (!layer.mixer.empty()
                                ? ": expected a layer with a mixer that decays, found " + found + ", a " + layer.mixer
                                : ": expected a layer with a mixer, found " + found +
                                      (layer.attends ? " of attention alone" : " without one")));
      }
      continue;
    }
    any = true;
    LOCUS_CHECK(check_places(edit.head, layer.mixer_heads, field_name(index, "head")));
  }
  return any ? Status()
             : Status(unsupported(field_name(index, "layer") + ": expected a layer with a mixer" +
                                  (model.has_mixers() ? " that decays" : "") + ", found none in this checkpoint"));
}

Status check_range(const Range& range, std::int64_t length, const std::string& field) {
  return length <= 0 || range.end <= length
             ? Status()
             : Status(bad_input(field + ": expected a range within 0 to " + std::to_string(length) + ", found " +
                                std::to_string(range.begin) + " to " + std::to_string(range.end)));
}

bool counts_tokens(const EditField& field) {
  return field.name == "tokens" || field.name == "queries" || field.name == "keys";
}

}  // namespace

bool moves(const Edit& edit) {
  return edit.kind == EditKind::kPositions || edit.kind == EditKind::kShift || edit.kind == EditKind::kFlat ||
         edit.kind == EditKind::kShiftImage || edit.kind == EditKind::kDesign;
}

bool of_mixers(const Edit& edit) {
  return edit.kind == EditKind::kDecay || edit.kind == EditKind::kUnwrite || edit.kind == EditKind::kReset ||
         edit.kind == EditKind::kMixerZero;
}

bool Places::has(std::int64_t index) const {
  return indices.empty() || std::find(indices.begin(), indices.end(), index) != indices.end();
}

Result<Edits> with_layers(Edits edits, const ModelInfo& model) {
  for (std::size_t n = 0; n < edits.size(); ++n) {
    if (!edits[n].head.kind.empty()) {
      return bad_input(field_name(n, "head") + ": expected numbers of heads or all, found " + edits[n].head.kind);
    }
    Places& layers = edits[n].layer;
    for (std::size_t layer = 0; layer < (layers.kind.empty() ? 0 : model.layer_info.size()); ++layer) {
      const LayerInfo& info = model.layer_info[layer];
      if (info.attends && (info.window > 0 || info.chunk > 0) == (layers.kind == "local")) {
        layers.indices.push_back(static_cast<std::int64_t>(layer));
      }
    }
    if (!layers.kind.empty() && layers.indices.empty()) {
      return bad_input(field_name(n, "layer") + ": expected a checkpoint with " + layers.kind +
                       " layers, found none in this one");
    }
    layers.kind.clear();
  }
  return edits;
}

Status check_edits(const Edits& given, const ModelInfo& model, std::int64_t length) {
  LOCUS_TRY(const Edits edits, with_layers(given, model));
  for (std::size_t n = 0; n < edits.size(); ++n) {
    const Edit& edit = edits[n];
    for (const EditField& field : form_of(edit.kind).fields) {
      const std::string name = field_name(n, std::string(field.name));
      if (const auto* const places = std::get_if<Places Edit::*>(&field.member)) {
        const bool layers = field.name == "layer";
        if (of_mixers(edit)) {
          LOCUS_CHECK(layers ? check_places(edit.layer, model.layers, name) : check_mixers(edit, model, n));
          continue;
        }
        LOCUS_CHECK(check_places(edit.**places, layers ? model.layers : model.heads, name));
        LOCUS_CHECK(layers ? check_attends(edit.**places, model, name) : Status());
      } else if (std::holds_alternative<std::string Edit::*>(field.member)) {
        LOCUS_CHECK(check_formula(edit, model, name));
      } else if (const auto* const range = std::get_if<Range Edit::*>(&field.member); range && counts_tokens(field)) {
        LOCUS_CHECK(check_range(edit.**range, length, name));
      } else if (edit.kind == EditKind::kReset && field.name == "at") {
        LOCUS_CHECK(check_range({edit.at, edit.at + 1}, length, name));
      }
    }
  }
  return {};
}

std::int64_t first_difference(const Edits& a, const Edits& b, std::int64_t layers) {
  const auto of = [](const Edits& edits, std::int64_t layer) {
    Edits own;
    for (const Edit& edit : edits) {
      if (moves(edit) ? layer == 0 : edit.layer.has(layer)) {
        own.push_back(edit);
        own.back().layer = {};
      }
    }
    return own;
  };
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (of(a, layer) != of(b, layer)) {
      return layer;
    }
  }
  return layers;
}

}  // namespace locus::models
