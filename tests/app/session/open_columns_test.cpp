// Columns of a session: checkpoints and traces, opened and run once.
#include "app/figures/open_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "app/workbench/window/run_workbench.h"
#include "tests/support/bundled.h"
#include "tests/support/fake_model.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace locus::workbench {
namespace {

namespace fs = std::filesystem;

session::CheckpointEntry entry_of(const fs::path& path, std::optional<double> base = {}) {
  session::CheckpointEntry entry;
  entry.path = path;
  entry.overrides.rope_base = base;
  return entry;
}

models::Input text_of(const char* text) {
  models::Input input;
  input.text = text;
  return input;
}

// The trace of a bundled checkpoint in a folder of its own.
class OpenColumns : public testing::Test {
 protected:
  OpenColumns() : folder_(fs::path(testing::TempDir()) / ("locus_columns_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    const views::Column column = test::column_of(test::bundled("text-rope"), "one boat, two boats");
    EXPECT_TRUE(column.trace->write(trace_file(), {"all"}).ok());
  }
  ~OpenColumns() override { fs::remove_all(folder_); }
  fs::path trace_file() const { return folder_ / "boats.safetensors"; }

  const fs::path folder_;
};

TEST_F(OpenColumns, AnAdapterOnAnotherBaseIsAnotherModel) {
  std::vector<std::string> bases;
  session::ColumnMaker maker(
      [&](const fs::path&, const models::OpenOptions& options, StopToken,
          const Progress&) -> Result<std::shared_ptr<const models::Model>> {
        bases.push_back(options.base);
        return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(test::FakeShape()));
      },
      [&](const models::Model& model, const models::Input& input) { return model.run(input, {}, {}, {}); });
  std::vector<session::CheckpointEntry> entries{entry_of("a"), entry_of("a"), entry_of("a")};
  entries[1].base = entries[2].base = "/bases/b";
  ASSERT_TRUE(maker.columns(entries, text_of("one two")).ok());
  EXPECT_EQ(bases, (std::vector<std::string>{"", "/bases/b"}));
}

// What is named for all checkpoints is the base of adapters alone.
TEST_F(OpenColumns, ABaseIsThatOfAdapters) {
  const fs::path adapter = fs::path(test::source_dir()) / "tests/golden/variants/adapters/lora";
  EXPECT_EQ(session::base_for(adapter, (folder_ / "b").string()), folder_ / "b");
  EXPECT_EQ(session::base_for(folder_, (folder_ / "b").string()), fs::path());
  EXPECT_EQ(session::base_for(adapter, ""), fs::path());
  EXPECT_EQ(session::base_for("ssh://there/lora", "b"), fs::path("b"));
}

TEST_F(OpenColumns, EachCheckpointIsOpenedAndEachInputRunOnce) {
  int opened = 0;
  int ran = 0;
  session::ColumnMaker maker(
      [&](const fs::path& path, const models::OpenOptions& options, StopToken,
          const Progress&) -> Result<std::shared_ptr<const models::Model>> {
        ++opened;
        test::FakeShape shape;
        shape.name = path.filename().string();
        EXPECT_EQ(options.overrides.rope_base.has_value(), opened == 2);
        return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
      },
      [&](const models::Model& model, const models::Input& input) {
        ++ran;
        return model.run(input, {}, {}, {});
      });
  session::CheckpointEntry hidden = entry_of("hidden");
  hidden.shown = false;
  const std::vector<session::CheckpointEntry> entries{entry_of("a"), hidden, entry_of("a", 300.0), entry_of("a")};
  const auto columns = maker.columns(entries, text_of("one two"));
  ASSERT_TRUE(columns.ok()) << columns.error().describe();
  ASSERT_EQ(columns->size(), 3U);
  EXPECT_EQ((*columns)[0].name, "a");
  EXPECT_EQ((*columns)[1].name, "a base 300");
  EXPECT_EQ((*columns)[2].name, "a (2)");
  EXPECT_EQ((*columns)[0].trace, (*columns)[2].trace);
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(ran, 2);
  ASSERT_TRUE(maker.columns(entries, text_of("one two")).ok());
  EXPECT_EQ(ran, 2);
  ASSERT_TRUE(maker.columns(entries, text_of("three")).ok());
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(ran, 4);
}

TEST_F(OpenColumns, ATraceIsAColumnThatNothingRuns) {
  session::ColumnMaker maker(
      [](const auto&, const auto&, StopToken, const Progress&) -> Result<std::shared_ptr<const models::Model>> {
        return usage("nothing is to be opened");
      },
      [](const auto&, const auto&) -> Result<std::shared_ptr<const models::Trace>> {
        return usage("nothing is to be run");
      });
  const auto columns = maker.columns({entry_of(trace_file())}, text_of("another text"));
  ASSERT_TRUE(columns.ok()) << columns.error().describe();
  EXPECT_EQ(columns->front().name, "boats");
  EXPECT_EQ(columns->front().model, nullptr);
  EXPECT_EQ(columns->front().trace->length(), 19);  // the bytes of the trace's own text
  EXPECT_EQ(files_of(entry_of(trace_file()), nullptr), std::vector<std::string>{trace_file().string()});
  EXPECT_EQ(maker.columns({entry_of("elsewhere")}, text_of("x")).error().message, "nothing is to be opened");
}

// The figures of a session without a window: a trace beside the checkpoint that made it.
TEST_F(OpenColumns, ASessionsFiguresShowTraces) {
  const fs::path session = folder_ / "boats.locus.json";
  std::ofstream(session) << R"({"locus": "session/1", "checkpoints": [{"path": "boats.safetensors"}, {"path": ")" +
                                test::source_dir() + R"(/assets/checkpoints/text-rope"}],
    "input": {"text": "one boat, two boats"}, "state": {"view": "attention"}})";
  const auto outcome = testing_support::run_locus({"--figures", (folder_ / "figures").string(), session.string()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto drawn = fs::directory_iterator(folder_ / "figures");
  EXPECT_EQ(std::count_if(begin(drawn), end(drawn), [](const auto& file) { return file.path().extension() == ".png"; }),
            1);
}

}  // namespace
}  // namespace locus::workbench
