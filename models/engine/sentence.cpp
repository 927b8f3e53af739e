#include "models/engine/sentence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/formats/config.h"
#include "models/formats/json/node.h"
#include "models/formats/tensor_source.h"
#include "models/formats/tensor_table.h"
#include "models/transformer/weights.h"

namespace locus::models {

namespace {

namespace fs = std::filesystem;
using formats::Config;

constexpr const char* kModules = "modules.json";
constexpr std::size_t kFileLimit = 1 << 20;
constexpr std::size_t kMaxModules = 32;
constexpr std::int64_t kMaxChannels = std::int64_t{1} << 20;

struct Module {
  std::string path;
  std::string kind;  // the last word of its type: "Pooling"
  std::string type;
};

// A folder below the model's, or the model's own.
bool is_inside(const std::string& path) {
  const fs::path name(path);
  return !name.is_absolute() &&
         std::none_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; });
}

Result<std::vector<Module>> read_modules(const fs::path& folder) {
  const fs::path file = folder / kModules;
  LOCUS_TRY(const std::string text, read_file(file, kFileLimit));
  LOCUS_TRY(const formats::Tree tree, formats::Tree::parse(text, file.string()));
  std::vector<Module> modules;
  std::optional<Error> error;
  formats::Node(tree, file.string(), error).each([&](const formats::Node& item) {
    item.expect_object();
    Module& module = modules.emplace_back();
    item.get("path", module.path);
    item.get("type", module.type);
    module.kind = module.type.substr(module.type.rfind('.') + 1);  // npos + 1 is 0
    if (!is_inside(module.path)) {
      item.field("path").fail("a folder inside the model's");
    }
  });
  if (error) {
    return *error;
  }
  if (modules.empty() || modules.size() > kMaxModules) {
    return bad_input(
        "expected 1 to " + std::to_string(kMaxModules) + " modules, found " + std::to_string(modules.size()),
        file.string());
  }
  if (modules.front().kind != "Transformer") {
    return unsupported("expected a Transformer as the first module, found " + shown(modules.front().type),
                       file.string());
  }
  return modules;
}

