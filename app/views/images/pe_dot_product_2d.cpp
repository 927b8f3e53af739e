// `pe-dot-product-2d`: how alike the encodings of all patches are to those of a few anchors.
#include <algorithm>
#include <cmath>

#include "app/views/images/anchor_products.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/score_maps/map_view.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

constexpr std::size_t kMaxAcross = 3;  // maps of one checkpoint beside each other

// The anchors' products with the words before and behind the pictures: (anchors, words), with their numbers.
figure::Panel words_panel(const ViewInput& input, const Column& column, const PeDotProduct2dKey& key,
                          const Field& products) {
  const std::vector<models::ImageSpan>& images = column.trace->images();
  std::vector<std::int64_t> words;
  std::vector<std::string> labels;
  for (std::int64_t token = 0; token < products.columns; ++token) {
    if (std::ranges::none_of(images, [token](const models::ImageSpan& span) { return span.holds(token); })) {
      words.push_back(token);
      labels.push_back(column.trace->tokens()[static_cast<std::size_t>(token)].label);
    }
  }
  auto field = std::make_shared<Field>(Field::zeros(products.rows, static_cast<std::int64_t>(words.size())));
  std::vector<std::string> anchors;
  std::vector<std::string> texts;
  for (std::int64_t row = 0; row < field->rows; ++row) {
    anchors.push_back(anchor_name(key.anchors[static_cast<std::size_t>(row)]));
    for (std::int64_t n = 0; n < field->columns; ++n) {
      field->at(row, n) = products.at(row, words[static_cast<std::size_t>(n)]);
      texts.push_back(short_number(static_cast<double>(field->at(row, n))));
    }
  }
  figure::Panel panel;
  panel.title = "with the words";
  panel.x = cells_across("", field->columns, shared_names(std::move(labels)));
  panel.y = cells_down("", field->rows, shared_names(std::move(anchors)));
  panel.layers.emplace_back(figure::HeatMap{
      .field = field, .scale = color_scale(input, Sign::kAny, Fields{field}), .texts = shared_names(std::move(texts))});
  return panel;
}

// Beside the colour bar of a row of small maps: short.
std::string measure_label(const models::Similarity& similarity) {
  return !similarity.cosine ? similarity_label(similarity, "e", "eₐ")
                            : std::string(similarity.centred.empty() ? "" : "centred ") + "cosine";
}

class DotProduct2d final : public MeasuredView<PeDotProduct2dKey, Field> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    if (of_text(column) && patch_areas(*column.trace).empty()) {
      return unsupported(info_.title + " needs an image; " + column.name + " read text without a picture in it");
    }
    return needs_dot_product(column);
  }
  // A click in an anchor's map moves that anchor.
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    Selection selection;
    const models::ImageSpan cells = cells_of_input(input, input.columns[0]);
    auto anchors = anchors_of(input, cells);
    if (!anchors || hit.panel >= anchors->size() * input.columns.size() || !patch_at(cells, hit)) {
      return selection;
    }
    const std::size_t anchor = hit.panel % anchors->size();
    (*anchors)[anchor] = {static_cast<std::int64_t>(std::floor(hit.y)), static_cast<std::int64_t>(std::floor(hit.x))};
    selection.column = static_cast<std::int64_t>(hit.panel / anchors->size());
    selection.option = {"anchors", text_of(*anchors)};
    return selection;
  }

 protected:
  Result<PeDotProduct2dKey> measure_key(const ViewInput& input, std::size_t column) const override {
    const auto [layer, head] = head_of_column(input, column);
    PeDotProduct2dKey key{layer, head, cells_of_input(input, input.columns[column]), {}, {}};
    LOCUS_TRY(key.anchors, anchors_of(input, key.cells));
    key.similarity = similarity_of(input, {key.cells.first, key.cells.token(key.cells.count - 1) + 1});
    return key;
  }
  Result<Field> measure(const PeDotProduct2dKey& key, const MeasureContext& context) const override {
    return anchor_products(key, context.column);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  // [anchors, rows, columns].
  Result<Data> table(const ViewInput& input, const Numbers& all) const override {
    LOCUS_TRY(const PeDotProduct2dKey key, measure_key(input, 0));
    Data data{{all[0]->rows, key.cells.rows, key.cells.columns}, {}, {}};
    for (std::size_t n = 0; n < key.anchors.size(); ++n) {
      const FieldPointer map = map_of_anchor(*all[0], n, key.cells);
      data.values.insert(data.values.end(), map->values.begin(), map->values.end());
    }
    return data;
  }

 private:
  ViewInfo info_ = described({
      .name = "pe-dot-product-2d",
      .caption = "How similar the positions of a few chosen patches are to every other position of the image.",
      .shows =
          "The dot products of the encodings of a few anchor patches with those of every patch of the grid, one map "
          "per anchor. A click in a map moves its anchor. Of a text with pictures the cells of one of them, and below "
          "the products with the words before and behind it.",
      .uses_layer = true,
      .uses_head = true,
      .controls = {cosine_control(), centred_control(),
                   whole("side", "Grid side",
                         "Number of patches along each side of a square grid; 0: the grid of the image", 0, 0, 64,
                         "the image's"),
                   words("anchors", "Anchors",
                         "Row,column of each anchor, such as 2,2 7,7; a click in a map moves its anchor",
                         "some; 2,2 7,7")},
  });
};

