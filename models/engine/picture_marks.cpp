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
  if (!picture.parts.empty()) {
    for (const PicturePart& part : picture.parts) {
      add_tokens(tokens, part.before);
      add_tokens(tokens, kind.id, part.count);
      add_tokens(tokens, part.after);
    }
  } else if (picture.rows == 0 || kind.row_end < 0 || picture.is_video()) {
    add_tokens(tokens, picture.is_video() ? kind.video_id : kind.id, picture.count);
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

// Finds the marks of a text.
class Marks {
 public:
  Marks(const std::string& text, const VideoStamps& videos, const families::Placeholders& kind)
      : text_(text), has_videos_(kind.video_id >= 0) {
    const bool stamped = std::ranges::any_of(videos, [](const auto& stamps) { return !stamps.front().empty(); });
    std::size_t typed = 0;
    for (std::size_t at = text.find(kVideoWord); at != std::string::npos; at = text.find(kVideoWord, at + 1)) {
      ++typed;
    }
    has_words_ = has_videos_ && stamped && typed == videos.size();
  }

  struct Mark {
    std::size_t begin = std::string::npos;  // npos: none
    std::size_t end = std::string::npos;
    bool video = false;
  };
  Mark next(std::size_t from) const {
    Mark first = find(kPictureMark, from, false);
    for (const Mark& other :
         {has_videos_ ? find(kVideoMark, from, true) : Mark{}, has_words_ ? find(kVideoWords, from, true) : Mark{}}) {
      first = other.begin < first.begin ? other : first;
    }
    return first;
  }

 private:
  static constexpr std::string_view kVideoWord = "<|video_pad|>";
  static constexpr std::string_view kVideoWords = "<|vision_start|><|video_pad|><|vision_end|>";

  Mark find(std::string_view mark, std::size_t from, bool video) const {
    const std::size_t begin = text_.find(mark, from);
    return begin == std::string::npos ? Mark{} : Mark{begin, begin + mark.size(), video};
  }

  const std::string& text_;
  bool has_videos_;
  bool has_words_ = false;
};

// The tokens of one kind of a text: as many as its blocks need, or one for each of them.
enum class Held { kAll, kOneEach };
Result<Held> held_of(std::int64_t found, std::int64_t id, const std::vector<PictureShape>& blocks, bool videos) {
  std::int64_t needed = 0;
  std::int64_t count = 0;  // of blocks
  std::int64_t marks = 0;  // of pictures or videos
  for (const PictureShape& block : blocks) {
    if (block.is_video() == videos) {
      needed += block.count;
      count += 1;
      marks = videos ? std::max(marks, block.video + 1) : count;
    }
  }
  if (found == needed) {
    return Held::kAll;
  }
  if (found == count) {
    return Held::kOneEach;
  }
  const std::string mark(videos ? kVideoMark : kPictureMark);
  const std::string what = videos ? "video" : "picture";
  if (count == 0) {
    return bad_input("expected a " + what + " for each mark " + mark + " and each token of id " + std::to_string(id) +
                     ", found " + std::to_string(found) + " of these and no " + what);
  }
  return bad_input("expected " + std::to_string(marks) + (marks == 1 ? " mark " : " marks ") + mark +
                   (count > marks ? " in a text" : "") + ", one for each " + what + ", or " + std::to_string(needed) +
                   " tokens of id " + std::to_string(id) +
                   (count > marks ? " with the times of frames between them" : "") + ", found " +
                   std::to_string(found));
}

}  // namespace

