// `reading`: where a query's attention goes, layer by layer: to each picture of the text, to words, to the first token,
// to itself.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/score_maps/head_map.h"
#include "app/views/shared/score_maps/map_window.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

constexpr double kNoSink = 1e-4;  // rows of weights sum to 1 within this, but where a sink takes a share

struct ReadingKey {
  std::int64_t query = 0;

  friend bool operator==(const ReadingKey&, const ReadingKey&) = default;
};

// Parts that a query's weights are summed over, and of each part the sums of all heads: that of (l, h) at l·H + h.
struct Reading {
  std::vector<std::string> parts;
  std::vector<std::vector<double>> shares;
};
std::size_t cached_bytes(const Reading& reading) {
  std::size_t bytes = sizeof reading;
  for (const std::vector<double>& part : reading.shares) {
    bytes += 64 + sizeof(double) * part.size();
  }
  return bytes;
}

// The part of every key: pictures in their order, then words, the first token, the query itself.
struct Parts {
  std::vector<std::string> names;
  std::vector<std::size_t> of_key;
};

Parts parts_of(const models::Trace& trace, std::int64_t query) {
  const std::vector<models::ImageSpan>& images = trace.images();
  Parts parts;
  std::vector<std::size_t> part_of;  // of each picture; all frames of a video are one
  for (std::size_t n = 0; n < images.size(); ++n) {
    if (images[n].video < 0) {
      part_of.push_back(parts.names.size());
      parts.names.push_back(models::picture_name(images, n));
    } else if (n > 0 && images[n - 1].video == images[n].video) {
      part_of.push_back(part_of.back());
    } else {
      part_of.push_back(parts.names.size());
      parts.names.push_back("video " + std::to_string(images[n].video + 1));
    }
  }
  const std::size_t words = parts.names.size();
  parts.names.insert(parts.names.end(), {images.empty() ? "other tokens" : "words", "first token", "itself"});
  parts.of_key.assign(static_cast<std::size_t>(trace.keys()), words);
  parts.of_key.front() = words + 1;
  for (std::size_t n = 0; n < images.size(); ++n) {
    for (std::int64_t cell = 0; cell < images[n].count; ++cell) {
      parts.of_key[static_cast<std::size_t>(images[n].token(cell))] = part_of[n];
    }
    for (std::int64_t row = 0; images[n].ended && row < images[n].rows; ++row) {
      parts.of_key[static_cast<std::size_t>(images[n].row_end(row))] = n;
    }
  }
  parts.of_key[static_cast<std::size_t>(query)] = words + 2;
  return parts;
}

class ReadingView final : public MeasuredView<ReadingKey, Reading> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    const auto shown = every_head(input) ? kept(input, 0) : nullptr;
    return shown ? head_places(selection, shown->parts.size()) : std::vector<Place>();
  }

 protected:
  Result<ReadingKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Reading> measure(const ReadingKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  // A row per head: its layer, its number, and the share of each part.
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  bool every_head(const ViewInput& input) const { return option<std::string>(input, "of") == "heads"; }
  figure::Panel curves(const ViewInput& input, std::size_t column, const Reading& reading) const;
  figure::Figure maps(const ViewInput& input, const Reading& reading) const;

  ViewInfo info_ = described({
      .name = "reading",
      .caption = "Where the attention of one token goes in each layer: to pictures, to words, to the first token.",
      .shows =
          "The share of the query's attention that goes to each picture in the text, to words, to the first token and "
          "to the query itself, layer by layer, as a stacked area: the mean over all heads, or one head. With *heads*, "
          "a map of layers × heads for each part. A click on a layer chooses it, a click on a head opens it. "
          "Without a chosen query, it is the last token.",
      .uses_head = true,
      .uses_query = true,
      .needs_text = true,
      .controls = {choice("of", "Of", "The mean over all heads, the chosen head, or every head of the first column",
                          {"mean", "head", "heads"})},
  });
};

Result<ReadingKey> ReadingView::measure_key(const ViewInput& input, std::size_t column) const {
  const Column& of = input.columns[column];
  const std::int64_t last = of.trace->length() - 1;
  if (!input.query.chosen()) {
    return ReadingKey{last};
  }
  const std::int64_t own = own_token(input, input.query, of);
  return ReadingKey{own == kNone || own > last ? last : own};
}

Result<Reading> ReadingView::measure(const ReadingKey& key, const MeasureContext& context) const {
  const models::Trace& trace = *context.column.trace;
  const models::ModelInfo& model = trace.model();
  Parts parts = parts_of(trace, key.query);
  std::vector<std::vector<double>> sums(parts.names.size() + 1);
  for (std::vector<double>& part : sums) {
    part.assign(static_cast<std::size_t>(model.layers * model.heads), 0);
  }
  bool sink = false;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    report(context.progress, static_cast<double>(layer) / static_cast<double>(model.layers),
           "layer " + std::to_string(layer));
    for (std::int64_t head = 0; head < model.heads; ++head) {
      const auto at = static_cast<std::size_t>(layer * model.heads + head);
      const Range query{key.query, key.query + 1};
      LOCUS_TRY(const Field row, trace.map({layer, head, models::Quantity::kWeight, query, {}}, context.stop));
      double left = 1;
      for (std::size_t n = 0; n < row.values.size(); ++n) {
        sums[parts.of_key[n]][at] += static_cast<double>(row.values[n]);
        left -= static_cast<double>(row.values[n]);
      }
      sums.back()[at] = std::max(0.0, left);
      sink = sink || left > kNoSink;
    }
  }
  if (sink) {
    parts.names.emplace_back("sink");
  }
  sums.resize(parts.names.size());
  return Reading{std::move(parts.names), std::move(sums)};
}

