// `pe-dot-product`: how alike the encodings of two positions are.
#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/map_view.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr const char* kOwn = "as it is";

Control base_control() {
  Control control = number("base", "Base", "Another RoPE base; 0: the base of the checkpoint", 0.0, 0, 1e8);
  control.logarithmic = true;
  control.lowest = kOwn;
  return control;
}

// The positions that the controls ask for instead of the run's own.
struct Wanted {
  std::int64_t length = 0;  // 0: the run's tokens
  models::Overrides overrides;

  bool of_run() const { return *this == Wanted{}; }
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

// "9.0 % of the variance is not explained by distance": the squared deviations of a map's values from the mean of their
// own i − j, over those from the mean of all; empty where a cell is more than one position, or nothing varies.
std::string beyond_distance(const Field& field) {
  if (field.column_axis.step != 1 || field.row_axis.step != 1) {
    return {};
  }
  struct Sum {
    double n = 0, value = 0, square = 0;
    void add(double x) {
      ++n;
      value += x;
      square += x * x;
    }
    double deviations() const { return n > 0 ? std::max(square - value * value / n, 0.0) : 0; }
  };
  double middle = 0;
  for (const float value : field.values) {
    middle += static_cast<double>(value) / static_cast<double>(field.values.size());
  }
  Sum all;
  std::vector<Sum> by_distance(static_cast<std::size_t>(field.rows + field.columns));
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c) {
      const double value = static_cast<double>(field.at(r, c)) - middle;  // sums of squares stay exact near a constant
      all.add(value);
      by_distance[static_cast<std::size_t>(r - c + field.columns)].add(value);
    }
  }
  double within = 0;
  for (const Sum& each : by_distance) {
    within += each.deviations();
  }
  return std::isfinite(within) && all.deviations() > 0
             ? fixed_text(100 * within / all.deviations(), 1) + " % of the variance is not explained by distance"
             : std::string();
}

struct PeDotProductKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  models::Similarity similarity;
  Wanted wanted;
  MapWindow window;
  Reduction reduction = Reduction::kMax;

  friend bool operator==(const PeDotProductKey&, const PeDotProductKey&) = default;
};

