// `examples`: the windows of a corpus in which a head acts most, and a sample of each level of what it does.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/atlas_run.h"

namespace locus::views {

namespace {

constexpr std::size_t kExampleParts = 4;   // panels of a column: text, histogram, tokens as queries, tokens as keys
constexpr std::size_t kTokenRows = 12;     // of a table
constexpr std::size_t kSaidTokens = 3;     // of what a token reads
constexpr std::int64_t kBeforeKey = 3;     // tokens in front of a key that is far away
constexpr const char* kLineFeed = "⏎";     // ends a line of a strip
constexpr const char* kOwnLineFeed = "¶";  // that of the text

struct ExamplesKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;

  friend bool operator==(const ExamplesKey&, const ExamplesKey&) = default;
};

struct HeadWindows {
  models::HeadExamples examples;
  models::ExampleOptions options;
  std::vector<double> shuffled;               // the histogram of shuffled tokens, shares; empty: there is none
  HeadInterval mean{kNaN, kNaN, kNaN, kNaN};  // of the activation
  std::int64_t heads_windows = 0;             // of the atlas
};
std::size_t cached_bytes(const HeadWindows& made) {
  std::size_t bytes = sizeof made;
  for (const models::Example& window : made.examples.windows) {
    bytes += sizeof window + 48 * window.tokens.size() + sizeof(models::ExampleCell) * window.cells.size();
  }
  return bytes;
}

// The cell that a window is drawn by: the largest kept weight, the first query and the first key apart where there is
// another.
std::optional<models::ExampleCell> main_cell(const models::Example& window) {
  const auto better = [](const models::ExampleCell& a, const models::ExampleCell& b) {
    const bool inner_a = a.query > 0 && a.key > 0;
    const bool inner_b = b.query > 0 && b.key > 0;
    return inner_a != inner_b ? inner_b : a.weight < b.weight;
  };
  const auto found = std::ranges::max_element(window.cells, better);
  return found == window.cells.end() ? std::nullopt : std::optional(*found);
}

// A token of the strip: of which window, and which of its tokens; −1 for what is no token.
struct StripToken {
  std::size_t window = 0;
  std::int64_t token = -1;
};

// The text of the windows that are shown, one line each.
struct ExampleLines {
  std::vector<std::string> tokens;
  std::vector<float> values;
  std::vector<StripToken> places;

  void add(std::string text, float value, const StripToken& place) {
    tokens.push_back(std::move(text));
    values.push_back(value);
    places.push_back(place);
  }
};

// The parts of a window of about `count` tokens around a query and the key that it attends to most.
std::vector<Range> pieces_of(const models::Example& window, const models::ExampleCell& cell, std::int64_t count) {
  const std::int64_t length = std::ssize(window.tokens);
  const std::int64_t from = std::min(cell.key, cell.query);
  const std::int64_t to = std::max(cell.key, cell.query);
  if (to - from + kBeforeKey < count) {
    const std::int64_t begin = std::clamp<std::int64_t>(to + 1 + kBeforeKey - count, 0, from);
    return {Range{begin, std::min(begin + count, length)}};
  }
  const std::int64_t half = std::max<std::int64_t>(count / 2, 2);
  const Range far{std::max<std::int64_t>(from - kBeforeKey, 0), std::min(from - kBeforeKey + half, to)};
  const Range near{std::max(to + 1 - half, far.end), std::min(to + 1 + kBeforeKey, length)};
  return {far, near};
}

std::string shown_token(const std::string& token) {
  return token.ends_with(kLineFeed) || token.ends_with('\n') ? kOwnLineFeed : token;
}

void add_window(const models::Example& window, std::size_t index, std::int64_t count, ExampleLines& lines) {
  const float none = std::nanf("");
  lines.add(short_number(window.activation) + " ", none, {index, -1});
  const auto cell = main_cell(window);
  std::map<std::int64_t, float> row;
  for (const models::ExampleCell& each : window.cells) {
    if (cell && each.query == cell->query) {
      row[each.key] = each.weight;
    }
  }
  std::int64_t before = 0;
  for (const Range& piece : pieces_of(window, cell.value_or(models::ExampleCell{}), count)) {
    if (piece.begin > before) {
      lines.add("…", none, {index, -1});
    }
    for (std::int64_t token = piece.begin; token < piece.end; ++token) {
      const auto weight = row.find(token);
      const bool query = cell && token == cell->query;
      lines.add((query ? "→" : "") + shown_token(window.tokens[static_cast<std::size_t>(token)]),
                weight == row.end() ? none : weight->second, {index, token});
    }
    before = piece.end;
  }
  lines.add(kLineFeed, none, {index, -1});
}

class ExamplesView final : public MeasuredView<ExamplesKey, HeadWindows> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override;
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<std::string> said_of(const ViewInput& input, const Hit& hit) const override;
  bool names_tokens() const override { return false; }  // those of the windows, which said_of() has, are no run's

