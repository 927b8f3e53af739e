// Spec: the shape of a transformer, independent of any checkpoint's naming. A family makes one from a config.json; the
// trainer writes one directly. It is a stem, a list of layers and a head: each layer has its own attention, position
// encoding, feed-forward and norms, and one Block runs them all.
//
// Letters: V vocabulary (or classes), C width, L layers, H query heads, Hkv key heads, D head width, I inner width, E
// experts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus::transformer {

enum class Norm { kLayer, kRms };

// Place of the norm of a branch f. Before: x += f(norm x). Post: x = norm(x + f x) (BERT). After: x += norm(f x) (OLMo
// 2). Both: x += norm'(f(norm x)) (Gemma 2). None: x += f x.
enum class NormPlace { kPre, kPost, kAfter, kBoth, kNone };

// kXielu is a quadratic for x > 0 and an exponential below, with two learned numbers a layer (Apertus, arXiv 2411.13010).
enum class Activation { kGelu, kGeluTanh, kSilu, kRelu, kQuickGelu, kTanh, kSquaredRelu, kXielu };

// Projection of a layer's attention input: one matrix with rows q|k|v, one with rows key head by key head [its
// queries|k|v] (GPT-NeoX, BLOOM; Falcon's groups), or three matrices (Llama, BERT).
enum class QkvLayout { kFused, kPerHead, kSeparate };

// Norm of q and k before the encoding. Head: each head by one vector (D). Own: each head by its own vector. Whole: all
// heads together, before they are split (H·D).
enum class QueryNormForm { kNone, kHead, kOwn, kWhole };
enum class NormedSides { kBoth, kQuery, kKey };

struct QueryNorm {
  QueryNormForm form = QueryNormForm::kNone;
  Norm norm = Norm::kRms;
  bool weight = true;
  bool bias = false;
  double eps = 1e-6;
  NormedSides sides = NormedSides::kBoth;

  bool norms_query() const { return form != QueryNormForm::kNone && sides != NormedSides::kKey; }
  bool norms_key() const { return form != QueryNormForm::kNone && sides != NormedSides::kQuery; }
  friend bool operator==(const QueryNorm&, const QueryNorm&) = default;
};

// Multi-head latent attention (DeepSeek): k and v of all heads come from one latent vector per token, and the first
// `rotated` channels of k are shared by all heads. A head's channels are [rotated | plain].
struct Latent {
  std::int64_t rank = 0;        // width of the latent of k and v; 0: no latent attention
  std::int64_t query_rank = 0;  // width of the latent of q; 0: q is projected directly
  std::int64_t rotated = 0;     // channels of a head that the encoding rotates
  double eps = 1e-6;            // of the RMSNorms of the latents

  friend bool operator==(const Latent&, const Latent&) = default;
};

// Factor of the query of position p: with n = (p + start)/length, rounded down where `whole`, 1 + gain·ln(1 + n) (Llama
// 4), or (1 + n)^gain with `power` (Beam).
struct QueryTuning {
  double gain = 0;  // 0: none
  double length = 8192;
  double start = 1;
  bool whole = true;
  bool power = false;

  friend bool operator==(const QueryTuning&, const QueryTuning&) = default;
};

// Gate of the attention's output before the output projection: o ⊙ g with g = σ(W x + b) or softplus(W x), x the input
// of the attention. Head: one number for each head (W is H × C). Channel: one for each channel (H·Dv × C). A bias is one
// number for each head.
enum class GateForm { kNone, kHead, kChannel };

struct OutputGate {
  GateForm form = GateForm::kNone;
  bool softplus = false;
  bool bias = false;

  friend bool operator==(const OutputGate&, const OutputGate&) = default;
};

