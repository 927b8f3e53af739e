// `positions`: what CoPE's gates add up to, and for one query how that differs from counting tokens; of a run whose
// positions are vectors (M-RoPE) their time, row and column.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/views/maps/contextual_map.h"
#include "app/views/maps/counted_table.h"
#include "app/views/maps/position_vectors.h"
#include "app/views/shared/alignment.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::int64_t kStripRows = 4;
constexpr std::int64_t kSquareKeys = 24;  // of the strip, at most, with square cells

struct Strip {
  std::int64_t query = 0;
  Range keys;

  friend bool operator==(const Strip&, const Strip&) = default;
};

class Positions final : public ContextualMap {
 public:
  Positions() : ContextualMap(models::Quantity::kPosition) {}
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    return has_pictured_positions(column) ? Status() : ContextualMap::fits(column);
  }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;
  Result<DataParts> data_parts(const ViewInput& input) const override;
  std::optional<Camera> home(const ViewInput& input) const override {
    return shows_vectors(input) || shows_table(input) ? std::nullopt : ContextualMap::home(input);
  }
  // In a strip: its query and the key under the pointer.
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override;
  std::string why_idle(const ViewInput& input, const std::string& name) const override {
    const bool of_map = name == "strip" || name == "boundary";
    return shows_vectors(input)           ? "Positions that are vectors have none of CoPE's counts"
           : of_map && shows_table(input) ? "A table has no keys to mark and no strip"
                                          : "";
  }

 protected:
  void decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const override;
  Status append_rows(const ViewInput& input, figure::Figure& figure) const override;

 private:
  static bool shows_vectors(const ViewInput& input) {
    return !input.columns.empty() && std::ranges::all_of(input.columns, has_pictured_positions);
  }
  bool shows_table(const ViewInput& input) const {
    return !shows_vectors(input) && option<std::string>(input, "as") != "map";
  }
  bool of_tokens(const ViewInput& input) const { return option<std::string>(input, "as") == "tokens"; }
  std::optional<Strip> strip_of(const ViewInput& input, const Column& column) const {
    const auto count = option<std::int64_t>(input, "strip");
    const std::int64_t length = column.trace->length();
    if (count < 1 || length < 1) {
      return std::nullopt;
    }
    const std::int64_t pinned = query_of(input, column);
    const std::int64_t query = pinned == kNone ? length - 1 : pinned;
    return Strip{query, {std::max<std::int64_t>(0, query + 1 - count), query + 1}};
  }

  ViewInfo info_ = described({
      .name = "positions",
      .caption = "Where each token stands: in the steps that this head counts, or in time, row and column.",
      .shows =
          "CoPE's positions p_ij: the number of counted keys from j to i, including the token itself, clamped at the "
          "largest position that the model knows. Below, for the pinned query (by default the last token): the "
          "distance in tokens, gate, position and attention of the keys before it. Where positions are vectors "
          "(M-RoPE): "
          "time, row and column of every token, and rows and columns on the pictures.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_camera = true,
      .uses_difference = true,
      .of_scores = true,
      .controls = {boundary_control(""),
                   locus::whole("strip", "Keys in the strip",
                                "Number of keys before the query that the strip shows; 0: no strip", 16, 0, 64,
                                "no strip"),
                   // Last: the others are of the map.
                   choice("as", "As",
                          "A map with a strip, or a table: how well the positions follow the number of characters of "
                          "each kind (letters, line feeds, …), or of each of the most frequent tokens",
                          {"map", "characters", "tokens"})},
  });
};

std::optional<double> largest_position(const ViewInput& input, const Column& column) {
  const models::EncodingUse* const own = column.trace->model().encoding_of(input.layer);
  const auto p_max = own == nullptr ? Result<double>(0.0) : own->options.number("p_max", 0);
  return p_max.ok() && *p_max > 0 ? std::optional(*p_max) : std::nullopt;
}

// ".97" reads as well as "0.97" and leaves room for larger type.
std::string share_text(float value) {
  const std::string text = fixed_text(static_cast<double>(value), 2);
  return text.starts_with("0.") ? text.substr(1) : text;
}

