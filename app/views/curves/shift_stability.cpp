// `shift-stability`: what moves when the same tokens stand elsewhere, by layer.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

using Rows = std::vector<models::StabilityRow>;
// A run per token in front; of moved ids one.
struct Runs : std::vector<Rows> {};
std::size_t cached_bytes(const Runs& runs) {
  std::size_t bytes = sizeof runs;
  for (const Rows& rows : runs) {
    bytes += sizeof(Rows) + sizeof(models::StabilityRow) * rows.size();
  }
  return bytes;
}

struct ShiftStabilityKey {
  std::int64_t ids = 0;
  std::int64_t by = 0;               // tokens in front
  std::vector<std::int64_t> tokens;  // each in a run of its own

  friend bool operator==(const ShiftStabilityKey&, const ShiftStabilityKey&) = default;
};

// The beginning-of-text token, where the text begins with one; else three: the first token, and the two others that are
// most frequent in the text, of equally frequent ones the first.
std::vector<std::int64_t> tokens_in_front(const std::vector<models::TokenInfo>& tokens) {
  std::vector<std::int64_t> chosen{tokens.front().id};
  if (tokens.size() > 1 && tokens[0].bytes.empty() && !tokens[1].bytes.empty()) {
    return chosen;
  }
  while (chosen.size() < 3) {
    std::map<std::int64_t, std::int64_t> counts;
    std::optional<std::int64_t> most;
    for (const models::TokenInfo& token : tokens) {
      counts[token.id] += std::ranges::count(chosen, token.id) > 0 ? 0 : 1;
    }
    for (const models::TokenInfo& token : tokens) {
      most = counts[token.id] > (most ? counts[*most] : 0) ? token.id : most;
    }
    if (!most) {
      break;
    }
    chosen.push_back(*most);
  }
  return chosen;
}

class ShiftStability final : public MeasuredView<ShiftStabilityKey, Runs> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    LOCUS_CHECK(needs_text_alone(column, info_.title));
    return needs_model(column, info_.title);
  }

 protected:
  Result<ShiftStabilityKey> measure_key(const ViewInput& input, std::size_t column) const override {
    ShiftStabilityKey key;
    const auto by = option<std::int64_t>(input, "by");
    const auto token = option<std::int64_t>(input, "token");
    if (option<std::string>(input, "move") == "ids") {
      key.ids = by;
    } else {
      key.by = by;
      key.tokens = token >= 0 ? std::vector{token} : tokens_in_front(input.columns[column].trace->tokens());
    }
    return key;
  }
  Result<Runs> measure(const ShiftStabilityKey& key, const MeasureContext& context) const override {
    std::vector<models::Move> moves;
    if (key.ids > 0) {
      moves.push_back({.ids = key.ids, .in_front = {}});
    }
    for (const std::int64_t token : key.tokens) {
      moves.push_back({.ids = 0, .in_front = std::vector(static_cast<std::size_t>(key.by), token)});
    }
    Runs runs;
    for (const models::Move& move : moves) {
      const Progress part = [&](const ProgressReport& news) {
        report(context.progress, (static_cast<double>(runs.size()) + news.fraction) / static_cast<double>(moves.size()),
               news.what);
      };
      LOCUS_TRY(Rows rows,
                models::shift_stability(*context.column.model, *context.column.trace, move, context.stop, part));
      runs.push_back(std::move(rows));
    }
    return runs;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  ViewInfo info_ = described({
      .name = "shift-stability",
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
                         "The id of the inserted token; −1: BOS, where the text begins with one, else in turn the "
                         "first token of the text and the two most frequent others, as a mean and a range",
                         -1, -1, 1 << 20, "BOS, or three"),
                   choice("measure", "Attention",
                          "row: the sum of the changes in a row; cell: the mean change of its cells", {"row", "cell"})},
  });
};

double dot_product_of(const models::StabilityRow& row) {
  return row.dot_product_percent.value_or(kNaN);
}
double row_of(const models::StabilityRow& row) {
  return row.attention.row_l1;
}
double cell_of(const models::StabilityRow& row) {
  return row.attention.cell_mean;
}

