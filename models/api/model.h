// The facade of the models floor: open a checkpoint, run it on an input, ask its trace for scores. No ATen type appears
// here, so the app and the renderers compile without LibTorch headers.
//
// Letters: T tokens, H query heads, L layers, C channels, V vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/quantity.h"
#include "core/base/range.h"
#include "core/base/reduction.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/api/edits.h"
#include "models/api/picture_changes.h"

namespace locus::models {

using locus::kMeanHead;
using locus::parse_quantity;
using locus::Quantity;
using locus::to_text;

// ---- a checkpoint

// One position encoding of a model.
struct EncodingUse {
  std::string name;  // none learned … rope-mixed
  Settings options;
  bool has_gates = false;  // CoPE
  bool has_dot_product = false;
  std::string content;            // what "content" means for it; empty: not offered
  bool has_parts = false;         // DeBERTa's c2p and p2c
  bool forgets = false;           // FoX: a gate of every token
  bool learns_positions = false;  // RePo: a position of every token for each head
  bool transforms = false;        // PaTH: the tokens between key and query change the key
  std::string distance = {};      // what stands for the distance from query to key: "i − j"; empty: nothing does,
  std::string no_distance = {};   // for this reason, a clause
};

// The properties that layers have of their own.
struct LayerInfo {
  std::int64_t encoding = 0;     // index into ModelInfo::encodings; −1: none
  std::int64_t window = 0;       // causal: query i sees keys i−w+1 … i; both ways: |i − j| < w; 0: all
  std::int64_t chunk = 0;        // query i sees keys of its own chunk ⌊i/c⌋ alone; 0: all
  double soft_cap = 0;           // logits are cap·tanh(score/cap); 0: none
  bool sink = false;             // rows sum to less than 1: a learned logit has the rest
  std::int64_t kv_heads = 0;     // key heads of this layer; 0: ModelInfo::kv_heads
  std::int64_t head_width = 0;   // channels of a head of this layer; 0: ModelInfo::head_width
  std::int64_t source = -1;      // layer whose keys and values this one attends to; −1: its own
  bool attends = true;           // false: no map of this layer (on the mixer's side: no mixer)
  std::string mixer = {};        // what mixes its tokens without a soft-max: "gated delta rule"; empty: nothing
  std::int64_t mixer_heads = 0;  // of that, or bands of its channels; 0: not known
  std::int64_t mixer_reach = 0;  // tokens that it sees, where nothing decays (short convolution); 0: it decays

  friend bool operator==(const LayerInfo&, const LayerInfo&) = default;
};

// The same checkpoint under another setting ("what if"): a Llama's base, a scaling, … or with fast products.
struct Overrides {
  std::optional<double> rope_base;
  std::string rope_scaling;  // "linear:4", "ntk:4", "dynamic:4", "yarn:4", "yarn-turns", "proportional:0.25",
                             // "clipped:20", "clipped:20:hard"; empty: the checkpoint's
  // The layers: "global" (that see all keys), "local" (a window or chunk of them), "5,11,17"; empty: those whose
  // base and scaling config.json says in rope_theta and rope_scaling. These are all that turn, unless the local ones
  // have an encoding of their own, beside that of the others.
  std::string rope_base_layers = {};
  std::string rope_scaling_layers = {};
  // Products with weights in blocks round: a single token, as each further one of a text, to 8 bits, as llama.cpp does;
  // five tokens or more, and the weights, to 14, unless the CPU's matrix tiles take them. Other weights are exact.
  bool fast = false;
  // The stage whose layers are seen, of a tower in stages (Swin, Hiera), from 1 on; 0: the last.
  std::int64_t stage = 0;
  // "text": the text half of a checkpoint with a picture tower and a text tower that are compared (CLIP, SigLIP); empty:
  // the picture half, and whole models.
  std::string half = {};

