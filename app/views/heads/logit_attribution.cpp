// `logit-attribution`: what each part of a model writes into one logit.
#include "models/api/logit_attribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/score_maps/head_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "models/api/knock_out.h"

namespace locus::views {

namespace {

struct Attribution : models::LogitAttribution {};
// The size in the cache, in bytes.
std::size_t cached_bytes(const Attribution& made) {
  return sizeof made + views::cached_bytes(made.heads) + 8 * (made.feed_forwards.size() + made.biases.size()) +
         64 * made.ends.size();
}

struct AttributionKey {
  std::string token;
  std::string against;
  std::int64_t at = -1;
  bool raw = false;

  friend bool operator==(const AttributionKey&, const AttributionKey&) = default;
};

struct Part {
  std::string name;
  double value = 0;
};

// All parts, in the order of a run.
std::vector<Part> parts_of(const Attribution& made) {
  std::vector<Part> parts;
  for (const auto& [name, value] : made.ends) {
    if (name != "other biases" && name != "cap") {
      parts.push_back({name, value});
    }
  }
  for (std::int64_t layer = 0; layer < made.heads.rows; ++layer) {
    for (std::int64_t head = 0; head < made.heads.columns; ++head) {
      if (const float share = made.heads.at(layer, head); !std::isnan(share)) {
        parts.push_back({"head " + head_name(layer, head), static_cast<double>(share)});
      }
    }
    if (!made.mixers.empty()) {
      parts.push_back({"mixer " + std::to_string(layer), made.mixers[static_cast<std::size_t>(layer)]});
    }
    parts.push_back({"feed-forward " + std::to_string(layer), made.feed_forwards[static_cast<std::size_t>(layer)]});
    parts.push_back({"biases " + std::to_string(layer), made.biases[static_cast<std::size_t>(layer)]});
  }
  for (const auto& [name, value] : made.ends) {
    if (name == "other biases" || name == "cap") {
      parts.push_back({name, value});
    }
  }
  return parts;
}

// "most from feed-forward 3, 7.51, and feed-forward 0, 6.79; of the heads from 3.0, −0.740".
std::string most_line(const Attribution& made) {
  std::vector<Part> parts = parts_of(made);
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const Part& part) { return std::abs(part.value); });
  std::string line;
  for (std::size_t n = 0; n < std::min<std::size_t>(2, parts.size()); ++n) {
    line += (n == 0 ? "most from " : ", and ") + parts[n].name + ", " + short_number(parts[n].value);
  }
  const auto head = std::ranges::find_if(parts, [](const Part& part) { return part.name.starts_with("head "); });
  return head == parts.end() || head - parts.begin() < 2
             ? line
             : line + "; of the heads from " + head->name.substr(5) + ", " + short_number(head->value);
}

class LogitAttributionView final : public MeasuredView<AttributionKey, Attribution> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override { return needs_model(column, info_.title); }
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_head(input, hit); }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return head_places(selection, input.columns.size());
  }

 protected:
  Result<AttributionKey> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_TRY(const std::int64_t at, token_option(input, "at", input.columns[column]));
    return AttributionKey{option<std::string>(input, "token"), option<std::string>(input, "against"), at,
                          option<bool>(input, "raw")};
  }
  Result<Attribution> measure(const AttributionKey& key, const MeasureContext& context) const override {
    models::AttributionOptions options;
    options.position = key.at;
    options.centred = !key.raw;
    if (!key.token.empty()) {
      LOCUS_TRY(options.token, models::token_named(*context.column.model, key.token));
    }
    if (!key.against.empty()) {
      LOCUS_TRY(options.against, models::token_named(*context.column.model, key.against));
    }
    LOCUS_TRY(models::LogitAttribution made, models::logit_attribution(*context.column.model, *context.column.trace,
                                                                       options, context.stop, context.progress));
    return Attribution{std::move(made)};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& /*input*/, const Numbers& numbers) const override {
    const std::vector<Part> parts = parts_of(*numbers.front());
    std::vector<std::string> names;
    names.reserve(parts.size());
    for (const Part& part : parts) {
      names.push_back(part.name);
    }
    return with_words(table_of({{"value", numbers_of(parts, &Part::value)}}), {"part"}, std::move(names));
  }

 private:
  ViewInfo info_ = described({
      .name = "logit-attribution",
      .caption = "How much every head and layer contributes for or against the predicted token.",
      .shows =
          "The contribution of each head, feed-forward, embedding and bias to one logit, minus the mean of all logits, "
          "or to the difference of two logits. The residual stream is the sum of these parts, and with the scales of "
          "the norms held at their values in the run, so is the logit.",
      .controls = {words("token", "Token", "A token id, or a text of one token; empty: the likeliest", "the likeliest"),
                   words("against", "Against", "The token whose logit is subtracted; empty: none", "none; a token"),
                   whole("at", "Position", "The position that predicts the token; -1: the last", -1, -1, 1 << 20,
                         "last"),
                   toggle("raw", "Raw logits",
                          "Parts of the logit itself, without subtracting the mean of all logits")},
  });
};

