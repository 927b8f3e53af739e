#include "models/engine/picture_text_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "models/engine/input_reader.h"
#include "models/engine/picture_marks.h"
#include "models/engine/vision.h"
#include "models/formats/tensor_source.h"
#include "models/image/image.h"
#include "models/image/video.h"

namespace locus::models {

namespace {

static_assert(kMaxTakenFrames == image::kMaxVideoFrames);

// The tokens that stand for pictures, one after another; pictures that stand side by side are two runs where the counts
// say so. Puts the pictures, which come with those of videos behind the others, into the order of the text. Errors:
// kBadInput where a picture's tokens are mixed with those of a video.
Result<std::vector<std::int64_t>> placeholder_tokens(const Vision& vision, const std::vector<text::Token>& tokens,
                                                     TextImages& text) {
  struct Unit {
    std::span<const TowerImage> images;
    std::int64_t count = 0;  // tokens
  };
  std::vector<Unit> pictures;
  std::vector<Unit> frames;
  std::size_t first = 0;
  for (const std::size_t parts : text.parts) {
    const auto own = std::span<const TowerImage>(text.images).subspan(first, parts);
    first += parts;
    if (own.front().video < 0) {
      LOCUS_TRY(const std::int64_t count, vision.count(own));
      pictures.push_back({own, count});
      continue;
    }
    for (std::size_t n = 0; n < parts; ++n) {
      frames.push_back({own.subspan(n, 1), vision.count(own[n])});
    }
  }
  const families::Placeholders& kind = vision.placeholders();
  std::vector<std::int64_t> found;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    if (tokens[n].id == kind.id || (kind.video_id >= 0 && tokens[n].id == kind.video_id)) {
      found.push_back(static_cast<std::int64_t>(n));
    }
  }
  const auto is_video = [&](std::int64_t at) {
    return kind.video_id >= 0 && kind.video_id != kind.id && tokens[static_cast<std::size_t>(at)].id == kind.video_id;
  };
  auto picture = pictures.begin();
  auto frame = frames.begin();
  std::vector<TowerImage> ordered;
  std::vector<std::size_t> parts;
  for (std::size_t at = 0; at < found.size();) {
    const bool video = is_video(found[at]);
    auto& next = video ? frame : picture;
    const auto end = at + static_cast<std::size_t>(next == (video ? frames.end() : pictures.end()) ? 0 : next->count);
    bool own = end > at && end <= found.size();
    for (std::size_t n = at; own && n < end; ++n) {
      own = video == is_video(found[n]);
    }
    if (!own) {
      return bad_input(std::string("expected the tokens of a ") + (video ? "video" : "picture") +
                       " together, found others between them");
    }
    ordered.insert(ordered.end(), next->images.begin(), next->images.end());
    parts.push_back(next->images.size());
    ++next;
    at = end;
  }
  text.images = std::move(ordered);
  text.parts = std::move(parts);
  return found;
}

// What the tower takes as one, from its `first` token on.
ImageSpan span_of(const Vision& vision, const TowerImage& image, std::span<const std::int64_t> tokens) {
  const std::int64_t cell = vision.connector().spec().cell();
  const std::int64_t count = vision.count(image);
  const std::int64_t rows = image.grid.rows / cell;
  const std::int64_t columns = image.grid.columns / cell;
  ImageSpan span{tokens.front(), count, rows, columns, columns};
  if (rows > 1 && rows * columns == count) {
    span.pitch = tokens[static_cast<std::size_t>(columns)] - span.first;
  }
  bool grid = rows * columns == count;
  for (std::int64_t n = 0; grid && n < count; ++n) {
    grid = tokens[static_cast<std::size_t>(n)] == span.token(n);
  }
  return grid ? span : ImageSpan{span.first, count};
}

// The spans of a picture's tiles as one; without cells where their tokens are in no order that a span can say.
ImageSpan joined_tiles(const image::TilePlace& grid, const std::vector<ImageSpan>& tiles) {
  const ImageSpan& first = tiles.front();
  ImageSpan all = first;
  all.tile_rows = first.rows;
  all.tile_columns = first.columns;
  all.tile_pitch = tiles[1].first - first.first;
  all.rows = first.rows * grid.rows;
  all.columns = first.columns * grid.columns;
  all.count = all.rows * all.columns;
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    ImageSpan expected = first;
    expected.first += static_cast<std::int64_t>(n) * all.tile_pitch;
    if (!(tiles[n] == expected) || first.rows == 0) {
      return {};
    }
  }
  return all.tiles_fit() ? all : ImageSpan();
}

