// ParameterList: the parameters of a model in a fixed order, as its parts append them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/transformer/block.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// A trainable tensor, its name and the shape it must have.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  at::Tensor* value = nullptr;
  bool product = false;  // read by matrix products and row look-ups only: may stay as stored (core/products/linear.h)
};

class ParameterList {
 public:
  using Shape = std::vector<std::int64_t>;

  // `spec` decides which parts a norm has, and outlives the list.
  explicit ParameterList(const Spec& spec) : spec_(spec) {}

  void tensor(const std::string& name, Shape shape, at::Tensor& value);
  void matrix(const std::string& name, Shape shape, at::Tensor& value);  // a Parameter with `product` set
  // name.weight [out, in] and, with `bias`, name.bias [out].
  void linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias, Linear& weights);
  // name.weight [width] and, where the model's LayerNorm has a bias, name.bias [width].
  void norm(const std::string& name, std::int64_t width, NormWeights& weights);
  // The same with the parts that are asked for.
  void norm(const std::string& name, std::int64_t width, bool weight, bool bias, NormWeights& weights);
  // Every parameter of a layer, under `prefix` ("layers.3.").
  void layer(const std::string& prefix, Block& block);

  std::vector<Parameter> take() { return std::move(list_); }

 private:
  // Norms before and after a branch; one norm of the sum has the name of the one before.
  void norms(const std::string& name, NormPlace place, NormWeights& own, NormWeights& after);
  void query_norm(const std::string& name, const AttentionSpec& attention, std::int64_t heads,
                  std::vector<NormWeights>& weights);
  void attention(const std::string& prefix, const AttentionSpec& spec, LayerWeights& layer);
  void cross(const std::string& prefix, const AttentionSpec& spec, LayerWeights& layer);
  void feed_forward(const std::string& prefix, const FeedForwardSpec& spec, std::int64_t inner,
                    FeedForwardWeights& weights);
  void experts(const std::string& prefix, const FeedForwardSpec& spec, ExpertWeights& weights);

  const Spec& spec_;
  std::vector<Parameter> list_;
};

}  // namespace locus::transformer