Result<MarkedText> encode_marked(const std::string& text, std::size_t pictures, const VideoStamps& videos,
                                 const families::Placeholders& kind, const EncodePiece& encode) {
  MarkedText marked;
  const Marks marks(text, videos, kind);
  std::size_t from = 0;
  std::size_t picture_marks = 0;
  std::size_t video_marks = 0;
  bool first = true;
  // A piece of the text with a stamp behind it, which is no bytes of the text.
  const auto add_piece = [&](std::size_t begin, std::size_t end, const std::string& stamp) -> Status {
    LOCUS_TRY(std::vector<text::Token> piece,
              encode(text.substr(begin, end - begin) + stamp, std::exchange(first, false)));
    const auto size = static_cast<std::int64_t>(end - begin);
    for (text::Token& token : piece) {
      if (!token.bytes.empty()) {
        token.bytes = {std::min(token.bytes.begin, size), std::min(token.bytes.end, size)};
        token.bytes.begin += static_cast<std::int64_t>(begin);
        token.bytes.end += static_cast<std::int64_t>(begin);
      }
      marked.tokens.push_back(token);
    }
    return {};
  };
  while (true) {
    const Marks::Mark mark = marks.next(from);
    const std::size_t end = std::min(mark.begin, text.size());
    if (mark.video && video_marks < videos.size()) {
      for (const std::string& stamp : videos[video_marks]) {
        LOCUS_CHECK(add_piece(from, std::max(end, from), stamp));
        from = std::max(end, from);
        marked.tokens.push_back({kind.video_id, {}});
      }
    } else {
      LOCUS_CHECK(add_piece(from, end, ""));
      if (mark.begin == std::string::npos) {
        break;
      }
      marked.tokens.push_back({mark.video ? kind.video_id : kind.id, {}});
    }
    video_marks += mark.video ? 1 : 0;
    picture_marks += mark.video ? 0 : 1;
    from = mark.end;
  }
  std::vector<text::Token> in_front;
  if (pictures > 0 && picture_marks == 0 && number_of(marked.tokens, kind.id) == 0) {
    add_tokens(in_front, kind.id, static_cast<std::int64_t>(pictures));
  }
  if (!videos.empty() && video_marks == 0 && number_of(marked.tokens, kind.video_id) == 0) {
    for (const std::vector<std::string>& video : videos) {
      for (const std::string& stamp : video) {
        if (!stamp.empty()) {
          LOCUS_TRY(std::vector<text::Token> piece, encode(stamp, false));
          for (const text::Token& token : piece) {
            in_front.push_back({token.id, {}});
          }
        }
        in_front.push_back({kind.video_id, {}});
      }
    }
  }
  if (!in_front.empty()) {
    const auto text_begins =
        std::ranges::find_if(marked.tokens, [](const text::Token& token) { return !token.bytes.empty(); });
    marked.tokens.insert(text_begins, in_front.begin(), in_front.end());
    marked.in_front = true;
  }
  return marked;
}

Result<std::vector<text::Token>> expand_placeholders(std::vector<text::Token> tokens,
                                                     const families::Placeholders& kind,
                                                     const std::vector<PictureShape>& pictures) {
  LOCUS_TRY(const Held images, held_of(number_of(tokens, kind.id), kind.id, pictures, false));
  Held videos = Held::kAll;
  if (kind.video_id >= 0) {
    LOCUS_TRY(videos, held_of(number_of(tokens, kind.video_id), kind.video_id, pictures, true));
  }
  if (images == Held::kAll && videos == Held::kAll) {
    return tokens;
  }
  if (kind.tiles) {
    const std::int64_t needed =
        std::accumulate(pictures.begin(), pictures.end(), std::int64_t{0},
                        [](std::int64_t sum, const PictureShape& picture) { return sum + picture.count; });
    return unsupported("expected the " + std::to_string(needed) + " tokens of id " + std::to_string(kind.id) +
                       " that this family's processor writes between the names of tiles, found one for each picture");
  }
  std::vector<PictureShape> of_images;
  std::vector<PictureShape> of_videos;
  for (const PictureShape& each : pictures) {
    (each.is_video() ? of_videos : of_images).push_back(each);
  }
  std::vector<text::Token> expanded;
  std::vector<text::Token> in_front;
  std::size_t image = 0;
  std::size_t video = 0;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const bool of_image = tokens[n].id == kind.id && images == Held::kOneEach;
    const bool of_video = tokens[n].id == kind.video_id && videos == Held::kOneEach;
    if (!of_image && !of_video) {
      expanded.push_back(tokens[n]);
      continue;
    }
    const std::vector<text::Token> own =
        picture_tokens(kind, of_video ? of_videos[video++] : of_images[image++],
                       expanded.empty() ? -1 : expanded.back().id, n + 1 < tokens.size() ? tokens[n + 1].id : -1);
    std::vector<text::Token>& to = kind.first ? in_front : expanded;
    to.insert(to.end(), own.begin(), own.end());
  }
  in_front.insert(in_front.end(), expanded.begin(), expanded.end());
  return in_front;
}

}  // namespace locus::models
