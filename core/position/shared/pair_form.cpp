#include "core/position/shared/pair_form.h"

#include <iterator>
#include <numeric>

namespace locus::position {

namespace {

// Defaults of an encoding without pairs.
std::string instead(const PositionEncoding& encoding) {
  const Description& about = encoding.description();
  if (about.has_gates) {
    return "counts gates and adds an embedding of the count";
  }
  if (about.forgets) {
    return "adds the gates of the tokens between";
  }
  if (encoding.needs_carry()) {
    return "follows the tokens between key and query";
  }
  if (about.rotates) {
    return "changes whole queries and keys";
  }
  if (about.scores) {
    return "changes the logit by the distance";
  }
  if (about.embeds) {
    return "adds to the token embeddings";
  }
  return "knows no positions";
}

}  // namespace

std::string PairForm::name(std::int64_t head, std::int64_t pair) const {
  const std::int64_t first = std::ssize(names) > pairs() ? head * pairs() : 0;
  return names.empty() ? std::to_string(pair) : names[static_cast<std::size_t>(first + pair)];
}

Result<PairForm> pair_form(const PositionEncoding& encoding, const Prepared& prepared, std::int64_t layer) {
  if (const auto* paired = dynamic_cast<const Paired*>(&encoding)) {
    LOCUS_TRY(PairForm form, paired->pair_form(prepared, layer));
    for (at::Tensor* numbers : {&form.frequencies, &form.decay, &form.query_phases}) {
      *numbers = numbers->defined() ? numbers->to(at::kCPU) : *numbers;
    }
    return form;
  }
  return unsupported("encoding " + encoding.description().name + " turns no pairs of channels: it " +
                     instead(encoding));
}

std::vector<std::vector<std::int64_t>> pair_channels(std::int64_t pairs, PairLayout layout) {
  std::vector<std::vector<std::int64_t>> channels;
  for (std::int64_t m = 0; m < pairs; ++m) {
    switch (layout) {
      case PairLayout::kHalf:
        channels.push_back({m, m + pairs});
        break;
      case PairLayout::kInterleaved:
        channels.push_back({2 * m, 2 * m + 1});
        break;
      case PairLayout::kSwapped:
        channels.push_back({m + pairs, m});
        break;
      case PairLayout::kAxes: {
        const std::int64_t first = m + (m < pairs / 2 ? 0 : pairs / 2);
        channels.push_back({first, first + pairs / 2});
        break;
      }
    }
  }
  return channels;
}

std::vector<std::int64_t> channels_from(std::int64_t begin, std::int64_t width) {
  std::vector<std::int64_t> channels(static_cast<std::size_t>(width > begin ? width - begin : 0));
  std::iota(channels.begin(), channels.end(), begin);
  return channels;
}

}  // namespace locus::position
