// `word-problem`: the permutation that TAPE's construction for the word problem holds at each prefix of a word, under
// the mask that its paper prints and under the one that it needs.
#include "models/api/word_problem.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::size_t kDrawnLetters = 128;
constexpr std::int64_t kSide = models::kMovedThings;
constexpr std::int64_t kTile = kSide + 1;  // with the gap behind it
constexpr double kCell = 1.0 / static_cast<double>(kTile);
// A tile less its gap, of the unit that it has on the axis.
constexpr double kTileWidth = static_cast<double>(kSide) * kCell;

enum class WordMask { kPrinted, kStrict };
constexpr std::array<WordMask, 2> kWordMasks{WordMask::kPrinted, WordMask::kStrict};

using Prefixes = std::vector<models::WordPrefix>;

// The word of a column, and what both masks make of it.
struct SolvedWord {
  std::string letters;               // those that are drawn
  std::size_t in_text = 0;           // all of the text
  std::array<Prefixes, 2> prefixes;  // by WordMask

  const Prefixes& of(WordMask mask) const { return prefixes[static_cast<std::size_t>(mask)]; }
};

class WordProblem final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;

 private:
  Result<SolvedWord> solve(const ViewInput& input, const Column& column) const;

  ViewInfo info_ = described({
      .name = "word-problem",
      .caption = "What a proof's program makes of swaps that are typed, with two masks; no model is read.",
      .shows =
          "The letters a to j of the text, or of the option word, swap two of five things: (1 2), (1 3), … (4 5). A "
          "tile for each prefix is the matrix that the construction of TAPE's Theorem 4.1 holds there, its row the "
          "place and its column the thing; above with the mask as the paper prints it, below with the strict one. "
          "Framed: the construction says that all things are where they were. Names of prefixes where that is true "
          "end in =.",
      .needs_text = true,
      .controls = {words("word", "Word", "Letters a to j, instead of those of the text", "the letters of the text")},
  });
};

Result<SolvedWord> WordProblem::solve(const ViewInput& input, const Column& column) const {
  SolvedWord solved;
  solved.letters = option<std::string>(input, "word");
  if (solved.letters.empty()) {
    std::ranges::copy_if(column.trace->text(), std::back_inserter(solved.letters),
                         [](char letter) { return models::transposition_of(letter).has_value(); });
  }
  solved.in_text = solved.letters.size();
  solved.letters.resize(std::min(solved.in_text, kDrawnLetters));
  for (const WordMask mask : kWordMasks) {
    LOCUS_TRY(solved.prefixes[static_cast<std::size_t>(mask)],
              models::word_prefixes(solved.letters, mask == WordMask::kStrict));
  }
  return solved;
}

bool says_identity(const models::WordPrefix& prefix) {
  return prefix.logit > 0;
}

// "a (1 2)", "start"; with " =" where the things are where they were.
std::vector<std::string> prefix_names(const SolvedWord& solved) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n <= solved.letters.size(); ++n) {
    std::string name = "start";
    if (const auto swap = n > 0 ? models::transposition_of(solved.letters[n - 1]) : std::nullopt) {
      name = std::string(1, solved.letters[n - 1]) + " (" + std::to_string(swap->source + 1) + " " +
             std::to_string(swap->target + 1) + ")";
    }
    names.push_back(name + (solved.of(WordMask::kStrict)[n].identity ? " =" : ""));
  }
  return names;
}

// Tiles beside each other, each a unit wide, with a column without values behind it.
FieldPointer tiles_of(const Prefixes& prefixes) {
  const auto count = std::ssize(prefixes);
  Field field = Field::zeros(kSide, kTile * count);
  field.column_axis = {"prefix", "", 0, kCell};
  field.row_axis = {"place", "", 0, 1};
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t column = 0; column < field.columns; ++column) {
      const auto& matrix = prefixes[static_cast<std::size_t>(column / kTile)].matrix;
      field.at(row, column) = column % kTile == kSide
                                  ? static_cast<float>(kNaN)
                                  : static_cast<float>(matrix[static_cast<std::size_t>(row * kSide + column % kTile)]);
    }
  }
  return std::make_shared<const Field>(std::move(field));
}

std::ptrdiff_t wrong_prefixes(const Prefixes& prefixes) {
  return std::ranges::count_if(prefixes,
                               [](const models::WordPrefix& each) { return says_identity(each) != each.identity; });
}

