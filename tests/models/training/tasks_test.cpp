// The generators: what every sequence of a task must be, whatever the seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "models/train.h"
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

TEST(Tasks, ASequenceDependsOnItsStreamAlone) {
  for (const TaskEntry& entry : task_list()) {
    if (entry.info.name == "text") {
      continue;
    }
    const auto task = task_of(entry.info.name, {});
    Random one{5, 1, 0};
    Random same{5, 1, 0};
    Random other{5, 1, 1};
    const Examples a = task->training_examples(one, 2);
    EXPECT_TRUE(at::equal(a.ids, task->training_examples(same, 2).ids)) << entry.info.name;
    EXPECT_FALSE(at::equal(a.ids, task->training_examples(other, 2).ids)) << entry.info.name;
    // Sequence 3 is the same whether asked for alone or with those before it.
    const Examples whole = task->evaluation_examples(0, 9, 0, 4);
    const Examples alone = task->evaluation_examples(0, 9, 3, 1);
    const std::int64_t length = alone.ids.size(1);
    EXPECT_TRUE(at::equal(whole.targets[3].slice(0, 0, length), alone.targets[0])) << entry.info.name;
    EXPECT_GT((a.targets != kIgnored).sum().item<std::int64_t>(), 0);
    EXPECT_LE(a.ids.size(1), task->length()) << entry.info.name;
  }
}

// Trained a few steps on short sequences, every task's loss falls.
TEST(Tasks, LossFalls) {
  const std::map<std::string, Settings> small = {
      {"flip-flop", {{"symbols", std::int64_t{16}}}},
      {"selective-copy", {{"letters", std::int64_t{4}}, {"blanks", std::int64_t{4}}}},
      {"counting", {{"operations", std::int64_t{12}}}}};
  for (const auto& [name, options] : small) {
    TrainOptions train_options;
    train_options.task = name;
    train_options.task_options = options;
    train_options.layers = 1;
    train_options.heads = 2;
    train_options.width = 16;
    train_options.batch = 16;
    train_options.steps = 30;
    train_options.warmup = 3;
    train_options.learning_rate = 1e-2;
    train_options.threads = 2;
    train_options.out = std::filesystem::path(testing::TempDir()) / ("locus_task_" + name);
    double first = 0;
    double last = 0;
    const auto summary = train(train_options, [&](const TrainProgress& progress) {
      first = progress.step == 1 ? progress.loss : first;
      last = progress.loss;
    });
    ASSERT_TRUE(summary.ok()) << name << ": " << summary.error().describe();
    EXPECT_LT(last, first - 1) << name;
    EXPECT_EQ(summary->metric, "error");
    EXPECT_EQ(summary->splits.size(), 3U);
    std::filesystem::remove_all(train_options.out);
  }
}

}  // namespace
