// locus info: what a checkpoint or a trace is, and which encodings there are.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "app/cli/atlas_info.h"
#include "app/cli/command.h"
#include "app/cli/input_options.h"
#include "app/cli/json.h"
#include "app/cli/model_lines.h"
#include "app/cli/trace_info.h"
#include "core/base/instruction_sets.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/atlas.h"
#include "models/api/files.h"
#include "models/api/model.h"
#include "models/api/weight_kinds.h"

namespace locus::cli {
namespace {

struct InfoOptions {
  std::string path;
  bool json = false;
  bool encodings = false;
  std::int64_t length = 0;
  OverrideOptions overrides;
};

Json runtime_json() {
  const models::Runtime runtime = models::runtime();
  return {{"torch", runtime.torch},
          {"blas", runtime.blas},
          {"kernels", models::products().kernels},
          {"own_kernels", std::string(choice_name(used_loops()))},
          {"threads", runtime.threads}};
}

Json kind_json(const models::WeightKind& kind) {
  return {{"kind", kind.kind},
          {"format", kind.format},
          {"tensors", kind.tensors},
          {"bytes", kind.bytes},
          {"numbers", kind.numbers}};
}

// How many channel pairs, or key heads, each component of a position turns (M-RoPE); empty: positions have one.
std::vector<double> sections_of(const models::ModelInfo& info) {
  const auto& options = info.first_encoding().options.values();
  const auto found = options.find("sections");
  const auto* const sections = found == options.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  return sections == nullptr ? std::vector<double>() : *sections;
}

Json info_json(const models::Model& model, std::int64_t length) {
  const models::ModelInfo& info = model.info();
  Json json = {
      {"name", info.name},
      {"family", info.family},
      {"encoding", encoding_json(info.first_encoding())},
      {"encodings", list_of(info.encodings, encoding_json)},
      {"layer_encodings", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.encoding; })},
      {"attends", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.attends; })},
      {"mixers", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.mixer; })},
      {"windows", list_of(info.layer_info, [](const models::LayerInfo& layer) { return layer.window; })},
      {"layers", info.layers},
      {"encoder_layers", info.encoder_layers},
      {"vision_layers", info.vision_layers},
      {"connector", info.connector},
      {"image_tokens", info.image_tokens},
      {"placeholder", info.placeholder},
      {"sections", sections_of(info)},
      {"heads", info.heads},
      {"kv_heads", info.kv_heads},
      {"width", info.width},
      {"head_width", info.head_width},
      {"vocabulary", info.vocabulary},
      {"parameters", info.parameters},
      {"trained_length", info.trained_length},
      {"dtype", info.dtype},
      {"speed", info.overrides.fast ? "fast" : "exact"},
      {"quantisation", list_of(models::weight_kinds(model), kind_json)},
      {"causal", info.causal},
      {"head", info.head},
      {"task_heads", info.task_heads},
      {"labels", info.labels},
      {"pooling", info.pooling},
      {"image", info.image},
      {"tokenizer", info.tokenizer},
      {"files", info.files},
      {"missing", Json::list()},  // a checkpoint with missing tensors does not open
      {"unexpected", info.unexpected},
      {"warnings", info.warnings},
      {"runtime", runtime_json()},
  };
  if (info.logit_scale) {
    json["half"] = info.image ? "picture" : "text";
    json["logit_scale"] = *info.logit_scale;
  }
  if (info.logit_bias) {
    json["logit_bias"] = *info.logit_bias;
  }
  if (length > 0) {
    json["length"] = length;
    json["macs"] = model.macs(length);
    json["flops"] = 2 * model.macs(length);
  }
  return json;
}

std::string names_line(const std::vector<std::string>& names) {
  return names.empty() ? "none" : listed(names, printable);
}

// "OpenBLAS, SkylakeX kernels; own kernels avx512; 2 threads"
std::string products_line(const models::Runtime& runtime) {
  const std::string kernels = models::products().kernels;
  return runtime.blas + (kernels.empty() ? "" : ", " + kernels + " kernels") + "; own kernels " +
         std::string(choice_name(used_loops())) + "; " + std::to_string(runtime.threads) +
         (runtime.threads == 1 ? " thread" : " threads");
}