// A picture of which tiles, row by row, are the parts.
Picture joined_pictures(const image::TilePlace& grid, std::span<const TowerImage> tiles) {
  const Picture& first = tiles.front().picture;
  for (const TowerImage& tile : tiles) {
    if (!tile.picture.rgba || tile.picture.width != first.width || tile.picture.height != first.height) {
      return {};
    }
  }
  Picture whole{first.width * grid.columns, first.height * grid.rows, nullptr};
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(4 * whole.width * whole.height));
  for (const TowerImage& tile : tiles) {
    for (std::int64_t row = 0; row < first.height; ++row) {
      const auto from = tile.picture.rgba->begin() + 4 * row * first.width;
      std::copy(
          from, from + 4 * first.width,
          rgba.begin() + 4 * ((tile.tile.row * first.height + row) * whole.width + tile.tile.column * first.width));
    }
  }
  whole.rgba = std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba));
  return whole;
}

// The part of a picture whose patches are these cells.
Picture cut_out(const Picture& whole, const image::CellWindow& cells, std::int64_t patch) {
  if (!whole.rgba) {
    return {};
  }
  Picture part{cells.columns * patch, cells.rows * patch, nullptr};
  std::vector<std::uint8_t> rgba;
  rgba.reserve(static_cast<std::size_t>(4 * part.width * part.height));
  for (std::int64_t row = 0; row < part.height; ++row) {
    const auto from = whole.rgba->begin() + 4 * ((cells.top * patch + row) * whole.width + cells.left * patch);
    rgba.insert(rgba.end(), from, from + 4 * part.width);
  }
  part.rgba = std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba));
  return part;
}

// The whole picture, and behind it the cells of all tiles that it covers, with an end of each row.
void place_rows(const Vision& vision, std::span<const TowerImage> picture, std::span<const std::int64_t>& rest,
                TextImages& text) {
  ImageSpan whole = span_of(vision, picture.front(), rest);
  whole.whole = true;
  text.spans.push_back(whole);
  text.pictures.push_back(picture.front().picture);
  rest = rest.subspan(static_cast<std::size_t>(whole.count));
  const image::CellWindow window = Vision::covered(picture);
  const ImageGrid cells = vision.reduced(picture);
  ImageSpan rows{rest.front(), cells.rows * cells.columns, cells.rows, cells.columns, cells.columns + 1};
  rows.ended = true;
  const auto count = static_cast<std::size_t>(rows.count + rows.rows);
  bool contiguous = true;
  for (std::size_t n = 0; n < count; ++n) {
    contiguous = contiguous && rest[n] == rest.front() + static_cast<std::int64_t>(n);
  }
  text.spans.push_back(contiguous ? rows : ImageSpan{rest.front(), static_cast<std::int64_t>(count)});
  text.pictures.push_back(
      cut_out(joined_pictures(picture.back().tile, picture.subspan(1)), window, vision.tower().spec().image.patch));
  rest = rest.subspan(count);
}

// What a model whose tiles have ends of rows says of another processor.
const char* vision_processor(const Vision& vision) {
  return vision.reduces()
             ? "image_processor_type: expected LlavaOnevisionImageProcessor, whose tiles this model reads, "
               "found another or none"
             : "image_processor_type: expected LlavaNextImageProcessor, whose tiles this model reads, "
               "found another or none";
}

// Where the pictures stand, and what is seen of them.
void place_pictures(const Vision& vision, const std::vector<std::int64_t>& tokens, TextImages& text) {
  std::span<const std::int64_t> rest = tokens;
  std::size_t next = 0;
  for (const std::size_t parts : text.parts) {
    const auto own = std::span<const TowerImage>(text.images).subspan(next, parts);
    if (vision.ends_rows()) {
      place_rows(vision, own, rest, text);
      next += parts;
      continue;
    }
    std::vector<ImageSpan> spans;
    for (const TowerImage& image : own) {
      ImageSpan& span = spans.emplace_back(span_of(vision, image, rest));
      span.video = image.video;
      span.frame = image.frame;
      span.step = image.step;
      span.seconds = image.seconds;
      rest = rest.subspan(static_cast<std::size_t>(vision.count(image)));
    }
    next += parts;
    const image::TilePlace& grid = own.front().tile;
    const auto tiles = static_cast<std::size_t>(grid.rows * grid.columns);
    const ImageSpan joined =
        tiles > 1 && tiles <= parts
            ? joined_tiles(grid, {spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(tiles)})
            : ImageSpan();
    if (joined.count > 0) {
      text.spans.push_back(joined);
      text.pictures.push_back(joined_pictures(grid, own.first(tiles)));
    }
    for (std::size_t n = joined.count > 0 ? tiles : 0; n < parts; ++n) {
      spans[n].whole = joined.count > 0;
      text.spans.push_back(spans[n]);
      text.pictures.push_back(own[n].picture);
    }
  }
}

