// Spec: the shape of a transformer, free of any checkpoint's naming. Families make one of a config.json; the trainer
// writes one by hand.
//
// Letters: V vocabulary (or classes), C width, L layers, H query heads, Hkv key heads, D head width, I inner width.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus::transformer {

enum class Norm { kLayer, kRms };

// Pre: x += f(norm(x)). Post: x = norm(x + f(x)) (BERT).
enum class NormPlace { kPre, kPost };

enum class Activation { kGelu, kGeluTanh, kSilu, kRelu };

// How a layer's attention input is projected: one matrix with rows q|k|v, one with rows head by head [q|k|v] (GPT-NeoX,
// BLOOM), or three matrices (Llama, BERT).
enum class QkvLayout { kFused, kPerHead, kSeparate };

// What an image model has before its blocks; patch == 0 for text.
struct ImageStem {
  std::int64_t patch = 0;  // pixels
  std::int64_t channels = 3;
  std::int64_t rows = 0;  // the trained patch grid
  std::int64_t columns = 0;
  std::int64_t registers = 0;       // learned tokens after the class token
  bool position_embedding = false;  // learned positions of the patches alone, beside the encoding (RoPE-ViT's use_ape)
};

struct Spec {
  std::int64_t vocabulary = 256;  // V; classes of an image model
  std::int64_t width = 128;       // C
  std::int64_t layers = 2;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 4;
  std::int64_t head_width = 32;  // D; H·D need not be C
  std::int64_t inner = 512;      // I

  Norm norm = Norm::kRms;
  double norm_eps = 1e-5;
  NormPlace norm_place = NormPlace::kPre;
  Activation activation = Activation::kSilu;
  bool gated = true;  // down(activation(gate x) ⊙ up x), otherwise down(activation(up x))
  QkvLayout qkv = QkvLayout::kFused;
  bool qkv_bias = false;
  bool output_bias = false;  // of the attention's output projection
  bool feed_forward_bias = false;
  bool parallel_residual = false;   // x + attention(norm x) + feed_forward(norm' x)
  bool residual_from_norm = false;  // BLOOM's apply_residual_connection_post_layernorm
  bool layer_scale = false;         // each branch times a learned vector (C)
  bool embedding_norm = false;      // BLOOM, BERT
  std::int64_t token_types = 0;     // BERT's segment embeddings; every token is of type 0
  bool final_norm = true;
  bool tied_head = true;  // the head is the embedding
  bool head_bias = false;
  bool head_transform = false;  // BERT: norm(activation(dense x)) before the head
  bool causal = true;
  std::int64_t window = 0;             // query i sees keys i−w+1 … i; 0: all
  std::int64_t window_from_layer = 0;  // the layers before it see all keys (Qwen2)

  ImageStem image;

  std::string encoding = "rope";
  Settings encoding_options;
  std::int64_t trained_length = 0;  // tokens; 0 when unknown

  bool is_image() const { return image.patch > 0; }
};

// kBadInput naming the first field that makes no model: a zero or negative size, H not a multiple of Hkv, …
Status validate(const Spec& spec);

// Multiply-accumulates of a forward pass over T tokens (T patches and class tokens of an image), logits of all rows.
double multiply_accumulates(const Spec& spec, std::int64_t length);
// The same for what observe() computes: keys after a causal query left out, logits of the last row alone unless asked.
double run_macs(const Spec& spec, std::int64_t length, bool all_logits);

// "gelu", "gelu_tanh", "silu", "relu" and back. Errors: kUnsupported for another name, with the known ones. Hugging
// Face spellings ("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "swish") are understood too.
std::string to_text(Activation activation);
Result<Activation> parse_activation(const std::string& name);

}  // namespace locus::transformer
