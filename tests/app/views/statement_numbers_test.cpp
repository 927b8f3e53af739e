// The sentence above every view, in every quantity that it shows: each of its numbers is one of the exported data of
// the column that it names, to the digits that are printed; and it follows the columns as they change places, and a
// cell that becomes the largest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <regex>
#include <set>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/statement.h"
#include "core/base/numbers.h"
#include "models/api/addressing.h"
#include "models/api/transform_steps.h"
#include "tests/support/atlas_inputs.h"
#include "tests/support/exported_views.h"
#include "tests/support/family_column.h"
#include "tests/support/hybrid.h"

namespace locus::views {
namespace {

using models::Quantity;

constexpr double kAtlasLength = 256;  // tokens of a window of the bundled atlases
constexpr const char* kShortText = "One boat left, two boats stayed.";

// Numbers that follow from the exported ones, each in the words that it is said in.
using Derived = std::vector<std::string> (*)(const ViewInput& input, const Data& data);

// How a view is asked, and where its sentence takes its numbers from.
struct Case {
  std::string columns;  // bundled checkpoints; "name:2000": with that RoPE base, "name#3": its head 0.3 removed
  Settings options = {};
  std::vector<std::pair<std::string, std::string>> exports = {};  // values of options whose data hold its numbers
  Derived derived = nullptr;
  std::int64_t layer = 1;
  std::int64_t head = 2;
  bool difference = false;
  bool together = false;  // its sentence and its data are of all columns, in whatever order
};

double number_at(const Data& data, std::int64_t row, std::int64_t column) {
  return test_views::at(data, row, column);
}

// What a whole causal map of weights gives on average over the queries from 1 on: to places, to words in percent, and
// to distances behind the first token as multiples of what uniform rows give them.
std::vector<std::string> shares(const ViewInput& input, const Data& data) {
  const std::int64_t length = data.shape.back();
  double self = 0;
  double previous = 0;
  double first = 0;
  double far = 0;
  for (std::int64_t query = 1; query < length; ++query) {
    self += number_at(data, query, query);
    previous += number_at(data, query, query - 1);
    first += number_at(data, query, 0);
    for (std::int64_t key = 0; key < query - 32; ++key) {
      far += number_at(data, query, key);
    }
  }
  const auto said = [&](double sum) { return fixed_text(sum / static_cast<double>(length - 1), 2); };
  std::vector<std::string> all{said(self), said(previous), said(first), said(far)};
  const auto percent = [&](double sum) { return fixed_text(100 * sum / static_cast<double>(length - 1), 0); };
  all.insert(all.end(), {percent(self), percent(previous), percent(first)});
  const std::vector<std::string> labels = key_labels(*input.columns.front().trace);
  for (const std::string& word : labels) {
    double sum = 0;
    for (std::int64_t query = 1; query < length; ++query) {
      for (std::int64_t key = 1; key <= query; ++key) {
        sum += labels[static_cast<std::size_t>(key)] == word ? number_at(data, query, key) : 0;
      }
    }
    all.push_back(percent(sum));
  }
  for (std::int64_t distance = 0; distance + 1 < length; ++distance) {
    double given = 0;
    double uniform = 0;
    for (std::int64_t query = distance + 1; query < length; ++query) {
      given += number_at(data, query, query - distance);
      uniform += 1 / static_cast<double>(query + 1);
    }
    all.push_back(fixed_text(given / uniform, 1));
  }
  return all;
}

std::vector<std::string> sum_of_all(const ViewInput& /*input*/, const Data& data) {
  double sum = 0;
  for (const float value : data.values) {
    sum += static_cast<double>(value);
  }
  return {fixed_text(sum, 2), short_number(sum)};
}

// Of differences: their mean, and the share above 0.
std::vector<std::string> bias(const ViewInput& input, const Data& /*histogram*/) {
  ViewInput pairs = input;
  pairs.options.set("export", std::string("pairs"));
  const auto data = test_views::view_of("distance-bias").data(pairs);
  double sum = 0;
  double above = 0;
  const auto rows = static_cast<double>(data->shape[0]);
  for (std::int64_t row = 0; row < data->shape[0]; ++row) {
    sum += number_at(*data, row, 0);
    above += number_at(*data, row, 0) > 0 ? 1 : 0;
  }
  return {short_number(sum / rows), fixed_text(100 * above / rows, 0)};
}

// The wavelengths 2π/θ of all pairs.
std::vector<std::string> waves(const ViewInput& input) {
  const double base = input.columns.front().name.find("2000") == std::string::npos ? 10000.0 : 2000.0;
  std::vector<std::string> said;
  for (int pair = 0; pair < 16; ++pair) {
    said.push_back(short_number(2 * std::numbers::pi * std::pow(base, pair / 16.0)));
  }
  return said;
}

// A logit is the sum of its parts.
std::vector<std::string> sum_and_waves(const ViewInput& input, const Data& data) {
  std::vector<std::string> said = waves(input);
  said.push_back(sum_of_all(input, data).back());
  return said;
}

// Means over the tokens of both copies, and their difference.
std::vector<std::string> means_of_copies(const ViewInput& input, const Data& data) {
  const std::string& name = input.columns.front().name;
  const auto mean = [&](const char* what) {
    double sum = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      sum += number_at(data, row, test_views::column_named(data, name + what));
    }
    return sum / static_cast<double>(data.shape[0]);
  };
  const double first = mean(" first copy");
  const double second = mean(" second copy");
  return {short_number(first), short_number(second), short_number(std::abs(first - second))};
}

// The amounts across, in the first column of the data.
std::vector<std::string> amounts(const ViewInput& /*input*/, const Data& data) {
  std::vector<std::string> said;
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    said.push_back(number_text(number_at(data, row, 0)));
  }
  return said;
}

