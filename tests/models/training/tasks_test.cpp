// The generators: what every sequence of a task must be, whatever the seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "models/api/train.h"
#include "models/training/symbol_task.h"

namespace {

using namespace locus::training;
using locus::Settings;

std::unique_ptr<Task> task_of(const std::string& name, const Settings& options) {
  TaskRequest request;
  request.options = options;
  auto task = make_task(name, request);
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().describe());
  return task.ok() ? std::move(*task) : nullptr;
}

const SymbolTask& symbols(const std::unique_ptr<Task>& task) {
  return dynamic_cast<const SymbolTask&>(*task);
}

char answer(const Line& line) {
  return line.symbols[static_cast<std::size_t>(line.answers.back())];
}

TEST(Tasks, FlipFlopRecallsTheLastWrite) {
  const auto task = task_of("flip-flop", {{"symbols", std::int64_t{64}}});
  double ignored[3] = {0, 0, 0};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (std::size_t split = 0; split < 3; ++split) {
      Random random{seed, split};
      const Line line = symbols(task).evaluation_line(split, random);
      ASSERT_EQ(line.symbols.size(), 64U);
      ASSERT_EQ(line.symbols[0], 'w');
      ASSERT_EQ(line.symbols[62], 'r');
      ASSERT_EQ(line.answers, (std::vector<std::int64_t>{63}));
      char memory = '?';
      for (std::size_t n = 0; n < 64; n += 2) {
        ASSERT_NE(std::string("wir").find(line.symbols[n]), std::string::npos);
        memory = line.symbols[n] == 'w' ? line.symbols[n + 1] : memory;
        ASSERT_TRUE(line.symbols[n] != 'r' || line.symbols[n + 1] == memory) << line.symbols;
        ignored[split] += line.symbols[n] == 'i' ? 1.0 / (200 * 30) : 0;
      }
    }
    Random random{seed};
    const Line line = symbols(task).training_line(random);
    EXPECT_EQ(static_cast<std::int64_t>(line.answers.size()),
              std::count(line.symbols.begin(), line.symbols.end(), 'r'));
  }
  EXPECT_NEAR(ignored[0], 0.8, 0.02);
  EXPECT_NEAR(ignored[1], 0.98, 0.01);
  EXPECT_NEAR(ignored[2], 0.1, 0.02);
}

TEST(Tasks, SelectiveCopyLeavesTheBlanksOut) {
  const auto task = task_of("selective-copy", {{"letters", std::int64_t{10}}, {"blanks", std::int64_t{8}}});
  const std::int64_t blanks[] = {8, 4, 16};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::size_t split = 0; split < 3; ++split) {
      Random random{seed, split};
      const Line line = symbols(task).evaluation_line(split, random);
      std::string input = line.symbols.substr(0, line.symbols.size() - 10);
      EXPECT_EQ(std::count(input.begin(), input.end(), '_'), blanks[split]);
      input.erase(std::remove(input.begin(), input.end(), '_'), input.end());
      EXPECT_EQ(input, line.symbols.substr(line.symbols.size() - 10));
      EXPECT_EQ(line.answers.size(), 10U);
      EXPECT_EQ(line.answers.front(), static_cast<std::int64_t>(line.symbols.size()) - 10);
      EXPECT_LE(*std::max_element(input.begin(), input.end()), 'O');
      EXPECT_GE(*std::min_element(input.begin(), input.end()), 'A');
    }
  }
}