// A strip of cells, each `step` wide, whose first stands at (x, y).
figure::HeatMap strip(const std::vector<double>& values, bool down, double x, double y, double step,
                      const figure::ColorScale& scale, const std::vector<std::string>& names) {
  const auto field = strip_of(values, down);
  std::vector<std::string> texts;
  for (std::size_t n = 0; n < values.size(); ++n) {
    texts.push_back((n < names.size() ? names[n] + " " : "") + short_number(values[n]));
  }
  field->column_axis.first = x;
  field->column_axis.step = step;
  field->row_axis.first = y;
  return {.field = field, .scale = scale, .texts = shared_names(std::move(texts))};
}

// The heads, to their right the layers' feed-forwards and biases, below them what belongs to no layer.
figure::Panel attribution_panel(const Attribution& made, const figure::ColorScale& scale) {
  const std::int64_t heads = made.heads.columns;
  const std::int64_t layers = made.heads.rows;
  const bool biased = std::any_of(made.biases.begin(), made.biases.end(), [](double value) { return value != 0; });
  const bool mixed = !made.mixers.empty();
  const std::int64_t wide = heads + 2 + (mixed ? 1 : 0) + (biased ? 1 : 0);
  figure::Panel panel = head_map(std::make_shared<const Field>(made.heads), scale);
  panel.equal_aspect = false;
  const auto right = static_cast<double>(heads + 1);
  panel.layers.emplace_back(strip(made.feed_forwards, true, right, 0, 1, scale, {}));
  if (mixed) {
    panel.layers.emplace_back(strip(made.mixers, true, right + 1, 0, 1, scale, {}));
  }
  if (biased) {
    panel.layers.emplace_back(strip(made.biases, true, right + (mixed ? 2 : 1), 0, 1, scale, {}));
  }
  std::vector<double> values;
  std::vector<std::string> names;
  for (const auto& [name, value] : made.ends) {
    if (value != 0) {
      names.push_back(name);
      values.push_back(value);
    }
  }
  if (!values.empty()) {
    panel.layers.emplace_back(strip(values, false, 0, static_cast<double>(layers) + 0.5,
                                    static_cast<double>(wide) / static_cast<double>(values.size()), scale, names));
  }
  std::vector<std::string> across = *counted_names(heads);
  across.insert(across.end(), {"", "ff"});
  if (mixed) {
    across.push_back("mixer");
  }
  if (biased) {
    across.push_back("bias");
  }
  panel.x = cells_across(panel.x.label, wide, shared_names(std::move(across)));
  panel.y.view = {static_cast<double>(layers) + (values.empty() ? 0 : 1.5), 0};
  return panel;
}

Result<figure::Figure> LogitAttributionView::draw(const ViewInput& input, const Numbers& numbers) const {
  Fields all;  // of every part, for the colours
  for (const auto& made : numbers) {
    all.push_back(strip_of(numbers_of(parts_of(*made), &Part::value)));
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Attribution& made = *numbers[n];
    figure::Panel panel = attribution_panel(made, scale_of(input, Sign::kZeroCentred, all, n));
    const models::Trace& trace = *input.columns[n].trace;
    name_after(input.columns[n], panel,
               " · “" + made.token + "”" + (made.against.empty() ? "" : " − “" + made.against + "”"));
    panel.color_bar_label = !made.against.empty()        ? "part of the difference of logits"
                            : option<bool>(input, "raw") ? "part of the logit"
                                                         : "part of the logit above the mean of all";
    const std::vector<double> values = numbers_of(parts_of(made), &Part::value);
    panel.note = "sum " + short_number(std::accumulate(values.begin(), values.end(), 0.0)) +
                 (trace.model().image ? std::string()
                                      : ", after token " + std::to_string(made.position) + " " +
                                            trace.tokens()[static_cast<std::size_t>(made.position)].label);
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return most_line(*numbers[n]); });
  return figure;
}

}  // namespace

const View& logit_attribution_view() {
  return made_once<LogitAttributionView>();
}

}  // namespace locus::views
