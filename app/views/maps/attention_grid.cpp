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
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_head(input, hit); }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return head_places(selection, input.columns.size());
  }
  std::optional<Camera> home(const ViewInput& input) const override {
    double heads = 1;
    double layers = 1;
    for (const Column& column : input.columns) {
      heads = std::max(heads, static_cast<double>(column.trace->model().heads));
      layers = std::max(layers, static_cast<double>(column.trace->model().layers));
    }
    return Camera{{0, heads}, {layers, 0}};
  }

 private:
  ViewInfo info_ = described({
      .name = "attention-grid",
      .caption = "Every head as a small map: a row is a layer, a column a head. Click one to open it.",
      .shows = "The attention maps of all layers (rows) and heads (columns). A click opens the head.",
      .uses_quantity = true,
      .uses_camera = true,
      .uses_cross = true,
      .of_scores = true,
      .controls = {toggle("own-range", "Own range", "Each head is divided by its largest value")},
  });
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

std::string shown_quantity(const ViewInput& input, bool own_range) {
  return quantity_label(input, input.quantity) + (own_range ? " / largest of the head" : "");
}

struct AttentionGridKey {
  models::Quantity quantity = models::Quantity::kWeight;
  std::int64_t size = 0;  // of a thumbnail
  Reduction reduction = Reduction::kMax;
  bool own_range = false;

  friend bool operator==(const AttentionGridKey&, const AttentionGridKey&) = default;
};

// (L·s, H·s): thumbnails of s × s cells; head n covers [n, n+1) of the column axis, layer n of the row axis.
class Mosaic {
 public:
  Mosaic(const ViewInput& input, const Column& column, bool own_range)
      : input_(input),
        column_(column),
        own_range_(own_range),
        size_(thumbnail_size(input, column.trace->model())),
        plain_(input) {
    const std::int64_t length = column.trace->length();
    const std::int64_t keys = column.trace->keys();
    window_ = {{0, length}, {0, keys}, std::min(size_, length), std::min(size_, keys)};
    plain_.cache.reset();  // the mosaic is kept, not its parts
  }

  Result<RefinedMap> made() const {
    const MeasureKey key("grid", AttentionGridKey{input_.quantity, size_, input_.reduction, own_range_});
    if (input_.step_ms && is_large(window_.rows, window_.columns)) {
      auto map = refine(input_, column_, refinement(key));
      if (map.ok() || map.error().code != ErrorCode::kUnsupported) {
        return map;
      }
    }
    return exact_map(cached(input_, column_, key, [&] { return all(&Mosaic::exact_thumbnail); }));
  }

 private:
  using Thumbnail = Result<Field> (Mosaic::*)(const models::MapRequest&) const;

  const models::ModelInfo& model() const { return column_.trace->model(); }

  Result<Field> exact_thumbnail(const models::MapRequest& request) const {
    LOCUS_TRY(const auto field, fetch(plain_, column_, request, window_));
    return *field;
  }
  Result<Field> sampled_thumbnail(const models::MapRequest& request) const {
    LOCUS_TRY(Field field, column_.trace->preview(request, window_.height, window_.width, input_.stop));
    return on_window(std::move(field), window_);
  }

  Status fill(Range layers, Thumbnail thumbnail, Field& mosaic) const {
    models::MapRequest request;
    request.quantity = input_.quantity;
    request.mark_masked = true;
    for (request.layer = layers.begin; request.layer < layers.end; ++request.layer) {
      for (request.head = 0; request.head < model().heads; ++request.head) {
        LOCUS_TRY(const Field thumb, (this->*thumbnail)(request));
        place(mosaic, thumb, request.layer, request.head, size_, own_range_);
      }
    }
    return {};
  }

