// `score-sources`: one score as a matrix of what its query and its key are made of.
#include "models/api/score_sources.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

constexpr std::size_t kSaidTerms = 3;
constexpr const char* kBias = "position bias";

struct ScoreSourcesKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;  // −1: the one that the query attends to most, but for the first
  Range pairs{};
  std::int64_t trail = 0;

  friend bool operator==(const ScoreSourcesKey&, const ScoreSourcesKey&) = default;
};

// A cell, then those of the trail.
struct ScoreStep : models::ScoreSources {
  HeadRef of;
};
struct ScoreTrail {
  std::vector<ScoreStep> steps;
};
std::size_t cached_bytes(const ScoreTrail& trail) {
  std::size_t bytes = sizeof trail;
  for (const ScoreStep& step : trail.steps) {
    bytes += sizeof step + views::cached_bytes(step.terms) + 64 * (step.query.size() + step.key.size());
  }
  return bytes;
}

// One term, or what stands beside them: its sources are then counted as none.
struct ScoreTerm {
  std::int64_t query = -1;
  std::int64_t key = -1;
  double value = 0;
};

// All terms, the largest first.
std::vector<ScoreTerm> terms_by_size(const ScoreStep& step) {
  std::vector<ScoreTerm> terms;
  for (std::int64_t row = 0; row < step.terms.rows; ++row) {
    for (std::int64_t column = 0; column < step.terms.columns; ++column) {
      terms.push_back({row, column, static_cast<double>(step.terms.at(row, column))});
    }
  }
  std::ranges::stable_sort(terms, std::ranges::greater(), [](const ScoreTerm& term) { return std::abs(term.value); });
  return terms;
}

const models::ScoreSource& source_of(const std::vector<models::ScoreSource>& list, std::int64_t n) {
  return list[static_cast<std::size_t>(n)];
}

// The head that the largest term with one comes from, and the token where it wrote.
std::optional<std::pair<HeadRef, std::int64_t>> origin_of(const ScoreStep& step) {
  for (const ScoreTerm& term : terms_by_size(step)) {
    const models::ScoreSource& query = source_of(step.query, term.query);
    const models::ScoreSource& key = source_of(step.key, term.key);
    if (query.head >= 0) {
      return std::pair(HeadRef{query.layer, query.head}, step.query_token);
    }
    if (key.head >= 0) {
      return std::pair(HeadRef{key.layer, key.head}, step.key_token);
    }
  }
  return {};
}

class ScoreSourcesView final : public MeasuredView<ScoreSourcesKey, ScoreTrail> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override { return needs_model(column, info_.title); }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<ScoreSourcesKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<ScoreTrail> measure(const ScoreSourcesKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  // What a point of the figure shows: the step, and the sources of the row and the column; empty for a sum of small
  // ones.
  struct Shown {
    const ScoreStep& step;
    std::size_t column;
    std::optional<std::int64_t> query, key;
  };
  std::optional<Shown> shown_at(const ViewInput& input, const Hit& hit, const Pointer& trail) const;

  ViewInfo info_ = described({
      .name = "score-sources",
      .caption = "Where one score comes from: each source of its query with each source of its key.",
      .shows =
          "A query and a key are sums of what embedding, heads, feed-forwards and biases before them wrote, so that "
          "their product is a sum over two sources, one from each, with the scales of the norms held at their values "
          "in the run. By default the last query, and the key that it attends to most, the first token apart. A click "
          "on a cell goes to the head that it comes from.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .controls = {whole("shown", "Sources shown",
                         "Sources of each side with a row or a column of their own; the others are summed", 10, 2, 64),
                   whole("trail", "Trail",
                         "Steps from the largest term's head to the cell where that head wrote, and so on", 0, 0, 8),
                   words("pairs", "Pairs", "Rotary pairs that are counted alone: 3:7 are the pairs 3 to 6; empty: all",
                         "all; 3:7")},
  });
};