// What is measured in the text, less what it is above the kernel over all cells, and that; of 32 queries and more
// without distances that fewer than 16 have.
std::vector<std::string> less_the_shift(const ViewInput& input, const Data& data) {
  const std::string& name = input.columns.front().name;
  const auto value = [&](std::int64_t row, const char* what) {
    return number_at(data, row, test_views::column_named(data, name + what));
  };
  double above = 0;
  double cells = 0;
  double most = 0;
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    most = std::max(most, value(row, " count"));
  }
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    const double count = value(row, " count");
    if (count > 0 && (most < 32 || count >= 16)) {
      above += count * (value(row, " measured") - value(row, " kernel"));
      cells += count;
    }
  }
  std::vector<std::string> said{short_number(above / cells)};
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    said.push_back(short_number(value(row, " measured") - above / cells));
  }
  return said;
}

// Of each head, how many pairs of tokens stand the other way round, in percent, and how far positions reach.
std::vector<std::string> orders(const ViewInput& /*input*/, const Data& data) {
  std::vector<std::string> said;
  const std::int64_t tokens = data.shape[0];
  for (std::int64_t column = 1; column < data.shape[1]; ++column) {
    double reversed = 0;
    double least = number_at(data, 0, column);
    double largest = least;
    for (std::int64_t i = 0; i < tokens; ++i) {
      least = std::min(least, number_at(data, i, column));
      largest = std::max(largest, number_at(data, i, column));
      for (std::int64_t j = i + 1; j < tokens; ++j) {
        reversed += number_at(data, i, column) > number_at(data, j, column) ? 1 : 0;
      }
    }
    said.push_back(short_number(100 * reversed / (static_cast<double>(tokens * (tokens - 1)) / 2)));
    said.push_back(short_number(largest - least));
  }
  return said;
}

// Mean resultant length: of the directions of a pair's vectors.
std::vector<std::string> resultants(const ViewInput& input, const Data& data) {
  std::vector<std::string> said = waves(input);
  for (const std::string part : {"q", "k"}) {
    double x = 0;
    double y = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      const double a = number_at(data, row, test_views::column_named(data, part + "_re"));
      const double b = number_at(data, row, test_views::column_named(data, part + "_im"));
      x += a / std::hypot(a, b);
      y += b / std::hypot(a, b);
    }
    said.push_back(short_number(std::hypot(x, y) / static_cast<double>(data.shape[0])));
  }
  return said;
}