// "image 1, row 3, column 4", "video 1, frame 2, row 3, column 4".
void name_cells(const std::vector<ImageSpan>& spans, std::vector<TokenInfo>& tokens) {
  for (std::size_t n = 0; n < spans.size(); ++n) {
    const ImageSpan& span = spans[n];
    const std::string image = picture_name(spans, n);
    for (std::int64_t cell = 0; cell < span.count; ++cell) {
      const std::string place = span.rows > 0 ? ", row " + std::to_string(cell / span.columns) + ", column " +
                                                    std::to_string(cell % span.columns)
                                              : ", cell " + std::to_string(cell);
      tokens[static_cast<std::size_t>(span.token(cell))].label = image + place;
    }
    for (std::int64_t row = 0; span.ended && row < span.rows; ++row) {
      tokens[static_cast<std::size_t>(span.row_end(row))].label = image + ", end of row " + std::to_string(row);
    }
  }
}

// The pictures that are no videos.
std::size_t pictures_of(const TextImages& text) {
  std::size_t pictures = 0;
  std::size_t next = 0;
  for (const std::size_t parts : text.parts) {
    pictures += text.images[next].video < 0 ? 1 : 0;
    next += parts;
  }
  return pictures;
}

// The text before each block of each video; a group of frames is a block where the text says their times.
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

// What there is to say where other frames were taken than were asked for; empty: nothing.
std::string other_frames(const image::TakenVideo& video, const image::VideoOptions& options,
                         const VideoFrames& frames) {
  const std::string taken = std::to_string(video.indices.size()) + " frames are taken: ";
  if (frames.fps) {
    const double wanted = static_cast<double>(video.total) / video.fps * *frames.fps;
    const bool few = wanted < static_cast<double>(std::min(options.least_frames, video.total));
    const bool many = wanted > static_cast<double>(std::min(options.most_frames, video.total));
    if (few || many) {
      return taken + "the model's processor takes " + std::to_string(options.least_frames) + " to " +
             std::to_string(options.most_frames) + ", and the video has " + std::to_string(video.total);
    }
  }
  if (frames.count && *frames.count != static_cast<std::int64_t>(video.indices.size())) {
    return taken + (*frames.count > video.total
                        ? "the video has " + std::to_string(video.total)
                        : "the model's processor takes whole groups of " + std::to_string(options.group));
  }
  return {};
}