  friend bool operator==(const Overrides&, const Overrides&) = default;
};

// " base 10000 yarn:4@global", " fast products", " text half", " stage 3"; empty without overrides.
std::string label_of(const Overrides& overrides);

// "linear:4@global", as it is typed; "linear:4" without layers.
std::string with_layers(const std::string& text, const std::string& layers);

// The facts that `locus info` prints.
struct ModelInfo {
  std::string name;    // the folder's or file's name
  std::string family;  // gpt2 llama mistral qwen2 gpt_neox bloom bert vit vit-timm rope-vit tape seqpe-gpt2 seqpe-vit
                       // cope locus
  std::vector<EncodingUse> encodings;
  std::vector<LayerInfo> layer_info;  // one per layer
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;       // C
  std::int64_t head_width = 0;  // D
  std::int64_t vocabulary = 0;  // classes of an image model
  std::int64_t parameters = 0;
  std::int64_t trained_length = 0;      // 0 when unknown
  std::int64_t vision_layers = 0;       // of a vision-language model's tower; 0: no such model
  std::string connector;                // from the tower to the text: "linear 4096, gelu, linear 4096"
  std::int64_t image_tokens = 0;        // a picture of the tower's own size; 0: they follow from its size
  std::int64_t placeholder = -1;        // the id that stands for each of them
  std::int64_t video_placeholder = -1;  // the same of videos; -1: it reads none
  std::int64_t encoder_layers = 0;  // of an encoder–decoder, whose decoder all else here is about; 0: no such model
  std::string dtype;                // of most weights in the layers: "float32", "bfloat16", "Q4_K", …
  bool causal = true;
  bool head = true;                     // false: the outcome is the state of every token
  bool image = false;                   // takes an image, not text
  bool tokenizer = false;               // takes text; otherwise ids only
  Overrides overrides;                  // what it was opened with instead of what the checkpoint says
  std::vector<std::string> task_heads;  // heads of other tasks in the file, which are not used: "classifier", "pooler"
  std::vector<std::string> labels;      // of such a head, in the order of its outputs
  std::vector<std::string> pooling;  // steps from states to one vector (sentence-transformers): "mean over the tokens"
  // One half of CLIP or SigLIP has these: the factor of the cosine of a picture's and a text's vector, and what is added
  // where pairs are judged one by one (SigLIP); see pair_scores().
  std::optional<double> logit_scale;
  std::optional<double> logit_bias;
  std::vector<std::string> files;
  std::vector<std::string> unexpected;
  std::string unverified;  // of a user's family without a passed comparison: its name in verify(); empty: none
  std::vector<std::string> warnings;  // a trace's has those of the weights too, which large checkpoints read at a run

  // The first of the encodings; one without a name where a trace file names none.
  const EncodingUse& first_encoding() const;
  // Whether any of the encodings has them; what "content" means for the first that offers it, empty: none does.
  bool has_gates() const { return any(&EncodingUse::has_gates); }
  bool has_dot_product() const { return any(&EncodingUse::has_dot_product); }
  bool has_parts() const { return any(&EncodingUse::has_parts); }
  bool forgets() const { return any(&EncodingUse::forgets); }
  bool learns_positions() const { return any(&EncodingUse::learns_positions); }
  bool transforms() const { return any(&EncodingUse::transforms); }
  std::string content() const;
  bool any(bool EncodingUse::*has) const;
  // A layer's own encoding; null: none.
  const EncodingUse* encoding_of(std::int64_t layer) const;
  // Whether all layers are alike in LayerInfo; whether any has a mixer, or no attention.
  bool uniform() const;
  bool has_mixers() const;
  // Whether this is about the side of the mixers, which has no position encodings.
  bool of_mixers() const { return encodings.empty() && has_mixers(); }
  bool attends_everywhere() const;
  // The largest distance from a query to a key that the layer's window or chunk lets it see; empty: it sees all.
  std::optional<std::int64_t> farthest(std::int64_t layer) const;
};

// The first encoding that another base on these layers reaches, as Overrides names them; null: none.
const EncodingUse* turning_encoding(const ModelInfo& info, const std::string& layers = {});

// The layers that another base reaches where none are named, as Overrides names them; empty: all that turn.
std::string usual_layers(const ModelInfo& info);

// A layer's encoding, with its base where it has one, and which keys it sees: "rope base=10000, window 64", "none".
std::string layer_text(const ModelInfo& info, std::int64_t layer);

struct OpenOptions {
  Overrides overrides;
  std::string device = "auto";       // "auto": the first CUDA device, else the CPU; "cpu", "cuda", "cuda:N"
  std::int64_t memory_limit_mb = 0;  // 0: none
  // Folder of the base of adapters, on the computer of the checkpoint; empty: as adapter_config.json says.
  std::string base = {};
  bool weights = true;  // false: none are read before the first run, whatever their size
};

// ---- an input

// The frames to take of a video instead of those that the family's processor takes by itself: so many a second, within
// its least and its most, or so many in all. At most one of the two.
struct VideoFrames {
  std::optional<double> fps = {};
  std::optional<std::int64_t> count = {};