// Those of every head, which the map shows.
std::vector<std::string> every_head(const ViewInput& input, const Data& /*one*/) {
  ViewInput all = input;
  all.head = kAll;
  const auto data = test_views::view_of("pair-energy").data(all);
  std::vector<std::string> said;
  for (const float value : data->values) {
    said.push_back(short_number(static_cast<double>(value)));
  }
  return said;
}

// Means over the heads of each layer.
std::vector<std::string> layer_means(const ViewInput& input, const Data& data) {
  const std::int64_t heads = input.columns.front().trace->model().heads;
  std::vector<std::string> said;
  for (std::int64_t first = 0; first < data.shape[0]; first += heads) {
    for (std::int64_t column = 2; column < data.shape[1]; ++column) {
      double sum = 0;
      for (std::int64_t head = 0; head < heads; ++head) {
        sum += number_at(data, first + head, column);
      }
      said.push_back(short_number(sum / static_cast<double>(heads)));
    }
  }
  return said;
}

// Of the columns of a table: their means over the heads, their number.
std::vector<std::string> means_of_heads(const ViewInput& /*input*/, const Data& data) {
  std::vector<std::string> said{std::to_string(data.shape[0])};
  for (std::int64_t column = 2; column < data.shape[1]; ++column) {
    double sum = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      sum += number_at(data, row, column);
    }
    said.push_back(short_number(sum / static_cast<double>(data.shape[0])));
  }
  return said;
}

// Of the pairs of a head: the sums of its columns, and the part of a sum that a sentence counts.
std::vector<std::string> sums_of_pairs(const ViewInput& /*input*/, const Data& data) {
  std::vector<std::string> said{"90"};
  for (std::int64_t column = 2; column < data.shape[1]; ++column) {
    double sum = 0;
    for (std::int64_t row = 0; row < data.shape[0]; ++row) {
      sum += number_at(data, row, column);
    }
    said.push_back(short_number(sum));
  }
  return said;
}

// Of one query: the shares, which a row of numbers does not give, and the largest rest.
std::vector<std::string> shares_of_row(const ViewInput& input, const Data& data) {
  const auto row = models::addressing_row(*input.columns.front().trace, input.layer, input.head, input.query.index);
  double left = 0;
  for (std::int64_t key = 0; key < data.shape[0]; ++key) {
    left = std::max(left, std::abs(number_at(data, key, test_views::column_named(data, "both"))));
  }
  return {short_number(row->place_share), short_number(row->word_share), short_number(row->both_share),
          short_number(left), std::to_string(input.query.index)};
}

// The distances at which an atlas has bins: single ones, and the middle of what lies between two edges.
std::vector<std::string> middles(const ViewInput& /*input*/, const Data& data) {
  std::vector<std::string> said;
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    const double from = number_at(data, row, 0);
    const double to = row + 1 < data.shape[0] ? number_at(data, row + 1, 0) : kAtlasLength;
    said.push_back(place_text({}, (from + to - 1) / 2));
  }
  return said;
}

// The logit, which the terms sum to.
std::vector<std::string> logit_of_terms(const ViewInput& /*input*/, const Data& data) {
  double sum = 0;
  for (std::int64_t row = 0; row < data.shape[0]; ++row) {
    sum += number_at(data, row, data.shape[1] - 1);
  }
  return {short_number(sum)};
}

// Of one cell in PaTH: its logit, and what it would be if no token changed the key.
std::vector<std::string> logit_and_content(const ViewInput& input, const Data& /*data*/) {
  const auto steps = models::transform_steps(*input.columns.front().trace, input.layer, input.head, input.query.index,
                                             input.key.index);
  return {short_number(steps->logit), short_number(steps->content)};
}

