// RecordedTrace: the Trace of a run or of a trace file. Scores come from each layer's ScoreField.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/attention/implied_scores.h"
#include "core/attention/score_field.h"
#include "core/position/position_encoding.h"
#include "models/api/model.h"
#include "models/transformer/mixers/mixer.h"

namespace locus::transformer {
class RowStore;
struct ImageRows;
}  // namespace locus::transformer

namespace locus::models {

// One layer of a trace; undefined tensors were not kept or not stored.
struct TraceLayer {
  std::shared_ptr<const attention::ScoreField> scores;         // never null; NoScores of a layer without a map
  std::shared_ptr<const attention::ImpliedScores> implied;     // on the mixer's side; null elsewhere
  std::shared_ptr<const position::PositionEncoding> encoding;  // its own; null when a file does not say
  std::int64_t encoding_layer = 0;                             // its number among the layers of that encoding
  std::shared_ptr<const attention::ComputedScores> computed;   // the part of `scores` made of q and k; may be null
  std::optional<position::State> state;                        // entering the layer
  at::Tensor hidden;                                           // (T, C) entering the layer
  at::Tensor value;                                            // (1, Hkv, T, D), of a continuable run
  std::vector<transformer::MixerMark> marks;                   // of a continuable run's mixer
  std::shared_ptr<const mixers::ImpliedMap> map;               // of a mixer beside this layer or instead of it
  at::Tensor chosen;                                           // (1, H, T), of hard attention
  at::Tensor sinks;                                            // (H), where a learned logit joins every row
  at::Tensor experts;                                          // (T, k) int64, which ones each token went to
  at::Tensor expert_weights;                                   // (T, k), and what they weigh
};

class RecordedTrace;

struct TraceData {
  ModelInfo model;
  std::string model_name;
  std::vector<TokenInfo> tokens;
  ImageGrid grid;
  Picture picture;
  std::string text;
  std::optional<Input> input;  // of a run; none of a file
  double time_ms = 0;
  std::int64_t reused = 0;
  std::int64_t kept_layers = 0;
  Edits edits;
  // The first layer's encoding as the checkpoint has it, which belongs to one model and tells whose trace this is; null
  // of a file.
  std::shared_ptr<const position::PositionEncoding> of_model;
  at::Tensor pixels;        // (1, channels, height, width) of a run over an image
  at::Tensor input_ids;     // (T) int64; undefined for images
  at::Tensor position_ids;  // (T) or (T, 2) float64
  at::Tensor unedited_ids;  // the same before the run's edits; of a run alone
  at::Tensor logits;        // (T or 1, V); (classes) of an image as (1, classes); undefined without a head
  at::Tensor before_head;   // (T, C) that the head reads; only with RunOptions::before_head
  at::Tensor hidden;        // (T, C) after the final norm, of a model without a head
  SentenceVector sentence;  // made of them where the checkpoint says how
  // The encodings' trained tensors, by their names in a trace: "encoding.e", "layers.3.encoding.up_proj".
  std::vector<std::pair<std::string, at::Tensor>> encoding_parameters;
  std::vector<TraceLayer> layers;
  std::vector<TokenInfo> key_tokens;             // of cross-attention alone; its keys
  std::string key_text;                          // that they stand for
  std::shared_ptr<const RecordedTrace> encoder;  // the other sides of an encoder–decoder's decoder
  std::shared_ptr<const RecordedTrace> cross;
  std::shared_ptr<const RecordedTrace> mixer;                // the maps that layers without a soft-max imply
  std::shared_ptr<const RecordedTrace> vision;               // the tower's side of a text with pictures
  std::shared_ptr<const transformer::ImageRows> image_rows;  // what they put into it
  std::vector<ImageSpan> images;                             // and where
  std::vector<Picture> pictures;                             // as they were seen; empty of pixels
  std::shared_ptr<const attention::Blocks> blocks;           // which tokens see each other; null: by order alone
  at::Tensor image_grids;                                    // (images, 3) int64 frames, rows, columns in patches
  at::Tensor video_pixels;                                   // the same of the text's videos
  at::Tensor video_grids;
  at::Tensor read;                              // (P, C') of the tower that the connector read
  std::shared_ptr<transformer::RowStore> rows;  // where they lie, of a run that continued another
  // How the most likely outputs are shown, by id.
  std::function<std::string(std::int64_t)> label;
};

class RecordedTrace : public Trace {
 public:
  explicit RecordedTrace(TraceData data);

