// Models of Hugging Face's cache, by their names, in every sub-command that takes a PATH.
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

class CliHub : public CachedModel {};

TEST_F(CliHub, EverySubCommandTakesNames) {
  expect_done({"info", "some-one/tiny"}, "some-one/tiny");
  expect_done({"info", "some-one/tiny@main", "--json"}, "\"name\": \"some-one/tiny\"");
  expect_done({"run", "some-one/tiny@" + kCommit, "--text", "one two"}, "7 tokens");
  expect_done({"verify", "some-one/tiny", "--ids", "1,2,3"}, "ok");
  const std::string data = file("hub.npy");
  expect_done(
      {"figure", "attention", "some-one/tiny", "--text", "one two", "--reference", "some-one/tiny", "--data", data},
      data);
  expect_done(
      {"figure", "--recipe", data + ".recipe.json", "some-one/tiny", "some-one/tiny", "--data", file("again.npy")},
      "again.npy");
  expect_done({"evaluate", "text", "some-one/tiny", "--validate", file("corpus.txt"), "--samples", "2"}, "bits");
}

TEST_F(CliHub, WhatIsNotInTheCacheIsSaidWithThePlace) {
  const std::string place = (cache() / "models--some-one--else").string();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"info", "some-one/else"},
           {"run", "some-one/else", "--text", "a"},
           {"figure", "attention", "some-one/else", "--text", "a", "--data", file("x.npy")},
           {"evaluate", "text", "some-one/else"},
           {"verify", "some-one/else", "--text", "a"}}) {
    const Outcome outcome = run_locus(arguments);
    expect_error(outcome, 3, "not in the cache: expected " + place);
    EXPECT_EQ(outcome.err.rfind("locus: error: some-one/else: no such file or folder", 0), 0U) << outcome.err;
  }
  expect_error(run_locus({"info", "some-one/tiny@v9"}), 3, (model() / "refs/v9").string());
}

}  // namespace
