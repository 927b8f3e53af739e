// Task flip-flop (Liu et al. 2023, arXiv:2306.00946; CoPE §5.1): w0 writes a bit, i1 is to be ignored, r asks for the
// last bit written. "w0i1r0w1i0i1i1r1": instructions and bits alternate, the first is w, the last r.
//
// An instruction is i with probability p_i; w and r share the rest. Trained at p_i = 0.8; out of distribution: "sparse"
// (0.98: the last write is far away) and "dense" (0.1: many writes).
#include <array>

#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr double kTrained = 0.8;
constexpr std::array<double, 3> kIgnore{kTrained, 0.98, 0.1};  // probability of i in each split

class FlipFlop final : public SymbolTask {
 public:
  explicit FlipFlop(std::int64_t length) : SymbolTask(length, {"in", "sparse", "dense"}), length_(length) {}

  // Every read is an answer.
  Line training_line(Random& random) const override { return line(random, kTrained); }
  // The last read only, as in CoPE.
  Line evaluation_line(std::size_t split, Random& random) const override {
    Line whole = line(random, kIgnore[split]);
    whole.answers.erase(whole.answers.begin(), whole.answers.end() - 1);
    return whole;
  }

 private:
  Line line(Random& random, double ignore) const {
    const std::array<double, 3> weights{(1 - ignore) / 2, ignore, (1 - ignore) / 2};
    constexpr std::array<char, 3> kInstructions{'w', 'i', 'r'};
    Line line;
    char memory = '0';
    for (std::int64_t n = 0; n < length_; n += 2) {
      const char instruction = n == 0 ? 'w' : n + 2 == length_ ? 'r' : kInstructions[random.weighted(weights)];
      const char bit = instruction == 'r' ? memory : static_cast<char>('0' + random.below(2));
      if (instruction == 'w') {
        memory = bit;
      } else if (instruction == 'r') {
        line.answers.push_back(n + 1);
      }
      line.symbols += instruction;
      line.symbols += bit;
    }
    return line;
  }

  std::int64_t length_;  // symbols
};

Result<std::unique_ptr<Task>> make_flip_flop(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"symbols"}));
  LOCUS_TRY(const std::int64_t symbols, option_in(request.options, "symbols", 512, 4, 1 << 20));
  if (symbols % 2 != 0) {
    return usage("option symbols: expected an even number, found " + std::to_string(symbols));
  }
  return std::unique_ptr<Task>(std::make_unique<FlipFlop>(symbols));
}

}  // namespace

TaskEntry flip_flop_task() {
  return {"flip-flop", make_flip_flop};
}

}  // namespace locus::training
