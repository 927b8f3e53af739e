// The fields of a Spec under their names in the config.json of Locus' own checkpoints: writing (locus_config.cpp) and
// reading (parse_locus_config.cpp) go through these lists.
//
// A visitor is called with each field as visit(name, value), and as visit.name(name, names, value) where the value is
// one of a few that `names` are the words of.
#pragma once

#include "core/base/words.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

inline constexpr WordTable<Norm, 2> kNorms{{{"rms", Norm::kRms}, {"layer", Norm::kLayer}}};
inline constexpr WordTable<NormPlace, 5> kPlaces{{{"pre", NormPlace::kPre},
                                                  {"post", NormPlace::kPost},
                                                  {"after", NormPlace::kAfter},
                                                  {"both", NormPlace::kBoth},
                                                  {"none", NormPlace::kNone}}};
inline constexpr WordTable<QueryNormForm, 4> kForms{{{"none", QueryNormForm::kNone},
                                                     {"head", QueryNormForm::kHead},
                                                     {"own", QueryNormForm::kOwn},
                                                     {"whole", QueryNormForm::kWhole}}};
inline constexpr WordTable<NormedSides, 3> kNormedSides{
    {{"both", NormedSides::kBoth}, {"query", NormedSides::kQuery}, {"key", NormedSides::kKey}}};
inline constexpr WordTable<Pool, 5> kPools{{{"class", Pool::kClass},
                                            {"patches", Pool::kPatches},
                                            {"all", Pool::kAll},
                                            {"class-and-patches", Pool::kClassAndPatches},
                                            {"two-heads", Pool::kTwoHeads}}};
inline constexpr WordTable<Router, 5> kRouters{{{"softmax", Router::kSoftmax},
                                                {"top-softmax", Router::kTopSoftmax},
                                                {"sigmoid", Router::kSigmoid},
                                                {"input-sigmoid", Router::kInputSigmoid},
                                                {"sparse-mixer", Router::kSparseMixer}}};
inline constexpr WordTable<GateForm, 3> kGateForms{
    {{"none", GateForm::kNone}, {"head", GateForm::kHead}, {"channel", GateForm::kChannel}}};
inline constexpr WordTable<Round, 6> kRounds{{{"within", Round::kWithin},
                                              {"begins", Round::kBegins},
                                              {"ends-low", Round::kEndsLow},
                                              {"ends-high", Round::kEndsHigh},
                                              {"whole-low", Round::kWholeLow},
                                              {"whole-high", Round::kWholeHigh}}};
inline constexpr WordTable<QkvLayout, 3> kLayouts{
    {{"fused", QkvLayout::kFused}, {"per-head", QkvLayout::kPerHead}, {"separate", QkvLayout::kSeparate}}};

inline constexpr WordTable<Mixing, 7> kMixings{{{"none", Mixing::kNone},
                                                {"delta", Mixing::kDelta},
                                                {"state-space", Mixing::kStateSpace},
                                                {"lightning", Mixing::kLightning},
                                                {"convolution", Mixing::kConvolution},
                                                {"selective", Mixing::kSelective},
                                                {"recurrence", Mixing::kRecurrence}}};
inline constexpr WordTable<MixerNorm, 3> kMixerNorms{{{"none", MixerNorm::kNone},
                                                      {"norm-then-gate", MixerNorm::kNormThenGate},
                                                      {"gate-then-norm", MixerNorm::kGateThenNorm}}};

