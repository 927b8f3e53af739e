// SymbolTask: a task with generated sequences of one byte per symbol, so that the byte tokenizer reads them and a
// person can type one. A generator makes a line and marks the symbols that are answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/training/task.h"

namespace locus::training {

// A sequence; `answers` are the indices of symbols to be predicted from all before them, ascending, ≥ 1.
struct Line {
  std::string symbols;
  std::vector<std::int64_t> answers;

  // Appends symbols to be predicted.
  void answer(std::string_view text) {
    for (const char symbol : text) {
      answers.push_back(static_cast<std::int64_t>(symbols.size()));
      symbols += symbol;
    }
  }
};

class SymbolTask : public Task {
 public:
  // `length` is the longest line of training; `splits` are "in" and those out of distribution.
  SymbolTask(std::int64_t length, std::vector<std::string> splits) : length_(length), splits_(std::move(splits)) {}

  std::int64_t vocabulary() const final { return 256; }
  // The last symbol of a line is only a target.
  std::int64_t length() const final { return length_ - 1; }
  Metric metric() const final { return Metric::kError; }
  Examples training_examples(Random& random, std::int64_t count) const final;
  std::vector<std::string> splits() const final { return splits_; }
  Examples evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                               std::int64_t count) const final;
  std::int64_t evaluation_count(std::size_t /*split*/) const final { return 1000; }
  Status write_input_files(const std::filesystem::path& folder) const final;

  Examples map_examples(std::size_t row, std::size_t column, std::uint64_t seed, std::int64_t count) const final;

  virtual Line training_line(Random& random) const = 0;
  // The answers that are measured: often fewer than those of a training line.
  virtual Line evaluation_line(std::size_t split, Random& random) const = 0;
  // Line n of the cell of these two numbers of map(); only called where there is a map.
  virtual Line map_line(std::int64_t /*row*/, std::int64_t /*column*/, std::uint64_t /*seed*/,
                        std::int64_t /*n*/) const {
    return {};
  }

 private:
  std::int64_t length_;
  std::vector<std::string> splits_;
};

// A whole number option within [low, high]. Errors: kUsage naming the option.
Result<std::int64_t> option_in(const Settings& options, const char* name, std::int64_t fallback, std::int64_t low,
                               std::int64_t high);

// A list of lengths, each from `low` on. Errors: kUsage naming the option.
Result<std::vector<std::int64_t>> lengths_in(const Settings& options, const char* name,
                                             std::vector<std::int64_t> fallback, std::int64_t low);

}  // namespace locus::training
