#include "models/transformer/spec.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/base/words.h"

namespace locus::transformer {

namespace {

// Larger sizes mean a corrupt config.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;

constexpr WordTable<Activation, 13> kActivations{{
    {"gelu", Activation::kGelu},
    {"gelu_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSilu},
    {"relu", Activation::kRelu},
    {"quick_gelu", Activation::kQuickGelu},
    {"tanh", Activation::kTanh},
    {"relu2", Activation::kSquaredRelu},
    {"xielu", Activation::kXielu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"bloom_gelu", Activation::kGeluTanh},
    {"swish", Activation::kSilu},
}};

Status check_size(std::string_view field, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most) {
    return bad_input(std::string(field) + ": expected 1 to " + std::to_string(most) + ", found " +
                     std::to_string(value));
  }
  return {};
}

// Differential attention, and a learned part of the scores: each with plain keys and values of its own.
Status check_special(const AttentionSpec& attention) {
  const bool plain = attention.qkv == QkvLayout::kSeparate && attention.latent.rank == 0 && attention.source < 0 &&
                     !attention.key_as_value && !attention.value_norm && attention.clip == 0;
  if (!plain || (attention.difference != 0 && attention.key_bonus)) {
    return bad_input(
        "attention: expected q, k and v of three matrices beside a difference or a learned part of scores");
  }
  if (attention.difference != 0 && (!std::isfinite(attention.difference) || attention.heads % 2 != 0 ||
                                    attention.kv_heads % 2 != 0 || attention.values() != 2 * attention.head_width ||
                                    attention.output_norm || attention.gate.form != GateForm::kNone)) {
    return bad_input(
        "differential attention: expected even numbers of heads and key heads, values of two heads' width, and neither "
        "a norm nor a gate of the outputs");
  }
  if (attention.key_bonus && (attention.head_width < 2 || attention.value_width < 1)) {
    return bad_input("learned part of scores: expected a channel for it, and a width of the values");
  }
  return {};
}

// Keys and values that the token before gives a part of.
Status check_shift(const AttentionSpec& attention) {
  if (attention.qkv != QkvLayout::kSeparate || attention.latent.rank != 0 || attention.source >= 0 ||
      attention.key_as_value || attention.key_bonus || attention.difference != 0) {
    return bad_input("token shift: expected keys and values of two matrices, of this layer alone");
  }
  return {};
}

Status check_attention(const AttentionSpec& attention) {
  LOCUS_CHECK(check_size("heads", attention.heads, kLargestSize));
  LOCUS_CHECK(check_size("kv_heads", attention.kv_heads, attention.heads));
  LOCUS_CHECK(check_size("head_width", attention.head_width, kLargestSize));
  LOCUS_CHECK(check_size("value width", attention.values(), kLargestSize));
  if (attention.heads % attention.kv_heads != 0) {
    return bad_input("kv_heads: expected a divisor of heads " + std::to_string(attention.heads) + ", found " +
                     std::to_string(attention.kv_heads));
  }
  if (attention.qkv != QkvLayout::kSeparate &&
      (attention.query_bias != attention.key_bias || attention.key_bias != attention.value_bias)) {
    return bad_input("qkv: expected a bias for all of q, k and v, or for none, in one matrix");
  }
  if (!(attention.scale >= 0) || !(attention.soft_cap >= 0)) {
    return bad_input("attention: expected a scale and a soft cap of at least 0");
  }
  if (!(attention.clip >= 0) || !std::isfinite(attention.value_scale)) {
    return bad_input("attention: expected a clip of at least 0 and a finite factor of the values");
  }
  if (const QueryTuning& tuning = attention.tuning;
      tuning.gain != 0 && (!std::isfinite(tuning.gain) || !(tuning.length > 0) || !(tuning.start >= 0))) {
    return bad_input("factor of q by position: expected a finite gain, a length above 0 and a start of at least 0");
  }
  if (attention.gate.bias && attention.gate.form == GateForm::kNone) {
    return bad_input("gate of the attention's output: expected no bias without a gate");
  }
  if (attention.window < 0 || attention.chunk < 0) {
    return bad_input("window: expected 0 or more, found " +
                     std::to_string(std::min(attention.window, attention.chunk)));
  }
  const Latent& latent = attention.latent;
  if (attention.difference != 0 || attention.key_bonus) {
    LOCUS_CHECK(check_special(attention));
  }
  if (attention.shifts()) {
    LOCUS_CHECK(check_shift(attention));
  }
  if (attention.output_norm_own && !attention.output_norm) {
    return bad_input("norm of the heads' outputs: expected one, where each head has its own");
  }
  if (attention.key_as_value && (attention.qkv != QkvLayout::kSeparate || attention.values() != attention.head_width ||
                                 attention.key_bias != attention.value_bias)) {
    return bad_input("values that are the keys: expected q and k of two matrices, and values as wide as keys");
  }
  if (latent.rank != 0 && (attention.key_as_value || attention.value_norm || attention.source >= 0)) {
    return bad_input("latent attention: expected values of its own, without a norm");
  }
  if (latent.rank != 0) {
    LOCUS_CHECK(check_size("latent rank", latent.rank, kLargestSize));
    LOCUS_CHECK(check_size("rotated width", latent.rotated, attention.head_width - 1));
    if (latent.query_rank < 0 || latent.query_rank > kLargestSize || attention.kv_heads != attention.heads) {
      return bad_input("latent attention: expected a query rank of at least 0, and as many key heads as heads");
    }
  }
  return {};
}

Status check_feed_forward(const FeedForwardSpec& feed_forward) {
  LOCUS_CHECK(check_size("inner", feed_forward.inner, kLargestSize));
  if (!std::isfinite(feed_forward.gate_factor)) {
    return bad_input("feed-forward: expected a finite factor of the gate");
  }
  const Experts& experts = feed_forward.experts;
  if (feed_forward.activation == Activation::kXielu && (feed_forward.gated || experts.count > 0)) {
    return bad_input("activation xielu: expected a feed-forward without gate and experts");
  }
  if (experts.count == 0) {
    return {};
  }
  LOCUS_CHECK(check_size("experts", experts.count, 1 << 16));
  LOCUS_CHECK(check_size("experts of a token", experts.chosen, experts.count));
  if (experts.capacity < 0) {
    return bad_input("capacity of experts: expected 0 or more, found " + std::to_string(experts.capacity));
  }
  LOCUS_CHECK(check_size("groups of experts", experts.groups, experts.count));
  LOCUS_CHECK(check_size("chosen groups of experts", experts.chosen_groups, experts.groups));
  if (!(experts.logit_cap >= 0) || !(experts.least_sum >= 0) || !(experts.margin >= 0)) {
    return bad_input("router: expected a cap of the logits, a least sum and a margin of at least 0");
  }
  if (experts.router == Router::kSparseMixer && (experts.chosen != 2 || experts.groups != 1)) {
    return bad_input("router: expected two experts of a token and one group, found " + std::to_string(experts.chosen) +
                     " and " + std::to_string(experts.groups));
  }
  if (experts.correction && experts.router != Router::kSoftmax && experts.router != Router::kSigmoid) {
    return bad_input("router: expected no correction beside the largest logits");
  }
  if (experts.always != 0) {
    LOCUS_CHECK(check_size("experts of every token", experts.always, 1 << 10));
    if (experts.router != Router::kSigmoid || !experts.normalised || experts.least_sum > 0 || experts.capacity > 0) {
      return bad_input("experts of every token: expected weights by sigmoids that add up to 1, of all tokens");
    }
  }
  if (experts.count % experts.groups != 0 || experts.chosen > experts.count / experts.groups * experts.chosen_groups) {
    return bad_input("experts: expected groups of one size that hold those chosen, found " +
                     std::to_string(experts.count) + " experts in " + std::to_string(experts.groups) + " groups");
  }
  return experts.shared == 0 ? Status() : check_size("inner of the shared expert", experts.shared, kLargestSize);
}

// A mixer that a layer has.
Status check_mixer(const MixerSpec& mixer) {
  LOCUS_CHECK(check_size("heads of the mixer", mixer.heads, kLargestSize));
  LOCUS_CHECK(check_size("key heads of the mixer", mixer.key_heads, mixer.heads));
  LOCUS_CHECK(check_size("key width of the mixer", mixer.key_width, kLargestSize));
  LOCUS_CHECK(check_size("value width of the mixer", mixer.value_width, kLargestSize / mixer.heads));
  if (mixer.kind != Mixing::kLightning) {
    LOCUS_CHECK(check_size("tokens of the mixer's convolution", mixer.kernel, 1024));
  }
  if (mixer.heads % mixer.key_heads != 0) {
    return bad_input("key heads of the mixer: expected a divisor of its heads " + std::to_string(mixer.heads) +
                     ", found " + std::to_string(mixer.key_heads));
  }
  if (!(mixer.norm_eps >= 0) || !std::isfinite(mixer.beta_scale) || !(mixer.decay_floor <= 0) ||
      !(mixer.least_step >= 0) || !(mixer.most_step == 0 || mixer.most_step >= mixer.least_step)) {
    return bad_input(
        "mixer: expected an epsilon of at least 0, a finite factor of beta, a floor of the decay of at "
        "most 0 and limits of the step in order");
  }
  if (mixer.norm_groups < 1 || mixer.inner() % mixer.norm_groups != 0) {
    return bad_input("groups of the mixer's norm: expected a divisor of " + std::to_string(mixer.inner()) + ", found " +
                     std::to_string(mixer.norm_groups));
  }
  switch (mixer.kind) {
    case Mixing::kDelta:
      if (mixer.gate_rank < 0 || mixer.gate_rank > kLargestSize) {
        return bad_input("width of the mixer's gate: expected 0 or more, found " + std::to_string(mixer.gate_rank));
      }
      if (mixer.channel_decay && mixer.heads != mixer.key_heads) {
        return bad_input("mixer: expected as many key heads as heads beside a decay of each channel");
      }
      if (mixer.qkv == QkvLayout::kPerHead && (mixer.channel_decay || mixer.gate_rank > 0)) {
        return bad_input("mixer: expected q, k and v in three matrices, or in one beside gate and decay");
      }
      break;
    case Mixing::kStateSpace:
      for (const double factor :
           {mixer.gate_factor, mixer.value_factor, mixer.write_factor, mixer.read_factor, mixer.step_factor}) {
        if (!std::isfinite(factor)) {
          return bad_input("factors of the mixer's parts: expected finite numbers");
        }
      }
      break;
    case Mixing::kSelective:
      LOCUS_CHECK(check_size("rank of the mixer's step", mixer.step_rank, kLargestSize));
      break;
    case Mixing::kLightning:
      if (mixer.key_heads != mixer.heads || mixer.key_width != mixer.value_width) {
        return bad_input("lightning attention: expected keys as many and as wide as values");
      }
      break;
    case Mixing::kNone:
    case Mixing::kConvolution:
    case Mixing::kRecurrence:
      break;
  }
  return {};
}

// Checks that keys and values come from this layer's own matrices, and that branches are added without a norm.
Status check_short_convolutions(const LayerSpec& layer) {
  constexpr std::int64_t kMaxTokens = 1024;
  LOCUS_CHECK(check_size("tokens of the short convolutions", layer.convolution, kMaxTokens));
  const AttentionSpec& attention = layer.attention;
  const bool plain = attention.qkv == QkvLayout::kSeparate && attention.latent.rank == 0 && attention.source < 0 &&
                     !attention.key_as_value && !attention.key_bonus && attention.difference == 0 &&
                     !attention.shifts();
  const auto placed = [](NormPlace place) { return place == NormPlace::kPre || place == NormPlace::kNone; };
  if (!plain || !layer.attends || !layer.feeds || layer.has_mixer() || layer.parallel ||
      !placed(layer.attention_norm) || !placed(layer.feed_forward_norm)) {
    return bad_input(
        "short convolutions: expected keys and values of two matrices, attention and then a feed-forward, and no norms "
        "of their outputs");
  }
  return {};
}

// What a layer is made of: attention, a mixer, both or neither; a feed-forward or none.
Status check_parts(const LayerSpec& layer) {
  if (!layer.mixes() && !layer.feeds) {
    return bad_input("layer: expected attention, a mixer or a feed-forward");
  }
  for (const double factor : {layer.attention_input, layer.attention_output, layer.mixer_input, layer.mixer_output}) {
    if (!std::isfinite(factor)) {
      return bad_input("factors of attention and mixer: expected finite ones");
    }
  }
  if (layer.parallel && !(layer.mixes() && layer.feeds)) {
    return bad_input("layer: expected both branches where they are parallel");
  }
  if (layer.convolution != 0) {
    LOCUS_CHECK(check_short_convolutions(layer));
  }
  return layer.has_mixer() ? check_mixer(layer.mixer) : Status();
}

// Mixers read tokens in their order, each after the ones before it.
Status check_mixers(const Spec& spec) {
  if (spec.has_mixers() && (!spec.causal || spec.is_image() || spec.crosses())) {
    return bad_input("mixer: expected a causal text model without cross-attention");
  }
  if (!spec.attends_everywhere() && (spec.is_image() || spec.crosses())) {
    return bad_input("layers: expected attention and a feed-forward in all of them");
  }
  return {};
}

// Cross-attention is limited to three matrices and plain scores of queries and keys, before or after one norm, with one
// shape in all layers.
Status check_cross(const Spec& spec) {
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    const LayerSpec& layer = spec.layers[n];
    if (layer.cross != spec.first().cross) {
      return bad_input("layer " + std::to_string(n) + ": expected the cross-attention of the other layers");
    }
    if (!layer.cross) {
      continue;
    }
    LOCUS_CHECK(check_attention(*layer.cross));
    AttentionSpec plain = *layer.cross;
    plain.latent = {};
    plain.norm = {};
    plain.window = plain.chunk = 0;
    plain.value_norm = plain.key_as_value = plain.output_norm = plain.output_norm_own = false;
    plain.key_shift = plain.value_shift = false;
    plain.source = -1;
    plain.soft_cap = plain.clip = 0;
    plain.tuning = {};
    plain.gate = {};
    plain.value_scale = 1;
    plain.difference = 0;
    plain.key_bonus = false;
    plain.sinks = false;
    const bool placed = layer.attention_norm == NormPlace::kPre || layer.attention_norm == NormPlace::kPost;
    if (plain != *layer.cross || plain.qkv != QkvLayout::kSeparate || !placed || layer.parallel) {
      return bad_input(
          "cross-attention: expected q, k and v of three matrices, plain scores and a norm before "
          "or after it");
    }
  }
  return {};
}

bool same_heads(const AttentionSpec& a, const AttentionSpec& b) {
  return a.heads == b.heads && a.kv_heads == b.kv_heads && a.head_width == b.head_width;
}

// Layers of one encoding (or of none) must have the same shape.
Status check_sharing(const Spec& spec) {
  std::vector<const AttentionSpec*> shapes(spec.encodings.size() + 1, nullptr);
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    const LayerSpec& layer = spec.layers[n];
    if (layer.encoding < -1 || layer.encoding >= static_cast<std::int64_t>(spec.encodings.size())) {
      return bad_input("layer " + std::to_string(n) + ": expected an encoding of the list, found " +
                       std::to_string(layer.encoding));
    }
    if (const std::int64_t heads = spec.first().attention.heads; layer.attention.heads != heads) {
      return bad_input("layer " + std::to_string(n) + ": expected " + std::to_string(heads) +
                       " heads, as in layer 0, found " + std::to_string(layer.attention.heads));
    }
    const AttentionSpec*& known = shapes[static_cast<std::size_t>(layer.encoding + 1)];
    known = known == nullptr ? &layer.attention : known;
    if (!same_heads(*known, layer.attention)) {
      return bad_input("layer " + std::to_string(n) + ": expected the heads of the other layers of its encoding");
    }
  }
  return {};
}

