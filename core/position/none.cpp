#include "core/position/none.h"

#include "core/position/list.h"

namespace locus::position {

const OptionTable<NoneOptions> NoneOptions::kTable{};

const Description& None::about() {
  static const Description description{
      .name = "none",
      .title = "No position encoding (NoPE)",
      .paper = "Kazemnejad et al. 2023, arXiv:2305.19466",
      .equation = "q_i·k_j/√D",
      .content = "q·k/√D",
      .no_distance = "it sees no positions",
  };
  return description;
}

Entry none_encoding() {
  return {None::about(), None::make};
}

}  // namespace locus::position
