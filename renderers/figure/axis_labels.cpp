#include "renderers/figure/axis_labels.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "renderers/figure/axis_blocks.h"
#include "renderers/figure/titles.h"
#include "renderers/figure/words.h"

namespace locus::figure {
namespace {

constexpr double kWordNames = 0.85;      // so large are names of words
constexpr double kSmallestNames = 0.75;  // token names may shrink to this part of the tick text
constexpr double kFewWide = 0.25;        // of the names: so few are shortened where all others stand upright
constexpr double kLongestName = 12;      // in tick text sizes; what is longer is elided
constexpr double kLongestBeginning = 6;  // the same of a label that several words share: its beginning finds the place
constexpr double kWordLine = 1.3;        // the room of a word along its axis, in text sizes
constexpr double kMaxWords = 2;          // that share a label, on average; beyond, cells are counted
constexpr double kMaxLetterWords = 6;    // the same where tokens are letters, whose numbers find no place in a text
constexpr double kLettersAWord = 3;      // cells a word, at least, where they are
constexpr std::int64_t kMaxLetters = 6;  // that share a label where a text has no words, as that of a task of symbols

// The visible cells of an axis that has names.
struct NamedCells {
  const Axis& axis;
  const std::vector<std::string>& names;
  Range cells;      // whose middle is visible
  double cell = 0;  // the size of one, in canvas units
};

std::optional<NamedCells> named_cells(const Axis& axis, double length) {
  const double low = std::min(axis.view.low, axis.view.high);
  const double high = std::max(axis.view.low, axis.view.high);
  if (!axis.cell_names || axis.cell_names->empty() || !(high > low) || length <= 0) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(axis.cell_names->size());
  const auto cell = [&](double at) { return static_cast<std::int64_t>(std::clamp(at, 0.0, count)); };
  return NamedCells{
      axis, *axis.cell_names, {cell(std::ceil(low - 0.5)), cell(std::floor(high + 0.5))}, length / (high - low)};
}

bool is_one_letter(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char byte) {
           return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;  // begins a code point
         }) == 1;
}

// A name a cell.
AxisLabels cell_labels(const NamedCells& named, bool along_x, double smallest, const Style& style,
                       const TextMetrics& metrics) {
  AxisLabels labels;
  labels.size = std::clamp(named.cell / 1.05, smallest, style.tick_text());
  for (std::int64_t n = named.cells.begin; n < named.cells.end; ++n) {
    const std::string name =
        name_beside_block(named.axis, n, printable(name_of(named.names, static_cast<std::size_t>(n))));
    labels.ticks.push_back({static_cast<double>(n), static_cast<double>(n) + 0.5,
                            elided(metrics, name, labels.size, kLongestName * style.tick_text())});
  }
  const auto is_wide = [&](const Tick& tick) {  // letters need no gap between them
    const double gap = is_one_letter(tick.label) ? 0 : 0.5 * labels.size;
    return metrics.width(tick.label, labels.size) + gap > named.cell;
  };
  const auto wide = static_cast<double>(std::ranges::count_if(labels.ticks, is_wide));
  labels.vertical = along_x && wide > kFewWide * static_cast<double>(labels.ticks.size());
  for (Tick& tick : labels.ticks) {  // a few long ones among letters do not lay all of them on their sides
    if (along_x && !labels.vertical && is_wide(tick)) {
      tick.label = elided(metrics, tick.label, labels.size, std::max(named.cell - 0.1 * labels.size, 0.0));
    }
  }
  const double width = widest(labels.ticks, labels.size, metrics);
  labels.depth = along_x && !labels.vertical ? TextMetrics::line_height(labels.size) : width;
  return labels;
}

// A name between two lines: words, letters of a text without words, or a block, whose strip names it.
struct Group {
  Range cells;
  bool block = false;
  bool letters = false;
};
struct Groups {
  std::vector<Group> all;  // empty: not legible
  bool shared = false;     // some are more than one or two words
};

