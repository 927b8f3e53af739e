#include "models/engine/input_reader.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "core/base/guarded.h"
#include "models/engine/picture_text_reader.h"
#include "models/formats/tensor_source.h"
#include "models/image/change.h"
#include "models/image/image.h"
#include "models/transformer/windows.h"

namespace locus::models {

namespace {

std::vector<TokenInfo> grid_tokens(const ImageGrid& grid) {
  std::vector<TokenInfo> tokens;
  for (std::int64_t n = 0; n < grid.cls; ++n) {
    tokens.push_back({0, "CLS", {}, 0});
  }
  for (std::int64_t n = 0; n < grid.registers; ++n) {
    tokens.push_back({0, "REG" + std::to_string(n), {}, 0});
  }
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t column = 0; column < grid.columns; ++column) {
      const std::int64_t index = row * grid.columns + column;
      tokens.push_back({index, std::to_string(row) + "," + std::to_string(column), {}, static_cast<double>(index)});
    }
  }
  for (std::int64_t n = 0; n < grid.detections; ++n) {
    tokens.push_back({0, "DET" + std::to_string(n), {}, 0});
  }
  return tokens;
}

Result<at::Tensor> read_pixels(const std::filesystem::path& path, std::int64_t channels) {
  LOCUS_TRY(const formats::Source source, formats::open_tensors(path));
  const formats::TensorInfo* info = source->find("pixel_values");
  const std::string where = path.string() + ": tensor pixel_values";
  if (info == nullptr) {
    return bad_input("expected shape [" + std::to_string(channels) + ", H, W], found none", where);
  }
  std::vector<std::int64_t> shape = info->shape;
  if (shape.size() == 4 && shape[0] == 1) {
    shape.erase(shape.begin());
  }
  if (shape.size() != 3 || shape[0] != channels || shape[1] < 1 || shape[2] < 1) {
    return bad_input(
        "expected shape [" + std::to_string(channels) + ", H, W], found " + transformer::shape_text(info->shape),
        where);
  }
  return transformer::to_tensor(*info, source).reshape(shape).contiguous();
}

}  // namespace

std::vector<text::Token> tokens_of(const std::vector<std::int64_t>& ids) {
  std::vector<text::Token> tokens;
  for (const std::int64_t id : ids) {
    tokens.push_back({id, {}});
  }
  return tokens;
}

Status InputReader::check_changes(const Input& input) {
  if (!input.picture.empty() && !input.image && input.images.empty()) {
    return usage("picture: expected an image to change, found " +
                 std::string(input.pixels ? "pixels, which are normalised already" : "none"));
  }
  if (!input.video_frames.empty() && input.videos.empty()) {
    return usage("video frames: expected a video whose frames to take, found none");
  }
  return check_frames(input.video_frames);
}

Result<PreparedInput> InputReader::read(const Input& input) const {
  LOCUS_CHECK(check_changes(input));
  if (parts_.vision) {
    return PictureTextReader(*this, parts_).read(input);
  }
  if (!input.images.empty() || !input.videos.empty()) {
    return bad_input(
        std::string("this model takes no ") + (input.images.empty() ? "videos" : "images") + " beside text or ids",
        parts_.info.name);
  }
  const int given = (input.text ? 1 : 0) + (input.ids ? 1 : 0) + (input.image ? 1 : 0) + (input.pixels ? 1 : 0);
  if (given != 1) {
    return usage("expected one input (text, ids, image or pixels), found " + std::to_string(given));
  }
  const bool image = input.image || input.pixels;
  if (image != parts_.info.image) {
    const std::string other = !parts_.info.logit_scale ? ""
                              : parts_.info.image      ? "; its text half does (--half text, or Half in What if)"
                                                       : "; its picture half does (without --half text)";
    return bad_input((parts_.info.image ? "this model takes an image, not text or ids"
                                        : "this model takes text or ids, not an image") +
                         other,
                     parts_.info.name);
  }
  if (input.position_start < 0) {
    return bad_input("position start: expected 0 or more, found " + std::to_string(input.position_start));
  }
  if ((input.decoder_text || input.decoder_ids) && !parts_.encoder) {
    return bad_input("expected no input of a decoder, which encoder-decoders alone have, found one", parts_.info.name);
  }
  if (input.decoder_text && input.decoder_ids) {
    return usage("expected at most one input of the decoder (text or ids), found 2");
  }
  return image ? prepare_image(input) : parts_.encoder ? prepare_pair(input) : prepare_text(*parts_.transformer, input);
}

