#include "models/api/verify.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/api/local.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/experiments/fields.h"
#include "models/families/files/family_files.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"

namespace locus::models {

namespace {

constexpr std::int64_t kLongest = 4096;
constexpr double kTolerance = 1e-4;
// Names of the maps of cross-attention.
constexpr const char* kCross = "cross_attention";

// What numbers are compared by: their own size, or, of the logits or the state of a token, whose sums round by all of
// them, at least the root mean square of the token's.
enum class Size { kOwn, kOfToken };

// `masked`: the cells of a map that no query sees, which both may leave NaN; undefined where every number counts.
double difference(const at::Tensor& got, const at::Tensor& want, const at::Tensor& masked, Size size) {
  at::Tensor sizes = want.abs();
  if (size == Size::kOfToken) {
    sizes = at::maximum(sizes, want.square().mean(-1, true).sqrt());
  }
  at::Tensor relative = (got - want).abs() / (sizes + 1);
  if (masked.defined()) {
    relative = relative.masked_fill(got.isnan().logical_and(want.isnan()).logical_and(masked), 0.0);
  }
  const double largest = relative.max().item<double>();
  return largest == largest ? largest : std::numeric_limits<double>::infinity();
}

// (T, K) of a map (H, T, K): what the mask hides from each query.
at::Tensor masked_cells(const attention::ScoreField& scores, const at::Tensor& map) {
  return scores.mask().hidden({0, map.size(1)}, {0, map.size(2)}, at::kCPU);
}

class Comparison {
 public:
  void add(const std::string& name, const at::Tensor& got, const at::Tensor& want, const at::Tensor& masked = {},
           Size size = Size::kOwn) {
    VerifyRow row{name, std::numeric_limits<double>::infinity(), kTolerance, false};
    if (got.sizes() == want.sizes() && got.numel() > 0) {
      row.difference = difference(got.to(at::kCPU, at::kFloat), want.to(at::kCPU, at::kFloat), masked, size);
      row.passed = row.difference <= row.tolerance;
    }
    report_.passed = report_.passed && row.passed;
    report_.rows.push_back(row);
  }
  void add_outcome(const std::string& name, const at::Tensor& got, const at::Tensor& want) {
    add(name, got, want, {}, Size::kOfToken);
  }
  VerifyReport take() { return std::move(report_); }

 private:
  VerifyReport report_;
};

// kTooLarge for maps that are not made whole.
Status check_length(const Trace& trace) {
  const std::shared_ptr<const Trace> encoder = trace.side(Side::kEncoder);
  const std::int64_t longest = std::max(trace.length(), encoder ? encoder->length() : 0);
  return longest <= kLongest ? Status()
                             : Status(too_large("verification makes whole maps: at most " + std::to_string(kLongest) +
                                                " tokens, found " + std::to_string(longest)));
}

// The tensor of a file of expected values, or undefined.
at::Tensor stored(const formats::Source& file, const std::string& name) {
  const formats::TensorInfo* const info = file->find(name);
  return info == nullptr ? at::Tensor() : transformer::to_tensor_as_stored(*info, file);
}

bool same_tokens(const std::vector<TokenInfo>& ours, const std::vector<TokenInfo>& theirs) {
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const TokenInfo& a, const TokenInfo& b) { return a.id == b.id; });
}

// Whether both say that the same encoding is in the scores of a layer, so that what is left of them without it compares.
bool same_encoding(const TraceData& ours, const TraceData& theirs, std::size_t n) {
  const EncodingUse* const mine = ours.model.encoding_of(static_cast<std::int64_t>(n));
  const EncodingUse* const other = theirs.model.encoding_of(static_cast<std::int64_t>(n));
  return ours.key_tokens.empty() && mine != nullptr && other != nullptr && mine->name == other->name;
}