// The fields of a layer's mixer, and of how it stands beside the attention.
template <class Visit>
void visit_mixer(Visit& visit, LayerSpec& layer) {
  MixerSpec& mixer = layer.mixer;
  visit("attends", layer.attends);
  visit("feeds", layer.feeds);
  visit("attention_input", layer.attention_input);
  visit("attention_output", layer.attention_output);
  visit("mixer_input", layer.mixer_input);
  visit("mixer_output", layer.mixer_output);
  visit.name("mixer", kMixings, mixer.kind);
  visit("mixer_heads", mixer.heads);
  visit("mixer_key_heads", mixer.key_heads);
  visit("mixer_key_width", mixer.key_width);
  visit("mixer_value_width", mixer.value_width);
  visit("mixer_kernel", mixer.kernel);
  visit("mixer_kernel_bias", mixer.kernel_bias);
  visit("mixer_bias", mixer.bias);
  visit("mixer_norm_eps", mixer.norm_eps);
  visit.name("mixer_norm", kMixerNorms, mixer.norm);
  visit("mixer_norm_groups", mixer.norm_groups);
  visit.name("mixer_qkv", kLayouts, mixer.qkv);
  visit("mixer_tiled_values", mixer.tiled_values);
  visit("mixer_channel_decay", mixer.channel_decay);
  visit("mixer_decay_floor", mixer.decay_floor);
  visit("mixer_beta_scale", mixer.beta_scale);
  visit("mixer_gate_rank", mixer.gate_rank);
  visit("mixer_sigmoid_gate", mixer.sigmoid_gate);
  visit("mixer_least_step", mixer.least_step);
  visit("mixer_most_step", mixer.most_step);
  visit("mixer_gate_factor", mixer.gate_factor);
  visit("mixer_value_factor", mixer.value_factor);
  visit("mixer_write_factor", mixer.write_factor);
  visit("mixer_read_factor", mixer.read_factor);
  visit("mixer_step_factor", mixer.step_factor);
  visit("mixer_step_rank", mixer.step_rank);
  visit("mixer_inner_norms", mixer.inner_norms);
}

// The fields of a layer.
template <class Visit>
void visit_layer(Visit& visit, LayerSpec& layer) {
  AttentionSpec& attention = layer.attention;
  visit("num_attention_heads", attention.heads);
  visit("num_key_value_heads", attention.kv_heads);
  visit("head_dim", attention.head_width);
  visit("value_dim", attention.value_width);
  visit("value_norm", attention.value_norm);
  visit("key_as_value", attention.key_as_value);
  visit("key_source", attention.source);
  visit("output_norm", attention.output_norm);
  visit("output_norm_own", attention.output_norm_own);
  visit("key_shift", attention.key_shift);
  visit("value_shift", attention.value_shift);
  visit("intermediate_size", layer.feed_forward.inner);
  visit.name("attention_norm_place", kPlaces, layer.attention_norm);
  visit.name("feed_forward_norm_place", kPlaces, layer.feed_forward_norm);
  visit("hidden_act", layer.feed_forward.activation);
  visit("gated", layer.feed_forward.gated);
  visit.name("qkv", kLayouts, attention.qkv);
  visit("query_bias", attention.query_bias);
  visit("key_bias", attention.key_bias);
  visit("value_bias", attention.value_bias);
  visit("output_bias", attention.output_bias);
  visit("feed_forward_bias", layer.feed_forward.bias);
  visit("feed_forward_inner_bias", layer.feed_forward.inner_bias);
  visit("feed_forward_inner_norm", layer.feed_forward.inner_norm);
  visit("feed_forward_gate_factor", layer.feed_forward.gate_factor);
  visit("feed_forward_output_scale", layer.feed_forward.output_scale);
  visit("parallel_residual", layer.parallel);
  visit("shared_norm", layer.shared_norm);
  visit("residual_from_norm", layer.residual_from_norm);
  visit("layer_scale", layer.layer_scale);
  visit("output_scale", layer.output_scale);
  visit("bounded", layer.bounded);
  visit("attention_sum_stream", layer.attention_sum.stream);
  visit("attention_sum_branch", layer.attention_sum.branch);
  visit("feed_forward_sum_stream", layer.feed_forward_sum.stream);
  visit("feed_forward_sum_branch", layer.feed_forward_sum.branch);
  visit("attention_sum_learned", layer.attention_sum.learned);
  visit("feed_forward_sum_learned", layer.feed_forward_sum.learned);
  visit("short_convolution", layer.convolution);
  visit.name("round", kRounds, layer.round);
  visit("window", attention.window);
  visit("chunk", attention.chunk);
  visit("sinks", attention.sinks);
  visit("attention_scale", attention.scale);
  visit("soft_cap", attention.soft_cap);
  visit("query_tuning", attention.tuning.gain);
  visit("query_tuning_floor", attention.tuning.length);
  visit("query_tuning_start", attention.tuning.start);
  visit("query_tuning_whole", attention.tuning.whole);
  visit("query_tuning_power", attention.tuning.power);
  visit("value_scale", attention.value_scale);
  visit("clip", attention.clip);
  visit("difference", attention.difference);
  visit("key_bonus", attention.key_bonus);
  visit.name("output_gate", kGateForms, attention.gate.form);
  visit("output_gate_softplus", attention.gate.softplus);
  visit("output_gate_bias", attention.gate.bias);
  visit.name("query_norm", kForms, attention.norm.form);
  visit.name("query_norm_kind", kNorms, attention.norm.norm);
  visit("query_norm_weight", attention.norm.weight);
  visit("query_norm_bias", attention.norm.bias);
  visit("query_norm_eps", attention.norm.eps);
  visit.name("query_norm_sides", kNormedSides, attention.norm.sides);
  visit("latent_rank", attention.latent.rank);
  visit("latent_query_rank", attention.latent.query_rank);
  visit("latent_rotated", attention.latent.rotated);
  visit("latent_eps", attention.latent.eps);
  visit("feed_forward_clamp", layer.feed_forward.clamp);
  visit("feed_forward_alpha", layer.feed_forward.alpha);
  visit_mixer(visit, layer);
  Experts& experts = layer.feed_forward.experts;
  visit("num_experts", experts.count);
  visit("num_experts_per_tok", experts.chosen);
  visit("expert_capacity", experts.capacity);
  visit.name("router", kRouters, experts.router);
  visit("router_bias", experts.router_bias);
  visit("router_correction", experts.correction);
  visit("norm_topk_prob", experts.normalised);
  visit("expert_groups", experts.groups);
  visit("chosen_expert_groups", experts.chosen_groups);
  visit("expert_factor", experts.factor);
  visit("shared_expert_size", experts.shared);
  visit("shared_expert_gate", experts.shared_gate);
  visit("shared_expert_averaged", experts.averaged);
  visit("router_corrects_logits", experts.corrects_logits);
  visit("expert_groups_by_two", experts.ranked_by_two);
  visit("router_logit_cap", experts.logit_cap);
  visit("router_least_sum", experts.least_sum);
  visit("router_margin", experts.margin);
  visit("experts_of_every_token", experts.always);
}

