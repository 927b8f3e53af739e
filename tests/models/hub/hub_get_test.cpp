// Getting a model from a hub that is a server of the tests' own: what is fetched, where it lies, and every way in which
// a line, a server or a disk can fail.
#include "models/hub/get.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <cerrno>
#include <cstring>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/sha256.h"
#include "models/formats/hub_cache.h"
#include "tests/models/text/tokens.h"
#include "tests/support/hub_server.h"

namespace locus::hub {
namespace {

namespace fs = std::filesystem;
using test::large_file;
using test::small_file;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string weights(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t n = 0; n < bytes; ++n) {
    text[n] = static_cast<char>(n * 2654435761U >> 13U);
  }
  return text;
}

class HubGet : public testing::Test {
 protected:
  void SetUp() override {
    settings_.endpoint = server_.endpoint();
    settings_.cache = folder_.path() / "hub";
    settings_.stall_s = 1;
    settings_.pause_ms = 5;
    settings_.tries = 3;
    server_.files["config.json"] = small_file(R"({"model_type": "gpt2"})");
    server_.files["README.md"] = small_file("# tiny");
    server_.files["model.safetensors"] = large_file(content_);
    server_.files["onnx/model.onnx"] = small_file("x");
    server_.files["pytorch_model.bin"] = large_file("older");
  }

  Result<DownloadPlan> plan(const std::string& name = "some-one/tiny", const std::vector<std::string>& files = {}) {
    return plan_download(settings_, name, files, stop_.get_token());
  }
  Status get(const std::string& name = "some-one/tiny", const std::vector<std::string>& files = {}) {
    const auto planned = plan(name, files);
    return planned.ok() ? fetch(settings_, *planned, stop_.get_token(), progress_) : Status(planned.error());
  }
  void expect_failure(const std::string& words, ErrorCode code = ErrorCode::kBadInput) {
    const Status status = get();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code);
    EXPECT_NE(status.error().describe().find(words), std::string::npos) << status.error().describe();
    EXPECT_FALSE(fs::exists(blob())) << "a blob got its name";
    EXPECT_FALSE(fs::exists(snapshot() / "model.safetensors"));
    EXPECT_FALSE(fs::exists(model() / "refs/main"));
  }
  // The whole file is there, by its link, and nothing else lies beside its blob.
  void expect_fetched() {
    EXPECT_EQ(content_of(snapshot() / "model.safetensors"), content_);
    EXPECT_EQ(fs::read_symlink(snapshot() / "model.safetensors"), fs::path("../../blobs") / sha256(content_));
    EXPECT_EQ(content_of(model() / "refs/main"), server_.commit());
    EXPECT_FALSE(fs::exists(unfinished()));
  }

  fs::path model() const { return settings_.cache / "models--some-one--tiny"; }
  fs::path snapshot() const { return model() / "snapshots" / server_.commit(); }
  fs::path blob() const { return model() / "blobs" / sha256(content_); }
  fs::path unfinished() const { return blob().string() + ".incomplete"; }
  test::ServedFile& served() { return server_.files["model.safetensors"]; }
  std::vector<test::HubServer::Seen> second_bodies() const {
    auto all = server_.bodies("model.safetensors");
    std::erase_if(all, [](const auto& one) { return !one.second; });
    return all;
  }

