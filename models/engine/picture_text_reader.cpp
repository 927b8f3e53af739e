#include "models/engine/picture_text_reader.h"

#include <algorithm>
#include <utility>

#include "models/engine/input_reader.h"
#include "models/engine/picture_marks.h"
#include "models/engine/vision.h"
#include "models/formats/tensor_source.h"
#include "models/image/image.h"
#include "models/image/video.h"

namespace locus::models {

namespace {

// The tokens that stand for pictures, one after another; pictures that stand side by side are two runs where the counts
// say so. Puts the pictures, which come with those of videos behind the others, into the order of the text. Errors:
// kBadInput where a picture's tokens are mixed with those of a video.
Result<std::vector<std::int64_t>> placeholder_tokens(const Vision& vision, const std::vector<text::Token>& tokens,
                                                     std::vector<TowerImage>& images) {
  const families::Placeholders& kind = vision.placeholders();
  std::vector<std::int64_t> found;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    if (tokens[n].id == kind.id || (kind.video_id >= 0 && tokens[n].id == kind.video_id)) {
      found.push_back(static_cast<std::int64_t>(n));
    }
  }
  const auto is_video = [&](std::int64_t at) { return tokens[static_cast<std::size_t>(at)].id == kind.video_id; };
  auto next_image = images.begin();
  auto next_video = std::ranges::find_if(images, [](const TowerImage& image) { return image.video >= 0; });
  const auto images_end = next_video;
  std::vector<TowerImage> ordered;
  for (std::size_t at = 0; at < found.size();) {
    const bool video = kind.video_id >= 0 && kind.video_id != kind.id && is_video(found[at]);
    auto& next = video ? next_video : next_image;
    const auto end =
        at + static_cast<std::size_t>(next == (video ? images.end() : images_end) ? 0 : vision.count(*next));
    bool own = end > at && end <= found.size();
    for (std::size_t n = at; own && n < end; ++n) {
      own = video == (kind.video_id >= 0 && is_video(found[n]));
    }
    if (!own) {
      return bad_input(std::string("expected the tokens of a ") + (video ? "video" : "picture") +
                       " together, found others between them");
    }
    ordered.push_back(*next++);
    at = end;
  }
  images = std::move(ordered);
  return found;
}

std::vector<ImageSpan> spans_of(const Vision& vision, const TextImages& text, const std::vector<std::int64_t>& tokens) {
  const std::int64_t cell = vision.connector().spec().cell();
  std::vector<ImageSpan> spans;
  std::size_t next = 0;
  for (const TowerImage& image : text.images) {
    const std::int64_t count = vision.count(image);
    const std::int64_t rows = image.grid.rows / cell;
    const std::int64_t columns = image.grid.columns / cell;
    ImageSpan span{tokens[next], count, rows, columns, columns};
    if (rows > 1 && rows * columns == count) {
      span.pitch = tokens[next + static_cast<std::size_t>(columns)] - span.first;
    }
    bool grid = rows * columns == count;
    for (std::int64_t cell = 0; grid && cell < count; ++cell) {
      grid = tokens[next + static_cast<std::size_t>(cell)] == span.token(cell);
    }
    ImageSpan& own = spans.emplace_back(grid ? span : ImageSpan{span.first, count});
    own.video = image.video;
    own.frame = image.frame;
    own.step = image.step;
    own.seconds = image.seconds;
    next += static_cast<std::size_t>(count);
  }
  return spans;
}

// "image 1, row 3, column 4", "video 1, frame 2, row 3, column 4".
void name_cells(const std::vector<ImageSpan>& spans, std::vector<TokenInfo>& tokens) {
  for (std::size_t n = 0; n < spans.size(); ++n) {
    const ImageSpan& span = spans[n];
    for (std::int64_t cell = 0; cell < span.count; ++cell) {
      const std::string place = span.rows > 0 ? ", row " + std::to_string(cell / span.columns) + ", column " +
                                                    std::to_string(cell % span.columns)
                                              : ", cell " + std::to_string(cell);
      tokens[static_cast<std::size_t>(span.token(cell))].label = picture_name(spans, n) + place;
    }
  }
}

// Of each video the text before each of its blocks: before each of its groups of frames where that says their times.
VideoStamps stamps_of(const std::vector<TowerImage>& images, bool stamped) {
  VideoStamps stamps;
  for (const TowerImage& image : images) {
    if (image.video < 0) {
      continue;
    }
    if (image.frame == 0) {
      stamps.emplace_back();
    }
    if (stamped || image.frame == 0) {
      stamps.back().push_back(stamped ? image::time_stamp(image.seconds) : "");
    }
  }
  return stamps;
}

Result<std::shared_ptr<const attention::Blocks>> text_blocks(families::ImageBlocks kind, const at::Tensor& placeholders,
                                                             const std::vector<std::int64_t>& types,
                                                             std::int64_t length) {
  if (kind == families::ImageBlocks::kNone) {
    return std::shared_ptr<const attention::Blocks>();
  }
  std::vector<std::int64_t> of(static_cast<std::size_t>(length), -1);
  if (kind == families::ImageBlocks::kPrefix) {
    if (!types.empty() && static_cast<std::int64_t>(types.size()) != length) {
      return bad_input("token types: expected " + std::to_string(length) + ", one per token, found " +
                       std::to_string(types.size()));
    }
    for (std::size_t n = 0; n < of.size(); ++n) {
      const std::int64_t type = types.empty() ? 0 : types[n];
      if ((type != 0 && type != 1) || (n > 0 && !types.empty() && type < types[n - 1])) {
        return bad_input("token types: expected 0 for the prefix and 1 behind it, found " + std::to_string(type) +
                         " at token " + std::to_string(n));
      }
      of[n] = type == 0 ? 0 : -1;
    }
  } else {
    const auto* token = placeholders.defined() ? placeholders.data_ptr<std::int64_t>() : nullptr;
    const std::int64_t count = placeholders.defined() ? placeholders.size(0) : 0;
    std::int64_t run = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      run += n > 0 && token[n] != token[n - 1] + 1 ? 1 : 0;
      of[static_cast<std::size_t>(token[n])] = run;
    }
  }
  return attention::Blocks::make(std::move(of), false);
}

}  // namespace