// Letters, as many together as make room for a line of text, and blocks; none where that is more than a few.
Groups legible_letters(const NamedCells& named, const std::vector<CellRun>& runs, double line) {
  const auto together = static_cast<std::int64_t>(std::ceil(line / named.cell));
  Groups groups;
  for (const CellRun& run : runs) {
    if (run.block) {
      groups.all.push_back({run.cells, true});
      continue;
    }
    for (std::int64_t n = run.cells.begin; n < run.cells.end; ++n) {
      if (together > kMaxLetters || !is_one_letter(name_of(named.names, static_cast<std::size_t>(n)))) {
        return {};
      }
    }
    for (std::int64_t begin = run.cells.begin; begin < run.cells.end; begin += together) {
      groups.all.push_back({{begin, std::min(begin + together, run.cells.end)}, false, true});
    }
  }
  return groups;
}

// Words, as many together as make room for a line of text, and blocks; none where that is more than a few words each.
Groups legible_words(const NamedCells& named, double line) {
  const std::vector<CellRun> runs = runs_beside_blocks(named.axis, named.cells);
  std::vector<Group> groups;
  std::size_t words = 0;
  std::size_t texts = 0;  // runs of them
  std::int64_t cells = 0;
  const auto is_low = [&](const Group& group) { return static_cast<double>(group.cells.size()) * named.cell < line; };
  for (const CellRun& run : runs) {
    if (run.block) {
      groups.push_back({run.cells, true});
      continue;
    }
    const std::size_t before = groups.size();
    for (const Range& word : words_of(named.names, run.cells)) {
      if (groups.size() == before || !is_low(groups.back())) {
        groups.push_back({word});
      }
      groups.back().cells.end = word.end;
      ++words;
    }
    if (groups.size() > before + 1 && is_low(groups.back())) {
      groups[groups.size() - 2].cells.end = groups.back().cells.end;
      groups.pop_back();
    }
    ++texts;
    cells += run.cells.size();
  }
  const auto named_groups = std::ranges::count_if(groups, [](const Group& group) { return !group.block; });
  if (words <= texts) {
    return legible_letters(named, runs, line);
  }
  const bool letters = static_cast<double>(words) * kLettersAWord <= static_cast<double>(cells);
  const double most = letters ? kMaxLetterWords : kMaxWords;
  const double shared = static_cast<double>(words) / static_cast<double>(std::max<std::ptrdiff_t>(named_groups, 1));
  return named_groups > 1 && shared <= most ? Groups{std::move(groups), shared > kMaxWords} : Groups();
}

// Cells too small for a name each: words, each named between lines where it begins and where the next one does.
std::optional<AxisLabels> word_labels(const NamedCells& named, bool along_x, double size, const Style& style,
                                      const TextMetrics& metrics) {
  const Groups groups = legible_words(named, kWordLine * size);
  if (groups.all.empty()) {
    return std::nullopt;
  }
  const double longest = (groups.shared ? kLongestBeginning : kLongestName) * style.tick_text();
  AxisLabels labels;
  labels.size = size;
  double width = 0;
  for (const Group& group : groups.all) {
    const auto begin = static_cast<double>(group.cells.begin);
    labels.ticks.push_back({begin, begin, ""});
    if (group.block) {
      continue;
    }
    const Range around = between_blocks(named.axis, group.cells);
    const Range whole = group.letters ? group.cells : whole_words(named.names, group.cells);
    const Range words{std::max(whole.begin, around.begin), std::min(whole.end, around.end)};
    const std::string text = elided(metrics, printable(text_of(named.names, words)), size, longest);
    labels.ticks.push_back({begin, static_cast<double>(group.cells.begin + group.cells.end) / 2, text, false});
    const double advance = metrics.width(text, size);
    labels.vertical =
        labels.vertical || (along_x && advance + 0.5 * size > static_cast<double>(group.cells.size()) * named.cell);
    width = std::max(width, advance);
  }
  const auto end = static_cast<double>(groups.all.back().cells.end);
  labels.ticks.push_back({end, end, ""});
  labels.depth = along_x && !labels.vertical ? TextMetrics::line_height(size) : width;
  return labels;
}