// A layer with the keys of another reads those of an earlier layer that has its own, of the same shape and encoding.
Status check_sources(const Spec& spec) {
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    const LayerSpec& layer = spec.layers[n];
    const std::int64_t from = layer.attention.source;
    if (from == -1) {
      continue;
    }
    const std::string where = "layer " + std::to_string(n) + ": ";
    if (from < 0 || from >= static_cast<std::int64_t>(n)) {
      return bad_input(where + "expected the keys of an earlier layer, found " + std::to_string(from));
    }
    const LayerSpec& other = spec.layers[static_cast<std::size_t>(from)];
    if (!other.attends || other.attention.source != -1 || other.encoding != layer.encoding ||
        other.attention.values() != layer.attention.values() || layer.attention.qkv != QkvLayout::kSeparate) {
      return bad_input(where + "expected the keys of a layer with keys and an encoding like its own, found layer " +
                       std::to_string(from));
    }
  }
  return {};
}

Status check_layer_inputs(const Spec& spec) {
  const LayerInputs& inputs = spec.layer_inputs;
  if (inputs.width == 0) {
    return {};
  }
  LOCUS_CHECK(check_size("width of the layers' inputs", inputs.width, kLargestSize / spec.depth()));
  if (inputs.vocabulary != 0 && (inputs.vocabulary < spec.vocabulary || inputs.vocabulary > kLargestSize)) {
    return bad_input("vocabulary of the layers' inputs: expected none, or at least the model's " +
                     std::to_string(spec.vocabulary) + ", found " + std::to_string(inputs.vocabulary));
  }
  if (inputs.placeholder >= 0 && (inputs.filler < 0 || inputs.filler >= inputs.vocabulary)) {
    return bad_input("row of the layers' inputs for placeholders: expected one of " +
                     std::to_string(inputs.vocabulary) + ", found " + std::to_string(inputs.filler));
  }
  if (spec.is_image() || spec.embedding_width > 0) {
    return bad_input("inputs of the layers: expected a text model whose embeddings are as wide as its states");
  }
  return {};
}

