#include "models/engine/model_info.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/shown.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/formats/hub_cache.h"

namespace locus::models {

namespace {

namespace fs = std::filesystem;

std::string dtype_name(const formats::TensorInfo& tensor) {
  static const std::map<formats::DType, std::string> names{{formats::DType::kF64, "float64"},
                                                           {formats::DType::kF32, "float32"},
                                                           {formats::DType::kF16, "float16"},
                                                           {formats::DType::kBF16, "bfloat16"}};
  const auto found = names.find(tensor.dtype);
  return found == names.end() ? std::string(tensor.type_name()) : found->second;
}

// The dtype of most weights in the layers: embedding and head, which can outweigh them, are often stored more exactly.
// Counts all weights where none is in a layer.
std::string main_dtype(const transformer::WeightBinding& binding) {
  std::map<std::string, std::int64_t> layers;
  std::map<std::string, std::int64_t> all;
  for (const auto& part : binding.parts) {
    const std::string name = dtype_name(*part.tensor);
    all[name] += part.tensor->elements();
    if (part.parameter.name.find("layers.") != std::string::npos) {
      layers[name] += part.tensor->elements();
    }
  }
  const std::map<std::string, std::int64_t>& counted = layers.empty() ? all : layers;
  const auto most = std::max_element(counted.begin(), counted.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counted.end() ? "" : most->first;
}

std::string name_of(const fs::path& checkpoint) {
  const fs::path path = checkpoint.lexically_normal();
  std::string name = formats::hub_name(path);
  if (name.empty()) {
    name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  }
  return printable(name);  // a folder may have any bytes in its name
}

std::int64_t reach_of(const transformer::MixerSpec& mixer) {
  return mixer.kind == transformer::Mixing::kConvolution ? mixer.kernel : 0;
}

}  // namespace

std::map<std::int64_t, std::string> read_labels(const families::Config& config) {
  std::map<std::int64_t, std::string> labels;
  const Result<formats::Config> named = families::group(config, "id2label");
  for (const std::string& id : named.ok() ? named->names() : std::vector<std::string>()) {
    if (id.size() < 10 && id.find_first_not_of("0123456789") == id.npos) {
      labels[std::stoll(id)] = families::text_or_nothing(*named, id);
    }
  }
  return labels;
}

ModelInfo shape_info(const transformer::Transformer& model) {
  const transformer::Spec& spec = model.spec();
  const transformer::AttentionSpec& attention = spec.first().attention;
  ModelInfo info;
  for (std::size_t n = 0; n < std::max<std::size_t>(spec.encodings.size(), 1); ++n) {
    const position::PositionEncoding& encoding = *model.encodings()[n].encoding;
    const position::Description& what = encoding.description();
    info.encodings.push_back({what.name, encoding.settings(), what.has_gates, what.has_dot_product, what.content,
                              what.has_parts, what.forgets, what.learns_positions, what.transforms, what.distance,
                              what.no_distance});
  }
  for (const transformer::LayerSpec& layer : spec.layers) {
    const transformer::AttentionSpec& own = layer.attention;
    info.layer_info.push_back({spec.encodings.empty() ? 0 : layer.encoding, own.window, own.chunk, own.soft_cap,
                               own.sinks, own.kv_heads == attention.kv_heads ? 0 : own.kv_heads,
                               own.head_width == attention.head_width ? 0 : own.head_width, own.source, layer.attends,
                               transformer::to_text(layer.mixer), layer.has_mixer() ? layer.mixer.heads : 0,
                               reach_of(layer.mixer)});
  }
  info.layers = spec.depth();
  info.heads = attention.heads;
  info.kv_heads = attention.kv_heads;
  info.width = spec.width;
  info.head_width = attention.head_width;
  info.vocabulary = spec.vocabulary;
  info.trained_length = spec.trained_length;
  info.causal = spec.causal;
  info.head = spec.head;
  info.image = spec.is_image();
  return info;
}

ModelInfo checkpoint_info(const CheckpointParts& parts, const families::CheckpointFiles& checkpoint,
                          const families::Plan& plan, std::string_view family) {
  ModelInfo info = shape_info(*parts.transformer);
  info.name = name_of(checkpoint.path);
  info.family = std::string(family);
  info.parameters = parts.binding.parameters;
  info.encoder_layers = parts.encoder ? parts.encoder->spec().depth() : 0;
  if (parts.vision) {
    const transformer::Spec& tower = parts.vision->tower().spec();
    info.vision_layers = tower.depth();
    info.connector = parts.vision->connector().spec().text();
    info.placeholder = parts.vision->placeholders().id;
    info.video_placeholder = parts.vision->placeholders().video_id;
    info.image_tokens =
        tower.encodings.front().name == "learned"
            ? parts.vision->connector().spec().count(tower.image.rows, tower.image.columns, tower.image.class_tokens)
            : 0;
  }
  info.dtype = main_dtype(parts.binding);
  info.tokenizer = parts.tokenizer != nullptr;
  info.overrides = parts.options.overrides;
  info.pooling = parts.sentence ? parts.sentence->text() : std::vector<std::string>();
  info.logit_scale = parts.logit_scale;
  info.logit_bias = parts.logit_bias;
  info.task_heads = plan.task_heads;
  if (!plan.task_heads.empty()) {
    for (const auto& [id, label] : read_labels(checkpoint.config)) {
      info.labels.push_back(label);
    }
  }
  info.unexpected = parts.binding.unexpected;
  info.warnings = checkpoint.notes;
  info.unverified = plan.unverified;
  info.warnings.insert(info.warnings.end(), plan.warnings.begin(), plan.warnings.end());
  if (const std::string unread = formats::unread_weights(checkpoint.path); !unread.empty()) {
    info.warnings.push_back(unread);
  }
  std::vector<formats::Source> sources{checkpoint.tensors};
  sources.insert(sources.end(), plan.further.begin(), plan.further.end());
  for (const formats::Source& source : sources) {
    for (const fs::path& file : source->files()) {
      info.files.push_back(file.string());
    }
    info.warnings.insert(info.warnings.end(), source->warnings().begin(), source->warnings().end());
  }
  return info;
}

ModelInfo encoder_info(const ModelInfo& whole, const transformer::Transformer& encoder) {
  ModelInfo info = shape_info(encoder);
  info.name = whole.name;
  info.family = whole.family;
  info.parameters = whole.parameters;
  info.dtype = whole.dtype;
  info.tokenizer = whole.tokenizer;
  info.files = whole.files;
  return info;
}

ModelInfo cross_info(const ModelInfo& decoder, const transformer::AttentionSpec& cross) {
  ModelInfo info = decoder;
  info.warnings.clear();
  info.encoder_layers = 0;
  info.heads = cross.heads;
  info.kv_heads = cross.kv_heads;
  info.head_width = cross.head_width;
  set_cross_encoding(info);
  return info;
}

ModelInfo mixer_info(const ModelInfo& whole, const transformer::Spec& spec) {
  ModelInfo info = whole;
  info.warnings.clear();
  set_no_encoding(info);
  info.encodings.clear();
  info.heads = 0;
  for (std::size_t n = 0; n < spec.layers.size(); ++n) {
    const transformer::LayerSpec& layer = spec.layers[n];
    info.layer_info[n].encoding = -1;
    info.layer_info[n].attends = layer.has_mixer();
    info.layer_info[n].mixer = transformer::to_text(layer.mixer);
    if (layer.has_mixer()) {
      info.layer_info[n].mixer_heads = layer.mixer.heads;
      info.layer_info[n].mixer_reach = reach_of(layer.mixer);
      info.heads = std::max(info.heads, layer.mixer.heads);
      info.head_width = layer.mixer.value_width;
    }
  }
  info.kv_heads = info.heads;
  return info;
}

ModelInfo first_layers(ModelInfo info, std::int64_t layers) {
  info.layers = layers;
  info.layer_info.resize(static_cast<std::size_t>(layers));
  return info;
}

}  // namespace locus::models
