// `pe-dot-product-2d`: how alike the encodings of all patches are to those of a few anchors.
#include <algorithm>
#include <cmath>

#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "app/views/plots/patch_grid.h"
#include "app/views/score_maps/map_view.h"
#include "app/views/score_maps/score_map.h"
#include "core/base/controls.h"
#include "core/base/lists.h"
#include "core/base/shown.h"

namespace locus::views {

namespace {

constexpr std::size_t kMaxAnchors = 16;
constexpr std::size_t kMaxAcross = 3;  // maps of one checkpoint beside each other

struct Anchor {
  std::int64_t row = 0;
  std::int64_t column = 0;

  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// The grid whose positions are shown: the image's, or a square one of option `side`.
models::ImageGrid grid_of(const ViewInput& input, const Column& column) {
  models::ImageGrid grid = column.trace->image_grid();
  if (const auto side = input.options.number("side", 0); side && *side >= 2) {
    grid.rows = grid.columns = std::llround(*side);
  }
  return grid;
}

// Four corners, inset by a sixth, and the middle.
std::vector<Anchor> default_anchors(const models::ImageGrid& grid) {
  const std::int64_t r = grid.rows / 6;
  const std::int64_t c = grid.columns / 6;
  const std::int64_t bottom = grid.rows - 1 - r;
  const std::int64_t right = grid.columns - 1 - c;
  return {{r, c}, {r, right}, {grid.rows / 2, grid.columns / 2}, {bottom, c}, {bottom, right}};
}

// "r,c r,c …". Errors: kUsage with what was found.
Result<std::vector<Anchor>> anchors_of(const ViewInput& input, const models::ImageGrid& grid) {
  LOCUS_TRY(const std::string text, input.options.text("anchors", ""));
  std::vector<Anchor> anchors;
  for (const std::string_view word : split_words(text, " ;")) {
    const auto place = parse_numbers<std::int64_t>(split(word));
    if (!place || place->size() != 2 || place->front() < 0 || place->back() < 0) {
      return usage("option anchors: expected row,column pairs such as 2,2 7,7, found " + shown(text));
    }
    anchors.push_back({std::min(place->front(), grid.rows - 1), std::min(place->back(), grid.columns - 1)});
    if (anchors.size() > kMaxAnchors) {
      return usage("option anchors: expected at most " + std::to_string(kMaxAnchors) + " pairs");
    }
  }
  return anchors.empty() ? default_anchors(grid) : anchors;
}

std::string text_of(const std::vector<Anchor>& anchors) {
  std::string text;
  for (const Anchor& anchor : anchors) {
    text += (text.empty() ? "" : " ") + std::to_string(anchor.row) + "," + std::to_string(anchor.column);
  }
  return text;
}

struct PeDotProduct2dKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  models::ImageGrid grid;
  std::vector<Anchor> anchors;
  models::Similarity similarity;

  friend bool operator==(const PeDotProduct2dKey&, const PeDotProduct2dKey&) = default;
};

// (anchors, patches): the dot products of each anchor with every patch.
Result<Field> products(const PeDotProduct2dKey& key, const Column& column) {
  const models::ImageGrid& grid = key.grid;
  const models::ImageGrid& own = column.trace->image_grid();
  const std::int64_t prefix = prefix_of(grid);
  const Range patches{prefix, prefix + grid.rows * grid.columns};
  std::shared_ptr<const models::PositionTable> table;
  if (grid.rows != own.rows || grid.columns != own.columns) {
    if (!column.model) {
      return unsupported("a trace knows its own grid only: another side needs the checkpoint");
    }
    models::PositionRequest request;
    request.rows = grid.rows;
    request.columns = grid.columns;
    LOCUS_TRY(table, column.model->position_table(request, key.layer));
  }
  Field out = Field::zeros(static_cast<std::int64_t>(key.anchors.size()), patches.size());
  for (std::size_t n = 0; n < key.anchors.size(); ++n) {
    const std::int64_t token = prefix + key.anchors[n].row * grid.columns + key.anchors[n].column;
    const Range row{token, token + 1};
    LOCUS_TRY(const Field one, table ? table->dot_product(key.head, row, patches, key.similarity)
                                     : column.trace->dot_product(key.layer, key.head, row, patches, key.similarity));
    std::copy(one.values.begin(), one.values.end(),
              out.values.begin() + static_cast<std::ptrdiff_t>(n) * patches.size());
  }
  return out;
}

FieldPointer map_of(const Field& products, std::size_t row, const models::ImageGrid& grid) {
  Field map = Field::zeros(grid.rows, grid.columns);
  map.row_axis = {"row", "patch", 0, 1};
  map.column_axis = {"column", "patch", 0, 1};
  std::copy_n(products.values.begin() + static_cast<std::int64_t>(row) * products.columns, products.columns,
              map.values.begin());
  return std::make_shared<const Field>(std::move(map));
}

// Beside the colour bar of a row of small maps: short.
std::string measure_label(const models::Similarity& similarity) {
  return !similarity.cosine ? similarity_label(similarity, "e", "eₐ")
                            : std::string(similarity.centred.empty() ? "" : "centred ") + "cosine";
}

class DotProduct2d final : public MeasuredView<PeDotProduct2dKey, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override {
    LOCUS_CHECK(View::available(column));
    return needs_dot_product(column);
  }
  // A click in an anchor's map moves that anchor.
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    Selection selection;
    const models::ImageGrid grid = grid_of(input, input.columns[0]);
    auto anchors = anchors_of(input, grid);
    if (!anchors || !patch_at(cells_of(grid), hit)) {
      return selection;
    }
    const std::size_t anchor = hit.panel % anchors->size();
    (*anchors)[anchor] = {static_cast<std::int64_t>(std::floor(hit.y)), static_cast<std::int64_t>(std::floor(hit.x))};
    selection.column = static_cast<std::int64_t>(std::min(hit.panel / anchors->size(), input.columns.size() - 1));
    selection.option = {"anchors", text_of(*anchors)};
    return selection;
  }

