// Names of the parts of a trace file with several sides. Encoder–decoder:
//   encoder   input_ids, position_ids, encoder.layers.N.…, encoder.hidden; metadata tokens, encoder.encoding, …
//   decoder   decoder_input_ids, decoder_position_ids, decoder.layers.N.…, logits; metadata decoder_tokens,
//             decoder.encoding, …
//   cross     decoder.layers.N.cross_attention, cross_q, cross_k, cross_log_sum_exp; tokens and texts of the others
// Vision-language model: the text has the names of a trace without sides; the image tower:
//   vision    vision.position_ids, vision.layers.N.…; metadata vision.tokens, vision.encoding, …
// Model with layers without a soft-max: the text has the names of a trace without sides; these layers:
//   mixer     mixer.layers.N.implied [H, T, T]; metadata mixers and attends, with an entry per layer
// Metadata locus.format, model and family describe the whole file.
#pragma once

#include <optional>
#include <string>

#include "models/api/model.h"

namespace locus::models {

class SideNames {
 public:
  // For a trace without sides: names are unchanged.
  SideNames() = default;
  explicit SideNames(Side side) : side_(side) {}

  bool crosses() const { return side_ == Side::kCross; }
  bool sees() const { return side_ == Side::kVision; }
  bool mixes() const { return side_ == Side::kMixer; }
  // The full name of a tensor ("layers.3.attention") or metadata key.
  std::string tensor(const std::string& name) const;
  std::string metadata(const std::string& key) const;

 private:
  std::optional<Side> side_;
};

}  // namespace locus::models