// The layers of two traces, quantity by quantity, where both have it.
Status compare_layers(const TraceData& ours, const TraceData& theirs, const std::string& side, Comparison& comparison,
                      StopToken stop) {
  if (ours.layers.size() != theirs.layers.size()) {
    return bad_input("expected a trace of " + std::to_string(ours.layers.size()) + " layers, found " +
                     std::to_string(theirs.layers.size()));
  }
  for (std::size_t n = 0; n < ours.layers.size(); ++n) {
    const std::string prefix = side + "layers." + std::to_string(n) + ".";
    if (ours.layers[n].hidden.defined() && theirs.layers[n].hidden.defined()) {
      comparison.add(prefix + "hidden", ours.layers[n].hidden, theirs.layers[n].hidden);
    }
    if (ours.layers[n].experts.defined() && theirs.layers[n].experts.defined()) {
      comparison.add(prefix + "experts", ours.layers[n].experts, theirs.layers[n].experts);
      comparison.add(prefix + "expert_weights", ours.layers[n].expert_weights, theirs.layers[n].expert_weights);
    }
    for (const auto& [quantity, name] :
         {std::pair{attention::Quantity::kWeight, "attention"}, std::pair{attention::Quantity::kContent, "content"},
          std::pair{attention::Quantity::kGate, "gates"}, std::pair{attention::Quantity::kPosition, "positions"}}) {
      if (quantity == attention::Quantity::kContent && !same_encoding(ours, theirs, n)) {
        continue;
      }
      const Result<at::Tensor> mine = whole_map(*ours.layers[n].scores, quantity, stop);
      const Result<at::Tensor> other = whole_map(*theirs.layers[n].scores, quantity, stop);
      if (mine.ok() && other.ok()) {
        comparison.add(prefix + (ours.key_tokens.empty() ? name : kCross), *mine, *other,
                       masked_cells(*ours.layers[n].scores, *mine));
      }
    }
  }
  return {};
}

Status compare_trace(const TraceData& ours, const std::filesystem::path& path, Comparison& comparison, StopToken stop) {
  LOCUS_TRY(const std::shared_ptr<const Trace> opened, local::open_trace(path));
  LOCUS_TRY(const TraceData* const read, data_of(*opened));
  const TraceData& theirs = *read;
  if (ours.tokens.size() != theirs.tokens.size() || (ours.input_ids.defined() && theirs.input_ids.defined() &&
                                                     !at::equal(ours.input_ids.cpu(), theirs.input_ids.cpu()))) {
    return bad_input("expected a trace of the same input, found other tokens", path.string());
  }
  if (ours.hidden.defined() && theirs.hidden.defined()) {
    comparison.add_outcome("hidden against the trace", ours.hidden, theirs.hidden);
  }
  if (theirs.logits.defined() && ours.logits.defined()) {
    // A trace may hold the last row only.
    const std::int64_t rows = theirs.logits.size(0);
    const at::Tensor mine = ours.logits.slice(0, ours.logits.size(0) - std::min(rows, ours.logits.size(0)));
    comparison.add_outcome("logits against the trace", mine, theirs.logits);
  }
  Status layers = compare_layers(ours, theirs, ours.encoder ? "decoder." : "", comparison, stop);
  for (const auto& [mine, other, side] :
       {std::tuple{ours.encoder, theirs.encoder, "encoder."}, std::tuple{ours.cross, theirs.cross, "decoder."}}) {
    if (layers.ok() && mine && other) {
      if (!same_tokens(mine->key_tokens(), other->key_tokens())) {
        return bad_input("expected a trace of the same input, found other tokens of the encoder", path.string());
      }
      layers = compare_layers(mine->data(), other->data(), side, comparison, stop);
    }
  }
  return within(std::move(layers), path.string());
}

// Whether a reference's map is that before the sinks' share of the rows: some programs take the share off the sum of the
// values alone, and their rows sum to 1.
bool is_before_sinks(const TraceData& data, std::size_t layer, const at::Tensor& want) {
  constexpr double kRounding = 1e-4;
  return layer < data.model.layer_info.size() && data.model.layer_info[layer].sink && want.dim() > 0 &&
         (want.sum(-1) - 1).abs().max().item<double>() < kRounding;
}

// The layers with attention, and the numbers that the reference has for them: their own, or, where it has maps 0 to n − 1
// of n such layers among others, the order of these alone, as the transformers library lists them.
struct NumberedLayer {
  std::size_t layer = 0;
  std::size_t there = 0;
};
std::vector<NumberedLayer> attending_layers(const TraceData& data, const formats::Source& file,
                                            const std::string& side) {
  std::vector<NumberedLayer> layers;
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    if (n >= data.model.layer_info.size() || data.model.layer_info[n].attends) {
      layers.push_back({n, n});
    }
  }
  bool listed = layers.size() < data.layers.size();
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const bool there = file->find(side + "layers." + std::to_string(n) + ".attention") != nullptr;
    listed = listed && there == (n < layers.size());
  }
  for (std::size_t n = 0; listed && n < layers.size(); ++n) {
    layers[n].there = n;
  }
  return layers;
}

