#include "app/views/images/image_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/score_map.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

std::vector<std::int64_t> counted_from_zero(std::int64_t count) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), std::int64_t{0});
  return list;
}

// Divides the cells of each row by those of the neutral run's last token.
Status divide_by_neutral(const AttentionImageKey& key, const MeasureContext& context, Field& rows) {
  LOCUS_CHECK(needs_model(context.column, "attention relative to a neutral text"));
  const models::Trace& trace = *context.column.trace;
  LOCUS_TRY(const auto neutral,
            models::neutral_run(*context.column.model, trace, key.neutral, context.stop, context.progress));
  const std::int64_t last = neutral->length() - 1;
  Field divided = rows;
  std::ranges::fill(divided.values, std::numeric_limits<float>::quiet_NaN());
  std::int64_t row = 0;
  for (const std::int64_t layer : key.layers) {
    for (const std::int64_t head : key.heads) {
      LOCUS_TRY(const Field base, neutral->map({layer, head, key.quantity, {last, last + 1}, {}}, context.stop));
      for (std::size_t n = 0; n < trace.images().size(); ++n) {
        const models::ImageSpan& own = trace.images()[n];
        const models::ImageSpan& other = neutral->images()[n];
        for (std::int64_t cell = 0; cell < own.count; ++cell) {
          divided.at(row, own.token(cell)) = rows.at(row, own.token(cell)) / base.at(0, other.token(cell));
        }
      }
      ++row;
    }
  }
  rows = std::move(divided);
  return {};
}

std::string percent(double share) {
  return fixed_text(100 * share, 1) + " %";
}

std::string words_of_query(const Field& row, const Field& patches, const Column& column, std::int64_t query) {
  const models::ImageGrid& grid = column.trace->image_grid();
  std::string text = "query: " + query_label(*column.trace, query);
  const auto sum = [](const Field& field, std::int64_t begin, std::int64_t count) {
    double total = 0;
    for (std::int64_t n = begin; n < begin + count; ++n) {
      const double value = static_cast<double>(field.values[static_cast<std::size_t>(n)]);
      total += std::isfinite(value) ? value : 0;
    }
    return total;
  };
  if (grid.rows == 0) {
    return text + "; to the picture " + percent(sum(patches, 0, patches.rows * patches.columns));
  }
  if (grid.cls > 0) {
    text += "; to CLS " + percent(sum(row, 0, grid.cls));
  }
  if (grid.registers > 0) {
    text += ", to registers " + percent(sum(row, grid.cls, grid.registers));
  }
  if (grid.detections > 0) {
    text += ", to detection tokens " + percent(sum(row, grid.patches().end, grid.detections));
  }
  return text;
}

}  // namespace

bool has_outlines(const ViewInput& input, const ImageOptions& options) {
  return options.of_weights(input.quantity) && options.neutral.empty();
}

std::string area_text(const Field& patches) {
  const auto blob = largest_blob(patches, half_of_weight(patches));
  if (!blob) {
    return {};
  }
  const auto from_to = [](const char* what, std::int64_t first, std::int64_t count) {
    return std::string(what) + (count == 1 ? " " : "s ") + std::to_string(first) +
           (count == 1 ? "" : " to " + std::to_string(first + count - 1));
  };
  return from_to("row", blob->top, blob->rows) + ", " + from_to("column", blob->left, blob->columns) + ": " +
         fixed_text(blob->share, 2) + " of the weight on the picture";
}

std::vector<std::int64_t> shown_heads(const ViewInput& input, std::size_t column, const ImageOptions& options) {
  if (!options.all_heads) {
    return {options.rollout ? kMean : head_of_column(input, column).head};
  }
  return counted_from_zero(input.columns[column].trace->model().heads);
}

std::vector<std::int64_t> shown_layers(const ViewInput& input, std::size_t column) {
  if (input.layer != kAll) {
    return {head_of_column(input, column).layer};
  }
  return counted_from_zero(input.columns[column].trace->model().layers);
}

