// Moshi's text decoder: Llama whose gate and up are the halves of one matrix, with an embedding of one row more than
// there are words, for the token that begins a dialogue. What it says and hears as sound is not read.
#include "models/families/engine/computed.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

const std::vector<std::string_view> kMoshiPrefixes{"model.", "decoder.model.", ""};

Status finish_moshi(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  plan.spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.feed_forward.inner /= 2; });
  if (checkpoint.tensors == nullptr) {
    return {};
  }
  const std::string words = checkpoint.prefix_of(kMoshiPrefixes, "layers.0.input_layernorm.weight") + "embed_tokens";
  return compute_rows(checkpoint, {{words + ".words", {{words + ".weight", 0, plan.spec.vocabulary}}}}, plan);
}

}  // namespace

const Family kMoshi = [] {
  Family family = llama("moshi");
  family.set({{"ffn_dim"}, slot::inner, std::int64_t{22528}});
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-8});
  family.finish = finish_moshi;
  family.prefixes = kMoshiPrefixes;
  family.anchor = "layers.0.input_layernorm.weight";
  family.rename({"embedding.weight", "embed_tokens.words"});
  family.rename({"layers.N.attention.{query,key,value,output}", "layers.N.self_attn.{q,k,v,o}_proj.linear"});
  family.rename({"layers.N.feed_forward.gate.weight", "layers.N.mlp.fc1.weight", {}, {.index = 0, .of = 2}});
  family.rename({"layers.N.feed_forward.up.weight", "layers.N.mlp.fc1.weight", {}, {.index = 1, .of = 2}});
  family.rename({"layers.N.feed_forward.down.weight", "layers.N.mlp.fc2.weight"});
  std::erase_if(family.names, [](const Name& row) { return row.parameter == "layers.N.feed_forward.{gate,up,down}"; });
  family.outside_prefixes = {"", "decoder."};
  family.skipped.insert(family.skipped.end(),
                        {"embed_tokens.weight", "audio_encoder.*", "depth_decoder.*", "embed_tokens.*"});
  // The library attends to all earlier tokens.
  family.harmless = {"sliding_window", "audio_encoder_config", "depth_decoder_config", "audio_vocab_size",
                     "num_codebooks"};
  return family;
}();

}  // namespace locus::families