  const std::string content_ = weights(300'000);
  text::TestFolder folder_{"hub_get"};
  test::HubServer server_;
  HubSettings settings_;
  std::stop_source stop_;
  Progress progress_;
};

TEST_F(HubGet, AModelLiesWhereOtherProgramsLookForIt) {
  const auto planned = plan();
  ASSERT_TRUE(planned.ok()) << planned.error().describe();
  EXPECT_FALSE(fs::exists(settings_.cache)) << "asking changes nothing";
  ASSERT_EQ(planned->files.size(), 2U);
  EXPECT_EQ(planned->files[0].name, "config.json");
  EXPECT_FALSE(planned->files[0].has_sum);
  EXPECT_EQ(planned->files[1].bytes, 300'000);
  EXPECT_TRUE(planned->files[1].has_sum);
  EXPECT_EQ(planned->missing(), planned->bytes());
  const Status fetched = get();
  ASSERT_TRUE(fetched.ok()) << fetched.error().describe();
  expect_fetched();
  EXPECT_EQ(content_of(snapshot() / "config.json"), server_.files["config.json"].content);
  EXPECT_FALSE(fs::exists(snapshot() / "README.md"));
  EXPECT_FALSE(fs::exists(snapshot() / "pytorch_model.bin"));
  ::setenv("HF_HUB_CACHE", settings_.cache.c_str(), 1);
  EXPECT_EQ(*formats::find_checkpoint("some-one/tiny"), snapshot());
  EXPECT_EQ(formats::hub_models().size(), 1U);
  ::unsetenv("HF_HUB_CACHE");
  // Once more: no body is asked for again.
  const std::size_t before = server_.bodies("model.safetensors").size();
  EXPECT_EQ(plan()->missing(), 0);
  EXPECT_TRUE(get().ok());
  EXPECT_EQ(server_.bodies("model.safetensors").size(), before);
}

TEST_F(HubGet, ABranchWithASlashAndACommitAreRevisions) {
  ASSERT_TRUE(get("some-one/tiny@v1/b").ok());
  EXPECT_EQ(content_of(model() / "refs/v1/b"), server_.commit());
  fs::remove_all(model() / "refs");
  ASSERT_TRUE(get("some-one/tiny@" + server_.commit()).ok());
  EXPECT_TRUE(fs::is_empty(model() / "refs"));
  EXPECT_NE(get("some-one/tiny@v9").error().describe().find("no such model or file"), std::string::npos);
  EXPECT_EQ(get("tiny").error().code, ErrorCode::kUsage);
  EXPECT_EQ(get("../tiny").error().code, ErrorCode::kUsage);
}

TEST_F(HubGet, TheTokenGoesToItsHostAlone) {
  settings_.token = "hf_secret";
  server_.wanted_token = "hf_secret";
  ASSERT_TRUE(get().ok());
  bool redirected = false;
  for (const auto& one : server_.seen()) {
    EXPECT_EQ(one.authorization, one.second ? "" : "Bearer hf_secret") << one.path;
    redirected = redirected || one.second;
  }
  EXPECT_TRUE(redirected);
  settings_.token.clear();
  fs::remove_all(settings_.cache);
  expect_failure("no such model or file, or shows it only to some (HF_TOKEN)");
}

TEST_F(HubGet, ABrokenLineGoesOnWhereItBroke) {
  served().cut_after = 100'000;
  ASSERT_TRUE(get().ok());
  expect_fetched();
  const auto bodies = second_bodies();
  ASSERT_EQ(bodies.size(), 3U);
  EXPECT_EQ(bodies[0].range, "");
  EXPECT_EQ(bodies[1].range, "bytes=100000-");
  EXPECT_EQ(bodies[2].range, "bytes=200000-");
}

TEST_F(HubGet, ALineThatGivesNothingMoreEndsAndKeepsWhatItGave) {
  served().cut_after = 100'000;
  served().ignores_range = true;  // every try begins anew, and none gets further
  expect_failure("the line broke 3 times");
  EXPECT_EQ(fs::file_size(unfinished()), 100'000U);
  // The next time, by a line that works.
  served() = large_file(content_);
  EXPECT_EQ(plan()->missing(), 200'000);
  ASSERT_TRUE(get().ok());
  expect_fetched();
  EXPECT_EQ(second_bodies().back().range, "bytes=100000-");
}

TEST_F(HubGet, ABusyServerIsAskedAgain) {
  served().status = 503;
  served().failures = 2;
  ASSERT_TRUE(get().ok());
  expect_fetched();
  fs::remove_all(settings_.cache);
  served().failures = 99;
  expect_failure("the line broke 3 times (status 503)");
  served().status = 403;
  expect_failure("the hub refuses it (status 403)");
}

TEST_F(HubGet, AServerThatKnowsNoRangesIsReadFromTheStart) {
  fs::create_directories(model() / "blobs");
  std::ofstream(unfinished(), std::ios::binary) << content_.substr(0, 5000);
  served().ignores_range = true;
  ASSERT_TRUE(get().ok());
  expect_fetched();
  EXPECT_EQ(second_bodies().size(), 1U);
  fs::remove_all(settings_.cache);
  fs::create_directories(model() / "blobs");
  std::ofstream(unfinished(), std::ios::binary) << content_.substr(0, 5000);
  served().ignores_range = false;
  served().refuses_range = true;
  ASSERT_TRUE(get().ok());
  expect_fetched();
}

TEST_F(HubGet, WhatAnEarlierTimeLeftWrongIsFetchedAnew) {
  fs::create_directories(model() / "blobs");
  std::ofstream(unfinished(), std::ios::binary) << std::string(5000, 'x');
  ASSERT_TRUE(get().ok());
  expect_fetched();
  ASSERT_EQ(second_bodies().size(), 2U);
  fs::remove_all(settings_.cache);
  fs::create_directories(model() / "blobs");
  std::ofstream(unfinished(), std::ios::binary) << std::string(400'000, 'x');  // longer than the file
  ASSERT_TRUE(get().ok());
  expect_fetched();
}

TEST_F(HubGet, AnotherContentThanItsSumIsNeverNamed) {
  served().body = weights(300'000);
  served().body[7] ^= 1;
  expect_failure("expected SHA-256 " + sha256(content_) + ", found " + sha256(served().body));
  EXPECT_FALSE(fs::exists(unfinished()));
}

TEST_F(HubGet, LiesAboutLengthsAreRefused) {
  served().length = "299999";
  expect_failure("expected 300000 bytes, found an answer of \"299999\"");
  served().length = "18446744073709551616";
  expect_failure("expected 300000 bytes, found an answer of");
  served().length = "none";
  served().extra = "more";
  expect_failure("expected 300000 bytes, found more");
  served() = large_file(content_);
  served().size = "9223372036854775807";
  expect_failure("expected a size in bytes, found \"9223372036854775807\"");
  served().size = "-1";
  expect_failure("expected a size in bytes");
  served().size = "1000000";  // larger than what comes
  expect_failure("model.safetensors: expected 1000000 bytes, found an answer of \"300000\"");
}

// Folders of modules beside the model, as sentence-transformers lays them; other subfolders are left out.
TEST_F(HubGet, FilesOfModulesLieInTheirFolders) {
  server_.files["1_Pooling/config.json"] = small_file("{}");
  server_.files["2_Dense/model.safetensors"] = large_file("dense");
  server_.files["2_Dense/pytorch_model.bin"] = large_file("older dense");
  server_.files["2_Dense/deeper/config.json"] = small_file("{}");
  server_.files["x_Dense/config.json"] = small_file("{}");
  ASSERT_EQ(plan()->files.size(), 2U);  // without modules.json nothing reads them
  server_.files["modules.json"] = small_file("[]");
  const auto planned = plan();
  ASSERT_TRUE(planned.ok()) << planned.error().describe();
  std::vector<std::string> names;
  for (const PlannedFile& file : planned->files) {
    names.push_back(file.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"1_Pooling/config.json", "2_Dense/model.safetensors", "config.json",
                                             "model.safetensors", "modules.json"}));
  const Status fetched = get();
  ASSERT_TRUE(fetched.ok()) << fetched.error().describe();
  expect_fetched();
  EXPECT_EQ(content_of(snapshot() / "2_Dense/model.safetensors"), "dense");
  EXPECT_EQ(fs::read_symlink(snapshot() / "2_Dense/model.safetensors"), fs::path("../../../blobs") / sha256("dense"));
  ASSERT_TRUE(get().ok());  // again: everything is there
  // A link in place of a module's folder leads nowhere else.
  fs::remove_all(snapshot() / "1_Pooling");
  fs::create_directories(folder_.path() / "elsewhere");
  fs::create_directory_symlink(folder_.path() / "elsewhere", snapshot() / "1_Pooling");
  EXPECT_FALSE(get().ok());
  EXPECT_TRUE(fs::is_empty(folder_.path() / "elsewhere"));
}

TEST_F(HubGet, NamesFromTheServerNeverLeaveTheFolder) {
  for (const char* etag : {"../../../../evil", "..", "/etc/passwd", "a/b", "", ".hidden", "x.incomplete"}) {
    served().etag = etag;
    if (*etag != '\0') {
      expect_failure("expected an etag of letters and digits");
    }
  }
  served().etag.clear();
  served().commit = "../../evil";
  expect_failure("expected a file of commit " + server_.commit());
  served().commit.clear();
  const std::string start = R"({"sha": ")" + server_.commit() + R"(", "siblings": [{"rfilename": ")";
  for (const char* name : {"../config.json", "/etc/passwd", "a/../../b", "a//b", "a\\\\b", "", "x\\u0000y", "x\\ny"}) {
    server_.listing = start + name + R"("}]})";
    expect_failure("expected names of files below the model's folder");
  }
  for (const char* listing :
       {"", "[]", "{}", R"({"sha": "main", "siblings": []})", R"({"sha": 7})", "{\"sha\": \"",
        R"({"sha": "7777777777777777777777777777777777777777", "siblings": {}})",
        R"({"sha": "7777777777777777777777777777777777777777", "siblings": [7]})",
        R"({"sha": "7777777777777777777777777777777777777777", "siblings": [{"rfilename": 7}]})"}) {
    server_.listing = listing;
    if (*listing != '\0') {
      expect_failure("the hub's answer");
    }
  }
  server_.listing = std::string(1000, '[');
  expect_failure("the hub's answer");
  EXPECT_FALSE(fs::exists(folder_.path() / "evil"));
}