 protected:
  Result<ExamplesKey> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_CHECK(needs_head(input, info_.name, false));
    const HeadRef head = head_of_column(input, column);
    return ExamplesKey{head.layer, head.head};
  }
  Result<HeadWindows> measure(const ExamplesKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override;

 private:
  std::vector<const models::Example*> shown_windows(const ViewInput& input, const HeadWindows& made) const;
  ExampleLines lines_of(const ViewInput& input, const HeadWindows& made) const;
  figure::Panel text_panel(const ViewInput& input, std::size_t column, const Numbers& numbers) const;
  // The token of the strip under the pointer.
  struct Pointed {
    std::size_t column;
    Pointer made;
    const models::Example& window;
    std::int64_t token;
  };
  std::optional<Pointed> pointed_at(const ViewInput& input, const Hit& hit) const;

  ViewInfo info_ = described({
      .name = "examples",
      .caption = "The windows of a corpus in which a head acts most, and a sample of each level.",
      .shows =
          "Windows of the corpus as text, one line each, the largest activation of the head first: tokens are tinted "
          "by "
          "how much the query marked with an arrow, that of the largest weight, attends to them. Beside them the "
          "activations of all windows, and the tokens with the most weight as query and as key. A click on a token "
          "opens the window in its checkpoint, if that is open too.",
      .uses_layer = true,
      .uses_head = true,
      .of_runs = false,
      .of_atlases = true,
      .controls = {whole("level", "Level",
                         "0: the windows of the largest activations; from 1 on: those drawn from a level, an equal "
                         "share of the windows by activation, of which 1 is the lowest",
                         0, 0, 100),
                   whole("tokens", "Tokens", "Tokens of a line, around the query and its key", 24, 6, 400)},
  });
};

Status ExamplesView::fits(const Column& column) const {
  LOCUS_CHECK(View::fits(column));
  const models::Atlas* const atlas = models::atlas_of(*column.trace);
  return atlas == nullptr || atlas->info().examples
             ? Status()
             : unsupported(column.name + " has no examples, which locus atlas --what examples keeps");
}

Result<HeadWindows> ExamplesView::measure(const ExamplesKey& key, const MeasureContext& context) const {
  const models::Atlas& atlas = *models::atlas_of(*context.column.trace);
  report(context.progress, 0, "examples");
  if (context.stop.stop_requested()) {
    return cancelled();
  }
  HeadWindows made;
  LOCUS_TRY(made.examples, atlas.examples(key.layer, key.head));
  made.options = atlas.info().examples.value_or(models::ExampleOptions());
  made.heads_windows = atlas.info().done;
  const auto head = static_cast<std::size_t>(key.head);
  if (const auto means = atlas.values("examples.activation", key.layer); means.ok() && head < means->mean.size()) {
    made.mean = {means->mean[head], means->low[head], means->high[head], kNaN};
  }
  constexpr auto kShuffled = models::AtlasNull::kShuffled;
  if (const auto null = atlas.values("examples.activation", key.layer, kShuffled); null.ok()) {
    made.mean.null = head < null->mean.size() ? null->mean[head] : kNaN;
  }
  const std::size_t bins = made.examples.histogram.size();
  if (const auto null = atlas.values("examples.histogram", key.layer, kShuffled);
      null.ok() && null->mean.size() >= (head + 1) * bins) {
    const auto begin = null->mean.begin() + static_cast<std::ptrdiff_t>(head * bins);
    made.shuffled.assign(begin, begin + static_cast<std::ptrdiff_t>(bins));
  }
  return made;
}

