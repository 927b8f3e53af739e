// `attention-grid`: every layer and head as a thumbnail of its map, in one picture.
#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/plots/flat_columns.h"
#include "app/views/shared/plots/picture_blocks.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/score_maps/head_map.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

// Layers stand below each other, many of few heads in blocks beside each other: the cells of the grid.
struct GridShape {
  std::int64_t heads = 0;
  std::int64_t rows = 0;  // of a block
  std::int64_t blocks = 1;

  std::int64_t columns() const { return blocks * heads; }
  std::int64_t layer(std::int64_t row, std::int64_t column) const { return column / heads * rows + row; }
  std::int64_t row(std::int64_t layer) const { return layer % rows; }
  std::int64_t column(std::int64_t layer, std::int64_t head) const { return layer / rows * heads + head; }
};

// The number of blocks, all alike, whose grid comes nearest to the form of a panel.
GridShape shape_of(const ViewInput& input, const Column& column) {
  constexpr double kWidth = 1.25;  // of a figure, in heights
  const models::ModelInfo& model = column.trace->model();
  const auto away = [&](std::int64_t blocks) {
    const double ratio = static_cast<double>(blocks * blocks * model.heads) / static_cast<double>(model.layers);
    return std::abs(std::log(ratio * static_cast<double>(input.columns.size()) / kWidth));
  };
  std::int64_t best = 1;
  for (std::int64_t blocks = 2; blocks <= model.layers; ++blocks) {
    best = model.layers % blocks == 0 && away(blocks) < away(best) ? blocks : best;
  }
  return {model.heads, model.layers / best, best};
}

class AttentionGrid final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override {
    LOCUS_TRY(const DataParts parts, data_parts(input));
    return collected(parts);
  }
  Result<DataParts> data_parts(const ViewInput& input) const override {
    ViewInput all = input;
    all.layer = kAll;
    all.head = kAll;
    all.options = {};
    LOCUS_CHECK(check(*this, input));
    LOCUS_TRY(const View* const attention, find_view("attention"));
    return attention->data_parts(all);
  }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::optional<Camera> home(const ViewInput& input) const override {
    double columns = 1;
    double rows = 1;
    for (const Column& column : input.columns) {
      const GridShape shape = shape_of(input, column);
      columns = std::max(columns, static_cast<double>(shape.columns()));
      rows = std::max(rows, static_cast<double>(shape.rows));
    }
    return Camera{{0, columns}, {rows, 0}};
  }

 private:
  ViewInfo info_ = described({
      .name = "attention-grid",
      .caption = "Every head as a small map: a row is a layer, a column a head. Click one to open it.",
      .shows = "The attention maps of all layers (rows) and heads (columns); many layers of few heads stand in blocks "
               "beside each other. A click opens the head.",
      .uses_quantity = true,
      .uses_camera = true,
      .uses_cross = true,
      .of_scores = true,
      .controls = {toggle("own-range", "Own range", "Each head is divided by its largest value")},
  });
};

constexpr std::int64_t kSmallestThumbnail = 24;  // pixels
constexpr std::int64_t kLargestThumbnail = 256;

Selection AttentionGrid::pick(const ViewInput& input, const Hit& hit) const {
  Selection selection;
  if (hit.panel >= input.columns.size()) {
    return selection;
  }
  const GridShape shape = shape_of(input, input.columns[hit.panel]);
  if (const auto cell = cell_at(hit, shape.rows, shape.columns())) {
    selection.column = static_cast<std::int64_t>(hit.panel);
    selection.layer = shape.layer(cell->row, cell->column);
    selection.head = cell->column % shape.heads;
    selection.open = true;
  }
  return selection;
}

std::vector<Place> AttentionGrid::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  for (std::size_t n = 0; selection.layer && selection.head.value_or(-1) >= 0 && n < input.columns.size(); ++n) {
    const models::ModelInfo& model = input.columns[n].trace->model();
    if (*selection.layer < model.layers && *selection.head < model.heads) {
      const GridShape shape = shape_of(input, input.columns[n]);
      places.push_back({n, cell_interval(shape.column(*selection.layer, *selection.head)),
                        cell_interval(shape.row(*selection.layer))});
    }
  }
  return places;
}

std::int64_t thumbnail_size(const ViewInput& input, const GridShape& shape) {
  const double visible_x = input.camera ? std::abs(input.camera->x.high - input.camera->x.low) : 0;
  const double heads = visible_x > 0 ? visible_x : static_cast<double>(shape.columns());
  const double wide = static_cast<double>(input.width_px) / static_cast<double>(input.columns.size()) / heads;
  const double high = static_cast<double>(input.height_px) / static_cast<double>(shape.rows);
  const double size = visible_x > 0 ? wide : std::min(wide, high);
  return std::clamp(static_cast<std::int64_t>(size), kSmallestThumbnail, kLargestThumbnail);
}