// Of each column: what the farthest key is at, at how many steps it falls, and its R² with the distance in tokens.
std::vector<std::string> agreements(const ViewInput& /*input*/, const Data& data) {
  std::vector<std::string> said;
  for (std::int64_t column = 1; column < data.shape[1]; ++column) {
    std::vector<double> y;
    for (std::int64_t row = 0; row < data.shape[0] && std::isfinite(number_at(data, row, column)); ++row) {
      y.push_back(number_at(data, row, column));
    }
    const auto count = static_cast<double>(y.size());
    double mean = 0;
    int falls = 0;
    for (std::size_t n = 0; n < y.size(); ++n) {
      mean += y[n] / count;
      falls += n > 0 && y[n] < y[n - 1] ? 1 : 0;
    }
    double xx = 0;
    double yy = 0;
    double xy = 0;
    for (std::size_t n = 0; n < y.size(); ++n) {
      const double x = static_cast<double>(n) - (count - 1) / 2;
      xx += x * x;
      yy += (y[n] - mean) * (y[n] - mean);
      xy += x * (y[n] - mean);
    }
    said.insert(said.end(), {short_number(y.back()), std::to_string(y.size() - 1), std::to_string(falls),
                             short_number(xy * xy / (xx * yy))});
  }
  return said;
}

