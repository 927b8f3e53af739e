// `needle`: whether a sentence hidden in a long text is found again, by how deep it lies and how long the text is.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

// The statistics that are shown: of the whole model, or of each head.
struct NeedleStatistic {
  const char* name;
  const char* statistic;
  bool of_model;
  const char* meaning;
};
constexpr std::array<NeedleStatistic, 8> kNeedleStatistics{{
    {"answer", "retrieval.answer", true, "share of answers that are produced"},
    {"loss", "retrieval.loss", true, "loss of the answer (nats)"},
    {"score", "retrieval.score", false, "share of the answer with more than half of the weight on its source"},
    {"weight", "retrieval.weight", false, "weight on the token being copied"},
    {"needle", "spans.needle", false, "weight on the sentence"},
    {"begin", "spans.begin", false, "weight on the first token"},
    {"local", "spans.local", false, "weight on the last 16 keys"},
    {"rest", "spans.rest", false, "weight on all other keys"},
}};

struct NeedleKey {
  std::string of;
  std::int64_t layer = 0;
  std::int64_t head = 0;

  friend bool operator==(const NeedleKey&, const NeedleKey&) = default;
};

// (D, S) each; `null` without entries where there is none.
struct NeedleMap {
  std::vector<double> depths, lengths;
  std::vector<double> mean, low, high, null;
  double samples = 0;
};
std::size_t cached_bytes(const NeedleMap& map) {
  return sizeof map + sizeof(double) * (map.depths.size() + map.lengths.size() + 4 * map.mean.size());
}

std::vector<std::string> needle_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kNeedleStatistics));
  for (const NeedleStatistic& each : kNeedleStatistics) {
    names.emplace_back(each.name);
  }
  return names;
}

const NeedleStatistic& needle_statistic(std::string_view name) {
  return *std::ranges::find_if(kNeedleStatistics, [&](const NeedleStatistic& each) { return each.name == name; });
}

class NeedleView final : public MeasuredView<NeedleKey, NeedleMap> {
 public:
  const ViewInfo& info() const override { return info_; }
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<NeedleKey> measure_key(const ViewInput& input, std::size_t column) const override {
    const auto of = option<std::string>(input, "of");
    if (needle_statistic(of).of_model) {
      return NeedleKey{of, 0, 0};
    }
    LOCUS_CHECK(needs_head(input, info_.name, false));
    const HeadRef head = head_of_column(input, column);
    return NeedleKey{of, head.layer, head.head};
  }
  Result<NeedleMap> measure(const NeedleKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  std::string statement_of(const ViewInput& input, std::size_t column, const NeedleMap& map) const;

  ViewInfo info_ = described({
      .name = "needle",
      .caption = "Whether a sentence hidden in a long text is found again, and which heads look at it.",
      .shows =
          "A sentence is hidden in windows of the corpus at several depths and lengths, and its beginning stands again "
          "at the end: how often the model produces the rest of it, the loss of that answer, and for a head how much "
          "of its weight lies on the token being copied, on the sentence, on the first token, on the last keys and on "
          "the rest. Cells contain the mean and its 95 % interval, in parentheses where the interval contains that of "
          "shuffled texts.",
      .uses_layer = true,
      .uses_head = true,
      .of_runs = false,
      .of_atlases = true,
      .controls = {choice("of", "Of",
                          "Answers and their loss, of the model; the retrieval score, the weight on the token being "
                          "copied, and the weight on parts of the text, of the head",
                          needle_names())},
  });
};

// One head's entries, or the model's.
std::vector<double> entries_of(const std::vector<double>& values, std::size_t cells, std::int64_t head) {
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(head) * cells);
  return {from, from + static_cast<std::ptrdiff_t>(cells)};
}

Result<NeedleMap> NeedleView::measure(const NeedleKey& key, const MeasureContext& context) const {
  const models::Atlas& atlas = *models::atlas_of(*context.column.trace);
  const NeedleStatistic& which = needle_statistic(key.of);
  report(context.progress, 0, "needles");
  if (context.stop.stop_requested()) {
    return cancelled();
  }
  if (!atlas.has(which.statistic)) {
    return unsupported("the atlas has no " + std::string(which.statistic) +
                       ": it was made without, or without a tokenizer");
  }
  const std::int64_t layer = which.of_model ? models::kAtlasOfModel : key.layer;
  LOCUS_TRY(const models::AtlasValues values, atlas.values(which.statistic, layer));
  NeedleMap map;
  map.depths = atlas.axis("retrieval.depths");
  map.lengths = atlas.axis("retrieval.lengths");
  const std::size_t cells = map.depths.size() * map.lengths.size();
  if (cells == 0 || values.mean.size() % cells != 0) {
    return bad_input("expected values at " + std::to_string(map.depths.size()) + " depths and " +
                     std::to_string(map.lengths.size()) + " lengths, found " + std::to_string(values.mean.size()));
  }
  map.mean = entries_of(values.mean, cells, key.head);
  map.low = entries_of(values.low, cells, key.head);
  map.high = entries_of(values.high, cells, key.head);
  map.samples = values.samples;
  if (atlas.has(which.statistic, models::AtlasNull::kShuffled)) {
    LOCUS_TRY(const models::AtlasValues null, atlas.values(which.statistic, layer, models::AtlasNull::kShuffled));
    map.null = entries_of(null.mean, cells, key.head);
  }
  return map;
}

HeadInterval interval_at(const NeedleMap& map, std::size_t n) {
  return {map.mean[n], map.low[n], map.high[n], map.null.empty() ? kNaN : map.null[n]};
}