  bool empty() const { return !fps && !count; }
  friend bool operator==(const VideoFrames&, const VideoFrames&) = default;
};
inline constexpr double kMinVideoFps = 0.001;
inline constexpr double kMaxVideoFps = 1000;
inline constexpr std::int64_t kMaxTakenFrames = 18'000;
// Errors: kBadInput naming the field for a number out of these bounds, and for both.
Status check_frames(const VideoFrames& frames);

// Exactly one of text, ids, image or pixels is given; a vision-language model takes text or ids and beside them images
// and videos, or pixels. What an encoder–decoder's decoder has read stands beside it; with neither text nor ids of its
// own it is the start token alone.
struct Input {
  std::optional<std::string> text = {};
  std::optional<std::vector<std::int64_t>> ids = {};
  std::optional<std::filesystem::path> image = {};
  std::vector<std::filesystem::path> images = {};    // beside text or ids, in the order of the text
  std::vector<std::filesystem::path> videos = {};    // likewise, of families that read videos
  VideoFrames video_frames = {};                     // of each of them
  std::optional<std::filesystem::path> pixels = {};  // safetensors with pixel_values [3, H, W], already normalised
  PictureChanges picture = {};                       // of `image` and each of `images`, before they are preprocessed
  std::optional<std::string> decoder_text = {};      // behind the start token; no special tokens are added
  std::optional<std::vector<std::int64_t>> decoder_ids = {};  // nothing is added
  // 0: of the prefix, whose tokens see each other; 1: behind it. For models that have one; empty: all are of it.
  std::vector<std::int64_t> token_types = {};
  std::int64_t position_start = 0;

