#include "models/families/native.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/checked.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/base/system_files.h"
#include "models/formats/json/tree.h"
#include "models/formats/renamed.h"
#include "models/formats/tensor_table.h"

namespace locus::families {

namespace {

namespace fs = std::filesystem;
using formats::Source;
using formats::TensorInfo;

constexpr std::int64_t kMaxParts = 64;
constexpr std::array<std::string_view, 2> kWholeFiles{"consolidated.safetensors",
                                                      "consolidated.safetensors.index.json"};

fs::path native_folder(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(path, failure) ? path : path.parent_path();
}

std::string part_name(std::int64_t part) {
  return "consolidated." + std::string(part < 10 ? "0" : "") + std::to_string(part) + ".pth";
}

// The files of weights, in the order of the parts.
std::vector<fs::path> native_weights(const fs::path& folder) {
  std::error_code failure;
  for (const std::string_view name : kWholeFiles) {
    if (fs::exists(folder / name, failure)) {
      return {folder / name};
    }
  }
  std::vector<fs::path> parts;
  for (std::int64_t part = 0; part < kMaxParts && fs::exists(folder / part_name(part), failure); ++part) {
    parts.push_back(folder / part_name(part));
  }
  return parts;
}

// The dimension along which a tensor was cut; −1: every part has the whole of it.
std::int64_t cut_of(const TensorInfo& tensor, std::int64_t width, std::int64_t parts) {
  const std::string& name = tensor.name;
  if (tensor.shape.size() < 2) {
    return -1;
  }
  if (name.ends_with("attention.wo.weight") || name.ends_with("feed_forward.w2.weight")) {
    return 1;
  }
  return name == "tok_embeddings.weight" && tensor.shape[1] * parts == width ? 1 : 0;
}

std::span<const std::byte> stored_bytes(const TensorInfo& tensor) {
  const std::size_t size = formats::element_size(tensor.dtype);
  return tensor.storage.subspan(static_cast<std::size_t>(tensor.offset) * size,
                                static_cast<std::size_t>(tensor.elements()) * size);
}

// The pieces of one tensor, checked to be alike.
Result<std::vector<const TensorInfo*>> pieces_of(const TensorInfo& first, const std::vector<Source>& parts) {
  std::vector<const TensorInfo*> pieces;
  for (const Source& part : parts) {
    const TensorInfo* const piece = part->find(first.name);
    if (piece == nullptr || piece->shape != first.shape || piece->dtype != first.dtype || !piece->contiguous() ||
        piece->blocks != nullptr) {
      return bad_input("expected shape " + formats::shape_text(first.shape) + ", as in the first part, found " +
                           (piece == nullptr ? "none" : formats::shape_text(piece->shape)),
                       part->files().front().string() + ": tensor " + shown(first.name));
    }
    pieces.push_back(piece);
  }
  return pieces;
}

// Rows of all parts, or for each row the columns of all parts.
TensorInfo joined(const std::vector<const TensorInfo*>& pieces, std::int64_t cut, std::vector<std::byte>& bytes) {
  TensorInfo whole = *pieces.front();
  const auto count = static_cast<std::int64_t>(pieces.size());
  const std::size_t piece_bytes = stored_bytes(whole).size();
  const std::size_t rows = cut == 1 ? static_cast<std::size_t>(whole.shape[0]) : 1;
  const std::size_t run = rows == 0 ? 0 : piece_bytes / rows;
  bytes.resize(piece_bytes * pieces.size());
  std::size_t place = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const TensorInfo* const piece : pieces) {
      if (run > 0) {
        std::memcpy(bytes.data() + place, stored_bytes(*piece).data() + row * run, run);
      }
      place += run;
    }
  }
  whole.shape[static_cast<std::size_t>(cut)] *= count;
  std::int64_t elements = 0;
  formats::row_major(whole.shape, whole.strides, elements);
  whole.offset = 0;
  whole.storage = bytes;
  return whole;
}