struct AttentionSpec {
  std::int64_t heads = 4;
  std::int64_t kv_heads = 4;
  std::int64_t head_width = 32;  // D; H·D need not be C
  std::int64_t value_width = 0;  // channels of a head's value; 0: D
  QkvLayout qkv = QkvLayout::kFused;
  bool query_bias = false;
  bool key_bias = false;
  bool value_bias = false;
  bool output_bias = false;
  QueryNorm norm = {};
  bool value_norm = false;       // RMSNorm without a weight of each head's value, with the epsilon of `norm` (Gemma 4)
  bool key_as_value = false;     // the value is the key before its norm and the encoding (Gemma 4)
  bool output_norm = false;      // norm of all heads' outputs (H·Dv) before the output projection (BitNet);
  bool output_norm_own = false;  // with it: of each head's output by itself (FoX)
  // Layer whose keys and values this one attends to instead of own ones, an earlier one of the same shape (Gemma 4);
  // −1: its own.
  std::int64_t source = -1;
  double scale = 0;         // factor of q·k; 0: the encoding's own, 1/√D
  double soft_cap = 0;      // logit = cap·tanh(score/cap); 0: none
  std::int64_t window = 0;  // causal: query i sees keys i−w+1 … i; both ways: |i − j| < w; 0: all
  std::int64_t chunk = 0;   // query i sees only keys of its own chunk ⌊i/c⌋; 0: all
  std::int64_t tile = 0;    // images: a patch sees only the patches of its own tile of tile × tile patches; 0: all
  std::int64_t shift = 0;   // tiles begin this many rows and columns inside the grid, with smaller ones around (Swin)
  bool sinks = false;       // each head has a learned logit that joins the soft-max of every row (attention sink)
  QueryTuning tuning = {};
  double value_scale = 1;  // factor of the values
  double clip = 0;         // q, k and v within ±clip, after a norm of q and k; 0: none
  OutputGate gate = {};
  Latent latent = {};
  // Differential attention (DiffLlama, arXiv 2410.05258) with this λ₀; 0: none. Heads h and h + H/2 are a pair, whose
  // output is (1 − λ₀)·RMSNorm(o_h − λ·o_{h+H/2}) of width Dv = 2D, λ = e^{a·b} − e^{c·d} + λ₀ with learned a … d (D).
  // The value of key head j is the projection's heads [j mod Hkv/2 | Hkv/2 + j mod Hkv/2].
  double difference = 0;
  // Learned part of every key's scores (Doge): e^{A·softplus(W v)} of the values v of all key heads, one number for each
  // of them. It is the last channel of a key, which a query multiplies by 1; q and k are projected to D − 1 channels.
  bool key_bonus = false;
  // Token shift (FoX): a key, or value, becomes a·(that of the token before) + (1 − a)·(its own), before its norm, with
  // a = σ(w·x) of each key head; before the first token there is 0.
  bool key_shift = false;
  bool value_shift = false;

  std::int64_t values() const { return value_width > 0 ? value_width : head_width; }
  // Channels of a head that q and k are projected to; of a head's value.
  std::int64_t projected_width() const { return head_width - (key_bonus ? 1 : 0); }
  std::int64_t projected_values() const { return difference != 0 ? values() / 2 : values(); }
  // Whether keys or values need the input of the token before.
  bool shifts() const { return key_shift || value_shift; }
  // Channels that the output projection reads.
  std::int64_t outputs() const { return heads * projected_values(); }
  void set_qkv_bias(bool bias) { query_bias = key_bias = value_bias = bias; }
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

// Choice of a token's experts from the router's logits, and their weights.
enum class Router {
  kSoftmax,       // the largest probabilities of all experts (Mixtral, Qwen, DeepSeek V2)
  kTopSoftmax,    // the largest logits, soft-max over these only (gpt-oss)
  kSigmoid,       // sigmoids (DeepSeek V3)
  kInputSigmoid,  // the largest logits; each one's sigmoid scales its expert's input (Llama 4)
  // Two experts, one after the other: the largest logit m of those left, weighted by its soft-max over the logits s
  // with (m − s)/max(|s|, m) ≤ 2·margin (SparseMixer, Phi 3.5 MoE).
  kSparseMixer
};

struct Experts {
  std::int64_t count = 0;   // E; 0: one feed-forward for all tokens
  std::int64_t chosen = 1;  // k, experts per token
  Router router = Router::kSoftmax;
  bool router_bias = false;
  bool correction = false;  // kSoftmax, kSigmoid: a learned correction is added to the scores that choose
  bool normalised = false;  // divide the chosen weights by their sum
  std::int64_t groups = 1;  // groups of experts; only the best `chosen_groups` are considered
  std::int64_t chosen_groups = 1;
  double factor = 1;             // factor of the weights
  std::int64_t shared = 0;       // inner width of the expert that every token goes to; 0: none
  bool shared_gate = false;      // the shared expert is weighted by a sigmoid gate
  bool averaged = false;         // half the sum of the experts and the shared expert, instead of their sum
  bool corrects_logits = false;  // kSigmoid: the correction is added to the logits instead of their sigmoids
  bool ranked_by_two = false;    // kSoftmax: a group is ranked by the sum of its two largest scores, as with kSigmoid
  double logit_cap = 0;          // logit = cap·tanh(logit/cap); 0: none
  double least_sum = 0;          // normalised: the sum is at least this
  double margin = 0;             // kSparseMixer
  // Tokens of a text that an expert takes, the first ones; the others get nothing from it (Switch). 0: all.
  std::int64_t capacity = 0;
  // kSigmoid, normalised: further experts that every token goes to, of the same width. The router has a row for each of
  // them behind those of the others, and the weights of the chosen experts and of these add up to 1 (Inkling).
  std::int64_t always = 0;