at::Tensor vector_positions(const std::vector<ImageSpan>& spans, std::int64_t length, double start) {
  at::Tensor ids = at::empty({length, 3}, at::kDouble);
  auto* const at = ids.data_ptr<double>();
  double next = start;
  double extent = 0;  // of the block that is being placed
  std::size_t picture = 0;
  for (std::int64_t token = 0; token < length;) {
    if (picture < spans.size() && token == spans[picture].first && spans[picture].rows > 0 &&
        spans[picture].pitch == spans[picture].columns) {
      const ImageSpan& span = spans[picture++];
      const auto time = static_cast<double>(span.step);
      for (std::int64_t n = 0; n < span.count; ++n, ++token) {
        const std::int64_t row = n / span.columns;
        at[3 * token] = next + time;
        at[3 * token + 1] = next + static_cast<double>(row);
        at[3 * token + 2] = next + static_cast<double>(n % span.columns);
      }
      extent = std::max({extent, time + 1, static_cast<double>(std::max(span.rows, span.columns))});
      const bool goes_on = picture < spans.size() && span.video >= 0 && spans[picture].video == span.video &&
                           spans[picture].first == token;
      next += goes_on ? 0 : std::exchange(extent, 0);
      continue;
    }
    std::fill_n(at + 3 * token, 3, next);
    next += 1;
    ++token;
  }
  return ids;
}

bool has_vector_positions(const transformer::Spec& spec) {
  return std::any_of(spec.encodings.begin(), spec.encodings.end(),
                     [](const transformer::EncodingSpec& each) { return each.options.has("sections"); });
}

Result<std::shared_ptr<TextImages>> PictureTextReader::images(const Input& input,
                                                              std::vector<std::string>& warnings) const {
  auto text = std::make_shared<TextImages>();
  if (input.pixels) {
    LOCUS_TRY(const std::shared_ptr<const PreparedPicture> pictures, prepared_pixels(*input.pixels));
    text->images = pictures->parts;
    return text;
  }
  for (const std::filesystem::path& file : input.images) {
    LOCUS_TRY(const std::shared_ptr<const PreparedPicture> picture, prepared_picture(file, input.picture));
    if (!picture->warning.empty()) {
      warnings.push_back(picture->warning);
    }
    text->images.insert(text->images.end(), picture->parts.begin(), picture->parts.end());
  }
  for (std::size_t n = 0; n < input.videos.size(); ++n) {
    LOCUS_TRY(const std::shared_ptr<const PreparedPicture> video, prepared_video(input.videos[n]));
    if (!video->warning.empty()) {
      warnings.push_back(video->warning);
    }
    for (const TowerImage& part : video->parts) {
      text->images.push_back(part);
      text->images.back().video = static_cast<std::int64_t>(n);
    }
  }
  return text;
}

Result<std::shared_ptr<const PreparedPicture>> PictureTextReader::prepared_pixels(
    const std::filesystem::path& file) const {
  return parts_.vision->kept().file(file, {}, [&]() -> Result<PreparedPicture> {
    PreparedPicture made;
    LOCUS_TRY(made.parts, parts_.vision->read(file));
    return made;
  });
}

Result<std::shared_ptr<const PreparedPicture>> PictureTextReader::prepared_picture(
    const std::filesystem::path& file, const PictureChanges& changes) const {
  if (parts_.unread_pictures) {
    return *parts_.unread_pictures;
  }
  return parts_.vision->kept().file(file, changes, [&] { return prepare_picture(file, changes); });
}

