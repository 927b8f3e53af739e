// The numbers of the `heads` view: every head's statistics, sorted, and the rows of them that are shown.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/views/view.h"

namespace locus::views {

constexpr std::size_t kHeadStatistics = 15;

// A statistic's name on the command line and in data, above its column, and in full.
struct HeadStatistic {
  const char* name;
  const char* label;
  const char* meaning;
  bool has_sign = false;  // may be below 0
};
extern const std::array<HeadStatistic, kHeadStatistics> kHeadStatisticList;

// One head's numbers, in the order of the list; NaN where there is none.
struct HeadRow {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::array<double, kHeadStatistics> values{};
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
