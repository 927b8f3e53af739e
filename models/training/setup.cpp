#include "models/training/setup.h"
#include "models/api/local.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "core/position/list.h"
#include "core/products/packed.h"
#include "models/api/model.h"
#include "models/engine/device.h"
#include "models/engine/loaded_model.h"
#include "models/formats/json/json.h"
#include "models/transformer/locus_config.h"

namespace locus::training {

namespace {

constexpr std::size_t kConfigLimit = std::size_t{16} << 20;

Status positive(const char* name, std::int64_t value) {
  if (value < 1 || value > (std::int64_t{1} << 32)) {
    return usage(std::string(name) + ": expected a positive number, found " + std::to_string(value));
  }
  return {};
}

bool is_of_encoding(const transformer::Parameter& parameter) {
  return parameter.name.rfind("position.", 0) == 0;
}

// The base given by `from` or `config`; neither: empty.
struct Base {
  std::optional<transformer::Spec> spec;
  std::shared_ptr<const models::Model> opened;  // `from`
  const transformer::Transformer* model = nullptr;
};

Result<Base> base_of(const TrainOptions& options) {
  Base base;
  if (!options.config.empty()) {
    LOCUS_TRY(const std::string text, read_file(options.config, kConfigLimit));
    LOCUS_TRY(const nlohmann::json config, parse_json(text, options.config.string()));
    LOCUS_TRY(base.spec, transformer::parse_locus_config(config, options.config.string()));
  }
  if (!options.from.empty()) {
    const models::OpenOptions as_it_is;
    LOCUS_TRY(base.opened, models::local::open(options.from, as_it_is, {}, {}));
    const auto* const loaded = models::loaded_model_of(*base.opened);
    if (loaded == nullptr) {
      return internal("open() gave a model that is not a LoadedModel");
    }
    LOCUS_TRY(base.model, loaded->checkpoint().ready());
    base.spec = full_spec(*base.model);
  }
  return base;
}

// The shape given by the flags: a Llama-shaped decoder, or for images a ViT.
transformer::Spec flagged_spec(const TrainOptions& options, const Task& task) {
  transformer::Spec spec;
  transformer::LayerSpec layer;
  spec.width = options.width;
  layer.attention.heads = options.heads;
  layer.attention.kv_heads = options.kv_heads > 0 ? options.kv_heads : options.heads;
  layer.attention.head_width = options.width / options.heads;
  spec.image = task.image();
  layer.feed_forward.inner = options.inner > 0 ? options.inner
                             : spec.is_image() ? 4 * options.width
                                               : (options.width * 8 / 3 + 7) / 8 * 8;
  spec.vocabulary = task.vocabulary();
  if (spec.is_image()) {
    spec.norm = transformer::Norm::kLayer;
    spec.norm_eps = 1e-6;
    layer.feed_forward.activation = transformer::Activation::kGelu;
    layer.feed_forward.gated = spec.causal = spec.tied_head = false;
    layer.attention.set_qkv_bias(true);
    layer.attention.output_bias = layer.feed_forward.bias = spec.head_bias = true;
  }
  spec.repeat(layer, options.layers);
  return spec;
}

Status check_fit(const transformer::Spec& spec, const Task& task, const std::string& where) {
  const transformer::ImageStem image = task.image();
  if (spec.is_image() != (image.patch > 0) || spec.causal != (image.patch == 0)) {
    return bad_input(image.patch > 0 ? "the task needs an image model" : "the task needs a causal text model", where);
  }
  if (spec.vocabulary != task.vocabulary()) {
    return bad_input("expected " + std::to_string(task.vocabulary()) + (image.patch > 0 ? " classes" : " tokens") +
                         ", as the task has, found " + std::to_string(spec.vocabulary),
                     where);
  }
  if (image.patch > 0 && (spec.image.patch != image.patch || spec.image.channels != image.channels)) {
    return bad_input(
        "expected patches of " + std::to_string(image.patch) + " pixels, found " + std::to_string(spec.image.patch),
        where);
  }
  if (spec.image.stages != transformer::Stages::kNone) {
    return unsupported("expected an image model without stages, which no checkpoint of Locus has", where);
  }
  if (!where.empty() && task.sight(spec.width)) {
    return bad_input("a task of texts with pictures needs its own weights and shape", where);
  }
  return {};
}

// Encoding and its options: those of the flags, those of the base, and those that a task's images imply.
void choose_encoding(const TrainOptions& options, const transformer::Spec* base, const Task& task,
                     transformer::Spec& spec) {
  const transformer::EncodingSpec* const before =
      base == nullptr || base->encodings.empty() ? nullptr : &base->encodings.front();
  const bool same = before != nullptr && (options.encoding.empty() || options.encoding == before->name);
  if (!same) {
    // One encoding for all layers; layers without one in the base stay without.
    const char* const usual = base != nullptr && base->encodings.empty() ? "none" : "rope";
    spec.encodings = {{options.encoding.empty() ? usual : options.encoding, {}}};
    spec.each([](std::int64_t, transformer::LayerSpec& layer) {
      layer.encoding = std::min<std::int64_t>(layer.encoding, 0);
    });
  }
  transformer::EncodingSpec& encoding = spec.encodings.front();
  const auto fallback = [&](const std::string& name, SettingValue value) {
    if (!encoding.options.has(name) && !options.encoding_options.has(name)) {
      encoding.options.set(name, std::move(value));
    }
  };
  const position::Description* const known = position::find_description(encoding.name);
  if (known != nullptr && before != nullptr && before->name == known->begins_as) {
    for (const std::string& name : known->taken_over) {
      if (before->options.has(name)) {
        fallback(name, before->options.values().at(name));
      }
    }
  }
  if (same && options.encoding_options.has("scaling")) {
    // A scaling stretches the base's trained length, whatever the length from now on.
    encoding.options.erase("original_max_position_embeddings");
    fallback("original_max_position_embeddings", base->trained_length);
  }
  for (const auto& [name, value] : options.encoding_options.values()) {
    encoding.options.set(name, value);
  }
  const transformer::ImageStem image = task.image();
  if (image.patch > 0 && known != nullptr && known->grid_options != nullptr) {
    const Settings grid = known->grid_options(image.rows, image.columns);
    for (const auto& [name, value] : grid.values()) {
      fallback(name, value);
    }
  }
}

// --every and --window: layers that differ from the others.
Status choose_layers(const TrainOptions& options, transformer::Spec& spec) {
  for (const auto& each : options.every) {
    const std::int64_t step = each.first;
    const std::string& name = each.second;
    if (step < 1) {
      return usage("every: expected a number of layers of at least 1, found " + std::to_string(step));
    }
    const auto known = std::find_if(spec.encodings.begin(), spec.encodings.end(),
                                    [&](const transformer::EncodingSpec& other) { return other.name == name; });
    const std::int64_t index = name == "none" ? -1 : known - spec.encodings.begin();
    if (name != "none" && known == spec.encodings.end()) {
      spec.encodings.push_back({name, {}});
    }
    spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
      layer.encoding = (n + 1) % step == 0 ? index : layer.encoding;
    });
  }
  std::int64_t period = 0;
  for (const auto& [layer, window] : options.windows) {
    if (layer < 0 || layer >= transformer::kMaxLayers || window < 0) {
      return usage("window: expected a layer and a number of keys of at least 0, found " + std::to_string(layer) +
                   " and " + std::to_string(window));
    }
    period = std::max(period, layer + 1);
  }
  if (period > 0) {
    spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
      layer.attention.window = 0;
      for (const auto& [named, window] : options.windows) {
        layer.attention.window = n % period == named ? window : layer.attention.window;
      }
    });
  }
  return {};
}

