// Jamba: Mamba in most layers, attention without positions in the others; experts in every second layer.
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::MixerSpec;
using transformer::Mixing;

// Layer n is one of every `period` layers, from `offset` on.
struct Every {
  std::int64_t period = 1;
  std::int64_t offset = 0;
  bool holds(std::int64_t n) const { return n % period == offset; }
};

Result<Every> every(const Config& config, const char* period, const char* offset, Every usual) {
  LOCUS_TRY(usual.period, integer_or(config, period, usual.period));
  LOCUS_TRY(usual.offset, integer_or(config, offset, usual.offset, 0));
  return usual;
}

Result<MixerSpec> selective(const Config& config, const transformer::Spec& spec) {
  MixerSpec mixer;
  mixer.kind = Mixing::kSelective;
  LOCUS_TRY(const std::int64_t expand, integer_or(config, "mamba_expand", 2));
  LOCUS_TRY(mixer.key_width, integer_or(config, "mamba_d_state", 16));
  LOCUS_TRY(mixer.kernel, integer_or(config, "mamba_d_conv", 4));
  LOCUS_TRY(mixer.kernel_bias, config.boolean("mamba_conv_bias", true));
  LOCUS_TRY(mixer.bias, config.boolean("mamba_proj_bias", false));
  const bool automatic = !config.has("mamba_dt_rank") || config.kind("mamba_dt_rank") == "text";
  LOCUS_CHECK(automatic && config.has("mamba_dt_rank") ? check_fixed_fields(config, {{"mamba_dt_rank", {"auto"}}})
                                                       : Status());
  LOCUS_TRY(mixer.step_rank,
            automatic ? Result<std::int64_t>((spec.width + 15) / 16) : integer_or(config, "mamba_dt_rank", 16));
  mixer.inner_norms = true;
  mixer.norm_eps = spec.norm_eps;
  // As many bands of channels as the other layers have heads.
  const std::int64_t heads = spec.first().attention.heads;
  mixer.heads = expand * spec.width % heads == 0 ? heads : 1;
  mixer.value_width = expand * spec.width / mixer.heads;
  return mixer;
}

Status finish_jamba(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}, {"layer_types"}}));
  plan.spec.encodings = {{"none", {}}};
  LOCUS_TRY(const Every attends, every(config, "attn_layer_period", "attn_layer_offset", {8, 4}));
  LOCUS_TRY(const Every sparse, every(config, "expert_layer_period", "expert_layer_offset", {2, 1}));
  LOCUS_TRY(const MixerSpec mixer, selective(config, plan.spec));
  const bool experts = plan.spec.first().feed_forward.experts.count > 1;
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (!experts || !sparse.holds(n)) {
      layer.feed_forward.experts = {};
    }
    if (!attends.holds(n)) {
      mix_instead(layer, mixer);
    }
  });
  return {};
}

}  // namespace

const Family kJamba = [] {
  Family family = llama("jamba");
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{16}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{2}});
  family.finish = finish_jamba;
  family.rename({"layers.N.feed_forward_norm", "layers.N.pre_ff_layernorm"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.feed_forward.{gate,up,down}_proj"});
  family.rename({"final_norm", "final_layernorm"});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.feed_forward.experts.J.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.feed_forward.router"});
  family.names.push_back({"layers.N.mixer.{input,choice,step,output}", "layers.N.mamba.{in,x,dt,out}_proj"});
  family.names.push_back({"layers.N.mixer.{step,write,read}_norm", "layers.N.mamba.{dt,b,c}_layernorm"});
  family.names.push_back({"layers.N.mixer.{rate,skip}", "layers.N.mamba.{A_log,D}"});
  family.names.push_back({"layers.N.mixer.convolution.weight", "layers.N.mamba.conv1d.weight", Layout::kReshaped});
  family.names.push_back({"layers.N.mixer.convolution.bias", "layers.N.mamba.conv1d.bias"});
  family.harmless = {"use_associative_scan", "use_mamba_kernels", "use_mambapy", "num_logits_to_keep"};
  return family;
}();

}  // namespace locus::families