// Rounds follow each other without gaps, and the last one ends the high state.
Status check_rounds(const Spec& spec) {
  const bool any = std::any_of(spec.layers.begin(), spec.layers.end(),
                               [](const LayerSpec& layer) { return layer.round != Round::kWithin; });
  if (!any) {
    return {};
  }
  bool within = false;
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    const LayerSpec& layer = spec.layers[n];
    if (layer.begins_round() == within) {
      return bad_input("layer " + std::to_string(n) + ": expected rounds of layers that begin and end");
    }
    within = !layer.ends_low() && !layer.ends_high();
  }
  if (within || !spec.layers.back().ends_high() || spec.is_image() || spec.crosses() || spec.norm != Norm::kRms ||
      spec.convolution.kernel > 0 || spec.layer_inputs.width > 0) {
    return bad_input("rounds of layers: expected a text model with RMSNorms whose last round ends the high state");
  }
  return {};
}

// Bounds are those of plain layers of a tower.
Status check_bounds(const Spec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    const bool plain = spec.is_image() && !spec.head && attention.qkv == QkvLayout::kSeparate &&
                       attention.latent.rank == 0 && attention.source < 0 && !attention.key_as_value &&
                       !attention.shifts() && attention.gate.form == GateForm::kNone && attention.difference == 0 &&
                       !attention.key_bonus && layer.feed_forward.gated && layer.feed_forward.experts.count == 0;
    if (layer.bounded && !plain) {
      return bad_input(
          "bounds of products: expected an image model without a head, with q, k and v of three matrices and gated "
          "feed-forwards");
    }
  }
  return {};
}