Result<std::shared_ptr<const PreparedPicture>> PictureTextReader::prepared_video(
    const std::filesystem::path& file) const {
  if (parts_.vision->videos() == image::VideoRule::kNone) {
    return unsupported("expected pictures alone, since models of this family read no videos, found a video",
                       file.string());
  }
  if (parts_.unread_videos) {
    return *parts_.unread_videos;
  }
  return parts_.vision->kept().file(
      file, {}, [&] { return prepare_video(file); }, true);
}

// Groups of frames, each shown by its first one; the last group is filled with the last frame.
Result<PreparedPicture> PictureTextReader::prepare_video(const std::filesystem::path& file) const {
  const Vision& vision = *parts_.vision;
  const std::int64_t cell = vision.tower().spec().image.patch * vision.connector().spec().cell();
  image::VideoOptions options = parts_.video;
  options.group = vision.tower().spec().image.frames;
  LOCUS_TRY(image::TakenVideo video, image::open_video(file, options, cell));
  const std::vector<image::GroupTime> times =
      image::group_times(video.indices, video.total, video.fps, options, vision.tokens_per_second());
  PreparedPicture made;
  made.warning = video.warning;
  image::Preprocessing own = options.picture;
  own.resize = false;  // frames come at their last size
  own.rule = image::ResizeRule::kSize;
  for (std::size_t group = 0; group < times.size(); ++group) {
    std::vector<at::Tensor> frames;
    TowerImage image;
    Picture shown;
    for (std::int64_t n = 0; n < options.group; ++n) {
      const std::size_t frame = group * static_cast<std::size_t>(options.group) + static_cast<std::size_t>(n);
      if (frame >= video.frames.size()) {
        frames.push_back(frames.back());
        continue;
      }
      LOCUS_TRY(image::Pixels pixels, within(image::preprocess(video.frames[frame], own, cell), file.string()));
      video.frames[frame] = {};
      frames.push_back(at::from_blob(pixels.values.data(), {3, pixels.height, pixels.width}, at::kFloat).clone());
      if (n == 0) {
        shown = {pixels.shown.width, pixels.shown.height,
                 std::make_shared<const std::vector<std::uint8_t>>(std::move(pixels.shown.rgba))};
      }
    }
    LOCUS_TRY(image, within(vision.image_of_frames(at::stack(frames)), file.string()));
    image.picture = std::move(shown);
    image.video = 0;
    image.frame = static_cast<std::int64_t>(group);
    image.step = times[group].step;
    image.seconds = times[group].seconds;
    made.parts.push_back(std::move(image));
  }
  return made;
}

Result<PreparedPicture> PictureTextReader::prepare_picture(const std::filesystem::path& file,
                                                           const PictureChanges& changes) const {
  PreparedPicture made;
  const std::int64_t cell = parts_.vision->tower().spec().image.patch * parts_.vision->connector().spec().cell();
  LOCUS_TRY(const auto picture, reader_.open_picture(file, changes, cell));
  made.warning = picture->warning;
  LOCUS_TRY(const std::vector<image::Pixels> parts,
            within(image::preprocess_all(picture->picture, parts_.preprocessing, cell), file.string()));
  for (const image::Pixels& pixels : parts) {
    const at::Tensor values =
        at::from_blob(const_cast<float*>(pixels.values.data()), {3, pixels.height, pixels.width}, at::kFloat).clone();
    LOCUS_TRY(TowerImage own, within(parts_.vision->image_of(values), file.string()));
    own.picture = {pixels.shown.width, pixels.shown.height,
                   std::make_shared<const std::vector<std::uint8_t>>(pixels.shown.rgba)};
    made.parts.push_back(std::move(own));
  }
  return made;
}

