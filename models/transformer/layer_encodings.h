// LayerEncodings: the position encodings of a model, and the encoding of each layer.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/position/position_encoding.h"
#include "models/transformer/parameter_list.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// A position encoding and the layers that use it, in ascending order: it counts these layers only.
struct LayerEncoding {
  std::shared_ptr<position::PositionEncoding> encoding;
  std::vector<std::int64_t> layers;
};

class LayerEncodings {
 public:
  // Makes the encodings of the spec, in its order, then `none` for the layers without one. Errors: make_encoding()'s.
  static Result<LayerEncodings> create(const Spec& spec);

  auto begin() const { return encodings_.begin(); }
  auto end() const { return encodings_.end(); }
  std::size_t size() const { return encodings_.size(); }
  const LayerEncoding& front() const { return encodings_.front(); }
  const LayerEncoding& operator[](std::size_t slot) const { return encodings_[slot]; }

  // A layer's encoding: its index here, the encoding, and the layer's number among the layers that use it.
  std::int64_t slot(std::int64_t layer) const { return places_[static_cast<std::size_t>(layer)].slot; }
  const std::shared_ptr<position::PositionEncoding>& of(std::int64_t layer) const {
    return encodings_[static_cast<std::size_t>(slot(layer))].encoding;
  }
  std::int64_t number(std::int64_t layer) const { return places_[static_cast<std::size_t>(layer)].number; }
  // The encoding of cross-attention, whose keys all queries attend to: `none`; null where no layer has cross-attention.
  const std::shared_ptr<const position::PositionEncoding>& cross() const { return cross_; }

  // Errors: kBadInput where one of the encodings does not take these positions.
  Status accepts(const position::Positions& positions) const;
  // Drops what the encodings cache of other positions (position_encoding.h).
  void drop_unseen(const position::Positions& positions) const;
  // The state of each encoding, entering layer 0, for a batch of `batch` sequences.
  std::vector<position::State> states(const position::Positions& positions, std::int64_t batch) const;
  // x (…, T, E) plus the vectors that the encodings add to embeddings.
  at::Tensor added(at::Tensor x, const std::vector<position::State>& states) const;
  // (T, E), the sum of those vectors at these positions; undefined where no encoding adds any.
  at::Tensor embedding(const position::Positions& positions) const;
  // (T, C), the positions that are added behind this layer; undefined where none are.
  at::Tensor after_layer(std::int64_t layer, const position::Positions& positions) const;
  // Appends the encodings' parameters, under "position.", "position.N." and "position.after_layers.N.".
  void collect(ParameterList& list) const;

 private:
  struct Place {
    std::int64_t slot = 0;
    std::int64_t number = 0;
  };

  std::vector<LayerEncoding> encodings_;
  std::shared_ptr<const position::PositionEncoding> cross_;
  std::vector<Place> places_;  // one entry per layer
  // Tables of positions that are added behind layers 0, 1, …
  std::vector<std::shared_ptr<position::PositionEncoding>> after_;
};

}  // namespace locus::transformer