// Only learned positions have rows for tokens behind the patches.
Status check_detections(const Spec& spec) {
  const ImageStem& image = spec.image;
  if (image.detections == 0 && !image.positions_after_layers) {
    return {};
  }
  const bool learned = std::all_of(spec.encodings.begin(), spec.encodings.end(),
                                   [](const EncodingSpec& encoding) { return encoding.name == "learned"; });
  if (image.detections < 0 || image.detections > kMaxDetections || !spec.is_image() || spec.head || !learned ||
      spec.encodings.empty() || image.frames > 0 || image.cell != 1 || image.position_embedding) {
    return bad_input("detection tokens: expected 0 to " + std::to_string(kMaxDetections) +
                     " of an image model with learned positions and without a head, found " +
                     std::to_string(image.detections));
  }
  return {};
}

// Patches of a convolution that overlap, and what a layer between two stages is made from.
Status check_hiera(const Spec& spec) {
  const ImageStem& image = spec.image;
  const bool hiera = image.stages == Stages::kHiera;
  if (!hiera && (image.kernel != 0 || image.padding != 0 || image.unit != 1)) {
    return bad_input("convolution: expected one without overlaps");
  }
  constexpr std::int64_t kMaxKernel = 4096;
  const std::int64_t twice = 2 * image.padding;
  if (image.kernel < 0 || image.kernel > kMaxKernel || image.padding < 0 || image.padding > kMaxKernel ||
      image.first_kernel() - image.first_patch() > twice || twice >= image.first_kernel()) {
    return bad_input("convolution: expected as many patches as the sides divided by the stride " +
                     std::to_string(image.first_patch()) + ", found a side of " + std::to_string(image.first_kernel()) +
                     " and a margin of " + std::to_string(image.padding));
  }
  if (image.unit < 1 || image.unit > std::int64_t{1} << kMaxStages) {
    return bad_input("unit: expected 1 to " + std::to_string(std::int64_t{1} << kMaxStages) + ", found " +
                     std::to_string(image.unit));
  }
  const AttentionSpec& attention = spec.first().attention;
  const FeedForwardSpec& feed_forward = spec.first().feed_forward;
  if (hiera && (attention.heads != attention.kv_heads || attention.heads * attention.head_width != spec.width ||
                attention.values() != attention.head_width || feed_forward.gated || !feed_forward.bias ||
                feed_forward.inner_norm || feed_forward.experts.count > 0)) {
    return bad_input("stages: expected heads as wide as the stream, and a plain feed-forward with biases");
  }
  return {};
}