  friend bool operator==(const Experts&, const Experts&) = default;
};

struct FeedForwardSpec {
  std::int64_t inner = 512;  // I; per expert where there are experts
  Activation activation = Activation::kSilu;
  bool gated = true;  // down(activation(gate x) ⊙ up x), otherwise down(activation(up x))
  bool bias = false;
  bool inner_bias = true;   // where there are biases, gate and up have them too, not the output alone (GTE)
  bool inner_norm = false;  // norm of the inner vector before `down` (BitNet)
  double clamp = 0;  // gpt-oss: gate at most this, up within ±this, and (up + 1)·gate·σ(alpha·gate); 0: none
  double alpha = 1.702;
  Experts experts = {};
  double gate_factor = 1;     // of the gate before its activation (Falcon-H1)
  bool output_scale = false;  // the output, or the weights of the experts, times a learned number (Inkling)

  friend bool operator==(const FeedForwardSpec&, const FeedForwardSpec&) = default;
};

// What mixes the tokens of a layer without a soft-max; models/transformer/mixers has the equations of each.
enum class Mixing {
  kNone,
  kDelta,        // gated delta rule (arXiv 2412.06464); with `channel_decay` KDA (arXiv 2510.26692)
  kStateSpace,   // Mamba-2's state space (arXiv 2405.21060)
  kLightning,    // lightning attention (arXiv 2501.08313)
  kConvolution,  // gated short convolution (LFM2)
  kSelective,    // Mamba's selective state space (arXiv 2312.00752)
  kRecurrence    // RG-LRU (arXiv 2402.19427)
};

// Norm and gate of a mixer's output, before its output projection.
enum class MixerNorm { kNone, kNormThenGate, kGateThenNorm };

// A mixer's sizes. Letters: H heads, G key heads, D key width, P value width, K tokens of its causal convolution.
struct MixerSpec {
  Mixing kind = Mixing::kNone;
  std::int64_t heads = 1;         // H; of mixers of single channels: bands of equally many channels
  std::int64_t key_heads = 1;     // G, which queries and keys are of (delta rule), or B and C (Mamba-2)
  std::int64_t key_width = 16;    // D; the states N of a head (Mamba-2) or of a channel (Mamba)
  std::int64_t value_width = 16;  // P
  std::int64_t kernel = 4;        // K; lightning attention has no convolution
  bool kernel_bias = false;
  bool bias = false;  // of the projections into and out of the mixer
  double norm_eps = 1e-6;
  MixerNorm norm = MixerNorm::kNormThenGate;
  std::int64_t norm_groups = 1;  // Mamba-2: groups of channels that are normalised separately

