// `mean-map`: the mean attention of a head over many texts, query by key.
#include <algorithm>
#include <cmath>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::int64_t kMaxCellsWithTexts = 64;  // cells a side, of maps that have their intervals in the cells

// (M, M) each; low and high without entries for the mean of all heads, what is of shuffled tokens where the atlas has
// none. NaN where no query sees a key.
struct MeanMap {
  Field mean, low, high;
  Field null, null_low, null_high;  // of shuffled tokens
  Field difference;                 // mean − null
  double shuffled = 0;              // windows
};
std::size_t cached_bytes(const MeanMap& map) {
  std::size_t bytes = 0;
  for (const Field* const each :
       {&map.mean, &map.low, &map.high, &map.null, &map.null_low, &map.null_high, &map.difference}) {
    bytes += views::cached_bytes(*each);
  }
  return bytes;
}

class MeanMapView final : public MeasuredView<HeadRef, MeanMap> {
 public:
  const ViewInfo& info() const override { return info_; }
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<HeadRef> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_CHECK(needs_head(input, info_.name, true));
    return head_of_column(input, column);
  }
  Result<MeanMap> measure(const HeadRef& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override {
    LOCUS_TRY(const FieldPointer shown, shown_of(input, numbers.front()));
    return Data{{shown->rows, shown->columns}, shown->values, {}};
  }

 private:
  // The map that the option `of` asks for.
  Result<FieldPointer> shown_of(const ViewInput& input, const Pointer& map) const;
  std::string statement_of(const ViewInput& input, std::size_t column, const MeanMap& map) const;

  ViewInfo info_ = described({
      .name = "mean-map",
      .caption = "Where a head looks on average over many texts.",
      .shows =
          "The mean weight that queries at one position give to keys at another, over all windows of an atlas, for one "
          "head or the mean of all heads of the layer. The pointer shows the mean and its 95 % interval, whose ends "
          "can be shown instead, and so can the mean for the same tokens in random order, or what the text adds to it.",
      .uses_layer = true,
      .uses_head = true,
      .of_runs = false,
      .of_atlases = true,
      .controls = {choice("of", "Of",
                          "The mean, the lower or upper end of its 95 % interval, the mean of shuffled tokens, or the "
                          "mean less that",
                          {"mean", "low", "high", "shuffled", "difference"})},
  });
};

// The cells of one head, or the means over all of them.
Field field_of(const std::vector<double>& values, const models::AtlasInfo& info, std::int64_t side, std::int64_t head) {
  Field field = Field::zeros(side, side);
  const auto cells = static_cast<std::size_t>(side * side);
  for (std::size_t n = 0; n < cells; ++n) {
    double sum = 0;
    for (std::int64_t h = 0; h < info.heads; ++h) {
      sum += head < 0 || h == head ? values[static_cast<std::size_t>(h) * cells + n] : 0.0;
    }
    field.values[n] = static_cast<float>(head < 0 ? sum / static_cast<double>(info.heads) : sum);
  }
  const double step = static_cast<double>(info.length) / static_cast<double>(side);
  field.row_axis = {"query", "bin", 0, step};  // a cell is a mean of the atlas, whatever of it the screen shows
  field.column_axis = {"key", "bin", 0, step};
  field.quantity = "mean attention weight";
  return field;
}