Result<ScoreSourcesKey> ScoreSourcesView::measure_key(const ViewInput& input, std::size_t column) const {
  LOCUS_CHECK(needs_one_head(input));
  LOCUS_TRY(const std::optional<Range> pairs, band_of(input, "pairs"));
  const HeadRef head = head_of_column(input, column);
  const Column& own = input.columns[column];
  ScoreSourcesKey key{head.layer,
                      head.head,
                      own.trace->length() - 1,
                      -1,
                      pairs.value_or(Range{}),
                      option<std::int64_t>(input, "trail")};
  key.query = input.query.chosen() ? query_of(input, own) : key.query;
  key.key = input.key.chosen() ? own_key(input, input.key, own) : -1;
  if (key.query == kNone || (input.key.chosen() && key.key == kNone)) {
    return usage("score-sources: " + own.name + " has tokens 0 to " + std::to_string(own.trace->length() - 1) +
                 ", none of them for query " + std::to_string(input.query.index) + " and key " +
                 std::to_string(input.key.index));
  }
  return key;
}

Result<ScoreTrail> ScoreSourcesView::measure(const ScoreSourcesKey& key, const MeasureContext& context) const {
  ScoreTrail trail;
  models::ScoreSourcesOptions options{key.layer, key.head, key.query, key.key, key.pairs};
  for (std::int64_t n = 0; n <= key.trail; ++n) {
    LOCUS_TRY(models::ScoreSources made, models::score_sources(*context.column.model, *context.column.trace, options,
                                                               context.stop, context.progress));
    trail.steps.push_back({std::move(made), {options.layer, options.head}});
    const auto origin = origin_of(trail.steps.back());
    if (!origin) {
      break;
    }
    options = {origin->first.layer, origin->first.head, origin->second, -1, {}};
  }
  return trail;
}

// ---- in words

std::string token_text(const models::Trace& trace, std::int64_t token) {
  const auto& tokens = trace.tokens();
  const auto n = static_cast<std::size_t>(token);
  return n < tokens.size() && !tokens[n].label.empty() ? "“" + tokens[n].label + "”" : std::to_string(token);
}

// "head 1.3 at “Mary” × embedding of “said”: 2.1": a source that reads other tokens is at its own.
std::string source_text(const models::ScoreSource& source, const models::Trace& trace, std::int64_t token) {
  const bool own = source.layer < 0;
  return source.name + (own ? " of " : " at ") + token_text(trace, token);
}
std::string term_text(const ScoreStep& step, const ScoreTerm& term, const models::Trace& trace) {
  return source_text(source_of(step.query, term.query), trace, step.query_token) + " × " +
         source_text(source_of(step.key, term.key), trace, step.key_token) + ", " + short_number(term.value);
}

// "head 2.1 gives “cat” → “mat” 5.2: embedding of “cat” × head 1.3 at “mat”, 2.1; …".
std::string score_line(const ScoreStep& step, const models::Trace& trace) {
  const std::vector<ScoreTerm> terms = terms_by_size(step);
  std::string line = "logit " + short_number(step.logit) + " of " + token_text(trace, step.query_token) + " to " +
                     token_text(trace, step.key_token);
  for (std::size_t n = 0; n < std::min(kSaidTerms, terms.size()); ++n) {
    line += (n == 0 ? ", most from " : "; ") + term_text(step, terms[n], trace);
  }
  return step.place == 0 ? line : line + "; " + kBias + " " + short_number(step.place);
}

// ---- the matrix

// Sources that have a row (column), in the order of the run; the sum of all others comes last, where there are any.
struct ShownSources {
  std::vector<std::int64_t> own;
  std::int64_t others = 0;

  std::int64_t count() const { return std::ssize(own) + (others > 0 ? 1 : 0); }
};
ShownSources shown_sources(const Field& terms, bool rows, std::int64_t most) {
  const std::int64_t count = rows ? terms.rows : terms.columns;
  std::vector<double> size(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    for (std::int64_t column = 0; column < terms.columns; ++column) {
      size[static_cast<std::size_t>(rows ? row : column)] += std::abs(static_cast<double>(terms.at(row, column)));
    }
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::int64_t n) { return size[static_cast<std::size_t>(n)]; });
  ShownSources shown;
  shown.others = std::max<std::int64_t>(count - most, 0);
  order.resize(static_cast<std::size_t>(count - shown.others));
  std::ranges::sort(order);
  shown.own = std::move(order);
  return shown;
}