// The stem of a tower in stages has patches alone.
Status check_stages(const Spec& spec) {
  const ImageStem& image = spec.image;
  if (image.stages == Stages::kNone) {
    const bool shifted = std::any_of(spec.layers.begin(), spec.layers.end(),
                                     [](const LayerSpec& layer) { return layer.attention.shift != 0; });
    return image.before.empty() && !shifted ? Status() : bad_input("stages: expected a tower in stages, found none");
  }
  if (!spec.is_image() || spec.prefix_tokens() > 0 || image.detections > 0 || image.position_embedding ||
      image.frames > 0 || image.cell != 1 || spec.embedding_norm || spec.embedding_width > 0) {
    return bad_input("stages: expected an image model whose tokens are patches alone");
  }
  if (image.before.size() > kMaxStages || image.first_patch() < 1 ||
      image.first_patch() << image.before.size() != image.patch) {
    return bad_input("stages: expected at most " + std::to_string(kMaxStages) + " before the layers, and a patch of " +
                     std::to_string(image.patch) + " pixels that is halved in each, found " +
                     std::to_string(image.before.size()));
  }
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    const bool whole = image.stages == Stages::kHiera && attention.tile == 0;
    if (whole ? attention.shift != 0 : attention.tile < 1 || attention.shift < 0 || attention.shift >= attention.tile) {
      return bad_input("windows: expected a side of at least 1 and a smaller shift, found " +
                       std::to_string(attention.tile) + " and " + std::to_string(attention.shift));
    }
    if (!layer.attends || !layer.feeds || layer.has_mixer() || layer.attention.source >= 0 ||
        layer.round != Round::kWithin) {
      return bad_input("stages: expected layers of attention and feed-forward");
    }
  }
  LOCUS_CHECK(check_hiera(spec));
  for (std::size_t n = 0; n < image.before.size(); ++n) {
    LOCUS_CHECK(within(validate(stage_spec(spec, n)), "stage " + std::to_string(n + 1)));
  }
  return {};
}

// A convolution reads tokens on both sides.
Status check_convolution(const Spec& spec) {
  const Convolution& convolution = spec.convolution;
  if (convolution.kernel == 0) {
    return {};
  }
  constexpr std::int64_t kLongest = 1023;
  if (convolution.kernel < 1 || convolution.kernel > kLongest || convolution.kernel % 2 == 0) {
    return bad_input("convolution: expected an odd number of tokens from 1 to " + std::to_string(kLongest) +
                     ", found " + std::to_string(convolution.kernel));
  }
  if (convolution.activation == Activation::kXielu) {
    return bad_input("activation of the convolution: expected one without learned numbers, found xielu");
  }
  if (convolution.groups < 1 || spec.width % convolution.groups != 0) {
    return bad_input("groups of the convolution: expected a divisor of the width " + std::to_string(spec.width) +
                     ", found " + std::to_string(convolution.groups));
  }
  if (spec.causal || spec.is_image()) {
    return bad_input("convolution: expected a bidirectional text model");
  }
  return {};
}

double attention_macs(const AttentionSpec& attention, double width, double keys) {
  const auto heads = static_cast<double>(attention.heads);
  const auto key_heads = static_cast<double>(attention.kv_heads);
  const auto head = static_cast<double>(attention.head_width);
  const auto value = static_cast<double>(attention.values());
  const double own = attention.source >= 0 ? 0 : attention.key_as_value ? head : head + value;  // of keys and values
  double projections = width * (heads * head + key_heads * own) + heads * value * width;
  if (attention.difference != 0) {
    projections -= width * (key_heads + heads) * value / 2;
  }
  if (const Latent& latent = attention.latent; latent.rank > 0) {
    const auto rank = static_cast<double>(latent.rank);
    const auto rotated = static_cast<double>(latent.rotated);
    const auto query = static_cast<double>(latent.query_rank);
    projections = query > 0 ? query * (width + heads * head) : width * heads * head;
    projections += width * (rank + rotated) + rank * heads * (head - rotated + value) + heads * value * width;
  }
  const double gates = attention.gate.form == GateForm::kHead      ? heads
                       : attention.gate.form == GateForm::kChannel ? heads * value
                                                                   : 0;
  const double shifts = key_heads * ((attention.key_shift ? 1 : 0) + (attention.value_shift ? 1 : 0));
  return projections + (gates + shifts) * width + heads * (head + value) * keys;
}