struct Mode {
  const char* field;  // in files before version 5
  const char* name;   // of pooling_mode
  const char* text;
};
// In the order of Pooling, which is the order of the vectors.
constexpr std::array<Mode, 6> kModes{
    {{"pooling_mode_cls_token", "cls", "state of the first token"},
     {"pooling_mode_max_tokens", "max", "maximum over the tokens"},
     {"pooling_mode_mean_tokens", "mean", "mean over the tokens"},
     {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", "sum over the tokens / √T"},
     {"pooling_mode_weightedmean_tokens", "weightedmean", "mean over the tokens, token t weighs t + 1"},
     {"pooling_mode_lasttoken", "lasttoken", "state of the last token"}}};

Result<PoolStep> read_pooling(const Config& config, std::int64_t width) {
  LOCUS_TRY(
      const std::int64_t dimension,
      config.integer(config.has("embedding_dimension") ? "embedding_dimension" : "word_embedding_dimension", width));
  if (dimension != width) {
    return bad_input(
        "expected " + std::to_string(width) + ", the width of the states, found " + std::to_string(dimension),
        config.context("word_embedding_dimension"));
  }
  PoolStep step;
  const bool text = config.kind("pooling_mode") == "text";
  std::vector<std::string> named;
  if (text) {
    LOCUS_TRY(named.emplace_back(), config.text("pooling_mode"));
  } else if (config.has("pooling_mode")) {
    LOCUS_TRY(named, config.texts("pooling_mode"));
  }
  std::size_t known = 0;
  for (std::size_t n = 0; n < kModes.size(); ++n) {
    LOCUS_TRY(bool used, config.boolean(kModes[n].field, false));
    const auto count = std::count(named.begin(), named.end(), std::string(kModes[n].name));
    known += static_cast<std::size_t>(count);
    if (used || count > 0) {
      step.modes.push_back(static_cast<Pooling>(n));
    }
  }
  if (known != named.size()) {
    return unsupported("expected " + listed(kModes, [](const Mode& mode) { return std::string(mode.name); }) +
                           ", found " + listed(named, [](const std::string& name) { return shown(name); }),
                       config.context("pooling_mode"));
  }
  // The default of sentence-transformers.
  if (step.modes.empty() && !config.has("pooling_mode_mean_tokens") && named.empty()) {
    step.modes.push_back(Pooling::kMean);
  }
  if (step.modes.empty()) {
    return bad_input("expected a pooling mode that is true, found none", config.file());
  }
  return step;
}

constexpr std::array<std::pair<const char*, const char*>, 6> kActivations{
    {{"Tanh", "tanh"}, {"Identity", ""}, {"ReLU", "relu"}, {"GELU", "gelu"}, {"Sigmoid", "sigmoid"}, {"SiLU", "silu"}}};

at::Tensor activated(const at::Tensor& x, const std::string& name) {
  return name == "tanh"      ? at::tanh(x)
         : name == "relu"    ? at::relu(x)
         : name == "gelu"    ? at::gelu(x)
         : name == "sigmoid" ? at::sigmoid(x)
         : name == "silu"    ? at::silu(x)
                             : x;
}

Result<DenseStep> read_dense(const fs::path& folder, const Config& config, std::int64_t width) {
  LOCUS_TRY(const std::int64_t inputs, config.integer("in_features"));
  LOCUS_TRY(const std::int64_t outputs, config.integer_in("out_features", 1, kMaxChannels));
  LOCUS_TRY(const bool bias, config.boolean("bias", true));
  LOCUS_TRY(const std::string activation, config.text("activation_function", "torch.nn.modules.activation.Tanh"));
  if (inputs != width) {
    return bad_input(
        "expected " + std::to_string(width) + ", the length of the vector so far, found " + std::to_string(inputs),
        config.context("in_features"));
  }
  const std::string name = activation.substr(activation.rfind('.') + 1);
  const auto* const known =
      std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& each) { return name == each.first; });
  if (known == kActivations.end()) {
    return unsupported("expected " + listed(kActivations, [](const auto& each) { return std::string(each.first); }) +
                           ", found " + shown(activation),
                       config.context("activation_function"));
  }
  LOCUS_TRY(const formats::Source source, formats::open_tensors(folder));
  DenseStep step;
  step.activation = known->second;
  LOCUS_TRY(step.weight, step_tensor(source, "linear.weight", {outputs, inputs}, folder));
  if (bias) {
    LOCUS_TRY(step.bias, step_tensor(source, "linear.bias", {outputs}, folder));
  }
  return step;
}

at::Tensor pooled(const at::Tensor& states, Pooling mode) {
  const std::int64_t length = states.size(0);
  switch (mode) {
    case Pooling::kFirst:
      return states[0];
    case Pooling::kMax:
      return states.amax(0);
    case Pooling::kMean:
      return states.mean(0);
    case Pooling::kMeanRoot:
      return states.sum(0) / std::sqrt(static_cast<double>(length));
    case Pooling::kWeightedMean: {
      const at::Tensor weights = at::arange(1, length + 1, states.options());
      return at::matmul(weights, states) / weights.sum();
    }
    case Pooling::kLast:
      break;
  }
  return states[length - 1];
}

// The weight of each token's state; of a maximum, the share of channels that a token gives.
at::Tensor token_weights(const at::Tensor& states, Pooling mode) {
  const std::int64_t length = states.size(0);
  const at::Tensor zeros = at::zeros({length}, states.options());
  switch (mode) {
    case Pooling::kFirst:
      return zeros.index_fill(0, at::zeros({1}, at::kLong), 1);
    case Pooling::kMax:
      return at::bincount(states.argmax(0), {}, length).to(at::kFloat) / static_cast<double>(states.size(1));
    case Pooling::kMean:
      return zeros + 1.0 / static_cast<double>(length);
    case Pooling::kMeanRoot:
      return zeros + 1.0 / std::sqrt(static_cast<double>(length));
    case Pooling::kWeightedMean: {
      const at::Tensor weights = at::arange(1, length + 1, states.options());
      return weights / weights.sum();
    }
    case Pooling::kLast:
      break;
  }
  return zeros.index_fill(0, at::full({1}, length - 1, at::kLong), 1);
}