class DotProduct final : public MapView {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    return needs_dot_product(column);
  }
  // With option "layers" a row of panels per column, a panel per layer.
  Result<figure::Figure> figure(const ViewInput& input) const override;
  // Positions beyond the text are no tokens.
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    const std::size_t layers = layers_of(input);
    if (layers == 0) {
      const bool of_map = hit.panel < input.columns.size() + difference_panels(input);
      return wanted_of(input).length > 0 || !of_map ? Selection{} : pick_cell(input, hit);
    }
    Hit own = hit;
    own.panel = hit.panel / layers;
    ViewInput one = input;
    one.difference = false;
    Selection selection = wanted_of(input).length > 0 ? Selection{} : pick_cell(one, own);
    selection.layer = static_cast<std::int64_t>(hit.panel % layers);
    return selection;
  }
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  // With option "steps" those of every column, else the map.
  Result<Data> data(const ViewInput& input) const override;
  Result<DataParts> data_parts(const ViewInput& input) const override;
  bool names_tokens() const override { return false; }
  // The positions, which the text need not have.
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  std::int64_t length(const ViewInput& input, const Column& column) const override {
    const std::int64_t length = wanted_of(input).length;
    return length > 0 && column.trace->image_grid().rows == 0 ? length : column.trace->length();
  }
  Result<RefinedMap> field(const ViewInput& input, const Column& column, const MapWindow& window) const override {
    const Wanted wanted = wanted_of(input);
    const models::Similarity similarity = similarity_of(input, {0, length(input, column)});
    const PeDotProductKey key{input.layer, input.head, similarity, wanted, window, input.reduction};
    return exact_map(cached(input, column, {info_.name, key}, [&]() -> Result<Field> {
      std::shared_ptr<const models::PositionTable> table;
      if (!wanted.of_run()) {
        LOCUS_TRY(table, table_of(input, column));
      }
      return fetch_blocks(
          window, input.reduction,
          [&](Range rows) {
            return table ? table->dot_product(input.head, rows, window.columns, similarity)
                         : column.trace->dot_product(input.layer, input.head, rows, window.columns, similarity);
          },
          input.stop);
    }));
  }
  Result<Field> whole(const ViewInput& input, const Column& column) const override {
    const Wanted wanted = wanted_of(input);
    const Range all{0, length(input, column)};
    const models::Similarity similarity = similarity_of(input, all);
    if (wanted.of_run()) {
      return column.trace->dot_product(input.layer, input.head, all, all, similarity);
    }
    LOCUS_TRY(const auto table, table_of(input, column));
    return table->dot_product(input.head, all, all, similarity);
  }
  Sign sign(const ViewInput& /*input*/) const override { return Sign::kAny; }
  std::string quantity(const ViewInput& input) const override {
    return similarity_label(similarity_of(input, {0, 1}), "eᵢ", "eⱼ");
  }
  std::string subtitle(const ViewInput& input, const Column& column) const override {
    const Wanted wanted = wanted_of(input);
    std::string text = positions_label(input, column);
    if (wanted.overrides.rope_base) {
      text += ", base " + to_text(SettingValue(*wanted.overrides.rope_base));
    }
    return text + (wanted.overrides.rope_scaling.empty() ? "" : ", " + wanted.overrides.rope_scaling);
  }
  void decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const override {
    panel.x.label = "position j";
    panel.x.cell_names = panel.y.cell_names = nullptr;  // positions, whatever stands there
    if (!panel.y.label.empty()) {
      panel.y.label = "position i";
    }
    const auto trained = static_cast<double>(column.trace->model().trained_length);
    if (trained > 0 && trained < static_cast<double>(length(input, column)) && column.trace->image_grid().rows == 0) {
      constexpr std::uint32_t kWhite = 0xFFFFFFFF;
      using Direction = figure::Marker::Direction;
      panel.layers.emplace_back(figure::Marker{Direction::kVertical, trained, "trained length", kWhite, true});
      panel.layers.emplace_back(figure::Marker{Direction::kHorizontal, trained, "", kWhite, true});
    }
    if (const auto* const map = std::get_if<figure::HeatMap>(&panel.layers.front());
        map != nullptr && column.trace->image_grid().rows == 0) {
      panel.note = joined_notes(panel.note, beyond_distance(*map->field));
    }
  }
  Status append_rows(const ViewInput& input, figure::Figure& figure) const override;

 private:
  Wanted wanted_of(const ViewInput& input) const {
    Wanted wanted;
    wanted.length = option<std::int64_t>(input, "length");
    if (const auto base = option<double>(input, "base"); base > 1) {
      wanted.overrides.rope_base = base;
    }
    if (const auto scaling = option<std::string>(input, "scaling"); scaling != kOwn) {
      wanted.overrides.rope_scaling = scaling + ":" + to_text(SettingValue(option<double>(input, "factor")));
    }
    return wanted;
  }
  bool shows_steps(const ViewInput& input) const { return option<bool>(input, "steps") && layers_of(input) == 0; }
  // (1, T − 1): ‖e(i+1) − e(i)‖ of each position i but the last.
  Result<Field> steps_of(const ViewInput& input, const Column& column) const;
  Result<std::vector<Series>> steps_of(const ViewInput& input) const;
  // The encodings of other positions than the run's.
  Result<std::shared_ptr<const models::PositionTable>> table_of(const ViewInput& input, const Column& column) const;
  // How many layers are shown side by side; 0: the chosen one alone.
  std::size_t layers_of(const ViewInput& input) const {
    if (!option<bool>(input, "layers") || input.columns.empty()) {
      return 0;
    }
    std::int64_t layers = input.columns.front().trace->model().layers;
    for (const Column& column : input.columns) {
      layers = std::min(layers, column.trace->model().layers);
    }
    return static_cast<std::size_t>(layers);
  }

  ViewInfo info_ = described({
      .name = "pe-dot-product",
      .caption = "How similar two positions are to the model, whatever tokens stand there.",
      .shows = "The dot product of the encodings of positions i and j, in the state that enters the layer: for the "
               "positions of the text, or for any length, base and scaling.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .uses_difference = true,
      .controls = {toggle("layers", "Every layer",
                          "One map per layer, from the first to the last, in one colour range"),
                   cosine_control(), centred_control(),
                   locus::whole("length", "Length",
                                "Positions 0 … length − 1 instead of those of the text; 0: the positions of the text",
                                0, 0, 65536, "the text's"),
                   toggle("steps", "Steps",
                          "A plot below: how far the encoding of each position is from that of the next"),
                   base_control(),
                   choice("scaling", "Scaling", "A scaling of RoPE to use instead of the checkpoint's",
                          {kOwn, "linear", "ntk", "dynamic", "yarn"}),
                   number("factor", "Factor", "Factor of the scaling", 4.0, 1, 64)},
  });
};