  friend bool operator==(const Input&, const Input&) = default;
};

class Trace;

// The tensors that a trace keeps where it is told to.
inline constexpr std::array<std::string_view, 11> kKeepNames{"logits",    "hidden",         "attention", "q",
                                                             "k",         "q_content",      "k_content", "gates",
                                                             "positions", "position_state", "experts"};

struct RunOptions {
  // Names of what is kept beside tokens and queries/keys: some of kKeepNames, or "all". q and k are always kept for the
  // views; `attention` and others T×T only for writing a trace.
  std::set<std::string> keep{"logits"};
  bool all_logits = false;  // (T, V) instead of the last row only (implied when keep is written to a file)
  // Keep what the head reads of every token, (T, C): sums of logits then need no (T, V) (experiments/outputs.h). Beside it
  // the logits of the last row alone, where `keep` names them. Of a text model with a head, on this machine.
  bool before_head = false;
  // Keep the queries and keys of every layer. Without them maps are NaN, except mixers'. Encoder–decoders and models of
  // another machine keep them always.
  bool scores = true;
  // Keep the values too, so that a later run may continue this one.
  bool continuable = false;
  // An earlier, continuable run of the same model: what it computed before the first token that differs is taken over.
  // Ignored where that would not give the same numbers (models that attend both ways, dynamic NTK beyond its length,
  // all_logits, a trace that kept less). Implies continuable. Of a run over the same input with other edits (Model::
  // edited) the layers below the first one that they change, where it kept `hidden`.
  std::shared_ptr<const Trace> reuse = {};
  // Called between parts of a run, on its thread, which may do other work meanwhile.
  std::function<void()> pause = {};
  // Told the layers of a long run that are done: a trace of these alone, without predictions, after the first layer and
  // then at most once in `early_ms`. Not by encoder–decoders, and not where the run continues another.
  std::function<void(std::shared_ptr<const Trace>)> early = {};
  double early_ms = 500;
  // Given each layer when it is done, in a trace whose other layers have maps of NaN. What it was computed from is then
  // forgotten: of the run's own trace all maps are NaN but those of mixers. An error ends the run. Instead of `early`,
  // on this machine; not by encoder–decoders.
  std::function<Status(const Trace&, std::int64_t layer)> each_layer = {};
};

// Estimates what a run needs beside the loaded weights, from shapes and the machine's measured rate.
struct Estimate {
  double time_ms = 0;
  double memory_mb = 0;
  double weights_mb = 0;    // beside `memory_mb`: 16-bit weights of large models stay so
  double available_mb = 0;  // the limit less the weights, or what the machine could still give; 0: unknown
  bool fits = true;
  std::int64_t longest = 0;  // the largest length that fits; 0 where none does or `available_mb` is unknown
};

// "about 12 s and 830 MB", for a person.
std::string to_text(const Estimate& estimate);
// "350 ms", "12 s", "4 min", "8.1 h".
std::string duration_text(double ms);
// "3000 MB", "12.3 GB".
std::string memory_text(double megabytes);

struct GenerateOptions {
  std::int64_t count = 20;
  double temperature = 0;  // 0: the most likely token; otherwise drawn from softmax(logits / temperature)
  std::uint64_t seed = 0;
};

struct Generation {
  std::vector<std::int64_t> ids;       // the continuation, without the prompt
  std::string text;                    // of those ids; empty without tokenizer
  std::shared_ptr<const Trace> trace;  // over the prompt and the continuation
};

// ---- a trace

struct TokenInfo {
  std::int64_t id = 0;
  std::string label;    // readable: spaces and control bytes made visible, "<0x0A>" for lone bytes
  Range bytes;          // its byte range in the input text; empty for special tokens
  double position = 0;  // its position id (row-major index for images)
};

struct Prediction {
  std::int64_t id = 0;
  std::string token;  // or the image label
  float probability = 0;
};

// The one vector of a text (sentence-transformers): steps of ModelInfo::pooling over the states.
struct SentenceVector {
  std::vector<float> values;
  std::vector<float> weights;  // of each token's state in the pooled vector; of a maximum, the share of its channels

  friend bool operator==(const SentenceVector&, const SentenceVector&) = default;
};

// The cosine of the angle between two vectors of the same length, 0 where one of them is zero.
double cosine_similarity(const std::vector<float>& a, const std::vector<float>& b);

// A picture beside a text: the cosine of their vectors and the logit, scale · cosine + bias.
struct PairScore {
  double cosine = 0;
  double logit = 0;
  double probability = 0;  // of a model with bias the sigmoid of the logit, else the soft-max over the texts given
};

// The scores of a picture beside each of these texts, by the vectors of both halves of one checkpoint. Errors: kBadInput
// for a model without logit scale, and for a vector that is missing or of another length.
Result<std::vector<PairScore>> pair_scores(const ModelInfo& model, const std::vector<float>& picture,
                                           const std::vector<std::vector<float>>& texts);

// The patch grid of an image input; rows == 0 for text.
struct ImageGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t cls = 0;         // leading class tokens
  std::int64_t registers = 0;   // leading register tokens after them
  std::int64_t detections = 0;  // trailing detection tokens behind the patches

  std::int64_t prefix() const { return cls + registers; }
  // The tokens that are patches.
  Range patches() const { return {prefix(), prefix() + rows * columns}; }
  friend bool operator==(const ImageGrid&, const ImageGrid&) = default;
};

