// `attention-image`: the image, its patches tinted by how much the chosen patch, or the class token, attends to them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "app/views/plots/patch_grid.h"
#include "app/views/score_maps/score_map.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

struct AttentionImageKey {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> heads;
  models::Quantity quantity = models::Quantity::kWeight;
  std::int64_t query = 0;
  bool rollout = false;  // through all layers: of no layer, head or quantity

  friend bool operator==(const AttentionImageKey&, const AttentionImageKey&) = default;
};

struct Options {
  bool all_heads = false;
  bool rollout = false;
};

// Measures (layers · heads, T): a row per head, layer by layer.
class AttentionImage final : public MeasuredView<AttentionImageKey, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override {
    return patch_areas(*column.trace).empty()
               ? unsupported(info_.title + " needs an image; " + column.name + " read text without a picture in it")
               : Status();
  }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  Token tinting_query(const ViewInput& input) const override { return patch_query(input, input.columns.front()); }

 protected:
  Result<AttentionImageKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Field> measure(const AttentionImageKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  // [rows, columns] of the patch grid; of several pictures [n, rows, columns], or the cells of all where their grids
  // differ; [H, …] in front when the head is kAll or all heads are shown, and [L, …] when the layer is kAll.
  Result<Data> table(const ViewInput& input, const Numbers& all) const override;

 private:
  Options options_of(const ViewInput& input) const {
    const bool rollout = option<bool>(input, "rollout");
    return {(option<bool>(input, "all-heads") || input.head == kAll) && !rollout, rollout};
  }

  ViewInfo info_{
      .name = "attention-image",
      .title = "Attention in the image",
      .group = Group::kLook,
      .caption = "The image itself, each patch tinted by how much the chosen patch attends to it.",
      .shows =
          "The image as the model saw it, with each patch tinted by how much the query attends to it. A click chooses "
          "the query patch; without one, the query is the class token. The weights of the class token and of registers "
          "are written below the image. Of a text with pictures, the pictures beside each other, and the query is a "
          "word, or a cell that is clicked.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_quantity = true,
      .controls =
          {toggle("all-heads", "All heads", "One image per head of the layer"),
           toggle(
               "rollout", "Rollout",
               "Attention through all layers and residual connections (Abnar and Zuidema 2020), instead of one head"),
           number("opacity", "Tint", "How much of the image the tint covers", 0.6, 0.0, 1.0)},
  };
};

std::vector<std::int64_t> counted_from_zero(std::int64_t count) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), std::int64_t{0});
  return list;
}

std::vector<std::int64_t> heads_of(const ViewInput& input, const Column& column, const Options& options) {
  if (!options.all_heads) {
    return {options.rollout ? kMean : input.head};
  }
  return counted_from_zero(column.trace->model().heads);
}

std::vector<std::int64_t> layers_of(const ViewInput& input, const Column& column) {
  if (input.layer != kAll) {
    return {input.layer};
  }
  return counted_from_zero(column.trace->model().layers);
}

// What one panel shows: of a column, head by head, the pictures beside each other.
struct PanelOf {
  std::size_t column = 0;
  std::size_t number = 0;  // of the head in its row list
  std::int64_t head = 0;
  PatchArea area;
};

std::vector<PanelOf> panels_of(const ViewInput& input, const Options& options) {
  std::vector<PanelOf> panels;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const std::vector<std::int64_t> heads = heads_of(input, input.columns[n], options);
    const std::vector<PatchArea> areas = patch_areas(*input.columns[n].trace);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      for (const PatchArea& area : areas) {
        panels.push_back({n, h, heads[h], area});
      }
    }
  }
  return panels;
}

Selection AttentionImage::pick(const ViewInput& input, const Hit& hit) const {
  Selection selection;
  const Options options = options_of(input);
  const std::vector<PanelOf> panels = panels_of(input, options);
  if (panels.empty()) {
    return selection;
  }
  const PanelOf& panel = panels[std::min(hit.panel, panels.size() - 1)];
  if (const auto token = patch_at(panel.area.cells, hit)) {
    selection.column = static_cast<std::int64_t>(panel.column);
    selection.query = *token;
    if (options.all_heads) {
      selection.head = panel.head;
    }
  }
  return selection;
}

