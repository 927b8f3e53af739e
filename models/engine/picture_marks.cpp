#include "models/engine/picture_marks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace locus::models {

namespace {

std::int64_t number_of(const std::vector<text::Token>& tokens, std::int64_t id) {
  return std::count_if(tokens.begin(), tokens.end(), [id](const text::Token& token) { return token.id == id; });
}

void add_tokens(std::vector<text::Token>& tokens, std::int64_t id, std::int64_t count = 1) {
  if (id >= 0) {
    tokens.insert(tokens.end(), static_cast<std::size_t>(count), {id, {}});
  }
}

// Tokens that stand for one picture; its first and last id are left out where they are typed beside it already.
std::vector<text::Token> picture_tokens(const families::Placeholders& kind, const PictureShape& picture,
                                        std::int64_t id_before, std::int64_t id_after) {
  std::vector<text::Token> tokens;
  if (kind.before != id_before) {
    add_tokens(tokens, kind.before);
  }
  if (picture.rows == 0 || kind.row_end < 0) {
    add_tokens(tokens, kind.id, picture.count);
  } else {
    for (std::int64_t row = 0; row < picture.rows; ++row) {
      add_tokens(tokens, kind.id, picture.columns);
      add_tokens(tokens, row + 1 < picture.rows ? kind.row_end : kind.last_row_end);
    }
  }
  if (kind.after != id_after) {
    add_tokens(tokens, kind.after);
  }
  return tokens;
}

}  // namespace

Result<MarkedText> encode_marked(const std::string& text, std::size_t pictures, std::int64_t placeholder,
                                 const EncodePiece& encode) {
  MarkedText marked;
  std::size_t from = 0;
  std::size_t marks = 0;
  while (true) {
    const std::size_t mark = text.find(kPictureMark, from);
    const std::size_t end = std::min(mark, text.size());
    LOCUS_TRY(std::vector<text::Token> piece, encode(text.substr(from, end - from), from == 0));
    for (text::Token& token : piece) {
      if (!token.bytes.empty()) {
        token.bytes.begin += static_cast<std::int64_t>(from);
        token.bytes.end += static_cast<std::int64_t>(from);
      }
      marked.tokens.push_back(token);
    }
    if (mark == std::string::npos) {
      break;
    }
    marked.tokens.push_back({placeholder, {}});
    ++marks;
    from = mark + kPictureMark.size();
  }
  if (pictures > 0 && marks == 0 && number_of(marked.tokens, placeholder) == 0) {
    const auto text_begins =
        std::ranges::find_if(marked.tokens, [](const text::Token& token) { return !token.bytes.empty(); });
    marked.tokens.insert(text_begins, pictures, {placeholder, {}});
    marked.in_front = true;
  }
  return marked;
}

Result<std::vector<text::Token>> expand_placeholders(std::vector<text::Token> tokens,
                                                     const families::Placeholders& kind,
                                                     const std::vector<PictureShape>& pictures) {
  const std::int64_t found = number_of(tokens, kind.id);
  const std::int64_t needed =
      std::accumulate(pictures.begin(), pictures.end(), std::int64_t{0},
                      [](std::int64_t sum, const PictureShape& picture) { return sum + picture.count; });
  if (found == needed) {
    return tokens;
  }
  if (found != static_cast<std::int64_t>(pictures.size())) {
    const std::string marks = pictures.size() == 1 ? " mark <image>" : " marks <image>";
    return bad_input("expected " + std::to_string(pictures.size()) + marks + ", one for each picture, or " +
                     std::to_string(needed) + " tokens of id " + std::to_string(kind.id) + ", found " +
                     std::to_string(found));
  }
  if (kind.tiles) {
    return unsupported("expected the " + std::to_string(needed) + " tokens of id " + std::to_string(kind.id) +
                       " that this family's processor writes between the names of tiles, found one for each picture");
  }
  std::vector<text::Token> expanded;
  std::vector<text::Token> in_front;
  std::size_t next = 0;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    if (tokens[n].id != kind.id) {
      expanded.push_back(tokens[n]);
      continue;
    }
    const std::vector<text::Token> own =
        picture_tokens(kind, pictures[next++], expanded.empty() ? -1 : expanded.back().id,
                       n + 1 < tokens.size() ? tokens[n + 1].id : -1);
    std::vector<text::Token>& to = kind.first ? in_front : expanded;
    to.insert(to.end(), own.begin(), own.end());
  }
  in_front.insert(in_front.end(), expanded.begin(), expanded.end());
  return in_front;
}

}  // namespace locus::models
