// Summaries of a trace and of a model by a server, and whether they hold together.
#include <algorithm>
#include <cmath>

#include "core/base/checked.h"
#include "models/remote/client/remote_trace.h"
#include "models/remote/codec/structs.h"

namespace locus::remote {

namespace {

using models::Side;

constexpr std::int64_t kMaxLayers = 1 << 14;
constexpr std::int64_t kMaxHeads = 1 << 14;
constexpr std::int64_t kMaxHeadsOfAll = 1 << 20;

Status hold(bool holds, const std::string& what, const std::string& peer) {
  return holds ? Status() : Status(bad_input(what, peer));
}

// Tokens with their bytes in the text.
Status check_tokens(const std::vector<models::TokenInfo>& tokens, const std::string& text, const std::string& peer) {
  const auto size = static_cast<std::int64_t>(text.size());
  for (const models::TokenInfo& token : tokens) {
    const Range bytes = token.bytes;
    LOCUS_CHECK(hold(bytes.begin >= 0 && bytes.begin <= bytes.end && (bytes.end <= size || text.empty()),
                     "expected tokens with bytes of the text, found bytes " + std::to_string(bytes.begin) + " to " +
                         std::to_string(bytes.end) + " of " + std::to_string(size),
                     peer));
  }
  return hold(!tokens.empty(), "expected tokens, found none", peer);
}

Status check_grid(const TraceSummary& own, const std::string& peer) {
  const models::ImageGrid& grid = own.grid;
  const auto length = static_cast<std::int64_t>(own.tokens.size());
  const bool sizes =
      grid.rows >= 0 && grid.columns >= 0 && grid.cls >= 0 && grid.registers >= 0 && grid.detections >= 0;
  const auto patches = checked_product({grid.rows, grid.columns});
  const auto all = patches ? checked_sum({*patches, grid.cls, grid.registers, grid.detections}) : std::nullopt;
  LOCUS_CHECK(hold(sizes && (grid.rows == 0 || (all && *all == length && *patches > 0)),
                   "expected a grid of the tokens, found another number of patches", peer));
  for (const models::ImageSpan& span : own.images) {
    const bool counts = span.first >= 0 && span.count >= 1 && span.count <= length && span.rows >= 0 &&
                        span.columns >= 0 && span.pitch >= 0 && span.pitch <= length && span.video >= -1 &&
                        span.video < length && span.frame >= 0 && span.frame < length && span.tiles_fit() &&
                        span.tile_pitch <= length;
    const std::int64_t across = span.tile_rows > 0 ? span.tile_columns : span.columns;
    const auto cells = checked_product({span.rows, span.columns});
    LOCUS_CHECK(hold(counts && (span.rows == 0 || (cells == span.count && span.pitch >= across)) &&
                         span.first < length && span.token(span.count - 1) + (span.ended ? 1 : 0) < length,
                     "expected a picture of the text's tokens, found one beyond them", peer));
  }
  return {};
}

}  // namespace

TraceSummary summary_of(const models::Trace& trace) {
  TraceSummary own;
  own.model = trace.model();
  own.tokens = trace.tokens();
  own.crosses = trace.crosses();
  if (own.crosses) {
    own.key_tokens = trace.key_tokens();
    own.key_text = trace.key_text();
  }
  own.grid = trace.image_grid();
  own.images = trace.images();
  own.picture = trace.picture();
  own.position_vectors = trace.position_vectors();
  own.pictures = trace.pictures();
  own.text = trace.text();
  own.time_ms = trace.time_ms();
  own.memory_mb = trace.memory_mb();
  own.reused = trace.reused();
  own.kept_layers = trace.kept_layers();
  own.edits = trace.edits();
  own.top = trace.top(kSentTop);
  own.token_scores = trace.token_scores();
  own.sentence = trace.sentence();
  return own;
}

Status check_info(const models::ModelInfo& info, const std::string& peer) {
  const auto count = [&](std::int64_t value, std::int64_t most, const char* name) {
    return hold(value >= 0 && value <= most,
                std::string(name) + ": expected 0 to " + std::to_string(most) + ", found " + std::to_string(value),
                peer);
  };
  constexpr std::int64_t kAny = std::int64_t{1} << 53;
  LOCUS_CHECK(count(info.layers, kMaxLayers, "layers"));
  LOCUS_CHECK(count(info.heads, kMaxHeads, "heads"));
  LOCUS_CHECK(count(info.layers * info.heads, kMaxHeadsOfAll, "heads of all layers"));
  LOCUS_CHECK(count(info.kv_heads, kMaxHeads, "kv_heads"));
  LOCUS_CHECK(count(info.encoder_layers, kMaxLayers, "encoder_layers"));
  LOCUS_CHECK(count(info.vision_layers, kMaxLayers, "vision_layers"));
  for (const std::int64_t value : {info.width, info.head_width, info.vocabulary, info.parameters, info.trained_length,
                                   info.image_tokens, info.placeholder + 1, info.video_placeholder + 1}) {
    LOCUS_CHECK(count(value, kAny, "sizes"));
  }
  LOCUS_CHECK(hold(info.layer_info.empty() || static_cast<std::int64_t>(info.layer_info.size()) == info.layers,
                   "expected what each of the layers has, found another number", peer));
  for (const models::LayerInfo& layer : info.layer_info) {
    LOCUS_CHECK(hold(layer.encoding >= -1 && layer.encoding < static_cast<std::int64_t>(info.encodings.size()) &&
                         layer.window >= 0 && layer.chunk >= 0 && layer.kv_heads >= 0 && layer.kv_heads <= kMaxHeads &&
                         layer.head_width >= 0 && layer.source >= -1 && layer.source < info.layers,
                     "expected layers with one of the encodings, found another", peer));
  }
  return {};
}

Status check_summary(const TraceSummary& own, const std::string& peer) {
  LOCUS_CHECK(check_info(own.model, peer));
  LOCUS_CHECK(check_tokens(own.tokens, own.text, peer));
  if (own.crosses) {
    LOCUS_CHECK(check_tokens(own.key_tokens, own.key_text, peer));
  }
  LOCUS_CHECK(check_grid(own, peer));
  const std::size_t length = own.tokens.size();
  LOCUS_CHECK(hold(own.position_vectors.empty() || own.position_vectors.size() == length,
                   "expected a position of each token, found another number", peer));
  LOCUS_CHECK(hold(own.token_scores.empty() || own.token_scores.size() == length,
                   "expected a score of each token, found another number", peer));
  LOCUS_CHECK(hold(own.sentence.weights.empty() || own.sentence.weights.size() == length,
                   "expected a weight of each token, found another number", peer));
  LOCUS_CHECK(hold(own.pictures.empty() || own.pictures.size() == own.images.size(),
                   "expected each picture of the text, found another number", peer));
  for (const auto& [side, other] : own.sides) {
    LOCUS_CHECK(hold(other.sides.empty() && side != Side::kDecoder, "expected sides of a run, found others", peer));
    LOCUS_CHECK(check_summary(other, peer));
  }
  return {};
}

}  // namespace locus::remote
