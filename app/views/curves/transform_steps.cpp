// `transform-steps`: what each token between one key and one query does to the key and to their logit.
#include "models/api/transform_steps.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"

namespace locus::views {

namespace {

struct TransformKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;

  friend bool operator==(const TransformKey&, const TransformKey&) = default;
};

struct CarriedKey : models::TransformSteps {
  TransformKey at;
};
std::size_t cached_bytes(const CarriedKey& carried) {
  return sizeof carried + 5 * sizeof(double) * carried.change.size();
}

class TransformStepsView final : public MeasuredView<TransformKey, CarriedKey> {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    return needs_transforms(column, info_.title);
  }
  Result<TransformKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<CarriedKey> measure(const TransformKey& key, const MeasureContext& context) const override {
    CarriedKey made;
    LOCUS_TRY(static_cast<models::TransformSteps&>(made),
              models::transform_steps(*context.column.trace, key.layer, key.head, key.query, key.key, context.stop));
    made.at = key;
    return made;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_ = described({
      .name = "transform-steps",
      .caption = "One query and one key: what each token between them changes of the key and the score.",
      .shows =
          "What the tokens between one key and one query do in PaTH: how much the logit would differ without each, how "
          "strongly each acts (1 erases what the key has along the token's direction, 2 mirrors it), and how far the "
          "key is carried: its cosine with what it was, and the determinant of all changes up to there. By default "
          "the last query, and the first key that it sees.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .controls = {},
  });
};

// The first key that a query sees.
std::int64_t first_seen_key(const models::ModelInfo& model, std::int64_t layer, std::int64_t query) {
  const auto n = static_cast<std::size_t>(layer);
  const std::int64_t window = n < model.layer_info.size() ? model.layer_info[n].window : 0;
  const std::int64_t chunk = n < model.layer_info.size() ? model.layer_info[n].chunk : 0;
  const std::int64_t of_window = window > 0 ? query - window + 1 : 0;
  return std::max({std::int64_t{0}, of_window, chunk > 0 ? query / chunk * chunk : 0});
}

Result<TransformKey> TransformStepsView::measure_key(const ViewInput& input, std::size_t column) const {
  LOCUS_CHECK(needs_one_head(input));
  const HeadRef head = head_of_column(input, column);
  const Column& own = input.columns[column];
  const std::int64_t last = own.trace->length() - 1;
  TransformKey at{head.layer, head.head, input.query.chosen() ? query_of(input, own) : last, kNone};
  if (at.query != kNone) {
    at.key =
        input.key.chosen() ? own_key(input, input.key, own) : first_seen_key(own.trace->model(), head.layer, at.query);
  }
  if (at.query == kNone || at.key == kNone || at.key > at.query) {
    return usage("transform-steps: " + own.name + " has tokens 0 to " + std::to_string(last) +
                 ", none of them for query " + std::to_string(input.query.index) + " and a key " +
                 std::to_string(input.key.index) + " that is not after it");
  }
  return at;
}

// Places of the tokens on the axis of cells.
std::vector<double> cell_middles(std::size_t count) {
  std::vector<double> x = counted(count);
  for (double& each : x) {
    each += 0.5;
  }
  return x;
}

figure::Panel panel_over_tokens(const CarriedKey& carried, const Column& column, std::string label) {
  const std::vector<std::string> all = token_labels(*column.trace);
  std::vector<std::string> names(all.begin() + carried.at.key, all.begin() + carried.at.query + 1);
  figure::Panel panel;
  panel.follows_camera = false;
  const auto count = static_cast<std::int64_t>(names.size());
  panel.x = cells_across("token", count, shared_names(std::move(names)));
  panel.y.label = std::move(label);
  return panel;
}

// "logit 1.2", "logit without forget gates 1.2".
std::string logit_text(const CarriedKey& carried, const Column& column) {
  return std::string(column.trace->model().forgets() ? "logit without forget gates " : "logit ") +
         short_number(carried.logit);
}

figure::Panel change_panel(const CarriedKey& carried, const Column& column) {
  figure::Panel panel = panel_over_tokens(carried, column, "change of the logit");
  Extent extent;
  extent.add(0);
  extent.add(carried.change);
  panel.y.view = extent.padded();
  panel.layers.emplace_back(grouped_bars("change", carried.change, 0, 1));
  panel.layers.emplace_back(horizontal_line(0));
  panel.note = logit_text(carried, column) + ", " + short_number(carried.content) + " if no token changed the key";
  return panel;
}

figure::Panel strength_panel(const CarriedKey& carried, const Column& column) {
  figure::Panel panel = panel_over_tokens(carried, column, "strength β");
  panel.y.view = {0, 2.1};
  panel.layers.emplace_back(curve_through("", cell_middles(carried.strength.size()), carried.strength));
  panel.layers.emplace_back(horizontal_line(1, "erases"));
  panel.layers.emplace_back(horizontal_line(2, "mirrors"));
  return panel;
}

figure::Panel carried_panel(const CarriedKey& carried, const Column& column) {
  figure::Panel panel = panel_over_tokens(carried, column, "of the key up to here");
  panel.y.view = {-1.05, 1.05};
  const std::vector<double> x = cell_middles(carried.carried.size());
  panel.layers.emplace_back(curve_through("cosine with the key as it was", x, carried.carried));
  figure::Curve determinant = curve_through("determinant", x, carried.determinant);
  determinant.dashed = true;
  panel.layers.emplace_back(std::move(determinant));
  panel.layers.emplace_back(horizontal_line(0));
  return panel;
}

std::string named_token(const Column& column, std::int64_t token) {
  return "token " + std::to_string(token) + " \"" + column.trace->tokens()[static_cast<std::size_t>(token)].label +
         "\"";
}

// "logit 1.2, −0.31 if no token changed the key; token 7 "e" changes it most, by 0.84; the key arrives with a cosine of
// 0.12".
std::string steps_line(const CarriedKey& carried, const Column& column) {
  std::string line = logit_text(carried, column);
  if (carried.change.size() < 2) {
    return line + ": nothing stands between a token and itself";
  }
  const auto most = std::max_element(carried.change.begin() + 1, carried.change.end(),
                                     [](double a, double b) { return std::abs(a) < std::abs(b); });
  return line + ", " + short_number(carried.content) + " if no token changed the key; " +
         named_token(column, carried.at.key + (most - carried.change.begin())) + " changes it most, by " +
         short_number(*most) + "; the key arrives with a cosine of " + short_number(carried.carried.back()) +
         " to what it was";
}

Result<figure::Figure> TransformStepsView::draw(const ViewInput& input, const Numbers& numbers) const {
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Column& column = input.columns[n];
    const TransformKey& at = numbers[n]->at;
    figure::Panel panel = change_panel(*numbers[n], column);
    name_after(column, panel,
               " · " + head_label(column.trace->model(), at.layer, at.head) + " · query " + std::to_string(at.query) +
                   ", key " + std::to_string(at.key));
    figure.panels.push_back(std::move(panel));
  }
  for (const auto& make : {strength_panel, carried_panel}) {
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      figure.panels.push_back(make(*numbers[n], input.columns[n]));
    }
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return steps_line(*numbers[n], input.columns[n]); });
  return figure;
}

Result<Data> TransformStepsView::table(const ViewInput& /*input*/, const Numbers& numbers) const {
  const CarriedKey& carried = *numbers.front();
  std::vector<double> tokens = counted(carried.change.size());
  for (double& token : tokens) {
    token += static_cast<double>(carried.at.key);
  }
  return table_of({{"token", std::move(tokens)},
                   {"strength", carried.strength},
                   {"change", carried.change},
                   {"carried", carried.carried},
                   {"deviation", carried.deviation},
                   {"determinant", carried.determinant}});
}

}  // namespace

const View& transform_steps_view() {
  return made_once<TransformStepsView>();
}

}  // namespace locus::views