Result<Source> join(const std::vector<Source>& parts, std::int64_t width) {
  double needed = 0;
  for (const Source& part : parts) {
    for (const TensorInfo& tensor : part->tensors()) {
      needed += static_cast<double>(tensor.elements()) * static_cast<double>(formats::element_size(tensor.dtype));
    }
  }
  if (const double available = available_bytes(); available > 0 && needed > available) {
    return too_large("the joined parts need " + std::to_string(static_cast<std::int64_t>(needed / 1e6)) + " MB, " +
                         std::to_string(static_cast<std::int64_t>(available / 1e6)) + " MB are there",
                     parts.front()->files().front().string());
  }
  formats::TensorTable table;
  for (const Source& part : parts) {
    table.files.insert(table.files.end(), part->files().begin(), part->files().end());
    table.warnings.insert(table.warnings.end(), part->warnings().begin(), part->warnings().end());
    if (part->tensors().size() != parts.front()->tensors().size()) {
      return bad_input("expected " + std::to_string(parts.front()->tensors().size()) +
                           " tensors, as in the first part, found " + std::to_string(part->tensors().size()),
                       part->files().front().string());
    }
    table.owners.push_back(part);
  }
  for (const TensorInfo& first : parts.front()->tensors()) {
    LOCUS_TRY(const std::vector<const TensorInfo*> pieces, pieces_of(first, parts));
    const std::int64_t cut = cut_of(first, width, static_cast<std::int64_t>(parts.size()));
    if (cut < 0) {
      const bool alike = std::all_of(pieces.begin(), pieces.end(), [&](const TensorInfo* piece) {
        return std::ranges::equal(stored_bytes(*piece), stored_bytes(first));
      });
      if (!alike) {
        return bad_input("expected the same numbers in every part, found others",
                         parts.back()->files().front().string() + ": tensor " + shown(first.name));
      }
      table.tensors.push_back(first);
      continue;
    }
    const auto bytes = std::make_shared<std::vector<std::byte>>();
    table.tensors.push_back(joined(pieces, cut, *bytes));
    table.owners.push_back(bytes);
  }
  return formats::make_source(std::move(table));
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNativeNames{
    {{"attention.wq", "self_attn.q_proj"},
     {"attention.wk", "self_attn.k_proj"},
     {"attention.wv", "self_attn.v_proj"},
     {"attention.wo", "self_attn.o_proj"},
     {"feed_forward.w1", "mlp.gate_proj"},
     {"feed_forward.w2", "mlp.down_proj"},
     {"feed_forward.w3", "mlp.up_proj"},
     {"attention_norm", "input_layernorm"},
     {"ffn_norm", "post_attention_layernorm"},
     {"tok_embeddings", "model.embed_tokens"},
     {"norm", "model.norm"},
     {"output", "lm_head"}}};

// "layers.3.attention.wq.weight" -> "model.layers.3.self_attn.q_proj.weight"; other names stay, "" for rope.freqs.
std::string transformers_name(const std::string& name) {
  if (name == "rope.freqs") {
    return "";
  }
  constexpr std::string_view kEnding = ".weight";
  constexpr std::string_view kLayers = "layers.";
  const std::size_t dot = name.find('.', kLayers.size());
  const bool layer = name.starts_with(kLayers) && dot != name.npos;
  const std::string before = layer ? name.substr(0, dot + 1) : "";
  const std::string own = name.substr(before.size());
  for (const auto& [native, family] : kNativeNames) {
    if (own == std::string(native) + std::string(kEnding)) {
      return (layer ? "model." + before : "") + std::string(family) + std::string(kEnding);
    }
  }
  return name;
}

constexpr std::array<std::string_view, 21> kKnownParameters{"dim",
                                                            "n_layers",
                                                            "n_heads",
                                                            "n_kv_heads",
                                                            "vocab_size",
                                                            "head_dim",
                                                            "hidden_dim",
                                                            "norm_eps",
                                                            "rope_theta",
                                                            "multiple_of",
                                                            "tied_embeddings",
                                                            "max_seq_len",
                                                            "max_batch_size",
                                                            "ffn_dim_multiplier",
                                                            "use_scaled_rope",
                                                            "sliding_window",
                                                            "rope_scaling_factor",
                                                            "max_position_embeddings",
                                                            "model_parallel_size",
                                                            "rope_high_freq_factor",
                                                            "causal"};

constexpr std::int64_t kNarrow = 3072;  // the widest text model of Llama 3.2

// The factor of Llama 3.1 and later where params.json has none: 32 in the text models of Llama 3.2.
double usual_factor(std::int64_t width) {
  return width <= kNarrow ? 32 : 8;
}

// The scaling of Llama 3.1 and later.
Result<formats::Tree> scaling_of(const Config& params, std::int64_t width) {
  LOCUS_TRY(const double factor, params.number("rope_scaling_factor", usual_factor(width)));
  LOCUS_TRY(const double high, params.number("rope_high_freq_factor", 4));
  return formats::Tree{{"rope_type", "llama3"},
                       {"factor", factor},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", high},
                       {"original_max_position_embeddings", 8192}};
}

Result<Config> family_config(const Config& params, const Source& tensors) {
  for (const std::string& name : params.names()) {
    if (std::find(kKnownParameters.begin(), kKnownParameters.end(), name) == kKnownParameters.end()) {
      return unsupported("expected the fields of Llama and Mistral, found another", params.context(name));
    }
  }
  const TensorInfo* const embedding = tensors->find("model.embed_tokens.weight");
  const TensorInfo* const gate = tensors->find("model.layers.0.mlp.gate_proj.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || gate == nullptr || gate->shape.size() != 2) {
    return bad_input(
        "expected tensors tok_embeddings.weight and layers.0.feed_forward.w1.weight with rows and columns, "
        "found none",
        tensors->files().front().string());
  }
  LOCUS_TRY(const std::int64_t width, params.integer_in("dim", 1, std::int64_t{1} << 24));
  LOCUS_TRY(const std::int64_t layers, params.integer("n_layers"));
  LOCUS_TRY(const std::int64_t heads, params.integer_in("n_heads", 1, std::int64_t{1} << 24));
  LOCUS_TRY(const std::int64_t keys, params.integer("n_kv_heads", heads));
  LOCUS_TRY(const std::int64_t head_width, params.integer("head_dim", width / heads));
  LOCUS_TRY(const double eps, params.number("norm_eps", 1e-5));
  LOCUS_TRY(const bool scaled, params.boolean("use_scaled_rope", false));
  LOCUS_TRY(const bool causal, params.boolean("causal", true));
  if (params.has("sliding_window") && params.kind("sliding_window") != "number") {
    return unsupported("expected one number or null, found a " + params.kind("sliding_window"),
                       params.context("sliding_window"));
  }
  // Mistral's own code: a model without windows turns by another base.
  const double usual = params.has("hidden_dim") && !params.has("sliding_window") ? 1e6 : 1e4;
  LOCUS_TRY(const double base, params.number("rope_theta", usual));
  LOCUS_TRY(const std::int64_t inner, params.integer("hidden_dim", gate->shape[0]));
  LOCUS_TRY(const std::int64_t named, params.integer("vocab_size", -1));
  formats::Tree config{{"model_type", params.has("sliding_window") ? "mistral" : "llama"},
                       {"hidden_size", width},
                       {"num_hidden_layers", layers},
                       {"num_attention_heads", heads},
                       {"num_key_value_heads", keys},
                       {"head_dim", head_width},
                       {"intermediate_size", inner},
                       {"vocab_size", named > 0 ? named : embedding->shape[0]},
                       {"rms_norm_eps", eps},
                       {"rope_theta", base},
                       {"is_causal", causal},
                       {"tie_word_embeddings", tensors->find("lm_head.weight") == nullptr}};
  if (params.has("sliding_window")) {
    LOCUS_TRY(const std::int64_t window, params.integer("sliding_window"));
    config.add_field("sliding_window", window);
  }
  if (scaled) {
    LOCUS_TRY(formats::Tree scaling, scaling_of(params, width));
    config.add_field("rope_scaling", std::move(scaling));
  }
  return Config::parse_json(config.dump(-1, formats::Tree::Order::kAsAdded), params.file());
}

// Marks the rows that stand as pairs of neighbours.
Result<Source> with_pairs(const Source& source, std::int64_t head_width, const Config& params) {
  formats::TensorTable table;
  table.tensors = source->tensors();
  for (TensorInfo& tensor : table.tensors) {
    const bool turned =
        tensor.name.ends_with("self_attn.q_proj.weight") || tensor.name.ends_with("self_attn.k_proj.weight");
    tensor.interleaved = turned ? head_width : 0;
  }
  table.metadata = source->metadata();
  table.files = source->files();
  table.warnings = source->warnings();
  LOCUS_TRY(const bool scaled, params.boolean("use_scaled_rope", false));
  if (scaled && !params.has("rope_scaling_factor")) {
    LOCUS_TRY(const std::int64_t width, params.integer("dim"));
    table.warnings.push_back(params.context("use_scaled_rope") + ": rope_scaling_factor is not given; taken as " +
                             general_text(usual_factor(width), 3) + ", as in Llama " +
                             (width <= kNarrow ? "3.2" : "3.1") + " of this width");
  }
  table.extra_json = source->extra_json();
  table.owners.push_back(source);
  return formats::make_source(std::move(table));
}

}  // namespace