  // Delta rule. Fused: rows q|k|v of one matrix. Per head: one matrix with rows key head by key head [q|k|values|gates]
  // and one of [beta|decay] (Qwen3-Next). Separate: three matrices. The convolution has channels q|k|v in each.
  QkvLayout qkv = QkvLayout::kFused;
  // The weights have the value heads of the first place within each key head, then those of the second, … (GGUF).
  bool tiled_values = false;
  bool channel_decay = false;  // a decay for each channel of a key, not for each head (KDA)
  double decay_floor = 0;      // channel decay: g = floor·σ(e^A·(…)); 0: g = −e^A·softplus(…)
  double beta_scale = 1;       // factor of σ(beta); 2 lets a write turn the sign of what it overwrites
  std::int64_t gate_rank = 0;  // width between the two matrices of gate and decay (KDA); 0: one matrix each
  bool sigmoid_gate = false;   // the gate is σ(z), otherwise SiLU(z)

  // Mamba-2: limits of the time step.
  double least_step = 0;
  double most_step = 0;  // 0: none
  // Mamba-2: factors of the parts z, x, B and C and of the step before its bias (Falcon-H1).
  double gate_factor = 1;
  double value_factor = 1;
  double write_factor = 1;
  double read_factor = 1;
  double step_factor = 1;
  // Mamba: width of the time step before it is projected to the channels, and norms of it, of B and of C (Jamba).
  std::int64_t step_rank = 0;
  bool inner_norms = false;

  std::int64_t inner() const { return heads * value_width; }
  friend bool operator==(const MixerSpec&, const MixerSpec&) = default;
};

// Sum of the stream x and a branch f: stream·x + branch·f; where `learned`, s ⊙ x + f with a learned vector s (C).
struct ResidualSum {
  double stream = 1;
  double branch = 1;
  bool learned = false;

  friend bool operator==(const ResidualSum&, const ResidualSum&) = default;
};

// Place of a layer in a round of a model that runs its layers again and again (HRM-Text). The model has two states, low
// and high: `high` begins as the embeddings, `low` as a learned vector. A round begins with low + high and ends with the
// RMSNorm, without weight, of its last layer's output, which becomes low or high. The head reads high.
enum class Round { kWithin, kBegins, kEndsLow, kEndsHigh, kWholeLow, kWholeHigh };

struct LayerSpec {
  AttentionSpec attention = {};  // without `attends` the shape of the other layers' alone
  // A layer mixes tokens by attention, by a mixer, by both side by side (their sum is one branch), or not at all.
  bool attends = true;
  MixerSpec mixer = {};
  bool feeds = true;  // false: no feed-forward
  // Factors of the input and output of attention and mixer where a layer has both (Falcon-H1).
  double attention_input = 1;
  double attention_output = 1;
  double mixer_input = 1;
  double mixer_output = 1;
  // Cross-attention after it, over all states of an encoder: no positions, no mask, its norm at the attention's place.
  std::optional<AttentionSpec> cross = std::nullopt;
  std::int64_t encoding = 0;  // index into Spec::encodings; −1: none
  FeedForwardSpec feed_forward = {};
  NormPlace attention_norm = NormPlace::kPre;
  NormPlace feed_forward_norm = NormPlace::kPre;
  bool parallel = false;     // x + attention(norm x) + feed_forward(norm' x)
  bool shared_norm = false;  // parallel, and norm' x is norm x
  bool residual_from_norm =
      false;  // the residual starts from the norm's output (BLOOM's apply_residual_connection_post_layernorm)
  bool layer_scale = false;   // each branch times a learned vector (C)
  bool output_scale = false;  // the layer's output times a learned number (Gemma 4)
  // What enters and leaves q, k, v, the output and the matrices of the feed-forward is kept within bounds of the weights
  // (Gemma 4's tower).
  bool bounded = false;
  ResidualSum attention_sum = {};
  ResidualSum feed_forward_sum = {};
  // Tokens of four short convolutions, each added to what it reads: the projected keys and values, and the outputs of
  // both branches; a channel sees its own last inputs (Inkling). 0: none.
  std::int64_t convolution = 0;
  Round round = Round::kWithin;