Result<std::vector<TokenInfo>> InputReader::tokenize(const Input& input) const {
  return guarded([&]() -> Result<std::vector<TokenInfo>> {
    LOCUS_TRY(PreparedInput prepared, read(input));
    return std::move(prepared.encoder ? prepared.encoder->tokens : prepared.tokens);
  });
}

Result<std::vector<text::Token>> InputReader::encode(const std::string& text, bool special) const {
  if (parts_.unread) {
    return *parts_.unread;
  }
  if (!parts_.tokenizer) {
    return bad_input("this checkpoint has no tokenizer: give ids", parts_.info.name);
  }
  LastText& last = checkpoint_.last_text();
  const std::lock_guard lock(last.mutex);
  if (last.tokens.empty() || last.special != special || last.text != text) {
    LOCUS_TRY(last.tokens, parts_.tokenizer->encode(text, special));
    while (special && static_cast<std::int64_t>(last.tokens.size()) < parts_.padded_length) {
      last.tokens.push_back({parts_.pad_id, {}});
    }
    last.text = text;
    last.special = special;
  }
  return last.tokens;
}

Result<std::shared_ptr<const image::OpenedPicture>> InputReader::open_picture(const std::filesystem::path& file,
                                                                              const PictureChanges& changes,
                                                                              std::int64_t patch) const {
  LOCUS_TRY(const std::shared_ptr<const image::OpenedPicture> opened, checkpoint_.opened_pictures().open(file));
  if (changes.empty()) {
    return opened;
  }
  LOCUS_TRY(image::Picture changed,
            within(image::change_picture(opened->picture, changes, parts_.preprocessing, patch), file.string()));
  return std::make_shared<const image::OpenedPicture>(image::OpenedPicture{std::move(changed), opened->warning});
}

Result<PreparedInput> InputReader::prepare_text(const transformer::Transformer& model, const Input& input) const {
  if (input.text) {
    LOCUS_TRY(const std::vector<text::Token> tokens, encode(*input.text, true));
    LOCUS_TRY(PreparedInput prepared, prepare_tokens(model, tokens, input.position_start));
    prepared.text = *input.text;
    return prepared;
  }
  return prepare_tokens(model, tokens_of(*input.ids), input.position_start);
}

// Texts that the encoder reads, and that the decoder has read so far.
Result<PreparedInput> InputReader::prepare_pair(const Input& input) const {
  LOCUS_TRY(PreparedInput read, prepare_text(*parts_.encoder, input));
  std::vector<text::Token> tokens{{parts_.start_token, {}}};
  if (input.decoder_ids) {
    tokens = tokens_of(*input.decoder_ids);
  } else if (input.decoder_text) {
    LOCUS_TRY(const std::vector<text::Token> own, parts_.decoder_tokenizer
                                                      ? parts_.decoder_tokenizer->encode(*input.decoder_text, false)
                                                      : encode(*input.decoder_text, false));
    tokens.insert(tokens.end(), own.begin(), own.end());
  }
  LOCUS_TRY(PreparedInput prepared,
            within(prepare_tokens(*parts_.transformer, tokens, input.position_start), "decoder"));
  prepared.text = input.decoder_text.value_or("");
  prepared.encoder = std::make_shared<PreparedInput>(std::move(read));
  return prepared;
}

