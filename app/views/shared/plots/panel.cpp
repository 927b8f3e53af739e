#include "app/views/shared/plots/panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace locus::views {

namespace {

// On an axis a cell of a picture is "image 1 0,3" (row, column), or "video 1, frame 2 0,3": its label is longer than an
// axis has room for.
std::vector<std::string> labels_of(const std::vector<models::TokenInfo>& tokens,
                                   const std::vector<models::ImageSpan>& images) {
  std::vector<std::string> names;
  names.reserve(tokens.size());
  for (const models::TokenInfo& token : tokens) {
    names.push_back(token.label);
  }
  for (std::size_t n = 0; n < images.size(); ++n) {
    const std::string image = models::picture_name(images, n);
    for (std::int64_t cell = 0; images[n].rows > 0 && cell < images[n].count; ++cell) {
      names[static_cast<std::size_t>(images[n].token(cell))] =
          image + " " + std::to_string(cell / images[n].columns) + "," + std::to_string(cell % images[n].columns);
    }
  }
  return names;
}

}  // namespace

Names shared_names(std::vector<std::string> names) {
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

Names counted_names(std::int64_t n) {
  std::vector<std::string> names;
  for (std::int64_t each = 0; each < n; ++each) {
    names.push_back(std::to_string(each));
  }
  return shared_names(std::move(names));
}

std::vector<std::string> token_labels(const models::Trace& trace) {
  return labels_of(trace.tokens(), trace.images());
}

std::vector<std::string> key_labels(const models::Trace& trace) {
  return labels_of(trace.key_tokens(), trace.crosses() ? std::vector<models::ImageSpan>() : trace.images());
}

std::string head_name(std::int64_t layer, std::int64_t head) {
  return std::to_string(layer) + "." + std::to_string(head);
}

std::string head_name_at(std::size_t n, std::int64_t heads) {
  const auto index = static_cast<std::int64_t>(n);
  return head_name(index / heads, index % heads);
}

figure::Interval cell_interval(std::int64_t n) {
  return {static_cast<double>(n), static_cast<double>(n + 1)};
}

figure::Axis cells_across(std::string label, std::int64_t n, Names names) {
  return {.label = std::move(label),
          .view = {0, static_cast<double>(n)},
          .cell_names = names ? std::move(names) : counted_names(n)};
}

figure::Axis cells_down(std::string label, std::int64_t n, Names names) {
  figure::Axis axis = cells_across(std::move(label), n, std::move(names));
  std::swap(axis.view.low, axis.view.high);
  return axis;
}

void see_through(const std::optional<Camera>& camera, figure::Panel& panel) {
  if (camera) {
    panel.x.view = camera->x;
    panel.y.view = camera->y;
  }
}

std::optional<CellIndex> cell_at(const Hit& hit, std::int64_t rows, std::int64_t columns) {
  const CellIndex cell{static_cast<std::int64_t>(std::floor(hit.y)), static_cast<std::int64_t>(std::floor(hit.x))};
  const bool inside = Range{0, rows}.contains(cell.row) && Range{0, columns}.contains(cell.column);
  return inside ? std::optional(cell) : std::nullopt;
}

void name_after(const Column& column, figure::Panel& panel, const std::string& rest) {
  panel.names = {column.name};
  panel.title = column.name + rest;
}

void strike_silent(const Column& column, const HeadRef& head, figure::Panel& panel) {
  const bool silent = std::ranges::any_of(column.trace->edits(), [&](const models::Edit& edit) {
    const bool zero = (edit.kind == models::EditKind::kHead && edit.to == models::HeadTo::kZero) ||
                      edit.kind == models::EditKind::kMixerZero;
    return zero && edit.layer.has(head.layer) && edit.head.has(head.head) &&
           models::of_mixers(edit) == column.trace->model().of_mixers();
  });
  if (silent) {
    panel.struck = "layer " + std::to_string(head.layer) + ", head " + std::to_string(head.head);
  }
}

std::string about_columns(const ViewInput& input, const std::function<std::string(std::size_t column)>& line) {
  std::string all;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    if (const std::string own = line(n); !own.empty()) {
      all += (all.empty() ? "" : "; ") + (input.columns.size() > 1 ? input.columns[n].name + ": " : "") + own;
    }
  }
  return all;
}

figure::Marker vertical_line(double at, std::string label) {
  return {.at = at, .label = std::move(label)};
}

figure::Marker horizontal_line(double at, std::string label) {
  return {.direction = figure::Marker::Direction::kHorizontal, .at = at, .label = std::move(label)};
}

std::string joined_notes(const std::string& note, const std::string& more) {
  return note + (note.empty() || more.empty() ? "" : "; ") + more;
}

figure::Figure figure_of(figure::Panel panel) {
  figure::Figure figure;
  figure.panels.push_back(std::move(panel));
  return figure;
}

figure::Figure figure_across(std::size_t columns) {
  figure::Figure figure;
  figure.columns = static_cast<int>(columns);
  return figure;
}

}  // namespace locus::views
