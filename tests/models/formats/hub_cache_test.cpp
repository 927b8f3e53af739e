#include "models/formats/hub_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/models/text/tokens.h"

namespace locus::formats {
namespace {

namespace fs = std::filesystem;

const std::string kOld(40, 'a');
const std::string kNew(40, 'b');

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

// A cache with a model of two snapshots, main being the newer one.
class HubCache : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("HF_HUB_CACHE", cache_.path().c_str(), 1);
    fs::create_directories(model() / "blobs");
    write(model() / "blobs/1", "{}");
    for (const std::string& commit : {kOld, kNew}) {
      fs::create_directories(model() / "snapshots" / commit);
      fs::create_symlink("../../blobs/1", model() / "snapshots" / commit / "config.json");
    }
    write(model() / "refs/main", kNew);
    write(model() / "refs/v1", kOld + "\n");
  }
  void TearDown() override { ::unsetenv("HF_HUB_CACHE"); }

  fs::path model() const { return cache_.path() / "models--some-one--A_model-1.5b"; }
  static void expect_missing(const std::string& name, const std::string& looked) {
    const auto found = find_checkpoint(name);
    ASSERT_FALSE(found.ok()) << found->string();
    EXPECT_EQ(found.error().code, ErrorCode::kBadInput);
    EXPECT_TRUE(found.error().describe().starts_with(name + ": ")) << found.error().describe();
    EXPECT_NE(found.error().describe().find("not in the cache: expected " + looked), std::string::npos)
        << found.error().describe();
  }

  text::TestFolder cache_{"hub"};
};

TEST_F(HubCache, NamesAreFoundByRevision) {
  EXPECT_EQ(*find_checkpoint("some-one/A_model-1.5b"), model() / "snapshots" / kNew);
  EXPECT_EQ(*find_checkpoint("some-one/A_model-1.5b@main"), model() / "snapshots" / kNew);
  EXPECT_EQ(*find_checkpoint("some-one/A_model-1.5b@v1"), model() / "snapshots" / kOld);
  EXPECT_EQ(*find_checkpoint("some-one/A_model-1.5b@" + kOld), model() / "snapshots" / kOld);
  EXPECT_TRUE(fs::exists(*find_checkpoint("some-one/A_model-1.5b") / "config.json"));
}

TEST_F(HubCache, WhatIsNotThereIsNamedWithThePlace) {
  expect_missing("some-one/else", (cache_.path() / "models--some-one--else").string());
  expect_missing("some-one/A_model-1.5b@v2", (model() / "refs/v2").string());
  expect_missing("some-one/A_model-1.5b@refs/pr/1", (model() / "refs/refs/pr/1").string());
  expect_missing("some-one/A_model-1.5b@" + std::string(40, 'c'),
                 (model() / "snapshots" / std::string(40, 'c')).string());
  write(model() / "refs/main", "../../../etc");
  expect_missing("some-one/A_model-1.5b", (model() / "refs/main").string());
  write(model() / "refs/main", std::string(40, 'd'));
  expect_missing("some-one/A_model-1.5b", (model() / "snapshots" / std::string(40, 'd')).string());
}

TEST_F(HubCache, TheOnlySnapshotNeedsNoRef) {
  fs::remove_all(model() / "refs");
  expect_missing("some-one/A_model-1.5b", (model() / "refs/main").string());  // which of two?
  fs::remove_all(model() / "snapshots" / kOld);
  EXPECT_EQ(*find_checkpoint("some-one/A_model-1.5b"), model() / "snapshots" / kNew);
}

TEST_F(HubCache, OtherPathsStayAsTheyAre) {
  for (const std::string name : {"gpt2", "/a/b", "./some-one/A_model-1.5b", "../x/y", "a/b/c", "some-one/..", "a//b",
                                 "some-one/A_model-1.5b@../main", "some-one/A_model-1.5b@", "a b/c", ""}) {
    const auto found = find_checkpoint(name);
    ASSERT_TRUE(found.ok()) << found.error().describe();
    EXPECT_EQ(found->string(), name);
  }
  // A folder of that name wins.
  const text::TestFolder here("hub_local");
  const fs::path before = fs::current_path();
  fs::create_directories(here.path() / "some-one/A_model-1.5b");
  fs::current_path(here.path());
  const auto found = find_checkpoint("some-one/A_model-1.5b");
  fs::current_path(before);
  EXPECT_EQ(found->string(), "some-one/A_model-1.5b");
}

TEST_F(HubCache, TheCacheListsItsModels) {
  fs::create_directories(cache_.path() / "datasets--a--b/snapshots" / kOld);
  fs::create_directories(cache_.path() / "models--alone");
  fs::create_directories(cache_.path() / "models--a--empty/refs");
  const auto models = hub_models();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "some-one/A_model-1.5b");
  EXPECT_EQ(models[0].revision, "v1");
  EXPECT_EQ(models[1].revision, "main");
  EXPECT_EQ(models[1].folder, model() / "snapshots" / kNew);
  EXPECT_EQ(hub_name(models[1].folder), "some-one/A_model-1.5b");
  EXPECT_EQ(hub_name(models[1].folder / "model.safetensors"), "some-one/A_model-1.5b");
  EXPECT_EQ(hub_name("/a/b/c"), "");
  ::setenv("HF_HUB_CACHE", "/nowhere/at/all", 1);
  EXPECT_TRUE(hub_models().empty());
}

TEST_F(HubCache, ItsPlaceFollowsTheEnvironment) {
  EXPECT_EQ(hub_cache(), cache_.path());
  ::unsetenv("HF_HUB_CACHE");
  ::setenv("HF_HOME", "/h", 1);
  EXPECT_EQ(hub_cache(), fs::path("/h/hub"));
  ::unsetenv("HF_HOME");
  const char* const caches = std::getenv("XDG_CACHE_HOME");
  const std::string kept = caches == nullptr ? "" : caches;
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(hub_cache(), fs::path("/x/huggingface/hub"));
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(hub_cache(), fs::path(std::getenv("HOME")) / ".cache/huggingface/hub");
  if (!kept.empty()) {
    ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace locus::formats