Result<PreparedInput> InputReader::prepare_tokens(const transformer::Transformer& model,
                                                  const std::vector<text::Token>& tokens, std::int64_t start) const {
  PreparedInput prepared;
  if (tokens.empty()) {
    return bad_input("empty input: expected at least one token");
  }
  const text::Tokenizer* const tokenizer = parts_.tokenizer_of(model).get();
  const auto length = static_cast<std::int64_t>(tokens.size());
  prepared.batch.ids = at::empty({1, length}, at::kLong);
  auto* ids = prepared.batch.ids.data_ptr<std::int64_t>();
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const std::int64_t id = tokens[n].id;
    if (id < 0 || (id >= model.spec().vocabulary && id != parts_.info.placeholder)) {
      const bool named = tokenizer != nullptr && id >= 0 && id < tokenizer->vocabulary();
      return bad_input("token " + std::to_string(n) +
                       (named ? ", " + tokenizer->label(id) + ", for which the model has no embedding" : "") +
                       ": expected an id from 0 to " + std::to_string(model.spec().vocabulary - 1) + ", found " +
                       std::to_string(id));
    }
    ids[n] = id;
    prepared.tokens.push_back(
        {id, tokenizer != nullptr ? tokenizer->label(id) : std::to_string(id), tokens[n].bytes, 0});
  }
  prepared.batch.positions = model.positions(length, static_cast<double>(start));
  if (const std::int64_t padding = model.spec().padding; padding >= 0) {
    // Padding is at no position, one before the first, and does not count.
    const at::Tensor counts = prepared.batch.ids[0].ne(padding).to(at::kDouble);
    at::Tensor& places = prepared.batch.positions.ids;
    places = at::where(counts.gt(0), counts.cumsum(0) - 1 + static_cast<double>(start), at::full_like(counts, -1));
  }
  const at::Tensor places = prepared.batch.positions.ids.contiguous();
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    prepared.tokens[n].position = places.data_ptr<double>()[n];
  }
  return prepared;
}

Picture InputReader::denormalised(const at::Tensor& pixels) const {
  const std::int64_t channels = pixels.size(0);
  const std::int64_t height = pixels.size(1);
  const std::int64_t width = pixels.size(2);
  if (channels != 1 && channels != 3) {
    return {};
  }
  const at::Tensor values = pixels.to(at::kCPU, at::kFloat).contiguous();
  const float* data = values.data_ptr<float>();
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(4 * height * width), 255);
  for (std::int64_t n = 0; n < height * width; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      const auto source = static_cast<std::size_t>(channels == 1 ? 0 : c);
      const double value = static_cast<double>(data[static_cast<std::int64_t>(source) * height * width + n]) *
                               parts_.preprocessing.deviation[source] +
                           parts_.preprocessing.mean[source];
      rgba[static_cast<std::size_t>(4 * n + c)] =
          std::isfinite(value) ? static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0))) : 0;
    }
  }
  return {width, height, std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba))};
}

Result<at::Tensor> InputReader::pixels_of(const Input& input, PreparedInput& prepared) const {
  const transformer::ImageStem& stem = parts_.transformer->spec().image;
  if (input.pixels) {
    LOCUS_TRY(at::Tensor values, read_pixels(*input.pixels, stem.channels));
    prepared.picture = denormalised(values);
    return values;
  }
  if (parts_.unread) {
    return *parts_.unread;
  }
  LOCUS_TRY(const auto file, open_picture(*input.image, input.picture, stem.patch));
  if (!file->warning.empty()) {
    prepared.warnings.push_back(file->warning);
  }
  LOCUS_TRY(image::Pixels pixels, image::preprocess(file->picture, parts_.preprocessing, stem.patch));
  prepared.picture = {pixels.shown.width, pixels.shown.height,
                      std::make_shared<const std::vector<std::uint8_t>>(std::move(pixels.shown.rgba))};
  return at::from_blob(const_cast<float*>(pixels.values.data()), {3, pixels.height, pixels.width}, at::kFloat).clone();
}

Result<PreparedInput> InputReader::prepare_image(const Input& input) const {
  if (input.position_start != 0) {
    return bad_input("position start: images have none, found " + std::to_string(input.position_start));
  }
  PreparedInput prepared;
  LOCUS_TRY(const at::Tensor pixels, pixels_of(input, prepared));
  const transformer::ImageStem& stem = parts_.transformer->spec().image;
  prepared.grid = {pixels.size(1) / stem.patch, pixels.size(2) / stem.patch, stem.class_tokens, stem.registers,
                   stem.detections};
  if (prepared.grid.rows < 1 || prepared.grid.columns < 1 || pixels.size(1) % stem.patch != 0 ||
      pixels.size(2) % stem.patch != 0) {
    return bad_input("expected an image of whole patches of " + std::to_string(stem.patch) + " pixels, found " +
                     std::to_string(pixels.size(1)) + " × " + std::to_string(pixels.size(2)));
  }
  LOCUS_CHECK(transformer::check_grid(parts_.transformer->spec(), prepared.grid.rows, prepared.grid.columns));
  prepared.tokens = grid_tokens(prepared.grid);
  prepared.batch.pixels = pixels.unsqueeze(0);
  prepared.batch.positions = parts_.transformer->grid_positions(prepared.grid.rows, prepared.grid.columns);
  return prepared;
}

}  // namespace locus::models
