// A trace file while it is opened. Each of the functions below fills its part of `data` from the file, in this order;
// they are the readers of tokens.cpp, shape.cpp, encodings.cpp and layers.cpp. Errors: kBadInput naming the file, the
// metadata or tensor, what is expected and what was found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/position/position_encoding.h"
#include "models/engine/trace/contents.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models::trace {

// An encoding of some of the layers.
struct UsedEncoding {
  std::shared_ptr<position::PositionEncoding> encoding;  // null: not known here, or incomplete
  std::optional<position::State> start;
  bool complete = true;  // every tensor of the encoding is here
};

// Where a layer finds its encoding; none: a file that does not say.
struct EncodingPlace {
  std::int64_t slot = -1;
  std::int64_t number = 0;
};

struct OpenTrace {
  TraceContents file;
  TraceData data;
  position::Positions positions;
  std::vector<UsedEncoding> encodings;
  std::vector<EncodingPlace> places;  // of each layer

  std::int64_t length() const { return static_cast<std::int64_t>(data.tokens.size()); }
  std::int64_t keys() const {
    return data.key_tokens.empty() ? length() : static_cast<std::int64_t>(data.key_tokens.size());
  }
};

Status read_tokens(OpenTrace& trace);
// Layers, heads and widths: from the tensors, and from the metadata what they do not tell; masks and logits.
Status read_shape(OpenTrace& trace);
// The metadata's encodings: `layer_encodings` with an entry per layer, else `encoding` for all. Layers with the same
// entry share one.
Status read_encodings(OpenTrace& trace);
Status read_edits(OpenTrace& trace);
Result<TraceLayer> read_layer(const OpenTrace& trace, std::int64_t index);

}  // namespace locus::models::trace