// The fields of the whole model.
template <class Visit>
void visit_model(Visit& visit, Spec& spec) {
  visit("max_position_embeddings", spec.trained_length);
  visit.name("norm", kNorms, spec.norm);
  visit("norm_bias", spec.norm_bias);
  visit("norm_weight", spec.norm_weight);
  visit("norm_eps", spec.norm_eps);
  visit("after_norm_eps", spec.after_norm_eps);
  visit("embedding_scale", spec.embedding_scale);
  visit("embedding_norm", spec.embedding_norm);
  visit("embedding_norm_weight", spec.embedding_norm_weight);
  visit("early_norm", spec.early_norm);
  visit("token_types", spec.token_types);
  visit("embedding_width", spec.embedding_width);
  visit("padding_id", spec.padding);
  visit("dropped_token", spec.dropped_token);
  visit("residual_scale", spec.residual_scale);
  visit("convolution", spec.convolution.kernel);
  visit("convolution_groups", spec.convolution.groups);
  visit("convolution_act", spec.convolution.activation);
  visit("layer_inputs_width", spec.layer_inputs.width);
  visit("layer_inputs_vocabulary", spec.layer_inputs.vocabulary);
  visit("layer_inputs_placeholder", spec.layer_inputs.placeholder);
  visit("layer_inputs_filler", spec.layer_inputs.filler);
  visit("final_norm", spec.final_norm);
  visit("tie_word_embeddings", spec.tied_head);
  visit("head_bias", spec.head_bias);
  visit("head", spec.head);
  visit("state_width", spec.state_width);
  visit.name("pool", kPools, spec.pool);
  visit("norm_after_pool", spec.norm_after_pool);
  visit("head_transform", spec.head_transform);
  visit("head_transform_bias", spec.head_transform_bias);
  visit("head_transform_gelu", spec.head_transform_gelu);
  visit("head_transform_norm", spec.head_transform_norm);
  visit("head_transform_width", spec.head_transform_width);
  visit("head_inner", spec.head_inner);
  visit("all_seen", spec.all_seen);
  visit("token_score", spec.token_score);
  visit("logit_scale", spec.logit_scale);
  visit("logit_cap", spec.logit_cap);
  visit("causal", spec.causal);
}

}  // namespace locus::transformer