const std::map<std::string, std::vector<Case>>& listed_cases() {
  const auto word = [](const char* name, const char* value) { return Settings{{name, std::string(value)}}; };
  const std::string two = "text-rope text-rope:2000";
  static const std::map<std::string, std::vector<Case>> kCases{
      {"attention",
       {{.columns = two, .derived = shares},
        {.columns = "text-cope text-cope-relative", .derived = shares},
        {.columns = two + " text-tape", .derived = shares, .difference = true}}},
      {"attention-grid", {{.columns = two}, {.columns = "text-cope text-cope-relative"}}},
      {"attention-text", {{.columns = two}, {.columns = "text-cope text-cope-relative"}}},
      {"attention-image",
       {{.columns = "shapes-seqpe shapes-learned", .derived = sum_of_all},
        {.columns = "shapes-seqpe shapes-learned", .options = {{"rollout", true}}},
        {.columns = "shapes-seqpe shapes-learned", .options = {{"all-heads", true}}}}},
      {"mean-map",
       {{.columns = "text-rope-800.atlas text-alibi.atlas", .exports = {{"of", "mean"}, {"of", "low"}, {"of", "high"}}},
        {.columns = "text-rope-800.atlas text-alibi.atlas", .options = word("of", "low")},
        {.columns = "text-rope-800.atlas text-alibi.atlas", .options = word("of", "high")}}},
      {"pe-dot-product",
       {{.columns = two}, {.columns = "text-rope text-tape"}, {.columns = two + " text-tape", .difference = true}}},
      {"pe-dot-product-2d", {{.columns = "shapes-seqpe shapes-learned"}}},
      {"gates", {{.columns = "text-cope text-cope-relative"}}},
      {"positions",
       {{.columns = "text-cope text-cope-relative"},
        {.columns = "text-cope text-cope-relative", .options = word("as", "characters")}}},
      {"position-attention", {{.columns = "text-cope text-cope-relative"}}},
      {"distance-profile", {{.columns = two}, {.columns = "text-rope-800.atlas text-alibi.atlas", .derived = middles}}},
      {"distance-bias", {{.columns = two, .options = {{"pairs", std::int64_t{200}}}, .derived = bias}}},
      {"kernel",
       {{.columns = "text-rope text-alibi", .options = {{"reach", std::int64_t{64}}}, .derived = less_the_shift}}},
      {"pair-energy",
       {{.columns = two, .derived = every_head},
        {.columns = two, .options = word("of", "key"), .derived = every_head}}},
      {"pair-scores", {{.columns = two, .derived = sum_and_waves}}},
      {"pair-profile", {{.columns = two}}},
      {"pair-plane", {{.columns = two, .options = {{"pair", std::int64_t{9}}}, .derived = resultants}}},
      {"shift-stability", {{.columns = "text-rope text-tape", .options = word("move", "tokens")}}},
      {"picture-stability",
       {{.columns = "shapes-rope-mixed shapes-learned", .options = {{"steps", std::int64_t{1}}}},
        {.columns = "shapes-seqpe",
         .options = {{"steps", std::int64_t{1}}, {"move", std::string("scale")}},
         .derived = amounts}}},
      {"knock-out",
       {{.columns = two,
         .options = {{"null", std::int64_t{2}}},
         .exports = {{"export", "effect"}, {"export", "margin"}}},
        {.columns = two, .options = {{"null", std::int64_t{0}}, {"measure", std::string("kl")}}}}},
      {"move",
       {{.columns = two, .options = {{"tokens", std::string("8:10")}, {"by", std::string("-4:4:2")}}},
        {.columns = two,
         .options = {{"tokens", std::string("8:12")}, {"by", std::string("-4:4:2")}, {"as", std::string("map")}}}}},
      {"effect",
       {{.columns = "text-rope#3 text-rope:2000#3"}, {.columns = "text-rope#3", .options = word("as", "text")}}},
      {"length-curve", {{.columns = two, .options = {{"shortest", std::int64_t{8}}, {"longest", std::int64_t{32}}}}}},
      {"task-accuracy",
       {{.columns = "flip-flop-cope flip-flop-rope flip-flop-learned"},
        {.columns = "flip-flop-cope flip-flop-rope flip-flop-learned",
         .options = word("as", "table"),
         .together = true},
        {.columns = "flip-flop-rope flip-flop-learned",
         .options = {{"as", std::string("table")}, {"accuracy", true}},
         .together = true},
        {.columns = "counting-relative-of-1000 counting-relative-of-3000 counting-cope-of-1000 counting-cope-of-3000",
         .options = {{"as", std::string("table")}, {"by", std::string("train_size")}},
         .together = true},
        {.columns = "text-rope text-learned", .options = word("as", "table"), .together = true},
        {.columns = "addition-rope addition-tape"}}},
      {"training-curve", {{.columns = "text-rope text-cope", .options = word("of", "loss")}}},
      {"training",
       {{.columns = "text-rope-steps/step50.atlas text-rope-steps/step200.atlas",
         .options = {{"statistic", std::string("previous")}, {"heads", std::string("0")}}}}},
      {"loss-by-position", {{.columns = "text-rope-800.atlas text-learned.atlas"}}},
      {"needle", {{.columns = "text-alibi.atlas text-rope-800.atlas", .options = word("of", "needle")}}},
      {"examples", {{.columns = "text-words-rope-1500.atlas"}}},
      {"heads",
       {{.columns = two},
        {.columns = two, .options = word("as", "map")},
        {.columns = "text-rope-800.atlas text-alibi.atlas"}}},
      {"atlas",
       {{.columns = "text-rope-800.atlas text-learned.atlas"},
        {.columns = "text-rope-800.atlas text-learned.atlas", .options = word("y", "entropy")}}},
      {"addressing",
       {{.columns = two, .derived = means_of_heads},
        {.columns = two, .options = word("of", "pairs"), .derived = sums_of_pairs},
        {.columns = two, .options = word("of", "query"), .derived = shares_of_row},
        {.columns = "text-rope", .options = word("score", "swaps"), .derived = means_of_heads}}},
      {"head-difference",
       {{.columns = two, .together = true}, {.columns = two, .options = word("match", "best"), .together = true}}},
      {"reading", {{.columns = two, .derived = layer_means}, {.columns = two, .options = word("of", "heads")}}},
      {"learned-positions",
       {{.columns = "text-repo", .derived = orders}, {.columns = "text-repo", .options = word("of", "attention")}}},
      {"transform",
       {{.columns = "family/path_attn"}, {.columns = "family/path_attn", .options = word("of", "carried")}}},
      {"transform-steps", {{.columns = "family/path_attn", .derived = logit_and_content}}},
      {"perceived-distance",
       {{.columns = two, .derived = agreements},
        {.columns = "text-cope text-tape", .derived = agreements},
        {.columns = "text-tapa text-seqpe", .options = {{"shares", false}}, .derived = agreements}}},
      {"memory", {{.columns = "hybrid/qwen3_next hybrid/lfm2"}}},
      {"logit-lens", {{.columns = two}, {.columns = two, .options = word("token", "e")}}},
      {"logit-attribution", {{.columns = two}}},
      {"repeated-text",
       {{.columns = "text-rope text-rope#3", .options = {{"period", std::int64_t{12}}}, .derived = means_of_copies}}},
      {"state-norms", {{.columns = two}, {.columns = two, .options = {{"relative", false}}}}},
      {"score-sources", {{.columns = two, .derived = logit_of_terms, .layer = 2, .head = 1}}},
  };
  return kCases;
}