// Formats and the kinds of weights in them, those of most bytes first: "Q4_K" and "attn_q, attn_k, ffn_down (12): 71
// %", of the numbers in all of them.
std::vector<std::pair<std::string, std::string>> format_lines(const std::vector<models::WeightKind>& kinds) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::map<std::string, double> bytes;
  std::map<std::string, double> numbers;
  double all = 0;
  for (const models::WeightKind& kind : kinds) {
    const bool split = std::count_if(kinds.begin(), kinds.end(),
                                     [&](const models::WeightKind& each) { return each.kind == kind.kind; }) > 1;
    const std::string text = kind.kind + (split ? " (" + std::to_string(kind.tensors) + ")" : "");
    const auto known =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == kind.format; });
    if (known == lines.end()) {
      lines.emplace_back(kind.format, text);
    } else {
      known->second += ", " + text;
    }
    bytes[kind.format] += kind.bytes;
    numbers[kind.format] += kind.numbers;
    all += kind.numbers;
  }
  for (auto& [format, text] : lines) {
    text += ": " + general_text(100 * numbers[format] / all, 2) + " %";
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const auto& a, const auto& b) { return bytes[a.first] > bytes[b.first]; });
  return lines;
}

// "; labels no, maybe, yes": the first of them.
std::string labels_text(const std::vector<std::string>& labels) {
  constexpr std::size_t kNamed = 12;
  const std::vector<std::string> first(labels.begin(),
                                       labels.begin() + static_cast<std::ptrdiff_t>(std::min(labels.size(), kNamed)));
  const std::string more = labels.size() > kNamed ? " and " + std::to_string(labels.size() - kNamed) + " more" : "";
  return labels.empty() ? "" : "; labels " + listed(first, printable) + more;
}

void print_info(const models::Model& model, std::int64_t length, Console& console) {
  const models::ModelInfo& info = model.info();
  const auto row = [&console](const std::string& name, const std::string& value) { print_row(name, value, console); };
  row("checkpoint", info.name);
  row("family", info.family);
  print_encodings_of(info, console);
  if (info.encoder_layers > 0) {
    row("encoder", std::to_string(info.encoder_layers) + " layers; what follows is the decoder's");
  }
  if (info.vision_layers > 0) {
    row("vision", std::to_string(info.vision_layers) + " layers; connector: " + info.connector);
    row("pictures", (info.image_tokens > 0 ? std::to_string(info.image_tokens) + " tokens each"
                                           : std::string("as many tokens as their size asks for")) +
                        ", placeholder " + std::to_string(info.placeholder));
  }
  print_layers_of(info, console);
  if (!info.unverified.empty()) {
    row("verified", "no: compare with values of the authors' code (locus verify)");
  }
  row("width", std::to_string(info.width) + " (" + std::to_string(info.head_width) + " a head)");
  row(info.image ? "classes" : "vocabulary", std::to_string(info.vocabulary));
  if (!info.head) {
    row("output", "the state of every token: no output head");
  }
  if (!info.task_heads.empty()) {
    row("other heads", listed(info.task_heads, printable) + ": not used" + labels_text(info.labels));
  }
  if (!info.pooling.empty()) {
    row("one vector", listed(info.pooling, printable));
  }
  if (info.logit_scale) {
    row("half", info.image ? "picture (--half text opens the other)" : "text (the other is the picture's)");
    row("logit of a pair",
        fixed_text(*info.logit_scale, 4) + " · cosine" +
            (info.logit_bias ? (*info.logit_bias < 0 ? " − " : " + ") + fixed_text(std::abs(*info.logit_bias), 4)
                             : ""));
  }
  row("parameters", std::to_string(info.parameters) + " (" + short_count(static_cast<double>(info.parameters)) + ")");
  if (info.trained_length > 0) {
    row("trained length", std::to_string(info.trained_length));
  }
  row("dtype", info.dtype);
  for (const auto& [format, kinds] : format_lines(models::weight_kinds(model))) {
    row("weights " + format, kinds);
  }
  row("tokenizer", info.image ? "none (an image model)" : info.tokenizer ? "yes" : "none: give --ids");
  row("files", names_line(info.files));
  row("unexpected", names_line(info.unexpected));
  row("products", products_line(models::runtime()));
  if (info.overrides.fast) {
    row("speed", "fast: products may round a single token to 8 bits, many at once to 14");
  }
  if (length > 0) {
    row("FLOPs", short_count(2 * model.macs(length)) + " for " + std::to_string(length) + " tokens (" +
                     short_count(model.macs(length)) + " MACs)");
  }
}

