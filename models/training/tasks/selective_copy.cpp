// Task selective-copy (Gu & Dao 2023; CoPE §5.2): copy all symbols but the blanks, in order. "D__CF_F_E" is followed by
// "DCFFE". 16 symbols with the blank ("_", then A to O). Trained with as many blanks as the option says; out of
// distribution "dense" has half of them and "sparse" twice as many.
#include <array>

#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::int64_t kLetters = 15;

class SelectiveCopy final : public SymbolTask {
 public:
  SelectiveCopy(std::int64_t letters, std::int64_t blanks)
      : SymbolTask(2 * letters + blanks, {"in", "dense", "sparse"}), letters_(letters), blanks_(blanks) {}

  Line training_line(Random& random) const override { return line(random, blanks_); }
  Line evaluation_line(std::size_t split, Random& random) const override {
    const std::array<std::int64_t, 3> blanks{blanks_, blanks_ / 2, 2 * blanks_};
    return line(random, blanks[split]);
  }

 private:
  // Every order of letters and blanks is equally likely.
  Line line(Random& random, std::int64_t blanks) const {
    Line line;
    std::string copy;
    std::int64_t letters_left = letters_;
    std::int64_t blanks_left = blanks;
    while (letters_left + blanks_left > 0) {
      if (random.below(letters_left + blanks_left) < letters_left) {
        copy += static_cast<char>('A' + random.below(kLetters));
        line.symbols += copy.back();
        --letters_left;
      } else {
        line.symbols += '_';
        --blanks_left;
      }
    }
    line.answer(copy);
    return line;
  }

  std::int64_t letters_;
  std::int64_t blanks_;
};

Result<std::unique_ptr<Task>> make_selective_copy(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"letters", "blanks"}));
  LOCUS_TRY(const std::int64_t letters, option_in(request.options, "letters", 256, 1, 1 << 16));
  LOCUS_TRY(const std::int64_t blanks, option_in(request.options, "blanks", 256, 2, 1 << 16));
  return std::unique_ptr<Task>(std::make_unique<SelectiveCopy>(letters, blanks));
}

}  // namespace

TaskEntry selective_copy_task() {
  return {"selective-copy", make_selective_copy};
}

}  // namespace locus::training
