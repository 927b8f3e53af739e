// `learned-positions`: where an encoding that computes positions from the text puts each token, a curve a head.
#include <algorithm>
#include <cmath>
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

struct PlacesKey {
  std::int64_t layer = 0;

  friend bool operator==(const PlacesKey&, const PlacesKey&) = default;
};

struct HeadPlaces {
  std::vector<double> places;  // of the tokens
  double reversed = 0;         // share of the pairs of tokens that stand the other way round
};
struct Places {
  std::vector<HeadPlaces> heads;
};
std::size_t cached_bytes(const Places& places) {
  std::size_t bytes = sizeof places;
  for (const HeadPlaces& head : places.heads) {
    bytes += sizeof head + views::cached_bytes(head.places);
  }
  return bytes;
}

class LearnedPositions final : public MeasuredView<PlacesKey, Places> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override;

 protected:
  Result<PlacesKey> measure_key(const ViewInput& input, std::size_t column) const override {
    return PlacesKey{head_of_column(input, column).layer};
  }
  Result<Places> measure(const PlacesKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_ = described({
      .name = "learned-positions",
      .caption = "Where each head of a layer puts the tokens, if the model learns their positions.",
      .shows =
          "RePo's positions z of the tokens, against their index in the text, a curve for each head of the layer. The "
          "model rotates queries and keys by z instead of the index. Where a curve falls, tokens stand in another "
          "order "
          "than in the text; where it is flat, they stand together, and the head sees their contents alone.",
      .uses_layer = true,
      .uses_head = true,
      .needs_text = true,
      .controls = {toggle("head", "Chosen head alone", "Show the chosen head without the others", false),
                   toggle("index", "Index", "Draw the index of the tokens, dashed", false)},
  });
};

Status LearnedPositions::fits(const Column& column) const {
  LOCUS_CHECK(View::fits(column));
  return column.trace->model().learns_positions()
             ? Status()
             : unsupported(info().title + " are RePo's; " + column.name + " learns none");
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

Result<figure::Figure> LearnedPositions::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool alone = option<bool>(input, "head");
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
      const std::vector<double>& places = numbers[n]->heads[static_cast<std::size_t>(head)].places;
      add_curve(curve_through("head " + head_name(layer, head), counted(places.size()), places), across, up, panel);
    }
    if (option<bool>(input, "index") && heads.size() > 0) {
      const std::vector<double> index = counted(numbers[n]->heads.front().places.size());
      figure::Curve line = curve_through("index", index, index);
      line.dashed = true;
      line.color = 0x808080FF;
      add_curve(std::move(line), across, up, panel);
    }
    panel.x.label = "token";
    panel.x.view = across.padded();
    panel.y.label = "position";
    panel.y.view = up.padded();
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    return order_line(head_of_column(input, n).layer, *numbers[n], shown_heads(input, n, *numbers[n], alone));
  });
  return figure;
}

Result<Data> LearnedPositions::table(const ViewInput& input, const Numbers& numbers) const {
  std::vector<Series> series;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string before = numbers.size() > 1 ? input.columns[n].name + " " : "";
    const std::int64_t layer = head_of_column(input, n).layer;
    for (std::size_t head = 0; head < numbers[n]->heads.size(); ++head) {
      series.push_back(
          {before + "head " + head_name(layer, static_cast<std::int64_t>(head)), numbers[n]->heads[head].places});
    }
  }
  return table_of(std::move(series), "token");
}

}  // namespace

const View& learned_positions_view() {
  return made_once<LearnedPositions>();
}

}  // namespace locus::views
