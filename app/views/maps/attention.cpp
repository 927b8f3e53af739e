// `attention`: one head's map, or the mean over the heads of a layer, of any quantity.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/picture_blocks.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/hidden_cells.h"
#include "app/views/shared/score_maps/kept_queries.h"
#include "app/views/shared/score_maps/map_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "models/api/pairs.h"

namespace locus::views {

namespace {

constexpr double kMapsASink = 40;  // the map is so many times as wide as its sink

class Attention final : public MapView {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    if (hit.panel >= input.columns.size() + difference_panels(input)) {
      return {};
    }
    return MapView::pick(input, hit);
  }

 protected:
  static models::MapRequest request(const ViewInput& input) {
    return {input.layer, input.head, input.quantity, {}, {}};
  }
  Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const override {
    LOCUS_TRY(const Column shown, with_pairs(input, column));
    LOCUS_TRY(RefinedMap map, fetch_refined(input, shown, request(input), window));
    const bool cut = input.quantity == models::Quantity::kWeight && input.head >= 0 && cuts_edges(column);
    return cut && map.complete() ? without_cut_edges(input, shown, window, std::move(map)) : std::move(map);
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    LOCUS_TRY(const Column shown, with_pairs(input, column));
    return shown.trace->map(request(input), input.stop);
  }
  // A layer's sink is wide enough to be seen beside many keys.
  double sink_width(const ViewInput& input, const Column& column) const override {
    const std::vector<models::LayerInfo>& layers = column.trace->model().layer_info;
    const auto layer = static_cast<std::size_t>(input.layer);
    const bool shown =
        input.quantity == models::Quantity::kWeight && input.layer >= 0 && layer < layers.size() && layers[layer].sink;
    return shown ? std::max(1.0, std::ceil(static_cast<double>(column.trace->length()) / kMapsASink)) : 0;
  }
  Result<FieldPointer> sink_column(const ViewInput& input, const Column& column) const override {
    const double width = sink_width(input, column);
    if (width == 0) {
      return FieldPointer();
    }
    return cached(input, column, {"sink", HeadRef{input.layer, input.head}}, [&]() -> Result<Field> {
      LOCUS_TRY(Field field, column.trace->sink(input.layer, input.head, {}, input.stop));
      field.column_axis = {"key", "sink", -width, width};
      return field;
    });
  }
  Sign sign(const ViewInput& input) const override { return sign_of(input, input.quantity); }
  bool additive(const ViewInput& input) const override { return input.quantity == models::Quantity::kWeight; }
  std::string quantity(const ViewInput& input) const override {
    const auto pairs = option<std::string>(input, "pairs");
    return quantity_label(input, input.quantity) + (pairs.empty() ? "" : " of pairs " + pairs);
  }

  // The rows of kept queries as curves, a panel per column.
  Status append_rows(const ViewInput& input, figure::Figure& figure) const override;

  // A cut edge has a weight of 0, but is hidden like what the mask of the layer hides: its logit tells.
  static Result<RefinedMap> without_cut_edges(const ViewInput& input, const Column& column, const MapWindow& window,
                                              RefinedMap map) {
    models::MapRequest logits = request(input);
    logits.quantity = models::Quantity::kLogit;
    const auto seen = fetch(input, column, logits, window);
    if (!seen) {
      return seen.error().code == ErrorCode::kUnsupported ? Result<RefinedMap>(std::move(map)) : seen.error();
    }
    Field weights = *map.field;
    for (std::size_t n = 0; n < weights.values.size(); ++n) {
      weights.values[n] = std::isnan((*seen)->values[n]) ? (*seen)->values[n] : weights.values[n];
    }
    return RefinedMap{std::make_shared<const Field>(std::move(weights)), nullptr, {}, {}};
  }

