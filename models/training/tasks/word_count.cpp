// Task word-count (CoPE §5.4): how often a word occurs in the last k sentences of a generated story.
//   "Anna saw a red ball. The dog took the ball. … How often is ball in the last 2 sentences? 1"
// "longer" asks about a story three times as long, as the paper's harder variant.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::array<std::string_view, 8> kWho{"Anna",    "Tom",     "Mia",      "Ben",
                                               "the dog", "the cat", "the bird", "the fox"};
constexpr std::array<std::string_view, 8> kVerb{"saw", "took", "lost", "found", "liked", "wanted", "hid", "gave away"};
constexpr std::array<std::string_view, 6> kHow{"", "red ", "big ", "old ", "little ", "new "};
constexpr std::array<std::string_view, 6> kWhat{"ball", "hat", "cup", "book", "kite", "box"};
constexpr std::array<std::string_view, 4> kWhere{"", " in the garden", " at home", " by the river"};
constexpr std::int64_t kLongestSentence = 56;  // bytes, at most, of a sentence below
constexpr std::int64_t kQuestionBytes = 52;    // bytes, at most, of a question and its answer
constexpr std::int64_t kLongerStories = 3;

template <std::size_t N>
std::string one_of(const std::array<std::string_view, N>& words, Random& random) {
  return std::string(words[static_cast<std::size_t>(random.below(N))]);
}

class WordCount final : public SymbolTask {
 public:
  WordCount(std::int64_t sentences, std::int64_t last)
      : SymbolTask(sentences * kLongestSentence + kQuestionBytes, {"in", "longer"}),
        sentences_(sentences),
        last_(last) {}

  Line training_line(Random& random) const override { return line(random.between(last_, sentences_), random); }
  Line evaluation_line(std::size_t split, Random& random) const override {
    return line(split == 0 ? random.between(last_, sentences_) : kLongerStories * sentences_, random);
  }

 private:
  // A sentence and its object; some sentences name the object twice.
  static std::string sentence(const std::string& what, Random& random) {
    std::string text = one_of(kWho, random) + " " + one_of(kVerb, random) + " the " + one_of(kHow, random) + what;
    text += random.below(4) == 0 ? " and the other " + what : one_of(kWhere, random);
    text[0] = static_cast<char>(text[0] >= 'a' ? text[0] - 'a' + 'A' : text[0]);
    return text + ". ";
  }

  Line line(std::int64_t sentences, Random& random) const {
    Line line;
    // Few objects per story, so that counts other than 0 are common.
    const std::array<std::string, 2> things{one_of(kWhat, random), one_of(kWhat, random)};
    const std::int64_t last = random.between(1, last_);
    const std::string& asked = things[0];
    std::int64_t count = 0;
    for (std::int64_t n = 0; n < sentences; ++n) {
      const std::string text = sentence(things[static_cast<std::size_t>(random.below(2))], random);
      if (n >= sentences - last) {
        for (std::size_t at = text.find(asked); at != std::string::npos; at = text.find(asked, at + 1)) {
          ++count;
        }
      }
      line.symbols += text;
    }
    line.symbols +=
        "How often is " + asked + " in the last " + std::to_string(last) + (last == 1 ? " sentence? " : " sentences? ");
    line.answer(std::to_string(count));
    return line;
  }

  std::int64_t sentences_;
  std::int64_t last_;  // k at most
};

Result<std::unique_ptr<Task>> make_word_count(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"sentences", "last"}));
  // At most two of an object per sentence: at most 8 are counted, one digit.
  LOCUS_TRY(const std::int64_t last, option_in(request.options, "last", 3, 1, 4));
  LOCUS_TRY(const std::int64_t sentences, option_in(request.options, "sentences", 8, last, 1024));
  return std::unique_ptr<Task>(std::make_unique<WordCount>(sentences, last));
}

}  // namespace

TaskEntry word_count_task() {
  return {"word-count", make_word_count};
}

}  // namespace locus::training