// (4, keys): distance, gate, position and attention of one query.
Result<Field> strip_values(const HeadRef& head, const Strip& strip, const Column& column, const StopToken& stop) {
  Field values = Field::zeros(kStripRows, strip.keys.size());
  for (std::int64_t c = 0; c < values.columns; ++c) {
    values.at(0, c) = static_cast<float>(strip.query - strip.keys.begin - c);
  }
  auto to = values.values.begin() + values.columns;
  for (const models::Quantity quantity :
       {models::Quantity::kGate, models::Quantity::kPosition, models::Quantity::kWeight}) {
    LOCUS_TRY(const Field map,
              column.trace->map({head.layer, head.head, quantity, {strip.query, strip.query + 1}, strip.keys}, stop));
    to = std::copy(map.values.begin(), map.values.end(), to);
  }
  return values;
}

figure::Panel strip_panel(const ViewInput& input, const Column& column, const Strip& strip, const Field& values) {
  static constexpr std::array<const char*, kStripRows> kRows{"distance", "gate", "position", "attention"};
  Field shares = values;
  std::vector<std::string> texts;
  std::vector<std::string> said;
  for (std::int64_t r = 0; r < values.rows; ++r) {
    float largest = 0;
    for (std::int64_t c = 0; c < values.columns; ++c) {
      largest = std::max(largest, values.at(r, c));
    }
    for (std::int64_t c = 0; c < values.columns; ++c) {
      shares.at(r, c) = largest > 0 ? values.at(r, c) / largest : 0;
      const float value = values.at(r, c);
      texts.push_back(r == 0 ? fixed_text(static_cast<double>(value), 0) : share_text(value));
      said.push_back(kRows[static_cast<std::size_t>(r)] + std::string(" ") +
                     general_text(static_cast<double>(value), 5));
    }
  }
  Field numbers = values;
  shares.row_axis = numbers.row_axis = {"", "", 0, 1};
  shares.column_axis = numbers.column_axis = {"key", "token", static_cast<double>(strip.keys.begin), 1};
  const Names names = shared_names(token_labels(*column.trace));
  figure::Panel panel;
  panel.follows_camera = false;
  panel.equal_aspect = strip.keys.size() <= kSquareKeys;  // more make rows too low for their names
  panel.title = "query " + std::to_string(strip.query) + " “" + (*names)[static_cast<std::size_t>(strip.query)] + "”";
  panel.x = {.label = "",
             .view = {static_cast<double>(strip.keys.begin), static_cast<double>(strip.keys.end)},
             .cell_names = names};
  panel.y = cells_down("", kStripRows, shared_names(std::vector<std::string>(kRows.begin(), kRows.end())));
  panel.layers.emplace_back(figure::HeatMap{.field = std::make_shared<const Field>(std::move(shares)),
                                            .scale = {},
                                            .texts = shared_names(std::move(texts)),
                                            .numbers = std::make_shared<const Field>(std::move(numbers)),
                                            .said = shared_names(std::move(said))});
  panel.note = "each row by its largest value";
  if (const auto p_max = largest_position(input, column)) {
    std::int64_t clamped = 0;
    for (std::int64_t c = 0; c < values.columns; ++c) {
      clamped += static_cast<double>(values.at(2, c)) >= *p_max - 1e-4 ? 1 : 0;
    }
    panel.note += "; positions end at p_max = " + fixed_text(*p_max, 0) +
                  (clamped > 0 ? ", where " + std::to_string(clamped) + " of these keys are" : "");
  }
  return panel;
}

void Positions::decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const {
  ContextualMap::decorate(input, column, panel);
  const auto p_max = largest_position(input, column);
  const auto* map = std::get_if<figure::HeatMap>(&panel.layers.front());
  if (!p_max || map == nullptr) {
    return;
  }
  std::int64_t clamped = 0;
  std::int64_t seen = 0;
  for (const float value : map->field->values) {
    seen += std::isfinite(value) ? 1 : 0;
    clamped += static_cast<double>(value) >= *p_max - 1e-4 ? 1 : 0;
  }
  if (clamped > 0) {
    const std::string share = fixed_text(100 * static_cast<double>(clamped) / static_cast<double>(seen), 0);
    panel.note =
        joined_notes(panel.note, share + " % of the cells shown are clamped at p_max = " + fixed_text(*p_max, 0));
  }
}