// A part's share in each layer: of one head, or the mean over all.
std::vector<double> by_layer(const std::vector<double>& part, const models::ModelInfo& model, std::int64_t head) {
  std::vector<double> shares;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    double sum = 0;
    for (std::int64_t h = 0; h < model.heads; ++h) {
      sum += head < 0 || h == head ? part[static_cast<std::size_t>(layer * model.heads + h)] : 0;
    }
    shares.push_back(head < 0 ? sum / static_cast<double>(model.heads) : sum);
  }
  return shares;
}

std::string query_words(const Column& column, std::int64_t query) {
  return "query " + std::to_string(query) + " \"" + column.trace->tokens()[static_cast<std::size_t>(query)].label +
         "\"";
}

figure::Panel ReadingView::curves(const ViewInput& input, std::size_t n, const Reading& reading) const {
  const Column& column = input.columns[n];
  const models::ModelInfo& model = column.trace->model();
  const bool one = option<std::string>(input, "of") == "head";
  const std::int64_t head = one ? head_of_column(input, n).head : kMean;
  figure::Panel panel;
  name_after(column, panel, head < 0 ? " · mean of all heads" : " · head " + std::to_string(head) + " of each layer");
  panel.x = cells_across("layer", model.layers);
  panel.y.label = "share of the query's attention";
  panel.y.view = {0, 1};
  std::vector<double> middles = counted(static_cast<std::size_t>(model.layers));
  std::ranges::for_each(middles, [](double& middle) { middle += 0.5; });
  std::vector<double> base(middles.size(), 0);
  for (std::size_t part = 0; part < reading.parts.size(); ++part) {
    figure::Curve curve = curve_through(reading.parts[part], middles, by_layer(reading.shares[part], model, head));
    curve.base = base;
    std::ranges::transform(base, curve.y, base.begin(), std::plus<>());
    panel.layers.emplace_back(std::move(curve));
  }
  const auto key = measure_key(input, n);
  panel.note = key.ok() ? query_words(column, key->query) : "";
  return panel;
}

figure::Figure ReadingView::maps(const ViewInput& input, const Reading& reading) const {
  const models::ModelInfo& model = input.columns.front().trace->model();
  Fields fields;
  for (const std::vector<double>& part : reading.shares) {
    auto field = std::make_shared<Field>(head_field(model.layers, model.heads));
    std::ranges::transform(part, field->values.begin(), [](double share) { return static_cast<float>(share); });
    fields.push_back(std::move(field));
  }
  figure::Figure figure = figure_across(fields.size());
  const auto key = measure_key(input, 0);
  figure.title = input.columns.front().name + (key.ok() ? " · " + query_words(input.columns.front(), key->query) : "");
  figure.names = {input.columns.front().name};
  for (std::size_t n = 0; n < fields.size(); ++n) {
    figure::Panel panel = head_map(fields[n], scale_of(input, Sign::kPositive, fields, n));
    panel.title = reading.parts[n];
    panel.color_bar_label = n + 1 == fields.size() ? "share of the query's attention" : "";
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

Result<figure::Figure> ReadingView::draw(const ViewInput& input, const Numbers& numbers) const {
  if (every_head(input)) {
    return maps(input, *numbers.front());
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    figure.panels.push_back(curves(input, n, *numbers[n]));
  }
  return figure;
}

Result<Data> ReadingView::table(const ViewInput& input, const Numbers& numbers) const {
  const Reading& reading = *numbers.front();
  const std::int64_t heads = input.columns.front().trace->model().heads;
  std::vector<Series> series{{"layer", {}}, {"head", {}}};
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(reading.shares.front().size()); ++n) {
    const std::int64_t layer = n / heads;
    series[0].values.push_back(static_cast<double>(layer));
    series[1].values.push_back(static_cast<double>(n - layer * heads));
  }
  for (std::size_t part = 0; part < reading.parts.size(); ++part) {
    series.push_back({reading.parts[part], reading.shares[part]});
  }
  return table_of(std::move(series));
}

Selection ReadingView::pick(const ViewInput& input, const Hit& hit) const {
  if (every_head(input)) {
    return pick_head(input.columns.front().trace->model(), hit, 0);
  }
  Selection selection;
  const std::size_t column = std::min(hit.panel, input.columns.size() - 1);
  const auto layer = static_cast<std::int64_t>(std::floor(hit.x));
  if (layer >= 0 && layer < input.columns[column].trace->model().layers) {
    selection.layer = layer;
    selection.column = static_cast<std::int64_t>(column);
  }
  return selection;
}

}  // namespace

const View& reading_view() {
  return made_once<ReadingView>();
}

}  // namespace locus::views