// The maps of a side that the reference has: tensors SIDElayers.N.….
Status compare_expected(const TraceData& data, const formats::Source& file, const std::string& side,
                        const StopToken& stop, Comparison& comparison) {
  for (const auto& [n, there] : attending_layers(data, file, side)) {
    const std::string layer = side + "layers." + std::to_string(n) + ".";
    for (const auto& [quantity, what] :
         {std::pair{attention::Quantity::kWeight, data.key_tokens.empty() ? "attention" : kCross},
          std::pair{attention::Quantity::kContent, "content"}, std::pair{attention::Quantity::kC2p, "c2p"},
          std::pair{attention::Quantity::kP2c, "p2c"}}) {
      const std::string name = side + "layers." + std::to_string(there) + "." + what;
      if (const at::Tensor want = stored(file, name); want.defined()) {
        LOCUS_TRY(const at::Tensor map, whole_map(*data.layers[n].scores, quantity, stop));
        const bool before = quantity == attention::Quantity::kWeight && is_before_sinks(data, n, want.to(at::kFloat));
        comparison.add(layer + what + (before ? " before the sinks" : "") + (n == there ? "" : " (there " + name + ")"),
                       before ? map / map.sum(-1, true) : map, want.to(at::kFloat),
                       masked_cells(*data.layers[n].scores, map));
      }
    }
  }
  return {};
}

// The tower's input and output, and their place in the text.
Status compare_pictures(const TraceData& data, const formats::Source& file, const StopToken& stop,
                        Comparison& comparison) {
  const TraceData& tower = data.vision->data();
  at::Tensor mask = at::zeros(data.input_ids.sizes(), at::kLong);
  mask.index_fill_(0, data.image_rows->tokens.cpu(), 1);
  const at::Tensor& places = data.position_ids;
  std::vector<std::pair<std::string, at::Tensor>> found{{"pixel_values", data.pixels},
                                                        {"image_grid_thw", data.image_grids},
                                                        {"pixel_values_videos", data.video_pixels},
                                                        {"video_grid_thw", data.video_grids},
                                                        {"mm_mask", mask},
                                                        {"position_ids", places.dim() == 2 ? places.t() : places},
                                                        {"vision.output", tower.read},
                                                        {"image_embeds", data.image_rows->vectors}};
  for (std::size_t k = 0; k < data.image_rows->added.size(); ++k) {
    found.emplace_back("deepstack." + std::to_string(k), data.image_rows->added[k]);
  }
  for (const auto& [name, tensor] : found) {
    if (const at::Tensor want = stored(file, name); want.defined()) {
      comparison.add(name, tensor.defined() ? tensor.to(at::kFloat) : at::empty({0}), want.to(at::kFloat));
    }
  }
  return compare_expected(tower, file, "vision.", stop, comparison);
}

// All three kinds of maps, and what each side says.
Status compare_sides(const TraceData& data, const formats::Source& file, const StopToken& stop,
                     Comparison& comparison) {
  if (const at::Tensor want = stored(file, "encoder.hidden"); want.defined()) {
    comparison.add("encoder.hidden", data.encoder->data().hidden, want.to(at::kFloat));
  }
  LOCUS_CHECK(compare_expected(data.encoder->data(), file, "encoder.", stop, comparison));
  LOCUS_CHECK(compare_expected(data, file, "decoder.", stop, comparison));
  return compare_expected(data.cross->data(), file, "decoder.", stop, comparison);
}

// The input of the reference.
std::optional<std::vector<std::int64_t>> expected_ids(const formats::Source& file, const std::string& name) {
  const at::Tensor ids = stored(file, name);
  if (!ids.defined() || ids.dim() != 1 || ids.scalar_type() != at::kLong) {
    return std::nullopt;
  }
  const at::Tensor flat = ids.contiguous();
  return std::vector<std::int64_t>(flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel());
}

// The pictures beside a file of expected values: image0.png, image1.png, …
std::vector<std::filesystem::path> pictures_beside(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> pictures;
  std::error_code failure;
  for (;;) {
    const auto next = path.parent_path() / ("image" + std::to_string(pictures.size()) + ".png");
    if (!std::filesystem::exists(next, failure)) {
      return pictures;
    }
    pictures.push_back(next);
  }
}

