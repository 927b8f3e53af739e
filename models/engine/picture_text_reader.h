// PictureTextReader: the input of a vision-language model, a text with the pictures that stand in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/engine/input_reader.h"
#include "models/engine/picture_marks.h"
#include "models/engine/vision.h"

namespace locus::models {

class PictureTextReader {
 public:
  PictureTextReader(const InputReader& reader, const CheckpointParts& parts) : reader_(reader), parts_(parts) {}

  // A picture alone is a text of its mark. Errors: kUsage, kBadInput.
  Result<PreparedInput> read(const Input& input) const;
  // The input's pictures as the tower takes them, and behind them the frames of its videos; what is made of a file is
  // kept. Adds warnings about the files. Errors: those of reading and preparing a picture or a video.
  Result<std::shared_ptr<TextImages>> images(const Input& input, std::vector<std::string>& warnings) const;

 private:
  Result<PreparedInput> prepare(const Input& input) const;
  Result<PreparedPicture> prepare_picture(const std::filesystem::path& file, const PictureChanges& changes) const;
  Result<std::shared_ptr<const PreparedPicture>> prepared_pixels(const std::filesystem::path& file) const;
  Result<std::shared_ptr<const PreparedPicture>> prepared_picture(const std::filesystem::path& file,
                                                                  const PictureChanges& changes) const;
  Result<PreparedPicture> prepare_video(const std::filesystem::path& file, const VideoFrames& frames) const;
  Result<std::shared_ptr<const PreparedPicture>> prepared_video(const std::filesystem::path& file,
                                                                const VideoFrames& frames) const;
  // With all placeholders of the pictures.
  Result<std::vector<text::Token>> tokens(const Input& input, const TextImages& images,
                                          std::vector<std::string>& warnings) const;
  // The parts of a picture with the ids of the words around them; none where the tokenizer does not know one of the words.
  Result<std::vector<PicturePart>> marked_parts(std::span<const TowerImage> picture,
                                                const families::Placeholders& kind) const;
  // `id`, or where that is −1 the one that the tokenizer has for `word`; −1: none.
  Result<std::int64_t> word_id(std::int64_t id, std::string_view word) const;

  const InputReader& reader_;
  const CheckpointParts& parts_;
};

}  // namespace locus::models