// A picture within a text: the tokens that stand for it, and the cells that they are, row by row; rows == 0 where they
// are no grid and stand one after another. Between two rows a family may have tokens that are no cells. A video is several
// of these, one for each group of frames that the tower sees together. The cells of a picture that was cut into tiles are
// those of the whole picture; their tokens stand tile by tile.
struct ImageSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;  // cells
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t pitch = 0;      // tokens from a row to the next, within a tile
  std::int64_t video = -1;     // of the input's videos the one that it is of; -1: it is a picture
  std::int64_t frame = 0;      // which of that video's groups of frames it is
  std::int64_t step = 0;       // what `t` of its cells is behind that of the first cells of its block (M-RoPE)
  double seconds = 0;          // when it is in the video
  std::int64_t tile_rows = 0;  // cells of a tile; 0: the picture is in one part
  std::int64_t tile_columns = 0;
  std::int64_t tile_pitch = 0;  // tokens from a tile to the next, row by row
  bool whole = false;           // the whole picture once more, beside its tiles, which are the span before or behind
  bool ended = false;           // behind each row stands a token that is no cell, with a vector of the picture too

  // The token of cell n, which is row n / columns.
  std::int64_t token(std::int64_t cell) const {
    if (rows == 0) {
      return first + cell;
    }
    const std::int64_t row = cell / columns;
    const std::int64_t column = cell % columns;
    if (tile_rows == 0) {
      return first + row * pitch + column;
    }
    const std::int64_t tile = row / tile_rows * (columns / tile_columns) + column / tile_columns;
    return first + tile * tile_pitch + row % tile_rows * pitch + column % tile_columns;
  }
  // The cell that a token is; −1: none of these.
  std::int64_t cell(std::int64_t token) const {
    const std::int64_t offset = token - first;
    if (offset < 0) {
      return -1;
    }
    if (rows == 0) {
      return offset < count ? offset : -1;
    }
    if (tile_rows == 0) {
      return offset / pitch < rows && offset % pitch < columns ? offset / pitch * columns + offset % pitch : -1;
    }
    const std::int64_t across = columns / tile_columns;
    const std::int64_t tile = offset / tile_pitch;
    const std::int64_t row = offset % tile_pitch / pitch;
    const std::int64_t column = offset % tile_pitch % pitch;
    return tile < rows / tile_rows * across && row < tile_rows && column < tile_columns
               ? (tile / across * tile_rows + row) * columns + tile % across * tile_columns + column
               : -1;
  }
  bool holds(std::int64_t token) const { return cell(token) >= 0; }
  // The token behind the cells of a row.
  std::int64_t row_end(std::int64_t row) const { return token(row * columns) + columns; }
  bool ends(std::int64_t token) const {
    const std::int64_t offset = token - first;
    return ended && offset >= 0 && offset / pitch < rows && offset % pitch == columns;
  }
  // Whether tiles, where there are some, divide the grid and do not overlap, and ends of rows have room.
  bool tiles_fit() const {
    if (ended) {
      return rows > 0 && tile_rows == 0 && tile_columns == 0 && tile_pitch == 0 && pitch > columns;
    }
    return tile_rows == 0 ? tile_columns == 0 && tile_pitch == 0
                          : tile_rows > 0 && tile_columns > 0 && rows > 0 && rows % tile_rows == 0 &&
                                columns % tile_columns == 0 && pitch >= tile_columns && tile_pitch >= tile_columns &&
                                (tile_pitch - tile_columns) / pitch >= tile_rows - 1;
  }
  friend bool operator==(const ImageSpan&, const ImageSpan&) = default;
};

// "image 2", "video 1, frame 3": the name of one of a text's pictures; "image 2 whole": what stands beside its tiles.
// Images and videos are counted from 1, each by themselves, and frames from 0, as rows and columns are.
std::string picture_name(const std::vector<ImageSpan>& pictures, std::size_t n);

// The image as the model saw it: resized and cropped, before normalisation. Empty for text, and for traces of images
// that another program wrote.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::shared_ptr<const std::vector<std::uint8_t>> rgba;  // 8 bits per channel, row-major; null when empty
};