FieldPointer pooled(const Field& terms, const ShownSources& rows, const ShownSources& columns) {
  const auto place = [](const ShownSources& shown, std::int64_t n) {
    return std::ranges::lower_bound(shown.own, n) - shown.own.begin();
  };
  const auto own = [&](const ShownSources& shown, std::int64_t n) {
    const auto at = place(shown, n);
    return at < std::ssize(shown.own) && shown.own[static_cast<std::size_t>(at)] == n ? at : std::ssize(shown.own);
  };
  std::vector<double> sums(static_cast<std::size_t>(rows.count() * columns.count()));
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    for (std::int64_t column = 0; column < terms.columns; ++column) {
      sums[static_cast<std::size_t>(own(rows, row) * columns.count() + own(columns, column))] +=
          static_cast<double>(terms.at(row, column));
    }
  }
  Field field = Field::zeros(rows.count(), columns.count());
  field.row_axis = terms.row_axis;
  field.column_axis = terms.column_axis;
  field.quantity = terms.quantity;
  std::ranges::transform(sums, field.values.begin(), [](double sum) { return static_cast<float>(sum); });
  return std::make_shared<const Field>(std::move(field));
}

Names source_names(const std::vector<models::ScoreSource>& list, const ShownSources& shown) {
  std::vector<std::string> names;
  for (const std::int64_t n : shown.own) {
    names.push_back(source_of(list, n).name);
  }
  if (shown.others > 0) {
    names.push_back(std::to_string(shown.others) + " others");
  }
  return shared_names(std::move(names));
}

std::string score_note(const ScoreStep& step, bool all) {
  std::string note = "logit " + short_number(step.logit) + ", weight " + short_number(step.weight);
  if (!all) {
    const double sum = std::accumulate(step.terms.values.begin(), step.terms.values.end(), 0.0);
    return note + "; of these pairs " + short_number(sum);
  }
  note += step.place != 0 ? "; " + std::string(kBias) + " " + short_number(step.place) : "";
  return step.cap != 0 ? note + "; cap " + short_number(step.cap) : note;
}

Result<figure::Figure> ScoreSourcesView::draw(const ViewInput& input, const Numbers& numbers) const {
  const std::int64_t most = option<std::int64_t>(input, "shown");
  LOCUS_TRY(const std::optional<Range> pairs, band_of(input, "pairs"));
  std::size_t steps = numbers.front()->steps.size();
  for (const Pointer& trail : numbers) {
    steps = std::min(steps, trail->steps.size());
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t s = 0; s < steps; ++s) {
    Fields fields;
    std::vector<std::pair<ShownSources, ShownSources>> shown;
    for (const Pointer& trail : numbers) {
      const ScoreStep& step = trail->steps[s];
      shown.emplace_back(shown_sources(step.terms, true, most), shown_sources(step.terms, false, most));
      fields.push_back(pooled(step.terms, shown.back().first, shown.back().second));
    }
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const ScoreStep& step = numbers[n]->steps[s];
      const models::Trace& trace = *input.columns[n].trace;
      const auto& [rows, columns] = shown[n];
      std::vector<std::string> texts;
      for (const float value : fields[n]->values) {
        texts.push_back(short_number(static_cast<double>(value)));
      }
      figure::Panel panel;
      panel.follows_camera = false;
      panel.x = cells_across("key source at " + token_text(trace, step.key_token), columns.count(),
                             source_names(step.key, columns));
      panel.y = cells_down("query source at " + token_text(trace, step.query_token), rows.count(),
                           source_names(step.query, rows));
      panel.layers.emplace_back(figure::HeatMap{.field = fields[n],
                                                .scale = scale_of(input, Sign::kZeroCentred, fields, n),
                                                .texts = shared_names(std::move(texts))});
      panel.color_bar_label = "part of the logit";
      name_after(input.columns[n], panel,
                 " · " + head_label(trace.model(), step.of.layer, step.of.head) + " · query " +
                     std::to_string(step.query_token) + ", key " + std::to_string(step.key_token));
      panel.note = score_note(step, s > 0 || !pairs);
      figure.panels.push_back(std::move(panel));
    }
  }
  figure.statement = about_columns(
      input, [&](std::size_t n) { return score_line(numbers[n]->steps.front(), *input.columns[n].trace); });
  return figure;
}

