// `attention-grid`: every layer and head as a thumbnail of its map, in one picture.
#include <algorithm>
#include <cmath>

#include "app/views/controls.h"
#include "app/views/head_map.h"
#include "app/views/list.h"
#include "app/views/score_map.h"
#include "app/views/series.h"

namespace locus::views {

namespace {

class AttentionGrid final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::optional<Camera> home(const ViewInput& input) const override;

 private:
  ViewInfo info_{
      .name = "attention-grid",
      .title = "All heads",
      .shows = "The attention maps of every layer (rows) and head (columns). A click opens the head.",
      .look_for =
          "Heads that look alike do alike: diagonals (previous token), first columns (sinks), broad triangles "
          "(an average of everything before).",
      .paper = "",
      .uses_quantity = true,
      .uses_camera = true,
      .controls = {toggle("own-range", "Own range", "Each head is divided by its largest value.")},
  };
};

constexpr std::int64_t kSmallestThumbnail = 24;  // pixels
constexpr std::int64_t kLargestThumbnail = 256;

std::int64_t thumbnail_size(const ViewInput& input, const models::ModelInfo& model) {
  const double visible_x = input.camera ? std::abs(input.camera->x.high - input.camera->x.low) : 0;
  const double heads = visible_x > 0 ? visible_x : static_cast<double>(model.heads);
  const double wide = static_cast<double>(input.width_px) / static_cast<double>(input.columns.size()) / heads;
  const double high = static_cast<double>(input.height_px) / static_cast<double>(model.layers);
  const double size = visible_x > 0 ? wide : std::min(wide, high);
  return std::clamp(static_cast<std::int64_t>(size), kSmallestThumbnail, kLargestThumbnail);
}

// Copies `thumb` into the mosaic's (layer, head) square, scaled to its whole size when it has fewer cells.
void place(Field& mosaic, const Field& thumb, std::int64_t layer, std::int64_t head, std::int64_t size,
           bool own_range) {
  const float largest = finite_range(thumb).high;
  const float factor = own_range && largest > 0 ? 1 / largest : 1;
  for (std::int64_t r = 0; r < size; ++r) {
    for (std::int64_t c = 0; c < size; ++c) {
      mosaic.at(layer * size + r, head * size + c) = factor * thumb.at(r * thumb.rows / size, c * thumb.columns / size);
    }
  }
}

// (L·s, H·s): thumbnails of s × s cells; head n covers [n, n+1) of the column axis, layer n of the row axis.
Result<Field> mosaic_of(const ViewInput& input, const Column& column, bool own_range) {
  const models::Trace& trace = *column.trace;
  const models::ModelInfo& model = trace.model();
  const std::int64_t size = thumbnail_size(input, model);
  const std::int64_t cells = std::min(size, trace.length());
  const MapWindow window{{0, trace.length()}, {0, trace.length()}, cells, cells};
  Field mosaic = Field::zeros(model.layers * size, model.heads * size);
  mosaic.row_axis = {"layer", "", 0, 1.0 / static_cast<double>(size)};
  mosaic.column_axis = {"head", "", 0, 1.0 / static_cast<double>(size)};
  ViewInput plain = input;
  plain.cache.reset();  // the mosaic is kept, not its parts
  models::MapRequest request;
  request.quantity = input.quantity;
  for (request.layer = 0; request.layer < model.layers; ++request.layer) {
    report(input.progress, static_cast<double>(request.layer) / static_cast<double>(model.layers),
           "layer " + std::to_string(request.layer) + " of " + column.name);
    for (request.head = 0; request.head < model.heads; ++request.head) {
      LOCUS_TRY(const auto thumb, fetch(plain, column, request, window));
      place(mosaic, *thumb, request.layer, request.head, size, own_range);
    }
  }
  return mosaic;
}

figure::Panel grid_panel(const ViewInput& input, const Column& column, std::shared_ptr<const Field> mosaic,
                         const figure::ColorScale& scale) {
  const models::ModelInfo& model = column.trace->model();
  const auto heads = static_cast<double>(model.heads);
  const auto layers = static_cast<double>(model.layers);
  figure::Panel panel;
  panel.title = column.name;
  panel.equal_aspect = true;
  panel.x = {.label = "head",
             .view = input.camera ? input.camera->x : figure::Interval{0, heads},
             .cell_names = counted_names(model.heads)};
  panel.y = {.label = "layer",
             .view = input.camera ? input.camera->y : figure::Interval{layers, 0},
             .cell_names = counted_names(model.layers)};
  panel.layers.emplace_back(figure::HeatMap{std::move(mosaic), scale, reduction_of(input)});
  constexpr std::uint32_t kWhite = 0xFFFFFFFF;
  for (std::int64_t n = 1; n < model.heads; ++n) {
    panel.layers.emplace_back(
        figure::Marker{figure::Marker::Direction::kVertical, static_cast<double>(n), "", kWhite, false});
  }
  for (std::int64_t n = 1; n < model.layers; ++n) {
    panel.layers.emplace_back(
        figure::Marker{figure::Marker::Direction::kHorizontal, static_cast<double>(n), "", kWhite, false});
  }
  return panel;
}

Result<figure::Figure> AttentionGrid::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  LOCUS_TRY(const bool own_range, input.options.boolean("own-range", false));
  std::vector<std::shared_ptr<const Field>> mosaics;
  for (const Column& column : input.columns) {
    const std::string key = "grid " + std::to_string(static_cast<int>(input.quantity)) + " " +
                            std::to_string(thumbnail_size(input, column.trace->model())) +
                            (input.reduction == models::Reduction::kMax ? " max" : " mean") + (own_range ? " own" : "");
    LOCUS_TRY(auto mosaic, cached(input, column, key, [&] { return mosaic_of(input, column, own_range); }));
    mosaics.push_back(std::move(mosaic));
  }
  figure::Figure figure;
  figure.columns = static_cast<int>(input.columns.size());
  for (std::size_t n = 0; n < mosaics.size(); ++n) {
    const auto scale = head_scale(input, sign_of(input.quantity), mosaics, n);
    figure::Panel panel = grid_panel(input, input.columns[n], mosaics[n], scale);
    panel.color_bar_label =
        own_range ? quantity_label(input.quantity) + " / largest of the head" : quantity_label(input.quantity);
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

Result<Data> AttentionGrid::data(const ViewInput& input) const {
  ViewInput all = input;
  all.layer = kAll;
  all.head = kAll;
  all.options = {};
  LOCUS_CHECK(check(*this, input));
  return attention_view().data(all);
}

Selection AttentionGrid::pick(const ViewInput& input, const Hit& hit) const {
  const std::size_t column = std::min(hit.panel, input.columns.size() - 1);
  return pick_head(input.columns[column].trace->model(), hit, column);
}

std::vector<Place> AttentionGrid::places(const ViewInput& input, const Selection& selection) const {
  std::vector<Place> places;
  if (!selection.layer || !selection.head || *selection.head < 0) {
    return places;
  }
  for (std::size_t panel = 0; panel < input.columns.size(); ++panel) {
    places.push_back(head_place(panel, *selection.layer, *selection.head));
  }
  return places;
}

std::optional<Camera> AttentionGrid::home(const ViewInput& input) const {
  double heads = 1;
  double layers = 1;
  for (const Column& column : input.columns) {
    heads = std::max(heads, static_cast<double>(column.trace->model().heads));
    layers = std::max(layers, static_cast<double>(column.trace->model().layers));
  }
  return Camera{{0, heads}, {layers, 0}};
}

}  // namespace

const View& attention_grid_view() {
  static const AttentionGrid view;
  return view;
}

}  // namespace locus::views