struct MapRequest {
  std::int64_t layer = 0;
  std::int64_t head = 0;  // or kMeanHead: the mean over all heads (weights only)
  Quantity quantity = Quantity::kWeight;
  Range rows;                // queries; empty: all
  Range columns;             // keys; empty: all
  bool mark_masked = false;  // masked weights are NaN, so that figures tell them from weights of 0

  friend bool operator==(const MapRequest&, const MapRequest&) = default;
};

// The three kinds of maps of an encoder–decoder: of the decoder's tokens among themselves, of the encoder's, and of the
// decoder's (queries) over the encoder's (keys). Of a vision-language model: the patches in its image tower. Of a model
// with layers without a soft-max: the maps that these imply.
enum class Side { kDecoder, kEncoder, kCross, kVision, kMixer };
// A number of a token in a layer: what one without a soft-max, or with forget gates, remembers there, or where a learned
// position puts it.
enum class StateNumber {
  kHalfLife,  // ln ½ / g, in tokens, of a state under the log decay g of the token; +∞ where nothing decays
  kNorm,      // ‖S‖, the Frobenius norm of the state behind the token; of a band that of all its channels' states
  kPosition   // where the token stands for the head, by an encoding that learns positions
};

// The sides that views are asked for.
inline constexpr std::array kSides{Side::kDecoder, Side::kEncoder, Side::kCross, Side::kVision, Side::kMixer};

// "decoder", "encoder", "cross", "vision", "mixer".
std::string to_text(Side side);

// How the states of two positions are compared.
struct Similarity {
  bool cosine = false;  // divided by their lengths
  Range centred;        // the mean state of these positions is subtracted first; empty: none is

  friend bool operator==(const Similarity&, const Similarity&) = default;
};

// An immutable record of one run. Scores are computed on request from the kept queries and keys, never stored as T×T
// maps.
class Trace {
 public:
  virtual ~Trace() = default;

  virtual const ModelInfo& model() const = 0;
  virtual const std::vector<TokenInfo>& tokens() const = 0;
  std::int64_t length() const { return static_cast<std::int64_t>(tokens().size()); }
  // The tokens of the maps' columns: those of the rows but in cross-attention.
  virtual const std::vector<TokenInfo>& key_tokens() const { return tokens(); }
  std::int64_t keys() const { return static_cast<std::int64_t>(key_tokens().size()); }
  bool crosses() const { return &key_tokens() != &tokens(); }
  // A further side of an encoder–decoder's run, whose decoder this trace is about; null for kDecoder, for a side that a
  // file does not hold, and for other models.
  virtual std::shared_ptr<const Trace> side(Side /*side*/) const { return nullptr; }
  virtual const ImageGrid& image_grid() const = 0;
  // The pictures within the text.
  virtual const std::vector<ImageSpan>& images() const;
  virtual Picture picture() const { return {}; }
  // Time, row and column of every token (M-RoPE); empty where a position is one number.
  virtual std::vector<std::array<double, 3>> position_vectors() const { return {}; }
  // Grids of images(), in their order; empty where they are not known.
  virtual std::vector<Picture> pictures() const { return {}; }
  virtual const std::string& text() const = 0;  // the input text; empty for ids and images
  // The input of the run, for a generation its prompt; null for a file.
  virtual const Input* input() const { return nullptr; }
  // The text of the keys, which in cross-attention is the encoder's.
  virtual const std::string& key_text() const { return text(); }
  virtual double time_ms() const = 0;          // of the forward pass
  virtual std::int64_t memory_mb() const = 0;  // kept by this trace
  // Tokens at the beginning that were taken over from an earlier run.
  virtual std::int64_t reused() const { return 0; }
  // Layers that were taken over from a run with other edits.
  virtual std::int64_t kept_layers() const { return 0; }
  // Deviations of this run from the checkpoint.
  virtual const Edits& edits() const;
  // The most likely next tokens (image labels) of the last position, best first.
  virtual std::vector<Prediction> top(std::int64_t count) const = 0;
  // The logit of each token, where the model gives them one number each instead of predicting tokens; otherwise none.
  virtual std::vector<float> token_scores() const { return {}; }
  // The text's one vector, where the checkpoint has the steps to it; otherwise without values.
  virtual SentenceVector sentence() const { return {}; }