Result<Data> ScoreSourcesView::table(const ViewInput& /*input*/, const Numbers& numbers) const {
  std::vector<double> number, layer, head, query, key, value;
  std::vector<std::string> names;
  const std::vector<ScoreStep>& steps = numbers.front()->steps;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const ScoreStep& step = steps[n];
    const auto add = [&](const std::string& row, const std::string& column, double part) {
      names.insert(names.end(), {row, column});
      number.push_back(static_cast<double>(n));
      layer.push_back(static_cast<double>(step.of.layer));
      head.push_back(static_cast<double>(step.of.head));
      query.push_back(static_cast<double>(step.query_token));
      key.push_back(static_cast<double>(step.key_token));
      value.push_back(part);
    };
    for (const ScoreTerm& term : terms_by_size(step)) {
      add(source_of(step.query, term.query).name, source_of(step.key, term.key).name, term.value);
    }
    for (const auto& [name, part] : {std::pair(kBias, step.place), std::pair("cap", step.cap)}) {
      if (part != 0) {
        add(name, name, part);
      }
    }
  }
  return with_words(
      table_of({{"step", number}, {"layer", layer}, {"head", head}, {"query", query}, {"key", key}, {"value", value}}),
      {"query source", "key source"}, std::move(names));
}

// ---- under the pointer

std::optional<ScoreSourcesView::Shown> ScoreSourcesView::shown_at(const ViewInput& input, const Hit& hit,
                                                                  const Pointer& trail) const {
  const std::size_t step = hit.panel / input.columns.size();
  if (!trail || step >= trail->steps.size()) {
    return {};
  }
  const ScoreStep& own = trail->steps[step];
  const std::int64_t most = option<std::int64_t>(input, "shown");
  const ShownSources rows = shown_sources(own.terms, true, most);
  const ShownSources columns = shown_sources(own.terms, false, most);
  const std::optional<CellIndex> cell = cell_at(hit, rows.count(), columns.count());
  if (!cell) {
    return {};
  }
  const auto named = [](const ShownSources& shown, std::int64_t n) {
    return n < std::ssize(shown.own) ? std::optional(shown.own[static_cast<std::size_t>(n)]) : std::nullopt;
  };
  return Shown{own, hit.panel % input.columns.size(), named(rows, cell->row), named(columns, cell->column)};
}

// The head that wrote, where it wrote: at the key that it attends to most.
Selection ScoreSourcesView::pick(const ViewInput& input, const Hit& hit) const {
  const Pointer trail = kept(input, hit.panel % input.columns.size());
  const std::optional<Shown> shown = shown_at(input, hit, trail);
  if (!shown) {
    return {};
  }
  const auto chosen = [&](const std::vector<models::ScoreSource>& list, std::optional<std::int64_t> source,
                          std::int64_t token) -> std::optional<Selection> {
    if (!source || source_of(list, *source).head < 0) {
      return {};
    }
    const std::optional<Token> at = token_at(input, input.columns[shown->column], token);
    if (!at) {
      return {};
    }
    Selection selection;
    selection.column = static_cast<std::int64_t>(shown->column);
    selection.layer = source_of(list, *source).layer;
    selection.head = source_of(list, *source).head;
    selection.query = *at;
    selection.key = Token();
    return selection;
  };
  if (const auto query = chosen(shown->step.query, shown->query, shown->step.query_token)) {
    return *query;
  }
  return chosen(shown->step.key, shown->key, shown->step.key_token).value_or(Selection{});
}

std::vector<std::string> ScoreSourcesView::said_of(const ViewInput& input, const Hit& hit) const {
  const Pointer trail = kept(input, hit.panel % input.columns.size());
  const std::optional<Shown> shown = shown_at(input, hit, trail);
  if (!shown || !shown->query || !shown->key) {
    return {};
  }
  const double value = static_cast<double>(shown->step.terms.at(*shown->query, *shown->key));
  return {term_text(shown->step, {*shown->query, *shown->key, value}, *input.columns[shown->column].trace)};
}

}  // namespace

const View& score_sources_view() {
  return made_once<ScoreSourcesView>();
}

}  // namespace locus::views
