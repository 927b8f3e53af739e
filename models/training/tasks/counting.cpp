// Task counting (CoPE §5.3): what is the value of a variable after a sequence of operations, one symbol each:
//   A … E   set a … e to zero       a … e   increment it       .   pass
//   ?a2     the question, and the answer: 0 … 9, or X for 10
// Operations are drawn with the weights set 1, increment 7, pass 50; out of distribution pass weighs 100 ("longer":
// the last set is further away) or 10 ("shorter"). Values stay at most 10: an increment beyond is a pass.
#include <array>
#include <vector>

#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::array<double, 3> kPass{50, 100, 10};  // weight of pass in each split
constexpr int kLargestOperand = 10;
constexpr std::int64_t kAsked = 3;  // symbols: ?, the variable, its value

class Counting final : public SymbolTask {
 public:
  Counting(std::int64_t operations, std::int64_t variables)
      : SymbolTask(operations + kAsked, {"in", "longer", "shorter"}), operations_(operations), variables_(variables) {}

  Line training_line(Random& random) const override { return line(random, kPass[0]); }
  Line evaluation_line(std::size_t split, Random& random) const override { return line(random, kPass[split]); }

 private:
  // Up to `operations_` operations; a variable is incremented and queried only after it has been set.
  Line line(Random& random, double pass) const {
    const std::array<double, 3> weights{1, 7, pass};
    std::vector<int> values(static_cast<std::size_t>(variables_), -1);
    const std::int64_t operations = random.between(1, operations_);
    Line line;
    for (std::int64_t n = 0; n < operations; ++n) {
      const std::size_t operation = n == 0 ? 0 : random.weighted(weights);
      const std::int64_t variable = random.below(variables_);
      int& value = values[static_cast<std::size_t>(variable)];
      if (operation == 0) {
        value = 0;
        line.symbols += static_cast<char>('A' + variable);
      } else if (operation == 1 && value >= 0 && value < kLargestOperand) {
        ++value;
        line.symbols += static_cast<char>('a' + variable);
      } else {
        line.symbols += '.';
      }
    }
    std::int64_t asked = random.below(variables_);
    while (values[static_cast<std::size_t>(asked)] < 0) {
      asked = (asked + 1) % variables_;
    }
    const int value = values[static_cast<std::size_t>(asked)];
    line.symbols += '?';
    line.symbols += static_cast<char>('a' + asked);
    line.answer(value == kLargestOperand ? "X" : std::to_string(value));
    return line;
  }

  std::int64_t operations_;
  std::int64_t variables_;
};

Result<std::unique_ptr<Task>> make_counting(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"operations", "variables"}));
  LOCUS_TRY(const std::int64_t operations, option_in(request.options, "operations", 512, 1, 1 << 16));
  LOCUS_TRY(const std::int64_t variables, option_in(request.options, "variables", 1, 1, 5));
  return std::unique_ptr<Task>(std::make_unique<Counting>(operations, variables));
}

}  // namespace

TaskEntry counting_task() {
  return {"counting", make_counting};
}

}  // namespace locus::training
