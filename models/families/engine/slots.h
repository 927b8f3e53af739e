// Slots: the values of a Draft that fields of a config set.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families::slot {

#define LOCUS_SLOT(type, name, place) \
  inline type& name(Draft& draft) {   \
    return draft.place;               \
  }

LOCUS_SLOT(std::int64_t, vocabulary, spec.vocabulary)
LOCUS_SLOT(std::int64_t, width, spec.width)
LOCUS_SLOT(std::int64_t, layers, count)
LOCUS_SLOT(std::int64_t, heads, layer.attention.heads)
LOCUS_SLOT(std::int64_t, kv_heads, layer.attention.kv_heads)
LOCUS_SLOT(std::int64_t, head_width, layer.attention.head_width)
LOCUS_SLOT(std::int64_t, inner, layer.feed_forward.inner)
LOCUS_SLOT(std::int64_t, window, layer.attention.window)
LOCUS_SLOT(std::int64_t, trained_length, spec.trained_length)
LOCUS_SLOT(std::int64_t, token_types, spec.token_types)
LOCUS_SLOT(std::int64_t, channels, spec.image.channels)
LOCUS_SLOT(std::int64_t, patch, spec.image.patch)
LOCUS_SLOT(std::int64_t, frames, spec.image.frames)
LOCUS_SLOT(std::int64_t, cell, spec.image.cell)
LOCUS_SLOT(std::int64_t, registers, spec.image.registers)
LOCUS_SLOT(std::int64_t, class_tokens, spec.image.class_tokens)
LOCUS_SLOT(std::int64_t, detections, spec.image.detections)
LOCUS_SLOT(double, norm_eps, spec.norm_eps)
LOCUS_SLOT(double, soft_cap, layer.attention.soft_cap)
LOCUS_SLOT(double, logit_cap, spec.logit_cap)
LOCUS_SLOT(double, logit_scale, spec.logit_scale)
LOCUS_SLOT(double, attention_scale, layer.attention.scale)
LOCUS_SLOT(double, embedding_scale, spec.embedding_scale)
LOCUS_SLOT(double, residual_scale, spec.residual_scale)
LOCUS_SLOT(bool, tied, spec.tied_head)
LOCUS_SLOT(bool, attention_bias, attention_bias)
LOCUS_SLOT(bool, qkv_bias, qkv_bias)
LOCUS_SLOT(bool, query_bias, layer.attention.query_bias)
LOCUS_SLOT(bool, key_bias, layer.attention.key_bias)
LOCUS_SLOT(bool, value_bias, layer.attention.value_bias)
LOCUS_SLOT(bool, output_bias, layer.attention.output_bias)
LOCUS_SLOT(bool, gated, layer.feed_forward.gated)
LOCUS_SLOT(bool, feed_forward_bias, layer.feed_forward.bias)
LOCUS_SLOT(bool, parallel, layer.parallel)
LOCUS_SLOT(bool, residual_from_norm, layer.residual_from_norm)
LOCUS_SLOT(std::int64_t, experts, layer.feed_forward.experts.count)
LOCUS_SLOT(std::int64_t, chosen_experts, layer.feed_forward.experts.chosen)
LOCUS_SLOT(std::int64_t, shared_expert, layer.feed_forward.experts.shared)
LOCUS_SLOT(std::int64_t, expert_groups, layer.feed_forward.experts.groups)
LOCUS_SLOT(std::int64_t, chosen_groups, layer.feed_forward.experts.chosen_groups)
LOCUS_SLOT(bool, normalised_experts, layer.feed_forward.experts.normalised)
LOCUS_SLOT(double, expert_factor, layer.feed_forward.experts.factor)
LOCUS_SLOT(std::int64_t, latent_rank, layer.attention.latent.rank)
LOCUS_SLOT(std::int64_t, latent_query_rank, layer.attention.latent.query_rank)
LOCUS_SLOT(std::int64_t, rotated_width, layer.attention.latent.rotated)
LOCUS_SLOT(std::int64_t, plain_width, plain_width)
LOCUS_SLOT(std::int64_t, value_width, layer.attention.value_width)
LOCUS_SLOT(transformer::Activation, activation, layer.feed_forward.activation)

#undef LOCUS_SLOT

}  // namespace locus::families::slot
