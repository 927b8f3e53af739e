// `state-norms`: how large the states of a run are, by layer and token.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/picture_blocks.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/state_norms.h"

namespace locus::views {

namespace {

constexpr float kManyTimes = 10;  // the largest over the median, from which on a linear scale shows little else

// No part of it is chosen: all three are measured at once.
struct NormsKey {
  friend bool operator==(const NormsKey&, const NormsKey&) = default;
};

struct Norms : models::StateNorms {};
std::size_t cached_bytes(const Norms& norms) {
  return sizeof norms + 3 * views::cached_bytes(norms.stream);
}

class StateNormsView final : public MeasuredView<NormsKey, Norms> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    return needs_model(column, info_.title);
  }
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_layer_token(input, hit); }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return layer_token_places(input, selection);
  }

 protected:
  Result<NormsKey> measure_key(const ViewInput& /*input*/, std::size_t /*column*/) const override { return NormsKey{}; }
  Result<Norms> measure(const NormsKey& /*key*/, const MeasureContext& context) const override {
    LOCUS_TRY(models::StateNorms norms,
              models::state_norms(*context.column.model, *context.column.trace, context.stop, context.progress));
    return Norms{std::move(norms)};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  ViewInfo info_ = described({
      .name = "state-norms",
      .caption = "How large the state of each token is before each layer.",
      .shows =
          "The size of the state that enters each layer, token by token: its norm, its largest channel, or the norm of "
          "the values that the layer's heads read. A few tokens with states many times the others' (massive "
          "activations) are those that heads use as sinks; their values are small.",
      .controls = {choice("of", "Of", "The norm of the state, its largest channel, or the norm of the values",
                          {"norm", "channel", "values"}),
                   toggle("relative", "Relative", "Divided by the median over the tokens of the layer", true)},
  });
};

// How they are drawn.
struct Shown {
  std::string of;
  bool relative = true;
};

const Field& chosen(const std::string& of, const Norms& norms) {
  return of == "norm" ? norms.stream : of == "channel" ? norms.largest : norms.value;
}

// The smallest number above 0; 1 where there is none.
float least_of(std::span<const FieldPointer> fields) {
  float least = std::numeric_limits<float>::infinity();
  for (const FieldPointer& field : fields) {
    for (const float value : field->values) {
      least = value > 0 ? std::min(least, value) : least;
    }
  }
  return std::isfinite(least) ? least : 1;
}

float median_of_row(const Field& field, std::int64_t row) {
  const auto begin = field.values.begin() + row * field.columns;
  std::vector<float> sorted(begin, begin + field.columns);
  const auto middle = sorted.begin() + (field.columns - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

// The numbers as they are drawn.
Field drawn(const Shown& shown, const Norms& norms) {
  Field field = chosen(shown.of, norms);
  if (!shown.relative) {
    return field;
  }
  for (std::int64_t row = 0; row < field.rows; ++row) {
    if (const float median = median_of_row(field, row); median > 0) {
      for (std::int64_t column = 0; column < field.columns; ++column) {
        field.at(row, column) /= median;
      }
    }
  }
  return field;
}

// "the state of “ROMEO” (token 0) before layer 2 is 154 times the layer's median"
std::string statement_of(const Field& field, const std::vector<std::string>& labels, const std::string& what,
                         bool relative) {
  std::int64_t row = -1;
  std::int64_t column = 0;
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c) {
      if (std::isfinite(field.at(r, c)) && (row < 0 || field.at(r, c) > field.at(row, column))) {
        row = r;
        column = c;
      }
    }
  }
  if (row < 0) {
    return {};
  }
  const std::string number = short_number(static_cast<double>(field.at(row, column)));
  return "the largest " + what + " is that of “" + labels[static_cast<std::size_t>(column)] + "” (token " +
         std::to_string(column) + ") before layer " + std::to_string(row) + ": " +
         (relative ? number + " × the layer's median" : number);
}

Result<figure::Figure> StateNormsView::draw(const ViewInput& input, const Numbers& numbers) const {
  const Shown shown{option<std::string>(input, "of"), option<bool>(input, "relative")};
  const bool relative = shown.relative;
  const std::string what = chosen(shown.of, *numbers.front()).quantity;
  Fields fields;
  for (const auto& each : numbers) {
    fields.push_back(std::make_shared<const Field>(drawn(shown, *each)));
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Field& field = *fields[n];
    figure::Panel panel;
    name_after(input.columns[n], panel);
    panel.x = cells_across("position", field.columns, shared_names(token_labels(*input.columns[n].trace)));
    panel.x.blocks = picture_blocks(input, input.columns[n]);
    panel.y = cells_down("layer", field.rows, counted_names(field.rows));
    figure::ColorScale scale = scale_of(input, Sign::kPositive, fields, n);
    if (!input.scale.transfer && relative && scale.high > kManyTimes) {
      scale.transfer = figure::Transfer::kLog;
      scale.automatic = true;
      scale.low = input.scale.low.value_or(least_of(colored_with(input, fields, n)));
    }
    panel.layers.emplace_back(figure::HeatMap{.field = fields[n], .scale = scale});
    panel.color_bar_label = what + (relative ? " / median of the layer" : "");
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    return statement_of(*fields[n], token_labels(*input.columns[n].trace), what, relative);
  });
  return figure;
}

Result<Data> StateNormsView::table(const ViewInput& input, const Numbers& numbers) const {
  const Field field = drawn({option<std::string>(input, "of"), option<bool>(input, "relative")}, *numbers.front());
  return Data{{field.rows, field.columns}, field.values, {}, token_labels(*input.columns.front().trace)};
}

}  // namespace

const View& state_norms_view() {
  return made_once<StateNormsView>();
}

}  // namespace locus::views
