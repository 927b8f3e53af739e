// LoadedModel: the Model behind open(). Weights are converted at the first run (small checkpoints: on opening).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "models/edits/run_edits.h"
#include "models/engine/pace.h"
#include "models/image/image.h"
#include "models/text/tokenizer.h"
#include "models/transformer/transformer.h"
#include "models/transformer/weights.h"

namespace locus::models {

class RecordedTrace;
class Vision;
struct PreparedPicture;
struct SeenImages;
struct TextImages;
struct TraceData;

struct LoadedParts {
  ModelInfo info;
  std::unique_ptr<transformer::Transformer> transformer;
  std::unique_ptr<transformer::Transformer> encoder;  // of an encoder–decoder, whose decoder that is; null for others
  std::int64_t start_token = 0;                       // what its decoder begins with
  std::shared_ptr<Vision> vision;                     // of a vision-language model; null for others
  transformer::WeightBinding binding;                 // of both
  std::shared_ptr<const text::Tokenizer> tokenizer;   // null: ids only
  image::Preprocessing preprocessing;
  std::optional<Error> unread;  // why texts (tokenizer) or pictures (preprocessing) are refused; ids and pixels are not
  std::optional<Error> unread_pictures;  // the same of the pictures in a text
  // Why nothing is computed although the checkpoint opens: tensors that the configuration does not use.
  std::optional<Error> unexpected_tensors;
  std::map<std::int64_t, std::string> labels;  // of an image model's classes
  OpenOptions options;
};

class LoadedModel : public Model {
 public:
  explicit LoadedModel(LoadedParts parts) : LoadedModel(std::make_shared<Shared>(std::move(parts)), {}) {}

  // Converts the weights now, so that info() warns of values that are not finite; call it before the model is shared.
  Status load();

  const ModelInfo& info() const override { return parts_.info; }
  double macs(std::int64_t length) const override;
  Result<std::vector<TokenInfo>> tokenize(const Input& input) const override;
  Result<std::shared_ptr<const Trace>> run(const Input& input, const RunOptions& options, StopToken stop,
                                           const Progress& progress) const override;
  Status read_weights(const StopToken& stop, const Progress& progress) const override;
  Estimate estimate(std::int64_t length, const RunOptions& options) const override;
  // What tower and connector take for those of the input's pictures that are not kept; see pictures_estimate().
  Estimate estimate_pictures(const Input& input, const RunOptions& options) const;
  Result<Generation> generate(const Input& input, const GenerateOptions& options, const RunOptions& run_options,
                              StopToken stop, const Progress& progress) const override;
  Result<std::shared_ptr<const PositionTable>> position_table(const PositionRequest& request,
                                                              std::int64_t layer) const override;
  Result<std::shared_ptr<const Model>> edited(Edits edits) const override;
  const Edits& edits() const override { return edits_; }

  // What an input becomes: a batch of one and its tokens.
  struct Prepared {
    transformer::Batch batch;
    position::Positions untouched = {};  // positions before edits
    std::vector<TokenInfo> tokens;
    ImageGrid grid;
    Picture picture;
    std::string text;
    Input input;                        // as it was given
    std::vector<std::string> warnings;  // about the input, for the trace's model().warnings
    std::shared_ptr<Prepared> encoder;  // of an encoder–decoder: what its encoder reads; all else is its decoder's
    std::shared_ptr<const TextImages> vision;  // the pictures of a text; null: it has none

    // Tokens of the longer side.
    std::int64_t longest() const {
      return static_cast<std::int64_t>(std::max(tokens.size(), encoder ? encoder->tokens.size() : 0));
    }
  };
  // With the model's edits. Errors: kBadInput, kUsage; also for positions that the encoding does not take, and edits
  // that do not fit the input; kUnsupported for edits that the encoding cannot take.
  Result<Prepared> prepare(const Input& input) const;
  static Layout layout_of(const Prepared& prepared);
  // Edits a batch: its positions, and its layers for which the weights are loaded. Errors: those of Model::edited()
  // and what it leaves to a run.
  Status edit(transformer::Batch& batch, const Layout& layout) const;
  // Puts the edits of the layers into a batch whose positions are edited already.
  Status edit_layers(transformer::Batch& batch, const Layout& layout) const;

