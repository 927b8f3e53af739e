// InputReader: from an input to a batch of one, checked against the checkpoint but not edited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/engine/checkpoint.h"
#include "models/engine/prepared_input.h"

namespace locus::models {

class InputReader {
 public:
  explicit InputReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint), parts_(checkpoint.parts()) {}

  // The input on the CPU. Errors: kBadInput, kUsage for an input that the model does not take.
  Result<PreparedInput> read(const Input& input) const;
  // Tokens of the input, the encoder's of an encoder–decoder. Errors: those of read().
  Result<std::vector<TokenInfo>> tokenize(const Input& input) const;

  // Token ids of a text; those of the last one are kept, as an estimate and the run after it ask for the same. Errors:
  // kBadInput for a checkpoint without a tokenizer that Locus reads.
  Result<std::vector<text::Token>> encode(const std::string& text, bool special) const;
  // The picture of a file under these changes, with what there is to say of the file; `patch` is that of
  // image::change_picture(). Errors: its own, and those of opening.
  Result<std::shared_ptr<const image::OpenedPicture>> open_picture(const std::filesystem::path& file,
                                                                   const PictureChanges& changes,
                                                                   std::int64_t patch) const;
  // Ids and positions of these tokens for this model. Errors: kBadInput for none, and for an id outside its vocabulary.
  Result<PreparedInput> prepare_tokens(const transformer::Transformer& model, const std::vector<text::Token>& tokens,
                                       std::int64_t start) const;

 private:
  // kUsage for changes of a picture, or a choice of frames, without such a file; kBadInput for the choice itself.
  static Status check_changes(const Input& input);
  Result<PreparedInput> prepare_text(const transformer::Transformer& model, const Input& input) const;
  Result<PreparedInput> prepare_pair(const Input& input) const;
  Result<PreparedInput> prepare_image(const Input& input) const;
  // (3, H, W), normalised; fills in the picture and what there is to say of its file.
  Result<at::Tensor> pixels_of(const Input& input, PreparedInput& prepared) const;
  // The picture that normalised pixels were made of.
  Picture denormalised(const at::Tensor& pixels) const;

  const Checkpoint& checkpoint_;
  const CheckpointParts& parts_;
};

std::vector<text::Token> tokens_of(const std::vector<std::int64_t>& ids);

}  // namespace locus::models