Result<figure::Figure> DotProduct2d::draw(const ViewInput& input, const Numbers& all) const {
  std::vector<PeDotProduct2dKey> keys;
  Fields maps;
  std::size_t most = 0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    LOCUS_TRY(keys.emplace_back(), measure_key(input, c));
    most = std::max(most, keys[c].anchors.size());
    for (std::size_t n = 0; n < keys[c].anchors.size(); ++n) {
      maps.push_back(map_of_anchor(*all[c], n, keys[c].cells));
    }
  }
  figure::Figure figure = figure_across(keys.size() > 1 ? most : std::min(most, kMaxAcross));
  if (keys.size() == 1) {
    figure.names = {input.columns[0].name};
    figure.title = input.columns[0].name + " · " + positions_label(input, input.columns[0]);
  }
  for (std::size_t c = 0; c < keys.size(); ++c) {
    const models::ImageSpan& grid = keys[c].cells;
    const std::vector<Anchor>& anchors = keys[c].anchors;
    const std::size_t first = figure.panels.size();
    const auto scale = color_scale(input, Sign::kAny, colored_with(input, maps, first, anchors.size()));
    for (std::size_t n = 0; n < anchors.size(); ++n) {
      figure::Panel panel;
      panel.equal_aspect = true;
      panel.names = {input.columns[c].name};
      panel.title = anchor_name(anchors[n]);
      if (n == 0 && keys.size() > 1) {
        panel.y.label = input.columns[c].name;  // a row per checkpoint
      }
      panel.x.view = {0, static_cast<double>(grid.columns)};
      panel.y.view = {static_cast<double>(grid.rows), 0};
      panel.layers.emplace_back(figure::HeatMap{maps[first + n], scale});
      mark_patch(grid, keys[c].token(anchors[n]), panel);
      if (static_cast<int>(n) % figure.columns > 0) {  // rows are counted once, at the left
        panel.y.cell_names = shared_names(std::vector<std::string>(static_cast<std::size_t>(grid.rows)));
      }
      if (n + 1 == std::min(anchors.size(), static_cast<std::size_t>(figure.columns))) {  // at the right edge
        panel.color_bar_label = measure_label(keys[c].similarity);
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  for (std::size_t c = 0; c < keys.size(); ++c) {
    if (of_text(input.columns[c])) {
      figure.panels.push_back(words_panel(input, input.columns[c], keys[c], *all[c]));
    }
  }
  return figure;
}

}  // namespace

const View& pe_dot_product_2d_view() {
  return made_once<DotProduct2d>();
}

}  // namespace locus::views