// Multiply-accumulates of a token: projections, convolution, and what its recurrence reads and writes of its state.
double mixer_macs(const MixerSpec& mixer, double width) {
  const auto inner = static_cast<double>(mixer.inner());
  const auto keys = static_cast<double>(mixer.key_heads * mixer.key_width);
  const auto heads = static_cast<double>(mixer.heads);
  const auto kernel = static_cast<double>(mixer.kernel);
  const auto state = inner * static_cast<double>(mixer.key_width);
  const auto rank = static_cast<double>(mixer.gate_rank);
  switch (mixer.kind) {
    case Mixing::kNone:
      break;
    case Mixing::kDelta: {
      const double decays = mixer.channel_decay ? keys : heads;
      const double gates = rank > 0 ? rank * (2 * width + inner + decays) : width * (inner + decays);
      return width * (2 * keys + 2 * inner + heads) + gates + kernel * (2 * keys + inner) + 3 * state;
    }
    case Mixing::kStateSpace:
      return width * (3 * inner + 2 * keys + heads) + kernel * (inner + 2 * keys) + 2 * state;
    case Mixing::kLightning:
      return width * 5 * inner + 2 * state;
    case Mixing::kConvolution:
      return width * 4 * inner + kernel * inner;
    case Mixing::kSelective: {
      const auto step = static_cast<double>(mixer.step_rank);
      return width * 3 * inner + inner * (2 * step + 2 * static_cast<double>(mixer.key_width) + kernel) + 2 * state;
    }
    case Mixing::kRecurrence:
      return width * 3 * inner + inner * (2 * static_cast<double>(mixer.value_width) + kernel + 1);
  }
  return 0;
}

double feed_forward_macs(const FeedForwardSpec& feed_forward, double width) {
  const double matrices = feed_forward.gated ? 3 : 2;
  const Experts& experts = feed_forward.experts;
  const auto inner = static_cast<double>(feed_forward.inner);
  if (experts.count == 0) {
    return matrices * width * inner;
  }
  const auto read = static_cast<double>(experts.chosen + experts.always);
  return matrices * width * (inner * read + static_cast<double>(experts.shared)) +
         width * static_cast<double>(experts.count + experts.always);
}

double short_convolution_macs(const LayerSpec& layer, double width) {
  const AttentionSpec& attention = layer.attention;
  const auto keys = static_cast<double>(attention.kv_heads * (attention.head_width + attention.values()));
  return static_cast<double>(layer.convolution) * (keys + 2 * width);
}

// Largest number of keys of a query: its window, its chunk, or all.
std::int64_t most_keys(const AttentionSpec& attention, std::int64_t length) {
  const std::int64_t near = attention.window > 0 && length > attention.window ? attention.window : length;
  return attention.chunk > 0 ? std::min(near, attention.chunk) : near;
}

}  // namespace

Spec stage_spec(const Spec& spec, std::size_t stage) {
  Spec own = spec;
  const StageSpec& from = spec.image.before[stage];
  const std::size_t later = spec.image.before.size() - stage;
  own.width = from.width;
  own.layers = from.layers;
  own.encodings = {from.encoding};
  own.image.before.clear();
  own.image.kernel = own.image.padding = 0;
  own.image.patch >>= later;
  own.image.rows <<= later;
  own.image.columns <<= later;
  own.trained_length = own.image.rows * own.image.columns;
  own.head = false;
  return own;
}

void separate_shapes(Spec& spec) {
  // An encoding that was made: what it was made from, and the first layer that has it.
  struct Made {
    std::int64_t from;
    std::int64_t encoding;
    const AttentionSpec* shape;
  };
  std::vector<Made> made;
  const auto count = static_cast<std::int64_t>(spec.encodings.size());
  for (LayerSpec& layer : spec.layers) {
    const std::int64_t from = layer.encoding;
    if (from < -1 || from >= count) {
      continue;
    }
    const auto known = std::find_if(made.begin(), made.end(), [&](const Made& each) {
      return each.from == from && same_heads(*each.shape, layer.attention);
    });
    if (known != made.end()) {
      layer.encoding = known->encoding;
      continue;
    }
    const bool first = std::none_of(made.begin(), made.end(), [&](const Made& each) { return each.from == from; });
    const EncodingSpec own = from < 0 ? EncodingSpec{"none", {}} : spec.encodings[static_cast<std::size_t>(from)];
    if (!first && (own.name == "rope" || own.name == "none")) {
      layer.encoding = static_cast<std::int64_t>(spec.encodings.size());
      spec.encodings.push_back(own);
    }
    made.push_back({from, layer.encoding, &layer.attention});
  }
}

Status validate(const LayerSpec& layer, std::int64_t count) {
  LOCUS_CHECK(check_size("layers", count, kMaxLayers));
  LOCUS_CHECK(check_attention(layer.attention));
  LOCUS_CHECK(check_parts(layer));
  return check_feed_forward(layer.feed_forward);
}