  bool has_mixer() const { return mixer.kind != Mixing::kNone; }
  bool mixes() const { return attends || has_mixer(); }
  bool begins_round() const {
    return round == Round::kBegins || round == Round::kWholeLow || round == Round::kWholeHigh;
  }
  bool ends_low() const { return round == Round::kEndsLow || round == Round::kWholeLow; }
  bool ends_high() const { return round == Round::kEndsHigh || round == Round::kWholeHigh; }
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

// Convolution beside the first layer (DeBERTa v2's largest models): its output x becomes norm(x +
// activation(convolution of the layer's input)), over the tokens, zero-padded at both ends.
struct Convolution {
  std::int64_t kernel = 0;  // tokens, an odd number; 0: none
  std::int64_t groups = 1;  // groups of channels
  Activation activation = Activation::kTanh;

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

// Vectors of a token for each layer (per-layer embeddings of Gemma 4). From the embeddings x (C) of the input and, with
// a vocabulary, from a table of them: u = RMSNorm(W x/√C), or (u + √P·table[id])/√2. The layer adds a third branch
// after the feed-forward: h += norm(down(activation(gate h) ⊙ u)).
struct LayerInputs {
  std::int64_t width = 0;       // P; 0: none
  std::int64_t vocabulary = 0;  // rows of the table; 0: no table
  // Tokens with this id, placeholders of pictures, read the table's row `filler` instead of their own; −1: none.
  std::int64_t placeholder = -1;
  std::int64_t filler = 0;

  friend bool operator==(const LayerInputs&, const LayerInputs&) = default;
};

struct EncodingSpec {
  std::string name = "rope";
  Settings options = {};

  friend bool operator==(const EncodingSpec&, const EncodingSpec&) = default;
};

// Towers in stages, each of fewer and wider tokens than the one before. Swin: the layers see windows, tiles with a bias
// of offsets; a grid that is one window wide or high has no shift; at the end of a stage each 2 × 2 patches are one, by a
// LayerNorm of all their channels and a projection. Swin v2: the norm follows the projection, shifts are as they are. Hiera:
// windows are the units of masked pre-training, or all patches; between two stages is a layer of the next one's heads,
// width and feed-forward whose queries are the largest of 2 × 2 patches' in each channel (stage.h).
enum class Stages { kNone, kSwin, kSwin2, kHiera };

// A stage that runs before the layers of the spec, as part of the stem.
struct StageSpec {
  std::int64_t width = 0;
  std::vector<LayerSpec> layers = {};
  EncodingSpec encoding = {};

  friend bool operator==(const StageSpec&, const StageSpec&) = default;
};

// Stem of an image model; patch == 0 for text.
struct ImageStem {
  std::int64_t patch = 0;  // pixels
  std::int64_t channels = 3;
  std::int64_t rows = 0;  // the trained patch grid
  std::int64_t columns = 0;
  std::int64_t class_tokens =
      1;  // learned tokens before the patches: 0, 1 (class token), 2 (class and distillation token) or more (Pixio)
  std::int64_t registers = 0;  // learned tokens after those
  bool patch_bias = true;
  bool patch_norm = false;  // norm of the patches before anything is added
  bool position_embedding =
      false;  // learned positions of the patches, in addition to the encoding (RoPE-ViT's use_ape)
  // Frames in one patch, which are all equal for a picture; the pixels then come as rows of patches, (P,
  // channels·frames·patch²), in cells of cell × cell patches. 0: they come as a picture, whose patches are read row by row.
  std::int64_t frames = 0;
  std::int64_t cell = 1;
  std::int64_t detections = 0;  // learned tokens behind the patches (YOLOS)
  // Learned positions are added again behind every layer but the last, from tables of their own (YOLOS).
  bool positions_after_layers = false;
  // The layers are those of one stage, on the grid that the n stages before leave: a patch of it is 2ⁿ of the first
  // stage's a side.
  Stages stages = Stages::kNone;
  std::vector<StageSpec> before = {};
  // Hiera: side of the convolution that makes the patches, 0: a patch's, with this margin of zeros; and side of a unit of
  // the first stage, in patches, of which a grid has whole ones.
  std::int64_t kernel = 0;
  std::int64_t padding = 0;
  std::int64_t unit = 1;

