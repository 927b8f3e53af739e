#include "app/views/shared/score_maps/score_map.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/alignment.h"
#include "renderers/figure/colormap.h"

namespace locus::views {

namespace {

constexpr const char* kSequential = "viridis";
constexpr const char* kDiverging = "vik";

// The central `percentile` of the finite values.
ValueRange value_range(std::span<const FieldPointer> fields, double percentile, bool ignore_first) {
  std::vector<float> values;
  for (const auto& field : fields) {
    for (std::int64_t r = 0; r < field->rows; ++r) {
      for (std::int64_t c = 0; c < field->columns; ++c) {
        const bool first = field->column_axis.first + static_cast<double>(c) * field->column_axis.step < 1;
        if (const float value = field->at(r, c); std::isfinite(value) && !(ignore_first && first)) {
          values.push_back(value);
        }
      }
    }
  }
  if (values.empty()) {
    return {};
  }
  const auto at = [&](double share) {
    const auto index = static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(values.size() - 1)));
    std::nth_element(values.begin(), values.begin() + index, values.end());
    return values[static_cast<std::size_t>(index)];
  };
  const double tail = (1 - std::clamp(percentile, 0.01, 100.0) / 100) / 2;
  return {at(tail), at(1 - tail)};
}

// The range of signed values: as far on one side of 0 as on the other. A bound that the user sets holds for both sides;
// under a log transfer a low end above 0 is the least magnitude that differs from 0.
void set_magnitudes(const ScaleOptions& wanted, const ValueRange& range, figure::ColorScale& scale) {
  const bool least = scale.transfer == figure::Transfer::kLog && wanted.low && *wanted.low > 0;
  float largest = 0;
  if (wanted.high || (wanted.low && !least)) {
    largest = std::max(std::abs(wanted.high.value_or(0)), least ? 0 : std::abs(wanted.low.value_or(0)));
  } else {
    largest = std::max(std::abs(range.low), std::abs(range.high));
  }
  scale.high = largest > 0 ? largest : 1;
  scale.low = least ? *wanted.low : -scale.high;
}

}  // namespace

Sign sign_of(models::Quantity quantity) {
  switch (quantity) {
    case models::Quantity::kWeight:
      return Sign::kWeight;
    case models::Quantity::kGate:
    case models::Quantity::kPosition:
    case models::Quantity::kDeviation:
      return Sign::kPositive;
    case models::Quantity::kContribution:
    case models::Quantity::kC2p:
    case models::Quantity::kP2c:
    case models::Quantity::kImplied:
    case models::Quantity::kCarried:
      return Sign::kZeroCentred;
    case models::Quantity::kLogit:
    case models::Quantity::kContent:
      break;
  }
  return Sign::kAny;
}

Sign sign_of(const ViewInput& input, models::Quantity quantity) {
  const bool mixers = !input.columns.empty() && input.columns.front().trace->model().of_mixers();
  return mixers && quantity == models::Quantity::kContent ? Sign::kZeroCentred : sign_of(quantity);
}

std::span<const FieldPointer> colored_with(const ViewInput& input, const Fields& fields, std::size_t n,
                                           std::size_t count) {
  return input.scale.shared ? std::span(fields) : std::span(fields).subspan(n, count);
}

figure::ColorScale scale_of(const ViewInput& input, Sign sign, const Fields& fields, std::size_t n, double cells) {
  ViewInput whole = input;
  whole.ignore_first = false;
  return color_scale(whole, sign, colored_with(input, fields, n), cells);
}

figure::Transfer transfer_of_weights(std::span<const float> weights, bool one_query, double cells) {
  constexpr float kLarge = 0.1F;
  constexpr double kHundred = 100;
  std::int64_t finite = 0;
  std::int64_t large = 0;
  for (const float weight : weights) {
    finite += std::isfinite(weight) ? 1 : 0;
    large += std::isfinite(weight) && weight >= kLarge ? 1 : 0;
  }
  if (finite == 0 || kHundred * static_cast<double>(large) >= std::max(cells, 1.0) * static_cast<double>(finite)) {
    return figure::Transfer::kLinear;
  }
  return one_query ? figure::Transfer::kGamma : figure::Transfer::kLog;
}

