// `attention-text`: the text itself, each token tinted by how much a query attends to it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/alignment.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/text_strip.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/score_maps/kept_queries.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::views {

namespace {

constexpr float kSteady = 1.001F;  // half-lives of tokens within this factor do not depend on the text

struct AttentionTextKey {
  models::MapRequest request;
  std::vector<std::int64_t> queries;  // the column's own tokens
  bool state = false;                 // norms of the state of all heads of the layer instead

  friend bool operator==(const AttentionTextKey&, const AttentionTextKey&) = default;
};

struct TextRows {
  Field rows;                    // (queries, T): a row per query; of the state (H, T)
  std::vector<float> half_life;  // of a mixer whose decay the text decides: of each token, in tokens; otherwise empty
};
std::size_t cached_bytes(const TextRows& rows) {
  return sizeof rows + views::cached_bytes(rows.rows) + sizeof(float) * rows.half_life.size();
}

// The median of the heads, where all of them are shown.
std::vector<float> half_life_of(const models::Trace& trace, std::int64_t layer, std::int64_t head, StopToken stop) {
  if (!trace.model().of_mixers() && !trace.model().forgets()) {
    return {};
  }
  const Result<Field> lives = trace.state_numbers(layer, models::StateNumber::kHalfLife, std::move(stop));
  if (!lives.ok() || head >= lives->rows) {
    return {};
  }
  std::vector<float> own;
  for (std::int64_t token = 0; token < lives->columns; ++token) {
    std::vector<float> heads;
    for (std::int64_t each = 0; each < lives->rows; ++each) {
      if (head < 0 || each == head) {
        heads.push_back(lives->at(each, token));
      }
    }
    const auto middle = heads.begin() + (std::ssize(heads) - 1) / 2;
    std::ranges::nth_element(heads, middle);
    own.push_back(*middle);
  }
  const auto [least, most] = std::ranges::minmax(own);
  return most > least * kSteady ? own : std::vector<float>();
}

// Norms of the state of a head, or the means of all heads.
Field norms_of(const Field& heads, std::int64_t head) {
  Field row = Field::zeros(1, heads.columns);
  for (std::int64_t token = 0; token < heads.columns; ++token) {
    double sum = 0;
    for (std::int64_t each = 0; each < heads.rows; ++each) {
      sum += head < 0 || each == head ? static_cast<double>(heads.at(each, token)) : 0;
    }
    row.values[static_cast<std::size_t>(token)] =
        static_cast<float>(head < 0 ? sum / static_cast<double>(heads.rows) : sum);
  }
  return row;
}

std::string forgets_text(float half_life) {
  return std::isinf(half_life) ? "forgets nothing here"
                               : "forgets half within " + short_number(static_cast<double>(half_life)) + " tokens here";
}

// Measures a row per query.
class AttentionText final : public MeasuredView<AttentionTextKey, TextRows> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;
  // The type that fits, and as far down as shows the query; a camera's y begins with a line, of which there are no more
  // than tokens.
  std::optional<Camera> home(const ViewInput& input) const override {
    std::int64_t most = 0;
    for (const Column& column : input.columns) {
      most = std::max(most, column.trace->length());
    }
    return Camera{{0, 1}, {-1, static_cast<double>(most)}};
  }
  Token tinting_query(const ViewInput& input) const override {
    return tints_state(input)     ? Token()
           : input.query.chosen() ? input.query
                                  : Token(input.columns.front().trace->length() - 1);
  }

 protected:
  Result<AttentionTextKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<TextRows> measure(const AttentionTextKey& key, const MeasureContext& context) const override {
    TextRows made;
    if (key.state) {
      LOCUS_TRY(made.rows,
                context.column.trace->state_numbers(key.request.layer, models::StateNumber::kNorm, context.stop));
      return made;
    }
    LOCUS_TRY(made.rows, rows_of(*context.column.trace, key.request, key.queries, context.stop));
    made.half_life = half_life_of(*context.column.trace, key.request.layer, key.request.head, context.stop);
    return made;
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& all) const override;
  bool tints_state(const ViewInput& input) const { return option<std::string>(input, "tint") == "state"; }
  // A panel of each column, tinted by the norms of the state.
  static figure::Figure draw_state(const ViewInput& input, const Numbers& all);
  // [T, 1 + queries]: the key, and a column per query; of the state [T, 2].
  Result<Data> table(const ViewInput& input, const Numbers& all) const override;

