#include "models/engine/estimator.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/numbers.h"
#include "core/base/system_files.h"
#include "core/position/rope.h"
#include "models/engine/device.h"
#include "models/engine/picture_text_reader.h"
#include "models/engine/throughput.h"
#include "models/engine/vision.h"

namespace locus::models {

namespace {

// attend_streaming()'s widest tile.
constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileColumns = 2048;
constexpr double kFloat = 4;
constexpr double kOutputsAtOnce = 1 << 22;  // logits that output_sums() holds

bool keeps(const RunOptions& options, const char* name) {
  return options.keep.count(name) + options.keep.count("all") > 0;
}

// Numbers a token that the trace keeps of a layer's attention.
double kept_numbers(const transformer::AttentionSpec& attention, const position::Description& encoding,
                    const RunOptions& options) {
  const auto query = static_cast<double>(attention.heads * attention.head_width);
  const auto key = static_cast<double>(attention.kv_heads * attention.head_width);
  double numbers = query + key + static_cast<double>(attention.heads);
  // Rotating encodings keep q and k twice: as the score sees them, and before.
  numbers += encoding.rotates ? query + key : 0;
  numbers += encoding.has_gates ? key : 0;
  // A state of 2D numbers per head, before a layer and after it.
  numbers += encoding.updates ? 2 * query : 0;
  const auto value = static_cast<double>(attention.kv_heads * attention.values());
  return numbers + (options.continuable || options.reuse ? value : 0);
}

// Numbers a token of the inputs of a mixer's map, which the trace keeps.
double kept_numbers(const transformer::MixerSpec& mixer) {
  const auto heads = static_cast<double>(mixer.heads);
  const auto inner = static_cast<double>(mixer.inner());
  const auto keys = static_cast<double>(mixer.heads * mixer.key_width);
  const auto stored_keys = static_cast<double>(mixer.key_heads * mixer.key_width);
  switch (mixer.kind) {
    case transformer::Mixing::kNone:
      break;
    case transformer::Mixing::kDelta:
      return 2 * keys + 2 * stored_keys + inner + heads + (mixer.channel_decay ? keys : heads);
    case transformer::Mixing::kStateSpace:  // one key head is not copied for every head
      return (mixer.key_heads == 1 ? 1 : 2) * keys + 2 * stored_keys + inner + heads;
    case transformer::Mixing::kLightning:
    case transformer::Mixing::kConvolution:
      return 3 * inner;
    case transformer::Mixing::kSelective:
      return 2 * inner + static_cast<double>(2 * mixer.key_width + mixer.step_rank);
    case transformer::Mixing::kRecurrence:
      return 3 * inner;
  }
  return 0;
}

// Tables of angles that a run keeps: one, or one per key head where each has a component of its own.
double rotation_tables(const position::PositionEncoding& encoding) {
  const auto* const rope = dynamic_cast<const position::Rope*>(&encoding);
  const bool by_heads = rope != nullptr && rope->options().by_heads();
  return by_heads ? static_cast<double>(encoding.shape().kv_heads) : 1;
}

}  // namespace

RunBytes run_bytes(const transformer::Transformer& model, std::int64_t length, const RunOptions& options) {
  const transformer::Spec& spec = model.spec();
  const auto tokens = static_cast<double>(length);
  double kept = 0;
  for (const transformer::LayerEncoding& used : model.encodings()) {
    const bool rotates = used.encoding->description().rotates;
    const auto width = static_cast<double>(used.encoding->shape().head_width);
    kept += rotates ? tokens * 2 * width * rotation_tables(*used.encoding) : 0;
  }
  const bool keeps_scores = options.scores && !options.each_layer;
  double working = 0;  // the widest moment of any layer
  double map_layers = 0;
  for (std::int64_t n = 0; n < spec.depth(); ++n) {
    const transformer::LayerSpec& layer = model.block(n).spec();
    const transformer::AttentionSpec& attention = layer.attention;
    const position::PositionEncoding& encoding = *model.layer_encoding(n);
    const position::Description& what = encoding.description();
    const double mixer = kept_numbers(layer.mixer);
    const double scores = tokens * (layer.attends ? kept_numbers(attention, what, options) : 0);
    kept += tokens * mixer + (keeps_scores ? scores : 0);
    const bool shifts = options.continuable && spec.shifts();
    kept += tokens * (shifts || keeps(options, "hidden") ? static_cast<double>(spec.output_width()) : 0);
    const double attends = layer.attends ? 1 : 0;
    const double query = attends * static_cast<double>(attention.heads * attention.head_width);
    const double key = attends * static_cast<double>(attention.kv_heads * attention.head_width);
    const auto inner = static_cast<double>(std::max(layer.feed_forward.inner, layer.feed_forward.experts.shared));
    double own = tokens * (6 * static_cast<double>(spec.width) + 3 * inner + query + 2 * key);
    own += keeps_scores ? 0 : scores;
    own += what.updates ? tokens * 6 * query : 0;
    own += tokens * (mixer + 4 * static_cast<double>(layer.mixer.inner()));
    const double tile =
        attends * static_cast<double>(attention.heads * std::min(length, kTileRows) * std::min(length, kTileColumns));
    own += tile * (encoding.is_dot_product() ? 2 : 6);
    if (layer.cross) {
      const auto heads = static_cast<double>(layer.cross->heads);
      const auto looked = heads * static_cast<double>(layer.cross->head_width);
      kept += tokens * (2 * looked + heads);
      own += tokens * 2 * looked;
      map_layers += keeps(options, "attention") ? 1 : 0;
    }
    working = std::max(working, own);
    for (const char* name : {"attention", "gates", "positions"}) {
      const bool there = name == std::string("attention") || what.has_gates;
      map_layers += there && keeps(options, name) ? 1 : 0;
    }
  }
  // A stage before has four times the patches; its windows are small beside what the layers make of them.
  const std::vector<transformer::StageSpec>& before = spec.image.before;
  double patches = tokens;
  for (std::size_t n = before.size(); n-- > 0;) {
    patches *= 4;
    for (const transformer::LayerSpec& layer : before[n].layers) {
      const double widths =
          9 * static_cast<double>(before[n].width) + 3 * static_cast<double>(layer.feed_forward.inner);
      working = std::max(working, patches * widths);
    }
  }
  const double rows = options.all_logits && !spec.is_image() ? tokens : 1;
  const double outputs = options.before_head ? kOutputsAtOnce : rows * static_cast<double>(spec.vocabulary);
  kept += options.before_head ? tokens * static_cast<double>(spec.width) : 0;
  // A map is made as one, once more beside those that are kept.
  const auto heads = static_cast<double>(spec.first().attention.heads);
  const double maps = map_layers > 0 ? (map_layers + 1) * heads * tokens * tokens : 0;
  return {kFloat * (kept + outputs + maps), kFloat * working};
}

double Estimator::macs(std::int64_t length) const {
  double total = 0;
  for (const transformer::Transformer* model : {parts_.transformer.get(), parts_.encoder.get()}) {
    if (model == nullptr) {
      continue;
    }
    total += transformer::multiply_accumulates(model->spec(), length);
    for (std::int64_t layer = 0; layer < model->spec().depth(); ++layer) {
      total += model->layer_encoding(layer)->macs(model->encoding_layer(layer), length);
    }
  }
  return total;
}

Estimate Estimator::estimate(std::int64_t tokens_asked, const RunOptions& options) const {
  // Squares of lengths fit into 64 bits; no run is as long.
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
  const std::int64_t length = std::clamp<std::int64_t>(tokens_asked, 0, kMaxTokens);
  const transformer::Transformer& model = *parts_.transformer;
  const double weights = checkpoint_.weight_bytes_there();
  const auto limit_mb = static_cast<double>(parts_.options.memory_limit_mb);
  double available = free_bytes(parts_.device);
  if (available > 0 && !checkpoint_.has_weights()) {
    available = std::max(available - weights, 1.0);
  }
  if (limit_mb > 0) {
    const double left = std::max(limit_mb * 1e6 - weights, 1.0);
    available = available > 0 ? std::min(available, left) : left;
  }
  Estimate estimate;
  // Both sides of an encoder–decoder count, as if they were of one length.
  const auto bytes_of = [&](std::int64_t tokens) {
    return run_bytes(model, tokens, options).all() +
           (parts_.encoder ? run_bytes(*parts_.encoder, tokens, options).all() : 0);
  };
  estimate.memory_mb = bytes_of(length) / 1e6;
  estimate.weights_mb = weights / 1e6;
  const bool every_token = options.all_logits || options.before_head;
  estimate.time_ms =
      checkpoint_.throughput().run_ms(model, checkpoint_.has_weights(), length, every_token, parts_.device);
  estimate.time_ms += parts_.encoder ? checkpoint_.encoder_throughput().run_ms(
                                           *parts_.encoder, checkpoint_.has_weights(), length, true, parts_.device)
                                     : 0;
  estimate.available_mb = available / 1e6;
  estimate.fits = available <= 0 || estimate.memory_mb <= estimate.available_mb;
  std::int64_t fitting = 0;
  for (std::int64_t step = std::int64_t{1} << 40; available > 0 && step > 0; step /= 2) {
    if (bytes_of(fitting + step) <= available) {
      fitting += step;
    }
  }
  estimate.longest = fitting;
  return estimate;
}

// Pictures are seen one after another, before the text, and each leaves what the tower's maps are made of.
double Estimator::picture_mb(const TextImages& pictures, const RunOptions& options) const {
  double kept = 0;
  double working = 0;
  for (const TowerImage& image : pictures.images) {
    const RunBytes bytes = run_bytes(parts_.vision->tower(), image.batch.positions.size(), options);
    kept += bytes.kept;
    working = std::max(working, bytes.working);
  }
  return (kept + working) / 1e6;
}

Estimate Estimator::pictures(const Input& input, const RunOptions& options) const {
  if (!parts_.vision) {
    return {};
  }
  std::vector<std::string> warnings;
  const InputReader reader(checkpoint_);
  const auto pictures = PictureTextReader(reader, parts_).images(input, warnings);
  if (!pictures.ok()) {
    return {};
  }
  const transformer::Transformer& tower = parts_.vision->tower();
  TextImages unseen;
  Estimate estimate;
  for (const TowerImage& image : (*pictures)->images) {
    if (parts_.vision->kept().find(image, keeps(options, "hidden")) == nullptr) {
      unseen.images.push_back(image);
      const std::int64_t patches = image.batch.positions.size();
      estimate.time_ms +=
          checkpoint_.tower_throughput().run_ms(tower, checkpoint_.has_weights(), patches, false, parts_.device);
      estimate.time_ms += products_ms(parts_.vision->connector_macs(image), parts_.device);
    }
  }
  estimate.memory_mb = picture_mb(unseen, options);
  return estimate;
}

Status Estimator::check_memory(std::int64_t length, const RunOptions& options, const TextImages* pictures) const {
  LOCUS_CHECK(checkpoint_.has_weights() ? Status() : checkpoint_.check_weights());
  const Estimate needed = estimate(length, options);
  const std::string there = parts_.device.is_cpu() ? "" : " on " + parts_.device.str();
  const double seen = pictures != nullptr ? picture_mb(*pictures, options) : 0;
  if (seen > 0 && needed.available_mb > 0 && needed.memory_mb + seen > needed.available_mb) {
    return too_large("a run over " + std::to_string(length) + " tokens with " +
                         std::to_string(pictures->images.size()) + " pictures needs about " +
                         memory_text(needed.memory_mb + seen) + " beside the weights, " + memory_text(seen) +
                         " of them for the pictures; " + memory_text(needed.available_mb) + " are there" + there +
                         "; give fewer or smaller pictures",
                     parts_.info.name);
  }
  if (needed.fits) {
    return {};
  }
  std::string message = "a run over " + std::to_string(length) + " tokens needs about " +
                        memory_text(needed.memory_mb) + " beside the weights, " + memory_text(needed.available_mb) +
                        " are there" + there + "; ";
  message += needed.longest > 0 ? std::to_string(needed.longest) + " tokens would fit" : "no text would fit";
  RunOptions fewer = options;
  fewer.keep = {"logits"};
  fewer.all_logits = false;
  if (options.keep != fewer.keep || options.all_logits) {
    const Estimate without = estimate(length, fewer);
    message +=
        without.fits ? ", or all of them with nothing but q and k kept (" + memory_text(without.memory_mb) + ")" : "";
  }
  return too_large(message, parts_.info.name);
}

}  // namespace locus::models
