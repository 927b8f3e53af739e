// `learned-positions`: where an encoding that computes positions from the text puts each token, a curve a head; or how
// much attention falls at each distance of these positions.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "core/base/order.h"

namespace locus::views {

namespace {

constexpr std::int64_t kPlaceRows = 256;  // of a map that is read

struct PlacesKey {
  std::int64_t layer = 0;
  bool attention = false;
  std::int64_t bins = 0;  // of the attention, as `skip`
  std::int64_t skip = 0;

  friend bool operator==(const PlacesKey&, const PlacesKey&) = default;
};

struct HeadPlaces {
  std::vector<double> places;    // of the tokens
  double reversed = 0;           // share of the pairs of tokens that stand the other way round
  std::vector<double> distance;  // the middles of the ranges of z_i − z_j
  std::vector<double> weight;    // the mean weight of the cells there; NaN where there are none
  std::vector<double> cells;     // how many there are
};
struct Places {
  std::vector<HeadPlaces> heads;
};
std::size_t cached_bytes(const Places& places) {
  std::size_t bytes = sizeof places;
  for (const HeadPlaces& head : places.heads) {
    bytes += sizeof head + sizeof(double) * (head.places.size() + 3 * head.distance.size());
  }
  return bytes;
}

class LearnedPositions final : public MeasuredView<PlacesKey, Places> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override;

 protected:
  Result<PlacesKey> measure_key(const ViewInput& input, std::size_t column) const override {
    const std::int64_t layer = head_of_column(input, column).layer;
    return of_attention(input)
               ? PlacesKey{layer, true, option<std::int64_t>(input, "bins"), option<std::int64_t>(input, "skip-first")}
               : PlacesKey{layer};
  }
  Result<Places> measure(const PlacesKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  bool of_attention(const ViewInput& input) const { return option<std::string>(input, "of") == "attention"; }

  ViewInfo info_ = described({
      .name = "learned-positions",
      .caption = "Where each head of a layer puts the tokens, if the model learns their positions.",
      .shows =
          "RePo's positions z of the tokens, against their index in the text, a curve for each head of the layer. The "
          "model rotates queries and keys by z instead of the index. Where a curve falls, tokens stand in another "
          "order than in the text; where it is flat, they stand together, and the head sees their contents alone. Or "
          "the mean attention weight over the distance z_i − z_j from key to query.",
      .uses_layer = true,
      .uses_head = true,
      .needs_text = true,
      .controls = {choice("of", "Shown",
                          "positions: where each token stands; attention: the mean weight by the distance of positions",
                          {"positions", "attention"}),
                   whole("bins", "Ranges", "Attention: number of ranges of distance", 24, 2, 256),
                   whole("skip-first", "Leave out first keys", "Attention: number of first keys that are left out", 0,
                         0, 4096),
                   toggle("head", "Chosen head alone", "Show the chosen head without the others", false),
                   toggle("index", "Index", "Draw the index of the tokens, dashed", false)},
  });
};

Status LearnedPositions::fits(const Column& column) const {
  LOCUS_CHECK(View::fits(column));
  return column.trace->model().learns_positions()
             ? Status()
             : unsupported(info().title + " are RePo's; " + column.name + " learns none");
}

// Cells by the distance of their positions, in ranges of one width from the least to the largest.
class CellsByDistance {
 public:
  CellsByDistance(double least, double largest, std::int64_t count)
      : least_(least),
        width_(largest > least ? (largest - least) / static_cast<double>(count) : 1),
        sums_(largest > least ? static_cast<std::size_t>(count) : 1),
        cells_(sums_.size()) {}

  void add(double distance, double weight) {
    const auto range = std::min(static_cast<std::size_t>((distance - least_) / width_), sums_.size() - 1);
    sums_[range] += weight;
    ++cells_[range];
  }
  void write(HeadPlaces& head) const {
    for (std::size_t n = 0; n < sums_.size(); ++n) {
      head.distance.push_back(sums_.size() == 1 ? least_ : least_ + (static_cast<double>(n) + 0.5) * width_);
      head.weight.push_back(sums_[n] / cells_[n]);
      head.cells.push_back(cells_[n]);
    }
  }

