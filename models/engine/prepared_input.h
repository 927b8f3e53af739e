// PreparedInput: what an input becomes before it runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "models/transformer/transformer.h"

namespace locus::models {

struct TextImages;

// A batch of one and its tokens.
struct PreparedInput {
  transformer::Batch batch;
  position::Positions unedited = {};  // positions before edits
  std::vector<TokenInfo> tokens;
  ImageGrid grid;
  Picture picture;
  std::string text;
  Input input;                               // as it was given
  std::vector<std::string> warnings;         // about the input, for the trace's model().warnings
  std::shared_ptr<PreparedInput> encoder;    // encoder–decoders: the encoder's input; all else is the decoder's
  std::shared_ptr<const TextImages> vision;  // pictures of a text; null: it has none

  // Number of tokens of the longer side.
  std::int64_t longest() const {
    return static_cast<std::int64_t>(std::max(tokens.size(), encoder ? encoder->tokens.size() : 0));
  }
};

}  // namespace locus::models
