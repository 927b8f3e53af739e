// open_trace(): a trace file of this or of another program, with its sides where it has some.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/local.h"
#include "models/engine/trace/open_trace.h"
#include "models/engine/trace/pictures.h"
#include "models/formats/trace/ranks.h"

namespace locus::models {

namespace {

using trace::OpenTrace;

// Opens a side of an encoder–decoder, or a trace without sides. `keys`: the encoder's tokens, for cross-attention.
OpenTrace begin_trace(const formats::Source& source, const std::string& file, SideNames names,
                      std::vector<TokenInfo> keys = {}) {
  OpenTrace opened{trace::TraceContents(source, file, names), {}, {}, {}, {}};
  opened.data.key_tokens = std::move(keys);
  return opened;
}

// Whether the run had fast products, said once for all sides.
Status read_speed(OpenTrace& opened) {
  const std::string speed = opened.file.text("speed");
  if (!speed.empty() && speed != "exact" && speed != "fast") {
    return bad_input("expected exact or fast, found " + shown(speed), opened.file.metadata("speed"));
  }
  opened.data.model.overrides.fast = speed == "fast";
  return {};
}

Result<TraceData> read_trace(OpenTrace opened) {
  if (const std::string format = opened.file.text("locus.format"); format != "trace/1") {
    return bad_input("metadata locus.format: expected trace/1, found " + shown(format), opened.file.path());
  }
  LOCUS_CHECK(read_tokens(opened));
  LOCUS_CHECK(read_shape(opened));
  LOCUS_CHECK(read_encodings(opened));
  LOCUS_CHECK(read_edits(opened));
  LOCUS_CHECK(read_speed(opened));
  LOCUS_CHECK(read_pictures(opened));
  for (std::int64_t n = 0; n < opened.data.model.layers; ++n) {
    LOCUS_TRY(TraceLayer layer, read_layer(opened, n));
    opened.data.layers.push_back(std::move(layer));
  }
  for (const TraceLayer& layer : opened.data.layers) {  // layers without a window may have none
    opened.data.blocks = opened.data.blocks ? opened.data.blocks : layer.scores->mask().blocks;
  }
  if (opened.file.crosses()) {
    set_cross_encoding(opened.data.model);
  }
  return std::move(opened.data);
}

// What the program that wrote the trace says of it: warnings of the model.
Status read_notes(const formats::Source& source, const std::string& file, ModelInfo& model) {
  const trace::TraceContents contents(source, file, {});
  LOCUS_TRY(const nlohmann::json notes, contents.value("notes"));
  if (!notes.is_null() && !(notes.is_array() && std::all_of(notes.begin(), notes.end(),
                                                            [](const auto& note) { return note.is_string(); }))) {
    return bad_input("expected a list of texts", contents.metadata("notes"));
  }
  for (const nlohmann::json& note : notes) {
    model.warnings.push_back("recording: " + printable(note.get<std::string>()));
  }
  LOCUS_TRY(const nlohmann::json layers, contents.value("recorded_layers"));
  if (layers.is_null()) {
    return {};
  }
  const auto is_number = [](const nlohmann::json& layer) { return layer.is_number_integer() && layer >= 0; };
  if (!layers.is_array() || static_cast<std::int64_t>(layers.size()) != model.layers ||
      !std::all_of(layers.begin(), layers.end(), is_number)) {
    return bad_input("expected a list of " + std::to_string(model.layers) + " numbers, one per layer",
                     contents.metadata("recorded_layers"));
  }
  model.warnings.push_back("recording: its layers are those that the model numbers " +
                           listed(layers, [](const nlohmann::json& layer) { return layer.dump(); }));
  return {};
}

bool has_tensor(const formats::Source& source, std::string_view begin, std::string_view part = {}) {
  return std::any_of(source->tensors().begin(), source->tensors().end(), [&](const formats::TensorInfo& info) {
    return info.name.starts_with(begin) && info.name.find(part) != std::string::npos;
  });
}

// A decoder's trace, with the other sides that the file holds.
Result<TraceData> read_sides(const formats::Source& source, const std::string& file) {
  LOCUS_TRY(TraceData data, read_trace(begin_trace(source, file, SideNames(Side::kDecoder))));
  if (has_tensor(source, "encoder.layers.")) {
    LOCUS_TRY(TraceData encoder, read_trace(begin_trace(source, file, SideNames(Side::kEncoder))));
    data.model.encoder_layers = encoder.model.layers;
    data.encoder = std::make_shared<const RecordedTrace>(std::move(encoder));
  }
  if (has_tensor(source, "decoder.layers.", ".cross_")) {
    OpenTrace read = begin_trace(source, file, SideNames(Side::kEncoder));
    LOCUS_CHECK(read_tokens(read));
    LOCUS_TRY(TraceData cross,
              read_trace(begin_trace(source, file, SideNames(Side::kCross), std::move(read.data.tokens))));
    cross.key_text = std::move(read.data.text);
    data.cross = std::make_shared<const RecordedTrace>(std::move(cross));
  }
  return data;
}

// The maps that layers without a soft-max imply; null where the file has none.
Result<std::shared_ptr<const RecordedTrace>> read_mixers(const formats::Source& source, const std::string& file,
                                                         const TraceData& text) {
  const trace::TraceContents contents(source, file, SideNames(Side::kMixer));
  const auto length = static_cast<std::int64_t>(text.tokens.size());
  TraceData data;
  data.model = text.model;
  data.model.warnings.clear();
  data.model.heads = 0;
  std::vector<at::Tensor> maps;
  for (std::int64_t n = 0; n < text.model.layers; ++n) {
    LOCUS_TRY(maps.emplace_back(), contents.tensor("layers." + std::to_string(n) + ".implied", {-1, length, length}));
    data.model.heads = std::max(data.model.heads, maps.back().defined() ? maps.back().size(0) : 0);
  }
  if (data.model.heads == 0) {
    return std::shared_ptr<const RecordedTrace>();
  }
  data.model.kv_heads = data.model.heads;
  set_no_encoding(data.model);
  data.model.encodings.clear();
  for (std::size_t n = 0; n < maps.size(); ++n) {
    LayerInfo& info = data.model.layer_info[n];
    info.encoding = -1;
    info.mixer = text.model.layer_info[n].mixer;
    info.attends = maps[n].defined();
    TraceLayer layer;
    layer.scores = no_scores(data.model.heads, length);
    if (maps[n].defined()) {
      const at::Tensor sums = maps[n].abs().sum(-1, true);
      std::map<attention::Quantity, at::Tensor> stored{
          {attention::Quantity::kImplied, maps[n]},
          {attention::Quantity::kWeight, at::where(sums > 0, maps[n].abs() / sums, 0.0F)}};
      layer.scores = std::make_shared<const attention::ScoreField>(
          std::make_shared<const attention::StoredScores>(std::move(stored)), attention::Mask{true});
    }
    data.layers.push_back(std::move(layer));
  }
  data.tokens = text.tokens;
  data.text = text.text;
  return std::make_shared<const RecordedTrace>(std::move(data));
}

// A trace without sides, with the maps of mixers where it has some, or of a text with pictures and the tower's side.
Result<TraceData> read_text(const formats::Source& source, const std::string& file) {
  LOCUS_TRY(TraceData data, read_trace(begin_trace(source, file, {})));
  if (has_tensor(source, "mixer.layers.")) {
    LOCUS_TRY(data.mixer, read_mixers(source, file, data));
  }
  if (has_tensor(source, "vision.layers.")) {
    LOCUS_TRY(TraceData tower, read_trace(begin_trace(source, file, SideNames(Side::kVision))));
    data.model.vision_layers = tower.model.layers;
    data.vision = std::make_shared<const RecordedTrace>(std::move(tower));
  }
  return data;
}

}  // namespace

Result<std::shared_ptr<const Trace>> local::open_trace(const std::filesystem::path& path) {
  return guarded([&]() -> Result<std::shared_ptr<const Trace>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(formats::Source opened, formats::open_tensors(path));
    LOCUS_TRY(const formats::Source source, trace::join_ranks(std::move(opened), path));
    const std::string file = path.string();
    LOCUS_TRY(TraceData data,
              has_tensor(source, "decoder.layers.") ? read_sides(source, file) : read_text(source, file));
    LOCUS_CHECK(read_notes(source, file, data.model));
    return std::shared_ptr<const Trace>(std::make_shared<RecordedTrace>(std::move(data)));
  });
}

}  // namespace locus::models