at::Tensor product_of(const DenseStep& step, const at::Tensor& x) {
  const at::Tensor product = at::matmul(x, step.weight.t());
  return step.bias.defined() ? product + step.bias : product;
}

at::Tensor normed(const LayerNormStep& step, const at::Tensor& x) {
  return at::layer_norm(x, {x.size(-1)}, step.weight, step.bias, step.eps);
}

// The vector (C), and the mean over heads of the probe's weights (T).
std::pair<at::Tensor, at::Tensor> attended(const ProbeStep& step, const at::Tensor& states) {
  const std::int64_t length = states.size(0);
  const std::int64_t width = step.probe.size(0) / step.heads;
  const at::Tensor q = product_of(step.query, step.probe).view({step.heads, 1, width});
  const at::Tensor k = product_of(step.key, states).view({length, step.heads, width}).permute({1, 2, 0});
  const at::Tensor v = product_of(step.value, states).view({length, step.heads, width}).transpose(0, 1);
  const at::Tensor weights = at::softmax(at::matmul(q, k) / std::sqrt(static_cast<double>(width)), -1);  // (H, 1, T)
  const at::Tensor y = product_of(step.output, at::matmul(weights, v).reshape({-1}));
  const at::Tensor inner = transformer::activate(step.activation, product_of(step.up, normed(step.norm, y)));
  return {y + product_of(step.down, inner), weights.mean(0).squeeze(0)};
}

// −1: the text has none.
std::int64_t end_of(const EndTokenStep& step, const at::Tensor& ids) {
  if (!ids.defined() || ids.numel() == 0) {
    return -1;
  }
  const at::Tensor cpu = ids.to(at::kCPU).to(at::kLong).contiguous();
  const auto* const first = cpu.data_ptr<std::int64_t>();
  const auto* const last = first + cpu.numel();
  const auto* const found = step.id < 0 ? std::max_element(first, last) : std::find(first, last, step.id);
  return found == last ? -1 : found - first;
}

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kCPU, at::kFloat).contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

}  // namespace

Result<at::Tensor> step_tensor(const formats::Source& source, const std::string& name,
                               const std::vector<std::int64_t>& shape, const fs::path& folder) {
  const formats::TensorInfo* const tensor = source->find(name);
  if (tensor == nullptr || tensor->shape != shape) {
    return bad_input("expected shape " + formats::shape_text(shape) + ", found " +
                         (tensor == nullptr ? "none" : formats::shape_text(tensor->shape)),
                     folder.string() + ": tensor " + name);
  }
  const std::string_view dtype = tensor->type_name();
  if (dtype != "F32" && dtype != "F16" && dtype != "BF16" && dtype != "F64") {
    return unsupported("expected floating-point weights, found " + std::string(dtype),
                       folder.string() + ": tensor " + name);
  }
  return transformer::to_tensor(*tensor, source).clone();
}

bool has_sentence_steps(const fs::path& folder) {
  std::error_code failure;
  return fs::is_regular_file(folder / kModules, failure);
}

Result<fs::path> sentence_transformer_folder(const fs::path& folder) {
  LOCUS_TRY(const std::vector<Module> modules, read_modules(folder));
  return modules.front().path.empty() ? folder : folder / modules.front().path;
}

Result<SentenceSteps> SentenceSteps::read(const fs::path& folder, std::int64_t width) {
  LOCUS_TRY(const std::vector<Module> modules, read_modules(folder));
  SentenceSteps steps;
  bool pools = false;
  for (std::size_t n = 1; n < modules.size(); ++n) {
    const Module& module = modules[n];
    const fs::path own = folder / module.path;
    const auto config = [&] { return Config::load(own / "config.json"); };
    if (module.kind == "Pooling" && !pools) {
      LOCUS_TRY(const Config read, config());
      LOCUS_TRY(PoolStep step, read_pooling(read, width));
      width *= static_cast<std::int64_t>(step.modes.size());
      steps.steps_.emplace_back(std::move(step));
      pools = true;
    } else if (module.kind == "Dense" && pools) {
      LOCUS_TRY(const Config read, config());
      LOCUS_TRY(DenseStep step, read_dense(own, read, width));
      width = step.weight.size(0);
      steps.steps_.emplace_back(std::move(step));
    } else if (module.kind == "Normalize" && pools) {
      steps.steps_.emplace_back(NormaliseStep());
    } else {
      return unsupported("expected Pooling, then Dense or Normalize, found " + shown(module.type),
                         (folder / kModules).string());
    }
  }
  if (!pools) {
    return unsupported("expected a module Pooling, found none", (folder / kModules).string());
  }
  return steps;
}