attention::BlocksInWindows windows_of(families::ImageBlocks kind) {
  switch (kind) {
    case families::ImageBlocks::kImages:
      return attention::BlocksInWindows::kCut;
    case families::ImageBlocks::kWithin:
      return attention::BlocksInWindows::kCutOnly;
    default:
      return attention::BlocksInWindows::kWhole;
  }
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
  return attention::Blocks::make(std::move(of), false, windows_of(kind));
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
  const bool pinpoints = parts_.preprocessing.rule == image::ResizeRule::kPinpoints;
  if ((input.pixels || !input.images.empty()) && !parts_.unread_pictures && pinpoints != parts_.vision->ends_rows()) {
    return unsupported(pinpoints ? "image_processor_type: expected one of a model without image_newline, found tiles "
                                   "whose rows have ends"
                                 : vision_processor(*parts_.vision),
                       parts_.info.name + ": preprocessor_config.json");
  }
  if (input.pixels) {
    LOCUS_TRY(const std::shared_ptr<const PreparedPicture> pictures, prepared_pixels(*input.pixels));
    text->images = pictures->parts;
    text->parts.assign(text->images.size(), 1);  // a file of pixels does not say which are tiles
    if (parts_.vision->ends_rows()) {
      LOCUS_TRY(text->parts, parts_.vision->find_tiles(*input.pixels, parts_.preprocessing, text->images));
    }
    return text;
  }
  if (parts_.vision->reduces() && input.images.size() > 1) {
    warnings.emplace_back(
        "each picture is cut into tiles, as the family's processor does with a list of pictures; of one message with "
        "several pictures it makes a square of each");
  }
  for (const std::filesystem::path& file : input.images) {
    LOCUS_TRY(const std::shared_ptr<const PreparedPicture> picture, prepared_picture(file, input.picture));
    if (!picture->warning.empty()) {
      warnings.push_back(picture->warning);
    }
    text->images.insert(text->images.end(), picture->parts.begin(), picture->parts.end());
    text->parts.push_back(picture->parts.size());
  }
  for (std::size_t n = 0; n < input.videos.size(); ++n) {
    LOCUS_TRY(const std::shared_ptr<const PreparedPicture> video, prepared_video(input.videos[n], input.video_frames));
    if (!video->warning.empty()) {
      warnings.push_back(video->warning);
    }
    for (const TowerImage& part : video->parts) {
      text->images.push_back(part);
      text->images.back().video = static_cast<std::int64_t>(n);
    }
    text->parts.push_back(video->parts.size());
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

Result<std::shared_ptr<const PreparedPicture>> PictureTextReader::prepared_video(const std::filesystem::path& file,
                                                                                 const VideoFrames& frames) const {
  if (parts_.vision->videos() == image::VideoRule::kNone) {
    return unsupported("expected pictures alone, since models of this family read no videos, found a video",
                       file.string());
  }
  if (parts_.unread_videos) {
    return *parts_.unread_videos;
  }
  return parts_.vision->kept().file(
      file, {}, [&] { return prepare_video(file, frames); }, frames);
}

// Groups of frames, each shown by its first one; the last group is filled with the last frame.
Result<PreparedPicture> PictureTextReader::prepare_video(const std::filesystem::path& file,
                                                         const VideoFrames& frames_taken) const {
  const Vision& vision = *parts_.vision;
  const std::int64_t cell = vision.tower().spec().image.patch * vision.connector().spec().cell();
  image::VideoOptions options = parts_.video;
  options.group = vision.tower().spec().image.frames;
  if (frames_taken.fps) {
    options.fps = *frames_taken.fps;
    options.count = 0;
  }
  options.count = frames_taken.count.value_or(options.count);
  LOCUS_TRY(image::TakenVideo video, image::open_video(file, options, cell));
  const std::vector<image::GroupTime> times =
      image::group_times(video.indices, video.total, video.fps, options, vision.tokens_per_second());
  PreparedPicture made;
  made.warning = video.warning;
  if (const std::string other = other_frames(video, options, frames_taken); !other.empty()) {
    made.warning += (made.warning.empty() ? file.string() + ": " : "; ") + other;
  }
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
  if (made.warning.empty() && parts_.preprocessing.rule == image::ResizeRule::kSize) {
    const image::TilePlace grid =
        image::canvas_of(picture->picture.width, picture->picture.height, parts_.preprocessing);
    if (grid.rows * grid.columns > 1) {
      made.warning = file.string() + ": the family's processor would cut this picture into " +
                     std::to_string(grid.rows) + " × " + std::to_string(grid.columns) +
                     " tiles; crop_to_patches in preprocessor_config.json turns that off";
    }
  }
  LOCUS_TRY(const std::vector<image::Pixels> parts,
            within(image::preprocess_all(picture->picture, parts_.preprocessing, cell), file.string()));
  for (const image::Pixels& pixels : parts) {
    const at::Tensor values =
        at::from_blob(const_cast<float*>(pixels.values.data()), {3, pixels.height, pixels.width}, at::kFloat).clone();
    LOCUS_TRY(TowerImage own, within(parts_.vision->image_of(values), file.string()));
    own.picture = {pixels.shown.width, pixels.shown.height,
                   std::make_shared<const std::vector<std::uint8_t>>(pixels.shown.rgba)};
    own.tile = pixels.tile;
    own.source_width = picture->picture.width;
    own.source_height = picture->picture.height;
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
              encode_marked(*input.text, pictures_of(images), stamps_of(images.images, stamped), kind, encode_piece));
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
  const bool known = input.text.has_value();  // whether words have ids
  std::size_t next = 0;
  for (const std::size_t parts : images.parts) {
    const auto own = std::span<const TowerImage>(images.images).subspan(next, parts);
    next += parts;
    if (own.front().video >= 0) {
      for (const TowerImage& image : own) {
        if (stamped || image.frame == 0) {
          shapes.push_back({0, 0, 0, image.video});
        }
        shapes.back().count += vision.count(image);
      }
      continue;
    }
    PictureShape shape;
    LOCUS_TRY(shape.count, vision.count(own));
    const ImageGrid& grid = own.front().grid;
    if (parts == 1 && grid.rows / cell * (grid.columns / cell) == shape.count) {
      shape = {grid.rows / cell, grid.columns / cell, shape.count};
    }
    if (kind.marks_parts() && known) {
      LOCUS_TRY(shape.parts, marked_parts(own, kind));
    }
    kind.tiles = kind.tiles || (kind.marks_parts() && (known ? shape.parts.empty() : parts > 1));
    shapes.push_back(shape);
  }
  return expand_placeholders(std::move(tokens), kind, shapes);
}

namespace {

// The word before a tile with its number, row and column.
std::string tile_name(std::string_view word, std::size_t number, const image::TilePlace& place) {
  std::string name(word);
  for (const auto& [mark, count] : {std::pair{"{tile}", static_cast<std::int64_t>(number)},
                                    std::pair{"{row}", place.row + 1}, std::pair{"{column}", place.column + 1}}) {
    if (const std::size_t at = name.find(mark); at != std::string::npos) {
      name.replace(at, std::string_view(mark).size(), std::to_string(count));
    }
  }
  return name;
}

}  // namespace

Result<std::vector<PicturePart>> PictureTextReader::marked_parts(std::span<const TowerImage> picture,
                                                                 const families::Placeholders& kind) const {
  std::vector<PicturePart> parts;
  for (std::size_t n = 0; n < picture.size(); ++n) {
    const bool tile = picture[n].tile.rows > 0;
    const bool whole = !tile && (picture.size() > 1 || !kind.whole_behind_tiles);
    const std::string before = tile    ? tile_name(kind.tile_word, n + 1, picture[n].tile)
                               : whole ? std::string(kind.whole_word)
                                       : "";
    PicturePart& part = parts.emplace_back();
    part.count = parts_.vision->count(picture[n]);
    LOCUS_TRY(part.before, word_id(-1, before));
    LOCUS_TRY(part.after, word_id(-1, kind.part_end_word));
    if ((!before.empty() && part.before < 0) || (!kind.part_end_word.empty() && part.after < 0)) {
      return std::vector<PicturePart>();
    }
  }
  return parts;
}

Result<std::int64_t> PictureTextReader::word_id(std::int64_t id, std::string_view word) const {
  if (id >= 0 || word.empty()) {
    return id;
  }
  LOCUS_TRY(const std::vector<text::Token> tokens, reader_.encode(std::string(word), false));
  if (tokens.size() != 1) {
    return -1;
  }
  const std::int64_t found = tokens.front().id;  // the token of unknown words stands for any
  const text::Tokenizer& tokenizer = *parts_.tokenizer;
  return tokenizer.label(found) == word || tokenizer.decode(std::array{found}) == word ? found : -1;
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
  for (const auto& [unread, what] :
       {std::pair{kind.unread_video_id, "a video, since models of this family read no videos"},
        std::pair{kind.unread_sound_id, "sound, since models of this family read none"}}) {
    const std::int64_t id = unread;
    if (id >= 0 && std::ranges::any_of(ids, [id](const text::Token& each) { return each.id == id; })) {
      return unsupported("expected no token of id " + std::to_string(id) + ", which stands for " + what + ", found one",
                         parts_.info.name);
    }
  }
  LOCUS_TRY(const std::vector<std::int64_t> found, placeholder_tokens(vision, ids, *text));
  const auto start = static_cast<double>(input.position_start + kind.first_position);
  LOCUS_TRY(PreparedInput prepared,
            reader_.prepare_tokens(*parts_.transformer, ids, input.position_start + kind.first_position));
  prepared.text = input.text.value_or("");
  prepared.warnings = std::move(warnings);
  const auto length = static_cast<std::int64_t>(ids.size());
  if (!text->images.empty()) {
    text->tokens = at::tensor(at::ArrayRef<std::int64_t>(found), at::kLong);
    place_pictures(vision, found, *text);
    text->order = vision.order(text->images, text->parts);
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