TEST_F(HubGet, LinksInTheCacheLeadNowhereElse) {
  const fs::path outside = folder_.path() / "outside";
  std::ofstream(outside) << "mine";
  fs::create_directories(model() / "blobs");
  fs::create_symlink(outside, unfinished());
  expect_failure("expected a file or nothing, found a link");
  EXPECT_EQ(content_of(outside), "mine");
  fs::remove(unfinished());
  fs::create_symlink(outside, snapshot() / "model.safetensors");
  ASSERT_TRUE(get().ok());  // the link is replaced, not what it leads to
  expect_fetched();
  EXPECT_EQ(content_of(outside), "mine");
}

TEST_F(HubGet, ARefThatIsALinkIsReplaced) {
  const fs::path outside = folder_.path() / "outside";
  std::ofstream(outside) << "mine";
  fs::create_directories(model() / "refs");
  fs::create_symlink(outside, model() / "refs/main");
  ASSERT_TRUE(get().ok());
  expect_fetched();
  EXPECT_FALSE(fs::is_symlink(model() / "refs/main"));
  EXPECT_EQ(content_of(outside), "mine");
}

TEST_F(HubGet, FoldersOfTheCacheThatAreLinksAreRefused) {
  const fs::path outside = folder_.path() / "outside";
  const fs::path locks = settings_.cache / ".locks";
  for (const fs::path& folder : {model() / "refs", model() / "blobs", model() / "snapshots", snapshot(), locks,
                                 locks / "models--some-one--tiny"}) {
    fs::remove_all(settings_.cache);
    fs::create_directories(outside);
    fs::create_directories(folder.parent_path());
    fs::create_symlink(outside, folder);
    const Status status = get();
    ASSERT_FALSE(status.ok()) << folder;
    EXPECT_NE(status.error().describe().find("expected a folder or nothing, found a link"), std::string::npos)
        << status.error().describe();
    EXPECT_TRUE(fs::is_empty(outside)) << folder;
  }
  // A revision with a slash has a folder of its own.
  fs::remove_all(settings_.cache);
  fs::create_directories(model() / "refs");
  fs::create_symlink(outside, model() / "refs/v1");
  EXPECT_FALSE(get("some-one/tiny@v1/b").ok());
  EXPECT_TRUE(fs::is_empty(outside));
  // Where the cache and a model's folder lie is the user's to say.
  fs::remove_all(settings_.cache);
  fs::create_directories(settings_.cache);
  fs::create_symlink(outside, model());
  ASSERT_TRUE(get().ok());
  expect_fetched();
}