Result<AttentionImageKey> AttentionImage::measure_key(const ViewInput& input, std::size_t column) const {
  const Column& of = input.columns[column];
  const Options options = options_of(input);
  AttentionImageKey key;
  key.query = patch_query(input, of);
  key.rollout = options.rollout;
  if (!key.rollout) {
    key.layers = layers_of(input, of);
    key.heads = heads_of(input, of, options);
    key.quantity = input.quantity;
  }
  return key;
}

Result<Field> AttentionImage::measure(const AttentionImageKey& key, const MeasureContext& context) const {
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
      LOCUS_TRY(const Field row, trace.map({layer, head, key.quantity, {key.query, key.query + 1}, {}}, context.stop));
      to = std::copy(row.values.begin(), row.values.end(), to);
    }
  }
  return rows;
}

struct Tile : PanelOf {
  FieldPointer row;  // (1, T)
  FieldPointer patches;
};

std::vector<Tile> tiles_of(const ViewInput& input, const Options& options, const Fields& all) {
  std::vector<Tile> tiles;
  for (const PanelOf& panel : panels_of(input, options)) {
    const Column& column = input.columns[panel.column];
    Tile tile{panel, nullptr, nullptr};
    tile.row = options.rollout ? all[panel.column]
                               : query_row(column, *all[panel.column], panel.number, patch_query(input, column));
    tile.patches = std::make_shared<const Field>(patches_of(*tile.row, panel.area.cells));
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

std::string percent(double share) {
  return fixed_text(100 * share, 1) + " %";
}

// The query, and what its row gives to tokens that are no patches; of a text what it gives to the picture.
std::string aside(const Tile& tile, const Column& column, const ViewInput& input, bool rollout) {
  const models::ImageGrid& grid = column.trace->image_grid();
  std::string text = "query: " + query_label(*column.trace, patch_query(input, column));
  if (input.quantity != models::Quantity::kWeight && !rollout) {
    return text;
  }
  const auto sum = [](const Field& field, std::int64_t begin, std::int64_t count) {
    double total = 0;
    for (std::int64_t n = begin; n < begin + count; ++n) {
      const double value = static_cast<double>(field.values[static_cast<std::size_t>(n)]);
      total += std::isfinite(value) ? value : 0;
    }
    return total;
  };
  if (grid.rows == 0) {
    return text + "; to the picture " + percent(sum(*tile.patches, 0, tile.area.cells.count));
  }
  if (grid.cls > 0) {
    text += "; to CLS " + percent(sum(*tile.row, 0, grid.cls));
  }
  if (grid.registers > 0) {
    text += ", to registers " + percent(sum(*tile.row, grid.cls, grid.registers));
  }
  return text;
}

Result<figure::Figure> AttentionImage::draw(const ViewInput& input, const Numbers& all_rows) const {
  const Options options = options_of(input);
  const std::vector<Tile> tiles = tiles_of(input, options, all_rows);
  Fields fields;
  fields.reserve(tiles.size());
  for (const Tile& tile : tiles) {
    fields.push_back(tile.patches);
  }
  const Sign sign = options.rollout ? Sign::kPositive : sign_of(input.quantity);
  figure::Figure figure;
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    const Tile& tile = tiles[n];
    const Column& column = input.columns[tile.column];
    const auto scale = color_scale(input, sign, colored_with(input, fields, n));
    figure::Panel panel = patch_panel(tile.area.picture, tile.patches, scale, option<double>(input, "opacity"));
    const std::string where = options.rollout ? "rollout of " + std::to_string(column.trace->model().layers) + " layers"
                                              : head_label(column.trace->model(), input.layer, tile.head);
    panel.names = {column.name};
    panel.title = options.all_heads
                      ? (input.columns.size() > 1 ? column.name + " · " : "") + "head " + std::to_string(tile.head)
                      : column.name + " · " + where;
    panel.title += tile.area.name.empty() ? "" : " · " + tile.area.name;
    if (!options.all_heads) {
      panel.note = aside(tile, column, input, options.rollout);
    }
    if (!options.all_heads && (!input.scale.shared || n + 1 == tiles.size())) {
      panel.color_bar_label = options.rollout ? "share of the query" : quantity_label(input.quantity);
    }
    mark_patch(tile.area.cells, patch_query(input, column), panel);
    figure.panels.push_back(std::move(panel));
  }
  const auto count = static_cast<int>(tiles.size());
  const auto checkpoints = static_cast<int>(input.columns.size());
  const int heads = count / checkpoints;
  constexpr int kOneRow = 4;  // heads that stand in one row; more make a grid that is wider than high
  const int across = heads <= kOneRow ? heads : static_cast<int>(std::ceil(std::sqrt(1.6 * heads)));
  figure.columns = options.all_heads ? (checkpoints > 1 ? heads : across) : count;
  if (options.all_heads) {
    figure.names = {input.columns[0].name};
    figure.title =
        (checkpoints > 1 ? "" : input.columns[0].name + " · ") + "layer " + std::to_string(input.layer) +
        ", every head · query: " + query_label(*input.columns[0].trace, patch_query(input, input.columns[0]));
    const auto right = static_cast<std::size_t>(std::min(figure.columns, count)) - 1;  // where the first row ends
    figure.panels[right].color_bar_label = quantity_label(input.quantity);
  }
  return figure;
}

Result<Data> AttentionImage::table(const ViewInput& input, const Numbers& all) const {
  const Column& column = input.columns[0];
  const Options options = options_of(input);
  const models::ModelInfo& model = column.trace->model();
  const std::vector<PatchArea> areas = patch_areas(*column.trace);
  const models::ImageSpan& first = areas.front().cells;
  const bool alike = std::ranges::all_of(areas, [&](const PatchArea& area) {
    return area.cells.rows == first.rows && area.cells.columns == first.columns;
  });
  Data data;
  if (input.layer == kAll && !options.rollout) {
    data.shape.push_back(model.layers);
  }
  if (options.all_heads) {
    data.shape.push_back(model.heads);
  }
  if (!alike) {
    const std::int64_t cells =
        std::accumulate(areas.begin(), areas.end(), std::int64_t{0},
                        [](std::int64_t sum, const PatchArea& area) { return sum + area.cells.count; });
    data.shape.push_back(cells);
  } else {
    if (areas.size() > 1) {
      data.shape.push_back(static_cast<std::int64_t>(areas.size()));
    }
    data.shape.insert(data.shape.end(), {first.rows, first.columns});
  }
  const Field& rows = *all.front();
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    const auto row = options.rollout ? all.front()
                                     : query_row(column, rows, static_cast<std::size_t>(n), patch_query(input, column));
    for (const PatchArea& area : areas) {
      const Field patches = patches_of(*row, area.cells);
      data.values.insert(data.values.end(), patches.values.begin(), patches.values.end());
    }
    const std::int64_t heads = options.all_heads ? model.heads : 1;
    const std::int64_t layer = input.layer == kAll ? n / heads : input.layer;
    data.titles.push_back(column.name + ", " +
                          (options.rollout ? std::string("rollout")
                                           : head_label(model, layer, options.all_heads ? n % heads : input.head)));
  }
  return data;
}

std::vector<Place> AttentionImage::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  if (!selection.query) {
    return places;
  }
  const std::vector<PanelOf> panels = panels_of(input, options_of(input));
  for (std::size_t n = 0; n < panels.size(); ++n) {
    if (const auto place = patch_place(panels[n].area.cells, selection.query->index)) {
      places.push_back({n, place->x, place->y});
    }
  }
  return places;
}

}  // namespace

const View& attention_image_view() {
  return made_once<AttentionImage>();
}

}  // namespace locus::views