bool is_native(const fs::path& path) {
  std::error_code failure;
  const fs::path folder = native_folder(path);
  if (!fs::exists(folder / "params.json", failure)) {
    return false;
  }
  const std::vector<fs::path> weights = native_weights(folder);
  return fs::is_directory(path, failure) ? !weights.empty() && !fs::exists(folder / "config.json", failure)
                                         : std::find(weights.begin(), weights.end(), path) != weights.end();
}

Result<CheckpointFiles> read_native(const fs::path& path) {
  CheckpointFiles checkpoint;
  checkpoint.path = path;
  checkpoint.folder = native_folder(path);
  LOCUS_TRY(const Config params, Config::load(checkpoint.folder / "params.json"));
  std::vector<Source> parts;
  for (const fs::path& file : native_weights(checkpoint.folder)) {
    LOCUS_TRY(parts.emplace_back(), formats::open_tensors(file));
  }
  LOCUS_TRY(const std::int64_t width, params.integer("dim"));
  Source whole = parts.front();
  if (parts.size() > 1) {
    LOCUS_TRY(whole, join(parts, width));
  }
  LOCUS_TRY(whole, formats::renamed(whole, transformers_name));
  LOCUS_TRY(checkpoint.config, family_config(params, whole));
  LOCUS_TRY(const std::int64_t head_width, checkpoint.config.integer_in("head_dim", 2, std::int64_t{1} << 24));
  if (head_width % 2 != 0) {
    return bad_input("expected an even number, found " + std::to_string(head_width), params.context("head_dim"));
  }
  LOCUS_TRY(checkpoint.tensors, with_pairs(whole, head_width, params));
  return checkpoint;
}

}  // namespace locus::families