// An encoding that is added to the embeddings cannot belong to single layers.
Status check_layers(const TrainOptions& options, const transformer::Transformer& model) {
  for (const transformer::LayerEncoding& used : model.encodings()) {
    const position::Description& what = used.encoding->description();
    if (!options.every.empty() && what.embeds && !what.rotates && !what.scores) {
      return usage("every: the encoding " + what.name + " is added to the embeddings, so that every layer has it");
    }
  }
  return {};
}

// Checks that an encoding and its options exist; they come from the command line, so the error is not a file's.
Status check_encoding(const TrainOptions& options, const std::string& encoding) {
  for (const position::Entry& entry : position::encodings()) {
    if (entry.description.name != encoding) {
      continue;
    }
    const std::string names = listed(entry.description.options, &position::OptionDescription::name);
    for (const auto& [name, value] : options.encoding_options.values()) {
      const auto is_it = [&name = name](const auto& option) { return option.name == name; };
      if (std::none_of(entry.description.options.begin(), entry.description.options.end(), is_it)) {
        return usage("--option: expected an option of " + encoding + " (" + (names.empty() ? "it has none" : names) +
                     "), found " + shown(name));
      }
    }
    return {};
  }
  const std::string known = listed_known(position::encodings(), "encodings",
                                         [](const position::Entry& entry) { return entry.description.name; });
  return usage("--encoding: expected one of " + known + ", found " + shown(encoding));
}

