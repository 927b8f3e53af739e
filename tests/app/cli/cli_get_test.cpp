// `locus get` against a server of the tests' own.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/base/sha256.h"
#include "tests/support/cached_model.h"
#include "tests/support/hub_server.h"
#include "tests/support/run_locus.h"
#include "tests/support/signalled.h"

namespace {

using locus::testing_support::CachedModel;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;
namespace fs = std::filesystem;

// The small checkpoint on a hub of the tests' own.
class CliGet : public CachedModel {
 protected:
  void SetUp() override {
    CachedModel::SetUp();
    fs::remove_all(cache());
    for (const auto& entry : fs::directory_iterator(path())) {
      const std::string name = entry.path().filename().string();
      const std::string content = locus::testing_support::read_text(entry.path());
      server_.files[name] =
          name.ends_with(".safetensors") ? locus::test::large_file(content) : locus::test::small_file(content);
    }
    ::setenv("HF_ENDPOINT", server_.endpoint().c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"}) {
      ::unsetenv(name);
    }
    CachedModel::TearDown();
  }

  locus::test::HubServer server_;
};

TEST_F(CliGet, WhatIsFetchedOpensByItsName) {
  const Outcome asked = run_locus({"get", "some-one/tiny", "--dry-run"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_NE(asked.out.find("to fetch into " + snapshot().string()), std::string::npos) << asked.out;
  EXPECT_FALSE(fs::exists(cache()));
  const Outcome got = run_locus({"get", "some-one/tiny"});
  ASSERT_EQ(got.status, 0) << got.err;
  EXPECT_NE(got.out.find("fetched, SHA-256 checked"), std::string::npos) << got.out;
  EXPECT_TRUE(got.out.ends_with("\n" + snapshot().string() + "\n")) << got.out;
  EXPECT_EQ(got.err, "");
  expect_done({"info", "some-one/tiny"}, "some-one/tiny");
  expect_done({"run", "some-one/tiny@main", "--text", "one two"}, "7 tokens");
  const Outcome again = run_locus({"get", "some-one/tiny"});
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out.find("fetched"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("there already"), std::string::npos) << again.out;
}

TEST_F(CliGet, WhatCannotBeFetchedIsOneLine) {
  ::setenv("HF_TOKEN", "hf_never_printed", 1);
  server_.wanted_token = "another";
  const Outcome refused = run_locus({"get", "some-one/tiny"});
  expect_error(refused, 3,
               "some-one/tiny@main: the hub has no such model or file, or shows it only to some (HF_TOKEN)");
  EXPECT_EQ(refused.err.find("hf_never_printed"), std::string::npos);
  expect_error(run_locus({"get", "tiny"}), 2, "expected ORG/NAME or ORG/NAME@REVISION, found tiny");
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  expect_error(run_locus({"get", "some-one/tiny"}), 3, "HF_HUB_OFFLINE: nothing is fetched while it is set");
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(CliGet, CtrlCKeepsWhatWasFetched) {
  auto& weights = server_.files["model.safetensors"];
  weights.bytes_per_second = static_cast<std::int64_t>(weights.content.size()) / 20;
  const fs::path part = model() / "blobs" / (locus::sha256(weights.content) + ".incomplete");
  const auto begun = [&] {
    std::error_code code;
    const auto size = fs::file_size(part, code);
    return !code && size > 0;
  };
  const Outcome outcome = locus::testing_support::run_and_signal({"get", "some-one/tiny"}, begun, SIGINT);
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("locus: cancelled; what was fetched is kept for the next time\n"), std::string::npos)
      << outcome.err;
  weights.bytes_per_second = 0;
  const auto kept = fs::file_size(part);
  EXPECT_GT(kept, 0U);
  EXPECT_EQ(run_locus({"get", "some-one/tiny"}).status, 0);
  EXPECT_EQ(server_.bodies("model.safetensors").back().range, "bytes=" + std::to_string(kept) + "-");
  expect_done({"info", "some-one/tiny"}, "some-one/tiny");
}

TEST_F(CliGet, TwoProcessesFetchOnce) {
  auto& weights = server_.files["model.safetensors"];
  weights.bytes_per_second = static_cast<std::int64_t>(weights.content.size());
  const Outcome both = locus::testing_support::run_program(
      {"get", "some-one/tiny"},
      locus::testing_support::quoted(locus::test::binary()) + " get some-one/tiny >/dev/null & ");
  EXPECT_EQ(both.status, 0) << both.err;
  expect_done({"info", "some-one/tiny"}, "some-one/tiny");
  // The one that runs behind may still be looking at what is there.
  for (int n = 0; n < 600 && !fs::exists(model() / "refs/main"); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  auto bodies = server_.bodies("model.safetensors");
  std::erase_if(bodies, [](const auto& one) { return !one.second; });
  EXPECT_EQ(bodies.size(), 1U);
}

}  // namespace