namespace {

// Whether a column of the field is the first key: of maps, and of maps of many heads side by side.
bool is_first_key(const Field& field, std::int64_t column) {
  const FieldAxis& axis = field.column_axis;
  const double at = axis.first + static_cast<double>(column) * axis.step;
  return axis.name == "key" ? at < 1 : axis.unit.empty() && axis.step < 1 && at - std::floor(at) < axis.step / 2;
}

figure::Transfer default_transfer(std::span<const FieldPointer> fields, double cells) {
  std::vector<float> weights;
  bool one_query = true;
  for (const auto& field : fields) {
    one_query = one_query && (field->rows == 1 || field->row_axis.unit == "patch");
    for (std::int64_t c = 0; c < field->columns; ++c) {
      for (std::int64_t r = 0; r < field->rows && !is_first_key(*field, c); ++r) {
        weights.push_back(field->at(r, c));
      }
    }
  }
  return transfer_of_weights(weights, one_query, cells);
}

}  // namespace

figure::ColorScale color_scale(const ViewInput& input, Sign sign, std::span<const FieldPointer> fields, double cells) {
  const ScaleOptions& wanted = input.scale;
  ValueRange range = value_range(fields, wanted.percentile, input.ignore_first);
  figure::ColorScale scale;
  scale.colormap = sign == Sign::kZeroCentred ? kDiverging : kSequential;
  if (sign == Sign::kPositive || sign == Sign::kWeight) {
    range.low = 0;
  }
  const bool chosen = sign == Sign::kWeight && !wanted.transfer;
  scale.transfer = chosen ? default_transfer(fields, cells) : wanted.transfer.value_or(figure::Transfer::kLinear);
  scale.automatic = chosen && scale.transfer != figure::Transfer::kLinear;
  scale.gamma = wanted.gamma;
  scale.mask_color = wanted.mask_color;
  if (!wanted.colormap.empty()) {
    scale.colormap = wanted.colormap;
  }
  const bool diverging = figure::colormaps()[figure::colormap_index(scale.colormap)].diverging;
  scale.centred = sign == Sign::kZeroCentred || (sign == Sign::kAny && diverging);
  if (scale.centred) {
    set_magnitudes(wanted, range, scale);
    return scale;
  }
  scale.low = wanted.low.value_or(range.low);
  scale.high = wanted.high.value_or(range.high);
  if (scale.transfer == figure::Transfer::kLog && scale.low <= 0) {
    scale.low = std::max(scale.high, 1e-30F) * figure::kLogReach;
  }
  if (!(scale.high > scale.low)) {
    scale.high = scale.low + 1;
  }
  return scale;
}

std::string quantity_label(models::Quantity quantity) {
  return quantity == models::Quantity::kPosition ? "contextual position" : describe(quantity);
}

std::string quantity_label(const ViewInput& input, models::Quantity quantity) {
  const bool mixers = !input.columns.empty() && input.columns.front().trace->model().of_mixers();
  if (!mixers || quantity == models::Quantity::kImplied) {
    return quantity_label(quantity);
  }
  return quantity == models::Quantity::kWeight         ? kShareOfImplied
         : quantity == models::Quantity::kContent      ? "implied weight without decay"
         : quantity == models::Quantity::kContribution ? "decay's part of implied weights"
                                                       : quantity_label(quantity);
}

std::string head_label(const models::ModelInfo& model, std::int64_t layer, std::int64_t head) {
  return "layer " + std::to_string(layer) +
         (head == kMean ? ", mean of " + std::to_string(model.heads) + " heads" : ", head " + std::to_string(head)) +
         (model.uniform() ? "" : " (" + models::layer_text(model, layer) + ")");
}

namespace {

// Why the map of a layer is empty; nothing where it is not.
std::string emptiness(const models::ModelInfo& model, std::int64_t layer) {
  const auto n = static_cast<std::size_t>(layer);
  if (layer < 0 || n >= model.layer_info.size() || model.layer_info[n].attends) {
    return {};
  }
  return model.of_mixers()                   ? "this layer has attention: side decoder"
         : model.layer_info[n].mixer.empty() ? "this layer mixes no tokens"
                                             : "no softmax in this layer: the side mixer has the map that it implies";
}

}  // namespace