TEST_F(HubGet, OneEtagHasOneLength) {
  server_.files["config.json"].etag = "abc";
  served().etag = "abc";
  expect_failure("model.safetensors: expected 22 bytes, those of config.json of the same etag, found 300000");
  EXPECT_FALSE(fs::exists(settings_.cache));
  // Nor is the file of another snapshot written over.
  served() = large_file(content_);
  ASSERT_TRUE(get().ok());
  const std::string before = content_of(snapshot() / "config.json");
  fs::remove(snapshot() / "config.json");
  server_.files["config.json"].content = "{}";
  const Status lied = get();
  ASSERT_FALSE(lied.ok());
  EXPECT_NE(lied.error().describe().find("of the same etag"), std::string::npos) << lied.error().describe();
  EXPECT_EQ(content_of(model() / "blobs/abc"), before);
}

// Whether nothing comes or next to nothing: it is told of, and ends.
TEST_F(HubGet, ASlowHubIsToldOfAndGivenUp) {
  std::vector<std::string> told;
  settings_.told_ms = 300;
  settings_.patience_s = 3;
  settings_.waiting = [&](const std::string& what) { told.push_back(what); };
  const auto expect_given_up = [&](const std::string& naming, const std::string& host) {
    told.clear();
    const auto begin = std::chrono::steady_clock::now();
    const Status status = get();
    ASSERT_FALSE(status.ok()) << naming;
    EXPECT_EQ(status.error().code, ErrorCode::kBadInput);
    EXPECT_NE(status.error().describe().find(naming), std::string::npos) << status.error().describe();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.front(), "waiting for " + host);
  };
  server_.silent = true;
  expect_given_up("some-one/tiny@main: cannot be fetched", server_.endpoint());
  server_.silent = false;
  server_.listing_bytes_per_second = 50;
  expect_given_up("some-one/tiny@main: cannot be fetched", server_.endpoint());
  server_.listing_bytes_per_second = 0;
  served().bytes_per_second = 50;
  expect_given_up("model.safetensors: the line broke", server_.second());
  // Ctrl+C ends it meanwhile.
  server_.silent = true;
  settings_.stall_s = 30;
  settings_.waiting = [&](const std::string& /*what*/) { stop_.request_stop(); };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(get().error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));  // before it stalls
}