Status Positions::append_rows(const ViewInput& input, figure::Figure& figure) const {
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const Column& column = input.columns[n];
    const auto strip = strip_of(input, column);
    if (!strip) {
      return {};
    }
    const ViewInput own = of_column(input, n);
    const HeadRef head{own.layer, head_of(own)};
    LOCUS_TRY(const auto values, cached(input, column, {"strip", std::pair(head, *strip)},
                                        [&] { return strip_values(head, *strip, column, input.stop); }));
    LOCUS_TRY(const auto row, cached(input, column, {"strip query", std::pair(head, strip->query)}, [&] {
                return column.trace->map({head.layer,
                                          head.head,
                                          models::Quantity::kPosition,
                                          {strip->query, strip->query + 1},
                                          {0, strip->query + 1}},
                                         input.stop);
              }));
    figure::Panel panel = strip_panel(own, column, *strip, *values);
    const std::string counted = counted_by(*row, marked_tokens(*column.trace, option<std::string>(input, "boundary")));
    panel.note = joined_notes(panel.note, counted.empty() ? counted : "of this query, " + counted);
    figure.panels.push_back(std::move(panel));
  }
  return {};
}

std::size_t maps_of(const ViewInput& input) {
  return input.columns.size() + difference_panels(input);
}

Result<figure::Figure> Positions::figure(const ViewInput& input) const {
  if (shows_table(input)) {
    LOCUS_CHECK(check(*this, input));
    return counted_figure(input, of_tokens(input));
  }
  if (!shows_vectors(input)) {
    return ContextualMap::figure(input);
  }
  LOCUS_CHECK(check(*this, input));
  return vector_figure(input);
}

Result<Data> Positions::data(const ViewInput& input) const {
  if (shows_table(input)) {
    LOCUS_CHECK(check(*this, input));
    return counted_data(input, of_tokens(input));
  }
  if (!shows_vectors(input)) {
    return ContextualMap::data(input);
  }
  LOCUS_CHECK(check(*this, input));
  return vector_data(input.columns.front());
}

Result<DataParts> Positions::data_parts(const ViewInput& input) const {
  if (shows_table(input)) {
    return View::data_parts(input);  // NOLINT(bugprone-parent-virtual-call): a table is no map
  }
  if (!shows_vectors(input)) {
    return ContextualMap::data_parts(input);
  }
  LOCUS_TRY(Data whole, data(input));
  return DataParts{whole.shape, whole.columns, 1,
                   [values = whole.values](std::int64_t) { return Result<std::vector<float>>(values); }};
}

Selection Positions::pick(const ViewInput& input, const Hit& hit) const {
  if (shows_vectors(input)) {
    return pick_vector(input, hit);
  }
  if (shows_table(input)) {
    return {};
  }
  const std::size_t maps = maps_of(input);
  if (hit.panel < maps) {
    return pick_cell(input, hit);
  }
  const std::size_t index = std::min(hit.panel - maps, input.columns.size() - 1);
  const Column& column = input.columns[index];
  const auto strip = strip_of(input, column);
  const auto key = static_cast<std::int64_t>(std::floor(hit.x));
  Selection selection;
  if (strip && strip->keys.contains(key)) {
    selection.column = static_cast<std::int64_t>(index);
    selection.query = token_at(input, column, strip->query);
    selection.key = key_at(input, column, key);
  }
  return selection;
}

std::vector<Place> Positions::places(const ViewInput& input, const Selection& selection) const {
  if (shows_vectors(input)) {
    return vector_places(input, selection);
  }
  if (shows_table(input)) {
    return {};
  }
  std::vector<Place> places = ContextualMap::places(input, selection);
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const auto strip = strip_of(input, input.columns[n]);
    const std::int64_t key = strip && selection.key ? own_key(input, *selection.key, input.columns[n]) : kNone;
    if (strip && key != kNone && strip->keys.contains(key)) {
      places.push_back({maps_of(input) + n, cell_interval(key), {0, static_cast<double>(kStripRows)}});
    }
  }
  return places;
}

}  // namespace

const View& positions_view() {
  return made_once<Positions>();
}

}  // namespace locus::views
