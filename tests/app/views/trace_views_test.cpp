// Views of traces that another program wrote: of q and k alone, and of maps alone. Each draws, or says in a line what
// it needs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "app/views/list.h"
#include "tests/support/exported_views.h"
#include "tests/support/trace_parts.h"

namespace locus::views {
namespace {

class TraceViews : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("locus_trace_views_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    run_ = test_views::input_of().columns[0].trace;
    ASSERT_TRUE(run_->write(folder_ / "run.safetensors", {"q", "k", "attention"}).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ViewInput input(const std::string& names, const std::vector<std::string>& texts) {
    test::write_part(folder_ / "run.safetensors", folder_ / "part.safetensors", names, texts);
    const auto trace = models::open_trace(folder_ / "part.safetensors");
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
    ViewInput input;
    input.columns.push_back({"part", nullptr, trace.ok() ? *trace : nullptr});
    input.layer = 1;
    input.head = 2;
    return input;
  }

  // Why a view shows nothing of these columns; empty: it draws them.
  static std::string reason(const View& view, const ViewInput& input) {
    for (const Column& column : input.columns) {
      if (const Status status = view.available(column); !status.ok()) {
        return status.error().describe();
      }
    }
    const auto figure = view.figure(input);
    return figure.ok() ? "" : figure.error().describe();
  }

  // What every view says, against what is expected of those that do not draw.
  static void expect_reasons(const ViewInput& input, const std::map<std::string, std::string>& expected) {
    for (const View* view : views()) {
      const std::string said = reason(*view, input);
      EXPECT_EQ(said.find('\n'), std::string::npos) << view->info().name << ": " << said;
      const auto known = expected.find(view->info().name);
      if (known == expected.end()) {
        EXPECT_EQ(said, "") << view->info().name;
      } else {
        EXPECT_NE(said.find(known->second), std::string::npos) << view->info().name << ": " << said;
      }
    }
  }

  std::filesystem::path folder_;
  std::shared_ptr<const models::Trace> run_;
};

TEST_F(TraceViews, QueriesAndKeysAlone) {
  expect_reasons(input("layers\\.\\d+\\.[qk]|input_ids", {"locus.format"}), {});
}

TEST_F(TraceViews, QueriesAndKeysWithTheirEncodingAndTokens) {
  expect_reasons(input("layers\\.\\d+\\.[qk]|input_ids", {"locus.format", "encoding", "tokens"}), {});
}

TEST_F(TraceViews, MapsAlone) {
  expect_reasons(input("layers\\.\\d+\\.attention", {"locus.format"}), {});
}

}  // namespace
}  // namespace locus::views
