// Task word-problem (TAPE App. B.1.2): is the product of the transpositions so far the identity of five things? "^abcj":
// the start token, then letters a … j, the transpositions (1 2), (1 3), … (4 5). At every symbol the answer is 1 or 0;
// answers are targets alone, and no symbol follows from those before.
//
// Words return to the identity about every sixth letter, and not by going back the way they came: after one to eight
// letters at random, those follow that bring misplaced things home, in random order. Trained at up to `letters`; out of
// distribution: "longer", twice as many.
#include <algorithm>
#include <string>
#include <vector>

#include "models/api/word_problem.h"
#include "models/text/tokenizer.h"
#include "models/training/symbol_task.h"
#include "models/training/task_list.h"

namespace locus::training {
namespace {

constexpr std::uint64_t kWordStream = 0xE7A1'0000'0000'0003U;  // of evaluation; training streams begin with the seed
constexpr std::int64_t kLongestStretch = 8;
constexpr std::int64_t kWordStart = '^';
constexpr std::int64_t kIsIdentity = '1';
constexpr std::int64_t kIsOther = '0';

class WordProblem final : public Task {
 public:
  explicit WordProblem(std::int64_t letters) : letters_(letters) {}

  std::int64_t vocabulary() const override { return 256; }
  std::int64_t length() const override { return letters_ + 1; }
  Metric metric() const override { return Metric::kError; }
  std::vector<std::string> splits() const override { return {"in", "longer"}; }
  std::int64_t evaluation_count(std::size_t /*split*/) const override { return 1000; }

  Examples training_examples(Random& random, std::int64_t count) const override {
    std::vector<std::string> words;
    for (std::int64_t n = 0; n < count; ++n) {
      words.push_back(draw_word(random, letters_));
    }
    return examples_of(words);
  }
  Examples evaluation_examples(std::size_t split, std::uint64_t seed, std::int64_t first,
                               std::int64_t count) const override {
    std::vector<std::string> words;
    for (std::int64_t n = first; n < first + count; ++n) {
      Random random{kWordStream, seed, split, static_cast<std::uint64_t>(n)};
      words.push_back(draw_word(random, split == 0 ? letters_ : 2 * letters_));
    }
    return examples_of(words);
  }
  Status write_input_files(const std::filesystem::path& folder) const override {
    return text::write_byte_tokenizer(folder);
  }

 private:
  // The letter that brings a misplaced thing home, any of them alike.
  static char homing_letter(Random& random, const models::Arrangement& arrangement) {
    std::vector<std::int64_t> misplaced;
    for (std::int64_t thing = 0; thing < models::kMovedThings; ++thing) {
      if (arrangement[static_cast<std::size_t>(thing)] != thing) {
        misplaced.push_back(thing);
      }
    }
    const std::int64_t home = misplaced[static_cast<std::size_t>(random.below(std::ssize(misplaced)))];
    const std::int64_t place = std::ranges::find(arrangement, home) - arrangement.begin();
    return models::letter_of({std::min(home, place), std::max(home, place)});
  }

  static std::string draw_word(Random& random, std::int64_t letters) {
    std::string word;
    models::Arrangement arrangement = models::identity_arrangement();
    while (std::ssize(word) < letters) {
      for (std::int64_t left = random.between(1, kLongestStretch); left > 0; --left) {
        word += models::kSwapLetters[static_cast<std::size_t>(random.below(std::ssize(models::kSwapLetters)))];
        models::swap_places(arrangement, *models::transposition_of(word.back()));
      }
      while (arrangement != models::identity_arrangement()) {
        word += homing_letter(random, arrangement);
        models::swap_places(arrangement, *models::transposition_of(word.back()));
      }
    }
    word.resize(static_cast<std::size_t>(letters));
    return word;
  }

  // Words of one length.
  static Examples examples_of(const std::vector<std::string>& words) {
    const auto count = std::ssize(words);
    const auto length = words.empty() ? 1 : std::ssize(words.front()) + 1;
    Examples examples{
        at::full({count, length}, kWordStart, at::kLong), at::full({count, length}, kIsIdentity, at::kLong), {}};
    auto* id = examples.ids.data_ptr<std::int64_t>();
    auto* target = examples.targets.data_ptr<std::int64_t>();
    for (const std::string& word : words) {
      models::Arrangement arrangement = models::identity_arrangement();
      for (std::size_t n = 0; n < word.size(); ++n) {
        models::swap_places(arrangement, *models::transposition_of(word[n]));
        id[n + 1] = static_cast<unsigned char>(word[n]);
        target[n + 1] = arrangement == models::identity_arrangement() ? kIsIdentity : kIsOther;
      }
      id += length;
      target += length;
    }
    return examples;
  }

  std::int64_t letters_;
};

Result<std::unique_ptr<Task>> make_word_problem(const TaskRequest& request) {
  LOCUS_CHECK(request.options.only({"letters"}));
  LOCUS_TRY(const std::int64_t letters, option_in(request.options, "letters", 63, 1, 1 << 16));
  return std::unique_ptr<Task>(std::make_unique<WordProblem>(letters));
}

}  // namespace

TaskEntry word_problem_task() {
  return {"word-problem", make_word_problem};
}

}  // namespace locus::training
