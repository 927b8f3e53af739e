#include "models/training/network.h"

#include <cmath>
#include <string>
#include <utility>

#include "models/engine/vision.h"

namespace locus::training {

namespace {

constexpr double kFirstDeviation = 0.02;  // standard deviation of a connector's weights, as of the transformers'

// Initialises a connector's weights as a transformer's: normal, biases 0, norms 1.
void initialise(transformer::Connector& connector, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const transformer::Parameter& parameter : connector.parameters()) {
    *parameter.value = parameter.shape.size() > 1          ? at::randn(parameter.shape, generator) * kFirstDeviation
                       : parameter.name.ends_with(".bias") ? at::zeros(parameter.shape)
                                                           : at::ones(parameter.shape);
  }
}

void append(std::vector<transformer::Parameter> parameters, const std::string& prefix,
            std::vector<transformer::Parameter>& list) {
  for (transformer::Parameter& parameter : parameters) {
    parameter.name = prefix + parameter.name;
    list.push_back(std::move(parameter));
  }
}

// The placeholder tokens of a picture, the same in all sequences.
at::Tensor placeholders(const Examples& examples, std::int64_t id) {
  return (examples.ids[0] == id).nonzero().flatten();
}

}  // namespace

position::Positions Network::natural_positions(const Examples& examples) const {
  if (!examples.pixels.defined()) {
    return model_->positions(examples.ids.size(1));
  }
  if (tower_ == nullptr) {
    const std::int64_t patch = model_->spec().image.patch;
    return model_->grid_positions(examples.pixels.size(2) / patch, examples.pixels.size(3) / patch);
  }
  position::Positions positions = model_->positions(examples.ids.size(1));
  if (models::has_vector_positions(model_->spec())) {
    positions.ids = models::vector_positions(spans(examples), examples.ids.size(1), 0);
  }
  return positions;
}

std::vector<models::ImageSpan> Network::spans(const Examples& examples) const {
  if (tower_ == nullptr) {
    return {};
  }
  const std::int64_t cell = tower_->spec().image.patch * connector_->spec().cell();
  const std::int64_t rows = examples.pixels.size(2) / cell;
  const std::int64_t columns = examples.pixels.size(3) / cell;
  const std::int64_t first = placeholders(examples, placeholder_)[0].item<std::int64_t>();
  return {{first, rows * columns, rows, columns, columns}};
}

transformer::Batch Network::batch(const Examples& examples, position::Positions positions, at::Device device) const {
  transformer::Batch batch;
  batch.ids = examples.ids.defined() ? examples.ids.to(device) : at::Tensor();
  batch.pixels = examples.pixels.defined() && tower_ == nullptr ? examples.pixels.to(device) : at::Tensor();
  batch.positions = std::move(positions);
  batch.images = tower_ == nullptr ? nullptr : picture_rows(examples, device);
  return batch;
}

std::shared_ptr<const transformer::ImageRows> Network::picture_rows(const Examples& examples, at::Device device) const {
  const std::int64_t rows = examples.pixels.size(2) / tower_->spec().image.patch;
  const std::int64_t columns = examples.pixels.size(3) / tower_->spec().image.patch;
  transformer::Batch seen;
  seen.pixels = examples.pixels.to(device);
  seen.positions = tower_->grid_positions(rows, columns);
  std::vector<at::Tensor> states;
  const at::Tensor outcome = *tower_->replay_states(seen, {}, states);
  states.push_back(outcome);
  std::vector<at::Tensor> vectors;
  for (std::int64_t n = 0; n < examples.size(); ++n) {
    std::vector<at::Tensor> own;
    for (const at::Tensor& state : states) {
      own.push_back(state[n]);
    }
    vectors.push_back((*connector_)(connector_->read(own, tower_->prefix_tokens()), rows, columns, false));
  }
  auto images = std::make_shared<transformer::ImageRows>();
  images->tokens = placeholders(examples, placeholder_).to(device);
  images->vectors = at::stack(vectors);
  return images;
}

Result<OwnNetwork> OwnNetwork::create(const transformer::Spec& spec, const std::optional<Sight>& sight, bool fresh,
                                      std::uint64_t seed) {
  OwnNetwork made;
  LOCUS_TRY(made.model, transformer::Transformer::create(spec, fresh, seed));
  if (sight) {
    LOCUS_TRY(made.tower, transformer::Transformer::create(sight->tower, fresh, seed + 1));
    LOCUS_TRY(transformer::Connector connector,
              transformer::Connector::create(sight->connector, sight->tower, spec.width));
    made.connector = std::make_unique<transformer::Connector>(std::move(connector));
    made.placeholder = sight->placeholder;
    if (fresh) {
      initialise(*made.connector, seed + 2);
    }
  }
  return made;
}

Result<OwnNetwork> OwnNetwork::like(const OwnNetwork& other) {
  std::optional<Sight> sight;
  if (other.tower) {
    sight = Sight{other.tower->spec(), other.connector->spec(), other.placeholder};
  }
  LOCUS_TRY(OwnNetwork made, create(other.model->spec(), sight, false, 0));
  if (other.low_rank) {
    made.low_rank = other.low_rank->of(*made.model);
  }
  return made;
}

std::vector<transformer::Parameter> OwnNetwork::parameters() const {
  std::vector<transformer::Parameter> list = model->parameters();
  if (low_rank) {
    low_rank->list(list);
  }
  append(sight_parameters(), "", list);
  return list;
}

std::vector<transformer::Parameter> OwnNetwork::sight_parameters() const {
  std::vector<transformer::Parameter> list;
  if (tower) {
    append(tower->parameters(), "vision.", list);
    append(connector->parameters(), "connector.", list);
  }
  return list;
}

void OwnNetwork::merge() const {
  if (low_rank) {
    low_rank->apply();
  }
}

void OwnNetwork::to(at::Device device) const {
  model->to(device);
  if (tower) {
    tower->to(device);
    connector->to(device);
  }
}

}  // namespace locus::training