Result<MeanMap> MeanMapView::measure(const HeadRef& key, const MeasureContext& context) const {
  const models::Atlas& atlas = *models::atlas_of(*context.column.trace);
  const models::AtlasInfo& info = atlas.info();
  if (!atlas.has("mean-map")) {
    return unsupported("the atlas has no mean map: it was made without");
  }
  report(context.progress, 0, "mean map");
  if (context.stop.stop_requested()) {
    return cancelled();
  }
  LOCUS_TRY(const models::AtlasValues values, atlas.values("mean-map", key.layer));
  const std::int64_t side = values.shape.back();
  MeanMap map;
  map.mean = field_of(values.mean, info, side, key.head);
  if (key.head != kMean) {
    map.low = field_of(values.low, info, side, key.head);
    map.high = field_of(values.high, info, side, key.head);
  }
  if (!atlas.has("mean-map", models::AtlasNull::kShuffled)) {
    return map;
  }
  LOCUS_TRY(const models::AtlasValues null, atlas.values("mean-map", key.layer, models::AtlasNull::kShuffled));
  map.null = map.difference = field_of(null.mean, info, side, key.head);
  map.shuffled = null.samples;
  map.difference.quantity = "mean attention weight less that of shuffled tokens";
  for (std::size_t n = 0; n < map.null.values.size(); ++n) {
    map.difference.values[n] = map.mean.values[n] - map.null.values[n];
  }
  if (key.head != kMean) {
    map.null_low = field_of(null.low, info, side, key.head);
    map.null_high = field_of(null.high, info, side, key.head);
  }
  return map;
}

Result<FieldPointer> MeanMapView::shown_of(const ViewInput& input, const Pointer& map) const {
  const auto of = option<std::string>(input, "of");
  const Field& wanted = of == "low"          ? map->low
                        : of == "high"       ? map->high
                        : of == "shuffled"   ? map->null
                        : of == "difference" ? map->difference
                                             : map->mean;
  if (wanted.values.empty() && (of == "shuffled" || of == "difference")) {
    return unsupported("the atlas has no mean map of shuffled tokens: it was made without");
  }
  if (wanted.values.empty()) {
    return unsupported("mean-map: the mean of all heads has no interval: heads of one window go together");
  }
  return FieldPointer(map, &wanted);
}

// "0.25 [0.22, 0.28]"
std::string cell_number(const Field& mean, const Field& low, const Field& high, std::size_t n) {
  const auto at = [n](const Field& field) {
    return n < field.values.size() ? static_cast<double>(field.values[n]) : kNaN;
  };
  return with_interval(at(mean), at(low), at(high));
}
std::string cell_number(const MeanMap& map, std::size_t n) {
  return cell_number(map.mean, map.low, map.high, n);
}

// "248 to 255": the positions of a cell, as the file cuts them.
std::string positions_in(std::int64_t cell, std::int64_t side, std::int64_t length) {
  const std::int64_t from = cell * length / side;
  const std::int64_t last = (cell + 1) * length / side - 1;
  return std::to_string(from) + (last > from ? " to " + std::to_string(last) : "");
}

std::vector<std::string> token_texts(const MeanMap& map) {
  std::vector<std::string> texts(map.mean.values.size());
  for (std::size_t n = 0; n < texts.size() && !map.low.values.empty(); ++n) {
    texts[n] = std::isnan(map.mean.values[n]) ? "" : cell_number(map, n);
  }
  return texts;
}

std::vector<std::string> MeanMapView::said_of(const ViewInput& input, const Hit& hit) const {
  const Pointer map = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  if (!map) {
    return {};
  }
  const models::AtlasInfo& info = models::atlas_of(*input.columns[hit.panel].trace)->info();
  const std::int64_t side = map->mean.rows;
  const double cells = static_cast<double>(side) / static_cast<double>(info.length);
  const auto at = cell_at({hit.panel, hit.x * cells, hit.y * cells, -1}, side, side);
  if (!at) {
    return {};
  }
  const auto n = static_cast<std::size_t>(at->row * side + at->column);
  const bool seen = !std::isnan(map->mean.values[n]);
  std::vector<std::string> lines{"query " + positions_in(at->row, side, info.length),
                                 "key " + positions_in(at->column, side, info.length),
                                 seen ? "mean weight " + cell_number(*map, n) : "no query sees a key there"};
  if (seen && !map->null.values.empty()) {
    lines.push_back("  of shuffled tokens " + cell_number(map->null, map->null_low, map->null_high, n));
  }
  return lines;
}

