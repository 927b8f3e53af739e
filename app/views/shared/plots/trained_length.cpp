#include "app/views/shared/plots/trained_length.h"

#include <algorithm>
#include <set>

#include "app/views/shared/plots/panel.h"

namespace locus::views {

namespace {

constexpr std::uint32_t kLineOfMaps = 0xFFFFFFFF;  // white, with a dark edge: seen on every colormap
constexpr const char* kTrainedLength = "trained length";

BeyondTrained beyond_of(const models::Trace& trace, const std::vector<models::TokenInfo>& tokens) {
  BeyondTrained beyond;
  if (trace.image_grid().rows > 0 || trace.model().trained_length <= 0) {
    return beyond;  // patches have the places they were trained in
  }
  beyond.trained = trace.model().trained_length;
  const auto is_beyond = [&](const models::TokenInfo& token) {
    return token.position >= static_cast<double>(beyond.trained);
  };
  beyond.tokens = std::count_if(tokens.begin(), tokens.end(), is_beyond);
  const auto first = std::find_if(tokens.begin(), tokens.end(), is_beyond);
  if (beyond.tokens > 0 && std::all_of(first, tokens.end(), is_beyond)) {
    beyond.first = first - tokens.begin();
  }
  return beyond;
}

}  // namespace

BeyondTrained beyond_trained(const models::Trace& trace) {
  return beyond_of(trace, trace.tokens());
}

std::string beyond_text(const models::Trace& trace) {
  const BeyondTrained beyond = beyond_trained(trace);
  if (beyond.tokens == 0) {
    return {};
  }
  return std::to_string(beyond.tokens) + " of " + std::to_string(trace.length()) +
         (beyond.tokens == 1 ? " tokens stands" : " tokens stand") + " beyond the trained length of " +
         std::to_string(beyond.trained);
}

void mark_trained_length(const models::Trace& trace, figure::Panel& panel) {
  using Direction = figure::Marker::Direction;
  panel.note = joined_notes(panel.note, beyond_text(trace));
  // Nothing where all of it is beyond, or what is stands among the others.
  const auto mark = [&](Direction direction, const std::vector<models::TokenInfo>& tokens, const char* label) {
    if (const BeyondTrained beyond = beyond_of(trace, tokens); beyond.first > 0) {
      panel.layers.emplace_back(figure::Marker{direction, static_cast<double>(beyond.first), label, kLineOfMaps, true});
    }
  };
  mark(Direction::kVertical, trace.key_tokens(), kTrainedLength);
  mark(Direction::kHorizontal, trace.tokens(), "");
}

void mark_trained_distance(std::span<const Column> columns, figure::Panel& panel) {
  std::set<std::int64_t> lengths;
  for (const Column& column : columns) {
    lengths.insert(beyond_trained(*column.trace).trained);
  }
  for (const std::int64_t length : lengths) {
    const auto at = static_cast<double>(length);
    if (length > 0 && at > panel.x.view.low && at < panel.x.view.high) {
      panel.layers.emplace_back(vertical_line(at, kTrainedLength));
    }
  }
}

}  // namespace locus::views