  // Side of a patch of the first stage, in pixels.
  std::int64_t first_patch() const { return patch >> before.size(); }
  // Side of the convolution.
  std::int64_t first_kernel() const { return kernel > 0 ? kernel : first_patch(); }
  // Learned positions are added to the patches of a first stage before that of the layers.
  bool positions_before() const { return stages == Stages::kHiera && !before.empty(); }
  friend bool operator==(const ImageStem&, const ImageStem&) = default;
};

// Input of an image model's head: the class token, the mean of the patches or of all tokens, the class token and the
// mean of the patches (2C), or class and distillation token with one head each, whose logits are averaged.
enum class Pool { kClass, kPatches, kAll, kClassAndPatches, kTwoHeads };

struct Spec {
  std::int64_t vocabulary = 256;  // V; classes of an image model
  std::int64_t width = 128;       // C
  std::vector<LayerSpec> layers = std::vector<LayerSpec>(2);
  std::vector<EncodingSpec> encodings = std::vector<EncodingSpec>(1);
  bool causal = true;

  // Norms around branches, embedding and head.
  Norm norm = Norm::kRms;
  bool norm_bias = true;    // a LayerNorm has a bias
  bool norm_weight = true;  // norms have a weight (not OLMo 1's)
  double norm_eps = 1e-5;
  double after_norm_eps = 0;  // of the norms of branches' outputs; 0: norm_eps

  // The stem.
  ImageStem image = {};
  double embedding_scale = 1;
  bool embedding_norm = false;  // BLOOM, BERT
  bool embedding_norm_weight = true;
  bool early_norm = false;           // that norm comes before positions are added (Blenderbot 90M's decoder)
  std::int64_t token_types = 0;      // BERT's segment embeddings; every token has type 0
  std::int64_t embedding_width = 0;  // width of the embeddings before they are projected to C (ELECTRA); 0: C
  // ESM's mask token: its embedding is 0, and all others are divided by the share of other tokens; −1: none.
  std::int64_t dropped_token = -1;
  std::int64_t padding = -1;  // RoBERTa: tokens with this id have no position; −1: none

  double residual_scale = 1;  // factor of every branch (Granite)
  Convolution convolution = {};
  LayerInputs layer_inputs = {};

  // The head.
  bool final_norm = true;
  bool tied_head = true;  // the head is the embedding
  bool head_bias = false;
  Pool pool = Pool::kClass;               // images
  bool norm_after_pool = false;           // the final norm follows the pooling
  bool head = true;                       // false: the output is every token's state after the final norm,
  std::int64_t state_width = 0;           // projected to this width (EmbeddingGemma 2); 0: as it is
  bool head_transform = false;            // BERT: norm(activation(dense x)) before the head,
  bool head_transform_bias = true;        // dense with a bias,
  bool head_transform_gelu = false;       // the activation is GELU whatever the layers use
  bool head_transform_norm = true;        // whether that norm exists
  std::int64_t head_transform_width = 0;  // rows of that dense; 0: the embedding's width
  // UltraBERT: two matrices, of which the first has this many rows, and GELU (tanh) after each; 0: one.
  std::int64_t head_inner = 0;
  bool token_score = false;  // one number per token instead of one per vocabulary entry (ELECTRA's discriminator)
  double logit_scale = 1;
  double logit_cap = 0;  // cap·tanh(logit/cap); 0: none

  std::int64_t trained_length = 0;  // tokens; 0 when unknown
  // Tokens of which every query attends to all that its mask shows. Beyond, an index or blocks choose some of them, which
  // is not computed: longer texts are refused. 0: no such choice.
  std::int64_t all_seen = 0;

