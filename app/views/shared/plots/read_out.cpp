#include "app/views/shared/plots/read_out.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/map_lines.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

const figure::ColorScale* scale_of(const figure::Panel& panel) {
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* map = std::get_if<figure::HeatMap>(&layer)) {
      return &map->scale;
    }
    if (const auto* strip = std::get_if<figure::TokenStrip>(&layer)) {
      return &strip->scale;
    }
  }
  return nullptr;
}

// The panel that has the name of a panel's colours beside its bar. Panels of one scale have it once: the next that has
// it with the panel's colour map, else the one before. Empty: none has a name.
std::optional<std::size_t> named_panel(const figure::Figure& figure, std::size_t at) {
  const figure::ColorScale* own = scale_of(figure.panels[at]);
  const auto named = [&](std::size_t n) {
    const figure::Panel& panel = figure.panels[n];
    const figure::ColorScale* scale = scale_of(panel);
    const bool alike =
        own != nullptr && scale != nullptr && scale->colormap == own->colormap && scale->centred == own->centred;
    return (alike || n == at) && !panel.color_bar_label.empty();
  };
  for (std::size_t n = at; n < figure.panels.size(); ++n) {
    if (named(n)) {
      return n;
    }
  }
  for (std::size_t n = at; n > 0; --n) {
    if (named(n - 1)) {
      return n - 1;
    }
  }
  return std::nullopt;
}

std::string quantity_of(const figure::Figure& figure, std::size_t at) {
  const auto panel = named_panel(figure, at);
  const std::string text = panel ? figure.panels[*panel].color_bar_label : std::string();
  const bool refining = text.ends_with(" % exact") || text.ends_with(", sampled");
  return refining ? text.substr(0, text.rfind(", ")) : text;
}

// The panel whose bar has exactly the panel's colours; a bar needs no name.
std::optional<std::size_t> bar_of(const figure::Figure& figure, std::size_t at) {
  const figure::ColorScale* own = scale_of(figure.panels[at]);
  const auto has_bar = [&](std::size_t n) {
    const figure::Panel& panel = figure.panels[n];
    const figure::ColorScale* scale = scale_of(panel);
    return own != nullptr && scale != nullptr && *scale == *own && (panel.color_bar || !panel.color_bar_label.empty());
  };
  const auto named = named_panel(figure, at);
  return has_bar(at) ? std::optional(at) : named && has_bar(*named) ? named : std::nullopt;
}

std::string value_text(float value) {
  constexpr int kDigits = 5;
  return general_text(static_cast<double>(value), kDigits);
}

// " (max of up to 3×3 cells)", where a cell of the screen is several of the map.
std::string how_reduced(const figure::HeatMap& map, std::int64_t row) {
  const auto cells = [](const FieldAxis& axis) { return static_cast<std::int64_t>(std::ceil(axis.step - 1e-9)); };
  const std::int64_t rows = cells(map.field->row_axis);
  const std::int64_t columns = cells(map.field->column_axis);
  const bool of_tokens = map.field->row_axis.unit == "token" && map.field->column_axis.unit == "token";
  if (!of_tokens || (rows <= 1 && columns <= 1)) {
    return {};
  }
  const bool sampled = map.base != nullptr && map.refined.size() < map.field->rows && !map.refined.contains(row);
  const char* const how = sampled ? "one" : map.reduction == Reduction::kMax ? "max" : "mean";
  return " (" + std::string(how) + " of up to " + std::to_string(rows) + "×" + std::to_string(columns) + " cells)";
}

std::optional<ReadOut> read_map(const figure::HeatMap& map, const std::string& quantity, const Hit& hit) {
  const auto cell = map.field ? cell_at(*map.field, hit.x, hit.y) : std::nullopt;
  if (!cell) {
    return std::nullopt;
  }
  const Field& field = numbers_of(map);
  const auto n = static_cast<std::size_t>(cell->row * field.columns + cell->column);
  ReadOut read;
  read.value = field.values[n];
  read.colored = map.field->values[n];
  const bool of_sink = field.column_axis.unit == "sink";
  const std::string name = of_sink ? "weight of the sink" : !quantity.empty() ? quantity : field.quantity;
  read.name = name.empty() ? "value" : name;
  if (map.said && n < map.said->size()) {
    read.words = (*map.said)[n];
    read.said = true;
    return read;
  }
  read.words = read.name;
  if (!std::isnan(read.value)) {
    read.words += " " + value_text(read.value) + how_reduced(map, cell->row);
  }
  return read;
}

ReadOut read_token(const figure::TokenStrip& strip, const std::string& quantity, std::int64_t token) {
  ReadOut read;
  read.value = read.colored = strip.values[static_cast<std::size_t>(token)];
  read.name = quantity.empty() ? "value" : quantity;
  read.words = read.name + (std::isnan(read.value) ? "" : " " + value_text(read.value));
  return read;
}

}  // namespace

std::optional<ReadOut> read_out(const figure::Figure& figure, const Hit& hit) {
  if (hit.panel >= figure.panels.size()) {
    return std::nullopt;
  }
  const std::string quantity = quantity_of(figure, hit.panel);
  std::optional<ReadOut> read;
  for (const figure::Layer& layer : figure.panels[hit.panel].layers) {
    if (const auto* map = std::get_if<figure::HeatMap>(&layer)) {
      read = read_map(*map, quantity, hit);
    }
    const auto* strip = std::get_if<figure::TokenStrip>(&layer);
    if (strip != nullptr && hit.token >= 0 && hit.token < static_cast<std::int64_t>(strip->values.size())) {
      read = read_token(*strip, quantity, hit.token);
    }
    if (read) {
      read->bar = std::isnan(read->colored) ? std::nullopt : bar_of(figure, hit.panel);
      return read;
    }
  }
  return std::nullopt;
}

std::string masked_text(const models::ModelInfo& model, std::int64_t layer, std::int64_t query, std::int64_t key) {
  const bool known = layer >= 0 && layer < static_cast<std::int64_t>(model.layer_info.size()) && query >= 0 && key >= 0;
  const models::LayerInfo own = known ? model.layer_info[static_cast<std::size_t>(layer)] : models::LayerInfo{};
  if (known && model.causal && key > query) {
    return "masked: the key comes after the query";
  }
  if (own.window > 0 && std::abs(query - key) >= own.window) {
    return "masked: the key is outside the window of " + std::to_string(own.window) + " tokens";
  }
  if (own.chunk > 0 && query / own.chunk != key / own.chunk) {
    return "masked: the key is in another chunk of " + std::to_string(own.chunk) + " tokens";
  }
  return "masked: the query does not see this key";
}

}  // namespace locus::views
