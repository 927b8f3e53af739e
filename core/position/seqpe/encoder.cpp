#include "core/position/seqpe/encoder.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/position/shared/fresh_weights.h"
#include "core/position/shared/option_table.h"

namespace locus::position {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr std::int64_t kBlock = 4096;  // positions at a time without gradients
constexpr double kDeviation = 0.02;

at::Tensor normalise(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, kEpsilon);
}

const OptionTable<SeqpeEncoderOptions> kEncoderOptions{
    {"base", &SeqpeEncoderOptions::base, "of the digits, 2 to 36", Whole{2, 36}},
    {"dimensions", &SeqpeEncoderOptions::dimensions, "1, or 2 for (row, column) of an image", Whole{1, 2}},
    {"digits", &SeqpeEncoderOptions::digits, "a dimension; 2 of an image. A position with more is an error",
     Whole{1, 52}, "5"},
    {"encoder_width", &SeqpeEncoderOptions::width, "channels of the encoder", Whole{1, 65536}, "C"},
    {"encoder_heads", &SeqpeEncoderOptions::heads, "its heads", Whole{1, 1024}, "H"},
    {"encoder_layers", &SeqpeEncoderOptions::layers, "its blocks", Whole{1, 64}},
    {"encoder_causal", &SeqpeEncoderOptions::causal, "causal or bidirectional over the digits"},
    {"mask_padding", &SeqpeEncoderOptions::mask_padding, "whether the zeros in front are hidden"},
    {"places", &SeqpeEncoderOptions::running_places,
     "digit places number on across dimensions, or restart: per-dimension (§3.2)",
     Words{WordTable<bool, 2>{{{"running", true}, {"per-dimension", false}}}}},
    {"last_layernorm", &SeqpeEncoderOptions::last_layernorm, "a norm before the output"},
    {"temperature", &SeqpeEncoderOptions::temperature, "divides the output", Above{0}},
};

}  // namespace

Result<SeqpeEncoderOptions> SeqpeEncoderOptions::from(const Settings& settings, const ModelShape& shape) {
  SeqpeEncoderOptions options;
  LOCUS_TRY(const std::int64_t dimensions, settings.integer("dimensions", options.dimensions));
  options.digits = dimensions == 1 ? 5 : 2;
  options.width = shape.width;
  options.heads = shape.heads;
  LOCUS_TRY(options, kEncoderOptions.read(settings, options));
  if (options.width % options.heads != 0) {
    return wrong_option("encoder_width", "a multiple of encoder_heads " + std::to_string(options.heads), options.width);
  }
  // A config.json must not make us allocate what no model has.
  const auto width = static_cast<double>(options.width);
  if (12.0 * width * width * static_cast<double>(options.layers) > 0x1p29) {
    return bad_input("option encoder_width: " + std::to_string(options.width) + " is too large for " +
                     std::to_string(options.layers) + " layers");
  }
  if (static_cast<double>(options.digits) * std::log2(static_cast<double>(options.base)) > 53.0) {
    return bad_input("option digits: expected base^digits of at most 2^53, found " + std::to_string(options.base) +
                     "^" + std::to_string(options.digits));
  }
  return options;
}

Settings SeqpeEncoderOptions::written(Settings settings) const {
  return kEncoderOptions.written(*this, std::move(settings));
}

std::vector<OptionDescription> SeqpeEncoderOptions::described(const std::vector<OptionDescription>& more) {
  return kEncoderOptions.described(more);
}

std::int64_t SeqpeEncoderOptions::limit() const {
  std::int64_t limit = 1;
  for (std::int64_t digit = 0; digit < digits; ++digit) {
    limit *= base;
  }
  return limit;
}

SeqpeEncoder::SeqpeEncoder(const SeqpeEncoderOptions& options, std::int64_t output_width)
    : options_(options), output_width_(output_width) {
  const std::int64_t width = options.width;
  const std::int64_t tokens = options.dimensions * options.digits;
  const auto normal = [](const std::vector<std::int64_t>& sizes) { return position::normal(sizes, kDeviation); };
  const auto norm = [&] { return Affine{ones({width}), zeros({width})}; };
  token_embedding_ = normal({options.base, width});
  place_embedding_ = normal({options.running_places ? tokens : options.digits, width});
  if (options.dimensions > 1) {
    dimension_embedding_ = normal({options.dimensions, 1, width});
  }
  class_token_ = normal({1, 1, width});
  for (std::int64_t index = 0; index < options.layers; ++index) {
    blocks_.push_back({norm(),
                       {normal({width, 3 * width}), zeros({3 * width})},
                       {normal({width, width}), zeros({width})},
                       norm(),
                       {normal({width, 4 * width}), zeros({4 * width})},
                       {normal({4 * width, width}), zeros({width})}});
  }
  if (options.last_layernorm) {
    last_norm_ = norm();
  }
  output_ = {normal({output_width, width}), zeros({output_width})};
}

void SeqpeEncoder::append_parameters(const std::string& prefix, std::vector<Parameter>& list) {
  const auto add = [&](const std::string& name, at::Tensor& value) { list.push_back({prefix + name, &value}); };
  const auto affine = [&](const std::string& name, Affine& pair) {
    add(name + ".weight", pair.weight);
    add(name + ".bias", pair.bias);
  };
  add("token_of_seqpe_embed.weight", token_embedding_);
  add("pos_of_seqpe_embed.weight", place_embedding_);
  if (dimension_embedding_.defined()) {
    add("dim_token_embed", dimension_embedding_);
  }
  add("cls_token_embed", class_token_);
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    const std::string block = "transformers." + std::to_string(index) + ".";
    affine(block + "layernorm_1", blocks_[index].norm_1);
    affine(block + "attn.c_attn", blocks_[index].attention);
    affine(block + "attn.c_proj", blocks_[index].projection);
    affine(block + "layernorm_2", blocks_[index].norm_2);
    affine(block + "mlp.c_fc", blocks_[index].widen);
    affine(block + "mlp.c_proj", blocks_[index].narrow);
  }
  if (last_norm_.weight.defined()) {
    affine("layernorm", last_norm_);
  }
  affine("out_proj", output_);
}

