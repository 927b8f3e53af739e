#include "models/families/files/property.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

#define LOCUS_PLACE(type, name, place) \
  type& name(Draft& draft) {           \
    return draft.place;                \
  }

LOCUS_PLACE(bool, causal, spec.causal)
LOCUS_PLACE(bool, norm_bias, spec.norm_bias)
LOCUS_PLACE(bool, embedding_norm, spec.embedding_norm)
LOCUS_PLACE(bool, embedding_norm_weight, spec.embedding_norm_weight)
LOCUS_PLACE(double, after_norm_eps, spec.after_norm_eps)
LOCUS_PLACE(double, query_norm_eps, query_norm_eps)
LOCUS_PLACE(bool, early_norm, spec.early_norm)
LOCUS_PLACE(std::int64_t, embedding_width, spec.embedding_width)
LOCUS_PLACE(std::int64_t, token_width, token_width)
LOCUS_PLACE(std::int64_t, padding, spec.padding)
LOCUS_PLACE(std::int64_t, dropped_token, spec.dropped_token)
LOCUS_PLACE(std::int64_t, head_transform_width, spec.head_transform_width)
LOCUS_PLACE(bool, norm_has_weight, spec.norm_weight)
LOCUS_PLACE(bool, inner_bias, layer.feed_forward.inner_bias)
LOCUS_PLACE(bool, final_norm, spec.final_norm)
LOCUS_PLACE(bool, head_bias, spec.head_bias)
LOCUS_PLACE(std::int64_t, head_inner, spec.head_inner)
LOCUS_PLACE(std::int64_t, all_seen, spec.all_seen)
LOCUS_PLACE(bool, head_transform, spec.head_transform)
LOCUS_PLACE(bool, head_transform_bias, spec.head_transform_bias)
LOCUS_PLACE(bool, head_transform_gelu, spec.head_transform_gelu)
LOCUS_PLACE(bool, head_transform_norm, spec.head_transform_norm)
LOCUS_PLACE(bool, norm_weight, layer.attention.norm.weight)
LOCUS_PLACE(bool, query_norm_bias, layer.attention.norm.bias)
LOCUS_PLACE(bool, sinks, layer.attention.sinks)
LOCUS_PLACE(double, tuning, layer.attention.tuning.gain)
LOCUS_PLACE(double, tuning_floor, layer.attention.tuning.length)
LOCUS_PLACE(double, tuning_start, layer.attention.tuning.start)
LOCUS_PLACE(bool, tuning_whole, layer.attention.tuning.whole)
LOCUS_PLACE(bool, tuning_power, layer.attention.tuning.power)
LOCUS_PLACE(double, value_scale, layer.attention.value_scale)
LOCUS_PLACE(double, clip, layer.attention.clip)
LOCUS_PLACE(bool, gate_softplus, layer.attention.gate.softplus)
LOCUS_PLACE(bool, gate_bias, layer.attention.gate.bias)
LOCUS_PLACE(std::int64_t, chunk, layer.attention.chunk)
LOCUS_PLACE(double, latent_eps, layer.attention.latent.eps)
LOCUS_PLACE(double, clamp, layer.feed_forward.clamp)
LOCUS_PLACE(double, alpha, layer.feed_forward.alpha)
LOCUS_PLACE(bool, router_bias, layer.feed_forward.experts.router_bias)
LOCUS_PLACE(bool, correction, layer.feed_forward.experts.correction)
LOCUS_PLACE(bool, shared_gate, layer.feed_forward.experts.shared_gate)
LOCUS_PLACE(bool, averaged, layer.feed_forward.experts.averaged)
LOCUS_PLACE(bool, corrects_logits, layer.feed_forward.experts.corrects_logits)
LOCUS_PLACE(bool, ranked_by_two, layer.feed_forward.experts.ranked_by_two)
LOCUS_PLACE(double, router_cap, layer.feed_forward.experts.logit_cap)
LOCUS_PLACE(double, least_sum, layer.feed_forward.experts.least_sum)
LOCUS_PLACE(double, margin, layer.feed_forward.experts.margin)
LOCUS_PLACE(std::int64_t, always, layer.feed_forward.experts.always)
LOCUS_PLACE(bool, feed_forward_output_scale, layer.feed_forward.output_scale)
LOCUS_PLACE(std::int64_t, short_convolution, layer.convolution)
LOCUS_PLACE(bool, shared_norm, layer.shared_norm)
LOCUS_PLACE(bool, value_norm, layer.attention.value_norm)
LOCUS_PLACE(bool, key_as_value, layer.attention.key_as_value)
LOCUS_PLACE(bool, output_norm, layer.attention.output_norm)
LOCUS_PLACE(bool, output_norm_own, layer.attention.output_norm_own)
LOCUS_PLACE(bool, key_shift, layer.attention.key_shift)
LOCUS_PLACE(bool, value_shift, layer.attention.value_shift)
LOCUS_PLACE(bool, inner_norm, layer.feed_forward.inner_norm)
LOCUS_PLACE(bool, output_scale, layer.output_scale)
LOCUS_PLACE(std::int64_t, input_width, spec.layer_inputs.width)
LOCUS_PLACE(std::int64_t, input_vocabulary, spec.layer_inputs.vocabulary)
LOCUS_PLACE(bool, layer_scale, layer.layer_scale)
LOCUS_PLACE(double, mixer_least_step, layer.mixer.least_step)
LOCUS_PLACE(double, mixer_most_step, layer.mixer.most_step)
LOCUS_PLACE(double, mixer_gate_factor, layer.mixer.gate_factor)
LOCUS_PLACE(double, mixer_value_factor, layer.mixer.value_factor)
LOCUS_PLACE(double, mixer_write_factor, layer.mixer.write_factor)
LOCUS_PLACE(double, mixer_read_factor, layer.mixer.read_factor)
LOCUS_PLACE(double, mixer_step_factor, layer.mixer.step_factor)
LOCUS_PLACE(double, feed_forward_gate_factor, layer.feed_forward.gate_factor)
LOCUS_PLACE(double, feed_forward_branch_factor, layer.feed_forward_sum.branch)
LOCUS_PLACE(double, feed_forward_stream_factor, layer.feed_forward_sum.stream)
LOCUS_PLACE(double, attention_branch_factor, layer.attention_sum.branch)
LOCUS_PLACE(double, attention_stream_factor, layer.attention_sum.stream)
LOCUS_PLACE(std::int64_t, mixer_heads, layer.mixer.heads)
LOCUS_PLACE(std::int64_t, mixer_key_heads, layer.mixer.key_heads)
LOCUS_PLACE(std::int64_t, mixer_key_width, layer.mixer.key_width)
LOCUS_PLACE(std::int64_t, mixer_value_width, layer.mixer.value_width)
LOCUS_PLACE(std::int64_t, mixer_kernel, layer.mixer.kernel)
LOCUS_PLACE(bool, mixer_kernel_bias, layer.mixer.kernel_bias)
LOCUS_PLACE(bool, mixer_bias, layer.mixer.bias)
LOCUS_PLACE(double, mixer_norm_eps, layer.mixer.norm_eps)
LOCUS_PLACE(std::int64_t, mixer_norm_groups, layer.mixer.norm_groups)
LOCUS_PLACE(bool, mixer_channel_decay, layer.mixer.channel_decay)
LOCUS_PLACE(double, mixer_decay_floor, layer.mixer.decay_floor)
LOCUS_PLACE(double, mixer_beta_scale, layer.mixer.beta_scale)
LOCUS_PLACE(std::int64_t, mixer_gate_rank, layer.mixer.gate_rank)
LOCUS_PLACE(bool, mixer_sigmoid_gate, layer.mixer.sigmoid_gate)
LOCUS_PLACE(std::int64_t, mixer_step_rank, layer.mixer.step_rank)
LOCUS_PLACE(bool, mixer_inner_norms, layer.mixer.inner_norms)
LOCUS_PLACE(double, mixer_input_factor, layer.mixer_input)
LOCUS_PLACE(double, mixer_output_factor, layer.mixer_output)
LOCUS_PLACE(double, attention_input_factor, layer.attention_input)
LOCUS_PLACE(double, attention_output_factor, layer.attention_output)
LOCUS_PLACE(bool, attends, layer.attends)
LOCUS_PLACE(bool, feeds, layer.feeds)