Result<std::vector<text::Token>> PictureTextReader::tokens(const Input& input, const TextImages& images,
                                                           std::vector<std::string>& warnings) const {
  const Vision& vision = *parts_.vision;
  families::Placeholders kind = vision.placeholders();
  const bool stamped = vision.videos() == image::VideoRule::kStamps;
  std::vector<text::Token> tokens;
  if (input.text) {
    const EncodePiece encode_piece = [this](const std::string& piece, bool special) {
      return reader_.encode(piece, special);
    };
    LOCUS_TRY(MarkedText marked,
              encode_marked(*input.text,
                            static_cast<std::size_t>(std::ranges::count_if(
                                images.images, [](const TowerImage& each) { return each.video < 0; })),
                            stamps_of(images.images, stamped), kind, encode_piece));
    tokens = std::move(marked.tokens);
    if (marked.in_front) {
      warnings.push_back("the text has no mark " + std::string(input.videos.empty() ? kPictureMark : kVideoMark) +
                         ": the " + (input.videos.empty() ? "pictures" : "pictures or videos") +
                         " stand in front of it");
    }
    LOCUS_TRY(kind.before, word_id(kind.before, kind.before_word));
    LOCUS_TRY(kind.after, word_id(kind.after, kind.after_word));
  } else {
    tokens = tokens_of(*input.ids);
  }
  const std::int64_t cell = vision.connector().spec().cell();
  std::vector<PictureShape> shapes;
  for (const TowerImage& image : images.images) {
    const PictureShape shape{image.grid.rows / cell, image.grid.columns / cell, vision.count(image)};
    if (image.video < 0) {
      shapes.push_back(shape.rows * shape.columns == shape.count ? shape : PictureShape{0, 0, shape.count});
    } else if (stamped || image.frame == 0) {
      shapes.push_back({0, 0, shape.count, image.video});
    } else {
      shapes.back().count += shape.count;
    }
  }
  return expand_placeholders(std::move(tokens), kind, shapes);
}

Result<std::int64_t> PictureTextReader::word_id(std::int64_t id, std::string_view word) const {
  if (id >= 0 || word.empty()) {
    return id;
  }
  LOCUS_TRY(const std::vector<text::Token> tokens, reader_.encode(std::string(word), false));
  return tokens.size() == 1 ? tokens.front().id : -1;
}

Result<PreparedInput> PictureTextReader::prepare(const Input& input) const {
  const Vision& vision = *parts_.vision;
  const families::Placeholders& kind = vision.placeholders();
  std::vector<std::string> warnings;
  if (!input.videos.empty() && vision.videos() == image::VideoRule::kNone) {
    return unsupported("expected pictures alone, since models of this family read no videos, found a video",
                       input.videos.front().string());
  }
  LOCUS_TRY(const std::shared_ptr<TextImages> text, images(input, warnings));
  LOCUS_TRY(const std::vector<text::Token> ids, tokens(input, *text, warnings));
  LOCUS_TRY(const std::vector<std::int64_t> found, placeholder_tokens(vision, ids, text->images));
  const auto start = static_cast<double>(input.position_start + kind.first_position);
  LOCUS_TRY(PreparedInput prepared,
            reader_.prepare_tokens(*parts_.transformer, ids, input.position_start + kind.first_position));
  prepared.text = input.text.value_or("");
  prepared.warnings = std::move(warnings);
  const auto length = static_cast<std::int64_t>(ids.size());
  if (!text->images.empty()) {
    text->tokens = at::tensor(at::ArrayRef<std::int64_t>(found), at::kLong);
    text->spans = spans_of(vision, *text, found);
    if (has_vector_positions(parts_.transformer->spec())) {
      prepared.batch.positions.ids = vector_positions(text->spans, length, start);
      for (std::size_t n = 0; n < prepared.tokens.size(); ++n) {
        prepared.tokens[n].position = prepared.batch.positions.ids[static_cast<std::int64_t>(n)][0].item<double>();
      }
    }
    name_cells(text->spans, prepared.tokens);
    prepared.vision = text;
  }
  LOCUS_TRY(prepared.batch.blocks, text_blocks(kind.blocks, text->tokens, input.token_types, length));
  return prepared;
}

Result<PreparedInput> PictureTextReader::read(const Input& input) const {
  if (input.image && !input.text && !input.ids && input.images.empty()) {  // a picture alone is a text of its mark
    Input marked = input;
    marked.images = {*marked.image};
    marked.image.reset();
    if (parts_.tokenizer) {
      marked.text = std::string(kPictureMark);
    } else {
      marked.ids = std::vector<std::int64_t>{parts_.vision->placeholders().id};
    }
    return read(marked);
  }
  if (!input.image && !input.text && !input.ids && input.images.empty() && input.videos.size() == 1) {
    Input marked = input;  // likewise a video
    if (parts_.tokenizer || parts_.vision->videos() != image::VideoRule::kIndex) {
      marked.text = std::string(kVideoMark);
    } else {
      marked.ids = std::vector<std::int64_t>{parts_.vision->placeholders().video_id};
    }
    return read(marked);
  }
  if ((input.text ? 1 : 0) + (input.ids ? 1 : 0) != 1 || input.image ||
      (input.pixels && !(input.images.empty() && input.videos.empty()))) {
    return usage("expected text or ids, and beside them images and videos, or pixels, or neither");
  }
  if (input.decoder_text || input.decoder_ids) {
    return bad_input("expected no input of a decoder, which encoder-decoders alone have, found one", parts_.info.name);
  }
  if (input.position_start < 0) {
    return bad_input("position start: expected 0 or more, found " + std::to_string(input.position_start));
  }
  return prepare(input);
}

}  // namespace locus::models
