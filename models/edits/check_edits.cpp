// Checks of edits against a model and a text.
#include <algorithm>

#include "models/api/model.h"
#include "models/edits/fields.h"
#include "models/edits/formula.h"

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
         edit.kind == EditKind::kShiftImage;
}

bool Places::has(std::int64_t index) const {
  return indices.empty() || std::find(indices.begin(), indices.end(), index) != indices.end();
}

Status check_edits(const Edits& edits, const ModelInfo& model, std::int64_t length) {
  for (std::size_t n = 0; n < edits.size(); ++n) {
    const Edit& edit = edits[n];
    for (const EditField& field : form_of(edit.kind).fields) {
      const std::string name = field_name(n, std::string(field.name));
      if (const auto* const places = std::get_if<Places Edit::*>(&field.member)) {
        const bool layers = field.name == "layer";
        LOCUS_CHECK(check_places(edit.**places, layers ? model.layers : model.heads, name));
        LOCUS_CHECK(layers ? check_attends(edit.**places, model, name) : Status());
      } else if (std::holds_alternative<std::string Edit::*>(field.member)) {
        LOCUS_CHECK(check_formula(edit, model, name));
      } else if (const auto* const range = std::get_if<Range Edit::*>(&field.member); range && counts_tokens(field)) {
        LOCUS_CHECK(check_range(edit.**range, length, name));
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