// Copies `thumb` into the mosaic's (row, column) square, scaled to its whole size when it has fewer cells.
void place(Field& mosaic, const Field& thumb, std::int64_t row, std::int64_t column, std::int64_t size,
           bool own_range) {
  const float largest = finite_range(thumb).high;
  const float factor = own_range && largest > 0 ? 1 / largest : 1;
  for (std::int64_t r = 0; r < size; ++r) {
    for (std::int64_t c = 0; c < size; ++c) {
      mosaic.at(row * size + r, column * size + c) = factor * thumb.at(r * thumb.rows / size, c * thumb.columns / size);
    }
  }
}

std::string shown_quantity(const ViewInput& input, bool own_range) {
  return quantity_label(input, input.quantity) + (own_range ? " / largest of the head" : "");
}

struct AttentionGridKey {
  models::Quantity quantity = models::Quantity::kWeight;
  std::int64_t size = 0;    // of a thumbnail
  std::int64_t blocks = 1;  // of layers
  Reduction reduction = Reduction::kMax;
  bool own_range = false;

  friend bool operator==(const AttentionGridKey&, const AttentionGridKey&) = default;
};

// Thumbnails of s × s cells, each covering a square of the axes.
class Mosaic {
 public:
  Mosaic(const ViewInput& input, const Column& column, bool own_range)
      : input_(input),
        column_(column),
        own_range_(own_range),
        shape_(shape_of(input, column)),
        size_(thumbnail_size(input, shape_)),
        plain_(input) {
    const std::int64_t length = column.trace->length();
    const std::int64_t keys = column.trace->keys();
    window_ = {{0, length}, {0, keys}, std::min(size_, length), std::min(size_, keys)};
    plain_.cache.reset();  // the mosaic is kept, not its parts
  }

  Result<RefinedMap> made() const {
    const MeasureKey key("grid", AttentionGridKey{input_.quantity, size_, shape_.blocks, input_.reduction, own_range_});
    if (input_.step_ms && is_large(window_.rows, window_.columns)) {
      auto map = refine(input_, column_, refinement(key));
      if (map.ok() || map.error().code != ErrorCode::kUnsupported) {
        return map;
      }
    }
    return exact_map(cached(input_, column_, key, [&] { return all(&Mosaic::exact_thumbnail); }));
  }
  // Cells of a map that a cell of its thumbnail stands for.
  double share() const { return window_.share(); }

 private:
  using Thumbnail = Result<Field> (Mosaic::*)(const models::MapRequest&) const;

  Result<Field> exact_thumbnail(const models::MapRequest& request) const {
    LOCUS_TRY(const auto field, fetch(plain_, column_, request, window_));
    return *field;
  }
  Result<Field> sampled_thumbnail(const models::MapRequest& request) const {
    LOCUS_TRY(Field field, column_.trace->preview(request, window_.height, window_.width, input_.stop));
    return on_window(std::move(field), window_);
  }

  Status fill(Range rows, Thumbnail thumbnail, Field& mosaic) const {
    models::MapRequest request;
    request.quantity = input_.quantity;
    request.mark_masked = true;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t column = 0; column < shape_.columns(); ++column) {
        request.layer = shape_.layer(row, column);
        request.head = column % shape_.heads;
        LOCUS_TRY(const Field thumb, (this->*thumbnail)(request));
        place(mosaic, thumb, row, column, size_, own_range_);
      }
    }
    return {};
  }

  Result<Field> all(Thumbnail thumbnail) const {
    Field mosaic = Field::zeros(shape_.rows * size_, shape_.columns() * size_);
    const bool blocks = shape_.blocks > 1;  // whose rows are several layers
    mosaic.row_axis = {blocks ? "row of layers" : "layer", "", 0, 1.0 / static_cast<double>(size_)};
    mosaic.column_axis = {blocks ? "column of heads" : "head", "", 0, 1.0 / static_cast<double>(size_)};
    mosaic.quantity = shown_quantity(input_, own_range_);
    for (std::int64_t row = 0; row < shape_.rows; ++row) {
      report(input_.progress, static_cast<double>(row) / static_cast<double>(shape_.rows),
             "layer " + std::to_string(row) + " of " + column_.name);
      LOCUS_CHECK(fill({row, row + 1}, thumbnail, mosaic));
    }
    return mosaic;
  }

  // Row by row, the visible ones first.
  Refinement refinement(const MeasureKey& key) const {
    Refinement how;
    how.key = key;
    how.rows = shape_.rows * size_;
    how.band = size_;
    if (input_.camera) {
      const auto [low, high] = std::minmax(input_.camera->y.low, input_.camera->y.high);
      const auto row = [](double y) { return static_cast<std::int64_t>(std::floor(y)); };
      how.first = {row(low) * size_, (row(high) + 1) * size_};
    }
    how.sample = [this] { return all(&Mosaic::sampled_thumbnail); };
    how.replace = [this](Range rows, Field& mosaic) {
      return fill({rows.begin / size_, rows.end / size_}, &Mosaic::exact_thumbnail, mosaic);
    };
    return how;
  }

  const ViewInput& input_;
  const Column& column_;
  bool own_range_;
  GridShape shape_;
  std::int64_t size_;
  ViewInput plain_;
  MapWindow window_;
};