std::vector<std::string> SentenceSteps::text() const {
  std::vector<std::string> texts;
  for (const Step& step : steps_) {
    if (const auto* const pool = std::get_if<PoolStep>(&step)) {
      texts.push_back(listed(
          pool->modes, [](Pooling mode) { return std::string(kModes[static_cast<std::size_t>(mode)].text); }, " and "));
    } else if (const auto* const dense = std::get_if<DenseStep>(&step)) {
      texts.push_back("dense " + std::to_string(dense->weight.size(0)) +
                      (dense->activation.empty() ? "" : " " + dense->activation));
    } else if (const auto* const end = std::get_if<EndTokenStep>(&step)) {
      texts.push_back(end->id < 0 ? "state of the token with the largest id"
                                  : "state of the first token " + std::to_string(end->id));
    } else if (std::holds_alternative<LayerNormStep>(step)) {
      texts.emplace_back("normalised");
    } else if (std::holds_alternative<ProbeStep>(step)) {
      texts.emplace_back("attention of a learned query");
    } else {
      texts.emplace_back("scaled to length 1");
    }
  }
  return texts;
}

SentenceVector SentenceSteps::vector(const at::Tensor& states, const at::Tensor& ids) const {
  const at::NoGradGuard no_grad;
  SentenceVector made;
  at::Tensor value = states.to(at::kCPU, at::kFloat);
  for (const Step& step : steps_) {
    if (const auto* const pool = std::get_if<PoolStep>(&step)) {
      std::vector<at::Tensor> parts;
      at::Tensor weights = at::zeros({value.size(0)}, value.options());
      for (const Pooling mode : pool->modes) {
        parts.push_back(pooled(value, mode));
        weights = weights + token_weights(value, mode) / static_cast<double>(pool->modes.size());
      }
      made.weights = floats_of(weights);
      value = at::cat(parts);
    } else if (const auto* const dense = std::get_if<DenseStep>(&step)) {
      value = activated(product_of(*dense, value), dense->activation);
    } else if (const auto* const end = std::get_if<EndTokenStep>(&step)) {
      const std::int64_t at = end_of(*end, ids);
      if (at < 0 || at >= value.size(0)) {
        return {};
      }
      made.weights.assign(static_cast<std::size_t>(value.size(0)), 0);
      made.weights[static_cast<std::size_t>(at)] = 1;
      value = value[at];
    } else if (const auto* const norm = std::get_if<LayerNormStep>(&step)) {
      value = normed(*norm, value);
    } else if (const auto* const probe = std::get_if<ProbeStep>(&step)) {
      const auto [vector, weights] = attended(*probe, value);
      made.weights = floats_of(weights);
      value = vector;
    } else {
      value = value / value.norm().clamp_min(1e-12);
    }
  }
  made.values = floats_of(value);
  return made;
}

std::vector<std::string> sentence_warnings(const fs::path& folder) {
  std::vector<std::string> warnings;
  const fs::path file = folder / "config_sentence_transformers.json";
  std::error_code failure;
  if (!fs::exists(file, failure)) {
    return warnings;
  }
  const Result<Config> config = Config::load(file);
  if (!config.ok()) {
    return {config.error().describe() + " (prompts are not read)"};
  }
  const Result<std::string> prompt = config->text("default_prompt_name", "");
  if (!prompt.ok() || !prompt->empty()) {
    warnings.push_back(config->context("default_prompt_name") +
                       ": sentence-transformers puts this prompt in front of every text, which is not done here: " +
                       (prompt.ok() ? shown(*prompt) : prompt.error().message));
  }
  return warnings;
}

}  // namespace locus::models
