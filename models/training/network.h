// Network: the trained and measured model: a transformer and, for texts with pictures, the tower and the connector that
// make the pictures' vectors.
//
// Letters: B sequences, T tokens, N vectors of one picture.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/training/low_rank.h"
#include "models/training/task.h"
#include "models/transformer/connector.h"
#include "models/transformer/transformer.h"

namespace locus::training {

// A view of a model that outlives it.
class Network {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a model without tower is a network.
  Network(const transformer::Transformer& model) : model_(&model) {}
  Network(const transformer::Transformer& model, const transformer::Transformer& tower,
          const transformer::Connector& connector, std::int64_t placeholder)
      : model_(&model), tower_(&tower), connector_(&connector), placeholder_(placeholder) {}

  const transformer::Transformer& model() const { return *model_; }

  // Positions of examples without edits: tokens at 0 … T−1, patches on their grid, the cells of a picture in a text at
  // its row and column where the encoding's positions are vectors.
  position::Positions natural_positions(const Examples& examples) const;
  // The picture before each text; none for plain texts and for images.
  std::vector<models::ImageSpan> spans(const Examples& examples) const;
  // The model's input for these examples; differentiable in tower and connector.
  transformer::Batch batch(const Examples& examples, position::Positions positions, at::Device device) const;

 private:
  std::shared_ptr<const transformer::ImageRows> picture_rows(const Examples& examples, at::Device device) const;

  const transformer::Transformer* model_;
  const transformer::Transformer* tower_ = nullptr;
  const transformer::Connector* connector_ = nullptr;
  std::int64_t placeholder_ = -1;
};

// A network and its weights.
struct OwnNetwork {
  std::unique_ptr<transformer::Transformer> model;
  std::unique_ptr<transformer::Transformer> tower = nullptr;  // set together with the connector, or not at all
  std::unique_ptr<transformer::Connector> connector = nullptr;
  std::int64_t placeholder = -1;
  std::unique_ptr<LowRank> low_rank = nullptr;  // of `model`; null: its weights themselves are trained

  // Errors: those of Transformer::create() and Connector::create().
  static Result<OwnNetwork> create(const transformer::Spec& spec, const std::optional<Sight>& sight, bool fresh,
                                   std::uint64_t seed);
  // A network with the specs of another and no weights, but for the tensors of low-rank additions, which are shared.
  static Result<OwnNetwork> like(const OwnNetwork& other);

  Network view() const { return tower ? Network(*model, *tower, *connector, placeholder) : Network(*model); }
  // Parameters of the model under their own names, with low-rank additions behind what they change (LowRank::list()),
  // then those of tower and connector: "vision.…" and "connector.…".
  std::vector<transformer::Parameter> parameters() const;
  std::vector<transformer::Parameter> sight_parameters() const;
  // Brings the model's weights up to date with low-rank additions; nothing to do without.
  void merge() const;
  void to(at::Device device) const;
};

}  // namespace locus::training