  const TraceData& data() const { return data_; }

  const ModelInfo& model() const override { return data_.model; }
  const std::vector<TokenInfo>& tokens() const override { return data_.tokens; }
  const std::vector<TokenInfo>& key_tokens() const override {
    return data_.key_tokens.empty() ? data_.tokens : data_.key_tokens;
  }
  std::shared_ptr<const Trace> side(Side side) const override;
  const ImageGrid& image_grid() const override { return data_.grid; }
  const std::vector<ImageSpan>& images() const override { return data_.images; }
  Picture picture() const override { return data_.picture; }
  std::vector<std::array<double, 3>> position_vectors() const override;
  std::vector<Picture> pictures() const override { return data_.pictures; }
  const std::string& text() const override { return data_.text; }
  const Input* input() const override { return data_.input ? &*data_.input : nullptr; }
  const std::string& key_text() const override { return data_.key_tokens.empty() ? data_.text : data_.key_text; }
  double time_ms() const override { return data_.time_ms; }
  std::int64_t memory_mb() const override { return memory_mb_; }
  std::int64_t reused() const override { return data_.reused; }
  std::int64_t kept_layers() const override { return data_.kept_layers; }
  const Edits& edits() const override { return data_.edits; }
  std::vector<Prediction> top(std::int64_t count) const override;
  std::vector<float> token_scores() const override;
  SentenceVector sentence() const override { return data_.sentence; }
  Result<Field> map(const MapRequest& request, StopToken stop) const override;
  Result<Field> overview(const MapRequest& request, std::int64_t height, std::int64_t width, Reduction reduction,
                         StopToken stop) const override;
  Result<Field> preview(const MapRequest& request, std::int64_t height, std::int64_t width,
                        StopToken stop) const override;
  Result<Field> overview_band(const MapRequest& request, std::int64_t height, std::int64_t width, Reduction reduction,
                              Range band, StopToken stop) const override;
  Result<Field> dot_product(std::int64_t layer, std::int64_t head, Range rows, Range columns,
                            const Similarity& similarity) const override;
  Status write(const std::filesystem::path& path, const std::set<std::string>& keep, const Progress& progress,
               StopToken stop) const override;
  Result<Field> sink(std::int64_t layer, std::int64_t head, Range rows, StopToken stop) const override;
  Result<Field> state_numbers(std::int64_t layer, StateNumber number, StopToken stop) const override;

 private:
  Result<const TraceLayer*> layer(std::int64_t index) const;

  TraceData data_;
  std::int64_t memory_mb_ = 0;
};

// The trace as a RecordedTrace, which all traces of this floor are; null for any other.
const RecordedTrace* recorded_of(const Trace& trace);

// A model as its cross-attention sees it: no positions, no windows, no mask; and as its mixers do, each token those
// before it.
void set_cross_encoding(ModelInfo& info);
void set_no_encoding(ModelInfo& info);

// The scores of a layer without a map of its own.
std::shared_ptr<const attention::ScoreField> no_scores(std::int64_t heads, std::int64_t length);

// The name that a trace gives a tensor of its n-th encoding, which counts `layers` alone: "layers.1.up_proj" of its
// second layer 7 is "layers.7.encoding.up_proj"; one that its layers share is "encoding.e", of a further encoding
// "encoding.1.e".
std::string trace_name(const std::string& parameter, std::size_t encoding, const std::vector<std::int64_t>& layers);

// (H, T, T) of one layer's quantity, (H, queries, keys) of cross-attention, hidden cells as in maps. For traces on disk
// and for verification.
Result<at::Tensor> whole_map(const attention::ScoreField& scores, attention::Quantity quantity, StopToken stop = {});

// ⟨e_i, e_j⟩ of `vectors` (1 or H, T, X) for one head, or their mean; empty `rows` and `columns` are all. Errors:
// kBadInput for a head or range that does not exist.
Result<Field> dot_product_field(const at::Tensor& vectors, std::int64_t head, std::int64_t heads, Range rows,
                                Range columns, const Similarity& similarity);

// Writes the trace file that the manual describes (assets/manual/traces.md).
Status write_trace(const RecordedTrace& trace, const std::filesystem::path& path, const std::set<std::string>& keep,
                   const Progress& progress, StopToken stop);

}  // namespace locus::models