Result<std::shared_ptr<const models::PositionTable>> DotProduct::table_of(const ViewInput& input,
                                                                          const Column& column) const {
  if (!column.model) {
    return unsupported("a trace knows its own positions only: length, base and scaling need the checkpoint");
  }
  models::PositionRequest request;
  request.overrides = wanted_of(input).overrides;
  const models::ImageGrid& grid = column.trace->image_grid();
  if (grid.rows > 0) {
    request.rows = grid.rows;
    request.columns = grid.columns;
  } else {
    request.length = length(input, column);
  }
  return column.model->position_table(request, input.layer);
}

// From the dot products of neighbours, less the mean state, which steps do not have and rounding would feel.
Result<Field> DotProduct::steps_of(const ViewInput& input, const Column& column) const {
  constexpr std::int64_t kRows = 128;
  const std::int64_t count = length(input, column);
  const models::Similarity similarity{false, {0, count}};
  std::shared_ptr<const models::PositionTable> table;
  if (!wanted_of(input).of_run()) {
    LOCUS_TRY(table, table_of(input, column));
  }
  std::vector<double> steps;
  for (std::int64_t begin = 0; begin + 1 < count; begin += kRows) {
    if (input.stop.stop_requested()) {
      return cancelled();
    }
    const Range rows{begin, std::min(begin + kRows + 1, count)};  // the last is the first of the next
    LOCUS_TRY(const Field block, table ? table->dot_product(input.head, rows, rows, similarity)
                                       : column.trace->dot_product(input.layer, input.head, rows, rows, similarity));
    for (std::int64_t n = 0; n + 1 < block.rows; ++n) {
      const double squared = static_cast<double>(block.at(n, n)) + static_cast<double>(block.at(n + 1, n + 1)) -
                             2 * static_cast<double>(block.at(n, n + 1));
      steps.push_back(std::sqrt(std::max(squared, 0.0)));
    }
  }
  return *strip_of(steps);
}

Result<std::vector<Series>> DotProduct::steps_of(const ViewInput& input) const {
  std::vector<Series> list;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Column& column = input.columns[n];
    const ViewInput own = of_column(input, n);
    const PeDotProductKey key{own.layer, own.head, {}, wanted_of(own), {}, own.reduction};
    LOCUS_TRY(const auto steps,
              cached(own, column, {"steps of positions", key}, [&] { return steps_of(own, column); }));
    list.push_back({column.name, {steps->values.begin(), steps->values.end()}});
  }
  return list;
}

Status DotProduct::append_rows(const ViewInput& input, figure::Figure& figure) const {
  if (!shows_steps(input)) {
    return {};
  }
  LOCUS_TRY(const std::vector<Series> list, steps_of(input));
  figure::Panel panel;
  panel.follows_camera = false;
  Extent x;
  Extent y;
  for (const Series& each : list) {
    add_curve(curve_through(each.name, counted(each.values.size()), each.values), x, y, panel);
  }
  panel.x.label = "position i";
  panel.x.view = x.padded(0);
  panel.y.label = "‖e(i + 1) − e(i)‖";
  panel.y.view = y.from_zero();
  figure.panels.push_back(std::move(panel));
  return {};
}

Result<Data> DotProduct::data(const ViewInput& input) const {
  if (!shows_steps(input)) {
    return MapView::data(input);
  }
  LOCUS_CHECK(check(*this, input));
  LOCUS_TRY(std::vector<Series> list, steps_of(input));
  return views::table_of(std::move(list), "position");
}

Result<DataParts> DotProduct::data_parts(const ViewInput& input) const {
  if (!shows_steps(input)) {
    return MapView::data_parts(input);
  }
  LOCUS_TRY(Data whole, data(input));
  return DataParts{whole.shape, whole.columns, 1,
                   [values = whole.values](std::int64_t) { return Result<std::vector<float>>(values); }};
}

// One range over all panels, unless the user has set it.
void share_range(const ViewInput& input, figure::Figure& figure) {
  std::vector<figure::ColorScale*> scales;
  for (figure::Panel& panel : figure.panels) {
    auto* const map = panel.layers.empty() ? nullptr : std::get_if<figure::HeatMap>(&panel.layers.front());
    if (map != nullptr) {
      scales.push_back(&map->scale);
    }
  }
  for (const figure::ColorScale* each : std::vector<figure::ColorScale*>(scales)) {
    scales.front()->low = std::min(scales.front()->low, each->low);
    scales.front()->high = std::max(scales.front()->high, each->high);
  }
  for (figure::ColorScale* each : scales) {
    each->low = input.scale.low.value_or(scales.front()->low);
    each->high = input.scale.high.value_or(scales.front()->high);
  }
}

