// Windows of a corpus: a function of corpus, N, T and seed alone, never reading a file whole.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "models/atlas/windows.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using models::TokenInfo;
using models::atlas::Corpus;
using models::atlas::Window;
using models::atlas::Windows;

constexpr std::int64_t kEnd = 999;  // the end-of-text token of the tokenizers below
constexpr std::int64_t kBegin = 1000;

// One token per byte, and one for "</s>".
Result<std::vector<TokenInfo>> bytes_of(const std::string& text) {
  if (text == "</s>") {
    return std::vector<TokenInfo>{{kEnd, text, {0, 4}, 0}};
  }
  std::vector<TokenInfo> tokens;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto at = static_cast<std::int64_t>(n);
    tokens.push_back({static_cast<unsigned char>(text[n]), "", {at, at + 1}, 0});
  }
  return tokens;
}

// The same with a token in front and one behind.
Result<std::vector<TokenInfo>> with_ends(const std::string& text) {
  std::vector<TokenInfo> tokens = bytes_of(text).value();
  tokens.insert(tokens.begin(), TokenInfo{kBegin, "", {}, 0});
  tokens.push_back({kEnd, "", {}, 0});
  return tokens;
}

std::string text_of(const Window& window) {
  std::string text;
  for (const std::int64_t id : window.ids) {
    text += id == kEnd ? '|' : id == kBegin ? '^' : static_cast<char>(id);
  }
  return text;
}

class AtlasWindows : public testing::Test {
 protected:
  Corpus open(const std::vector<std::string>& names) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) {
      paths.push_back(folder_.path() / name);
    }
    return Corpus::open(paths).value();
  }

  test::TemporaryFolder folder_;
};

TEST_F(AtlasWindows, BeginAtWordsSpreadOverTheCorpus) {
  std::string text;
  for (int n = 0; n < 2000; ++n) {
    text += "w" + std::to_string(n) + " ";
  }
  folder_.write("a.txt", text);
  const Corpus corpus = open({"a.txt"});
  const Windows windows = Windows::make(corpus, bytes_of, {20, 50, 7}).value();
  std::multiset<std::size_t> stretches;
  for (std::int64_t n = 0; n < 20; ++n) {
    const std::string window = text_of(windows.at(n).value());
    EXPECT_EQ(window.size(), 50U);
    EXPECT_EQ(window.front(), 'w') << window;
    if (const std::size_t at = text.find(window); at != std::string::npos) {
      stretches.insert(at * 20 / text.size());
    }
  }
  EXPECT_GE(stretches.size(), 19U);  // one may run over the end of the text
  for (std::size_t n = 0; n < 18; ++n) {
    EXPECT_GE(stretches.count(n) + stretches.count(n + 1), 1U) << n;
  }
}

TEST_F(AtlasWindows, DependOnTheSeedAlone) {
  folder_.write("a.txt", std::string(300, 'x') + " " + std::string(300, 'y') + " some more words to begin at");
  const Corpus corpus = open({"a.txt"});
  const Windows first = Windows::make(corpus, bytes_of, {9, 40, 1}).value();
  const Windows again = Windows::make(corpus, bytes_of, {9, 40, 1}).value();
  const Windows other = Windows::make(corpus, bytes_of, {9, 40, 2}).value();
  bool differs = false;
  for (std::int64_t n = 8; n >= 0; --n) {
    EXPECT_EQ(first.at(n).value().ids, again.at(n).value().ids);
    differs = differs || first.at(n).value().ids != other.at(n).value().ids;
  }
  EXPECT_TRUE(differs);
}

TEST_F(AtlasWindows, ShortTextsAreJoinedByTheEndOfText) {
  folder_.write("1.txt", "one");
  folder_.write("2.txt", "");
  folder_.write("3.txt", "two");
  const Corpus corpus = open({""});
  EXPECT_EQ(corpus.files(), 3U);
  const Windows windows = Windows::make(corpus, bytes_of, {1, 9, 0}).value();
  const std::string window = text_of(windows.at(0).value());
  EXPECT_EQ(window.size(), 9U);
  EXPECT_NE(std::string("one|two|one|two|one|two").find(window), std::string::npos) << window;
}

