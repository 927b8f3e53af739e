// The numbers of the `heads` view: every head's statistics, sorted, and the rows of them that are shown.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "models/api/atlas.h"

namespace locus::views {

constexpr std::size_t kHeadStatistics = 22;

// A statistic's name on the command line and in data, above its column, and in full.
struct HeadStatistic {
  const char* name;
  const char* label;
  const char* meaning;
  bool has_sign = false;      // may be below 0
  const char* of_atlas = "";  // its name among those of atlases (atlas_values.h); empty: none
  bool counts = false;        // whole numbers
};
extern const std::array<HeadStatistic, kHeadStatistics> kHeadStatisticList;

// One head's numbers, in the order of the list; NaN where there is none.
struct HeadRow {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::array<double, kHeadStatistics> values{};
  // For an atlas, whose numbers are means: half of the 95 % intervals, and 1 where they hold the mean of shuffled
  // tokens.
  bool of_atlas = false;
  std::array<double, kHeadStatistics> half{};
  std::array<std::uint8_t, kHeadStatistics> like_null{};
};
using HeadRows = std::vector<HeadRow>;

// How the table shows them.
struct HeadsOptions {
  bool table = true;
  std::size_t statistic = 0;  // of the list
  bool ascending = false;
  std::int64_t rows = 24;
  std::int64_t from = 0;
};

// Their names, what is looked for most first.
std::vector<std::string> statistic_names();

// The statistic of that name.
std::size_t statistic_named(const std::string& name);

// The rows of a column, in layer order, with `repeats` random inputs for the induction score. Errors: those of the
// analyses.
Result<HeadRows> measure_heads(const Column& column, std::int64_t repeats, const StopToken& stop,
                               const Progress& progress);

// The rows of an atlas, NaN where it has no such statistic. Errors: kUnsupported where it has none of heads.
Result<HeadRows> atlas_heads(const models::Atlas& atlas);

// A cell of the table: "0.31", of an atlas "0.31 ± 0.02", in parentheses where the interval holds that of shuffled
// tokens.
std::string cell_text(const HeadRow& row, std::size_t statistic);

// Indices of all rows, sorted; heads without the statistic come last.
std::vector<std::size_t> sorted_heads(const HeadRows& rows, const HeadsOptions& options);
// The first row that is shown of `count`: no empty row at the end while there are others above.
std::size_t first_shown(std::size_t count, const HeadsOptions& options);
// Indices of the rows as the table shows them.
std::vector<std::size_t> shown_heads(const HeadRows& rows, const HeadsOptions& options);
// The statistics that some head has.
std::vector<std::size_t> shown_statistics(const std::vector<std::shared_ptr<const HeadRows>>& all);
// "16 heads", "rows 24 to 47 of 144 heads".
std::string rows_text(std::size_t shown, std::size_t count, const HeadsOptions& options);

}  // namespace locus::views
