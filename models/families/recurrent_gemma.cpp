// RecurrentGemma (Griffin): RG-LRU in two of three layers, attention within a window in the third.
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/shown.h"
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::MixerSpec;
using transformer::Mixing;

// √x rounded to a bfloat16, as the authors' code keeps it.
double bfloat16_root(std::int64_t x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::sqrt(static_cast<double>(x))));
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  return static_cast<double>(std::bit_cast<float>(rounded & 0xFFFF0000U));
}

Status finish_recurrent(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double fraction, rotated_fraction(config, 0.5));
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "half", fraction));
  plan.spec.embedding_scale = bfloat16_root(plan.spec.width);
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_activation", {"gelu_pytorch_tanh"}}}));
  MixerSpec mixer;
  mixer.kind = Mixing::kRecurrence;
  LOCUS_TRY(const std::int64_t width, integer_or(config, "lru_width", plan.spec.width));
  LOCUS_TRY(mixer.kernel, integer_or(config, "conv1d_width", 4));
  mixer.heads = plan.spec.first().attention.heads;
  LOCUS_TRY(mixer.value_width, divided_heads(width, mixer.heads, config));
  mixer.kernel_bias = mixer.bias = true;
  std::vector<std::string> kinds{"recurrent", "recurrent", "attention"};
  if (config.has("block_types")) {
    LOCUS_TRY(kinds, config.texts("block_types"));
  }
  if (kinds.empty()) {
    return bad_input("expected at least one kind of layer, found none", config.context("block_types"));
  }
  LOCUS_TRY(const std::int64_t window, integer_or(config, "attention_window_size", 2048));
  for (std::size_t n = 0; n < plan.spec.layers.size(); ++n) {
    LayerSpec& layer = plan.spec.layers[n];
    const std::string& kind = kinds[n % kinds.size()];
    if (kind != "attention" && kind != "recurrent") {
      return unsupported("expected attention or recurrent, found " + shown(kind), config.context("block_types"));
    }
    layer.feed_forward.inner /= 2;  // gate and up share it
    layer.attention.window = kind == "attention" ? window : 0;
    if (kind == "recurrent") {
      mix_instead(layer, mixer);
    }
  }
  return {};
}

}  // namespace

const Family kRecurrentGemma = [] {
  Family family = llama("recurrent_gemma");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.output_bias = true;
    draft.layer.feed_forward.bias = true;
  };
  std::erase_if(family.fields, [](const Field& field) {
    const std::string_view name = field.names.front();
    return name == "hidden_act" || name == "mlp_bias" || name == "attention_bias";
  });
  family.set({{"hidden_activation"}, slot::activation, "gelu_pytorch_tanh"});
  family.set({{"attention_bias"}, slot::qkv_bias, false});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.set({{"logits_soft_cap"}, slot::logit_cap, 30.0});
  family.finish = finish_recurrent;
  family.rename({"layers.N.attention_norm", "layers.N.temporal_pre_norm", Layout::kPlusOne});
  family.rename({"layers.N.feed_forward_norm", "layers.N.channel_pre_norm", Layout::kPlusOne});
  family.rename({"final_norm", "final_norm", Layout::kPlusOne});
  family.rename({"layers.N.attention.{query,key,value,output}", "layers.N.temporal_block.{q,k,v,o}_proj"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.mlp_block.{gate,up,down}_proj"});
  const std::string place = "layers.N.temporal_block.";
  family.names.push_back({"layers.N.mixer.{gate,input,output}", place + "linear_{y,x,out}"});
  family.names.push_back({"layers.N.mixer.convolution.weight", place + "conv_1d.weight", Layout::kReshaped});
  family.names.push_back({"layers.N.mixer.convolution.bias", place + "conv_1d.bias"});
  family.names.push_back({"layers.N.mixer.write.{weight,bias}", place + "rg_lru.input_gate_{weight,bias}"});
  family.names.push_back({"layers.N.mixer.forget.{weight,bias}", place + "rg_lru.recurrent_gate_{weight,bias}"});
  family.names.push_back({"layers.N.mixer.rate", place + "rg_lru.recurrent_param"});
  family.harmless = {"final_w_init_variance_scale", "w_init_variance_scale"};
  return family;
}();

}  // namespace locus::families
