// Traces of several ranks on the command line: one name for all files, none of which is written over.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "core/base/atomic_file.h"
#include "models/formats/files_read.h"
#include "tests/support/bundled.h"
#include "tests/support/run_locus.h"
#include "tests/support/trace_parts.h"

namespace locus {
namespace {

using testing_support::read_text;
using testing_support::run_locus;

class CliRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("locus_cli_ranks_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    const views::Column column = test::column_of(test::bundled("text-rope"), "To be, or not to be");
    ASSERT_TRUE(column.trace->write(file("whole.safetensors"), {"q", "k"}).ok());
    test::write_ranks(file("whole.safetensors"), file("t"), 1, 4, 4);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(CliRanks, AnyOfThemAndTheirNameWithoutARankAreTheWholeTrace) {
  const auto data = [&](const std::string& trace, const std::string& out) {
    const auto outcome =
        run_locus({"figure", "attention", file(trace), "--layer", "2", "--head", "1", "--data", file(out)});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_text(file(out));
  };
  const std::string whole = data("whole.safetensors", "whole.npy");
  EXPECT_TRUE(data("t.safetensors", "a.npy") == whole);
  EXPECT_TRUE(data("t.rank1of2.safetensors", "b.npy") == whole);
  // The digest is that of all files: a changed rank is another trace.
  std::filesystem::copy_file(file("a.npy.recipe.json"), file("recipe.json"));
  EXPECT_EQ(run_locus({"figure", "--recipe", file("recipe.json"), "--data", file("c.npy")}).err, "");
  std::string rank = read_text(file("t.rank1of2.safetensors"));
  rank[rank.size() - 4] = static_cast<char>(rank[rank.size() - 4] ^ 1);  // the last bit of the last number
  ASSERT_TRUE(write_file(file("t.rank1of2.safetensors"), rank).ok());
  EXPECT_NE(run_locus({"figure", "--recipe", file("recipe.json"), "--data", file("c.npy")}).err.find("has changed"),
            std::string::npos);
}

TEST_F(CliRanks, NoneIsWrittenOver) {
  std::filesystem::create_symlink(file("t.rank1of2.safetensors"), file("numbers.npy"));
  const std::string before = read_text(file("t.rank1of2.safetensors"));
  for (const char* trace : {"t.safetensors", "t.rank0of2.safetensors"}) {
    const auto outcome = run_locus({"figure", "attention", file(trace), "--data", file("numbers.npy")});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("which would be overwritten"), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(read_text(file("t.rank1of2.safetensors")) == before);
}

TEST_F(CliRanks, NamesOfRanks) {
  using formats::rank_files;
  EXPECT_EQ(rank_files("a/t.rank1of2.safetensors"),
            (std::vector<std::filesystem::path>{"a/t.rank0of2.safetensors", "a/t.rank1of2.safetensors"}));
  for (const char* other :
       {"t.safetensors", ".rank0of2.safetensors", "t.rank2of2.safetensors", "t.rank-1of2.safetensors",
        "t.rank00of2.safetensors", "t.rank0of2.npz", "t.rank0of9999999999.safetensors", "t.rank0of2"}) {
    EXPECT_TRUE(rank_files(other).empty()) << other;
  }
  EXPECT_EQ(formats::whole_name("a/t.b.rank1of2.safetensors"), "t.b");
  EXPECT_EQ(formats::whole_name("a/t.b.safetensors"), "t.b");
  EXPECT_EQ(formats::first_rank_of(file("t.safetensors")), file("t.rank0of2.safetensors"));
  EXPECT_TRUE(formats::first_rank_of(file("whole.safetensors")).empty()) << "the file itself";
  // Of two runs of one name, the later.
  for (const auto& [name, age] :
       {std::pair("u.rank0of2.safetensors", 2), {"u.rank0of4.safetensors", 1}, {"u.rank0of8.safetensors", 3}}) {
    ASSERT_TRUE(write_file(file(name), "").ok());
    std::filesystem::last_write_time(file(name),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(age));
  }
  EXPECT_EQ(formats::first_rank_of(file("u.safetensors")), file("u.rank0of4.safetensors"));
  EXPECT_TRUE(formats::first_rank_of(file("none.safetensors")).empty());
}

}  // namespace
}  // namespace locus