TEST_F(HubGet, RedirectionsAreFollowedToWebAddressesAlone) {
  served().location = "file:///etc/passwd";
  expect_failure("expected an http or https address, found file://");
  served().location = server_.second() + "/nowhere";
  expect_failure("no such model or file");
  served().location = "/some-one/tiny/resolve/" + server_.commit() + "/model.safetensors";  // in a circle
  expect_failure("expected at most 10 redirections");
}

TEST_F(HubGet, AFullDiskKeepsWhatWasFetched) {
  std::signal(SIGXFSZ, SIG_IGN);  // as the program does
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{150'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  expect_failure(std::string("cannot write: ") + std::strerror(EFBIG));  // in the locale of the process
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(fs::file_size(unfinished()), 150'000U);
  ASSERT_TRUE(get().ok());
  expect_fetched();
  EXPECT_EQ(second_bodies().back().range, "bytes=150000-");
}

TEST_F(HubGet, MoreThanTheDiskHasIsRefusedBefore) {
  served().size = std::to_string(std::int64_t{1} << 50);
  expect_failure("of free disk, found", ErrorCode::kTooLarge);
  EXPECT_TRUE(server_.bodies("model.safetensors").empty());
}

TEST_F(HubGet, ASlowLineIsShownAndCancelledWithinASecond) {
  served().bytes_per_second = 100'000;
  std::vector<double> fractions;
  std::chrono::steady_clock::time_point stopped;
  progress_ = [&](const ProgressReport& report) {
    fractions.push_back(report.fraction);
    if (report.fraction > 0.2 && stop_.request_stop()) {
      stopped = std::chrono::steady_clock::now();
    }
  };
  expect_failure("cancelled", ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - stopped, std::chrono::seconds(1));
  ASSERT_GE(fractions.size(), 2U);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  const auto kept = fs::file_size(unfinished());
  EXPECT_GT(kept, 50'000U);
  EXPECT_LT(kept, 300'000U);
  served().bytes_per_second = 0;
  stop_ = {};
  progress_ = {};
  ASSERT_TRUE(get().ok());
  expect_fetched();
  EXPECT_EQ(second_bodies().back().range, "bytes=" + std::to_string(kept) + "-");
}

TEST_F(HubGet, TwoAtOnceFetchEachFileOnce) {
  served().bytes_per_second = 600'000;
  bool waited = false;
  progress_ = [&](const ProgressReport& report) {
    waited = waited || report.what == "waiting for another program that fetches model.safetensors";
  };
  Status first;
  std::thread other([&] {
    const auto planned = plan_download(settings_, "some-one/tiny", {}, {});
    first = fetch(settings_, *planned, {}, {});
  });
  while (!fs::exists(unfinished())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Status second = get();
  other.join();
  EXPECT_TRUE(first.ok()) << first.error().describe();
  EXPECT_TRUE(second.ok()) << second.error().describe();
  EXPECT_TRUE(waited);
  expect_fetched();
  EXPECT_EQ(second_bodies().size(), 1U);
}

TEST_F(HubGet, ShardsOfAnIndexAndFilesAskedForAreFetched) {
  server_.files.erase("model.safetensors");
  server_.files["model.safetensors.index.json"] = small_file(
      R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})");
  server_.files["model-00001-of-00002.safetensors"] = large_file("one");
  server_.files["model-00002-of-00002.safetensors"] = large_file("two");
  ASSERT_TRUE(get().ok());
  EXPECT_EQ(content_of(snapshot() / "model-00002-of-00002.safetensors"), "two");
  EXPECT_TRUE(fs::exists(snapshot() / "model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(snapshot() / "pytorch_model.bin"));
  ASSERT_TRUE(get("some-one/tiny", {"pytorch_model.bin"}).ok());
  EXPECT_EQ(content_of(snapshot() / "pytorch_model.bin"), "older");
  EXPECT_NE(get("some-one/tiny", {"x.bin"}).error().describe().find("expected a file of the model's top folder"),
            std::string::npos);
  server_.files["model.safetensors.index.json"].content = R"({"weight_map": {"a": "../evil.safetensors"}})";
  EXPECT_NE(get().error().describe().find("expected files beside the index"), std::string::npos);
  server_.files["model.safetensors.index.json"].content = R"({"weight_map": {"a": "lost.safetensors"}})";
  EXPECT_NE(get().error().describe().find("expected lost.safetensors among the model's files"), std::string::npos);
}

TEST_F(HubGet, QuantisedFilesAreChosenByName) {
  server_.files.erase("model.safetensors");
  server_.files.erase("pytorch_model.bin");
  server_.files["tiny-Q4_K.gguf"] = large_file("4");
  ASSERT_TRUE(get().ok());
  EXPECT_EQ(content_of(snapshot() / "tiny-Q4_K.gguf"), "4");
  server_.files["tiny-Q8_0-00001-of-00002.gguf"] = large_file("8a");
  server_.files["tiny-Q8_0-00002-of-00002.gguf"] = large_file("8b");
  EXPECT_NE(
      get().error().describe().find(
          "expected one file of weights, found tiny-Q4_K.gguf, tiny-Q8_0-00001-of-00002.gguf: name the wanted one"),
      std::string::npos);
  ASSERT_TRUE(get("some-one/tiny", {"tiny-Q8_0-00001-of-00002.gguf"}).ok());
  EXPECT_EQ(content_of(snapshot() / "tiny-Q8_0-00002-of-00002.gguf"), "8b");
}

TEST_F(HubGet, WhereThereIsNoHubAnErrorSaysSo) {
  settings_.endpoint = "http://127.0.0.1:1";
  expect_failure("cannot be fetched: ");
  settings_.endpoint = "http://" + std::string(300, 'x') + ".invalid";
  expect_failure("cannot be fetched: ");
}

TEST_F(HubGet, TheEnvironmentIsReadAsTheHubsOwnToolsDo) {
  ::setenv("HF_ENDPOINT", "https://mirror.example/hub//", 1);
  ::setenv("HF_TOKEN", " hf_x\n", 1);
  EXPECT_EQ(hub_settings()->endpoint, "https://mirror.example/hub");
  EXPECT_EQ(hub_settings()->token, "hf_x");
  ::setenv("HF_TOKEN", "a\r\nX-Evil: b", 1);
  EXPECT_EQ(hub_settings().error().describe(),
            "HF_TOKEN: expected letters, digits and signs, found spaces or controls");
  ::unsetenv("HF_TOKEN");
  ::setenv("HF_ENDPOINT", "ftp://mirror", 1);
  EXPECT_FALSE(hub_settings().ok());
  ::unsetenv("HF_ENDPOINT");
  EXPECT_EQ(hub_settings()->endpoint, "https://huggingface.co");
  for (const char* yes : {"1", "true", "YES", "on"}) {
    ::setenv("HF_HUB_OFFLINE", yes, 1);
    EXPECT_EQ(hub_settings().error().describe(), "HF_HUB_OFFLINE: nothing is fetched while it is set");
  }
  ::setenv("HF_HUB_OFFLINE", "0", 1);
  EXPECT_TRUE(hub_settings().ok());
  ::unsetenv("HF_HUB_OFFLINE");
}

}  // namespace
}  // namespace locus::hub