Result<Input> expected_input(const formats::Source& file, const std::filesystem::path& path, const ModelInfo& model) {
  const bool decodes = model.encoder_layers > 0;
  Input input;
  input.ids = expected_ids(file, "input_ids");
  if (input.ids && model.vision_layers > 0) {
    input.images = pictures_beside(path);
    if (file->find("pixel_values_videos") != nullptr) {
      input.images.clear();
    }
    if (input.images.empty() &&
        (file->find("pixel_values") != nullptr || file->find("pixel_values_videos") != nullptr)) {
      input.pixels = path;
    }
    input.token_types = expected_ids(file, "token_type_ids").value_or(std::vector<std::int64_t>());
  } else if (input.ids) {
    input.decoder_ids = decodes ? expected_ids(file, "decoder_input_ids") : std::nullopt;
  } else if (file->find("pixel_values") != nullptr) {
    input.pixels = path;
  } else {
    return bad_input("expected input_ids [T] of int64 or pixel_values [3, H, W], found neither", path.string());
  }
  return input;
}

// The maps that a trace shows, as a transformer's weights.
transformer::Transformer::GivenWeights shown_maps(const TraceData& data, const StopToken& stop) {
  return [&data, stop](std::int64_t layer) -> Result<at::Tensor> {
    LOCUS_TRY(const at::Tensor map,
              whole_map(*data.layers[static_cast<std::size_t>(layer)].scores, attention::Quantity::kWeight, stop));
    return map.unsqueeze(0);
  };
}

// Computes the pictures' states once more: from the maps that the tower's side shows, or from whole maps.
Result<std::shared_ptr<const transformer::ImageRows>> replayed_pictures(const LoadedModel& loaded,
                                                                        const PreparedInput& prepared,
                                                                        const TraceData& data, bool shown,
                                                                        const StopToken& stop) {
  const std::vector<TowerImage>& images = prepared.vision->images;
  const TraceData& tower = data.vision->data();
  std::int64_t first = 0;
  const Vision::Run run = [&](std::size_t n) -> Result<std::vector<at::Tensor>> {
    const transformer::Batch& batch = images[n].batch;
    const std::int64_t last = first + batch.positions.size();
    const auto maps = [&](std::int64_t layer) -> Result<at::Tensor> {
      LOCUS_TRY(const at::Tensor map, shown_maps(tower, stop)(layer));
      return map.slice(2, first, last).slice(3, first, last);
    };
    std::vector<at::Tensor> states;
    LOCUS_TRY(const at::Tensor outcome, loaded.checkpoint().parts().vision->tower().replay_states(
                                            batch, shown ? maps : transformer::Transformer::GivenWeights(), states));
    first = last;
    states.push_back(outcome);
    for (at::Tensor& state : states) {
      state = state[0];
    }
    return states;
  };
  LOCUS_TRY(transformer::ImageRows rows, loaded.checkpoint().parts().vision->rows(images, run));
  rows.vectors = loaded.checkpoint().parts().vision->arranged(rows.vectors, prepared.vision->order);
  rows.tokens = prepared.vision->tokens;
  return std::make_shared<const transformer::ImageRows>(std::move(rows));
}

// Computes the model's output once more: from the maps a trace shows, and from maps made whole.
struct Replayed {
  at::Tensor shown;
  at::Tensor whole;
};
Result<Replayed> replayed_outcome(const LoadedModel& loaded, const transformer::Transformer& transformer,
                                  const PreparedInput& prepared, const TraceData& data, const StopToken& stop) {
  transformer::Batch shown = prepared.batch;
  transformer::Batch whole = prepared.batch;
  transformer::Transformer::GivenWeights cross;
  if (data.encoder) {
    const transformer::Batch& read = prepared.encoder->batch;
    LOCUS_TRY(shown.memory, loaded.checkpoint().parts().encoder->replay(read, shown_maps(data.encoder->data(), stop)));
    whole.memory = loaded.checkpoint().parts().encoder->forward(read);
    cross = shown_maps(data.cross->data(), stop);
  }
  if (data.vision) {
    LOCUS_TRY(shown.images, replayed_pictures(loaded, prepared, data, true, stop));
    LOCUS_TRY(whole.images, replayed_pictures(loaded, prepared, data, false, stop));
  }
  Replayed replayed;
  LOCUS_TRY(replayed.shown, transformer.replay(shown, shown_maps(data, stop), cross));
  replayed.whole = transformer.forward(whole);
  return replayed;
}

