#include "models/training/symbol_task.h"

#include <algorithm>

#include "models/text/tokenizer.h"

namespace locus::training {

namespace {

// Training streams begin with the run's seed; evaluation streams begin with this number, so the two never coincide.
constexpr std::uint64_t kEvaluationStream = 0xE7A1'0000'0000'0002U;

// (B, T) from lines, T one less than the longest; shorter lines are padded with zeros that are not counted.
Examples to_examples(const std::vector<Line>& lines) {
  std::size_t longest = 2;
  for (const Line& line : lines) {
    longest = std::max(longest, line.symbols.size());
  }
  const auto count = static_cast<std::int64_t>(lines.size());
  const auto length = static_cast<std::int64_t>(longest) - 1;
  Examples examples{at::zeros({count, length}, at::kLong), at::full({count, length}, kIgnored, at::kLong), {}};
  for (std::int64_t row = 0; row < count; ++row) {
    const Line& line = lines[static_cast<std::size_t>(row)];
    auto* const ids = examples.ids.data_ptr<std::int64_t>() + row * length;
    auto* const targets = examples.targets.data_ptr<std::int64_t>() + row * length;
    for (std::size_t n = 0; n + 1 < line.symbols.size(); ++n) {
      ids[n] = static_cast<unsigned char>(line.symbols[n]);
    }
    for (const std::int64_t answer : line.answers) {
      targets[answer - 1] = static_cast<unsigned char>(line.symbols[static_cast<std::size_t>(answer)]);
    }
  }
  return examples;
}

}  // namespace

Examples SymbolTask::training_examples(Random& random, std::int64_t count) const {
  std::vector<Line> lines;
  for (std::int64_t n = 0; n < count; ++n) {
    lines.push_back(training_line(random));
  }
  return to_examples(lines);
}

Examples SymbolTask::evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                                         std::int64_t count) const {
  std::vector<Line> lines;
  for (std::int64_t n = first; n < first + count; ++n) {
    Random random{kEvaluationStream, seed, split, static_cast<std::uint64_t>(n)};
    lines.push_back(evaluation_line(split, random));
  }
  return to_examples(lines);
}

Examples SymbolTask::map_examples(std::size_t row, std::size_t column, std::uint64_t seed, std::int64_t count) const {
  const TaskMap cells = map();
  std::vector<Line> lines;
  for (std::int64_t n = 0; n < count; ++n) {
    lines.push_back(map_line(cells.rows[row], cells.columns[column], seed, n));
  }
  return to_examples(lines);
}

Status SymbolTask::write_input_files(const std::filesystem::path& folder) const {
  return text::write_byte_tokenizer(folder);
}

Result<std::int64_t> option_in(const Settings& options, const char* name, std::int64_t fallback, std::int64_t low,
                               std::int64_t high) {
  LOCUS_TRY(const std::int64_t value, options.integer(name, fallback));
  if (value < low || value > high) {
    return usage("option " + std::string(name) + ": expected " + std::to_string(low) + " to " + std::to_string(high) +
                 ", found " + std::to_string(value));
  }
  return value;
}

Result<std::vector<std::int64_t>> lengths_in(const Settings& options, const char* name,
                                             std::vector<std::int64_t> fallback, std::int64_t low) {
  if (!options.has(name)) {
    return fallback;
  }
  LOCUS_TRY(const std::vector<double> given, options.numbers(name));
  std::vector<std::int64_t> lengths;
  for (const double length : given) {
    if (!(length >= static_cast<double>(low) && length <= 1 << 24)) {
      return usage("option " + std::string(name) + ": expected lengths from " + std::to_string(low) +
                   " to 2^24, found " + to_text(SettingValue(given)));
    }
    lengths.push_back(static_cast<std::int64_t>(length));
  }
  return lengths;
}

}  // namespace locus::training
