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

// The name of the panel's colours. Panels of one scale have it once: the next that has it with the panel's colour map,
// else the one before.
std::string quantity_of(const figure::Figure& figure, std::size_t at) {
  const figure::ColorScale* own = scale_of(figure.panels[at]);
  const auto label = [&](std::size_t n) -> std::string {
    const figure::Panel& panel = figure.panels[n];
    const figure::ColorScale* scale = scale_of(panel);
    const bool alike =
        own != nullptr && scale != nullptr && scale->colormap == own->colormap && scale->centred == own->centred;
    const std::string& text = panel.color_bar_label;
    const bool refining = text.ends_with(" % exact") || text.ends_with(", sampled");
    return !alike && n != at ? "" : refining ? text.substr(0, text.rfind(", ")) : text;
  };
  for (std::size_t n = at; n < figure.panels.size(); ++n) {
    if (std::string text = label(n); !text.empty()) {
      return text;
    }
  }
  for (std::size_t n = at; n > 0; --n) {
    if (std::string text = label(n - 1); !text.empty()) {
      return text;
    }
  }
  return {};
}

std::string value_text(float value) {
  constexpr int kDigits = 5;
  return general_text(static_cast<double>(value), kDigits);
}

// "max of up to 3×3 cells: ", where a cell of the screen is several of the map; "sampled: " where it is one of them.
std::string how_reduced(const figure::HeatMap& map, std::int64_t row) {
  const auto cells = [](const FieldAxis& axis) { return static_cast<std::int64_t>(std::ceil(axis.step - 1e-9)); };
  const std::int64_t rows = cells(map.field->row_axis);
  const std::int64_t columns = cells(map.field->column_axis);
  const bool of_tokens = map.field->row_axis.unit == "token" && map.field->column_axis.unit == "token";
  if (!of_tokens || (rows <= 1 && columns <= 1)) {
    return {};
  }
  const bool sampled = map.base != nullptr && map.refined.size() < map.field->rows && !map.refined.contains(row);
  const std::string size = std::to_string(rows) + "×" + std::to_string(columns) + " cells: ";
  return sampled ? "one of up to " + size
                 : (map.reduction == Reduction::kMax ? "max of up to " : "mean of up to ") + size;
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
  if (map.said && n < map.said->size()) {
    read.words = (*map.said)[n];
    read.said = true;
    return read;
  }
  const bool of_sink = field.column_axis.unit == "sink";
  const std::string name = of_sink ? "weight of the sink" : !quantity.empty() ? quantity : field.quantity;
  read.words = name.empty() ? "value" : name;
  if (!std::isnan(read.value)) {
    read.words = how_reduced(map, cell->row) + read.words + " " + value_text(read.value);
  }
  return read;
}

}  // namespace

std::optional<ReadOut> read_out(const figure::Figure& figure, const Hit& hit) {
  if (hit.panel >= figure.panels.size()) {
    return std::nullopt;
  }
  const std::string quantity = quantity_of(figure, hit.panel);
  for (const figure::Layer& layer : figure.panels[hit.panel].layers) {
    if (const auto* map = std::get_if<figure::HeatMap>(&layer)) {
      if (auto read = read_map(*map, quantity, hit)) {
        return read;
      }
    }
    const auto* strip = std::get_if<figure::TokenStrip>(&layer);
    if (strip != nullptr && hit.token >= 0 && hit.token < static_cast<std::int64_t>(strip->values.size())) {
      ReadOut read{quantity.empty() ? "value" : quantity, strip->values[static_cast<std::size_t>(hit.token)]};
      read.words += std::isnan(read.value) ? "" : " " + value_text(read.value);
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