Json items_json(const std::vector<models::EncodingInfo::Item>& items, const char* shape_key) {
  return list_of(items, [shape_key](const auto& item) -> Json {
    return {{"name", item.name}, {shape_key, item.shape}, {"meaning", item.meaning}};
  });
}

Json description_json(const models::EncodingInfo& encoding) {
  return {{"name", encoding.name},
          {"title", encoding.title},
          {"paper", encoding.paper},
          {"equation", encoding.equation},
          {"parameters", items_json(encoding.parameters, "shape")},
          {"options", items_json(encoding.options, "default")}};
}

void print_encodings(Console& console) {
  for (const models::EncodingInfo& encoding : models::encodings()) {
    console.print(encoding.name + " — " + encoding.title);
    console.print("  paper       " + encoding.paper);
    console.print("  equation    " + encoding.equation);
    const std::string parameters =
        listed(encoding.parameters, [](const auto& item) { return item.name + " " + item.shape; });
    console.print("  parameters  " + (parameters.empty() ? "none" : parameters));
    for (const auto& option : encoding.options) {
      console.print("  option      " + option.name + " (" + option.shape + "): " + option.meaning);
    }
  }
}

Status run_info(const InfoOptions& options, const Context& context) {
  if (options.encodings && !options.path.empty()) {
    return usage("--encodings takes no PATH");
  }
  if (options.encodings && options.json) {
    context.console.print(dump(list_of(models::encodings(), description_json)));
    return {};
  }
  if (options.encodings) {
    print_encodings(context.console);
    return {};
  }
  if (options.path.empty()) {
    return usage("info: expected PATH or --encodings (see locus info --help)");
  }
  LOCUS_TRY(const models::Overrides overrides, options.overrides.read());
  if (models::is_atlas(options.path)) {
    return options.length == 0 && overrides == models::Overrides()
               ? print_atlas_info(options.path, options.json, context.console)
               : Status(usage("info: an atlas takes neither --length nor overrides, which are a checkpoint's"));
  }
  if (models::is_trace(options.path)) {
    return options.length == 0 && overrides == models::Overrides()
               ? print_trace_info(options.path, options.json, context.console)
               : Status(usage("info: a trace takes neither --length nor overrides, which are a checkpoint's"));
  }
  LOCUS_TRY(const auto model, open_model(options.path, overrides, context, {}, false));
  if (options.json) {
    context.console.print(dump(info_json(*model, options.length)));
  } else {
    print_info(*model, options.length, context.console);
  }
  return {};
}

}  // namespace

Action declare_info(Arguments& arguments) {
  auto options = std::make_shared<InfoOptions>();
  arguments.positional("PATH", options->path, false, "a checkpoint (a folder or a file), a trace or an atlas",
                       FileUse::kCheckpoint);
  arguments.flag("--json", options->json, "print JSON");
  arguments.flag("--encodings", options->encodings, "list the position encodings instead");
  arguments.integer("--length", options->length, {}, "print FLOPs and MACs for this many tokens");
  options->overrides.declare(arguments);
  options->overrides.declare_speed(arguments);
  return [options](const Context& context) { return run_info(*options, context); };
}

}  // namespace locus::cli
