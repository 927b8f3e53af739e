#include "app/views/shared/score_maps/hidden_cells.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/numbers.h"
#include "models/api/edits.h"

namespace locus::views {

namespace {

// The mask of a layer, which its description tells.
struct KnownMask {
  bool causal = true;
  std::int64_t window = 0;
  std::int64_t chunk = 0;

  bool window_hides(std::int64_t query, std::int64_t key) const {
    return window > 0 && (causal ? query - key >= window : std::abs(query - key) >= window);
  }
  bool chunk_hides(std::int64_t query, std::int64_t key) const { return chunk > 0 && query / chunk != key / chunk; }
  bool future_hides(std::int64_t query, std::int64_t key) const { return causal && key > query; }
};

// Which of these hide a cell of the map. A cell of several is hidden where all of them are: its first query with its
// last key, and its last with its first, are what it is asked for.
struct Found {
  bool window = false;
  bool chunk = false;
  bool other = false;
};
Found found_in(const Field& field, const KnownMask& mask) {
  Found found;
  const auto token = [](const FieldAxis& axis, double cell) {
    return static_cast<std::int64_t>(std::floor(axis.first + axis.step * cell + 1e-9));
  };
  const bool single = field.row_axis.step == 1 && field.column_axis.step == 1;
  for (std::int64_t row = 0; row < field.rows; ++row) {
    const std::int64_t query = token(field.row_axis, static_cast<double>(row));
    for (std::int64_t column = 0; column < field.columns; ++column) {
      const std::int64_t key = token(field.column_axis, static_cast<double>(column));
      if (!std::isnan(field.at(row, column)) || mask.future_hides(query, key)) {
        continue;
      }
      const bool window = mask.window_hides(query, key);
      const bool chunk = mask.chunk_hides(query, key);
      found.window = found.window || window;
      found.chunk = found.chunk || chunk;
      found.other = found.other || (single && !window && !chunk);
    }
  }
  return found;
}

void add_point(double x, double y, figure::HeatMap& map) {
  map.edge_x.push_back(x);
  map.edge_y.push_back(y);
}

// The lower left edge of a window: query i sees no key before i − w + 1. `mirrored`: of one to both sides the other.
void add_window_edge(std::int64_t window, std::int64_t length, bool steps, bool mirrored, figure::HeatMap& map) {
  const auto point = [&](double key, double query) {
    mirrored ? add_point(query, key, map) : add_point(key, query, map);
  };
  const auto begin = static_cast<double>(window);
  const auto end = static_cast<double>(length);
  if (mirrored) {
    add_point(kNaN, kNaN, map);
  }
  point(0, begin);
  for (double query = begin; steps && query < end; ++query) {
    point(query - begin + 1, query);
    point(query - begin + 1, query + 1);
  }
  if (!steps) {
    point(end - begin, end);
  }
}

void add_chunk_edge(std::int64_t chunk, std::int64_t length, bool mirrored, figure::HeatMap& map) {
  const auto point = [&](std::int64_t key, std::int64_t query) {
    const auto x = static_cast<double>(std::min(key, length));
    const auto y = static_cast<double>(std::min(query, length));
    mirrored ? add_point(y, x, map) : add_point(x, y, map);
  };
  if (mirrored) {
    add_point(kNaN, kNaN, map);
  }
  for (std::int64_t begin = chunk; begin < length; begin += chunk) {
    point(begin - chunk, begin);
    point(begin, begin);
    point(begin, begin + chunk);
  }
}

}  // namespace

bool cuts_edges(const Column& column) {
  const auto cuts = [](const models::Edit& edit) {
    return edit.kind == models::EditKind::kEdge || edit.kind == models::EditKind::kMaskImage;
  };
  return column.model != nullptr && std::ranges::any_of(column.model->edits(), cuts);
}

void say_hidden(const Column& column, std::int64_t layer, figure::HeatMap& map) {
  const models::Trace& trace = *column.trace;
  const models::ModelInfo& model = trace.model();
  if (!map.field || trace.crosses() || layer < 0 || layer >= std::ssize(model.layer_info)) {
    return;
  }
  const models::LayerInfo& own = model.layer_info[static_cast<std::size_t>(layer)];
  if (!own.attends) {
    return;  // no mask hides what is not there; the note says why the map is empty
  }
  const KnownMask mask{model.causal, own.window, own.chunk};
  const Found found = found_in(*map.field, mask);
  const bool steps = map.field->row_axis.step == 1 && map.field->column_axis.step == 1;
  std::string why;
  const auto add = [&](const std::string& reason) { why += (why.empty() ? "not visible: " : ", ") + reason; };
  if (found.window) {
    add("window " + std::to_string(own.window));
    add_window_edge(own.window, trace.length(), steps, false, map);
    if (!model.causal) {
      add_window_edge(own.window, trace.length(), steps, true, map);
    }
  }
  if (found.chunk) {
    add("chunk " + std::to_string(own.chunk));
    add_chunk_edge(own.chunk, trace.length(), false, map);
    if (!model.causal) {
      add_chunk_edge(own.chunk, trace.length(), true, map);
    }
  }
  if (found.other) {
    add(cuts_edges(column) ? "cut edges" : "mask");
  }
  map.hidden = why;
}

}  // namespace locus::views