// Returns the columns listed for a view; for any other view, one checkpoint under two RoPE bases.
std::vector<Case> cases_of(const std::string& view) {
  const auto found = listed_cases().find(view);
  return found != listed_cases().end() ? found->second : std::vector<Case>{{.columns = "text-rope text-rope:2000"}};
}

// ---- the input of a case

Column column_of(const std::string& word) {
  const std::size_t atlas = word.find(".atlas");
  if (atlas != std::string::npos) {
    return test::bundled_atlas_input(word.substr(0, atlas), 0, 0).columns.front();
  }
  const std::size_t end = word.find_first_of(":#");
  const std::string name = word.substr(0, end);
  constexpr std::string_view kHybrid = "hybrid/";
  if (word.starts_with(kHybrid)) {
    return test::hybrid_column(word.substr(kHybrid.size()));
  }
  constexpr std::string_view kFamily = "family/";
  if (word.starts_with(kFamily)) {
    return test::family_column(word.substr(kFamily.size()));
  }
  const bool edited = word.find('#') != std::string::npos;
  static std::map<std::string, Column> known;  // a run each, whatever views show it
  const auto found = known.find(word);
  if (found != known.end()) {
    return found->second;
  }
  auto model = test::bundled(name, word.find(':') == std::string::npos ? std::nullopt : std::optional(2000.0));
  if (edited) {
    model = model->edited({*models::parse_edit("head 0.3 zero", 0)}).value();
  }
  models::Input input;
  if (model->info().image) {
    input.image = test::source_dir() + "/assets/samples/star.png";
  } else if (name.starts_with("text-")) {
    input.text = kShortText;
  } else {
    input.ids = {0};
  }
  std::string title = word;
  std::ranges::replace(title, ':', ' ');
  std::ranges::replace(title, '#', ' ');
  return known[word] = test::column_of(model, input, title);
}

ViewInput input_of(const Case& each) {
  static const auto cache = std::make_shared<FieldCache>(64 << 20);
  ViewInput input;
  std::istringstream words(each.columns);
  for (std::string word; words >> word;) {
    input.columns.push_back(column_of(word));
  }
  input.layer = each.layer;
  input.head = each.head;
  input.query = 9;
  input.key = 8;
  input.options = each.options;
  input.difference = each.difference;
  input.cache = cache;
  return input;
}

// ---- the numbers of a sentence

const std::string kNumber = "(?:−|-)?[0-9]+(?:\\.[0-9]+)?(?:e-?[0-9]+)?";

// Without what names something: columns, heads, places; and counts of heads, which tests of their views check.
std::string without_names(std::string text, const ViewInput& input) {
  std::vector<std::string> names;
  for (const Column& column : input.columns) {
    names.push_back(column.name);
  }
  std::ranges::sort(names, std::greater(), &std::string::size);
  for (const std::string& name : names) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
      text.replace(at, name.size(), "@");
    }
  }
  static const std::regex kPlaces(
      "[0-9]+ of (the )?[0-9]+( heads)?|[0-9]+ (cells|places)|none of the [0-9]+ heads|and [0-9]+ more|more than 32 "
      "back|R² [0-9.]+|"
      "is moved by (−|-)?[0-9.]+|patch [0-9]+, [0-9]+|\\([0-9]+, [0-9]+\\)|\"[^\"]*\"|“[^”]*”|(^|[^0-9.])[0-9]+ tokens|"
      "(feed-forward|head|heads from|layer|query|queries|keys?|tokens?|position|row|column|pairs?|distance|split|size|"
      "operand) [0-9]+(\\.[0-9]+)?( to [0-9]+)?");
  return std::regex_replace(text, kPlaces, "");
}