 private:
  ViewInfo info_ = described({
      .name = "attention-text",
      .caption = "The text itself, tinted by how much a token attends to each, or by what a head holds there.",
      .shows =
          "The text, with each token tinted by how much the chosen query attends to it. A click chooses the query; "
          "without one, it is the last token. Kept queries are shown one below the other. Of a layer without a softmax "
          "(side mixer) the tint may be the norm of the state behind each token.",
      .uses_layer = true,
      .uses_head = true,
      .uses_query = true,
      .uses_quantity = true,
      .uses_camera = true,
      .needs_text = true,
      .of_scores = true,
      .controls = {toggle("keep", "Keep queries",
                          "A click adds a token to the list of queries, and a second click removes it"),
                   kept_queries_control("that are shown one below the other"),
                   choice(
                       "tint", "Tint",
                       "What tints a token: how much the query attends to it, or, on the side mixer, the norm of the "
                       "state behind it",
                       {"query", "state"})},
  });
};

// The rows of the figure: the kept queries, or the chosen one, or the last token.
Result<std::vector<Token>> queries_of(const ViewInput& input) {
  LOCUS_TRY(const std::vector<std::int64_t> kept, kept_queries(input));
  std::vector<Token> queries(kept.begin(), kept.end());
  if (queries.empty()) {
    const std::int64_t last = input.columns[0].trace->length() - 1;
    queries.push_back(input.query.index > last || !input.query.chosen() ? Token(last) : input.query);
  }
  return queries;
}

figure::Panel text_panel(const ViewInput& input, const Column& column, std::int64_t query, const Field& row,
                         const std::string& framed, const figure::ColorScale& scale) {
  figure::Panel panel = text_strip(input, column, row.values, scale, query);
  name_after(column, panel, " · " + head_label(column.trace->model(), input.layer, input.head));
  strike_silent(column, {input.layer, input.head}, panel);
  panel.note = joined_notes(framed, beyond_text(*column.trace));
  return panel;
}

// The column's token of a query, its last token where the text of the query is not in it.
std::int64_t own_query(const ViewInput& input, const Column& column, const Token& query) {
  const std::int64_t own = own_token(input, query, column);
  return own == kNone ? column.trace->length() - 1 : own;
}

Result<AttentionTextKey> AttentionText::measure_key(const ViewInput& input, std::size_t column) const {
  const auto [layer, head] = head_of_column(input, column);
  if (tints_state(input)) {
    return input.columns[column].trace->model().of_mixers()
               ? Result<AttentionTextKey>(AttentionTextKey{{layer, 0, {}, {}, {}}, {}, true})
               : unsupported(info_.name + ": tint=state is of layers without a softmax: side mixer");
  }
  AttentionTextKey key{{layer, head, input.quantity, {}, {}}, {}};
  LOCUS_TRY(const std::vector<Token> queries, queries_of(input));
  for (const Token& query : queries) {
    key.queries.push_back(own_query(input, input.columns[column], query));
  }
  return key;
}