Status validate(const Spec& spec) {
  LOCUS_CHECK(check_size("layers", spec.depth(), kMaxLayers));
  for (const LayerSpec& layer : spec.layers) {
    LOCUS_CHECK(check_attention(layer.attention));
    LOCUS_CHECK(check_parts(layer));
  }
  LOCUS_CHECK(check_mixers(spec));
  if (spec.shifts() && (!spec.causal || spec.is_image())) {
    return bad_input("token shift: expected a causal text model");
  }
  if (spec.convolves() && (!spec.causal || spec.is_image() || spec.crosses())) {
    return bad_input("short convolutions: expected a causal text model without cross-attention");
  }
  LOCUS_CHECK(check_size("width", spec.width, kLargestSize));
  for (const LayerSpec& layer : spec.layers) {
    LOCUS_CHECK(check_feed_forward(layer.feed_forward));
    const bool elsewhere = (spec.head_transform && !spec.head_transform_gelu) || spec.layer_inputs.width > 0;
    if (elsewhere && layer.feed_forward.activation == Activation::kXielu) {
      return bad_input("activation xielu: expected feed-forwards alone to have it");
    }
    for (const ResidualSum& sum : {layer.attention_sum, layer.feed_forward_sum}) {
      if (!std::isfinite(sum.stream) || !std::isfinite(sum.branch)) {
        return bad_input("sum of stream and branch: expected finite factors");
      }
    }
  }
  for (const double eps : {spec.norm_eps, spec.after_norm_eps}) {
    if (!(eps >= 0 && std::isfinite(eps))) {
      return bad_input("epsilon of the norms: expected a number of at least 0, found " + general_text(eps, 6));
    }
  }
  LOCUS_CHECK(check_size("vocabulary", spec.vocabulary, kLargestSize));
  LOCUS_CHECK(check_size("embedding width", spec.token_width(), kLargestSize));
  LOCUS_CHECK(check_size("width of the head", spec.head_width(), kLargestSize));
  LOCUS_CHECK(check_size("width of the states", spec.output_width(), kLargestSize));
  if (spec.state_width > 0 && (spec.head || spec.is_image())) {
    return bad_input("width of the states: expected a text model without a head, found " +
                     std::to_string(spec.state_width));
  }
  if (!spec.is_image() && spec.head && spec.tied_head && spec.head_width() != spec.token_width()) {
    return bad_input("width of the head: expected the embedding's for a tied head, found " +
                     std::to_string(spec.head_width()));
  }
  if (spec.dropped_token >= 0 && (spec.causal || spec.is_image())) {
    return bad_input("dropped token: expected a bidirectional text model");
  }
  if (spec.early_norm && (!spec.embedding_norm || spec.is_image())) {
    return bad_input("early norm: expected a text model with a norm of the embedding");
  }
  LOCUS_CHECK(check_sharing(spec));
  LOCUS_CHECK(check_sources(spec));
  LOCUS_CHECK(check_layer_inputs(spec));
  LOCUS_CHECK(check_cross(spec));
  LOCUS_CHECK(check_convolution(spec));
  LOCUS_CHECK(check_bounds(spec));
  LOCUS_CHECK(check_detections(spec));
  LOCUS_CHECK(check_rounds(spec));
  if (spec.all_seen < 0 || (spec.all_seen > 0 && spec.is_image())) {
    return bad_input("tokens that are all seen: expected 0 or more of a text, found " + std::to_string(spec.all_seen));
  }
  if (spec.head_inner < 0 || spec.head_inner > kLargestSize || (spec.head_inner > 0 && !spec.head_transform)) {
    return bad_input("inner width of the head: expected none, or that of a transform, found " +
                     std::to_string(spec.head_inner));
  }
  if (spec.token_score && (spec.is_image() || spec.tied_head)) {
    return bad_input("score of a token: expected a text model with a head that is not tied");
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.tile < 0 || (layer.attention.tile > 0 && (!spec.is_image() || spec.image.class_tokens > 0))) {
      return bad_input("tile: expected none, or one of patches without class tokens, found " +
                       std::to_string(layer.attention.tile));
    }
    if (layer.attention.chunk > 0 && !spec.causal) {
      return bad_input("chunk: expected none or a causal one, found " + std::to_string(layer.attention.chunk));
    }
  }
  if (spec.is_image()) {
    LOCUS_CHECK(check_size("patch", spec.image.patch, 4096));
    LOCUS_CHECK(check_size("channels", spec.image.channels, 16));
    if (spec.image.frames != 0 || spec.image.cell != 1) {
      LOCUS_CHECK(check_size("frames of a patch", spec.image.frames, 16));
      LOCUS_CHECK(check_size("patches a side of a cell", spec.image.cell, 64));
    }
    LOCUS_CHECK(check_size("patch rows", spec.image.rows, 16384));
    LOCUS_CHECK(check_size("patch columns", spec.image.columns, 16384));
    const std::int64_t read = spec.pool == Pool::kTwoHeads                                       ? 2
                              : spec.pool == Pool::kClass || spec.pool == Pool::kClassAndPatches ? 1
                                                                                                 : 0;
    if (spec.image.class_tokens < 0 || spec.image.class_tokens > kMaxClassTokens || spec.image.registers < 0 ||
        spec.image.registers > 4096 || (spec.head && spec.image.class_tokens < read)) {
      return bad_input("class tokens: expected " + std::to_string(read) + " to " + std::to_string(kMaxClassTokens) +
                       ", found " + std::to_string(spec.image.class_tokens));
    }
  }
  return check_stages(spec);
}

bool Spec::is_source(std::int64_t layer) const {
  return std::any_of(layers.begin(), layers.end(),
                     [&](const LayerSpec& each) { return each.attention.source == layer; });
}

bool Spec::has_mixers() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerSpec& each) { return each.has_mixer(); });
}

bool Spec::attends_everywhere() const {
  return std::all_of(layers.begin(), layers.end(),
                     [](const LayerSpec& each) { return each.attends && each.feeds && !each.has_mixer(); });
}

bool Spec::shares_keys() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerSpec& each) { return each.attention.source >= 0; });
}

bool Spec::shifts() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& each) { return each.attends && each.attention.shifts(); });
}

bool Spec::convolves() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerSpec& each) { return each.convolution > 0; });
}

