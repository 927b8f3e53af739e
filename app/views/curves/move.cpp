// `move`: the effect of moving some tokens to other positions.
#include <algorithm>
#include <cmath>
#include <optional>

#include "app/views/controls.h"
#include "app/views/list.h"
#include "app/views/measured_view.h"
#include "core/base/numbers.h"
#include "models/move_curve.h"

namespace locus::views {

namespace {

using MovePoints = std::vector<models::MovePoint>;

constexpr double kMostRuns = 4096;

struct MoveAsk {
  Range tokens;
  double from = 0;
  double to = 0;
  double step = 1;
};

class Move final : public MeasuredView<MoveAsk, MovePoints> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override { return needs_model(column, info_.title); }

 protected:
  Result<MoveAsk> ask(const ViewInput& input, std::size_t column) const override;
  Result<MovePoints> measure(const MoveAsk& ask, const Work& work) const override {
    std::vector<double> by;
    const auto count = static_cast<std::int64_t>(std::floor((ask.to - ask.from) / ask.step + 1e-9)) + 1;
    for (std::int64_t n = 0; n < count; ++n) {
      by.push_back(ask.from + static_cast<double>(n) * ask.step);
    }
    return models::move_curve(*work.column.model, *work.column.trace, ask.tokens, by, work.stop, work.progress);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_{
      .name = "move",
      .title = "Move",
      .shows =
          "What happens to the prediction when some tokens are moved to other positions: their ids change, what they "
          "may see does not. Every point is a run of its own.",
      .look_for =
          "A flat line: the encoding, or this text, does not care where the tokens stand. A cliff at a small shift: "
          "something looks a fixed number of positions back. Ripples: rotary pairs that come round again.",
      .paper = "",
      .controls = {words("tokens", "Tokens",
                         "a:b, the tokens that move, b not among them; empty: the one in the middle"),
                   words("by", "By", "from:to:step of the shift; empty: -16:16:1"),
                   choice("measure", "Measure", "kl: KL(untouched ‖ moved); loss: of the actual next tokens",
                          {"kl", "loss"})},
  };
};

// The numbers between colons.
std::vector<std::optional<double>> numbers_of(const std::string& text) {
  std::vector<std::optional<double>> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    list.push_back(parse_number<double>(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return list;
}

Result<MoveAsk> Move::ask(const ViewInput& input, std::size_t column) const {
  const models::Trace& trace = *input.columns[column].trace;
  LOCUS_TRY(const std::string tokens, input.options.text("tokens", ""));
  LOCUS_TRY(const std::string by, input.options.text("by", ""));
  const std::int64_t movable = trace.length() - trace.image_grid().cls - trace.image_grid().registers;
  MoveAsk ask{{movable / 2, movable / 2 + 1}, -16, 16, 1};
  if (!tokens.empty()) {
    const auto range = numbers_of(tokens);
    const bool fits = range.size() == 2 && range[0] && range[1] && *range[0] >= 0 && *range[0] < *range[1] &&
                      *range[1] <= static_cast<double>(movable) && std::floor(*range[0]) == *range[0] &&
                      std::floor(*range[1]) == *range[1];
    if (!fits) {
      return usage("option tokens: expected a:b within 0 to " + std::to_string(movable) + ", found " + tokens);
    }
    ask.tokens = {static_cast<std::int64_t>(*range[0]), static_cast<std::int64_t>(*range[1])};
  }
  if (!by.empty()) {
    const auto range = numbers_of(by);
    const bool fits = (range.size() == 2 || range.size() == 3) && range[0] && range[1] && range.back() &&
                      *range[0] <= *range[1] && (range.size() == 2 || *range[2] > 0) &&
                      (*range[1] - *range[0]) / (range.size() == 3 ? *range[2] : 1) <= kMostRuns;
    if (!fits) {
      return usage("option by: expected from:to:step with from ≤ to and at most " + general_text(kMostRuns, 4) +
                   " steps above 0, found " + by);
    }
    ask.from = *range[0];
    ask.to = *range[1];
    ask.step = range.size() == 3 ? *range[2] : 1;
  }
  return ask;
}

Result<figure::Figure> Move::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::string measure, input.options.text("measure", "kl"));
  LOCUS_TRY(const MoveAsk asked, ask(input, 0));
  figure::Panel panel;
  Extent x;
  Extent y;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    figure::Curve curve;
    curve.name = input.columns[n].name;
    for (const models::MovePoint& point : *numbers[n]) {
      curve.x.push_back(point.by);
      curve.y.push_back(measure == "kl" ? point.kl : point.loss);
      x.add(curve.x.back());
      y.add(curve.y.back());
    }
    panel.layers.emplace_back(std::move(curve));
  }
  panel.layers.emplace_back(figure::Marker{figure::Marker::Direction::kVertical, 0, "where it was", 0, true});
  panel.x.label = "shift (positions)";
  panel.x.view = x.padded(0.02);
  panel.y.label = measure == "kl" ? "mean KL (nats)" : "loss (nats a token)";
  panel.y.view = measure == "kl" ? y.from_zero() : y.padded(0.1);
  std::string moved;
  const auto& tokens = input.columns.front().trace->tokens();
  for (std::int64_t n = asked.tokens.begin; n < std::min(asked.tokens.end, asked.tokens.begin + 8); ++n) {
    moved += (moved.empty() ? "" : " ") + tokens[static_cast<std::size_t>(n)].label;
  }
  panel.note = "moves " + std::to_string(asked.tokens.begin) + ":" + std::to_string(asked.tokens.end) +
               (input.columns.front().trace->model().image ? "" : ", " + moved);
  figure::Figure figure;
  figure.panels.push_back(std::move(panel));
  return figure;
}

Result<Data> Move::table(const ViewInput& /*input*/, const Numbers& numbers) const {
  std::vector<Series> series{{"by", {}}, {"kl", {}}, {"loss", {}}};
  for (const models::MovePoint& point : *numbers.front()) {
    series[0].values.push_back(point.by);
    series[1].values.push_back(point.kl);
    series[2].values.push_back(point.loss);
  }
  return table_of(series);
}

}  // namespace

const View& move_view() {
  static const Move view;
  return view;
}

}  // namespace locus::views