std::vector<const models::Example*> ExamplesView::shown_windows(const ViewInput& input, const HeadWindows& made) const {
  const auto level = option<std::int64_t>(input, "level");
  std::vector<const models::Example*> shown;
  for (const models::Example& window : made.examples.windows) {
    if (level == 0 ? window.top : window.sampled && window.level == level) {
      shown.push_back(&window);
    }
  }
  return shown;
}

ExampleLines ExamplesView::lines_of(const ViewInput& input, const HeadWindows& made) const {
  ExampleLines lines;
  const std::vector<const models::Example*> shown = shown_windows(input, made);
  for (std::size_t n = 0; n < shown.size(); ++n) {
    add_window(*shown[n], n, option<std::int64_t>(input, "tokens"), lines);
  }
  return lines;
}

// ---- in words

std::string quoted_token(const models::Example& window, std::int64_t token) {
  return "“" + window.tokens[static_cast<std::size_t>(token)] + "”";
}

// "0.5 to 0.75": the activations of a level.
std::string level_text(const HeadWindows& made, std::int64_t level) {
  const std::vector<double>& bounds = made.examples.bounds;
  if (std::ssize(bounds) + 1 != made.options.levels) {
    return "";
  }
  const auto bound = [&](std::int64_t n) { return short_number(bounds[static_cast<std::size_t>(n)]); };
  return level == 1                     ? ", activations below " + bound(0)
         : level == made.options.levels ? ", activations from " + bound(level - 2)
                                        : ", activations from " + bound(level - 2) + " to " + bound(level - 1);
}

std::string lines_note(const HeadWindows& made, std::int64_t level, std::size_t shown) {
  const std::string of = std::to_string(made.heads_windows) + " windows";
  if (level == 0) {
    return std::to_string(shown) + " of " + of + ", by activation: " + made.options.activation +
           "; → marks the query whose weights tint the text";
  }
  if (level > made.options.levels) {
    return "the atlas has levels 1 to " + std::to_string(made.options.levels);
  }
  return std::to_string(shown) + " drawn from level " + std::to_string(level) + level_text(made, level);
}

// "head 2.1 acts most in window 12, 0.97: query “of” reads “the”, 0.97".
std::string acts_line(const HeadRef& head, const HeadWindows& made) {
  const std::string name = "head " + head_name(head.layer, head.head);
  if (made.examples.windows.empty()) {
    return name + " acts in no window";
  }
  const models::Example& window = made.examples.windows.front();
  const std::string most =
      name + " acts most in window " + std::to_string(window.window) + ", " + short_number(window.activation);
  const auto cell = main_cell(window);
  return cell ? most + ": query " + quoted_token(window, cell->query) + " reads " + quoted_token(window, cell->key) +
                    ", " + short_number(static_cast<double>(cell->weight))
              : most;
}

std::string mean_note(const HeadWindows& made) {
  return std::isnan(made.mean.mean)
             ? ""
             : "mean " + with_interval(made.mean.mean, made.mean.low, made.mean.high) +
                   (made.mean.has_null() ? ", of shuffled tokens " + short_number(made.mean.null) : "");
}

// ---- the panels

figure::Panel ExamplesView::text_panel(const ViewInput& input, std::size_t column, const Numbers& numbers) const {
  Fields fields;
  std::vector<ExampleLines> all;
  for (const Pointer& made : numbers) {
    all.push_back(lines_of(input, *made));
    auto field = std::make_shared<Field>(Field::zeros(1, std::ssize(all.back().values)));
    field->values = all.back().values;
    fields.push_back(std::move(field));
  }
  const HeadRef head = head_of_column(input, column);
  const auto level = option<std::int64_t>(input, "level");
  figure::TokenStrip strip;
  strip.scale = scale_of(input, Sign::kPositive, fields, column);
  strip.tokens = std::move(all[column].tokens);
  strip.values = std::move(all[column].values);
  figure::Panel panel;
  panel.follows_camera = false;
  panel.show_axes = false;
  panel.y.view = {-1, 0};
  name_after(input.columns[column], panel,
             " · " + head_label(input.columns[column].trace->model(), head.layer, head.head) +
                 (level == 0 ? " · largest" : " · level " + std::to_string(level)));
  panel.color_bar_label = "attention weight";
  panel.note = lines_note(*numbers[column], level, shown_windows(input, *numbers[column]).size());
  panel.layers.emplace_back(std::move(strip));
  return panel;
}