// "queries 248 to 255 give each of their keys 248 to 255 0.071 [0.070, 0.072], keys 0 to 7 0.0013 [0.0012, 0.0014]"; of
// what is shown instead of the mean, the numbers of that.
std::string MeanMapView::statement_of(const ViewInput& input, std::size_t column, const MeanMap& map) const {
  const models::AtlasInfo& info = models::atlas_of(*input.columns[column].trace)->info();
  const std::int64_t side = map.mean.rows;
  const HeadRef head = head_of_column(input, column);
  const std::string last = positions_in(side - 1, side, info.length);
  const std::string who = head.head == kMean ? "layer " + std::to_string(head.layer) + ", mean of its heads"
                                             : "head " + head_name(head.layer, head.head);
  const auto of = option<std::string>(input, "of");
  const auto number = [&](std::size_t n) {
    static const Field kNone;
    return of == "low"          ? cell_number(map.low, kNone, kNone, n)
           : of == "high"       ? cell_number(map.high, kNone, kNone, n)
           : of == "shuffled"   ? cell_number(map.null, map.null_low, map.null_high, n)
           : of == "difference" ? cell_number(map.difference, kNone, kNone, n)
                                : cell_number(map, n);
  };
  const std::string what = of == "low"          ? "at least "
                           : of == "high"       ? "at most "
                           : of == "shuffled"   ? "of shuffled tokens "
                           : of == "difference" ? "beyond shuffled tokens "
                                                : "";
  const auto row = static_cast<std::size_t>((side - 1) * side);
  return who + ": queries " + last + " give each of the keys " + last + " " + what +
         number(row + static_cast<std::size_t>(side) - 1) + ", each of the keys " + positions_in(0, side, info.length) +
         " " + what + number(row);
}

Result<figure::Figure> MeanMapView::draw(const ViewInput& input, const Numbers& numbers) const {
  const auto of = option<std::string>(input, "of");
  Fields fields;
  for (const Pointer& map : numbers) {
    LOCUS_TRY(FieldPointer shown, shown_of(input, map));
    fields.push_back(std::move(shown));
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const Column& column = input.columns[n];
    const HeadRef head = head_of_column(input, n);
    const models::AtlasInfo& info = models::atlas_of(*column.trace)->info();
    figure::Panel panel;
    name_after(column, panel, " · " + head_label(column.trace->model(), head.layer, head.head));
    panel.equal_aspect = true;
    panel.x.label = "key";
    panel.x.view = {0, static_cast<double>(info.length)};
    panel.y.label = "query";
    panel.y.view = {static_cast<double>(info.length), 0};
    figure::HeatMap map{.field = fields[n],
                        .scale = scale_of(input, of == "difference" ? Sign::kZeroCentred : Sign::kWeight, fields, n),
                        .reduction = input.reduction,
                        .masked = true};
    if (fields[n]->rows <= kMaxCellsWithTexts && of == "mean") {
      map.texts = shared_names(token_texts(*numbers[n]));
    }
    panel.layers.emplace_back(std::move(map));
    panel.color_bar_label = of == "mean"         ? "mean weight"
                            : of == "shuffled"   ? "mean weight, shuffled tokens"
                            : of == "difference" ? "mean weight less that of shuffled tokens"
                            : of == "low"        ? "lower end of the 95 % interval"
                                                 : "upper end of the 95 % interval";
    const bool of_null = of == "shuffled" || of == "difference";
    panel.note =
        windows_text(info) +
        (of_null ? ", " + std::to_string(static_cast<std::int64_t>(numbers[n]->shuffled)) + " of them shuffled too"
                 : "") +
        (fields[n]->rows < info.length
             ? "; " + std::to_string(fields[n]->rows) + " × " + std::to_string(fields[n]->rows) + " cells"
             : "");
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return statement_of(input, n, *numbers[n]); });
  return figure;
}

}  // namespace

const View& mean_map_view() {
  return made_once<MeanMapView>();
}

}  // namespace locus::views