// Loads the base's weights; parameters that only the new encoding has keep their initial values.
Status copy_weights(const transformer::Transformer& from, transformer::Transformer& to, const std::string& where) {
  const at::NoGradGuard no_grad;
  // parameters() returns pointers for assigning; nothing is assigned here.
  const std::vector<transformer::Parameter> known = const_cast<transformer::Transformer&>(from).parameters();
  for (const transformer::Parameter& parameter : to.parameters()) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const transformer::Parameter& other) { return other.name == parameter.name; });
    const bool fits = found != known.end() && found->shape == parameter.shape;
    const bool own =
        is_of_encoding(parameter) && from.encoding().description().name != to.encoding().description().name;
    if (fits && !own) {
      *parameter.value = products::dense(*found->value).to(at::kFloat).clone();
    } else if (!own) {
      return bad_input("parameter " + parameter.name + " does not fit the options", where);
    }
  }
  return {};
}

// Adds what alone is trained. Errors: kUsage; where parameters of an encoding would stay as they were drawn.
Status add_low_rank(const TrainOptions& options, const transformer::Transformer& from, OwnNetwork& network) {
  const std::vector<transformer::Parameter> parameters = network.parameters();
  const std::string name = network.model->encoding().description().name;
  if (name != from.encoding().description().name && std::ranges::any_of(parameters, is_of_encoding)) {
    return usage("lora: the parameters of the encoding " + name + ", which the checkpoint does not have, would stay " +
                 "untrained; --freeze-base trains these alone");
  }
  LOCUS_TRY(network.low_rank, LowRank::create(*network.model, options.lora, options.seed));
  return {};
}

Status choose_trained(const TrainOptions& options, const OwnNetwork& network) {
  bool any = false;
  for (const transformer::Parameter& parameter : network.parameters()) {
    const bool trained = options.lora > 0 ? is_addition(parameter) : !options.freeze_base || is_of_encoding(parameter);
    parameter.value->requires_grad_(trained);
    any = any || trained;
  }
  return any ? Status()
             : Status(usage("freeze base: the encoding " + network.model->encoding().description().name +
                            " has no parameters"));
}

}  // namespace