 private:
  double least_;
  double width_;
  std::vector<double> sums_;
  std::vector<double> cells_;
};

// Fills the weights of a head by the distances of its places. Errors: those of the trace.
Status add_attention(const PlacesKey& key, std::int64_t head, const MeasureContext& context, HeadPlaces& made) {
  const models::Trace& trace = *context.column.trace;
  const auto length = static_cast<std::int64_t>(made.places.size());
  const auto each = [&](const auto& visit) -> Status {
    for (std::int64_t begin = 0; begin < length; begin += kPlaceRows) {
      models::MapRequest request{
          key.layer, head, models::Quantity::kWeight, {begin, std::min(begin + kPlaceRows, length)}, {}, true};
      LOCUS_TRY(const Field map, trace.map(request, context.stop));
      for (std::int64_t row = 0; row < map.rows; ++row) {
        for (std::int64_t k = key.skip; k < map.columns; ++k) {
          const auto weight = static_cast<double>(map.at(row, k));
          if (!std::isnan(weight)) {
            visit(made.places[static_cast<std::size_t>(begin + row)] - made.places[static_cast<std::size_t>(k)],
                  weight);
          }
        }
      }
    }
    return {};
  };
  std::optional<double> least;
  double largest = 0;
  LOCUS_CHECK(each([&](double distance, double /*weight*/) {
    largest = least ? std::max(largest, distance) : distance;
    least = least ? std::min(*least, distance) : distance;
  }));
  if (!least) {
    return {};  // all keys are left out
  }
  CellsByDistance cells(*least, largest, key.bins);
  LOCUS_CHECK(each([&](double distance, double weight) { cells.add(distance, weight); }));
  cells.write(made);
  return {};
}

Result<Places> LearnedPositions::measure(const PlacesKey& key, const MeasureContext& context) const {
  LOCUS_TRY(const Field field,
            context.column.trace->state_numbers(key.layer, models::StateNumber::kPosition, context.stop));
  Places made;
  for (std::int64_t head = 0; head < field.rows; ++head) {
    const auto begin = field.values.begin() + head * field.columns;
    HeadPlaces own;
    own.places.assign(begin, begin + field.columns);
    own.reversed = reversed_pairs(own.places);
    if (key.attention) {
      report(context.progress, static_cast<double>(head) / static_cast<double>(field.rows),
             "head " + head_name(key.layer, head));
      LOCUS_CHECK(add_attention(key, head, context, own));
    }
    made.heads.push_back(std::move(own));
  }
  return made;
}

// The heads that are drawn, and those that the statement is about: the chosen one, or all.
Range shown_heads(const ViewInput& input, std::size_t column, const Places& places, bool alone) {
  const auto count = static_cast<std::int64_t>(places.heads.size());
  const HeadRef chosen = head_of_column(input, column);
  return alone && chosen.head >= 0 && chosen.head < count ? Range{chosen.head, chosen.head + 1} : Range{0, count};
}

// "head 2.1 reverses 23 % of the pairs of tokens, most of 4 heads; its positions span 3.4 over 54 tokens".
std::string order_line(std::int64_t layer, const Places& places, const Range& heads) {
  const auto of = [&](std::int64_t head) { return places.heads[static_cast<std::size_t>(head)].reversed; };
  std::int64_t most = heads.begin;
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    most = of(head) > of(most) ? head : most;
  }
  const std::vector<double>& own = places.heads[static_cast<std::size_t>(most)].places;
  const auto [least, largest] = std::ranges::minmax(own);
  const std::string span =
      "; its positions span " + short_number(largest - least) + " over " + std::to_string(own.size()) + " tokens";
  if (of(most) == 0) {
    return heads.size() == 1 ? "head " + head_name(layer, most) + " keeps the order of the text" + span
                             : "all " + std::to_string(heads.size()) + " heads keep the order of the text";
  }
  return "head " + head_name(layer, most) + " reverses " + short_number(100 * of(most)) + " % of the pairs of tokens" +
         (heads.size() > 1 ? ", the most of " + std::to_string(heads.size()) + " heads" : "") + span;
}

// "head 2.1 gives most at a distance of 3.4: mean weight 0.12".
std::string attention_line(std::int64_t layer, const Places& places, const Range& heads) {
  std::string line;
  double most = -1;
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    const HeadPlaces& own = places.heads[static_cast<std::size_t>(head)];
    for (std::size_t n = 0; n < own.weight.size(); ++n) {
      if (own.weight[n] > most) {
        most = own.weight[n];
        line = "head " + head_name(layer, head) + " gives most at a distance of " + short_number(own.distance[n]) +
               " of its positions: a mean weight of " + short_number(most);
      }
    }
  }
  return line.empty() ? "nothing is left: all keys are left out" : line;
}

Result<figure::Figure> LearnedPositions::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool alone = option<bool>(input, "head");
  const bool attention = of_attention(input);
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Column& column = input.columns[n];
    const Range heads = shown_heads(input, n, *numbers[n], alone);
    figure::Panel panel;
    const std::int64_t layer = head_of_column(input, n).layer;
    name_after(column, panel, ", layer " + std::to_string(layer));
    Extent across;
    Extent up;
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      const HeadPlaces& own = numbers[n]->heads[static_cast<std::size_t>(head)];
      const std::string name = "head " + head_name(layer, head);
      add_curve(attention ? curve_through(name, own.distance, own.weight)
                          : curve_through(name, counted(own.places.size()), own.places),
                across, up, panel);
    }
    if (!attention && option<bool>(input, "index") && heads.size() > 0) {
      const std::vector<double> index = counted(numbers[n]->heads.front().places.size());
      figure::Curve line = curve_through("index", index, index);
      line.dashed = true;
      line.color = 0x808080FF;
      add_curve(std::move(line), across, up, panel);
    }
    panel.x.label = attention ? "distance of positions, query less key" : "token";
    panel.x.view = across.padded();
    panel.y.label = attention ? "mean attention weight" : "position";
    panel.y.view = attention ? up.from_zero() : up.padded();
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    const std::int64_t layer = head_of_column(input, n).layer;
    const Range heads = shown_heads(input, n, *numbers[n], alone);
    return attention ? attention_line(layer, *numbers[n], heads) : order_line(layer, *numbers[n], heads);
  });
  return figure;
}

Result<Data> LearnedPositions::table(const ViewInput& input, const Numbers& numbers) const {
  std::vector<Series> series;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string before = numbers.size() > 1 ? input.columns[n].name + " " : "";
    const std::int64_t layer = head_of_column(input, n).layer;
    for (std::size_t head = 0; head < numbers[n]->heads.size(); ++head) {
      const std::string name = before + "head " + head_name(layer, static_cast<std::int64_t>(head));
      const HeadPlaces& own = numbers[n]->heads[head];
      if (of_attention(input)) {
        series.push_back({name + " distance", own.distance});
        series.push_back({name + " weight", own.weight});
        series.push_back({name + " cells", own.cells});
      } else {
        series.push_back({name, own.places});
      }
    }
  }
  return table_of(std::move(series), of_attention(input) ? "range" : "token");
}

}  // namespace

const View& learned_positions_view() {
  return made_once<LearnedPositions>();
}

}  // namespace locus::views