  // The width of the embedding.
  std::int64_t token_width() const { return embedding_width > 0 ? embedding_width : width; }
  // Input and output width of the head.
  std::int64_t head_width() const {
    return token_score ? width : head_transform && head_transform_width > 0 ? head_transform_width : token_width();
  }
  std::int64_t outputs() const { return token_score ? 1 : vocabulary; }
  // Width of the states that a model without head puts out.
  std::int64_t output_width() const { return state_width > 0 ? state_width : width; }
  bool is_image() const { return image.patch > 0; }
  // Whether any layer has a mixer; whether all layers are attention and a feed-forward.
  bool has_mixers() const;
  bool attends_everywhere() const;
  // Whether other layers attend to the keys and values of this one; of any layer.
  bool is_source(std::int64_t layer) const;
  bool shares_keys() const;
  // Whether layers run in rounds.
  bool has_rounds() const { return first().round != Round::kWithin; }
  // Class and register tokens before the patches; 0 for text.
  std::int64_t prefix_tokens() const { return is_image() ? image.class_tokens + image.registers : 0; }
  // Detection tokens behind the patches; 0 for text.
  std::int64_t suffix_tokens() const { return is_image() ? image.detections : 0; }
  // Whether the attention of any layer shifts tokens.
  bool shifts() const;
  // Whether any layer has short convolutions (LayerSpec::convolution).
  bool convolves() const;
  // Whether the layers have cross-attention; all of them or none.
  bool crosses() const { return first().cross.has_value(); }
  std::int64_t depth() const { return static_cast<std::int64_t>(layers.size()); }
  // The first layer; widths and heads are the same in all.
  const LayerSpec& first() const { return layers.front(); }
  const EncodingSpec* encoding_of(const LayerSpec& layer) const {
    return layer.encoding < 0 ? nullptr : &encodings[static_cast<std::size_t>(layer.encoding)];
  }
  // Replaces the layers by `count` copies of this one.
  void repeat(const LayerSpec& layer, std::int64_t count) { layers.assign(static_cast<std::size_t>(count), layer); }
  // Calls change(index, layer) for each layer.
  template <class Change>
  void each(const Change& change) {
    for (std::size_t n = 0; n < layers.size(); ++n) {
      change(static_cast<std::int64_t>(n), layers[n]);
    }
  }
  friend bool operator==(const Spec&, const Spec&) = default;
};

// An upper limit of the stages before that of the layers.
constexpr std::size_t kMaxStages = 8;
// An upper limit of an image's class tokens.
constexpr std::int64_t kMaxClassTokens = 64;
// The same of its detection tokens.
constexpr std::int64_t kMaxDetections = 4096;

// An upper limit of the number of layers, checked before a list of them is allocated.
constexpr std::int64_t kMaxLayers = 4096;

// Errors: kBadInput naming the first field that is invalid: a zero or negative size, H not a multiple of Hkv, layers
// with one encoding that differ in heads, …
Status validate(const Spec& spec);
// The same for one layer and the number of layers, before a list of them is allocated.
Status validate(const LayerSpec& layer, std::int64_t count);
// Gives layers that share a RoPE (or no encoding) but differ in heads encodings of their own: an encoding is made for
// one shape. Does nothing where an encoding or a layer's index is invalid.
void separate_shapes(Spec& spec);

// The n-th stage of ImageStem::before as a model of its own, without a head. Precondition: validate() accepts the spec, or
// calls it.
Spec stage_spec(const Spec& spec, std::size_t stage);

// Multiply-accumulates of a forward pass over T tokens (T patches and class tokens of an image), logits of all rows;
// cross-attention over as many states.
double multiply_accumulates(const Spec& spec, std::int64_t length);
// The same for what observe() computes: without keys after a causal query, and logits of the last row only unless
// `all_logits`.
double run_macs(const Spec& spec, std::int64_t length, bool all_logits);
// The part of run_macs() outside self-attention scores: projections, feed-forwards, cross-attention, head.
double token_macs(const Spec& spec, std::int64_t length, bool all_logits);

// "gated delta rule", "KDA", "Mamba-2", "lightning attention", "short convolution", "Mamba", "RG-LRU"; empty: no mixer.
std::string to_text(const MixerSpec& mixer);

// Names of activations: "gelu", "gelu_tanh", "silu", "relu", "quick_gelu", "tanh", "relu2", "xielu"; parsing also
// accepts the spellings of Hugging Face ("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "swish"). Errors: kUnsupported for another name,
// listing the known ones.
std::string to_text(Activation activation);
Result<Activation> parse_activation(const std::string& name);

}  // namespace locus::transformer