TEST_F(AtlasWindows, KeepSpecialTokensAtTheEnds) {
  folder_.write("a.txt", "abcdef ghijkl");
  const Corpus corpus = open({"a.txt"});
  const Windows windows = Windows::make(corpus, with_ends, {2, 6, 0}).value();
  for (std::int64_t n = 0; n < 2; ++n) {
    const Window window = windows.at(n).value();
    const std::string text = text_of(window);
    ASSERT_EQ(text.size(), 6U);
    EXPECT_EQ(text.front(), '^');
    EXPECT_EQ(text.back(), '|');
    EXPECT_EQ(window.front, 1);
    EXPECT_EQ(window.back, 1);
    const Window shuffled = windows.shuffled(window, n);
    EXPECT_EQ(shuffled.ids.front(), kBegin);
    EXPECT_EQ(shuffled.ids.back(), kEnd);
    EXPECT_TRUE(std::is_permutation(shuffled.ids.begin(), shuffled.ids.end(), window.ids.begin()));
  }
  EXPECT_FALSE(Windows::make(corpus, with_ends, {2, 3, 0}).ok());
  EXPECT_FALSE(Windows::make(corpus, with_ends, {0, 8, 0}).ok());
}

// The order of a shuffled window has nothing left of the text: token n comes to each place equally often.
TEST_F(AtlasWindows, ShufflesEvenly) {
  folder_.write("a.txt", "abcd");
  const Corpus corpus = open({"a.txt"});
  const Windows windows = Windows::make(corpus, bytes_of, {1, 4, 3}).value();
  const Window window{{10, 20, 30, 40}, 0, 0};
  std::array<int, 4> places{};
  for (std::int64_t n = 0; n < 4000; ++n) {
    const Window shuffled = windows.shuffled(window, n);
    ++places[static_cast<std::size_t>(std::find(shuffled.ids.begin(), shuffled.ids.end(), 10) - shuffled.ids.begin())];
  }
  for (const int count : places) {
    EXPECT_NEAR(count, 1000, 110);  // 4 deviations of a share of ¼ in 4000
  }
}

TEST_F(AtlasWindows, ReadNoFileWhole) {
  const std::filesystem::path path = folder_.path() / "large.txt";
  std::ofstream(path) << "begin";
  std::filesystem::resize_file(path, std::uintmax_t{6} << 30);  // of holes
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const Corpus corpus = Corpus::open({path}).value();
  const Windows windows = Windows::make(corpus, bytes_of, {500, 64, 0}).value();
  for (std::int64_t n = 0; n < 500; ++n) {
    ASSERT_EQ(windows.at(n).value().ids.size(), 64U);
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
#if defined(__SANITIZE_ADDRESS__)  // which keeps what was freed for a while
  constexpr long kMoreMb = 1024;
#else
  constexpr long kMoreMb = 64;
#endif
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kMoreMb << 10);  // KiB
}

TEST_F(AtlasWindows, TellWhatIsWrongWithACorpus) {
  std::vector<std::filesystem::path> paths(1);
  paths[0] = folder_.path() / "none.txt";
  EXPECT_FALSE(Corpus::open(paths).ok());
  paths[0] = folder_.path();
  EXPECT_FALSE(Corpus::open(paths).ok());
  folder_.write("a.txt", "");
  const auto empty = Corpus::open(paths);
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().describe().find("expected a text, found empty files"), std::string::npos);
  folder_.write("b.txt", "some text of a file that changes");
  const auto opened = Corpus::open(paths);
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  const Corpus& corpus = *opened;
  const Windows windows = Windows::make(corpus, bytes_of, {1, 8, 0}).value();
  folder_.write("b.txt", "shorter");
  EXPECT_FALSE(windows.at(0).ok());
}

TEST_F(AtlasWindows, CorporaAreNamedByTheirHash) {
  std::filesystem::create_directory(folder_.path() / "in");
  folder_.write("in/b.txt", "abc");
  folder_.write("a.txt", "");
  const auto hashes = open({"in", "a.txt", "in/b.txt"}).hashed({}, {}).value();
  ASSERT_EQ(hashes.size(), 3U);
  EXPECT_EQ(hashes[0].name, "b.txt");
  EXPECT_EQ(hashes[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hashes[0].bytes, 3);
  EXPECT_EQ(hashes[1].sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace locus
