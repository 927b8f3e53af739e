// `move`: the effect of moving some tokens to other positions: a curve over the shift, or a map of tokens × shifts.
#include <algorithm>
#include <cmath>
#include <optional>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/move_curve.h"

namespace locus::views {

namespace {

// Rows of points: one of all tokens that move together, or one of each that moves alone.
using MoveRows = std::vector<std::vector<models::MovePoint>>;

constexpr double kMaxRuns = 4096;
constexpr std::int64_t kMapTokens = 24;  // of a map without a choice: the last ones

struct MoveKey {
  Range tokens;
  double from = 0;
  double to = 0;
  double step = 1;
  bool each = false;        // token by token
  bool outputs = true;      // of what the model says; otherwise
  std::int64_t layer = -1;  // of this head's weight
  std::int64_t head = 0;

  friend bool operator==(const MoveKey&, const MoveKey&) = default;
};

class Move final : public MeasuredView<MoveKey, MoveRows> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override { return needs_model(column, info_.title); }

 protected:
  Result<MoveKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<MoveRows> measure(const MoveKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  Result<figure::Figure> draw_maps(const ViewInput& input, const Numbers& numbers) const;

  ViewInfo info_ = described({
      .name = "move",
      .caption = "How the prediction or a head's weight changes when some tokens are moved to other positions.",
      .shows =
          "How the prediction changes when some tokens are moved to other positions: their position ids change, what "
          "they can see does not. Every point of the curve, and every cell of the map, is a separate run.",
      .uses_layer = true,
      .uses_head = true,
      .controls = {words("tokens", "Tokens",
                         "The tokens to move, a:b, b excluded; empty: the middle token, or for a map the last 24",
                         "in the middle; a:b"),
                   words("by", "By", "The shifts, from:to:step; empty: -16:16:1", "-16:16:1"),
                   choice("as", "Show as",
                          "curve: the tokens move together; map: each token moves alone, tokens × shifts",
                          {"curve", "map"}),
                   choice("measure", "Measure",
                          "kl: KL(unmoved ‖ moved); loss: the loss of the actual next tokens; weight: the weight "
                          "that the last query gives the moved tokens in the chosen head",
                          {"kl", "loss", "weight"})},
  });
};

Result<MoveKey> Move::measure_key(const ViewInput& input, std::size_t column) const {
  const models::Trace& trace = *input.columns[column].trace;
  const auto tokens = option<std::string>(input, "tokens");
  const auto by = option<std::string>(input, "by");
  const models::ImageGrid& grid = trace.image_grid();
  const std::int64_t movable = grid.rows > 0 ? grid.patches().size() : trace.length();
  MoveKey key;
  key.each = option<std::string>(input, "as") == "map";
  key.tokens =
      key.each ? Range{std::max<std::int64_t>(movable - kMapTokens, 0), movable} : Range{movable / 2, movable / 2 + 1};
  key.from = -16;
  key.to = 16;
  if (option<std::string>(input, "measure") == "weight") {
    const auto [layer, head] = head_of_column(input, column);
    key.outputs = false;
    key.layer = layer;
    key.head = head;
  }
  if (!tokens.empty()) {
    const auto range = parse_numbers<double>(split(tokens, ":"));
    const bool fits = range && range->size() == 2 && (*range)[0] >= 0 && (*range)[0] < (*range)[1] &&
                      (*range)[1] <= static_cast<double>(movable) && std::floor((*range)[0]) == (*range)[0] &&
                      std::floor((*range)[1]) == (*range)[1];
    if (!fits) {
      return usage("option tokens: expected a:b within 0 to " + std::to_string(movable) + ", found " + tokens);
    }
    key.tokens = {static_cast<std::int64_t>((*range)[0]), static_cast<std::int64_t>((*range)[1])};
  }
  if (!by.empty()) {
    auto range = parse_numbers<double>(split(by, ":"));
    if (range && range->size() == 2) {
      range->push_back(1);
    }
    const bool fits = range && range->size() == 3 && (*range)[0] <= (*range)[1] && (*range)[2] > 0 &&
                      ((*range)[1] - (*range)[0]) / (*range)[2] <= kMaxRuns;
    if (!fits) {
      return usage("option by: expected from:to:step with from ≤ to and at most " + general_text(kMaxRuns, 4) +
                   " steps above 0, found " + shown(by));
    }
    key.from = (*range)[0];
    key.to = (*range)[1];
    key.step = (*range)[2];
  }
  const double runs = (std::floor((key.to - key.from) / key.step) + 1) * static_cast<double>(key.tokens.size());
  if (key.each && runs > kMaxRuns) {
    return usage("move: expected at most " + general_text(kMaxRuns, 4) + " runs, found " + general_text(runs, 7) +
                 "; choose fewer tokens, or a larger step");
  }
  return key;
}

Result<MoveRows> Move::measure(const MoveKey& key, const MeasureContext& context) const {
  models::MoveOptions options;
  options.tokens = key.tokens;
  options.outputs = key.outputs;
  options.layer = key.layer;
  options.head = key.head;
  const auto count = static_cast<std::int64_t>(std::floor((key.to - key.from) / key.step + 1e-9)) + 1;
  for (std::int64_t n = 0; n < count; ++n) {
    options.by.push_back(key.from + static_cast<double>(n) * key.step);
  }
  if (key.each) {
    return models::move_map(*context.column.model, *context.column.trace, options, context.stop, context.progress);
  }
  LOCUS_TRY(std::vector<models::MovePoint> curve,
            models::move_curve(*context.column.model, *context.column.trace, options, context.stop, context.progress));
  return MoveRows{std::move(curve)};
}

std::vector<double> values_of(const std::vector<models::MovePoint>& points, const std::string& measure) {
  return numbers_of(points, measure == "weight" ? &models::MovePoint::weight
                            : measure == "loss" ? &models::MovePoint::loss
                                                : &models::MovePoint::kl);
}

std::string measure_label(const std::string& measure) {
  return measure == "weight" ? "weight from the last query"
         : measure == "loss" ? "loss (nats a token)"
                             : "mean KL (nats)";
}

// "text-rope", "text-rope · layer 0, head 3".
std::string moved_name(const ViewInput& input, std::size_t column, const MoveKey& key) {
  return input.columns[column].name +
         (key.layer < 0 ? "" : " · " + head_label(input.columns[column].trace->model(), key.layer, key.head));
}

// (tokens, shifts) of one measure.
Field map_of_moves(const MoveRows& rows, const MoveKey& key, const std::string& measure) {
  Field field = Field::zeros(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size()));
  field.row_axis = {"token", "token", static_cast<double>(key.tokens.begin), 1};
  field.column_axis = {"shift", "positions", key.from, key.step};
  field.quantity = measure;
  auto to = field.values.begin();
  for (const std::vector<models::MovePoint>& row : rows) {
    const std::vector<double> values = values_of(row, measure);
    to = std::transform(values.begin(), values.end(), to, [](double value) { return static_cast<float>(value); });
  }
  return field;
}

// "weight from the last query from 0.0009 to 0.017, the largest where token 11 “b” is moved by 0".
std::string moves_line(const Field& field, const std::vector<std::string>& labels, const std::string& quantity) {
  const auto [low, high] = finite_range(field);
  const auto largest = static_cast<std::int64_t>(std::ranges::find(field.values, high) - field.values.begin());
  if (largest == std::ssize(field.values)) {
    return {};
  }
  const auto token = static_cast<std::size_t>(field.row_axis.first) + static_cast<std::size_t>(largest / field.columns);
  const double by = field.column_axis.first + field.column_axis.step * static_cast<double>(largest % field.columns);
  const std::string range =
      quantity + " from " + short_number(static_cast<double>(low)) + " to " + short_number(static_cast<double>(high));
  if (const auto ties = std::ranges::count(field.values, high); ties > 1) {
    return range + ", the largest in " + std::to_string(ties) + " cells";
  }
  return range + ", the largest where token " + std::to_string(token) + " “" + labels[token] + "” is moved by " +
         place_text({}, by);
}

Result<figure::Figure> Move::draw_maps(const ViewInput& input, const Numbers& numbers) const {
  const auto measure = option<std::string>(input, "measure");
  std::vector<MoveKey> keys;
  Fields fields;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    LOCUS_TRY(keys.emplace_back(), measure_key(input, n));
    fields.push_back(std::make_shared<const Field>(map_of_moves(*numbers[n], keys[n], measure)));
  }
  figure::Figure figure = figure_across(numbers.size());
  figure.statement = about_columns(input, [&](std::size_t n) {
    return moves_line(*fields[n], token_labels(*input.columns[n].trace), measure_label(measure));
  });
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Field& field = *fields[n];
    const Range& tokens = keys[n].tokens;
    const models::Trace& trace = *input.columns[n].trace;
    const std::vector<std::string> labels = token_labels(trace);
    const auto first = labels.begin() + trace.image_grid().prefix();
    figure::Panel panel;
    panel.names = {input.columns[n].name};
    panel.title = moved_name(input, n, keys[n]);
    panel.x.label = "shift (positions)";
    panel.x.view = {keys[n].from, keys[n].from + keys[n].step * static_cast<double>(field.columns)};
    panel.y = {.label = trace.model().image ? "moved patch" : "moved token",
               .view = {static_cast<double>(tokens.end), static_cast<double>(tokens.begin)},
               .cell_names = shared_names({first, first + tokens.end})};
    panel.layers.emplace_back(
        figure::HeatMap{fields[n], scale_of(input, measure == "loss" ? Sign::kAny : Sign::kPositive, fields, n)});
    if (keys[n].from <= 0 && keys[n].to >= 0) {  // where they stood
      panel.layers.emplace_back(figure::Box{{0, keys[n].step}, {panel.y.view.high, panel.y.view.low}, 0});
    }
    panel.color_bar_label = measure_label(measure);
    panel.note = "framed: where they stand";
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

Result<figure::Figure> Move::draw(const ViewInput& input, const Numbers& numbers) const {
  const auto measure = option<std::string>(input, "measure");
  LOCUS_TRY(const MoveKey key, measure_key(input, 0));
  if (key.each) {
    return draw_maps(input, numbers);
  }
  figure::Panel panel;
  Extent x;
  Extent y;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    LOCUS_TRY(const MoveKey own, measure_key(input, n));
    const std::vector<models::MovePoint>& points = numbers[n]->front();
    add_curve(curve_through(moved_name(input, n, own), numbers_of(points, &models::MovePoint::by),
                            values_of(points, measure)),
              x, y, panel);
  }
  panel.layers.emplace_back(vertical_line(0, "where it was"));
  panel.x.label = "shift (positions)";
  panel.x.view = x.padded(0.02);
  panel.y.label = measure_label(measure);
  panel.y.view = measure == "loss" ? y.padded(0.1) : y.from_zero();
  std::string moved;
  const auto& tokens = input.columns.front().trace->tokens();
  for (std::int64_t n = key.tokens.begin; n < std::min(key.tokens.end, key.tokens.begin + 8); ++n) {
    moved += (moved.empty() ? "" : " ") + tokens[static_cast<std::size_t>(n)].label;
  }
  panel.note = "moves " + std::to_string(key.tokens.begin) + ":" + std::to_string(key.tokens.end) +
               (input.columns.front().trace->model().image ? "" : ", " + moved);
  return figure_of(std::move(panel));
}

Result<Data> Move::table(const ViewInput& input, const Numbers& numbers) const {
  const auto measure = option<std::string>(input, "measure");
  LOCUS_TRY(const MoveKey key, measure_key(input, 0));
  if (key.each) {
    const Field field = map_of_moves(*numbers.front(), key, measure);
    return Data{{field.rows, field.columns}, field.values, {}};
  }
  const std::vector<models::MovePoint>& points = numbers.front()->front();
  std::vector<Series> series{{"by", numbers_of(points, &models::MovePoint::by)}};
  using Measures = std::vector<std::string>;
  for (const std::string& each : key.layer >= 0 ? Measures{"weight"} : Measures{"kl", "loss"}) {
    series.push_back({each, values_of(points, each)});
  }
  return table_of(series);
}

}  // namespace

const View& move_view() {
  return made_once<Move>();
}

}  // namespace locus::views