// A number of every layer over the runs: mean, least and largest.
struct Spread {
  std::vector<double> mean;
  std::vector<double> least;
  std::vector<double> largest;
};
Spread spread_of(const Runs& runs, double (*number)(const models::StabilityRow&), double unit = 1) {
  Spread spread;
  for (std::size_t layer = 0; layer < runs.front().size(); ++layer) {
    std::vector<double> values;
    for (const Rows& rows : runs) {
      values.push_back(unit * number(rows[layer]));
    }
    spread.mean.push_back(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
    spread.least.push_back(*std::min_element(values.begin(), values.end()));
    spread.largest.push_back(*std::max_element(values.begin(), values.end()));
  }
  return spread;
}

// “R”, “e”
std::string names_of(const models::Trace& trace, const std::vector<std::int64_t>& ids) {
  std::string names;
  for (const std::int64_t id : ids) {
    const auto& tokens = trace.tokens();
    const auto token = std::find_if(tokens.begin(), tokens.end(), [&](const auto& each) { return each.id == id; });
    names +=
        (names.empty() ? "“" : ", “") + (token == tokens.end() ? "token " + std::to_string(id) : token->label) + "”";
  }
  return names;
}

// One measure of all columns: bars, and over several runs their ranges.
figure::Panel spread_panel(const ViewInput& input, const std::vector<Spread>& spreads, bool legend) {
  figure::Panel panel;
  Extent extent;
  std::size_t layers = 0;
  std::vector<figure::Curve> ranges;
  for (std::size_t n = 0; n < spreads.size(); ++n) {
    const Spread& spread = spreads[n];
    extent.add(spread.mean);
    extent.add(spread.largest);
    layers = std::max(layers, spread.mean.size());
    panel.layers.emplace_back(grouped_bars(legend ? input.columns[n].name : "", spread.mean, n, spreads.size()));
    for (std::size_t layer = 0; layer < spread.mean.size(); ++layer) {
      if (spread.least[layer] < spread.largest[layer]) {
        const double at = bar_middle(layer, n, spreads.size());
        ranges.push_back(curve_through("", {at, at}, {spread.least[layer], spread.largest[layer]}));
        ranges.back().color = 0x606060FF;
      }
    }
  }
  panel.layers.insert(panel.layers.end(), ranges.begin(), ranges.end());
  panel.x = cells_across("layer", static_cast<std::int64_t>(layers));
  panel.y.view = extent.from_zero();
  // Rounding alone gives changes of 1e-5 and less: they are drawn as the nothing they are.
  panel.y.view.high = std::max(panel.y.view.high, 1e-2);
  return panel;
}

constexpr double kAttentionUnit = 100;  // the axis of attention counts hundredths

// The largest change of every column, over the layers, which the axis gives in hundredths.
std::string largest_changes(const ViewInput& input, const std::vector<Spread>& attention, bool cell) {
  std::string line;
  for (std::size_t n = 0; n < attention.size(); ++n) {
    const auto& means = attention[n].mean;
    const double largest = means.empty() ? 0 : *std::max_element(means.begin(), means.end());
    line += (n == 0 ? "" : ", ") + short_number(largest / kAttentionUnit) +
            (attention.size() > 1 ? " (" + input.columns[n].name + ")" : "");
  }
  const bool means = std::ranges::any_of(attention, [](const Spread& each) { return each.least != each.largest; });
  return (cell ? "cells of attention change " : "rows of attention change ") +
         std::string(means ? "on average by at most " : "by at most ") + line;
}

Result<figure::Figure> ShiftStability::draw(const ViewInput& input, const Numbers& list) const {
  const bool cell = option<std::string>(input, "measure") == "cell";
  const auto by = option<std::int64_t>(input, "by");
  LOCUS_TRY(const ShiftStabilityKey key, measure_key(input, 0));
  std::vector<Spread> attention;
  std::vector<Spread> products;
  Extent any_products;
  for (const auto& runs : list) {
    attention.push_back(spread_of(*runs, cell ? cell_of : row_of, kAttentionUnit));
    products.push_back(spread_of(*runs, dot_product_of));
    any_products.add(products.back().mean);
  }
  figure::Figure figure;
  figure.columns = 2;
  figure.title = key.ids > 0 ? "Position ids start " + std::to_string(by) + " later"
                             : std::to_string(by) + (by == 1 ? " token" : " tokens") + " in front";
  figure.statement = largest_changes(input, attention, cell);
  figure.panels.push_back(spread_panel(input, attention, true));
  figure.panels.back().title = "Attention";
  figure.panels.back().y.label = cell ? "mean |ΔA| of a cell (× 10⁻²)" : "Σ|ΔA| of a row (× 10⁻²)";
  if (!key.tokens.empty()) {
    figure.panels.back().note = "in front: " + names_of(*input.columns.front().trace, key.tokens) +
                                (key.tokens.size() > 1 ? " in turn; bars: mean, lines: least and largest" : "");
  }
  if (!any_products.empty()) {
    figure.panels.push_back(spread_panel(input, products, false));  // the same legend
    figure.panels.back().title = "Dot products of positions";
    figure.panels.back().y.label = "change (%)";
  }
  return figure;
}

Result<Data> ShiftStability::table(const ViewInput& input, const Numbers& list) const {
  std::vector<Series> series;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const auto add = [&](const std::string& what, double (*number)(const models::StabilityRow&)) {
      const std::string name = input.columns[n].name + " " + what;
      const Spread spread = spread_of(*list[n], number);
      series.push_back({name, spread.mean});
      if (list[n]->size() > 1) {
        series.push_back({name + " low", spread.least});
        series.push_back({name + " high", spread.largest});
      }
    };
    add("attention row", row_of);
    add("attention cell", cell_of);
    add("dot product %", dot_product_of);
  }
  return table_of(std::move(series), "layer");
}

}  // namespace

const View& shift_stability_view() {
  return made_once<ShiftStability>();
}

}  // namespace locus::views