std::vector<std::string> numbers_of_text(const std::string& text) {
  static const std::regex kNumbers(kNumber);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), kNumbers); at != std::sregex_iterator(); ++at) {
    found.push_back(at->str());
  }
  return found;
}

// Every form in which a view may print an exported number: as it is, in percent, with fixed digits.
std::set<std::string> printed(const Data& data) {
  std::set<std::string> forms;
  for (const float each : data.values) {
    const auto value = static_cast<double>(each);
    if (std::isfinite(value)) {
      forms.insert({short_number(value), short_number(100 * value), fixed_text(value, 2), fixed_text(100 * value, 0),
                    fixed_text(100 * value, 1), place_text({}, value)});
    }
  }
  return forms;
}

// Of the first column of the input, which views export.
std::set<std::string> numbers_of_first(const View& view, const Case& each, const ViewInput& input) {
  std::set<std::string> all;
  auto exports = each.exports;
  if (exports.empty()) {
    exports.emplace_back();
  }
  for (const auto& [name, value] : exports) {
    ViewInput asked = input;
    if (!name.empty()) {
      asked.options.set(name, value);
    }
    const auto data = view.data(asked);
    EXPECT_TRUE(data.ok()) << data.error().describe();
    all.merge(printed(*data));
    if (each.derived != nullptr) {
      for (const std::string& form : each.derived(asked, *data)) {
        all.insert(form);
      }
    }
  }
  return all;
}

// Data of single columns: what no comparison adds to.
std::set<std::string> numbers_of_column(const View& view, const Case& each, ViewInput input, std::size_t column) {
  const bool reference = input.difference && column == reference_of(input);  // its own map is shown
  if (!each.together) {
    std::swap(input.columns[0], input.columns[column]);
  }
  if (!each.together && view.info().name != "training" && (!input.difference || reference)) {
    input.columns.resize(1);
    input.difference = false;
  }
  return numbers_of_first(view, each, input);
}

// Which columns a part of the sentence names; the first where it names none.
std::vector<std::size_t> named_in(const std::string& part, const ViewInput& input) {
  std::vector<std::size_t> named;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const std::string& name = input.columns[n].name;
    for (std::size_t at = part.find(name); at != std::string::npos; at = part.find(name, at + 1)) {
      const bool longer = std::ranges::any_of(input.columns, [&](const Column& other) {
        return other.name.size() > name.size() && part.compare(at, other.name.size(), other.name) == 0;
      });
      if (!longer) {
        named.push_back(n);
        break;
      }
    }
  }
  return named.empty() ? std::vector<std::size_t>{0} : named;
}

std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; at != std::string::npos; from = at + 2) {
    at = line.find("; ", from);
    parts.push_back(line.substr(from, at == std::string::npos ? at : at - from));
  }
  return parts;
}

std::vector<Quantity> quantities_of(const ViewInfo& info, const ViewInput& input) {
  const bool gated = input.columns.front().trace->model().first_encoding().name == "cope";
  const bool atlas = models::atlas_of(*input.columns.front().trace) != nullptr;
  return !info.uses_quantity ? std::vector{Quantity::kWeight}
         : atlas             ? std::vector{Quantity::kWeight, Quantity::kLogit}
         : gated             ? std::vector{Quantity::kWeight, Quantity::kLogit, Quantity::kGate, Quantity::kPosition}
                 : std::vector{Quantity::kWeight, Quantity::kLogit, Quantity::kContent, Quantity::kContribution};
}

// ---- the tests, a view each

class StatementNumbers : public testing::TestWithParam<const View*> {};

