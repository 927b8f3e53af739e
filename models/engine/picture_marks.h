// Pictures and videos in a text as it is typed: a mark `<image>` or `<video>`, or one placeholder, becomes what the
// family's processor writes for a picture or for a video.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/families/engine/vision.h"
#include "models/text/tokenizer.h"

namespace locus::models {

inline constexpr std::string_view kPictureMark = "<image>";
inline constexpr std::string_view kVideoMark = "<video>";

// A tile of a picture, or the whole behind them: the ids of the tokens around its placeholders; −1: none.
struct PicturePart {
  std::int64_t before = -1;
  std::int64_t count = 0;
  std::int64_t after = -1;
};

// The vectors of one picture: rows × columns, or `count` in no grid (rows 0). A video is one such block, or where times
// stand in the text one for each group of its frames.
struct PictureShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 0;
  std::int64_t video = -1;              // of the input's videos the one that it is of; -1: it is a picture
  std::vector<PicturePart> parts = {};  // instead of rows, in families that mark parts

  bool is_video() const { return video >= 0; }
};

// The text before each block of each video: "<0.3 seconds>" or nothing.
using VideoStamps = std::vector<std::vector<std::string>>;

// The tokens of a text whose marks are placeholders, for a video one for each of its blocks behind its stamp; pictures
// without a mark or a placeholder in it stand in front, followed by such videos, and `in_front` says so. A text of the
// words "<|vision_start|><|video_pad|><|vision_end|>", once for each video with stamps, has marks as well. A kind whose
// id is -1 has no marks. `encode` gives the tokens of a piece, with or without special tokens. Errors: its own.
struct MarkedText {
  std::vector<text::Token> tokens;
  bool in_front = false;
};
using EncodePiece = std::function<Result<std::vector<text::Token>>(const std::string& piece, bool special)>;
Result<MarkedText> encode_marked(const std::string& text, std::size_t pictures, const VideoStamps& videos,
                                 const families::Placeholders& kind, const EncodePiece& encode);

// Every picture and block of a video has all its placeholders then: where the tokens hold as many of a kind as they need
// these stay, where they hold one for each it is replaced by its row of tokens. Errors: kBadInput for another number.
Result<std::vector<text::Token>> expand_placeholders(std::vector<text::Token> tokens,
                                                     const families::Placeholders& kind,
                                                     const std::vector<PictureShape>& pictures);

}  // namespace locus::models
