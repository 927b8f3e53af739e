#include "app/views/shared/measured/pair_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/shared/plots/series.h"
#include "core/base/controls.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::views {

namespace {

constexpr std::int64_t kMaxGroups = 2048;  // of distances, on screen

}  // namespace

Control band_control() {
  return words("band", "Band", "Pairs to frame: 3:7 selects pairs 3 to 6, 3 a single pair; a click selects a pair",
               "none; 3:7, or 3");
}

Result<std::optional<Range>> band_of(const ViewInput& input, const std::string& option) {
  LOCUS_TRY(const std::string text, input.options.text(option, ""));
  if (text.empty()) {
    return std::optional<Range>();
  }
  constexpr std::int64_t kMax = std::int64_t{1} << 20;
  const auto pair = parse_number<std::int64_t>(text);
  const auto band = pair && *pair <= kMax ? std::optional(Range{*pair, *pair + 1}) : parse_range(text);
  if (!band || band->begin < 0 || band->begin > kMax || band->end > kMax + (pair ? 1 : 0) || band->empty()) {
    return usage("option " + option + ": expected a pair, or a range a:b of pairs with 0 ≤ a < b, found " +
                 shown(text));
  }
  return band;
}

Status needs_one_head(const ViewInput& input) {
  if (input.layer == kAll || input.head == kAll || input.head == kMean) {
    return usage("pairs: expected one layer and one head");
  }
  return {};
}

std::string units(const analysis::PairList& list) {
  return list.unit == "patch" ? "patches" : list.unit + "s";
}

Names pair_names(const analysis::PairList& list) {
  std::vector<std::string> names;
  for (const analysis::PairRow& row : list.rows) {
    const bool wave = std::isfinite(row.wavelength);
    names.push_back(row.name + (wave ? " · " + short_number(row.wavelength) : ""));
  }
  return shared_names(std::move(names));
}

std::string pair_label(const analysis::PairList& list) {
  const bool waves = std::any_of(list.rows.begin(), list.rows.end(),
                                 [](const analysis::PairRow& row) { return std::isfinite(row.wavelength); });
  return waves ? "pair · wavelength (" + units(list) + ")" : "part";
}

figure::Panel pair_map(const analysis::PairList& list, FieldPointer parts, const figure::ColorScale& scale) {
  figure::Panel panel;
  panel.y = cells_down(pair_label(list), parts->rows, pair_names(list));
  panel.layers.emplace_back(figure::HeatMap{std::move(parts), scale, Reduction::kMean});
  return panel;
}

FieldPointer parts_on_screen(const Field& parts, const std::vector<double>& count) {
  const std::int64_t distances = parts.columns;
  const std::int64_t columns = std::min(distances, kMaxGroups);
  Field field = Field::zeros(parts.rows, columns);
  field.row_axis = parts.row_axis;
  field.column_axis = parts.column_axis;
  field.column_axis.step = static_cast<double>(distances) / static_cast<double>(columns);
  for (std::int64_t row = 0; row < field.rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      double cells = 0;
      for (std::int64_t n = column * distances / columns; n < (column + 1) * distances / columns; ++n) {
        const double own = count[static_cast<std::size_t>(n)];
        if (own > 0) {
          sum += own * static_cast<double>(parts.at(row, n));
          cells += own;
        }
      }
      field.at(row, column) = cells > 0 ? static_cast<float>(sum / cells) : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return std::make_shared<const Field>(std::move(field));
}

figure::Curve wavelength_curve(const analysis::PairList& list, std::string name) {
  figure::Curve curve;
  curve.name = std::move(name);
  for (std::size_t row = 0; row < list.rows.size(); ++row) {
    if (std::isfinite(list.rows[row].wavelength)) {
      curve.x.push_back(static_cast<double>(row) + 0.5);
      curve.y.push_back(list.rows[row].wavelength);
    }
  }
  return curve;
}

std::string spanned(const analysis::PairList& list) {
  return !list.grid ? "text" : list.unit == "patch" ? "image" : "picture";
}

figure::Panel wavelength_panel(const analysis::PairList& list, std::int64_t rows, std::int64_t trained_length) {
  figure::Panel panel;
  panel.follows_camera = false;
  panel.x = cells_across("pair", rows);
  panel.y.label = "wavelength 2π/θ (" + units(list) + ")";
  panel.y.logarithmic = true;
  panel.layers.emplace_back(horizontal_line(list.span, spanned(list) + " " + short_number(list.span)));
  if (trained_length > 0 && !list.grid) {
    const auto trained = static_cast<double>(trained_length);
    panel.layers.emplace_back(horizontal_line(trained, "trained " + std::to_string(trained_length)));
  }
  return panel;
}

std::optional<double> crossing(const analysis::PairList& list, double length) {
  for (std::size_t row = 0; row < list.rows.size(); ++row) {
    if (std::isfinite(list.rows[row].wavelength) && list.rows[row].wavelength > length) {
      return row > 0 ? std::optional(static_cast<double>(row)) : std::nullopt;
    }
  }
  return std::nullopt;
}

void frame_band(const std::optional<Range>& band, std::int64_t rows, bool along_x, figure::Panel& panel) {
  if (!band || band->begin >= rows) {
    return;
  }
  const figure::Interval pairs{static_cast<double>(band->begin), static_cast<double>(std::min(band->end, rows))};
  figure::Box box;
  box.x = along_x ? pairs : panel.x.view;
  box.y = along_x ? panel.y.view : pairs;
  panel.layers.emplace_back(box);
}

Selection pick_pair(double row, std::int64_t rows, std::size_t column) {
  Selection selection;
  const auto pair = static_cast<std::int64_t>(std::floor(row));
  if (pair >= 0 && pair < rows) {
    selection.column = static_cast<std::int64_t>(column);
    selection.option = {"band", std::to_string(pair)};
  }
  return selection;
}

Selection pick_band(const Selection& from, const Selection& to) {
  const auto pair_of = [](const Selection& picked) -> std::optional<std::int64_t> {
    const auto* const text = picked.option ? std::get_if<std::string>(&picked.option->second) : nullptr;
    return text != nullptr ? parse_number<std::int64_t>(*text) : std::nullopt;
  };
  const auto first = pair_of(from);
  const auto last = pair_of(to);
  Selection selection;
  if (first && last) {
    const auto [low, high] = std::minmax(*first, *last);
    selection.column = from.column;
    selection.option = {"band",
                        low == high ? std::to_string(low) : std::to_string(low) + ":" + std::to_string(high + 1)};
  }
  return selection;
}

std::string span_text(const analysis::PairList& list) {
  return short_number(list.span) + " " + units(list);
}

std::size_t pair_bytes(const analysis::PairList& list) {
  return list.rows.size() * sizeof(analysis::PairRow);
}

}  // namespace locus::views