// "0" to the last head, block by block; null where the numbers of the axis say so already.
Names heads_across(const GridShape& shape) {
  std::vector<std::string> names;
  for (std::int64_t column = 0; column < shape.columns(); ++column) {
    names.push_back(std::to_string(column % shape.heads));
  }
  return shape.blocks > 1 ? shared_names(std::move(names)) : nullptr;
}

// "3 · 12": the layers of each row.
Names layers_down(const GridShape& shape) {
  std::vector<std::string> names;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::string name = std::to_string(row);
    for (std::int64_t block = 1; block < shape.blocks; ++block) {
      name += " · " + std::to_string(block * shape.rows + row);
    }
    names.push_back(std::move(name));
  }
  return shape.blocks > 1 ? shared_names(std::move(names)) : nullptr;
}

constexpr std::uint32_t kWhite = 0xFFFFFFFF;

figure::Curve dividing_line(double x, std::int64_t rows, float width_px) {
  figure::Curve line;
  line.x = {x, x};
  line.y = {0, static_cast<double>(rows)};
  line.color = kWhite;
  line.width_px = width_px;
  return line;
}

// How many neighbouring heads share a key head, in every layer alike; 1 where each has its own, or all have one.
std::int64_t key_group(const models::ModelInfo& model) {
  const bool alike = std::ranges::all_of(model.layer_info, [&](const models::LayerInfo& layer) {
    return layer.kv_heads == 0 || layer.kv_heads == model.kv_heads;
  });
  return alike && model.kv_heads > 1 && model.heads % model.kv_heads == 0 ? model.heads / model.kv_heads : 1;
}

figure::Panel grid_panel(const ViewInput& input, const Column& column, const RefinedMap& mosaic,
                         const figure::ColorScale& scale) {
  const GridShape shape = shape_of(input, column);
  constexpr float kBetweenBlocks = 6;
  constexpr float kBetweenGroups = 3;
  using Direction = figure::Marker::Direction;
  figure::Panel panel;
  name_after(column, panel);
  panel.equal_aspect = true;
  panel.x = cells_across("head", shape.columns(), heads_across(shape));
  panel.y = cells_down("layer", shape.rows, layers_down(shape));
  if (!column.trace->crosses()) {
    const Blocks pictures = picture_blocks(input, column);
    panel.x.blocks = repeated_blocks(pictures, column.trace->length(), shape.columns());
    panel.y.blocks = repeated_blocks(pictures, column.trace->length(), shape.rows);
  }
  see_through(input.camera, panel);
  panel.layers.emplace_back(heat_map(input, mosaic, scale));
  for (const auto& [direction, count] :
       {std::pair(Direction::kVertical, shape.columns()), std::pair(Direction::kHorizontal, shape.rows)}) {
    for (std::int64_t n = 1; n < count; ++n) {
      panel.layers.emplace_back(figure::Marker{direction, static_cast<double>(n), "", kWhite, false});
    }
  }
  if (const std::int64_t group = key_group(column.trace->model()); group > 1) {
    for (std::int64_t n = group; n < shape.columns(); n += group) {
      panel.layers.emplace_back(dividing_line(static_cast<double>(n), shape.rows, kBetweenGroups));
    }
    panel.note = std::to_string(group) + " heads between wider lines share a key head";
  }
  for (std::int64_t block = 1; block < shape.blocks; ++block) {
    const auto x = static_cast<double>(block * shape.heads);
    panel.layers.emplace_back(dividing_line(x, shape.rows, kBetweenBlocks));
  }
  return panel;
}

Result<figure::Figure> AttentionGrid::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const bool own_range = option<bool>(input, "own-range");
  std::vector<RefinedMap> mosaics;
  std::vector<double> shares;
  for (const Column& column : input.columns) {
    const Mosaic of_column(input, column, own_range);
    LOCUS_TRY(auto mosaic, of_column.made());
    mosaics.push_back(std::move(mosaic));
    shares.push_back(of_column.share());
  }
  const auto colored = colored_by(mosaics);
  const std::string done = exactness(mosaics);
  figure::Figure figure = figure_across(input.columns.size());
  for (std::size_t n = 0; n < mosaics.size(); ++n) {
    const auto scale =
        scale_of(input, sign_of(input, input.quantity), colored, n, largest_of(mosaics[n], input.reduction, shares[n]));
    figure::Panel panel = grid_panel(input, input.columns[n], mosaics[n], scale);
    panel.color_bar_label = shown_quantity(input, own_range) + (done.empty() ? "" : ", " + done);
    const std::string beyond = beyond_text(*input.columns[n].trace);
    panel.note += (panel.note.empty() || beyond.empty() ? "" : "; ") + beyond;
    figure.panels.push_back(std::move(panel));
  }
  note_flat_columns(input, figure);
  return figure;
}

}  // namespace

const View& attention_grid_view() {
  return made_once<AttentionGrid>();
}

}  // namespace locus::views