// "0.32 ± 0.02": half of the interval, in parentheses where that holds the null.
std::string needle_text(const NeedleMap& map, std::size_t n) {
  const HeadInterval at = interval_at(map, n);
  const bool known = !std::isnan(at.low) && !std::isnan(at.high);
  const std::string text = fixed_text(at.mean, 2) + (known ? " ± " + fixed_text((at.high - at.low) / 2, 2) : "");
  return at.like_null() ? "(" + text + ")" : text;
}

std::string depth_text(double depth) {
  return fixed_text(100 * depth, 0) + " %";
}

// "share of answers that are produced: at most 0.25 [0.10, 0.40], at depth 50 % of 128 tokens, of shuffled texts 0":
// the largest of those that are not as in shuffled texts, which stand in parentheses.
std::string NeedleView::statement_of(const ViewInput& input, std::size_t column, const NeedleMap& map) const {
  const NeedleStatistic& which = needle_statistic(option<std::string>(input, "of"));
  const HeadRef head = head_of_column(input, column);
  std::optional<std::size_t> best;
  for (std::size_t n = 0; n < map.mean.size(); ++n) {
    if (!std::isnan(map.mean[n]) && !interval_at(map, n).like_null() && (!best || map.mean[n] > map.mean[*best])) {
      best = n;
    }
  }
  const std::string what =
      (which.of_model ? "" : "head " + head_name(head.layer, head.head) + ", ") + std::string(which.meaning);
  if (!best) {
    return what + ": nowhere other than in shuffled texts";
  }
  const std::size_t n = *best;
  const std::size_t lengths = map.lengths.size();
  return what + ": at most " + with_interval(map.mean[n], map.low[n], map.high[n]) + ", at depth " +
         depth_text(map.depths[n / lengths]) + " of " + fixed_text(map.lengths[n % lengths], 0) + " tokens" +
         (map.null.empty() ? "" : ", of shuffled texts " + short_number(map.null[n]));
}

std::vector<std::string> NeedleView::said_of(const ViewInput& input, const Hit& hit) const {
  const Pointer map = hit.panel < input.columns.size() ? kept(input, hit.panel) : nullptr;
  const auto at = map ? cell_at(hit, std::ssize(map->depths), std::ssize(map->lengths)) : std::nullopt;
  if (!at) {
    return {};
  }
  const auto n = static_cast<std::size_t>(at->row) * map->lengths.size() + static_cast<std::size_t>(at->column);
  std::vector<std::string> lines{"depth " + depth_text(map->depths[static_cast<std::size_t>(at->row)]) + " of " +
                                     fixed_text(map->lengths[static_cast<std::size_t>(at->column)], 0) + " tokens",
                                 std::string(needle_statistic(option<std::string>(input, "of")).meaning) + " " +
                                     with_interval(map->mean[n], map->low[n], map->high[n])};
  if (!map->null.empty()) {
    lines.push_back("of shuffled texts " + short_number(map->null[n]));
  }
  return lines;
}

Result<figure::Figure> NeedleView::draw(const ViewInput& input, const Numbers& numbers) const {
  const NeedleStatistic& which = needle_statistic(option<std::string>(input, "of"));
  Fields fields;
  for (const Pointer& map : numbers) {
    auto field = std::make_shared<Field>(Field::zeros(std::ssize(map->depths), std::ssize(map->lengths)));
    std::ranges::transform(map->mean, field->values.begin(), [](double value) { return static_cast<float>(value); });
    fields.push_back(std::move(field));
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const NeedleMap& map = *numbers[n];
    const Column& column = input.columns[n];
    const HeadRef head = head_of_column(input, n);
    std::vector<std::string> depths;
    std::ranges::transform(map.depths, std::back_inserter(depths), depth_text);
    std::vector<std::string> lengths;
    std::ranges::transform(map.lengths, std::back_inserter(lengths),
                           [](double length) { return fixed_text(length, 0); });
    std::vector<std::string> texts;
    for (std::size_t cell = 0; cell < map.mean.size(); ++cell) {
      texts.push_back(needle_text(map, cell));
    }
    figure::Panel panel;
    panel.follows_camera = false;
    name_after(column, panel, which.of_model ? "" : " · " + head_label(column.trace->model(), head.layer, head.head));
    panel.x = cells_across("length of the text (tokens)", fields[n]->columns, shared_names(std::move(lengths)));
    panel.y = cells_down("depth of the sentence", fields[n]->rows, shared_names(std::move(depths)));
    panel.layers.emplace_back(figure::HeatMap{.field = fields[n],
                                              .scale = scale_of(input, Sign::kPositive, fields, n),
                                              .texts = shared_names(std::move(texts))});
    panel.color_bar_label = which.meaning;
    panel.note = fixed_text(map.samples, 0) + " texts; ± half of the 95 % interval" +
                 (map.null.empty() ? "" : "; in parentheses: as in shuffled texts");
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return statement_of(input, n, *numbers[n]); });
  return figure;
}

Result<Data> NeedleView::table(const ViewInput& /*input*/, const Numbers& numbers) const {
  const NeedleMap& map = *numbers.front();
  std::vector<Series> series{{"depth", {}}, {"length", {}}};
  for (const double depth : map.depths) {
    for (const double length : map.lengths) {
      series[0].values.push_back(depth);
      series[1].values.push_back(length);
    }
  }
  series.push_back({"mean", map.mean});
  series.push_back({"low", map.low});
  series.push_back({"high", map.high});
  if (!map.null.empty()) {
    series.push_back({"shuffled", map.null});
  }
  return table_of(std::move(series));
}

}  // namespace

const View& needle_view() {
  return made_once<NeedleView>();
}

}  // namespace locus::views
