// Pictures in a text as it is typed: a mark `<image>`, or one placeholder, becomes what the family's processor writes
// for a picture.
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

// The vectors of one picture: rows × columns, or `count` in no grid (rows 0).
struct PictureShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 0;
};

// The tokens of a text whose marks are placeholders; without a mark or a placeholder in it, `pictures` of them stand in
// front, and `in_front` says so. `encode` gives the tokens of a piece, with or without special tokens. Errors: its own.
struct MarkedText {
  std::vector<text::Token> tokens;
  bool in_front = false;
};
using EncodePiece = std::function<Result<std::vector<text::Token>>(const std::string& piece, bool special)>;
Result<MarkedText> encode_marked(const std::string& text, std::size_t pictures, std::int64_t placeholder,
                                 const EncodePiece& encode);

// Every picture has all its placeholders then: where the tokens hold as many as the pictures need they stay, where they
// hold one for each picture it is replaced by the picture's row of tokens. Errors: kBadInput for another number.
Result<std::vector<text::Token>> expand_placeholders(std::vector<text::Token> tokens,
                                                     const families::Placeholders& kind,
                                                     const std::vector<PictureShape>& pictures);

}  // namespace locus::models