TEST(Tasks, CountingCountsSinceTheLastSet) {
  const auto task = task_of("counting", {{"operations", std::int64_t{80}}, {"variables", std::int64_t{3}}});
  double passes[3] = {0, 0, 0};
  double operations[3] = {0, 0, 0};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (std::size_t split = 0; split < 3; ++split) {
      Random random{seed, split};
      const Line line = symbols(task).evaluation_line(split, random);
      ASSERT_LE(line.symbols.size(), 83U);
      std::map<char, int> values;
      const std::size_t question = line.symbols.size() - 3;
      ASSERT_EQ(line.symbols[question], '?');
      for (std::size_t n = 0; n < question; ++n) {
        const char symbol = line.symbols[n];
        if (symbol >= 'A' && symbol <= 'C') {
          values[static_cast<char>(symbol - 'A' + 'a')] = 0;
        } else if (symbol >= 'a' && symbol <= 'c') {
          ASSERT_EQ(values.count(symbol), 1U) << "incremented before it was set: " << line.symbols;
          ASSERT_LE(++values[symbol], 10);
        } else {
          ASSERT_EQ(symbol, '.');
        }
        passes[split] += symbol == '.' ? 1 : 0;
        operations[split] += 1;
      }
      ASSERT_EQ(values.count(line.symbols[question + 1]), 1U);
      const int value = values[line.symbols[question + 1]];
      ASSERT_EQ(answer(line), value == 10 ? 'X' : static_cast<char>('0' + value)) << line.symbols;
    }
  }
  EXPECT_GT(passes[1] / operations[1], passes[0] / operations[0]);
  EXPECT_LT(passes[2] / operations[2], passes[0] / operations[0]);
}

std::int64_t value_of(std::string digits, bool reversed) {
  if (reversed) {
    std::reverse(digits.begin(), digits.end());
  }
  EXPECT_TRUE(digits.size() == 1 || digits[0] != '0') << digits;
  return std::stoll(digits);
}

TEST(Tasks, AdditionAdds) {
  for (const bool reversed : {false, true}) {
    const auto task =
        task_of("addition", {{"length", std::int64_t{6}}, {"digits", std::string(reversed ? "reversed" : "plain")}});
    std::set<std::size_t> lengths[2];
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      for (std::size_t split = 0; split < 2; ++split) {
        Random random{seed, split};
        const Line line = symbols(task).evaluation_line(split, random);
        const std::size_t plus = line.symbols.find('+');
        const std::size_t equal = line.symbols.find('=');
        ASSERT_EQ(line.symbols.back(), '.');
        const std::string left = line.symbols.substr(0, plus);
        const std::string right = line.symbols.substr(plus + 1, equal - plus - 1);
        const std::string sum = line.symbols.substr(equal + 1, line.symbols.size() - equal - 2);
        ASSERT_EQ(value_of(left, reversed) + value_of(right, reversed), value_of(sum, reversed)) << line.symbols;
        ASSERT_EQ(line.answers.front(), static_cast<std::int64_t>(equal) + 1);
        ASSERT_EQ(line.answers.size(), sum.size() + 1);
        ASSERT_EQ(std::max(left.size(), right.size()) > 6, split == 1) << line.symbols;
        lengths[split].insert(left.size());
      }
    }
    EXPECT_EQ(lengths[0].size(), 6U);
    EXPECT_EQ(lengths[1].size(), 12U);
    EXPECT_EQ(task->map().rows.size(), 12U);
    const Line cell = symbols(task).map_line(9, 2, 1, 0);
    EXPECT_EQ(cell.symbols.find('+'), 9U);
    EXPECT_EQ(cell.symbols.find('='), 12U);
  }
}

// In buckets, the longer operand has every length alike, whichever it is, and the other every length up to it.
TEST(Tasks, AdditionsBucketsFixTheLongerOperand) {
  constexpr int kLines = 12000;
  const auto task = task_of("addition", {{"length", std::int64_t{6}}, {"operands", std::string("buckets")}});
  const auto pairs = task_of("addition", {{"length", std::int64_t{6}}});
  const auto lengths = [](const Line& line) {
    const std::size_t plus = line.symbols.find('+');
    return std::pair(static_cast<int>(plus), static_cast<int>(line.symbols.find('=') - plus - 1));
  };
  const auto counted = [&](const auto& draw) {
    std::map<std::pair<int, int>, double> counts;
    for (std::uint64_t seed = 0; seed < kLines; ++seed) {
      Random random{seed, 77};
      counts[lengths(draw(random))] += 1.0 / kLines;
    }
    return counts;
  };
  for (const int split : {-1, 0, 1}) {  // −1: training
    const int least = split == 1 ? 7 : 1;
    const int most = split == 1 ? 12 : 6;
    auto counts = counted([&](Random& random) {
      return split < 0 ? symbols(task).training_line(random)
                       : symbols(task).evaluation_line(static_cast<std::size_t>(split), random);
    });
    double all = 0;
    for (int left = 1; left <= most; ++left) {
      for (int right = 1; right <= most; ++right) {
        const int longer = std::max(left, right);
        // 1/6 a bucket, 1/longer the other's length, half of them at this side unless both are equal.
        const double share = longer < least ? 0 : 1.0 / 6 / longer / (left == right ? 1 : 2);
        EXPECT_NEAR(counts[std::pair(left, right)], share, 4 * std::sqrt(share / kLines) + 1e-12)
            << split << ": " << left << ", " << right;
        all += counts[std::pair(left, right)];
      }
    }
    EXPECT_NEAR(all, 1, 1e-9);
  }
  const auto plain = counted([&](Random& random) { return symbols(pairs).training_line(random); });
  EXPECT_NEAR(plain.at({1, 1}), 1.0 / 36, 0.006);
  // A cell of the map is the same sums, however training draws.
  for (const std::int64_t n : {0, 1, 2}) {
    EXPECT_EQ(symbols(task).map_line(9, 2, 1, n).symbols, symbols(pairs).map_line(9, 2, 1, n).symbols);
  }
  EXPECT_EQ(task->length(), pairs->length());
  TaskRequest request;
  request.options = {{"operands", std::string("halves")}};
  const auto refused = make_task("addition", request);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("pairs or buckets, found halves"), std::string::npos)
      << refused.error().message;
}