#undef LOCUS_PLACE

template <class Enum>
Enum chosen(std::size_t word) {
  return static_cast<Enum>(word);  // the words are in the order of the enumeration
}

const std::vector<std::string_view> kPlaces{"pre", "post", "after", "both", "none"};

std::vector<Property> all_properties() {
  using transformer::NormPlace;
  constexpr bool kModel = false;
  constexpr bool kLayer = true;
  return {
      {"vocabulary", kModel, slot::vocabulary},
      {"width", kModel, slot::width},
      {"layers", kModel, slot::layers},
      {"trained_length", kModel, slot::trained_length},
      {"token_types", kModel, slot::token_types},
      {"norm_eps", kModel, slot::norm_eps},
      {"logit_cap", kModel, slot::logit_cap},
      {"logit_scale", kModel, slot::logit_scale},
      {"embedding_scale", kModel, slot::embedding_scale},
      {"residual_scale", kModel, slot::residual_scale},
      {"tied", kModel, slot::tied},
      {"attention_bias", kModel, slot::attention_bias},
      {"qkv_bias", kModel, slot::qkv_bias},
      {"plain_width", kModel, slot::plain_width},
      {"causal", kModel, Slot(causal)},
      {"norm_bias", kModel, Slot(norm_bias)},
      {"embedding_norm", kModel, Slot(embedding_norm)},
      {"embedding_norm_weight", kModel, Slot(embedding_norm_weight)},
      {"after_norm_eps", kModel, Slot(after_norm_eps)},
      {"attention.norm.eps", kModel, Slot(query_norm_eps)},
      {"early_norm", kModel, Slot(early_norm)},
      {"embedding_width", kModel, Slot(embedding_width)},
      {"token_width", kModel, Slot(token_width)},
      {"padding", kModel, Slot(padding)},
      {"dropped_token", kModel, Slot(dropped_token)},
      {"norm_weight", kModel, Slot(norm_has_weight)},
      {"head_transform_width", kModel, Slot(head_transform_width)},
      {"final_norm", kModel, Slot(final_norm)},
      {"head_bias", kModel, Slot(head_bias)},
      {"head_inner", kModel, Slot(head_inner)},
      {"all_seen", kModel, Slot(all_seen)},
      {"head_transform", kModel, Slot(head_transform)},
      {"head_transform_bias", kModel, Slot(head_transform_bias)},
      {"head_transform_gelu", kModel, Slot(head_transform_gelu)},
      {"head_transform_norm", kModel, Slot(head_transform_norm)},
      {"norm", kModel,
       Choice{{"layer", "rms"}, [](Draft& draft, std::size_t n) { draft.spec.norm = chosen<transformer::Norm>(n); }}},
      {"layer_inputs.width", kModel, Slot(input_width)},
      {"layer_inputs.vocabulary", kModel, Slot(input_vocabulary)},
      {"mixer.heads", kLayer, Slot(mixer_heads)},
      {"mixer.key_heads", kLayer, Slot(mixer_key_heads)},
      {"mixer.key_width", kLayer, Slot(mixer_key_width)},
      {"mixer.value_width", kLayer, Slot(mixer_value_width)},
      {"mixer.kernel", kLayer, Slot(mixer_kernel)},
      {"mixer.kernel_bias", kLayer, Slot(mixer_kernel_bias)},
      {"mixer.bias", kLayer, Slot(mixer_bias)},
      {"mixer.norm_eps", kLayer, Slot(mixer_norm_eps)},
      {"mixer.norm_groups", kLayer, Slot(mixer_norm_groups)},
      {"mixer.channel_decay", kLayer, Slot(mixer_channel_decay)},
      {"mixer.decay_floor", kLayer, Slot(mixer_decay_floor)},
      {"mixer.beta_scale", kLayer, Slot(mixer_beta_scale)},
      {"mixer.gate_rank", kLayer, Slot(mixer_gate_rank)},
      {"mixer.sigmoid_gate", kLayer, Slot(mixer_sigmoid_gate)},
      {"mixer.step_rank", kLayer, Slot(mixer_step_rank)},
      {"mixer.inner_norms", kLayer, Slot(mixer_inner_norms)},
      {"mixer.input_factor", kLayer, Slot(mixer_input_factor)},
      {"mixer.output_factor", kLayer, Slot(mixer_output_factor)},
      {"attention.input_factor", kLayer, Slot(attention_input_factor)},
      {"attention.output_factor", kLayer, Slot(attention_output_factor)},
      {"mixer.least_step", kLayer, Slot(mixer_least_step)},
      {"mixer.most_step", kLayer, Slot(mixer_most_step)},
      {"mixer.gate_factor", kLayer, Slot(mixer_gate_factor)},
      {"mixer.value_factor", kLayer, Slot(mixer_value_factor)},
      {"mixer.write_factor", kLayer, Slot(mixer_write_factor)},
      {"mixer.read_factor", kLayer, Slot(mixer_read_factor)},
      {"mixer.step_factor", kLayer, Slot(mixer_step_factor)},
      {"feed_forward.gate_factor", kLayer, Slot(feed_forward_gate_factor)},
      {"feed_forward.branch_factor", kLayer, Slot(feed_forward_branch_factor)},
      {"feed_forward.stream_factor", kLayer, Slot(feed_forward_stream_factor)},
      {"attention.branch_factor", kLayer, Slot(attention_branch_factor)},
      {"attention.stream_factor", kLayer, Slot(attention_stream_factor)},
      {"attends", kLayer, Slot(attends)},
      {"feeds", kLayer, Slot(feeds)},
      {"mixer", kLayer,
       Choice{{"none", "delta", "state_space", "lightning", "convolution", "selective", "recurrence"},
              [](Draft& draft, std::size_t n) { draft.layer.mixer.kind = chosen<transformer::Mixing>(n); }}},
      {"mixer.norm", kLayer,
       Choice{{"none", "norm_then_gate", "gate_then_norm"},
              [](Draft& draft, std::size_t n) { draft.layer.mixer.norm = chosen<transformer::MixerNorm>(n); }}},
      {"mixer.qkv", kLayer,
       Choice{{"fused", "per_head", "separate"},
              [](Draft& draft, std::size_t n) { draft.layer.mixer.qkv = chosen<transformer::QkvLayout>(n); }}},
      {"heads", kLayer, slot::heads},
      {"kv_heads", kLayer, slot::kv_heads},
      {"head_width", kLayer, slot::head_width},
      {"value_width", kLayer, slot::value_width},
      {"window", kLayer, slot::window},
      {"attention.chunk", kLayer, Slot(chunk)},
      {"soft_cap", kLayer, slot::soft_cap},
      {"attention_scale", kLayer, slot::attention_scale},
      {"output_bias", kLayer, slot::output_bias},
      {"attention.query_bias", kLayer, slot::query_bias},
      {"attention.key_bias", kLayer, slot::key_bias},
      {"attention.value_bias", kLayer, slot::value_bias},
      {"attention.sinks", kLayer, Slot(sinks)},
      {"attention.tuning", kLayer, Slot(tuning)},
      {"attention.tuning_floor", kLayer, Slot(tuning_floor)},
      {"attention.value_norm", kLayer, Slot(value_norm)},
      {"attention.key_as_value", kLayer, Slot(key_as_value)},
      {"attention.output_norm", kLayer, Slot(output_norm)},
      {"attention.output_norm.own", kLayer, Slot(output_norm_own)},
      {"attention.key_shift", kLayer, Slot(key_shift)},
      {"attention.value_shift", kLayer, Slot(value_shift)},
      {"attention.tuning_start", kLayer, Slot(tuning_start)},
      {"attention.tuning_whole", kLayer, Slot(tuning_whole)},
      {"attention.tuning_power", kLayer, Slot(tuning_power)},
      {"attention.value_scale", kLayer, Slot(value_scale)},
      {"attention.clip", kLayer, Slot(clip)},
      {"attention.gate", kLayer,
       Choice{{"none", "head", "channel"},
              [](Draft& draft, std::size_t n) { draft.layer.attention.gate.form = chosen<transformer::GateForm>(n); }}},
      {"attention.gate.softplus", kLayer, Slot(gate_softplus)},
      {"attention.gate.bias", kLayer, Slot(gate_bias)},
      {"attention.norm", kLayer,
       Choice{{"none", "head", "own", "whole"},
              [](Draft& draft, std::size_t n) {
                draft.layer.attention.norm.form = chosen<transformer::QueryNormForm>(n);
              }}},
      {"attention.norm.kind", kLayer,
       Choice{{"layer", "rms"},
              [](Draft& draft, std::size_t n) { draft.layer.attention.norm.norm = chosen<transformer::Norm>(n); }}},
      {"attention.norm.weight", kLayer, Slot(norm_weight)},
      {"attention.norm.bias", kLayer, Slot(query_norm_bias)},
      {"attention.qkv", kLayer,
       Choice{{"fused", "per_head", "separate"},
              [](Draft& draft, std::size_t n) { draft.layer.attention.qkv = chosen<transformer::QkvLayout>(n); }}},
      {"latent_rank", kLayer, slot::latent_rank},
      {"latent_query_rank", kLayer, slot::latent_query_rank},
      {"rotated_width", kLayer, slot::rotated_width},
      {"attention.latent.eps", kLayer, Slot(latent_eps)},
      {"inner", kLayer, slot::inner},
      {"activation", kLayer, slot::activation},
      {"feed_forward_bias", kLayer, slot::feed_forward_bias},
      {"feed_forward.inner_bias", kLayer, Slot(inner_bias)},
      {"feed_forward.gated", kLayer, slot::gated},
      {"feed_forward.inner_norm", kLayer, Slot(inner_norm)},
      {"feed_forward.clamp", kLayer, Slot(clamp)},
      {"feed_forward.alpha", kLayer, Slot(alpha)},
      {"feed_forward.output_scale", kLayer, Slot(feed_forward_output_scale)},
      {"experts", kLayer, slot::experts},
      {"chosen_experts", kLayer, slot::chosen_experts},
      {"shared_expert", kLayer, slot::shared_expert},
      {"expert_groups", kLayer, slot::expert_groups},
      {"chosen_groups", kLayer, slot::chosen_groups},
      {"normalised_experts", kLayer, slot::normalised_experts},
      {"expert_factor", kLayer, slot::expert_factor},
      {"experts.router_bias", kLayer, Slot(router_bias)},
      {"experts.correction", kLayer, Slot(correction)},
      {"experts.shared_gate", kLayer, Slot(shared_gate)},
      {"experts.averaged", kLayer, Slot(averaged)},
      {"experts.corrects_logits", kLayer, Slot(corrects_logits)},
      {"experts.ranked_by_two", kLayer, Slot(ranked_by_two)},
      {"experts.logit_cap", kLayer, Slot(router_cap)},
      {"experts.least_sum", kLayer, Slot(least_sum)},
      {"experts.margin", kLayer, Slot(margin)},
      {"experts.always", kLayer, Slot(always)},
      {"experts.router", kLayer,
       Choice{{"softmax", "top_softmax", "sigmoid", "input_sigmoid", "sparse_mixer"},
              [](Draft& draft, std::size_t n) {
                draft.layer.feed_forward.experts.router = chosen<transformer::Router>(n);
              }}},
      {"attention_norm", kLayer,
       Choice{kPlaces, [](Draft& draft, std::size_t n) { draft.layer.attention_norm = chosen<NormPlace>(n); }}},
      {"feed_forward_norm", kLayer,
       Choice{kPlaces, [](Draft& draft, std::size_t n) { draft.layer.feed_forward_norm = chosen<NormPlace>(n); }}},
      {"parallel", kLayer, slot::parallel},
      {"shared_norm", kLayer, Slot(shared_norm)},
      {"residual_from_norm", kLayer, slot::residual_from_norm},
      {"layer_scale", kLayer, Slot(layer_scale)},
      {"output_scale", kLayer, Slot(output_scale)},
      {"convolution", kLayer, Slot(short_convolution)},
  };
}

