#include "models/training/low_rank.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace locus::training {

namespace {

constexpr const char* kDown = ".lora_A";
constexpr const char* kUp = ".lora_B";

// The rows of each projection in the matrix of this name, with the names of their additions; empty for other parameters.
std::vector<std::pair<std::string, Range>> projections_in(const transformer::Spec& spec, std::int64_t layer,
                                                          const transformer::Parameter& parameter) {
  const std::string prefix = "layers." + std::to_string(layer) + ".attention.";
  const std::int64_t out = parameter.shape.front();
  for (const char* const name : {"query", "key", "value", "output"}) {
    if (parameter.name == prefix + name + ".weight") {
      return {{prefix + name, {0, out}}};
    }
  }
  if (parameter.name != prefix + "qkv.weight") {
    return {};
  }
  const transformer::AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
  if (attention.qkv != transformer::QkvLayout::kFused) {
    return {{prefix + "qkv", {0, out}}};
  }
  const std::int64_t key = attention.heads * attention.projected_width();
  const std::int64_t value = key + attention.kv_heads * attention.projected_width();
  return {{prefix + "query", {0, key}}, {prefix + "key", {key, value}}, {prefix + "value", {value, out}}};
}

Status check_layer(const transformer::Spec& spec, std::int64_t layer) {
  const transformer::LayerSpec& each = spec.layers[static_cast<std::size_t>(layer)];
  if (each.attends && each.attention.latent.rank > 0) {
    return usage("lora: layer " + std::to_string(layer) +
                 " has latent attention; expected projections of query, key, value and output");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LowRank>> LowRank::create(transformer::Transformer& model, std::int64_t rank,
                                                 std::uint64_t seed) {
  auto made = std::make_unique<LowRank>();
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::vector<transformer::Parameter> parameters = model.parameters();
  for (std::int64_t layer = 0; layer < model.spec().depth(); ++layer) {
    LOCUS_CHECK(check_layer(model.spec(), layer));
    for (const transformer::Parameter& parameter : parameters) {
      const auto projections = projections_in(model.spec(), layer, parameter);
      if (projections.empty()) {
        continue;
      }
      const std::int64_t in = parameter.shape.back();
      Matrix matrix{parameter.name, parameter.value, parameter.value->detach(), {}};
      for (const auto& [name, rows] : projections) {
        const std::int64_t largest = std::min(in, rows.size());
        if (rank < 1 || rank > largest) {
          return usage("lora: expected a rank of 1 to " + std::to_string(largest) + ", found " + std::to_string(rank) +
                       " (" + name + " is " + std::to_string(rows.size()) + " × " + std::to_string(in) + ")");
        }
        const double bound = 1 / std::sqrt(static_cast<double>(in));
        const at::Tensor down = (at::rand({rank, in}, generator) * 2 - 1) * bound;
        const at::Device device = matrix.base.device();
        matrix.parts.push_back({name, rows, down.to(device), at::zeros({rows.size(), rank}).to(device)});
      }
      made->matrices_.push_back(std::move(matrix));
    }
  }
  if (made->matrices_.empty()) {
    return usage("lora: expected a model with projections of self-attention, found none");
  }
  return made;
}

std::unique_ptr<LowRank> LowRank::of(transformer::Transformer& model) const {
  auto made = std::make_unique<LowRank>(*this);
  made->bind(model);
  return made;
}

void LowRank::bind(transformer::Transformer& model) {
  const std::vector<transformer::Parameter> parameters = model.parameters();
  for (Matrix& matrix : matrices_) {
    matrix.merged = std::ranges::find(parameters, matrix.name, &transformer::Parameter::name)->value;
  }
}

void LowRank::list(std::vector<transformer::Parameter>& parameters) {
  std::vector<transformer::Parameter> all;
  for (transformer::Parameter& parameter : parameters) {
    const auto found = std::ranges::find(matrices_, parameter.name, &Matrix::name);
    if (found == matrices_.end()) {
      all.push_back(std::move(parameter));
      continue;
    }
    parameter.value = &found->base;
    all.push_back(std::move(parameter));
    for (Part& part : found->parts) {
      all.push_back({part.name + kDown, part.down.sizes().vec(), &part.down});
      all.push_back({part.name + kUp, part.up.sizes().vec(), &part.up});
    }
  }
  parameters = std::move(all);
}

void LowRank::apply() const {
  for (const Matrix& matrix : matrices_) {
    std::vector<at::Tensor> added;
    for (const Part& part : matrix.parts) {
      added.push_back(at::matmul(part.up, part.down));
    }
    *matrix.merged = matrix.base + kLowRankScale * at::cat(added);
  }
}

bool is_addition(const transformer::Parameter& parameter) {
  return parameter.name.ends_with(kDown) || parameter.name.ends_with(kUp);
}

}  // namespace locus::training