  // (|rows|, |columns|). Masked cells: weight 0 (NaN where the request marks them), every other quantity NaN. Errors:
  // kBadInput for a layer, head or range that does not exist, kUnsupported for a quantity that this encoding does not
  // have; kCancelled.
  virtual Result<Field> map(const MapRequest& request, StopToken stop = {}) const = 0;
  // The exact mean or max of each pixel's cells of that map, reduced to at most height × width; cells of a masked kind
  // are left out of the mean.
  virtual Result<Field> overview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                 Reduction reduction, StopToken stop = {}) const = 0;
  // Overviews that appear at once and become exact band by band: one exact cell for each pixel of overview(), to be
  // shown as sampled. Errors: kUnsupported where single cells cannot be had sooner than all of them (stored maps; CoPE
  // with a network or Shaw's term); those of overview().
  virtual Result<Field> preview(const MapRequest& request, std::int64_t height, std::int64_t width,
                                StopToken stop = {}) const;
  // The pixel rows `band` (empty: all) of overview(): (|band|, width). Errors: those of overview(); kBadInput for a
  // band that is not within its rows.
  virtual Result<Field> overview_band(const MapRequest& request, std::int64_t height, std::int64_t width,
                                      Reduction reduction, Range band, StopToken stop = {}) const;
  // ⟨e_i, e_j⟩ of the state entering `layer`; head kMeanHead averages. kUnsupported where the encoding has none.
  virtual Result<Field> dot_product(std::int64_t layer, std::int64_t head, Range rows, Range columns,
                                    const Similarity& similarity) const = 0;

  // Writes the trace file that the manual describes (assets/manual/traces.md). Atomic.
  virtual Status write(const std::filesystem::path& path, const std::set<std::string>& keep,
                       const Progress& progress = {}, StopToken stop = {}) const = 0;

  // The share of each query's attention that the layer's sink takes, (|rows|, 1): a learned logit beside the keys', so
  // that rows of the map sum to 1 less this. Errors: kUnsupported for layers without one, and map()'s.
  virtual Result<Field> sink(std::int64_t layer, std::int64_t head, Range rows, StopToken stop = {}) const;

  // A number of a layer's state at each token, (H, T) with the layer's own number of heads: on the side of the mixers that
  // of its mixer, on that of the text the half-life under its forget gates, or learned positions. Errors: kBadInput for a
  // layer that does not exist; kUnsupported for one without such numbers, for a mixer without a state that decays, and
  // for files, which keep no mixer's.
  virtual Result<Field> state_numbers(std::int64_t layer, StateNumber number, StopToken stop = {}) const;
};

// ---- positions without a run

// Positions to encode as a checkpoint would, whatever it has read: a sequence, or the patches of a grid row by row.
struct PositionRequest {
  std::int64_t length = 0;  // positions 0 … length − 1; or
  std::int64_t rows = 0;    // a grid of rows × columns, for image models
  std::int64_t columns = 0;
  Overrides overrides;  // RoPE's base and scaling, instead of those of the layer that is asked
};

// The encodings of those positions, as they enter layer 0 (encodings without an update: any layer).
class PositionTable {
 public:
  virtual ~PositionTable() = default;

  virtual std::int64_t length() const = 0;
  // ⟨e_i, e_j⟩ as Trace::dot_product().
  virtual Result<Field> dot_product(std::int64_t head, Range rows, Range columns,
                                    const Similarity& similarity) const = 0;
};

// ---- a model