  // Loaded weights. What the first load says of values that are not finite is in every trace's model().warnings.
  // Errors: kTooLarge; kCancelled; kBadInput where the file holds tensors that the configuration does not have: what it
  // says would not be what the weights were trained as.
  Result<const transformer::Transformer*> ready(const StopToken& stop = {}, const Progress& progress = {}) const;
  // Which tensor each parameter is made of.
  const transformer::WeightBinding& binding() const { return parts_.binding; }
  // What a vision-language model has beside its text model, once it is ready(); null for others.
  const Vision* vision() const { return parts_.vision.get(); }
  // The encoder of an encoder–decoder, once it is ready(); null for others.
  const transformer::Transformer* encoder() const { return parts_.encoder.get(); }

 private:
  // prepare() before the encoding's check, on the CPU.
  Result<Prepared> read(const Input& input) const;
  Result<Prepared> read_mixed(const Input& input) const;
  Result<Prepared> prepare_text(const Input& input) const;
  Result<Prepared> prepare_pair(const Input& input) const;
  // Ids and positions of these tokens. Errors: kBadInput for none, and for an id outside the vocabulary.
  Result<Prepared> prepare_tokens(const std::vector<text::Token>& tokens, std::int64_t start) const;
  Result<std::vector<text::Token>> encode(const std::string& text, bool special) const;
  Result<Prepared> prepare_image(const Input& input) const;
  // A text with the pictures that stand in it.
  Result<Prepared> prepare_mixed(const Input& input) const;
  // A picture file as the tower takes it, and a file of pixels, both kept. Errors: those of reading and preparing it.
  Result<PreparedPicture> prepare_picture(const std::filesystem::path& file) const;
  Result<std::shared_ptr<const PreparedPicture>> prepared_pixels(const std::filesystem::path& file) const;
  Result<std::shared_ptr<const PreparedPicture>> prepared_picture(const std::filesystem::path& file) const;
  Result<std::shared_ptr<TextImages>> text_images(const Input& input, Prepared& prepared) const;
  // With all placeholders of the pictures.
  Result<std::vector<text::Token>> mixed_tokens(const Input& input, const TextImages& images,
                                                std::vector<std::string>& warnings) const;
  // `id`, or where that is −1 the one that the tokenizer has for `word`; −1: none.
  Result<std::int64_t> word_id(std::int64_t id, std::string_view word) const;
  // Whether a token's position is a vector where there are pictures (M-RoPE).
  bool has_vector_positions() const;
  // (3, H, W) normalised; fills in the picture and what there is to say of its file.
  Result<at::Tensor> pixels_of(const Input& input, Prepared& prepared) const;
  // The picture that normalised pixels were made of.
  Picture denormalised(const at::Tensor& pixels) const;
  Result<std::shared_ptr<const position::PositionEncoding>> encoding_with(const Overrides& overrides,
                                                                          std::int64_t layer) const;
  // Loads unless it is done; the mutex is held.
  Status load_once(const StopToken& stop, const Progress& progress) const;
  // kTooLarge when the machine has no room for the weights; opening alone reads none.
  Status check_weights() const;
  // kTooLarge when a run over `length` tokens does not fit, saying what would.
  Status check_memory(std::int64_t length, const RunOptions& options, const TextImages* pictures = nullptr) const;
  // What the tower needs of pictures.
  double picture_mb(const TextImages& pictures, const RunOptions& options) const;
  // Observes a batch.
  Result<transformer::Observation> observe(const transformer::Transformer& model, const transformer::Batch& batch,
                                           const transformer::ObserveOptions& options, double& time_ms) const;
  // What both sides of a run are observed as; the encoder's nothing but in an encoder–decoder.
  struct Observed {
    transformer::Observation encoder;
    transformer::Observation own;
    std::shared_ptr<const SeenImages> images;  // of a text with pictures
  };
  // Lets the tower see the pictures, where there are some: what they become goes to prepared.batch.images.
  Status observe_images(Prepared& prepared, const transformer::ObserveOptions& options, Observed& observed,
                        double& time_ms) const;
  // Lets the encoder read, where there is one: the states go to prepared.batch.memory.
  Status observe_encoder(Prepared& prepared, const transformer::ObserveOptions& options, Observed& observed,
                         double& time_ms) const;
  // The tower's side of a run, which is the same as long as its pictures are.
  std::shared_ptr<const RecordedTrace> vision_trace(const TextImages& pictures, const SeenImages& seen) const;
  std::shared_ptr<const Trace> trace_of(Prepared prepared, const Observed& observed, double time_ms) const;
  // The trace of the first `layers` layers.
  TraceData trace_data(const transformer::Transformer& model, Prepared prepared,
                       const transformer::Observation& observation, std::int64_t layers) const;
  // Gives options.early traces of the layers that are done.
  void tell_early(const Prepared& prepared, const RunOptions& options, transformer::ObserveOptions& wanted) const;
  std::shared_ptr<const RecordedTrace> encoder_trace(Prepared prepared,
                                                     const transformer::Observation& observation) const;
  std::shared_ptr<const RecordedTrace> cross_trace(const TraceData& decoder, const Prepared& read,
                                                   const transformer::Observation& observation) const;
  bool has_weights() const;

