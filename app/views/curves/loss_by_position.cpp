// `loss-by-position`: how well tokens are predicted by how far into a window they stand, over many texts.
#include <algorithm>
#include <cmath>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

// No part of it is chosen: an atlas has one.
struct LossKey {
  friend bool operator==(const LossKey&, const LossKey&) = default;
};

// (T − 1) −log p of token t + 1 given the t + 1 tokens before it, in nats.
struct Losses {
  std::vector<double> mean, low, high;
};
struct LossByPosition : Losses {
  Losses null;          // of shuffled tokens; without entries where the atlas has none
  double shuffled = 0;  // windows
};
std::size_t cached_bytes(const LossByPosition& loss) {
  return sizeof loss + 3 * (views::cached_bytes(loss.mean) + views::cached_bytes(loss.null.mean));
}

class LossView final : public MeasuredView<LossKey, LossByPosition> {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Result<LossKey> measure_key(const ViewInput& /*input*/, std::size_t /*column*/) const override { return LossKey{}; }
  Result<LossByPosition> measure(const LossKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  std::string statement_of(const ViewInput& input, const Numbers& numbers) const;

  ViewInfo info_ = described({
      .name = "loss-by-position",
      .caption = "How well the model predicts a token, depending on how many tokens it has read before it.",
      .shows =
          "The mean loss of the token at each position of a window, over all windows of an atlas, with its 95 % "
          "interval. A curve that falls uses the context before it; where it becomes flat, more context does not help. "
          "The loss of the same tokens in random order can be drawn beside it, dashed.",
      .of_runs = false,
      .of_atlases = true,
      .controls = {toggle("log-position", "Logarithmic", "A logarithmic position axis", true),
                   whole("smooth", "Smooth", "Number of positions that each point is the mean of", 1, 1, 4096),
                   toggle("shuffled", "Shuffled", "The loss of shuffled tokens, dashed", false)},
      .brushes = {{"smooth", "", "smooth"}},
  });
};

Result<LossByPosition> LossView::measure(const LossKey& /*key*/, const MeasureContext& context) const {
  const models::Atlas& atlas = *models::atlas_of(*context.column.trace);
  if (!atlas.has("loss")) {
    return unsupported("the atlas has no loss by position: it was made without");
  }
  report(context.progress, 0, "loss");
  if (context.stop.stop_requested()) {
    return cancelled();
  }
  LOCUS_TRY(models::AtlasValues values, atlas.values("loss", models::kAtlasOfModel));
  if (values.mean.empty()) {
    return unsupported("the atlas has windows of one token, which predict none");
  }
  LossByPosition loss{{std::move(values.mean), std::move(values.low), std::move(values.high)}, {}};
  if (atlas.has("loss", models::AtlasNull::kShuffled)) {
    LOCUS_TRY(models::AtlasValues null, atlas.values("loss", models::kAtlasOfModel, models::AtlasNull::kShuffled));
    loss.null = {std::move(null.mean), std::move(null.low), std::move(null.high)};
    loss.shuffled = null.samples;
  }
  return loss;
}

// 1, 2, …: the position of the predicted token.
std::vector<double> positions_of(std::size_t count) {
  std::vector<double> places = counted(count);
  std::ranges::for_each(places, [](double& place) { place += 1; });
  return places;
}

// "text-rope: 2.43 [2.38, 2.49] at position 1, 1.37 [1.33, 1.41] at 255": the ends of each curve.
std::string LossView::statement_of(const ViewInput& input, const Numbers& numbers) const {
  std::string line;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const LossByPosition& loss = *numbers[n];
    const auto at = [&](std::size_t place) {
      return with_interval(loss.mean[place], loss.low[place], loss.high[place]);
    };
    line += (n > 0 ? "; " : "") + (numbers.size() > 1 ? input.columns[n].name + ": " : std::string("loss ")) + at(0) +
            " at position 1, " + at(loss.mean.size() - 1) + " at " + std::to_string(loss.mean.size());
  }
  return line;
}

// One curve with its band, which `extent` holds.
figure::Curve curve_of(std::string name, const Losses& loss, std::size_t smooth, Extent& extent) {
  figure::Curve curve =
      curve_through(std::move(name), positions_of(loss.mean.size()), running_means(loss.mean, smooth));
  curve.low = running_means(loss.low, smooth);
  curve.high = running_means(loss.high, smooth);
  for (const std::vector<double>* const list : {&curve.y, &curve.low, &curve.high}) {
    extent.add(*list);
  }
  return curve;
}

// "125", "32 to 125": how many windows were shuffled, over all atlases.
template <class Numbers>
std::string short_count(const Numbers& numbers) {
  const auto [least, most] = std::ranges::minmax(numbers_of(numbers, [](const auto& each) { return each->shuffled; }));
  const auto text = [](double count) { return std::to_string(static_cast<std::int64_t>(count)); };
  return least == most ? text(least) : text(least) + " to " + text(most);
}

Result<figure::Figure> LossView::draw(const ViewInput& input, const Numbers& numbers) const {
  const auto smooth = static_cast<std::size_t>(option<std::int64_t>(input, "smooth"));
  figure::Panel panel;
  Extent extent;
  double longest = 2;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const LossByPosition& loss = *numbers[n];
    longest = std::max(longest, static_cast<double>(loss.mean.size() + 1));
    panel.layers.emplace_back(curve_of(input.columns[n].name, loss, smooth, extent));
  }
  for (std::size_t n = 0; n < (option<bool>(input, "shuffled") ? numbers.size() : 0); ++n) {
    if (numbers[n]->null.mean.empty()) {
      return unsupported("the atlas has no loss of shuffled tokens: it was made without").within(input.columns[n].name);
    }
    figure::Curve curve = curve_of(input.columns[n].name + ", shuffled", numbers[n]->null, smooth, extent);
    curve.dashed = true;
    panel.layers.emplace_back(std::move(curve));
  }
  // Losses within a window go together: the interval of their mean is at most as wide as theirs are on average.
  panel.note =
      atlases_note(input, "") +
      (smooth == 1 ? "" : "; means of " + std::to_string(smooth) + " positions, whose interval is at most the band");
  if (option<bool>(input, "shuffled")) {
    panel.note += "; of shuffled tokens over " + short_count(numbers) + " windows";
  }
  panel.x.label = "position of the predicted token";
  panel.x.view = {1, longest};
  panel.x.logarithmic = option<bool>(input, "log-position");
  panel.x.log_base = 2;
  panel.y.label = "loss (nats)";
  panel.y.view = extent.padded();
  figure::Figure figure = figure_of(std::move(panel));
  figure.statement = statement_of(input, numbers);
  return figure;
}

Result<Data> LossView::table(const ViewInput& input, const Numbers& numbers) const {
  std::size_t longest = 0;
  for (const Pointer& loss : numbers) {
    longest = std::max(longest, loss->mean.size());
  }
  std::vector<Series> series{{"position", positions_of(longest)}};
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string& name = input.columns[n].name;
    series.push_back({name + " loss", numbers[n]->mean});
    series.push_back({name + " low", numbers[n]->low});
    series.push_back({name + " high", numbers[n]->high});
    if (const Losses& null = numbers[n]->null; !null.mean.empty()) {
      series.push_back({name + " shuffled", null.mean});
      series.push_back({name + " shuffled low", null.low});
      series.push_back({name + " shuffled high", null.high});
    }
  }
  return table_of(std::move(series));
}

}  // namespace

const View& loss_by_position_view() {
  return made_once<LossView>();
}

}  // namespace locus::views
