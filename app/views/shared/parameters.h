// ViewParameters: what a person chooses of a view and a session stores. ViewState and ViewInput are these and more.
//
// Letters: T tokens, H heads, L layers; i is a query (a row), j a key (a column). Layers and heads count from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/token.h"
#include "core/base/reduction.h"
#include "models/api/model.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/layout.h"

namespace locus::views {

struct HeadRef {
  std::int64_t layer = 0;
  std::int64_t head = 0;

  friend bool operator==(const HeadRef&, const HeadRef&) = default;
};

// How values become colours. What is left empty, the view chooses for its quantity and its data.
struct ScaleOptions {
  std::string colormap;                      // empty: viridis, and a zero-centred one for signed values
  std::optional<float> low;                  // empty: from the data
  std::optional<float> high;                 // empty: from the data
  double percentile = 100;                   // a range from the data covers this central share of the values, (0, 100]
  bool shared = true;                        // one range for all columns
  std::optional<figure::Transfer> transfer;  // empty: from the data (transfer_of_weights()), of others linear
  float gamma = 0.5F;                        // for Transfer::kGamma
  std::uint32_t mask_color = 0xD0D0D0FF;

  friend bool operator==(const ScaleOptions&, const ScaleOptions&) = default;
};

// The visible part of the axes, in the view's own units; empty: everything.
struct Camera {
  figure::Interval x;
  figure::Interval y;

  friend bool operator==(const Camera&, const Camera&) = default;
};

constexpr std::int64_t kMean = models::kMeanHead;  // as a head: the mean over all heads
constexpr std::int64_t kAll = -2;                  // as a layer or head of data(): every one

struct ViewParameters {
  std::int64_t layer = 0;
  std::int64_t head = 0;  // or kMean
  // Heads that belong together though their numbers differ, one per column. They hold while the first is the layer and
  // head above.
  std::vector<HeadRef> partners;
  // Columns of different depth show the layers that lie as deep, instead of those of one number: `layer` is then of the
  // deepest of the columns that follow the others.
  bool by_depth = false;
  Token query;
  Token key;
  models::Quantity quantity = models::Quantity::kWeight;
  Reduction reduction = Reduction::kMax;
  // With two columns one more panel, the other minus the reference; with more every column but the reference shows its
  // difference from it instead of its map.
  bool difference = false;
  std::int64_t reference = kNone;  // a column; kNone: the last
  bool ignore_first = false;       // the range of colours leaves out key 0, where attention often sinks
  ScaleOptions scale;
  std::optional<Camera> camera;

  friend bool operator==(const ViewParameters&, const ViewParameters&) = default;
};

}  // namespace locus::views
