// `logit-lens`: what the model would predict if it stopped before each layer.
#include <cmath>
#include <span>
#include <utility>

#include "app/views/alignment.h"
#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "app/views/score_maps/score_map.h"
#include "core/base/controls.h"
#include "models/api/knock_out.h"
#include "models/api/logit_lens.h"

namespace locus::views {

namespace {

struct Lens : models::LogitLens {};
// What it weighs in the cache.
std::size_t cached_bytes(const Lens& lens) {
  std::size_t bytes = sizeof(Lens) + views::cached_bytes(lens.probability) + 16 * lens.ids.size();
  for (const std::string& label : lens.labels) {
    bytes += sizeof(std::string) + label.size();
  }
  return bytes;
}

struct LogitLensKey {
  std::string token;  // empty: the likeliest of each cell

  friend bool operator==(const LogitLensKey&, const LogitLensKey&) = default;
};

class LogitLensView final : public MeasuredView<LogitLensKey, Lens> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override {
    LOCUS_CHECK(needs_model(column, info_.title));
    return column.trace->model().image
               ? Status(unsupported("the logit lens reads tokens; " + column.name + " reads an image"))
               : Status();
  }
  // A cell is a query of a layer.
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    Selection selection;
    if (hit.panel < input.columns.size()) {
      const models::Trace& trace = *input.columns[hit.panel].trace;
      const auto layer = static_cast<std::int64_t>(std::floor(hit.y));
      const auto query = static_cast<std::int64_t>(std::floor(hit.x));
      if (layer >= 0 && layer < trace.model().layers && query >= 0 && query < trace.length()) {
        selection.column = static_cast<std::int64_t>(hit.panel);
        selection.layer = layer;
        selection.query = token_at(input, input.columns[hit.panel], query);
      }
    }
    return selection;
  }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    std::vector<Place> places;
    for (std::size_t panel = 0; selection.layer && selection.query && panel < input.columns.size(); ++panel) {
      const auto x = static_cast<double>(own_token(input, *selection.query, input.columns[panel]));
      const auto y = static_cast<double>(*selection.layer);
      if (x >= 0) {
        places.push_back({panel, {x, x + 1}, {y, y + 1}});
      }
    }
    return places;
  }

 protected:
  Result<LogitLensKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    LogitLensKey key;
    LOCUS_TRY(key.token, input.options.text("token", ""));
    return key;
  }
  Result<Lens> measure(const LogitLensKey& key, const MeasureContext& context) const override {
    std::int64_t token = -1;
    if (!key.token.empty()) {
      LOCUS_TRY(token, models::token_named(*context.column.model, key.token));
    }
    LOCUS_TRY(models::LogitLens lens,
              models::logit_lens(*context.column.model, *context.column.trace, token, context.stop, context.progress));
    return Lens{std::move(lens)};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override {
    const Field& field = numbers.front()->probability;
    Data data{{field.rows, field.columns}, field.values, {}};
    for (const models::TokenInfo& token : input.columns.front().trace->tokens()) {
      data.tokens.push_back(token.label);
    }
    return data;
  }

 private:
  ViewInfo info_{
      .name = "logit-lens",
      .title = "Logit lens",
      .group = Group::kMeasure,
      .caption = "What the model would predict next if it stopped after each layer.",
      .shows =
          "What the model would predict at each position if it stopped before each layer: its final norm and head, "
          "applied to the stream that enters the layer. The last row is the actual prediction.",
      .needs_text = true,
      .controls = {words("token", "Token",
                         "A token id, or a text of one token; empty: the likeliest token of each cell",
                         "the likeliest")},
  };
};

Result<figure::Figure> LogitLensView::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const LogitLensKey key, measure_key(input, 0));
  std::vector<std::shared_ptr<const Field>> fields;
  for (const auto& each : numbers) {
    fields.emplace_back(each, &each->probability);
  }
  ViewInput whole = input;
  whole.ignore_first = false;  // column 0 is a position like others
  const std::span<const std::shared_ptr<const Field>> all(fields);
  figure::Figure figure;
  figure.columns = static_cast<int>(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Lens& lens = *numbers[n];
    const Field& field = *fields[n];
    auto texts = std::make_shared<std::vector<std::string>>();
    for (std::size_t cell = 0; cell < lens.ids.size(); ++cell) {
      texts->push_back(key.token.empty() ? lens.labels[cell] : std::to_string(lens.ranks[cell]));
    }
    auto tokens = std::make_shared<std::vector<std::string>>();
    for (const models::TokenInfo& token : input.columns[n].trace->tokens()) {
      tokens->push_back(token.label);
    }
    auto layers = std::make_shared<std::vector<std::string>>();
    for (std::int64_t row = 0; row + 1 < field.rows; ++row) {
      layers->push_back(std::to_string(row));
    }
    layers->push_back("out");
    figure::Panel panel;
    panel.names = {input.columns[n].name};
    panel.title = input.columns[n].name + (key.token.empty() ? "" : " · “" + lens.labels.front() + "”");
    panel.x = {.label = "position", .view = {0, static_cast<double>(field.columns)}, .cell_names = std::move(tokens)};
    panel.y = {.label = "layer", .view = {static_cast<double>(field.rows), 0}, .cell_names = std::move(layers)};
    figure::HeatMap map;
    map.field = fields[n];
    map.scale = color_scale(whole, Sign::kPositive, input.scale.shared ? all : all.subspan(n, 1));
    map.texts = std::move(texts);
    panel.layers.emplace_back(std::move(map));
    panel.color_bar_label = key.token.empty() ? "probability of the likeliest token" : "probability of the token";
    panel.note = key.token.empty() ? "" : "numbers: the token's rank";
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace

const View& logit_lens_view() {
  static const LogitLensView view;
  return view;
}

}  // namespace locus::views
