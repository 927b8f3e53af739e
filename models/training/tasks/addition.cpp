// Task addition (McLeish et al. 2024; TAPE §5.1): the sum of two numbers, digit by digit. "21+43=64." with plain
// digits; reversed, every number begins with its ones, so that carries follow the text. Operands of 1 … `length` digits
// in training; "longer" has at least one longer operand, up to twice as long. All pairs of lengths are alike frequent,
// or in buckets all lengths of the longer operand: the other, at either side, has any length up to that. The map is the
// error of every pair of lengths.
#include <algorithm>
#include <string>

#include "core/base/shown.h"
#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::uint64_t kMapStream = 0xE7A1'0000'0000'0004U;

// Σ of two decimal numbers, ones last.
std::string sum_of(const std::string& a, const std::string& b) {
  std::string sum;
  int carry = 0;
  for (std::size_t n = 0; n < std::max(a.size(), b.size()) || carry > 0; ++n) {
    const int left = n < a.size() ? a[a.size() - 1 - n] - '0' : 0;
    const int right = n < b.size() ? b[b.size() - 1 - n] - '0' : 0;
    sum += static_cast<char>('0' + (left + right + carry) % 10);
    carry = (left + right + carry) / 10;
  }
  std::reverse(sum.begin(), sum.end());
  return sum;
}

// A number with so many digits; 0 has one.
std::string number(std::int64_t digits, Random& random) {
  std::string text;
  for (std::int64_t n = 0; n < digits; ++n) {
    const std::int64_t least = n == 0 && digits > 1 ? 1 : 0;
    text += static_cast<char>('0' + random.between(least, 9));
  }
  return text;
}

class Addition final : public SymbolTask {
 public:
  // Two operands, a sum with one more digit, and three signs.
  Addition(std::int64_t length, bool reversed, bool buckets)
      : SymbolTask(3 * length + 4, {"in", "longer"}), length_(length), reversed_(reversed), buckets_(buckets) {}

  Line training_line(Random& random) const override {
    if (buckets_) {
      return bucket_line(random.between(1, length_), random);
    }
    const std::int64_t left = random.between(1, length_);
    return line(left, random.between(1, length_), random);
  }
  Line evaluation_line(std::size_t split, Random& random) const override {
    if (buckets_) {
      return bucket_line(split == 0 ? random.between(1, length_) : random.between(length_ + 1, 2 * length_), random);
    }
    const std::int64_t longest = split == 0 ? length_ : 2 * length_;
    std::int64_t left = 0;
    std::int64_t right = 0;
    do {
      left = random.between(1, longest);
      right = random.between(1, longest);
    } while (split == 1 && left <= length_ && right <= length_);
    return line(left, right, random);
  }

  TaskMap map() const override {
    TaskMap map{"digits of the first operand", "digits of the second operand", {}, {}};
    for (std::int64_t digits = 1; digits <= 2 * length_; ++digits) {
      map.rows.push_back(digits);
      map.columns.push_back(digits);
    }
    return map;
  }
  Line map_line(std::int64_t row, std::int64_t column, std::uint64_t seed, std::int64_t n) const override {
    Random random{kMapStream, seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column),
                  static_cast<std::uint64_t>(n)};
    return line(row, column, random);
  }

 private:
  // The longer operand has `longer` digits; both sides are as often the longer one.
  Line bucket_line(std::int64_t longer, Random& random) const {
    const std::int64_t other = random.between(1, longer);
    return random.below(2) == 0 ? line(longer, other, random) : line(other, longer, random);
  }

  Line line(std::int64_t left_digits, std::int64_t right_digits, Random& random) const {
    std::string left = number(left_digits, random);
    std::string right = number(right_digits, random);
    std::string sum = sum_of(left, right);
    if (reversed_) {
      for (std::string* const text : {&left, &right, &sum}) {
        std::reverse(text->begin(), text->end());
      }
    }
    Line line;
    line.symbols = left + "+" + right + "=";
    line.answer(sum + ".");
    return line;
  }

  std::int64_t length_;
  bool reversed_;
  bool buckets_;
};

Result<std::unique_ptr<Task>> make_addition(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"length", "digits", "operands"}));
  LOCUS_TRY(const std::int64_t length, option_in(request.options, "length", 10, 1, 1024));
  LOCUS_TRY(const std::string digits, request.options.text("digits", "reversed"));
  if (digits != "reversed" && digits != "plain") {
    return usage("option digits: expected reversed or plain, found " + shown(digits));
  }
  LOCUS_TRY(const std::string operands, request.options.text("operands", "pairs"));
  if (operands != "pairs" && operands != "buckets") {
    return usage("option operands: expected pairs or buckets, found " + shown(operands));
  }
  return std::unique_ptr<Task>(std::make_unique<Addition>(length, digits == "reversed", operands == "buckets"));
}

}  // namespace

TaskEntry addition_task() {
  return {"addition", make_addition};
}

}  // namespace locus::training