// One panel per column that says why there is none.
figure::Figure nothing_to_show(std::size_t columns, const Error& reason) {
  figure::Panel panel;
  panel.show_axes = false;
  panel.note = reason.message;
  figure::Figure figure;
  figure.panels.assign(columns, panel);
  return figure;
}

Result<figure::Figure> DotProduct::figure(const ViewInput& input) const {
  const std::size_t layers = layers_of(input);
  if (layers == 0) {
    return MapView::figure(input);
  }
  ViewInput one = of_column(input, 0);  // each panel is of its own layer
  one.difference = false;
  const int across = input.columns.size() > 1 ? static_cast<int>(layers) : 2;
  one.width_px = std::max(input.width_px / across, 1);
  std::vector<figure::Figure> figures;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    one.layer = static_cast<std::int64_t>(layer);
    Result<figure::Figure> made = MapView::figure(one);
    if (!made.ok() && made.error().code == ErrorCode::kUnsupported) {
      made = nothing_to_show(input.columns.size(), made.error());  // a layer without positions
    }
    LOCUS_TRY(figure::Figure shown, std::move(made));
    figures.push_back(std::move(shown));
  }
  figure::Figure figure;
  // One checkpoint's layers fill the room; those of several stand below each other.
  const bool one_column = input.columns.size() == 1;
  figure.columns =
      one_column ? static_cast<int>(std::ceil(std::sqrt(static_cast<double>(layers)))) : static_cast<int>(layers);
  if (one_column) {
    figure.names = {input.columns.front().name};
    figure.title = input.columns.front().name;
  }
  std::size_t last = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    last = figures[layer].panels.front().layers.empty() ? last : layer;
  }
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      figure::Panel panel = std::move(figures[layer].panels[n]);
      panel.names = {input.columns[n].name};
      panel.title = (layer == 0 && !one_column ? input.columns[n].name + " · " : "") + "layer " + std::to_string(layer);
      const bool leftmost = static_cast<int>(layer) % figure.columns == 0;
      panel.y.label = leftmost ? "position i" : "";
      // Words that all panels share stand once.
      const bool shows = !panel.layers.empty();
      panel.color_bar_label = layer == last ? quantity(input) : "";
      if (layer != last && shows) {
        const auto* const map = std::get_if<figure::HeatMap>(&panel.layers.front());
        panel.note = map == nullptr ? std::string() : beyond_distance(*map->field);
      }
      figure.panels.push_back(std::move(panel));
    }
  }
  if (input.scale.shared) {
    share_range(input, figure);
  }
  return figure;
}

std::vector<Place> DotProduct::places(const ViewInput& input, const Selection& selection) const {
  if (wanted_of(input).length > 0) {
    return {};
  }
  const std::size_t layers = layers_of(input);
  if (layers == 0) {
    return MapView::places(input, selection);
  }
  std::vector<Place> places;
  ViewInput maps = input;
  maps.difference = false;
  for (const Place& place : cell_places(maps, selection)) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      places.push_back({place.panel * layers + layer, place.x, place.y});
    }
  }
  return places;
}

std::vector<std::string> DotProduct::said_of(const ViewInput& input, const Hit& hit) const {
  const std::size_t layers = std::max<std::size_t>(layers_of(input), 1);
  const bool of_difference = layers_of(input) == 0 && shows_difference(input) && hit.panel >= input.columns.size();
  const std::size_t column = of_difference ? compared_columns(input).front() : hit.panel / layers;
  if (column >= input.columns.size()) {
    return {};
  }
  const std::int64_t cells = length(input, input.columns[column]);
  const auto at = cell_at(hit, cells, cells);
  if (!at) {
    return {};
  }
  std::vector<std::string> lines{"position i = " + std::to_string(at->row),
                                 "position j = " + std::to_string(at->column)};
  if (input.columns[column].trace->image_grid().rows == 0) {
    lines.push_back("Δ = " + std::to_string(at->row - at->column));
  }
  return lines;
}

}  // namespace

const View& pe_dot_product_view() {
  return made_once<DotProduct>();
}

}  // namespace locus::views
