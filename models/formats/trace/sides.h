// What a trace file of an encoder–decoder calls the parts of its three sides:
//   encoder   input_ids, position_ids, encoder.layers.N.…, encoder.hidden; metadata tokens, encoder.encoding, …
//   decoder   decoder_input_ids, decoder_position_ids, decoder.layers.N.…, logits; metadata decoder_tokens,
//             decoder.encoding, …
//   cross     decoder.layers.N.cross_attention, cross_q, cross_k, cross_log_sum_exp; its tokens and texts are the
//   others'
// Of a vision-language model the text is called as a trace without sides, and the tower:
//   vision    vision.position_ids, vision.layers.N.…; metadata vision.tokens, vision.encoding, …
// Metadata locus.format, model and family are of the file.
#pragma once

#include <optional>
#include <string>

#include "models/api/model.h"

namespace locus::models {

class SideNames {
 public:
  // For a trace without sides: everything is called as it is.
  SideNames() = default;
  explicit SideNames(Side side) : side_(side) {}

  bool crosses() const { return side_ == Side::kCross; }
  bool sees() const { return side_ == Side::kVision; }
  // "layers.3.attention" and the like.
  std::string tensor(const std::string& name) const;
  std::string metadata(const std::string& key) const;

 private:
  std::optional<Side> side_;
};

}  // namespace locus::models
