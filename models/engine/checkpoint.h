// Checkpoint: what open() read of a checkpoint, and when its weights are loaded. Small checkpoints are loaded when they
// open, others at the first run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "models/engine/opened_pictures.h"
#include "models/engine/sentence.h"
#include "models/engine/throughput.h"
#include "models/image/image.h"
#include "models/image/video.h"
#include "models/text/tokenizer.h"
#include "models/transformer/transformer.h"
#include "models/transformer/weights.h"

namespace locus::models {

class Vision;

struct CheckpointParts {
  ModelInfo info;
  std::unique_ptr<transformer::Transformer> transformer;
  std::unique_ptr<transformer::Transformer> encoder;  // of an encoder–decoder, whose decoder that is; null for others
  std::int64_t start_token = 0;                       // what its decoder begins with
  std::shared_ptr<Vision> vision;                     // of a vision-language model; null for others
  transformer::WeightBinding binding;                 // of both
  std::shared_ptr<const text::Tokenizer> tokenizer;   // null: ids only
  std::shared_ptr<const text::Tokenizer> decoder_tokenizer;  // of an encoder–decoder, where it is another; else null
  std::optional<SentenceSteps> sentence;  // from states to one vector, where the checkpoint has the steps
  // Tokens that texts are filled up to, and with which; 0: they are not (SigLIP's text half, which has no mask).
  std::int64_t padded_length = 0;
  std::int64_t pad_id = 0;
  std::optional<double> logit_scale;  // see ModelInfo
  std::optional<double> logit_bias;
  image::Preprocessing preprocessing;
  image::VideoOptions video;    // of a model that takes videos
  std::optional<Error> unread;  // why texts (tokenizer) or pictures (preprocessing) are refused; ids and pixels are not
  std::optional<Error> unread_pictures;  // the same of the pictures in a text
  std::optional<Error> unread_videos;    // and of its videos
  // Why nothing is computed although the checkpoint opens: tensors that the configuration does not use.
  std::optional<Error> unexpected_tensors;
  std::map<std::int64_t, std::string> labels;  // of an image model's classes
  OpenOptions options;
  at::Device device{at::kCPU};  // where the weights are and runs are computed

  // The tokenizer of a side's texts; null: ids only.
  const std::shared_ptr<const text::Tokenizer>& tokenizer_of(const transformer::Transformer& side) const {
    return decoder_tokenizer && &side == transformer.get() ? decoder_tokenizer : tokenizer;
  }
};

// The last text that was tokenized.
struct LastText {
  std::mutex mutex;
  std::string text;
  bool special = false;
  std::vector<text::Token> tokens;  // empty: none yet
};

// The last pass without edits that an effect was measured against, with what further ones read of it.
struct UneditedPass {
  transformer::Batch batch;       // its input
  transformer::Observation seen;  // the states entering each layer, and the input of the head
};
struct LastUneditedPass {
  std::mutex mutex;
  std::shared_ptr<const UneditedPass> pass;  // null: none yet
};

// Safe from several threads once it is shared.
class Checkpoint {
 public:
  explicit Checkpoint(CheckpointParts parts) : parts_(std::move(parts)) {}

  const CheckpointParts& parts() const { return parts_; }
  const ModelInfo& info() const { return parts_.info; }

  // Loads the weights now, so that info() warns of values that are not finite; to be called before it is shared.
  Status load();

  // The transformer with its weights loaded. Errors: kTooLarge; kCancelled; kBadInput where the file holds tensors that
  // the configuration does not use: the model would not be what the weights were trained as.
  Result<const transformer::Transformer*> ready(const StopToken& stop = {}, const Progress& progress = {}) const;
  bool has_weights() const;
  // Bytes that the weights take on their device. Matrices in blocks stay so on the CPU alone.
  double weight_bytes_there() const;
  // kTooLarge where the machine, or its device, has no room for the weights; opening alone reads none.
  Status check_weights() const;
  // Warnings of a load at the first run about values that are not finite; info() stays as it was shared.
  const std::vector<std::string>& value_warnings() const { return value_warnings_; }

  // Caches: the last text, the last pictures, the last pass without edits, and the speed of this machine on the
  // transformer, the encoder of an encoder–decoder, and the image tower.
  LastText& last_text() const { return last_text_; }
  OpenedPictures& opened_pictures() const { return opened_pictures_; }
  LastUneditedPass& unedited_pass() const { return unedited_pass_; }
  CachedThroughput& throughput() const { return throughput_; }
  CachedThroughput& encoder_throughput() const { return encoder_throughput_; }
  CachedThroughput& tower_throughput() const { return tower_throughput_; }

 private:
  // Loads unless that is done; the mutex is held.
  Status load_once(const StopToken& stop, const Progress& progress) const;

  CheckpointParts parts_;
  mutable std::mutex mutex_;  // of the first load
  mutable bool loaded_ = false;
  mutable std::vector<std::string> value_warnings_;
  mutable LastText last_text_;
  mutable OpenedPictures opened_pictures_;
  mutable LastUneditedPass unedited_pass_;
  mutable CachedThroughput throughput_;
  mutable CachedThroughput encoder_throughput_;
  mutable CachedThroughput tower_throughput_;
};

}  // namespace locus::models