  // The column as it is, or its run with the chosen rotary pairs alone. The run is kept, so that its maps can be.
  static Result<Column> with_pairs(const ViewInput& input, const Column& column) {
    LOCUS_TRY(const std::optional<Range> pairs, band_of(input, "pairs"));
    if (!pairs) {
      return column;
    }
    if (input.quantity != models::Quantity::kLogit && input.quantity != models::Quantity::kWeight) {
      return usage("option pairs: expected quantity logit or weight, found " + models::to_text(input.quantity));
    }
    const MeasureKey key("pairs", std::pair(input.layer, *pairs));
    LOCUS_TRY(const auto runs, analysed<Traces>(input, column, {column.trace}, key, [&]() -> Result<Traces> {
                LOCUS_TRY(auto run, models::with_pairs(*column.trace, input.layer, *pairs));
                return Traces{std::move(run)};
              }));
    Column shown = column;
    shown.trace = runs->front();
    return shown;
  }

 private:
  ViewInfo info_ = described({
      .name = "attention",
      .caption = "One head: each row is a token that looks, each column a token that it looks at.",
      .shows =
          "One head, or the mean over the heads of a layer: rows are queries, columns are keys, with query 0 at the "
          "top. Hatched cells are masked. The sink of a layer, if it has one, is left of key 0.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_quantity = true,
      .uses_camera = true,
      .uses_difference = true,
      .uses_cross = true,
      .of_scores = true,
      .controls = {words("pairs", "Pairs",
                         "Show the logits of these rotary pairs only, or the weights without the other pairs: a:b "
                         "selects a to b − 1, a selects one pair",
                         "all; 3:7, or 3"),
                   kept_queries_control("whose rows are drawn as curves below the map")},
  });
};

struct ProbeKey {
  models::MapRequest request;
  std::string pairs;
  std::vector<std::int64_t> queries;

  friend bool operator==(const ProbeKey&, const ProbeKey&) = default;
};

figure::Panel probe_panel(const ViewInput& input, const Column& column, const ProbeKey& wanted, const Field& rows) {
  const std::vector<std::string> names = token_labels(*column.trace);
  figure::Panel panel;
  panel.follows_camera = false;
  panel.x = cells_across("key", rows.columns, shared_names(key_labels(*column.trace)));
  panel.x.blocks = column.trace->crosses() ? nullptr : picture_blocks(input, column);
  panel.x.view = input.camera ? input.camera->x : panel.x.view;
  panel.y.label = quantity_label(input, wanted.request.quantity);
  Extent extent;
  for (std::size_t q = 0; q < wanted.queries.size(); ++q) {
    const std::int64_t query = wanted.queries[q];
    figure::Curve curve;
    curve.name = "query " + std::to_string(query) + " “" + names[static_cast<std::size_t>(query)] + "”";
    for (std::int64_t key = 0; key < rows.columns; ++key) {
      const double value = static_cast<double>(rows.at(static_cast<std::int64_t>(q), key));
      if (std::isfinite(value)) {
        curve.x.push_back(static_cast<double>(key) + 0.5);
        curve.y.push_back(value);
        extent.add(value);
      }
    }
    panel.layers.emplace_back(std::move(curve));
  }
  if (wanted.request.quantity == models::Quantity::kWeight) {
    extent.add(0);
  }
  panel.y.view = extent.padded(0.05);
  return panel;
}

Status Attention::append_rows(const ViewInput& input, figure::Figure& figure) const {
  LOCUS_TRY(const std::vector<std::int64_t> queries, kept_queries(input));
  for (std::size_t n = 0; n < input.columns.size() && !queries.empty(); ++n) {
    const Column& column = input.columns[n];
    const ViewInput own_input = of_column(input, n);
    ProbeKey key{request(own_input), option<std::string>(input, "pairs"), {}};
    for (const std::int64_t query : queries) {
      const std::int64_t own = own_token(input, query, column);
      key.queries.push_back(own == kNone ? column.trace->length() - 1 : own);
    }
    LOCUS_TRY(const Column shown, with_pairs(own_input, column));
    LOCUS_TRY(const auto rows, cached(input, column, {"probe", key},
                                      [&] { return rows_of(*shown.trace, key.request, key.queries, input.stop); }));
    figure.panels.push_back(probe_panel(on_axes(input, axes_of(input, column)), column, key, *rows));
  }
  return {};
}

}  // namespace

const View& attention_view() {
  return made_once<Attention>();
}

}  // namespace locus::views