namespace {

// Multiply-accumulates of the stages before, whose last leaves `tokens` patches, each side by side with three others.
double stage_macs(const Spec& spec, double tokens) {
  const std::vector<StageSpec>& stages = spec.image.before;
  double total = 0;
  for (std::size_t n = stages.size(); n-- > 0;) {
    const auto width = static_cast<double>(stages[n].width);
    const std::int64_t next = n + 1 < stages.size() ? stages[n + 1].width : spec.width;
    const auto out = static_cast<double>(next);
    total += tokens * 4 * width * out;
    tokens *= 4;
    if (spec.image.stages == Stages::kHiera) {
      const LayerSpec& layer = n + 1 < stages.size() ? stages[n + 1].layers.front() : spec.first();
      const std::int64_t side = stages[n].layers.front().attention.tile;
      const double seen = side > 0 ? static_cast<double>(side * side) : tokens;
      total += tokens * 3 * width * out;
      total += tokens / 4 * (out * out + 2 * seen * out + feed_forward_macs(layer.feed_forward, out));
    }
    for (const LayerSpec& layer : stages[n].layers) {
      const std::int64_t side = layer.attention.tile;
      const double keys = side > 0 ? static_cast<double>(side * side) : tokens;
      total += tokens * (attention_macs(layer.attention, width, keys) + feed_forward_macs(layer.feed_forward, width));
    }
  }
  return total;
}

}  // namespace

double multiply_accumulates(const Spec& spec, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const auto width = static_cast<double>(spec.width);
  double total = 0;
  for (const LayerSpec& layer : spec.layers) {
    const auto keys = static_cast<double>(most_keys(layer.attention, length));
    total += layer.attends ? tokens * attention_macs(layer.attention, width, keys) : 0;
    total += tokens * (mixer_macs(layer.mixer, width) + short_convolution_macs(layer, width));
    total += layer.feeds ? tokens * feed_forward_macs(layer.feed_forward, width) : 0;
    total += layer.cross ? tokens * attention_macs(*layer.cross, width, tokens) : 0;
    total += tokens * 3 * width * static_cast<double>(spec.layer_inputs.width);
  }
  if (spec.is_image()) {
    const auto patch = static_cast<double>(spec.image.first_kernel());
    const auto frames = static_cast<double>(std::max<std::int64_t>(spec.image.frames, 1));
    const auto first = static_cast<double>(spec.image.before.empty() ? spec.width : spec.image.before.front().width);
    total += tokens * static_cast<double>(spec.image.channels) * frames * patch * patch * first;
    total += stage_macs(spec, tokens);
    return total + width * static_cast<double>(spec.vocabulary);
  }
  if (spec.convolution.kernel > 0) {
    total += tokens * width * width / static_cast<double>(spec.convolution.groups) *
             static_cast<double>(spec.convolution.kernel);
  }
  const auto token_width = static_cast<double>(spec.token_width());
  const double projection = spec.embedding_width > 0 ? tokens * token_width * width : 0;
  const auto inner = static_cast<double>(spec.head_inner);
  const double transform = spec.head_inner > 0   ? inner * (width + static_cast<double>(spec.head_width()))
                           : spec.head_transform ? width * static_cast<double>(spec.head_width())
                                                 : 0;
  const double head = static_cast<double>(spec.head_width()) * static_cast<double>(spec.outputs()) + transform;
  const double states = static_cast<double>(spec.state_width) * width;
  return total + projection + tokens * (spec.head ? head : states);
}

double run_macs(const Spec& spec, std::int64_t length, bool all_logits) {
  double total = multiply_accumulates(spec, length);
  const auto tokens = static_cast<double>(length);
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attends && spec.causal && most_keys(layer.attention, length) == length) {
      const std::int64_t wide = layer.attention.heads * (layer.attention.head_width + layer.attention.values());
      total -= static_cast<double>(wide) / 2 * tokens * tokens;
    }
  }
  if (!spec.is_image() && !all_logits && spec.head) {
    const double rows = spec.token_score ? 0 : tokens - 1;
    total -= rows * static_cast<double>(spec.token_width()) * static_cast<double>(spec.vocabulary);
  }
  return total;
}

double token_macs(const Spec& spec, std::int64_t length, bool all_logits) {
  const auto tokens = static_cast<double>(length);
  double total = run_macs(spec, length, all_logits);
  for (const LayerSpec& layer : spec.layers) {
    if (!layer.attends) {
      continue;
    }
    const auto keys = static_cast<double>(most_keys(layer.attention, length));
    const bool half = spec.causal && most_keys(layer.attention, length) == length;
    const std::int64_t wide = layer.attention.heads * (layer.attention.head_width + layer.attention.values());
    total -= static_cast<double>(wide) * tokens * keys / (half ? 2 : 1);
  }
  return total;
}

std::string to_text(const MixerSpec& mixer) {
  switch (mixer.kind) {
    case Mixing::kNone:
      break;
    case Mixing::kDelta:
      return mixer.channel_decay ? "KDA" : "gated delta rule";
    case Mixing::kStateSpace:
      return "Mamba-2";
    case Mixing::kLightning:
      return "lightning attention";
    case Mixing::kConvolution:
      return "short convolution";
    case Mixing::kSelective:
      return "Mamba";
    case Mixing::kRecurrence:
      return "RG-LRU";
  }
  return "";
}

std::string to_text(Activation activation) {
  return std::string(word_of(kActivations, activation));
}

Result<Activation> parse_activation(const std::string& name) {
  constexpr std::size_t kOwnNames = 8;
  const std::span own(kActivations.begin(), kOwnNames);
  const auto known = [&] { return listed(own, [](const auto& each) { return each.first; }); };
  const std::optional<Activation> named = find_word(kActivations, name);
  return named ? Result<Activation>(*named)
               : unsupported("activation " + shown(name) + " is not supported; known: " + known());
}

}  // namespace locus::transformer