figure::Panel histogram_panel(const HeadWindows& made, std::int64_t level) {
  figure::Panel panel;
  panel.follows_camera = false;
  panel.title = "activation: " + made.options.activation;
  panel.x.label = "activation";
  panel.y.label = "share of windows";
  const std::vector<double>& counts = made.examples.histogram;
  const double windows = std::accumulate(counts.begin(), counts.end(), 0.0);
  Extent up;
  if (windows > 0) {
    figure::Bars bars{made.shuffled.empty() ? "" : "texts", made.examples.edges, counts};
    for (double& height : bars.heights) {
      height /= windows;
    }
    up.add(bars.heights);
    panel.layers.emplace_back(std::move(bars));
  }
  if (!made.shuffled.empty()) {
    figure::Curve null;
    null.name = "shuffled tokens";
    null.dashed = true;
    for (std::size_t bin = 0; bin < made.shuffled.size(); ++bin) {
      null.x.push_back((made.examples.edges[bin] + made.examples.edges[bin + 1]) / 2);
      null.y.push_back(made.shuffled[bin]);
    }
    up.add(null.y);
    panel.layers.emplace_back(std::move(null));
  }
  const std::vector<double>& bounds = made.examples.bounds;
  for (std::size_t n = 0; n < bounds.size(); ++n) {
    const bool own = level > 0 && (std::cmp_equal(n + 2, level) || std::cmp_equal(n + 1, level));
    panel.layers.emplace_back(vertical_line(bounds[n], own ? "level " + std::to_string(level) : ""));
  }
  panel.x.view = made.examples.edges.empty()
                     ? figure::Interval{0, 1}
                     : figure::Interval{made.examples.edges.front(), made.examples.edges.back()};
  panel.y.view = up.from_zero();
  panel.note = mean_note(made);
  return panel;
}

figure::Panel tokens_panel(const ViewInput& input, const std::vector<models::TokenWeight>& tokens, const char* role) {
  const std::size_t count = std::min(tokens.size(), kTokenRows);
  auto field = std::make_shared<Field>(Field::zeros(static_cast<std::int64_t>(count), 1));
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (std::size_t n = 0; n < count; ++n) {
    field->values[n] = static_cast<float>(tokens[n].weight);
    names.push_back(shown_token(tokens[n].token));
    texts.push_back(short_number(tokens[n].weight));
  }
  const Fields fields{field};
  figure::Panel panel;
  panel.follows_camera = false;
  panel.title = std::string("tokens as ") + role;
  panel.x = cells_across("", 1, shared_names({"sum of weights"}));
  panel.y = cells_down("", static_cast<std::int64_t>(count), shared_names(std::move(names)));
  panel.layers.emplace_back(figure::HeatMap{
      .field = field, .scale = scale_of(input, Sign::kPositive, fields, 0), .texts = shared_names(std::move(texts))});
  panel.note = count == 0 ? "no weight is kept" : "over the windows that are kept";
  return panel;
}

Result<figure::Figure> ExamplesView::draw(const ViewInput& input, const Numbers& numbers) const {
  figure::Figure figure = figure_across(kExampleParts / 2);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const HeadWindows& made = *numbers[n];
    figure.panels.push_back(text_panel(input, n, numbers));
    figure.panels.push_back(histogram_panel(made, option<std::int64_t>(input, "level")));
    figure.panels.push_back(tokens_panel(input, made.examples.query_tokens, "query"));
    figure.panels.push_back(tokens_panel(input, made.examples.key_tokens, "key"));
  }
  figure.statement =
      about_columns(input, [&](std::size_t n) { return acts_line(head_of_column(input, n), *numbers[n]); });
  return figure;
}