class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;
  // Multiply-accumulates of a forward pass over T tokens (FLOPs are twice that); over as many on both sides.
  virtual double macs(std::int64_t length) const = 0;
  // The tokens a run over this input would have (of an encoder–decoder: the encoder's), at any length: ids, labels,
  // byte ranges and positions, without running or loading weights. Errors: those of run() for the input itself; a
  // length the encoding cannot take is none.
  virtual Result<std::vector<TokenInfo>> tokenize(const Input& input) const = 0;

  // Runs the forward pass. Errors: kBadInput (empty input, an id outside the vocabulary, a length the encoding cannot
  // take, text without tokenizer), kTooLarge, kCancelled. Safe from one worker thread at a time.
  virtual Result<std::shared_ptr<const Trace>> run(const Input& input, const RunOptions& options = {},
                                                   StopToken stop = {}, const Progress& progress = {}) const = 0;

  // Reads the weights, unless they are there: run() does it by itself, this one says how far it is. Errors: kTooLarge,
  // kCancelled.
  virtual Status read_weights(const StopToken& /*stop*/, const Progress& /*progress*/) const { return {}; }

  // Estimates what run() would need over this many tokens, of any number those of 0 to 2^30; `reuse` is not counted on.
  // Nothing is allocated.
  virtual Estimate estimate(std::int64_t length, const RunOptions& options = {}) const;

  // Runs the input and continues it, token by token, each through the same forward pass as run(). The trace is that of
  // a run over all tokens. Errors: run()'s; kUnsupported for models that are not causal decoders of text; kUsage for a
  // negative count or temperature; kBadInput when the encoding cannot take that many tokens.
  virtual Result<Generation> generate(const Input& input, const GenerateOptions& options,
                                      const RunOptions& run_options = {}, StopToken stop = {},
                                      const Progress& progress = {}) const;

  // This checkpoint with these edits in place of its own, over the same weights. Errors: those of check_edits();
  // kUnsupported for models that cannot be edited. What only a run can tell is an error of run(): ranges outside the
  // text, positions that the encoding cannot take (kBadInput), pairs and angles where nothing turns (kUnsupported).
  virtual Result<std::shared_ptr<const Model>> edited(Edits edits) const;
  virtual const Edits& edits() const;

  // The encodings of positions at `layer`, without a run. Errors: kUnsupported where the encoding has no vector for a
  // position, where it depends on the text (TAPE above layer 0), or cannot be overridden so; kBadInput for positions it
  // cannot take.
  virtual Result<std::shared_ptr<const PositionTable>> position_table(const PositionRequest& request,
                                                                      std::int64_t layer) const;
};

// Opens a checkpoint folder or file. Headers are read and validated first, then weights. Errors: kBadInput with file,
// tensor, expected and found; kUnsupported for families, dtypes and quantisations Locus does not read.
Result<std::shared_ptr<const Model>> open(const std::filesystem::path& path, const OpenOptions& options = {},
                                          StopToken stop = {}, const Progress& progress = {});

// Opens a trace file another program (or write()) made.
Result<std::shared_ptr<const Trace>> open_trace(const std::filesystem::path& path);

// Threads for models: `threads` (0: OMP_NUM_THREADS, or all cores), never more than there are cores. Once the engine is
// loaded they are its threads from then on.
void set_threads(int threads);
int bounded_threads(std::int64_t threads);
struct Runtime {
  std::string torch;  // "1.13.1"
  std::string blas;   // "OpenBLAS", "reference BLAS (slow)"
  int threads = 1;
  std::string device = "cpu";  // what "auto" names on this machine: "cpu", "cuda:0"
};
// Whether the engine, and LibTorch with it, is loaded: the first function that computes loads it, in about half a
// second.
bool engine_is_loaded();

// Loads the engine.
Runtime runtime();

// The kernels of matrix products.
struct Products {
  std::string kernels;  // OpenBLAS's: "SkylakeX"; empty: the library does not say
  std::string warning;  // that this CPU has faster ones, and what chose these; empty: it has not
};
// Loads the engine.
Products products();

// One row per encoding, for `locus info --encodings` and Help.
struct EncodingInfo {
  std::string name;
  std::string title;
  std::string paper;
  std::string equation;
  struct Item {
    std::string name;
    std::string shape;  // options: the default
    std::string meaning;
  };
  std::vector<Item> parameters;
  std::vector<Item> options;
};
std::vector<EncodingInfo> encodings();

}  // namespace locus::models
