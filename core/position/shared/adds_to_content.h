// AddsToContent: an encoding whose logit is its content and what the place of the key adds to it, whatever stands
// there (ALiBi, T5, Kerple, FIRE, relative positions, none).
#pragma once

namespace locus::position {

class AddsToContent {
 public:
  virtual ~AddsToContent() = default;
};

}  // namespace locus::position