TEST(Tasks, PasskeyIsInTheText) {
  const auto task = task_of("passkey", {{"length", std::int64_t{160}}, {"contexts", std::vector<double>{300, 500}}});
  EXPECT_EQ(task->splits(), (std::vector<std::string>{"in", "300", "500"}));
  const std::size_t lengths[] = {160, 300, 500};
  std::set<std::size_t> places;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::size_t split = 0; split < 3; ++split) {
      Random random{seed, split};
      const Line line = symbols(task).evaluation_line(split, random);
      ASSERT_EQ(line.symbols.size(), lengths[split]);
      ASSERT_EQ(line.answers.size(), 5U);
      const std::string key = line.symbols.substr(line.symbols.size() - 5);
      const std::size_t place = line.symbols.find("The pass key is " + key + ". Remember it. ");
      ASSERT_NE(place, std::string::npos) << line.symbols;
      places.insert(place);
    }
  }
  EXPECT_GT(places.size(), 50U);
}

TEST(Tasks, WordCountCountsInTheLastSentences) {
  const auto task = task_of("word-count", {});
  std::map<char, int> answers;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    for (std::size_t split = 0; split < 2; ++split) {
      Random random{seed, split};
      const Line line = symbols(task).evaluation_line(split, random);
      const std::size_t question = line.symbols.find("How often is ");
      ASSERT_NE(question, std::string::npos);
      const std::size_t in = line.symbols.find(" in the last ", question);
      const std::string word = line.symbols.substr(question + 13, in - question - 13);
      const int last = line.symbols[in + 13] - '0';
      const std::string story = line.symbols.substr(0, question - 1);
      std::size_t begin = story.size() - 1;
      for (int n = 0; n < last; ++n) {
        begin = story.rfind('.', begin - 1);
      }
      begin = begin == std::string::npos ? 0 : begin;
      int count = 0;
      for (std::size_t at = story.find(word, begin); at != std::string::npos; at = story.find(word, at + 1)) {
        ++count;
      }
      ASSERT_EQ(answer(line), static_cast<char>('0' + count)) << line.symbols;
      ASSERT_EQ(std::count(story.begin(), story.end(), '.') <= 8, split == 0);
      ++answers[answer(line)];
    }
  }
  EXPECT_GE(answers.size(), 4U);
  EXPECT_LT(answers['0'], 480);
}