// Whether every name begins with the number of its cell, as in "12 · 8.9": some of them then tell where all are.
bool are_numbered(const std::vector<std::string>& names) {
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (!names[n].starts_with(std::to_string(n) + " ")) {
      return false;
    }
  }
  return true;
}

// Cells too small for a name each, whose names are numbered: every second, fourth, … has its own.
AxisLabels numbered_labels(const NamedCells& named, bool along_x, double size, const Style& style,
                           const TextMetrics& metrics) {
  std::int64_t step = 1;
  while (static_cast<double>(step) * named.cell < kWordLine * size) {
    step *= 2;
  }
  AxisLabels labels;
  labels.size = size;
  labels.vertical = along_x;
  for (std::int64_t n = (named.cells.begin + step - 1) / step * step; n < named.cells.end; n += step) {
    labels.ticks.push_back(
        {static_cast<double>(n), static_cast<double>(n) + 0.5,
         elided(metrics, named.names[static_cast<std::size_t>(n)], size, kLongestName * style.tick_text())});
  }
  labels.depth = widest(labels.ticks, size, metrics);
  return labels;
}

// Names of the visible cells as tick labels; none when the cells are too small to name.
std::optional<AxisLabels> name_labels(const Axis& axis, double length, bool along_x, const Style& style,
                                      const TextMetrics& metrics) {
  const auto named = named_cells(axis, length);
  if (!named || named->cells.empty()) {
    return std::nullopt;
  }
  const bool unnamed =
      std::all_of(named->names.begin(), named->names.end(), [](const auto& name) { return name.empty(); });
  if (unnamed) {
    return AxisLabels{};  // another panel names them
  }
  const double smallest = style.readable(kSmallestNames * style.tick_text());
  if (1.05 * smallest <= named->cell + 1e-9) {
    return cell_labels(*named, along_x, smallest, style, metrics);
  }
  const double size = style.readable(kWordNames * style.tick_text());
  return are_numbered(named->names) ? numbered_labels(*named, along_x, size, style, metrics)
                                    : word_labels(*named, along_x, size, style, metrics);
}

}  // namespace

double widest(const std::vector<Tick>& ticks, double size, const TextMetrics& metrics) {
  double width = 0;
  for (const Tick& tick : ticks) {
    width = std::max(width, metrics.width(tick.label, size));
  }
  return width;
}

bool counts_cells(const Panel& panel, bool along_x) {
  for (const Layer& layer : panel.layers) {
    const auto* map = std::get_if<HeatMap>(&layer);
    if (map != nullptr && map->field) {
      const FieldAxis& axis = along_x ? map->field->column_axis : map->field->row_axis;
      return axis.step >= 1 && axis.step == std::floor(axis.step) && axis.first == std::floor(axis.first);
    }
  }
  return false;
}

AxisLabels axis_labels(const Panel& panel, bool along_x, double length, const Style& style,
                       const TextMetrics& metrics) {
  const Axis& axis = along_x ? panel.x : panel.y;
  if (auto names = name_labels(axis, length, along_x, style, metrics)) {
    return *std::move(names);
  }
  AxisLabels labels;
  labels.size = style.tick_text();
  TickRequest request;
  request.view = axis.view;
  request.length = length;
  request.logarithmic = axis.logarithmic;
  request.log_base = axis.log_base;
  request.cells = counts_cells(panel, along_x) || axis.cell_names != nullptr;
  if (along_x) {
    request.room = [&](const std::string& label) {
      return std::max(metrics.width(label, labels.size) + 1.2 * labels.size, length / kMaxTicks);
    };
  } else {
    request.room = [&](const std::string&) { return std::max(1.9 * labels.size, length / kMaxTicks); };
  }
  labels.ticks = make_ticks(request);
  labels.depth = along_x ? TextMetrics::line_height(labels.size) : widest(labels.ticks, labels.size, metrics);
  return labels;
}

}  // namespace locus::figure
