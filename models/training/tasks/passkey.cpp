// Task passkey (Mohtashami & Jaggi 2023; TAPE §5.3): find a number hidden in a long meaningless text, and reproduce it
// at the end. Scored by the greedy continuation: every digit must be the most likely byte after those before it.
// Trained on texts of up to `length` bytes; the further splits are longer texts.
#include <array>
#include <string>
#include <string_view>

#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::array<std::string_view, 5> kFiller{"The grass is green. ", "The sky is blue. ", "The sun is yellow. ",
                                                  "Here we go. ", "There and back again. "};
constexpr std::string_view kHiding = "The pass key is ";
constexpr std::string_view kReminder = ". Remember it. ";
constexpr std::string_view kQuestion = "What is the pass key? The pass key is ";

class Passkey final : public SymbolTask {
 public:
  Passkey(std::int64_t length, std::int64_t digits, const std::vector<std::int64_t>& contexts)
      : SymbolTask(length, names(contexts)), digits_(digits), lengths_{length} {
    lengths_.insert(lengths_.end(), contexts.begin(), contexts.end());
  }

  static std::int64_t shortest(std::int64_t digits) {
    return static_cast<std::int64_t>(kHiding.size() + kReminder.size() + kQuestion.size()) + 2 * digits;
  }

  // The filler has a random length, so that the distance is no clue.
  Line training_line(Random& random) const override {
    return line(random.between(shortest(digits_), lengths_[0]), random);
  }
  Line evaluation_line(std::size_t split, Random& random) const override { return line(lengths_[split], random); }

 private:
  static std::vector<std::string> names(const std::vector<std::int64_t>& contexts) {
    std::vector<std::string> names{"in"};
    for (const std::int64_t context : contexts) {
      names.push_back(std::to_string(context));
    }
    return names;
  }

  // Filler of exactly so many bytes, starting with a random sentence.
  static std::string filler(std::int64_t bytes, Random& random) {
    std::string text;
    auto sentence = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kFiller.size())));
    while (static_cast<std::int64_t>(text.size()) < bytes) {
      text += kFiller[sentence++ % kFiller.size()];
    }
    text.resize(static_cast<std::size_t>(bytes));
    return text;
  }

  Line line(std::int64_t length, Random& random) const {
    const std::int64_t room = length - shortest(digits_);
    const std::int64_t before = random.between(0, room);
    std::string key;
    for (std::int64_t n = 0; n < digits_; ++n) {
      key += static_cast<char>('0' + random.below(10));
    }
    Line line;
    line.symbols = filler(before, random);
    line.symbols.append(kHiding).append(key).append(kReminder);
    line.symbols += filler(room - before, random);
    line.symbols += kQuestion;
    line.answer(key);
    return line;
  }

  std::int64_t digits_;
  std::vector<std::int64_t> lengths_;  // bytes, of each split
};

Result<std::unique_ptr<Task>> make_passkey(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"length", "digits", "contexts"}));
  LOCUS_TRY(const std::int64_t digits, option_in(request.options, "digits", 5, 1, 64));
  LOCUS_TRY(const std::int64_t length,
            option_in(request.options, "length", 256, Passkey::shortest(digits), std::int64_t{1} << 20));
  LOCUS_TRY(const std::vector<std::int64_t> contexts,
            lengths_in(request.options, "contexts", {2 * length, 4 * length}, Passkey::shortest(digits)));
  return std::unique_ptr<Task>(std::make_unique<Passkey>(length, digits, contexts));
}

}  // namespace

TaskEntry passkey_task() {
  return {"passkey", make_passkey};
}

}  // namespace locus::training
