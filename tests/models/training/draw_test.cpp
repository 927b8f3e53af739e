// What a run learns from: a function of options and step; with a train size so many sequences, each once an epoch.
#include "models/training/draw.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace {

using namespace locus::training;
using locus::Settings;

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kSize = 10;

std::unique_ptr<Task> addition() {
  TaskRequest request;
  request.options = Settings{{"length", std::int64_t{6}}};
  auto task = make_task("addition", request);
  EXPECT_TRUE(task.ok());
  return std::move(*task);
}

TrainOptions options_of(std::int64_t train_size, std::int64_t parts = 1) {
  TrainOptions options;
  options.batch = kBatch;
  options.gradient_parts = parts;
  options.train_size = train_size;
  options.seed = 3;
  return options;
}

// The tokens of each sequence up to the zeros behind it, and its targets.
std::vector<std::string> sequences(const Examples& examples) {
  std::vector<std::string> rows;
  for (std::int64_t row = 0; row < examples.size(); ++row) {
    std::string text;
    for (std::int64_t n = 0; n < examples.ids.size(1) && examples.ids[row][n].item<std::int64_t>() != 0; ++n) {
      text += std::to_string(examples.ids[row][n].item<std::int64_t>()) + ":" +
              std::to_string(examples.targets[row][n].item<std::int64_t>()) + " ";
    }
    rows.push_back(text);
  }
  return rows;
}

std::vector<std::string> drawn(Draw& draw, std::int64_t steps, std::int64_t parts = 1) {
  std::vector<std::string> all;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::string& each : sequences(draw.part(step, part))) {
        all.push_back(std::move(each));
      }
    }
  }
  return all;
}

TEST(Draw, EachSequenceOnceAnEpochInAnOrderOfItsOwn) {
  const auto task = addition();
  const auto options = options_of(kSize);
  Draw draw(*task, options);
  const std::vector<std::string> all = drawn(draw, 5);  // twenty: two epochs, which end within a batch
  ASSERT_EQ(all.size(), 2U * kSize);
  const std::vector<std::string> first(all.begin(), all.begin() + kSize);
  const std::vector<std::string> second(all.begin() + kSize, all.end());
  EXPECT_NE(first, second);
  std::map<std::string, int> times;
  for (const std::string& each : all) {
    ++times[each];
  }
  EXPECT_EQ(times.size(), static_cast<std::size_t>(kSize));
  for (const std::string& each : first) {
    EXPECT_EQ(times[each], 2);
  }
}

TEST(Draw, IsAFunctionOfTheStep) {
  const auto task = addition();
  const auto options = options_of(kSize);
  Draw draw(*task, options);
  const std::vector<std::string> all = drawn(draw, 6);
  Draw resumed(*task, options);
  const std::vector<std::string> later = sequences(resumed.part(5, 0));
  EXPECT_EQ(later, std::vector<std::string>(all.end() - kBatch, all.end()));
}

TEST(Draw, PartsAreTheBatch) {
  const auto task = addition();
  const auto whole = options_of(kSize);
  const auto halves = options_of(kSize, 2);
  Draw draw(*task, whole);
  Draw parts(*task, halves);
  EXPECT_EQ(drawn(draw, 3), drawn(parts, 3, 2));
}

TEST(Draw, WithoutASizeEverySequenceIsNew) {
  const auto task = addition();
  const auto options = options_of(0);
  Draw draw(*task, options);
  std::map<std::string, int> times;
  for (const std::string& each : drawn(draw, 10)) {
    ++times[each];
  }
  EXPECT_GT(times.size(), 35U);
}

TEST(Draw, TakesPictures) {
  TaskRequest request;
  request.options = Settings{{"side", std::int64_t{24}}};
  const auto task = make_task("shapes", request);
  ASSERT_TRUE(task.ok());
  const auto options = options_of(2);
  Draw draw(**task, options);
  const Examples examples = draw.part(0, 0);
  ASSERT_EQ(examples.pixels.size(0), kBatch);
  ASSERT_EQ(examples.size(), kBatch);
  int same = 0;
  for (std::int64_t n = 1; n < kBatch; ++n) {
    same += examples.pixels[0].equal(examples.pixels[n]) ? 1 : 0;
  }
  EXPECT_EQ(same, 1);  // two pictures, each twice
}

}  // namespace