  Result<Field> all(Thumbnail thumbnail) const {
    Field mosaic = Field::zeros(model().layers * size_, model().heads * size_);
    mosaic.row_axis = {"layer", "", 0, 1.0 / static_cast<double>(size_)};
    mosaic.column_axis = {"head", "", 0, 1.0 / static_cast<double>(size_)};
    mosaic.quantity = shown_quantity(input_, own_range_);
    for (std::int64_t layer = 0; layer < model().layers; ++layer) {
      report(input_.progress, static_cast<double>(layer) / static_cast<double>(model().layers),
             "layer " + std::to_string(layer) + " of " + column_.name);
      LOCUS_CHECK(fill({layer, layer + 1}, thumbnail, mosaic));
    }
    return mosaic;
  }

  // Layer by layer, the visible ones first.
  Refinement refinement(const MeasureKey& key) const {
    Refinement how;
    how.key = key;
    how.rows = model().layers * size_;
    how.band = size_;
    if (input_.camera) {
      const auto [low, high] = std::minmax(input_.camera->y.low, input_.camera->y.high);
      const auto layer = [](double y) { return static_cast<std::int64_t>(std::floor(y)); };
      how.first = {layer(low) * size_, (layer(high) + 1) * size_};
    }
    how.sample = [this] { return all(&Mosaic::sampled_thumbnail); };
    how.replace = [this](Range rows, Field& mosaic) {
      return fill({rows.begin / size_, rows.end / size_}, &Mosaic::exact_thumbnail, mosaic);
    };
    return how;
  // Cells of a map that a cell of its thumbnail stands for.
  double share() const { return window_.share(); }
  // Cells of a map that one of its thumbnail stands for.
  double share() const { return window_.share(); }
  }

  const ViewInput& input_;
  const Column& column_;
  bool own_range_;
  std::int64_t size_;
  ViewInput plain_;
  MapWindow window_;
};

figure::Panel grid_panel(const ViewInput& input, const Column& column, const RefinedMap& mosaic,
                         const figure::ColorScale& scale) {
  const models::ModelInfo& model = column.trace->model();
  constexpr std::uint32_t kWhite = 0xFFFFFFFF;
  using Direction = figure::Marker::Direction;
  figure::Panel panel;
  name_after(column, panel);
  panel.equal_aspect = true;
  panel.x = cells_across("head", model.heads);
  panel.y = cells_down("layer", model.layers);
  if (!column.trace->crosses()) {
    const Blocks pictures = picture_blocks(input, column);
    panel.x.blocks = repeated_blocks(pictures, column.trace->length(), model.heads);
    panel.y.blocks = repeated_blocks(pictures, column.trace->length(), model.layers);
  }
  see_through(input.camera, panel);
  panel.layers.emplace_back(heat_map(input, mosaic, scale));
  for (const auto& [direction, count] :
       {std::pair(Direction::kVertical, model.heads), std::pair(Direction::kHorizontal, model.layers)}) {
    for (std::int64_t n = 1; n < count; ++n) {
      panel.layers.emplace_back(figure::Marker{direction, static_cast<double>(n), "", kWhite, false});
    }
  }
  return panel;
}

Result<figure::Figure> AttentionGrid::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  const bool own_range = option<bool>(input, "own-range");
  std::vector<RefinedMap> mosaics;
  for (const Column& column : input.columns) {
    const Mosaic of_column(input, column, own_range);
    LOCUS_TRY(auto mosaic, of_column.made());
    mosaics.push_back(std::move(mosaic));
  }
  const auto colored = colored_by(mosaics);
  const std::string done = exactness(mosaics);
  figure::Figure figure = figure_across(input.columns.size());
  for (std::size_t n = 0; n < mosaics.size(); ++n) {
    const auto scale =
        scale_of(input, sign_of(input, input.quantity), colored, n, largest_of(mosaics[n], input.reduction, shares[n]));
    figure::Panel panel = grid_panel(input, input.columns[n], mosaics[n], scale);
    panel.color_bar_label = shown_quantity(input, own_range) + (done.empty() ? "" : ", " + done);
    panel.note = beyond_text(*input.columns[n].trace);
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
  std::vector<double> shares;
    shares.push_back(of_column.share());