 protected:
  Result<PeDotProduct2dKey> measure_key(const ViewInput& input, std::size_t column) const override {
    PeDotProduct2dKey key{input.layer, input.head, grid_of(input, input.columns[column]), {}, {}};
    LOCUS_TRY(key.anchors, anchors_of(input, key.grid));
    const std::int64_t prefix = prefix_of(key.grid);
    key.similarity = similarity_of(input, {prefix, prefix + key.grid.rows * key.grid.columns});
    return key;
  }
  Result<Field> measure(const PeDotProduct2dKey& key, const MeasureContext& context) const override {
    return products(key, context.column);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  // [anchors, rows, columns].
  Result<Data> table(const ViewInput& input, const Numbers& all) const override {
    LOCUS_TRY(const PeDotProduct2dKey key, measure_key(input, 0));
    return Data{{all[0]->rows, key.grid.rows, key.grid.columns}, all[0]->values, {}};
  }

 private:
  ViewInfo info_{
      .name = "pe-dot-product-2d",
      .title = "Position dot product, patches",
      .group = Group::kPosition,
      .caption = "How similar the positions of a few chosen patches are to every other position of the image.",
      .shows =
          "The dot products of the encodings of a few anchor patches with those of every patch of the grid, one map "
          "per anchor. A click in a map moves its anchor.",
      .uses_layer = true,
      .uses_head = true,
      .needs_image = true,
      .controls = {cosine_control(), centred_control(),
                   whole("side", "Grid side",
                         "Number of patches along each side of a square grid; 0: the grid of the image", 0, 0, 64,
                         "the image's"),
                   words("anchors", "Anchors",
                         "Row,column of each anchor, such as 2,2 7,7; a click in a map moves its anchor",
                         "some; 2,2 7,7")},
  };
};

Result<figure::Figure> DotProduct2d::draw(const ViewInput& input, const Numbers& all) const {
  std::vector<PeDotProduct2dKey> keys;
  Fields maps;
  std::size_t most = 0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    LOCUS_TRY(keys.emplace_back(), measure_key(input, c));
    most = std::max(most, keys[c].anchors.size());
    for (std::size_t n = 0; n < keys[c].anchors.size(); ++n) {
      maps.push_back(map_of(*all[c], n, keys[c].grid));
    }
  }
  figure::Figure figure = figure_across(keys.size() > 1 ? most : std::min(most, kMaxAcross));
  if (keys.size() == 1) {
    figure.names = {input.columns[0].name};
    figure.title = input.columns[0].name + " · " + head_label(input.columns[0].trace->model(), input.layer, input.head);
  }
  for (std::size_t c = 0; c < keys.size(); ++c) {
    const models::ImageGrid& grid = keys[c].grid;
    const std::vector<Anchor>& anchors = keys[c].anchors;
    const std::size_t first = figure.panels.size();
    const auto scale = color_scale(input, Sign::kAny, colored_with(input, maps, first, anchors.size()));
    for (std::size_t n = 0; n < anchors.size(); ++n) {
      figure::Panel panel;
      panel.equal_aspect = true;
      panel.title = "(" + std::to_string(anchors[n].row) + ", " + std::to_string(anchors[n].column) + ")";
      if (n == 0 && keys.size() > 1) {
        panel.y.label = input.columns[c].name;  // a row per checkpoint
      }
      panel.x.view = {0, static_cast<double>(grid.columns)};
      panel.y.view = {static_cast<double>(grid.rows), 0};
      panel.layers.emplace_back(figure::HeatMap{maps[first + n], scale});
      mark_patch(cells_of(grid), prefix_of(grid) + anchors[n].row * grid.columns + anchors[n].column, panel);
      if (static_cast<int>(n) % figure.columns > 0) {  // rows are counted once, at the left
        panel.y.cell_names = shared_names(std::vector<std::string>(static_cast<std::size_t>(grid.rows)));
      }
      if (n + 1 == std::min(anchors.size(), static_cast<std::size_t>(figure.columns))) {  // at the right edge
        panel.color_bar_label = measure_label(keys[c].similarity);
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

}  // namespace

const View& pe_dot_product_2d_view() {
  return made_once<DotProduct2d>();
}

}  // namespace locus::views
