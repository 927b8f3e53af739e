#include "models/engine/position_table.h"

#include <utility>

#include "core/base/guarded.h"
#include "core/position/list.h"
#include "models/engine/overrides.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models {

namespace {

constexpr std::int64_t kMaxPositions = std::int64_t{1} << 20;

class VectorTable final : public PositionTable {
 public:
  VectorTable(at::Tensor vectors, std::int64_t heads) : vectors_(std::move(vectors)), heads_(heads) {}

  std::int64_t length() const override { return vectors_.size(1); }
  Result<Field> dot_product(std::int64_t head, Range rows, Range columns, const Similarity& similarity) const override {
    return guarded([&]() -> Result<Field> {
      const at::NoGradGuard no_grad;
      return dot_product_field(vectors_, head, heads_, rows, columns, similarity);
    });
  }

 private:
  at::Tensor vectors_;  // (1 or H, T, X)
  std::int64_t heads_;
};

// The layer's encoding with its trained tensors under other settings.
Result<std::shared_ptr<const position::PositionEncoding>> encoding_with(const CheckpointParts& parts,
                                                                        const Overrides& overrides,
                                                                        std::int64_t layer) {
  const transformer::Transformer& model = *parts.transformer;
  const auto slot = static_cast<std::size_t>(model.encodings().slot(layer));
  if (overrides == Overrides{} || slot >= model.spec().encodings.size()) {
    return model.layer_encoding(layer);
  }
  transformer::EncodingSpec own = model.spec().encodings[slot];
  LOCUS_CHECK(override_encoding(overrides, own));
  LOCUS_TRY(auto made, position::make_encoding(own.name, own.options, model.layer_encoding(layer)->shape()));
  const std::vector<position::Parameter> trained = model.encodings()[slot].encoding->parameters();
  const std::vector<position::Parameter> fresh = made->parameters();
  for (std::size_t n = 0; n < fresh.size(); ++n) {
    *fresh[n].value = *trained[n].value;
  }
  return std::shared_ptr<const position::PositionEncoding>(std::move(made));
}

}  // namespace

Result<std::shared_ptr<const PositionTable>> position_table(const Checkpoint& checkpoint,
                                                            const PositionRequest& request, std::int64_t layer) {
  return guarded([&]() -> Result<std::shared_ptr<const PositionTable>> {
    const at::NoGradGuard no_grad;
    LOCUS_CHECK(checkpoint.ready());
    const CheckpointParts& parts = checkpoint.parts();
    if (layer < 0 || layer >= parts.info.layers) {
      return bad_input("layer: expected 0 to " + std::to_string(parts.info.layers - 1) + ", found " +
                       std::to_string(layer));
    }
    const bool grid = request.rows > 0;
    if (grid != parts.info.image) {
      return bad_input(
          parts.info.image ? "expected a grid of patches, found a length" : "expected a length, found a grid",
          parts.info.name);
    }
    const std::int64_t count = grid ? request.rows * request.columns : request.length;
    if (count < 1 || count > kMaxPositions || request.rows > kMaxPositions || request.columns > kMaxPositions) {
      return bad_input("positions: expected 1 to " + std::to_string(kMaxPositions) + ", found " +
                       std::to_string(count));
    }
    LOCUS_TRY(const auto encoding, encoding_with(parts, request.overrides, layer));
    const position::Positions positions = grid ? parts.transformer->grid_positions(request.rows, request.columns)
                                               : position::Positions::sequence(request.length);
    LOCUS_CHECK(encoding->accepts(positions));
    const position::State state = encoding->begin(positions, 1);
    const std::int64_t number = parts.transformer->encoding_layer(layer);
    const std::string name = encoding->description().name;
    if (number > 0 && encoding->state_values(state, number).defined()) {
      return unsupported("above layer 0 the encoding " + name +
                         " depends on the text: it is known at the text's own positions only");
    }
    const at::Tensor vectors = encoding->vectors(state, number);
    if (!vectors.defined()) {
      return unsupported("encoding " + name + " has no dot product of positions");
    }
    return std::shared_ptr<const PositionTable>(std::make_shared<VectorTable>(vectors, parts.info.heads));
  });
}

}  // namespace locus::models