// Each letter's permutation matrix multiplies those before it; the answers say where the product is the identity, which
// it is at a share of the prefixes that no constant answer gets right.
TEST(Tasks, WordProblemAsksForTheIdentity) {
  const auto task = task_of("word-problem", {{"letters", std::int64_t{40}}});
  EXPECT_EQ(task->length(), 41);
  std::vector<at::Tensor> swaps;
  for (std::int64_t source = 0; source < 5; ++source) {
    for (std::int64_t target = source + 1; target < 5; ++target) {
      at::Tensor order = at::arange(5);
      order[source] = target;
      order[target] = source;
      swaps.push_back(at::eye(5).index_select(0, order));
    }
  }
  Random random{4, 1};
  const std::vector<Examples> sets{task->training_examples(random, 100), task->evaluation_examples(0, 2, 0, 100),
                                   task->evaluation_examples(1, 2, 0, 100)};
  for (std::size_t n = 0; n < sets.size(); ++n) {
    const Examples& examples = sets[n];
    ASSERT_EQ(examples.ids.sizes(), (std::vector<std::int64_t>{100, n == 2 ? 81 : 41}));
    std::int64_t identities = 0;
    std::int64_t undone = 0;  // identities of which the last letter only takes back the one before
    for (std::int64_t word = 0; word < 100; ++word) {
      at::Tensor product = at::eye(5);
      for (std::int64_t at = 0; at < examples.ids.size(1); ++at) {
        const auto symbol = examples.ids[word][at].item<std::int64_t>();
        ASSERT_EQ(symbol == '^', at == 0);
        if (at > 0) {
          ASSERT_TRUE(symbol >= 'a' && symbol <= 'j') << symbol;
          product = at::matmul(swaps[static_cast<std::size_t>(symbol - 'a')], product);
        }
        const bool identity = product.equal(at::eye(5));
        ASSERT_EQ(examples.targets[word][at].item<std::int64_t>(), identity ? '1' : '0') << word << " at " << at;
        identities += identity && at > 0 ? 1 : 0;
        undone += identity && at > 1 && symbol == examples.ids[word][at - 1].item<std::int64_t>() ? 1 : 0;
      }
    }
    const auto letters = static_cast<double>(100 * (examples.ids.size(1) - 1));
    EXPECT_GT(static_cast<double>(identities), letters / 15);
    EXPECT_LT(static_cast<double>(identities), letters / 5);
    EXPECT_LT(2 * undone, identities);
  }
}

// The same scene at every resolution; classes in equal shares; what is drawn is seen.
TEST(Tasks, ShapesAreTheSameScenesAtEveryResolution) {
  const auto task = task_of("shapes", {});
  const Examples small = task->evaluation_examples(0, 1, 0, 200);
  const Examples large = task->evaluation_examples(2, 1, 0, 200);
  EXPECT_EQ(small.pixels.sizes(), (std::vector<std::int64_t>{200, 3, 32, 32}));
  EXPECT_EQ(large.pixels.sizes(), (std::vector<std::int64_t>{200, 3, 64, 64}));
  EXPECT_TRUE(at::equal(small.targets, large.targets));
  EXPECT_EQ(std::get<0>(at::_unique(small.targets)).numel(), 12);
  // Pixels differ by noise and by the smoothing of edges alone.
  const at::Tensor shrunk = at::avg_pool2d(large.pixels, {2, 2});
  EXPECT_LT((shrunk - small.pixels).abs().mean().item<double>(), 0.15);
  EXPECT_LE(small.pixels.abs().max().item<double>(), 1);
  EXPECT_GT(small.pixels.std().item<double>(), 0.3);
}

// Windows with a stride count every byte but the first exactly once, each with at least T − stride bytes before it
// where the text has them.
TEST(Tasks, SlidingWindowsCountEveryByteOnce) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "locus_sliding.txt";
  std::string text;
  for (int n = 0; n < 103; ++n) {
    text += static_cast<char>(n + 1);
  }
  std::ofstream(file) << text;
  for (const std::int64_t stride : {0, 5, 16}) {
    TaskRequest request;
    request.length = 16;
    request.training = false;
    request.validate = {{file, ""}};
    request.options = {{"stride", stride}};
    const auto task = make_task("text", request);
    ASSERT_TRUE(task.ok()) << task.error().describe();
    const Examples all = (*task)->evaluation_examples(0, 0, 0, (*task)->evaluation_count(0));
    const at::Tensor counted = all.targets.masked_select(all.targets != kIgnored);
    EXPECT_TRUE(at::equal(std::get<0>(counted.sort()), at::arange(2, 104))) << stride;
    const at::Tensor context = at::arange(16).expand_as(all.targets).masked_select(all.targets != kIgnored);
    const std::int64_t least = stride == 5 ? 11 : 0;
    EXPECT_TRUE((context.slice(0, 16) >= least).all().item<bool>()) << stride;
  }
  std::filesystem::remove(file);
}