std::vector<at::Tensor> SeqpeEncoder::tensors() const {
  std::vector<at::Tensor> list{token_embedding_,  place_embedding_, dimension_embedding_, class_token_,
                               last_norm_.weight, last_norm_.bias,  output_.weight,       output_.bias};
  for (const Block& block : blocks_) {
    for (const Affine* pair :
         {&block.norm_1, &block.attention, &block.projection, &block.norm_2, &block.widen, &block.narrow}) {
      list.push_back(pair->weight);
      list.push_back(pair->bias);
    }
  }
  std::erase_if(list, [](const at::Tensor& tensor) { return !tensor.defined(); });
  return list;
}

at::Tensor SeqpeEncoder::digits(const at::Tensor& positions) const {
  at::Tensor rest = positions.to(at::kLong).view({positions.size(0), options_.dimensions});
  std::vector<at::Tensor> places;
  for (std::int64_t digit = 0; digit < options_.digits; ++digit) {
    places.push_back(at::remainder(rest, options_.base));
    rest = at::floor_divide(rest, options_.base);
  }
  std::reverse(places.begin(), places.end());
  return at::stack(places, -1).flatten(1);
}

at::Tensor SeqpeEncoder::padding(const at::Tensor& digits) const {
  const at::Tensor places = digits.view({-1, options_.dimensions, options_.digits});
  at::Tensor leading = places.ne(0).cumsum(-1).eq(0);
  leading.select(-1, -1).fill_(false);
  return leading.flatten(1);
}

at::Tensor SeqpeEncoder::encode(const at::Tensor& positions) const {
  if (at::GradMode::is_enabled() || positions.size(0) <= kBlock) {
    return encode_block(positions);
  }
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : positions.split(kBlock, 0)) {
    parts.push_back(encode_block(part));
  }
  return at::cat(parts, 0);
}

at::Tensor SeqpeEncoder::encode_block(const at::Tensor& positions) const {
  const at::Tensor digit_tokens = digits(positions).to(token_embedding_.device());
  const std::int64_t count = digit_tokens.size(0);
  const std::int64_t width = options_.width;
  const std::int64_t dimensions = options_.dimensions;
  // (P, n, k, w): places (n·k, w) or (k, w) broadcast over it, and (n, 1, w).
  at::Tensor x = at::embedding(token_embedding_, digit_tokens).view({count, dimensions, options_.digits, width});
  x = x + place_embedding_.view({options_.running_places ? dimensions : 1, options_.digits, width});
  if (dimension_embedding_.defined()) {
    x = x + dimension_embedding_;
  }
  x = at::cat({x.flatten(1, 2), class_token_.expand({count, 1, width})}, 1);

  const std::int64_t length = x.size(1);
  at::Tensor hidden = at::zeros({1, length, length}, x.options().dtype(at::kBool));
  if (options_.causal) {
    hidden = at::ones_like(hidden).triu(1);
  }
  if (options_.mask_padding) {
    const at::Tensor keys = at::cat({padding(digit_tokens), at::zeros({count, 1}, hidden.options())}, 1);
    hidden = hidden.logical_or(keys.unsqueeze(1));
  }
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    x = run(blocks_[index], x, hidden.unsqueeze(1), index + 1 == blocks_.size());
  }
  x = x.select(1, x.size(1) - 1);
  if (last_norm_.weight.defined()) {
    x = normalise(x, last_norm_.weight, last_norm_.bias);
  }
  x = at::linear(x, output_.weight, output_.bias);
  return options_.temperature == 1.0 ? x : x / options_.temperature;
}

// Only the class token leaves the last block, so only its row is computed there.
at::Tensor SeqpeEncoder::run(const Block& block, const at::Tensor& x, const at::Tensor& hidden,
                             bool class_token_only) const {
  const auto affine = [](const at::Tensor& input, const Affine& pair) {
    return at::matmul(input, pair.weight) + pair.bias;
  };
  const auto by_head = [&](const at::Tensor& input) {
    return input.unflatten(-1, {options_.heads, -1}).transpose(1, 2);
  };
  const std::int64_t first = class_token_only ? x.size(1) - 1 : 0;
  const std::vector<at::Tensor> parts =
      affine(normalise(x, block.norm_1.weight, block.norm_1.bias), block.attention).chunk(3, -1);
  const at::Tensor query = by_head(parts[0].slice(1, first));
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(-1)));
  at::Tensor logits = at::matmul(query * scale, by_head(parts[1]).transpose(-1, -2));
  // The lowest finite number: a row of padding with nothing to see must not become NaN.
  logits = logits.masked_fill(hidden.slice(2, first), static_cast<double>(std::numeric_limits<float>::lowest()));
  const at::Tensor mean = at::matmul(at::softmax(logits, -1), by_head(parts[2])).transpose(1, 2).flatten(2);
  const at::Tensor after = x.slice(1, first) + affine(mean, block.projection);
  const at::Tensor normed = normalise(after, block.norm_2.weight, block.norm_2.bias);
  return after + affine(at::gelu(affine(normed, block.widen), "tanh"), block.narrow);
}

}  // namespace locus::position