std::vector<PatchArea> shown_areas(const models::Trace& trace, const ImageOptions& options) {
  std::vector<PatchArea> areas = patch_areas(trace);
  if (options.frame < 0) {
    return areas;
  }
  std::map<std::int64_t, std::int64_t> last;  // frame of each video
  for (const PatchArea& area : areas) {
    last[area.cells.video] = std::max(last[area.cells.video], area.cells.frame);
  }
  std::erase_if(areas, [&](const PatchArea& area) {
    return area.cells.video >= 0 && area.cells.frame != std::min(options.frame, last[area.cells.video]);
  });
  return areas;
}

std::vector<ImagePanel> image_panels(const ViewInput& input, const ImageOptions& options) {
  std::vector<ImagePanel> panels;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const std::vector<std::int64_t> heads = shown_heads(input, n, options);
    const std::vector<PatchArea> areas = shown_areas(*input.columns[n].trace, options);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      for (const PatchArea& area : areas) {
        panels.push_back({n, h, heads[h], area});
      }
    }
  }
  return panels;
}

std::vector<ImagePanel> plain_panels(const ViewInput& input, const ImageOptions& options) {
  std::vector<ImagePanel> plain;
  if (!options.plain || (options.all_heads && input.columns.size() > 1)) {
    return plain;
  }
  const auto same = [](const models::Picture& a, const models::Picture& b) {
    return a.width == b.width && a.height == b.height && (a.rgba == b.rgba || *a.rgba == *b.rgba);
  };
  for (const ImagePanel& panel : image_panels(input, options)) {
    const models::Picture& picture = panel.area.picture;
    if (is_seen(picture) &&
        std::ranges::none_of(plain, [&](const ImagePanel& each) { return same(each.area.picture, picture); })) {
      plain.push_back(panel);
    }
  }
  return plain;
}

Result<Field> measure_image(const AttentionImageKey& key, const MeasureContext& context) {
  const models::Trace& trace = *context.column.trace;
  if (key.rollout) {
    Field field = Field::zeros(1, trace.length());
    LOCUS_TRY(field.values, models::attention_rollout(trace, key.query, context.stop));
    return field;
  }
  Field rows = Field::zeros(static_cast<std::int64_t>(key.layers.size() * key.heads.size()), trace.length());
  auto to = rows.values.begin();
  for (const std::int64_t layer : key.layers) {
    for (const std::int64_t head : key.heads) {
      LOCUS_TRY(const Field row, rows_of(trace, {layer, head, key.quantity, {}, {}}, {key.query}, context.stop));
      to = std::copy(row.values.begin(), row.values.end(), to);
    }
  }
  if (!key.neutral.empty()) {
    LOCUS_CHECK(divide_by_neutral(key, context, rows));
  }
  if (key.sinks) {
    LOCUS_TRY(const std::shared_ptr<const Field> ratios, kept_sink_ratios(context, key.layers));
    rows.values.insert(rows.values.end(), ratios->values.begin(), ratios->values.end());
    rows.rows += ratios->rows;
  }
  return rows;
}

std::string image_label(const ViewInput& input, const ImageOptions& options) {
  return options.rollout            ? "share of the query"
         : !options.neutral.empty() ? "weight / weight of the neutral text"
                                    : quantity_label(input, input.quantity);
}