std::string wrong_text(const Prefixes& prefixes) {
  return "wrong at " + std::to_string(wrong_prefixes(prefixes)) + " of " + std::to_string(prefixes.size()) +
         " prefixes";
}

figure::Panel tiles_panel(const Column& column, const SolvedWord& solved, WordMask mask, const FieldPointer& field,
                          const figure::ColorScale& scale) {
  const Prefixes& prefixes = solved.of(mask);
  figure::Panel panel;
  name_after(column, panel);
  panel.title = mask == WordMask::kPrinted ? "mask as printed, j ≤ i" : "strict mask, j < i";  // of no checkpoint
  panel.x = cells_across("word", std::ssize(prefixes), shared_names(prefix_names(solved)));
  panel.y = cells_down("place", kSide, shared_names({"1", "2", "3", "4", "5"}));
  panel.layers.emplace_back(figure::HeatMap{.field = field, .scale = scale});
  for (std::size_t n = 0; n < prefixes.size(); ++n) {
    if (says_identity(prefixes[n])) {
      const auto left = static_cast<double>(n);
      panel.layers.emplace_back(figure::Box{{left, left + kTileWidth}, {static_cast<double>(kSide), 0}});
    }
  }
  panel.color_bar_label = "entry of the matrix";
  panel.follows_camera = false;
  panel.note = wrong_text(prefixes);
  if (solved.in_text > solved.letters.size()) {
    panel.note = joined_notes(panel.note, "the first " + std::to_string(solved.letters.size()) + " of " +
                                              std::to_string(solved.in_text) + " letters");
  }
  return panel;
}

std::string solved_line(const SolvedWord& solved) {
  const auto clause = [&](WordMask mask) {
    const Prefixes& prefixes = solved.of(mask);
    return wrong_text(prefixes) + ", its last logit " + short_number(prefixes.back().logit);
  };
  return "with the mask as printed " + clause(WordMask::kPrinted) + ", with the strict one " +
         clause(WordMask::kStrict);
}

Result<figure::Figure> WordProblem::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  std::vector<SolvedWord> words;
  for (const Column& column : input.columns) {
    LOCUS_TRY(words.emplace_back(), solve(input, column));
  }
  figure::Figure figure = figure_across(words.size());
  for (const WordMask mask : kWordMasks) {
    Fields fields;
    for (const SolvedWord& solved : words) {
      fields.push_back(tiles_of(solved.of(mask)));
    }
    for (std::size_t n = 0; n < words.size(); ++n) {
      figure.panels.push_back(
          tiles_panel(input.columns[n], words[n], mask, fields[n], scale_of(input, Sign::kPositive, fields, n)));
    }
  }
  figure.statement = about_columns(input, [&](std::size_t n) { return solved_line(words[n]); });
  return figure;
}

// One row per prefix: whether it is the identity, then the logit and the matrix, row by row, of each mask.
Result<Data> WordProblem::data(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  LOCUS_TRY(const SolvedWord solved, solve(input, input.columns.front()));
  Data data;
  data.columns = {"prefix", "identity"};
  for (const char* const mask : {"printed", "strict"}) {
    data.columns.push_back(std::string(mask) + " logit");
    for (std::int64_t cell = 0; cell < kSide * kSide; ++cell) {
      data.columns.push_back(std::string(mask) + " " + std::to_string(cell / kSide + 1) + "," +
                             std::to_string(cell % kSide + 1));
    }
  }
  const std::size_t rows = solved.letters.size() + 1;
  data.shape = {static_cast<std::int64_t>(rows), std::ssize(data.columns)};
  for (std::size_t row = 0; row < rows; ++row) {
    data.values.push_back(static_cast<float>(row));
    data.values.push_back(solved.of(WordMask::kStrict)[row].identity ? 1.0F : 0.0F);
    for (const WordMask mask : kWordMasks) {
      const models::WordPrefix& prefix = solved.of(mask)[row];
      data.values.push_back(static_cast<float>(prefix.logit));
      for (const double entry : prefix.matrix) {
        data.values.push_back(static_cast<float>(entry));
      }
    }
  }
  return data;
}

}  // namespace

const View& word_problem_view() {
  return made_once<WordProblem>();
}

}  // namespace locus::views