// A weight is exp(score − sum) of float32 numbers: where those lie further apart than a tolerance, it is undetermined.
std::string undetermined(const TraceData& data) {
  constexpr double kMaxScore = 4096;  // from here on float32 numbers lie 5e-4 apart
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const at::Tensor sums = data.layers[n].computed ? data.layers[n].computed->log_sum_exp() : at::Tensor();
    const double largest =
        sums.defined() && sums.numel() > 0 ? sums.masked_fill(sums.isinf(), 0).abs().max().item<double>() : 0;
    if (largest > kMaxScore) {
      return "layer " + std::to_string(n) + ": scores reach " + general_text(largest, 3) +
             ", where float32 is too coarse to tell the weights of neighbours";
    }
  }
  return {};
}

}  // namespace

Result<VerifyReport> local::verify_expected(const Model& model, const std::filesystem::path& expected, StopToken stop) {
  return guarded([&]() -> Result<VerifyReport> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const formats::Source file, formats::open_tensors(expected));
    LOCUS_TRY(const Input input, expected_input(file, expected, model.info()));
    LOCUS_TRY(const std::shared_ptr<const Trace> trace, model.run(input, {.all_logits = true}, stop));
    LOCUS_CHECK(check_length(*trace));
    LOCUS_TRY(const TraceData* const kept, data_of(*trace));
    const TraceData& data = *kept;
    Comparison comparison;
    const std::string what = data.hidden.defined() ? "hidden" : "logits";
    const at::Tensor outcome = data.hidden.defined() ? data.hidden : data.logits;
    if (const at::Tensor want = stored(file, what); want.defined()) {
      comparison.add_outcome(what, want.dim() == 1 ? outcome.flatten() : outcome, want.to(at::kFloat));
    }
    LOCUS_CHECK(data.encoder ? compare_sides(data, file, stop, comparison)
                             : compare_expected(data, file, "", stop, comparison));
    if (data.vision) {
      LOCUS_CHECK(compare_pictures(data, file, stop, comparison));
    }
    VerifyReport report = comparison.take();
    if (report.rows.empty()) {
      return bad_input("expected " + what + " or layers.N.attention to compare with, found neither", expected.string());
    }
    const bool maps = std::any_of(report.rows.begin(), report.rows.end(),
                                  [](const VerifyRow& row) { return row.name.find("layers.") != row.name.npos; });
    if (report.passed && maps && !model.info().unverified.empty()) {
      LOCUS_CHECK(families::remember_verified(model.info().unverified));
      report.verified = model.info().family;
    }
    return report;
  });
}

Result<VerifyReport> local::verify(const Model& model, const Input& input,
                                   const std::optional<std::filesystem::path>& against, StopToken stop,
                                   const Progress& progress) {
  return guarded([&]() -> Result<VerifyReport> {
    const at::NoGradGuard no_grad;
    const LoadedModel* const loaded = loaded_model_of(model);
    if (loaded == nullptr) {
      return unsupported("verification needs the weights of a checkpoint", model.info().name);
    }
    const RunOptions options{.keep = {"logits", "hidden", "experts"}, .all_logits = true};
    LOCUS_TRY(const std::shared_ptr<const Trace> trace, model.run(input, options, stop, progress));
    LOCUS_CHECK(check_length(*trace));
    LOCUS_TRY(const TraceData* const kept, data_of(*trace));
    const TraceData& data = *kept;
    LOCUS_TRY(const PreparedInput prepared, loaded->runner().prepare(input));
    LOCUS_TRY(const transformer::Transformer* transformer, loaded->checkpoint().ready());
    LOCUS_TRY(const Replayed replayed, replayed_outcome(*loaded, *transformer, prepared, data, stop));
    Comparison comparison;
    const std::string what = data.hidden.defined() ? "hidden" : "logits";
    const at::Tensor& ours = data.hidden.defined() ? data.hidden : data.logits;
    comparison.add_outcome(what + " from the shown attention", replayed.shown.select(0, 0), ours);
    comparison.add_outcome(what + " from whole maps", replayed.whole.select(0, 0), ours);
    if (against) {
      LOCUS_CHECK(compare_trace(data, *against, comparison, stop));
    }
    VerifyReport report = comparison.take();
    report.undetermined = undetermined(data);
    const std::vector<std::string>& warnings = data.model.warnings;
    report.warnings.assign(warnings.begin() + static_cast<std::ptrdiff_t>(model.info().warnings.size()),
                           warnings.end());
    return report;
  });
}

}  // namespace locus::models