// Every kept cell of every window; a window without one has a row of its own.
Result<Data> ExamplesView::table(const ViewInput& /*input*/, const Numbers& numbers) const {
  std::vector<Series> series{{"window", {}},     {"level", {}}, {"top", {}}, {"sampled", {}},
                             {"activation", {}}, {"query", {}}, {"key", {}}, {"weight", {}}};
  std::vector<std::string> words;
  for (const models::Example& window : numbers.front()->examples.windows) {
    const auto add = [&](double query, double key, double weight) {
      const std::vector<double> row{static_cast<double>(window.window),
                                    static_cast<double>(window.level),
                                    window.top ? 1.0 : 0.0,
                                    window.sampled ? 1.0 : 0.0,
                                    window.activation,
                                    query,
                                    key,
                                    weight};
      for (std::size_t n = 0; n < row.size(); ++n) {
        series[n].values.push_back(row[n]);
      }
    };
    for (const models::ExampleCell& cell : window.cells) {
      add(cell.query, cell.key, static_cast<double>(cell.weight));
      words.insert(words.end(), {window.tokens[static_cast<std::size_t>(cell.query)],
                                 window.tokens[static_cast<std::size_t>(cell.key)]});
    }
    if (window.cells.empty()) {
      add(kNaN, kNaN, kNaN);
      words.insert(words.end(), 2, "");
    }
  }
  return with_words(table_of(std::move(series)), {"query token", "key token"}, std::move(words));
}

// ---- under the pointer

std::optional<ExamplesView::Pointed> ExamplesView::pointed_at(const ViewInput& input, const Hit& hit) const {
  const std::size_t column = hit.panel / kExampleParts;
  const Pointer made = column < input.columns.size() && hit.panel % kExampleParts == 0 ? kept(input, column) : nullptr;
  if (!made || hit.token < 0) {
    return {};
  }
  const ExampleLines lines = lines_of(input, *made);
  if (hit.token >= std::ssize(lines.places)) {
    return {};
  }
  const StripToken place = lines.places[static_cast<std::size_t>(hit.token)];
  return Pointed{column, made, *shown_windows(input, *made)[place.window], place.token};
}

std::vector<std::string> ExamplesView::said_of(const ViewInput& input, const Hit& hit) const {
  const auto at = pointed_at(input, hit);
  if (!at) {
    return {};
  }
  const models::Example& window = at->window;
  std::vector<std::string> lines{"window " + std::to_string(window.window) + ", activation " +
                                 short_number(window.activation) + ", level " + std::to_string(window.level)};
  if (at->token < 0) {
    return lines;
  }
  lines.push_back("token " + std::to_string(at->token) + " " + quoted_token(window, at->token));
  const auto list = [&](const char* words, auto own, auto other) {
    std::vector<models::ExampleCell> cells;
    for (const models::ExampleCell& cell : window.cells) {
      if (cell.*own == at->token) {
        cells.push_back(cell);
      }
    }
    std::ranges::stable_sort(cells, std::ranges::greater(), &models::ExampleCell::weight);
    std::string line;
    for (std::size_t n = 0; n < std::min(cells.size(), kSaidTokens); ++n) {
      line += (n == 0 ? std::string(words) : ", ") + " " + quoted_token(window, cells[n].*other) + " " +
              short_number(static_cast<double>(cells[n].weight));
    }
    if (!line.empty()) {
      lines.push_back(line);
    }
  };
  list("reads", &models::ExampleCell::query, &models::ExampleCell::key);
  list("is read by", &models::ExampleCell::key, &models::ExampleCell::query);
  return lines;
}

// The window in its checkpoint, with that token as the query.
Selection ExamplesView::pick(const ViewInput& input, const Hit& hit) const {
  Selection selection;
  const auto at = pointed_at(input, hit);
  if (!at || at->window.ids.empty()) {
    return selection;
  }
  const HeadRef head = head_of_column(input, at->column);
  selection.layer = head.layer;
  selection.head = head.head;
  const auto cell = main_cell(at->window);
  selection.query = Token(at->token >= 0 ? at->token : cell ? cell->query : 0);
  const models::Atlas& atlas = *models::atlas_of(*input.columns[at->column].trace);
  selection.run = RunOfIds{atlas.info().checkpoint, at->window.ids};
  return selection;
}

}  // namespace

const View& examples_view() {
  return made_once<ExamplesView>();
}

}  // namespace locus::views