Status check(const TrainOptions& options) {
  LOCUS_CHECK(positive("layers", options.layers));
  LOCUS_CHECK(positive("heads", options.heads));
  LOCUS_CHECK(positive("width", options.width));
  LOCUS_CHECK(positive("batch", options.batch));
  LOCUS_CHECK(positive("gradient parts", options.gradient_parts));
  LOCUS_CHECK(positive("steps", options.steps));
  LOCUS_CHECK(positive("save interval", options.save_every));
  if (options.width % options.heads != 0) {
    return usage("width: expected a multiple of heads " + std::to_string(options.heads) + ", found " +
                 std::to_string(options.width));
  }
  if (options.batch % options.gradient_parts != 0) {
    return usage("batch: expected a multiple of gradient parts " + std::to_string(options.gradient_parts) + ", found " +
                 std::to_string(options.batch));
  }
  if (options.train_size < 0 || options.train_size > kMaxTrainSequences) {
    return usage("train size: expected 0 to " + std::to_string(kMaxTrainSequences) + ", found " +
                 std::to_string(options.train_size));
  }
  if (options.warmup < 0 || options.length < 0 || options.inner < 0 || options.kv_heads < 0 ||
      !(options.learning_rate > 0) || !(options.clip >= 0) || !(options.weight_decay >= 0)) {
    return usage(
        "expected a positive learning rate, and a warm-up, length, inner width, key heads, clip and weight decay that "
        "are not negative");
  }
  if (!options.from.empty() && !options.config.empty()) {
    return usage("expected a checkpoint to train further or a config, found both");
  }
  if (options.freeze_base && options.from.empty()) {
    return usage("freeze base: expected a checkpoint to train further, found none");
  }
  if (options.lora < 0) {
    return usage("lora: expected a rank of at least 1, or 0 for none, found " + std::to_string(options.lora));
  }
  if (options.lora > 0 && options.from.empty()) {
    return usage("lora: expected a checkpoint to train further, found none");
  }
  if (options.lora > 0 && options.freeze_base) {
    return usage("expected lora or freeze base, found both");
  }
  LOCUS_CHECK(models::device_of(options.device));
  if (options.out.empty()) {
    return usage("expected a folder to write to");
  }
  if (options.resume && options.overwrite) {
    return usage("expected resume or overwrite, found both");
  }
  return {};
}

Result<Setup> set_up(const TrainOptions& given, const Task& task) {
  LOCUS_TRY(const Base base, base_of(given));
  const transformer::Spec* const from = base.spec ? &*base.spec : nullptr;
  const std::string where = given.from.empty() ? given.config.string() : given.from.string();
  transformer::Spec spec = from != nullptr ? *from : flagged_spec(given, task);
  if (from != nullptr && given.from.empty()) {
    spec.vocabulary = task.vocabulary();
    spec.image = task.image();
  }
  LOCUS_CHECK(check_fit(spec, task, where));
  spec.trained_length = task.length();
  choose_encoding(given, from, task, spec);
  LOCUS_CHECK(check_encoding(given, spec.encodings.empty() ? "none" : spec.encodings.front().name));
  LOCUS_CHECK(choose_layers(given, spec));
  Setup setup;
  auto created = OwnNetwork::create(spec, task.sight(spec.width), true, given.seed);
  if (!created.ok()) {
    const bool typed = from == nullptr || !given.encoding_options.values().empty();
    const bool ours = typed && created.error().code == ErrorCode::kBadInput && created.error().context.empty();
    return ours ? usage(created.error().message) : created.error();
  }
  setup.network = *std::move(created);
  LOCUS_CHECK(check_layers(given, *setup.network.model));
  if (base.model != nullptr) {
    LOCUS_CHECK(copy_weights(*base.model, *setup.network.model, where));
  }
  LOCUS_TRY(const at::Device device, models::device_of(given.device));
  setup.network.to(device);
  if (given.lora > 0) {
    LOCUS_CHECK(add_low_rank(given, *base.model, setup.network));
  }
  LOCUS_CHECK(choose_trained(given, setup.network));
  setup.options = given;
  setup.options.length = task.length();
  setup.options.layers = spec.depth();
  setup.options.heads = spec.first().attention.heads;
  setup.options.kv_heads = spec.first().attention.kv_heads;
  setup.options.width = spec.width;
  setup.options.inner = spec.first().feed_forward.inner;
  setup.options.encoding = setup.network.model->encoding().description().name;
  if (from != nullptr) {
    setup.options.encoding_options = setup.network.model->encoding().settings();
  }
  return setup;
}

}  // namespace locus::training