TEST_P(StatementNumbers, AreExportedOfTheColumnThatIsNamed) {
  const View& view = *GetParam();
  for (const Case& each : cases_of(view.info().name)) {
    ViewInput input = input_of(each);
    const std::size_t turns = input.columns.size() > 1 ? 2 : 1;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (const Quantity quantity : quantities_of(view.info(), input)) {
        input.quantity = quantity;
        const auto figure = view.figure(input);
        if (!figure.ok() && figure.error().code == ErrorCode::kUnsupported) {
          continue;
        }
        ASSERT_TRUE(figure.ok()) << figure.error().describe();
        const std::string line = statement(view.info(), input, *figure);
        SCOPED_TRACE(models::to_text(quantity) + ", " + line);
        ASSERT_FALSE(line.empty());
        std::size_t numbers = 0;
        std::vector<std::size_t> subject{0};
        for (const std::string& part : parts_of(line)) {
          const std::vector<std::size_t> named = named_in(part, input);
          const bool names_one = part.find(input.columns[named.front()].name) != std::string::npos;
          subject = names_one ? named : subject;  // a part without a name goes on about the one before
          std::set<std::string> known;
          for (const std::size_t column : subject) {
            known.merge(numbers_of_column(view, each, input, column));
          }
          for (const std::string& number : numbers_of_text(without_names(part, input))) {
            EXPECT_TRUE(known.contains(number)) << number << " is not of " << input.columns[subject.front()].name;
            ++numbers;
          }
        }
        const bool none = line.find("none of the") != std::string::npos || line.find("nowhere") != std::string::npos ||
                          line.find("no head") != std::string::npos || line.find(" heads are ") != std::string::npos ||
                          line.find(" heads read ") != std::string::npos;
        EXPECT_TRUE(numbers > 0 || none);
      }
      std::swap(input.columns.front(), input.columns.back());
    }
  }
}

// The map, text, curve or bars that a sentence reads, with another value where it reads it.
bool raise_a_value(figure::Panel& panel, float to) {
  for (figure::Layer& layer : panel.layers) {
    if (auto* map = std::get_if<figure::HeatMap>(&layer); map != nullptr && map->field) {
      Field field = *map->field;
      const auto cell =
          std::find_if(field.values.rbegin(), field.values.rend(), [](float value) { return std::isfinite(value); });
      *cell = to;
      map->field = std::make_shared<const Field>(std::move(field));
      return true;
    }
    if (auto* strip = std::get_if<figure::TokenStrip>(&layer)) {
      strip->values.back() = to;
      return true;
    }
    auto* curve = std::get_if<figure::Curve>(&layer);
    if (curve != nullptr && !curve->name.empty()) {
      std::ranges::replace_if(
          curve->y, [](double value) { return std::isfinite(value); }, to);
      return true;
    }
    auto* bars = std::get_if<figure::Bars>(&layer);
    if (bars != nullptr && !bars->name.empty()) {
      bars->heights.front() = to;
      return true;
    }
  }
  return false;
}

// A sentence that is read off the figure says the number that is put there; the others say what was measured, and
// change with the column that is first.
TEST_P(StatementNumbers, FollowWhatIsShown) {
  constexpr float kOther = 98765;
  const View& view = *GetParam();
  for (const Case& each : cases_of(view.info().name)) {
    ViewInput input = input_of(each);
    const auto figure = view.figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    const std::string line = statement(view.info(), input, *figure);
    SCOPED_TRACE(line);
    if (figure->statement.empty()) {
      figure::Figure other = *figure;
      ASSERT_TRUE(raise_a_value(other.panels.front(), kOther));
      const std::string said = statement(view.info(), input, other);
      EXPECT_NE(said, line);
      const bool means = line.find(" gives its own token ") != std::string::npos ||
                         line.find(" % of its weight") != std::string::npos ||
                         line.find(" × uniform") != std::string::npos;  // of weights
      EXPECT_TRUE(means || said.find("98765") != std::string::npos) << said;
    }
    const bool ordered = !each.together && view.info().name != "training";  // whose columns stand by their steps
    if (input.columns.size() > 1 && ordered) {
      std::swap(input.columns.front(), input.columns.back());
      const auto swapped = view.figure(input);
      ASSERT_TRUE(swapped.ok()) << swapped.error().describe();
      EXPECT_NE(statement(view.info(), input, *swapped), line);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Views, StatementNumbers, testing::ValuesIn(views()), [](const auto& info) {
  std::string name = info.param->info().name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace locus::views