std::vector<ImageTile> image_tiles(const ViewInput& input, const ImageOptions& options, const Fields& all) {
  std::vector<ImageTile> tiles;
  for (const ImagePanel& panel : image_panels(input, options)) {
    const Column& column = input.columns[panel.column];
    ImageTile tile{panel, nullptr, nullptr, {}};
    tile.row =
        options.rollout ? all[panel.column] : query_row(*all[panel.column], panel.number, patch_query(input, column));
    tile.patches = std::make_shared<const Field>(patches_of(*tile.row, panel.area.cells));
    if (options.sinks > 0) {
      const Field& rows = *all[panel.column];
      const std::int64_t layers = std::ssize(shown_layers(input, panel.column));
      tile.sinks = sink_cells(rows, rows.rows - layers, panel.area.cells, options.sinks);
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::optional<ReadPatch> most_read(const std::vector<ImageTile>& tiles, const ViewInput& input, std::size_t column) {
  const models::Trace& trace = *input.columns[column].trace;
  const std::int64_t query = patch_query(input, input.columns[column]);
  std::optional<ReadPatch> most;
  float largest = 0;
  bool tie = false;
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    const ImageTile& tile = tiles[n];
    if (tile.column != column || trace.image_grid().rows > 0) {
      continue;
    }
    if (patch_place(tile.area.cells, query)) {
      return std::nullopt;
    }
    for (std::size_t cell = 0; cell < tile.patches->values.size(); ++cell) {
      const float value = tile.patches->values[cell];
      tie = value > largest ? false : tie || value == largest;
      if (value > largest) {
        largest = value;
        most = ReadPatch{n, static_cast<std::int64_t>(cell)};
      }
    }
  }
  return tie ? std::nullopt : most;
}

std::string note_of_tile(const ImageTile& tile, const Column& column, const ViewInput& input,
                         const ImageOptions& options) {
  const std::int64_t query = patch_query(input, column);
  if (!options.neutral.empty()) {
    return "query: " + query_label(*column.trace, query) + "; 1: as much as the end of “" + options.neutral + "” gives";
  }
  if (!options.of_weights(input.quantity)) {
    return "query: " + query_label(*column.trace, query);
  }
  const std::vector<bool> half = half_of_weight(*tile.patches);
  const auto count = std::ranges::count(half, true);
  const std::string outlined = count == 0 ? ""
                                          : "; outlined: the " + std::to_string(count) + " of " +
                                                std::to_string(half.size()) + " patches with half of its weight here";
  const std::string area = options.area ? area_text(*tile.patches) : "";
  return words_of_query(*tile.row, *tile.patches, column, query) + outlined + (area.empty() ? "" : "; framed: " + area);
}

std::string note_of_sinks(const ImageTile& tile, const Column& column, const ImageOptions& options) {
  if (options.sinks > 0 && column.trace->length() > kMaxSinkTokens) {
    return "; sink cells are not looked for in over " + std::to_string(kMaxSinkTokens) + " tokens";
  }
  const std::size_t count = tile.sinks.size();
  return count == 0
             ? ""
             : "; " + std::to_string(count) + (count == 1 ? " sink cell, read over " : " sink cells, read over ") +
                   short_number(options.sinks) + " times as much as with equal weights";
}

std::string statement_of_image(const std::vector<ImageTile>& tiles, const ViewInput& input, std::size_t of,
                               const ImageOptions& options) {
  const Column& column = input.columns[of];
  double sum = 0;
  int ties = 0;
  const ImageTile* best = nullptr;
  std::size_t cell = 0;
  for (const ImageTile& tile : tiles) {
    for (std::size_t n = 0; tile.column == of && n < tile.patches->values.size(); ++n) {
      const float value = tile.patches->values[n];
      sum += std::isfinite(value) ? static_cast<double>(value) : 0;
      if (std::isfinite(value) && (best == nullptr || value > best->patches->values[cell])) {
        best = &tile;
        cell = n;
        ties = 0;
      }
      ties += best != nullptr && value == best->patches->values[cell] ? 1 : 0;
    }
  }
  if (best == nullptr) {
    return {};
  }
  const auto index = static_cast<std::int64_t>(cell);
  const std::int64_t across = best->area.cells.columns;
  const std::string place = ties > 1
                                ? std::to_string(ties) + " patches alike"
                                : (best->area.name.empty() ? "" : best->area.name + ", ") + "row " +
                                      std::to_string(index / across) + ", column " + std::to_string(index % across);
  const std::string most = fixed_text(static_cast<double>(best->patches->values[cell]), 2);
  const std::string query =
      (column.trace->image_grid().rows == 0 ? "token " : "") + query_label(*column.trace, patch_query(input, column));
  return options.neutral.empty()
             ? query + " gives " + fixed_text(sum, 2) + " of its attention to the picture" +
                   (column.trace->images().size() > 1 ? "s" : "") + ", most of it to " + place + ": " + most
             : query + " reads " + place + " most beyond the neutral text: " + most + " times as much";
}

}  // namespace locus::views
