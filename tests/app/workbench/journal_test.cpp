#include "app/workbench/state/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace locus::workbench {
namespace {
namespace journal_suite {

class Journal : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("journal-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static session::Session session_of(const std::string& text) {
    session::Session session;
    session.input.text = text;
    return session;
  }
  std::filesystem::path folder_;
};

TEST_F(Journal, ACleanEndLeavesNothingBehind) {
  {
    workbench::Journal journal(folder_);
    ASSERT_TRUE(journal.write(session_of("one")).ok());
  }
  workbench::Journal next(folder_);
  EXPECT_FALSE(next.take_left_behind().has_value());
}

TEST_F(Journal, AJournalWithoutALivingProgramWasLeftBehind) {
  std::filesystem::create_directories(folder_ / "journal");
  ASSERT_TRUE(session::save_session(session_of("lost"), folder_ / "journal" / "1-1.locus.json").ok());
  workbench::Journal living(folder_);
  ASSERT_TRUE(living.write(session_of("living")).ok());
  workbench::Journal next(folder_);
  const auto left = next.take_left_behind();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(session::load_session(*left)->input.text, "lost");
  EXPECT_FALSE(next.take_left_behind().has_value());  // of the living one nothing is taken
  ASSERT_EQ(next.states().size(), 1U);
  EXPECT_NE(summary_of(next.states().front()).find("lost"), std::string::npos);
}

TEST_F(Journal, TheLastTenStatesAreKeptEachOnce) {
  workbench::Journal journal(folder_);
  for (int n = 0; n < 13; ++n) {
    ASSERT_TRUE(journal.keep(session_of(std::to_string(n))).ok());
    ASSERT_TRUE(journal.keep(session_of(std::to_string(n))).ok());
  }
  const auto states = journal.states();
  ASSERT_EQ(states.size(), workbench::Journal::kMaxStates);
  EXPECT_EQ(session::load_session(states.front().file)->input.text, "12");
  EXPECT_EQ(session::load_session(states.back().file)->input.text, "3");
}

TEST_F(Journal, PathsStayRightFromTheJournalToTheStates) {
  const auto checkpoint = folder_ / "models" / "here";
  std::filesystem::create_directories(checkpoint);
  session::Session session = session_of("one");
  session.checkpoints.push_back({checkpoint, {}, true});
  std::filesystem::create_directories(folder_ / "journal");
  ASSERT_TRUE(session::save_session(session, folder_ / "journal" / "1-1.locus.json").ok());
  workbench::Journal journal(folder_);
  const auto left = journal.take_left_behind();
  ASSERT_TRUE(left.has_value());
  std::error_code code;
  EXPECT_TRUE(std::filesystem::equivalent(session::load_session(*left)->checkpoints.front().path, checkpoint, code));
}

TEST_F(Journal, AStateKnowsTheFileItIsOf) {
  const auto file = folder_ / "with \"quotes\".locus.json";
  workbench::Journal journal(folder_);
  ASSERT_TRUE(journal.keep(session_of("no file")).ok());
  EXPECT_EQ(file_of(journal.states().front().file), "");
  ASSERT_TRUE(journal.keep(session_of("own"), file).ok());
  EXPECT_EQ(file_of(journal.states().front().file), file);
  EXPECT_EQ(session::load_session(journal.states().front().file)->input.text, "own");
  EXPECT_EQ(file_of(folder_ / "nowhere"), "");
  std::filesystem::create_directories(folder_ / "journal");
  ASSERT_TRUE(journal.write(session_of("now"), file).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "journal")) {
    if (entry.path().extension() == ".json") {
      EXPECT_EQ(file_of(entry.path()), file);
    }
  }
}

TEST_F(Journal, AFolderThatCannotBeWrittenIsAnError) {
  std::ofstream(folder_) << "a file";
  workbench::Journal journal(folder_);
  EXPECT_FALSE(journal.write(session_of("one")).ok());
  EXPECT_FALSE(journal.keep(session_of("one")).ok());
  EXPECT_TRUE(journal.states().empty());
}

}  // namespace journal_suite
}  // namespace
}  // namespace locus::workbench
