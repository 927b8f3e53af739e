// `shift-stability`: what moves when the same tokens stand elsewhere, by layer.
#include <algorithm>

#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

using Rows = std::vector<models::StabilityRow>;

struct ShiftStabilityKey {
  std::string kind;  // "ids" or "tokens"
  std::int64_t by = 0;
  std::int64_t token = 0;  // in front; of ids: 0

  friend bool operator==(const ShiftStabilityKey&, const ShiftStabilityKey&) = default;
};

class ShiftStability final : public MeasuredView<ShiftStabilityKey, Rows> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override {
    LOCUS_CHECK(View::available(column));
    LOCUS_CHECK(needs_text_alone(column, info_.title));
    return needs_model(column, info_.title);
  }

 protected:
  Result<ShiftStabilityKey> measure_key(const ViewInput& input, std::size_t column) const override {
    ShiftStabilityKey key;
    key.kind = option<std::string>(input, "move");
    key.by = option<std::int64_t>(input, "by");
    if (key.kind != "ids") {
      const auto token = option<std::int64_t>(input, "token");
      key.token = token >= 0 ? token : input.columns[column].trace->tokens().front().id;
    }
    return key;
  }
  Result<Rows> measure(const ShiftStabilityKey& key, const MeasureContext& context) const override {
    models::Move move;
    if (key.kind == "ids") {
      move.ids = key.by;
    } else {
      move.in_front.assign(static_cast<std::size_t>(key.by), key.token);
    }
    return models::shift_stability(*context.column.model, *context.column.trace, move, context.stop, context.progress);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  ViewInfo info_{
      .name = "shift-stability",
      .title = "Shift stability",
      .group = Group::kChange,
      .caption = "What changes inside the model when the same text starts at a later position.",
      .shows =
          "How much the attention and the dot products of positions change, layer by layer, when the position ids of "
          "the same tokens start later, or when tokens are inserted in front. Each row is compared with the row of the "
          "same token.",
      .needs_text = true,
      .controls = {choice("move", "Move", "ids: position ids start later; tokens: tokens are inserted in front",
                          {"ids", "tokens"}),
                   whole("by", "By", "Size of the shift in positions, or number of tokens in front", 3, 1, 1024),
                   whole("token", "Token in front",
                         "The id of the inserted token; −1: the first token of the text (BOS, where there is one)", -1,
                         -1, 1 << 20, "the first"),
                   choice("measure", "Attention",
                          "row: the sum of the changes in a row; cell: the mean change of its cells", {"row", "cell"})},
  };
};

double dot_product_of(const models::StabilityRow& row) {
  return row.dot_product_percent.value_or(kNaN);
}

Result<figure::Figure> ShiftStability::draw(const ViewInput& input, const Numbers& list) const {
  const bool cell = option<std::string>(input, "measure") == "cell";
  const auto kind = option<std::string>(input, "move");
  const auto by = option<std::int64_t>(input, "by");
  figure::Panel attention;
  figure::Panel products;
  Extent attention_extent;
  Extent products_extent;
  std::size_t layers = 0;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::vector<double> changes = numbers_of(*list[n], [&](const models::StabilityRow& row) {
      return 100 * (cell ? row.attention.cell_mean : row.attention.row_l1);
    });
    const std::vector<double> percents = numbers_of(*list[n], dot_product_of);
    attention_extent.add(changes);
    products_extent.add(percents);
    layers = std::max(layers, list[n]->size());
    attention.layers.emplace_back(grouped_bars(input.columns[n].name, changes, n, list.size()));
    products.layers.emplace_back(grouped_bars("", percents, n, list.size()));  // the same legend
  }
  const std::string moved = kind == "ids" ? "Position ids start " + std::to_string(by) + " later"
                                          : std::to_string(by) + (by == 1 ? " token" : " tokens") + " in front";
  const auto finish = [&](figure::Panel& panel, const Extent& extent, const char* title, const char* label) {
    panel.title = title;
    panel.x = cells_across("layer", static_cast<std::int64_t>(layers));
    panel.y.label = label;
    panel.y.view = extent.from_zero();
    // Rounding alone gives changes of 1e-5 and less: they are drawn as the nothing they are.
    panel.y.view.high = std::max(panel.y.view.high, 1e-2);
  };
  finish(attention, attention_extent, "Attention", cell ? "mean |ΔA| of a cell (× 10⁻²)" : "Σ|ΔA| of a row (× 10⁻²)");
  finish(products, products_extent, "Dot products of positions", "change (%)");
  figure::Figure figure;
  figure.title = moved;
  figure.columns = 2;
  figure.panels.push_back(std::move(attention));
  if (!products_extent.empty()) {
    figure.panels.push_back(std::move(products));
  }
  return figure;
}

Result<Data> ShiftStability::table(const ViewInput& input, const Numbers& list) const {
  using Row = models::StabilityRow;
  std::vector<Series> series;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::string& name = input.columns[n].name;
    series.push_back(
        {name + " attention row", numbers_of(*list[n], [](const Row& row) { return row.attention.row_l1; })});
    series.push_back(
        {name + " attention cell", numbers_of(*list[n], [](const Row& row) { return row.attention.cell_mean; })});
    series.push_back({name + " dot product %", numbers_of(*list[n], dot_product_of)});
  }
  return table_of(std::move(series), "layer");
}

}  // namespace

const View& shift_stability_view() {
  return made_once<ShiftStability>();
}

}  // namespace locus::views