TEST(Tasks, ASequenceDependsOnItsStreamAlone) {
  for (const TaskEntry& entry : task_list()) {
    if (entry.name == "text") {
      continue;
    }
    const auto task = task_of(entry.name, {});
    const auto inputs = [](const Examples& examples) {
      return examples.pixels.defined() ? examples.pixels : examples.ids;
    };
    Random one{5, 1, 0};
    Random same{5, 1, 0};
    Random other{5, 1, 1};
    const Examples a = task->training_examples(one, 2);
    EXPECT_TRUE(at::equal(inputs(a), inputs(task->training_examples(same, 2)))) << entry.name;
    EXPECT_FALSE(at::equal(inputs(a), inputs(task->training_examples(other, 2)))) << entry.name;
    // Sequence 3 is the same whether asked for alone or with those before it.
    const Examples whole = task->evaluation_examples(0, 9, 0, 4);
    const Examples alone = task->evaluation_examples(0, 9, 3, 1);
    const std::int64_t length = alone.targets.size(1);
    EXPECT_TRUE(at::equal(whole.targets[3].slice(0, 0, length), alone.targets[0])) << entry.name;
    EXPECT_GT((a.targets != kIgnored).sum().item<std::int64_t>(), 0);
    EXPECT_LE(a.targets.size(1), task->length()) << entry.name;
  }
}

// Trained a few steps on short sequences, every task's loss falls.
TEST(Tasks, LossFalls) {
  const std::map<std::string, Settings> small = {
      {"flip-flop", {{"symbols", std::int64_t{16}}}},
      {"selective-copy", {{"letters", std::int64_t{4}}, {"blanks", std::int64_t{4}}}},
      {"counting", {{"operations", std::int64_t{12}}}},
      {"word-count", {{"sentences", std::int64_t{2}}, {"last", std::int64_t{1}}}},
      {"addition", {{"length", std::int64_t{2}}}},
      {"word-problem", {{"letters", std::int64_t{15}}}},
      {"passkey", {{"length", std::int64_t{96}}, {"contexts", std::vector<double>{120}}}},
      {"shapes", {{"side", std::int64_t{16}}}},
      {"captions", {{"tower_layers", std::int64_t{1}}, {"tower_width", std::int64_t{16}}}}};
  EXPECT_EQ(small.size() + 1, task_list().size()) << "a task is not tried";
  for (const auto& [name, options] : small) {
    const bool images = name == "shapes";  // where a shape is takes more steps to find
    TrainOptions train_options;
    train_options.task = name;
    train_options.task_options = options;
    train_options.encoding = images ? "learned" : "rope";
    train_options.layers = images ? 2 : 1;
    train_options.heads = 2;
    train_options.width = images ? 32 : 16;
    train_options.batch = images ? 32 : 16;
    train_options.steps = images ? 150 : 30;
    train_options.warmup = images ? 10 : 3;
    train_options.learning_rate = images ? 3e-3 : 1e-2;
    train_options.threads = 2;
    train_options.out = std::filesystem::path(testing::TempDir()) / ("locus_task_" + name);
    std::vector<double> losses;
    const auto summary = train(train_options, [&](const TrainProgress& progress) { losses.push_back(progress.loss); });
    ASSERT_TRUE(summary.ok()) << name << ": " << summary.error().describe();
    double first = 0;
    double last = 0;
    const std::size_t part = losses.size() / 6;
    for (std::size_t n = 0; n < part; ++n) {
      first += losses[n] / static_cast<double>(part);
      last += losses[losses.size() - 1 - n] / static_cast<double>(part);
    }
    EXPECT_LT(last, first - (images ? 0.05 : 0.5)) << name;
    EXPECT_EQ(summary->metric, "error");
    EXPECT_EQ(summary->splits.size(), make_task(name, {options, 0, {}, {}, {}, true}).ok()
                                          ? (*make_task(name, {options, 0, {}, {}, {}, true}))->splits().size()
                                          : 0);
    std::filesystem::remove_all(train_options.out);
  }
}

}  // namespace
