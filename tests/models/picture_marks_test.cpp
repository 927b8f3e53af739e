// Marks of pictures and videos in a text, with an encoder whose tokens are bytes.
#include "models/engine/picture_marks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace locus::models {
namespace {

constexpr std::int64_t kStart = 1001;
constexpr std::int64_t kEnd = 1002;
constexpr std::int64_t kImage = 1003;
constexpr std::int64_t kVideo = 1004;
constexpr std::int64_t kFirst = 1005;  // a special token in front of the text

families::Placeholders placeholders() {
  families::Placeholders kind;
  kind.id = kImage;
  kind.video_id = kVideo;
  kind.before = kStart;
  kind.after = kEnd;
  return kind;
}

Result<std::vector<text::Token>> byte_tokens(const std::string& piece, bool special) {
  std::vector<text::Token> tokens;
  if (special) {
    tokens.push_back({kFirst, {}});
  }
  for (std::size_t n = 0; n < piece.size(); ++n) {
    const auto at = static_cast<std::int64_t>(n);
    tokens.push_back({static_cast<unsigned char>(piece[n]), {at, at + 1}});
  }
  return tokens;
}

std::vector<std::int64_t> marked_ids(const std::vector<text::Token>& tokens) {
  std::vector<std::int64_t> ids;
  for (const text::Token& token : tokens) {
    ids.push_back(token.id);
  }
  return ids;
}

MarkedText marked(const std::string& text, std::size_t pictures, const VideoStamps& videos) {
  auto made = encode_marked(text, pictures, videos, placeholders(), byte_tokens);
  EXPECT_TRUE(made.ok());
  return made.ok() ? *std::move(made) : MarkedText();
}

using Ids = std::vector<std::int64_t>;

TEST(PictureMarks, OfPicturesAndVideosStandInTheirOrder) {
  EXPECT_EQ(marked_ids(marked("a<video>b<image>c<video>", 1, {{""}, {""}}).tokens),
            (Ids{kFirst, 'a', kVideo, 'b', kImage, 'c', kVideo}));
  EXPECT_EQ(marked_ids(marked("<video>", 0, {{""}}).tokens), (Ids{kFirst, kVideo}));
  EXPECT_EQ(marked_ids(marked("a<video>", 0, {}).tokens),
            (Ids{kFirst, 'a', kVideo}));  // one too many, which is said later
}

TEST(PictureMarks, OfVideosWithTimesAreOneForEachGroup) {
  const MarkedText text = marked("ab<video>c", 0, {{"<1>", "<2>"}});
  EXPECT_EQ(marked_ids(text.tokens), (Ids{kFirst, 'a', 'b', '<', '1', '>', kVideo, '<', '2', '>', kVideo, 'c'}));
  EXPECT_FALSE(text.in_front);
  for (const text::Token& token : text.tokens) {  // bytes are of the text alone
    EXPECT_LE(token.bytes.end, 10);
    EXPECT_TRUE(token.bytes.empty() || token.id == 'a' || token.id == 'b' || token.id == 'c') << token.id;
  }
  EXPECT_EQ(text.tokens.back().bytes.begin, 9);
}

TEST(PictureMarks, MissingOnesStandInFront) {
  const MarkedText text = marked("ab", 1, {{"<1>", "<2>"}});
  EXPECT_TRUE(text.in_front);
  EXPECT_EQ(marked_ids(text.tokens), (Ids{kFirst, kImage, '<', '1', '>', kVideo, '<', '2', '>', kVideo, 'a', 'b'}));
}

TEST(PictureMarks, OfTheChatTemplateBecomeTimesToo) {
  const std::string words = "<|vision_start|><|video_pad|><|vision_end|>";
  EXPECT_EQ(marked_ids(marked("a" + words + "b", 0, {{"<1>"}}).tokens), (Ids{kFirst, 'a', '<', '1', '>', kVideo, 'b'}));
  // Of a family without times they are words that its tokenizer knows.
  EXPECT_EQ(marked("a" + words, 0, {{""}}).tokens.size(), 2 + words.size() + 1);
}

TEST(PictureMarks, ExpandToTheTokensOfTheirBlocks) {
  const auto expanded = [](const Ids& ids, const std::vector<PictureShape>& blocks) {
    std::vector<text::Token> tokens;
    for (const std::int64_t id : ids) {
      tokens.push_back({id, {}});
    }
    const auto made = expand_placeholders(tokens, placeholders(), blocks);
    EXPECT_TRUE(made.ok()) << made.error().describe();
    return made.ok() ? marked_ids(*made) : Ids();
  };
  const std::vector<PictureShape> blocks{{1, 2, 2}, {0, 0, 3, 0}};
  EXPECT_EQ(expanded({kVideo, 5, kImage}, blocks),
            (Ids{kStart, kVideo, kVideo, kVideo, kEnd, 5, kStart, kImage, kImage, kEnd}));
  EXPECT_EQ(expanded({kStart, kVideo, kEnd, kImage}, blocks),
            (Ids{kStart, kVideo, kVideo, kVideo, kEnd, kStart, kImage, kImage, kEnd}));
  EXPECT_EQ(expanded({kVideo, kVideo, kVideo, kImage}, blocks),
            (Ids{kVideo, kVideo, kVideo, kStart, kImage, kImage, kEnd}));
  const auto wrong = expand_placeholders({{kVideo, {}}, {kVideo, {}}, {kImage, {}}}, placeholders(), blocks);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kBadInput);
  EXPECT_NE(wrong.error().message.find("1 mark <video>"), std::string::npos) << wrong.error().message;
  const auto none = expand_placeholders({{kVideo, {}}, {5, {}}}, placeholders(), {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("found 1 of these and no video"), std::string::npos) << none.error().message;
}

// Tiles with a word before each, and parts with one behind them.
TEST(PictureMarks, ExpandToMarkedParts) {
  families::Placeholders kind = placeholders();
  const std::vector<PictureShape> tiles{{0, 0, 6, -1, {{7, 2, -1}, {8, 2, -1}, {9, 2, -1}}},
                                        {0, 0, 1, -1, {{-1, 1, 6}}}};
  const auto made = expand_placeholders({{kImage, {}}, {5, {}}, {kStart, {}}, {kImage, {}}}, kind, tiles);
  ASSERT_TRUE(made.ok()) << made.error().describe();
  EXPECT_EQ(marked_ids(*made),
            (Ids{kStart, 7, kImage, kImage, 8, kImage, kImage, 9, kImage, kImage, kEnd, 5, kStart, kImage, 6, kEnd}));
  kind.tiles = true;  // words that the tokenizer does not know
  const auto refused = expand_placeholders({{kImage, {}}, {kImage, {}}}, kind, tiles);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace locus::models