figure::Panel map_panel(const ViewInput& input, const models::Trace& trace, const MapWindow& window,
                        const RefinedMap& map, const figure::ColorScale& scale) {
  const Names names = shared_names(token_labels(trace));
  const bool crosses = trace.crosses();
  figure::Panel panel;
  panel.equal_aspect = true;
  panel.x =
      cells_across(crosses ? "key (encoder)" : "key", trace.keys(), crosses ? shared_names(key_labels(trace)) : names);
  panel.y = cells_down(crosses ? "query (decoder)" : "query", trace.length(), names);
  see_through(input.camera, panel);
  if (window.reduced()) {
    const auto share = [](std::int64_t cells, std::int64_t count) {
      const double exact = static_cast<double>(cells) / static_cast<double>(std::max<std::int64_t>(count, 1));
      return std::to_string(static_cast<std::int64_t>(std::ceil(exact - 1e-9)));
    };
    const std::string size =
        share(window.rows.size(), window.height) + "×" + share(window.columns.size(), window.width) + " cells";
    const std::string how = (input.reduction == Reduction::kMax ? "max of up to " : "mean of up to ") + size;
    const std::string done = exactness({&map, 1});
    panel.note = done.empty()        ? how
                 : map.exact.empty() ? "sampled: one of up to " + size
                                     : done + ": " + how + "; elsewhere one of them";
  }
  if (const std::string why = emptiness(trace.model(), input.layer); !why.empty()) {
    panel.note = why;
  }
  panel.layers.emplace_back(heat_map(input, map, scale));
  return panel;
}

Selection pick_cell(const ViewInput& input, const Hit& hit) {
  Selection selection;
  const bool of_difference = difference_panels(input) > 0 && hit.panel == input.columns.size();
  const std::size_t column =
      of_difference ? compared_columns(input).front() : std::min(hit.panel, input.columns.size() - 1);
  const models::Trace& trace = *input.columns[column].trace;
  if (const auto cell = cell_at(hit, trace.length(), trace.keys())) {
    const auto query_token = token_at(input, input.columns[column], cell->row);
    const auto key_token = key_at(input, input.columns[column], cell->column);
    if (query_token && key_token) {
      selection.column = static_cast<std::int64_t>(column);
      selection.query = query_token;
      selection.key = key_token;
    }
  }
  return selection;
}

std::vector<Place> cell_places(const ViewInput& input, const Selection& selection) {
  std::vector<Place> places;
  if (!selection.query || !selection.key) {
    return places;
  }
  for (std::size_t panel = 0; panel < input.columns.size() + difference_panels(input); ++panel) {
    const std::size_t column = panel < input.columns.size() ? panel : compared_columns(input).front();
    const std::int64_t query = own_token(input, *selection.query, input.columns[column]);
    const std::int64_t key = own_key(input, *selection.key, input.columns[column]);
    if (query != kNone && key != kNone) {
      places.push_back({panel, cell_interval(key), cell_interval(query)});
    }
  }
  return places;
}

Selection pick_layer_token(const ViewInput& input, const Hit& hit) {
  Selection selection;
  if (hit.panel < input.columns.size()) {
    const models::Trace& trace = *input.columns[hit.panel].trace;
    if (const auto cell = cell_at(hit, trace.model().layers, trace.length())) {
      selection.column = static_cast<std::int64_t>(hit.panel);
      selection.layer = cell->row;
      selection.query = token_at(input, input.columns[hit.panel], cell->column);
    }
  }
  return selection;
}

std::vector<Place> layer_token_places(const ViewInput& input, const Selection& selection) {
  std::vector<Place> places;
  for (std::size_t panel = 0; selection.layer && selection.query && panel < input.columns.size(); ++panel) {
    const std::int64_t query = own_token(input, *selection.query, input.columns[panel]);
    if (query != kNone) {
      places.push_back({panel, cell_interval(query), cell_interval(*selection.layer)});
    }
  }
  return places;
}

}  // namespace locus::views
