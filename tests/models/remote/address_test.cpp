// Paths on other machines, and the words of the command that reaches them.
#include "models/remote/address.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/api/machine.h"
#include "models/remote/connection/connection.h"
#include "models/remote/connection/permission.h"

namespace locus::remote {
namespace {

void expect_parts(const std::string& path, const std::string& peer, int port, const std::string& there) {
  const auto address = parse_address(path);
  ASSERT_TRUE(address.ok()) << address.error().describe();
  EXPECT_EQ(address->peer(), peer);
  EXPECT_EQ(address->port, port) << path;
  EXPECT_EQ(address->path, there) << path;
}

TEST(Address, PartsOfAPath) {
  expect_parts("ssh://node7/data/model", "node7", 0, "/data/model");
  expect_parts("ssh://ada@node7:2222/data/a b.gguf", "ada@node7:2222", 2222, "/data/a b.gguf");
  expect_parts("ssh://node7/~/model", "node7", 0, "~/model");
  expect_parts("ssh://node7/~ada/model", "node7", 0, "/~ada/model");
  expect_parts("ssh://node7//openai-community/gpt2", "node7", 0, "openai-community/gpt2");
  expect_parts("ssh://ada@[fe80::1%eth0]:22/m@1:2", "ada@[fe80::1%eth0]:22", 22, "/m@1:2");
  EXPECT_TRUE(is_remote("ssh://"));
  EXPECT_FALSE(is_remote("ssh:/node7/model"));
  EXPECT_FALSE(is_remote("models/ssh://node7/model"));
}

TEST(Address, WhatCannotBeReachedIsOneLine) {
  const std::vector<std::string> paths = {
      "model", "ssh://", "ssh://node7", "ssh://node7/", "ssh://node7//", "ssh:///model", "ssh://@node7/m",
      // What ssh or a shell would take for something else.
      "ssh://-oProxyCommand=x/m", "ssh://-F@node7/m", "ssh://a@-node7/m", "ssh://[-::1]/m", "ssh://no de/m",
      "ssh://node$(x)/m", "ssh://node;x/m", "ssh://no\nde/m", "ssh://a b@node7/m", "ssh://a@b@node7/m",
      // Ports.
      "ssh://node7:/m", "ssh://node7:0/m", "ssh://node7:65536/m", "ssh://node7:-1/m", "ssh://node7:2x/m",
      "ssh://node7:99999999999/m", "ssh://[::1/m", "ssh://[]/m", "ssh://[::1]22/m", "ssh://::1/m", "ssh://node7/m\xFF"};
  for (const std::string& path : paths) {
    const auto address = parse_address(path);
    ASSERT_FALSE(address.ok()) << path;
    EXPECT_EQ(address.error().code, ErrorCode::kBadInput);
    const std::string text = address.error().describe();
    EXPECT_NE(text.find("expected "), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(Address, WordsAreThoseOfAShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(*split_words("srun --jobid 7", "X"), (Words{"srun", "--jobid", "7"}));
  EXPECT_EQ(*split_words(" \t a  b\t", "X"), (Words{"a", "b"}));
  EXPECT_EQ(*split_words("a '' \"\"", "X"), (Words{"a", "", ""}));
  EXPECT_EQ(*split_words(R"('a b'c"d e" f\ g)", "X"), (Words{"a bcd e", "f g"}));
  EXPECT_EQ(*split_words(R"("a\"b\\c\d" 'e\f"')", "X"), (Words{R"(a"b\c\d)", R"(e\f")"}));
  EXPECT_EQ(*split_words("ssh $HOME `x` ; *", "X"), (Words{"ssh", "$HOME", "`x`", ";", "*"}));
  for (const char* text : {"", "  \t", "'a", "\"a", "a\\", "\"a\\\""}) {
    const auto words = split_words(text, "LOCUS_SSH");
    ASSERT_FALSE(words.ok()) << text;
    EXPECT_EQ(words.error().code, ErrorCode::kUsage);
    EXPECT_EQ(words.error().describe().rfind("LOCUS_SSH: expected ", 0), 0U) << words.error().describe();
  }
}

// Nothing of this machine is lent to one that a path names.
TEST(Address, SshForwardsNothing) {
  const auto words = Connection::command_for({"ada", "node7", 2222, "/m"}, nullptr);
  ASSERT_TRUE(words.ok());
  for (const char* word : {"-T", "-a", "-x", "ClearAllForwardings=yes"}) {
    EXPECT_NE(std::find(words->begin(), words->end(), word), words->end()) << word;
  }
  EXPECT_EQ(std::vector<std::string>(words->end() - 6, words->end()),
            (std::vector<std::string>{"-p", "2222", "ada@node7", "locus", "serve", "--stdio"}));
}

TEST(Address, MachinesAreReachedThatSomebodyNamed) {
  EXPECT_TRUE(may_reach("node7"));  // nobody has said otherwise
  models::allow_only_machines_of({"/m", "ssh://ada@node7/m", "ssh://-x/m"});
  EXPECT_TRUE(may_reach("ada@node7"));
  for (const char* other : {"node7", "ada@node7:2222", "root@node7", "node70", ""}) {
    EXPECT_FALSE(may_reach(other)) << other;
  }
  EXPECT_EQ(models::unallowed_machine_of("ssh://[::1]:22/m"), "[::1]:22");
  EXPECT_EQ(models::unallowed_machine_of("/m"), "");
  models::allow_machine_of("ssh://[::1]:22/other");
  EXPECT_EQ(models::unallowed_machine_of("ssh://[::1]:22/m"), "");
  const auto refused = Connection::to({"", "node7", 0, "/m"}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  models::allow_all_machines();
  EXPECT_TRUE(may_reach("node7"));
}

}  // namespace
}  // namespace locus::remote