  // What a model and its edited versions share.
  struct Shared {
    explicit Shared(LoadedParts own) : parts(std::move(own)) {}
    LoadedParts parts;
    std::mutex mutex;  // of the first load
    bool loaded = false;
    std::vector<std::string> value_warnings;  // of a load at the first run; info() stays as it was shared
    KeptPace pace;
    KeptPace encoder_pace;
    KeptPace tower_pace;
  };
  LoadedModel(std::shared_ptr<Shared> shared, Edits edits)
      : shared_(std::move(shared)),
        edits_(std::move(edits)),
        parts_(shared_->parts),
        mutex_(shared_->mutex),
        loaded_(shared_->loaded),
        value_warnings_(shared_->value_warnings) {}

  std::shared_ptr<Shared> shared_;
  Edits edits_;
  LoadedParts& parts_;
  std::mutex& mutex_;
  bool& loaded_;
  std::vector<std::string>& value_warnings_;
};

std::vector<text::Token> tokens_of(const std::vector<std::int64_t>& ids);

// The model as a LoadedModel, which is what open() gives; null for any other.
const LoadedModel* loaded_model_of(const Model& model);

// The spec under another base or scaling, and what was applied, written most shortly: yarn:2 for yarn:2.0, with the
// layers where not all that turn obey; empty where nothing changes. Errors: kUnsupported where its layers have none,
// and for layers that share learned tensors with others; kUsage for a scaling or layers that cannot be read.
Result<Overrides> apply_overrides(const Overrides& overrides, transformer::Spec& spec);
// One encoding under another base and scaling, whichever layers they name. Errors: as above.
Status override_encoding(const Overrides& overrides, transformer::EncodingSpec& encoding);

// Bytes that a run needs beside the weights: what the trace keeps, with maps that are written, and the widest moment of
// one layer.
struct RunBytes {
  double kept = 0;
  double working = 0;

  double all() const { return kept + working; }
};
RunBytes run_bytes(const transformer::Transformer& model, std::int64_t length, const RunOptions& options);

// What observe() is asked for by these options.
transformer::ObserveOptions observe_options(const RunOptions& options, StopToken stop, const Progress& progress);

// What of an earlier trace a run over `batch` may take over; empty when nothing.
std::optional<transformer::ReusedTokens> reused_tokens_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch);

// The layers that a run over `batch` with `edits` may take over of an earlier, otherwise edited one; empty when none.
std::optional<transformer::ReusedLayers> reused_layers_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch, const Edits& edits,
                                                          const RunOptions& options);

}  // namespace locus::models