const std::vector<Property>& properties() {
  static const std::vector<Property> list = all_properties();
  return list;
}

Error other_kind(const char* expected, const SettingValue& value, const std::string& where) {
  return bad_input(std::string("expected ") + expected + ", found " + shown(to_text(value)), where);
}

struct Setter {
  const SettingValue& value;
  const std::string& where;
  Draft& draft;

  Status operator()(std::int64_t& (*slot)(Draft&)) const {
    const auto* const word = std::get_if<std::string>(&value);
    if (word != nullptr && *word == "follows" &&
        (slot == slot::kv_heads || slot == slot::head_width || slot == slot::inner)) {
      slot(draft) = kFollows;
      return {};
    }
    const auto* const whole = std::get_if<std::int64_t>(&value);
    if (whole == nullptr) {
      return other_kind("a whole number", value, where);
    }
    slot(draft) = *whole;
    return {};
  }
  Status operator()(double& (*slot)(Draft&)) const {
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
      slot(draft) = static_cast<double>(*whole);
      return {};
    }
    const auto* const number = std::get_if<double>(&value);
    if (number == nullptr) {
      return other_kind("a number", value, where);
    }
    slot(draft) = *number;
    return {};
  }
  Status operator()(bool& (*slot)(Draft&)) const {
    const auto* const flag = std::get_if<bool>(&value);
    if (flag == nullptr) {
      return other_kind("true or false", value, where);
    }
    slot(draft) = *flag;
    return {};
  }
  Status operator()(transformer::Activation& (*slot)(Draft&)) const {
    const auto* const word = std::get_if<std::string>(&value);
    if (word == nullptr) {
      return other_kind("the name of an activation", value, where);
    }
    LOCUS_TRY(slot(draft), within(transformer::parse_activation(*word), where));
    return {};
  }
};

}  // namespace

const Property* find_property(std::string_view name) {
  const std::vector<Property>& all = properties();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Property& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> property_names() {
  std::vector<std::string_view> names;
  for (const Property& property : properties()) {
    names.push_back(property.name);
  }
  return names;
}

Status set_property(const Property& property, const SettingValue& value, const std::string& where, Draft& draft) {
  if (const Slot* const slot = property.slot()) {
    return std::visit(Setter{value, where, draft}, *slot);
  }
  const Choice& choice = std::get<Choice>(property.access);
  const auto* const word = std::get_if<std::string>(&value);
  const auto found = word == nullptr ? choice.words.end() : std::find(choice.words.begin(), choice.words.end(), *word);
  if (found == choice.words.end()) {
    return unsupported("expected one of " + listed(choice.words, [](std::string_view each) { return each; }) +
                           ", found " + shown(to_text(value)),
                       where);
  }
  choice.set(draft, static_cast<std::size_t>(found - choice.words.begin()));
  return {};
}

}  // namespace locus::families
