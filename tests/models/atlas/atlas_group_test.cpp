// Processes of a job: what the environment says, and who is missed when it dies.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "models/processes/heartbeat.h"
#include "models/processes/job.h"

namespace locus {
namespace {

using models::processes::BeatStore;
using models::processes::Heartbeat;
using models::processes::Job;
using std::chrono::milliseconds;

Result<std::optional<Job>> job_of(const std::map<std::string, std::string>& variables) {
  return models::processes::read_job([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  });
}

std::string job_error(const std::map<std::string, std::string>& variables) {
  const auto job = job_of(variables);
  return job.ok() ? "" : job.error().describe();
}

TEST(AtlasGroup, JobsAreReadFromTheEnvironment) {
  EXPECT_FALSE(job_of({}).value().has_value());
  EXPECT_FALSE(job_of({{"WORLD_SIZE", "1"}, {"RANK", "0"}}).value().has_value());
  const Job job =
      *job_of({{"WORLD_SIZE", "4"}, {"RANK", "3"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}}).value();
  EXPECT_EQ(job.size, 4);
  EXPECT_EQ(job.rank, 3);
  EXPECT_EQ(job.address, "node1");
  EXPECT_EQ(job.port, 29500);
  EXPECT_FALSE(job.has_store);
  EXPECT_NE(job_error({{"WORLD_SIZE", "four"}}).find("WORLD_SIZE: expected a whole number of 1"), std::string::npos);
  EXPECT_NE(job_error({{"WORLD_SIZE", "4"}}).find("RANK: expected a whole number of 0 to 3, found none"),
            std::string::npos);
  EXPECT_NE(job_error({{"WORLD_SIZE", "4"}, {"RANK", "4"}}).find("RANK: expected a whole number of 0 to 3"),
            std::string::npos);
  EXPECT_NE(job_error({{"WORLD_SIZE", "2"}, {"RANK", "1"}, {"MASTER_PORT", "70000"}}).find("MASTER_PORT"),
            std::string::npos);
  EXPECT_NE(job_error({{"WORLD_SIZE", "2"}, {"RANK", "1"}, {"MASTER_PORT", "7000"}}).find("MASTER_ADDR"),
            std::string::npos);
}

// A store that threads share.
class SharedStore {
 public:
  BeatStore view() {
    return {[this](const std::string& key, const std::string& value) {
              const std::lock_guard lock(mutex_);
              check();
              entries_[key] = value;
            },
            [this](const std::string& key) {
              const std::lock_guard lock(mutex_);
              check();
              const auto found = entries_.find(key);
              return found == entries_.end() ? std::string() : found->second;
            }};
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  void check() const {
    if (closed_) {
      throw std::runtime_error("closed");
    }
  }
  std::mutex mutex_;
  std::map<std::string, std::string> entries_;
  bool closed_ = false;
};

Heartbeat::Options fast(std::int64_t rank) {
  return {.rank = rank,
          .size = 3,
          .host = "node" + std::to_string(rank),
          .pause = milliseconds(20),
          .limit = milliseconds(1500),
          .suspect = milliseconds(300)};
}

bool waits_for(const Heartbeat& heartbeat, milliseconds most) {
  const auto start = std::chrono::steady_clock::now();
  while (!heartbeat.lost().stop_requested() && std::chrono::steady_clock::now() - start < most) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  return heartbeat.lost().stop_requested();
}

TEST(AtlasGroup, WhoSaysGoodbyeIsNotMissed) {
  SharedStore store;
  Heartbeat::Options options = fast(0);
  options.size = 2;
  Heartbeat first(store.view(), options);
  options.rank = 1;
  auto second = std::make_unique<Heartbeat>(store.view(), options);
  second.reset();
  first.wait_for_others(milliseconds(20000));
  EXPECT_FALSE(waits_for(first, milliseconds(2500)));
  EXPECT_EQ(first.reason(), "");
}

TEST(AtlasGroup, ProcessesThatNeverBeatAreMissed) {
  SharedStore store;
  Heartbeat first(store.view(), fast(0));
  Heartbeat second(store.view(), fast(1));
  store.view().set("host/2", "node2");
  EXPECT_TRUE(waits_for(first, milliseconds(20000)));
  EXPECT_TRUE(waits_for(second, milliseconds(20000)));
  EXPECT_EQ(first.reason().substr(0, 29), "rank 2 on node2 ended or was ");
  EXPECT_EQ(second.reason(), first.reason());
}

TEST(AtlasGroup, BrokenConnectionsShortenTheWait) {
  SharedStore store;
  Heartbeat::Options options = fast(0);
  options.limit = std::chrono::minutes(5);
  Heartbeat first(store.view(), options);
  options.rank = 1;
  Heartbeat second(store.view(), options);
  const auto start = std::chrono::steady_clock::now();
  second.suspect("connection closed");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_TRUE(second.lost().stop_requested());
  EXPECT_TRUE(waits_for(first, milliseconds(30000)));  // rank 2 never came
}

TEST(AtlasGroup, RankZeroTakesTheStoreWithIt) {
  SharedStore store;
  Heartbeat second(store.view(), fast(1));
  store.close();
  EXPECT_TRUE(waits_for(second, milliseconds(20000)));
  EXPECT_EQ(second.reason(), "rank 0 ended: its store cannot be reached");
}

}  // namespace
}  // namespace locus
