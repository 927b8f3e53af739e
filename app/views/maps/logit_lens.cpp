// `logit-lens`: what the model would predict if it stopped before each layer.
#include <cmath>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/picture_blocks.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/knock_out.h"
#include "models/api/logit_lens.h"

namespace locus::views {

namespace {

struct Lens : models::LogitLens {};
// The size in the cache, in bytes.
std::size_t cached_bytes(const Lens& lens) {
  std::size_t bytes = sizeof(Lens) + views::cached_bytes(lens.probability) + 16 * lens.ids.size();
  for (const std::string& label : lens.labels) {
    bytes += sizeof(std::string) + label.size();
  }
  return bytes;
}

// The key: the token; empty: the likeliest of each cell.
class LogitLensView final : public MeasuredView<std::string, Lens> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(needs_model(column, info_.title));
    return column.trace->model().image
               ? Status(unsupported("the logit lens reads tokens; " + column.name + " reads an image"))
               : Status();
  }
  // A cell is a query of a layer.
  Selection pick(const ViewInput& input, const Hit& hit) const override { return pick_layer_token(input, hit); }
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return layer_token_places(input, selection);
  }

 protected:
  Result<std::string> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    return option<std::string>(input, "token");
  }
  Result<Lens> measure(const std::string& name, const MeasureContext& context) const override {
    return measure_in_parts(name, context, {});
  }
  // Rows as they come.
  Result<Lens> measure_in_parts(const std::string& name, const MeasureContext& context,
                                const SoFar& so_far) const override {
    models::LensOptions options;
    if (!name.empty()) {
      LOCUS_TRY(options.token, models::token_named(*context.column.model, name));
    }
    if (so_far) {
      options.so_far = [&so_far](const models::LogitLens& lens) { so_far(Lens{lens}, false); };
    }
    LOCUS_TRY(models::LogitLens lens, models::logit_lens(*context.column.model, *context.column.trace, options,
                                                         context.stop, context.progress));
    return Lens{std::move(lens)};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override {
    const Field& field = numbers.front()->probability;
    return Data{{field.rows, field.columns}, field.values, {}, token_labels(*input.columns.front().trace)};
  }

 private:
  ViewInfo info_ = described({
      .name = "logit-lens",
      .caption = "What the model would predict at each token if it stopped before each layer.",
      .shows =
          "What the model would predict at each position if it stopped before each layer: its final norm and head, "
          "applied to the stream that enters the layer. The last row is the actual prediction.",
      .needs_text = true,
      .controls = {words("token", "Token",
                         "A token id, or a text of one token; empty: the likeliest token of each cell",
                         "the likeliest")},
  });
};

std::vector<std::string> LogitLensView::said_of(const ViewInput& input, const Hit& hit) const {
  const auto lens = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  const auto cell = lens ? cell_at(hit, lens->probability.rows, lens->probability.columns) : std::nullopt;
  if (!cell) {
    return {};
  }
  return {cell->row + 1 == lens->probability.rows ? "after the last layer: what the model says"
                                                  : "before layer " + std::to_string(cell->row)};
}

// Rows that are still to come, which are the first ones.
std::int64_t rows_left(const Field& field) {
  std::int64_t left = 0;
  while (left < field.rows && field.columns > 0 && std::isnan(field.at(left, 0))) {
    ++left;
  }
  return left;
}

Result<figure::Figure> LogitLensView::draw(const ViewInput& input, const Numbers& numbers) const {
  const bool likeliest = option<std::string>(input, "token").empty();
  Fields fields;
  for (const auto& each : numbers) {
    fields.emplace_back(each, &each->probability);
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Lens& lens = *numbers[n];
    const Field& field = *fields[n];
    std::vector<std::string> texts;
    std::vector<std::string> details;
    std::vector<std::string> said;
    for (std::size_t cell = 0; cell < lens.ids.size(); ++cell) {
      const auto share = static_cast<double>(field.values[cell]);
      if (std::isnan(share)) {  // a row that is still to come
        texts.emplace_back();
        details.emplace_back();
        said.emplace_back();
        continue;
      }
      const std::string rank = std::to_string(lens.ranks[cell]);
      texts.push_back(likeliest ? lens.labels[cell] : rank);
      details.push_back(fixed_text(share, 2));
      said.push_back("“" + lens.labels[cell] + "”, probability " + general_text(share, 5) + ", rank " + rank);
    }
    std::vector<std::string> layers = *counted_names(field.rows);
    layers.back() = "out";
    figure::Panel panel;
    name_after(input.columns[n], panel, likeliest ? "" : " · “" + lens.labels.back() + "”");
    panel.x = cells_across("position", field.columns, shared_names(token_labels(*input.columns[n].trace)));
    panel.x.blocks = picture_blocks(input, input.columns[n]);
    panel.y = cells_down("layer", field.rows, shared_names(std::move(layers)));
    panel.layers.emplace_back(figure::HeatMap{.field = fields[n],
                                              .scale = scale_of(input, Sign::kPositive, fields, n),
                                              .texts = shared_names(std::move(texts)),
                                              .details = shared_names(std::move(details)),
                                              .said = shared_names(std::move(said))});
    panel.color_bar_label = likeliest ? "probability of the likeliest token" : "probability of the token";
    panel.note = likeliest ? "cells: the likeliest token, which has rank 1, and its probability where there is room"
                           : "cells: the token's rank, and its probability where there is room";
    if (const std::int64_t left = rows_left(field); left > 0) {
      panel.note =
          std::to_string(field.rows - left) + " of " + std::to_string(field.rows) + " rows so far; " + panel.note;
    }
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace

const View& logit_lens_view() {
  return made_once<LogitLensView>();
}

}  // namespace locus::views