Result<figure::Figure> AttentionText::draw(const ViewInput& input, const Numbers& all) const {
  if (tints_state(input)) {
    return draw_state(input, all);
  }
  const std::size_t columns = input.columns.size();
  std::vector<AttentionTextKey> keys;
  for (std::size_t c = 0; c < columns; ++c) {
    LOCUS_TRY(keys.emplace_back(), measure_key(input, c));
  }
  Fields rows;  // query by query
  for (std::size_t q = 0; q < keys.front().queries.size(); ++q) {
    for (std::size_t c = 0; c < columns; ++c) {
      rows.push_back(query_row(all[c]->rows, q, keys[c].queries[q]));
    }
  }
  figure::Figure figure = figure_across(columns);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const Column& column = input.columns[n % columns];
    Fields own;
    for (std::size_t m = n % columns; m < rows.size(); m += columns) {
      own.push_back(rows[m]);
    }
    const auto scale = color_scale(input, sign_of(input, input.quantity), input.scale.shared ? rows : own);
    const std::int64_t query = keys[n % columns].queries[n / columns];
    const std::vector<float>& lives = all[n % columns]->half_life;
    const std::string forgets = lives.empty() ? "" : " " + forgets_text(lives[static_cast<std::size_t>(query)]);
    figure::Panel panel = text_panel(of_column(input, n % columns), column, query, *rows[n],
                                     "query " + std::to_string(query) + " (framed)" + forgets, scale);
    if (n >= columns) {
      panel.title.clear();
    }
    // Words that all panels share stand once.
    if (input.scale.shared ? n + 1 == columns : n < columns) {
      panel.color_bar_label = quantity_label(input, input.quantity);
    }
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

figure::Figure AttentionText::draw_state(const ViewInput& input, const Numbers& all) {
  Fields rows;
  for (std::size_t n = 0; n < all.size(); ++n) {
    rows.push_back(std::make_shared<const Field>(norms_of(all[n]->rows, head_of_column(input, n).head)));
  }
  figure::Figure figure = figure_across(all.size());
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Column& column = input.columns[n];
    const std::int64_t token =
        own_query(input, column, input.query.chosen() ? input.query : Token(column.trace->length() - 1));
    const std::string norm = short_number(static_cast<double>(rows[n]->at(0, token)));
    figure::Panel panel = text_panel(of_column(input, n), column, token, *rows[n],
                                     "behind token " + std::to_string(token) + " (framed) the norm is " + norm,
                                     scale_of(input, Sign::kPositive, rows, n));
    if (!input.scale.shared || n + 1 == all.size()) {
      panel.color_bar_label = "norm of the state";
    }
    figure.panels.push_back(std::move(panel));
  }
  figure.statement = about_columns(input, [&](std::size_t n) {
    const std::vector<float>& norms = rows[n]->values;
    const auto most = static_cast<std::size_t>(std::ranges::max_element(norms) - norms.begin());
    return "the norm of the state is largest behind token " + std::to_string(most) + " \"" +
           input.columns[n].trace->tokens()[most].label + "\": " + short_number(static_cast<double>(norms[most]));
  });
  return figure;
}

Result<Data> AttentionText::table(const ViewInput& input, const Numbers& all) const {
  if (tints_state(input)) {
    const Field row = norms_of(all.front()->rows, head_of_column(input, 0).head);
    Data data{{row.columns, 2}, {}, {"token", "norm of the state"}};
    for (std::int64_t token = 0; token < row.columns; ++token) {
      data.values.insert(data.values.end(), {static_cast<float>(token), row.at(0, token)});
    }
    return data;
  }
  LOCUS_TRY(const std::vector<Token> queries, queries_of(input));
  const Field& rows = all.front()->rows;
  Data data;
  data.shape = {rows.columns, rows.rows + 1};
  data.columns = {"key"};
  for (const Token& query : queries) {
    data.columns.push_back(
        models::to_text(input.quantity) +
        (queries.size() > 1 ? " of query " + std::to_string(own_query(input, input.columns.front(), query)) : ""));
  }
  for (std::int64_t key = 0; key < rows.columns; ++key) {
    data.values.push_back(static_cast<float>(key));
    for (std::int64_t q = 0; q < rows.rows; ++q) {
      data.values.push_back(as_data(input.quantity, rows.at(q, key)));
    }
  }
  return data;
}

std::vector<std::string> AttentionText::said_of(const ViewInput& input, const Hit& hit) const {
  const std::size_t column = hit.panel % input.columns.size();
  const Pointer shown = hit.token < 0 ? nullptr : kept(input, column);
  const auto token = static_cast<std::size_t>(std::max<std::int64_t>(hit.token, 0));
  return shown && token < shown->half_life.size() ? std::vector{forgets_text(shown->half_life[token])}
                                                  : std::vector<std::string>();
}

Selection AttentionText::pick(const ViewInput& input, const Hit& hit) const {
  Selection selection;
  if (hit.token < 0) {
    return selection;
  }
  const std::size_t index = hit.panel % input.columns.size();
  const auto token = token_at(input, input.columns[index], hit.token);
  if (!token) {
    return selection;
  }
  selection.column = static_cast<std::int64_t>(index);
  selection.query = token;
  if (option<bool>(input, "keep") && token->index >= 0) {
    selection.option = {"queries", toggled_query(input, token->index)};
  }
  return selection;
}

}  // namespace

const View& attention_text_view() {
  return made_once<AttentionText>();
}

}  // namespace locus::views
