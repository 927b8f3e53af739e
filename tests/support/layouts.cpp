#include "tests/support/layouts.h"

#include <ATen/ATen.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "models/transformer/locus_config.h"
#include "models/transformer/transformer.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/golden.h"
#include "tests/support/layout_parts.h"
#include "tests/support/pickle_writer.h"

namespace locus::test {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSizes = R"("vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2,
  "num_attention_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5, "max_position_embeddings": 64)";
constexpr const char* kGpt2 = R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 4,
  "n_positions": 64})";

using Writer = formats::PickleWriter;

// ---- what the reference says

void expect_last_row(const Golden& golden, WrittenLayout& written) {
  written.ids = ids_of(golden["input_ids"][0]);
  const at::Tensor row = golden["logits"][0][-1];
  written.best = row.argmax().item<std::int64_t>();
  written.probability = at::softmax(row, 0).max().item<double>();
}

void expect_class(const Golden& golden, const fs::path& folder, WrittenLayout& written) {
  written.pixels = folder / "pixels-input" / "pixels.safetensors";
  fs::create_directories(written.pixels.parent_path());
  write_tensors(written.pixels, {{"pixel_values", golden["images"][0]}});
  written.best = golden["logits"][0].argmax().item<std::int64_t>();
  written.probability = at::softmax(golden["logits"][0], 0).max().item<double>();
}

// ---- the layouts

// Golden weights in model.safetensors, and config.json.
void stored_text(const std::string& name, const std::string& config, const fs::path& folder, WrittenLayout& written) {
  const Golden golden(name);
  write_text(folder / "config.json", config);
  write_tensors(folder / "model.safetensors", with_prefix(golden, "w."));
  expect_last_row(golden, written);
}

std::string timm_config(const std::string& architecture, const std::string& arguments = {}) {
  return R"({"architecture": ")" + architecture + R"(", "num_classes": 10, "model_args": {"img_size": 32,
    "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 2)" +
         arguments + "}}";
}

void stored_image(const std::string& name, const std::string& config, const fs::path& folder, WrittenLayout& written) {
  const Golden golden(name);
  write_text(folder / "config.json", config);
  write_tensors(folder / "model.safetensors", with_prefix(golden, "w."));
  expect_class(golden, folder, written);
}

void random_text(const std::string& config, const Tensors& tensors, const fs::path& folder, WrittenLayout& written) {
  write_text(folder / "config.json", config);
  write_tensors(folder / "model.safetensors", tensors);
  written.ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
}

std::string llama_config(const std::string& type, const std::string& more = {}) {
  return R"({"model_type": ")" + type + "\", " + kSizes + more + "}";
}

Tensors qwen2_weights() {
  Tensors tensors = with_prefix(Golden("llama_rope"), "w.");
  for (const char* layer : {"0", "1"}) {
    for (const char* part : {"q", "k", "v"}) {
      tensors[std::string("model.layers.") + layer + ".self_attn." + part + "_proj.bias"] = at::zeros({32});
    }
  }
  return tensors;
}

std::string seqpe_gpt2_config() {
  return R"({"PE_TYPE": "seq_pe", "PE_APPLY_METHOD": "attn_scalar", "USE_PE_QK_PER_LAYER": "multi",
    "PE_EMBED_DIM": 32, "NUM_ATTENTION_HEADS": 4, "SEQPE_MAX_DIGITS": 5, "SEQPE_LAYER_NUM": 2})";
}

std::string seqpe_vit_config() {
  return "PE_TYPE: seq_pe\nPE_APPLY_METHOD: attn_mul\nUSE_PE_QK_PER_LAYER: single\nPE_EMBED_DIM: 16\n"
         "NUM_ATTENTION_HEADS: 2\nPE_DATA_DIM: 2\nSEQPE_MAX_DIGITS: 2\nSEQPE_LAYER_NUM: 2\n";
}

// {model, pe_model, config}, as image training writes it; its config is an object of another library.
void seqpe_vit_together(const fs::path& folder, WrittenLayout& written) {
  const Golden golden("seqpe_vit_attn_mul_single");
  write_text(folder / "config.json", timm_config("vit_tiny_patch8_32"));
  write_text(folder / "pe_config.json", seqpe_vit_config());
  const std::string config = Writer().text("config").raw("cyacs.config\nCfgNode\n)\x81").body();
  write_torch(folder / "best_checkpoint.pth", "",
              {{"model", with_prefix(golden, "w.")}, {"pe_model", with_prefix(golden, "pe_w.")}}, config);
  expect_class(golden, folder, written);
}

// {cfg, model}, the authors' repository.
void cope_together(const fs::path& folder, WrittenLayout& written) {
  Writer cfg;
  cfg.text("cfg").begin_dict().text("pos_emb").text("cope").text("cope_sep_key").raw("\x88");
  for (const auto& [name, value] : std::map<std::string, std::int64_t>{
           {"nlayers", 2}, {"nheads", 2}, {"nvocab", 19}, {"hid_sz", kWidth}, {"ff_sz", kInner}, {"block_size", 32}}) {
    cfg.text(name).integer(value);
  }
  write_torch(folder / "checkpoint.pt", cfg.end_dict().body(), {{"model", cope_weights()}});
  written.ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
}

// Locus's own: config.json by hand, the tensors it asks for at random.
void locus_own(const std::string& config, const fs::path& folder) {
  write_text(folder / "config.json", config);
  const auto spec = transformer::parse_locus_config(nlohmann::json::parse(config), "config.json");
  if (!spec.ok()) {
    throw std::runtime_error(spec.error().describe());
  }
  const auto model = transformer::Transformer::create(*spec, false);
  if (!model.ok()) {
    throw std::runtime_error(model.error().describe());
  }
  Weights weights;
  for (const transformer::Parameter& parameter : (*model)->parameters()) {
    weights.add(parameter.name, parameter.shape);
  }
  write_tensors(folder / "model.safetensors", weights.tensors());
}

using Write = std::function<void(const fs::path&, WrittenLayout&)>;

struct Entry {
  Layout layout;
  Write write;
};

std::vector<Entry> text_entries() {
  const auto stored = [](const char* name, const std::string& config) {
    return
        [name, config](const fs::path& folder, WrittenLayout& written) { stored_text(name, config, folder, written); };
  };
  const auto llama_in = [](const std::function<void(const fs::path&, const Tensors&)>& put) {
    return [put](const fs::path& folder, WrittenLayout& written) {
      const Golden golden("llama_rope");
      write_text(folder / "config.json", llama_config("llama"));
      put(folder, with_prefix(golden, "w."));
      expect_last_row(golden, written);
    };
  };
  const Layout rope{.base_field = "rope_theta", .scaling = true, .shift_invariant = true};
  const auto named = [&rope](const char* name, const char* family, const char* field = "rope_theta") {
    Layout layout = rope;
    layout.name = name;
    layout.family = family;
    layout.base_field = field;
    return layout;
  };
  return {
      {{.name = "gpt2", .family = "gpt2"}, stored("gpt2_vanilla", kGpt2)},
      {named("llama", "llama"), stored("llama_rope", llama_config("llama"))},
      {named("llama-sharded", "llama"), llama_in(write_sharded)},
      {named("llama-torch", "llama"), llama_in([](const fs::path& folder, const Tensors& tensors) {
         write_torch(folder / "pytorch_model.bin", "", {{"state_dict", tensors}});
       })},
      {named("mistral", "mistral"), stored("llama_rope", llama_config("mistral", R"(, "sliding_window": 4096)"))},
      {named("qwen2", "qwen2"),
       [](const fs::path& folder, WrittenLayout& written) {
         random_text(llama_config("qwen2"), qwen2_weights(), folder, written);
         expect_last_row(Golden("llama_rope"), written);
       }},
      {named("gpt_neox", "gpt_neox", "rotary_emb_base"),
       stored("gpt_neox_parallel", R"({"model_type": "gpt_neox", "vocab_size": 40, "hidden_size": 32,
         "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "rotary_pct": 0.25,
         "max_position_embeddings": 64, "use_parallel_residual": true})")},
      {{.name = "bloom", .family = "bloom", .shift_invariant = true},
       [](const fs::path& folder, WrittenLayout& written) {
         random_text(R"({"model_type": "bloom", "vocab_size": 29, "hidden_size": 24, "n_layer": 2, "n_head": 3})",
                     bloom_weights(), folder, written);
       }},
      {{.name = "bert", .family = "bert"},
       [](const fs::path& folder, WrittenLayout& written) {
         random_text(R"({"model_type": "bert", "vocab_size": 31, "hidden_size": 24, "num_hidden_layers": 2,
           "num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": 20})",
                     bert_weights(), folder, written);
       }},
      {named("tape", "tape"), stored("tape", llama_config("llama", R"(, "rpe_type": "adape", "position_size": 16)"))},
      {{.name = "seqpe-gpt2", .family = "seqpe-gpt2"},
       [](const fs::path& folder, WrittenLayout& written) {
         stored_text("seqpe_gpt2_attn_scalar_multi", kGpt2, folder, written);
         write_text(folder / "pe_config.json", seqpe_gpt2_config());
         write_tensors(folder / "model_1.safetensors", with_prefix(Golden("seqpe_gpt2_attn_scalar_multi"), "pe_w."));
       }},
      {{.name = "cope-pt", .family = "cope", .shift_invariant = true, .file = "checkpoint.pt"}, cope_together},
      {{.name = "locus", .family = "locus", .shift_invariant = true},
       [](const fs::path& folder, WrittenLayout& written) {
         locus_own(R"({"model_type": "locus", "vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40,
           "position_encoding": {"name": "cope", "gates": "sep-key", "p_max": 6}})",
                   folder);
         written.ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
       }},
      {{.name = "locus-early-norm", .family = "locus", .base_field = "position_encoding.base"},
       [](const fs::path& folder, WrittenLayout& written) {
         locus_own(R"({"model_type": "locus", "vocab_size": 29, "hidden_size": 24, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 40, "norm": "layer",
           "norm_place": "post", "final_norm": false, "embedding_norm": true, "early_norm": true, "token_types": 2,
           "position_encoding": {"name": "sinusoidal", "layout": "half", "spacing": "closed", "first": 2}})",
                   folder);
         written.ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
       }},
  };
}

std::vector<Entry> image_entries() {
  const auto stored = [](const char* name, const std::string& config) {
    return
        [name, config](const fs::path& folder, WrittenLayout& written) { stored_image(name, config, folder, written); };
  };
  return {
      {{.name = "vit", .family = "vit", .image = true},
       [](const fs::path& folder, WrittenLayout&) {
         write_text(folder / "config.json", R"({"model_type": "vit", "hidden_size": 24, "num_hidden_layers": 2,
           "num_attention_heads": 3, "intermediate_size": 40, "image_size": 32, "patch_size": 8,
           "id2label": {"0": "ant", "1": "bee", "2": "cat", "3": "dog", "4": "eel", "5": "fox", "6": "gnu"}})");
         write_tensors(folder / "model.safetensors", vit_weights());
       }},
      {{.name = "vit-timm", .family = "vit-timm", .image = true},
       stored("vit_timm_ape", timm_config("vit_tiny_patch8_32"))},
      {{.name = "rope-vit-axial", .family = "rope-vit", .image = true, .base_field = "model_args.rope_theta"},
       stored("vit_rope_axial", timm_config("rope_axial_tiny"))},
      {{.name = "rope-vit-mixed", .family = "rope-vit", .image = true},
       stored("vit_rope_mixed", timm_config("rope_mixed_tiny"))},
      {{.name = "rope-vit-mixed-ape", .family = "rope-vit", .image = true},
       stored("vit_rope_mixed_ape", timm_config("rope_mixed_ape_tiny", R"(, "use_ape": true)"))},
      {{.name = "seqpe-vit", .family = "seqpe-vit", .image = true},
       [](const fs::path& folder, WrittenLayout& written) {
         stored_image("seqpe_vit_attn_mul_single", timm_config("vit_tiny_patch8_32"), folder, written);
         write_text(folder / "pe_config.json", seqpe_vit_config());
         write_tensors(folder / "model_1.safetensors", with_prefix(Golden("seqpe_vit_attn_mul_single"), "pe_w."));
       }},
      {{.name = "seqpe-vit-pth", .family = "seqpe-vit", .image = true, .warns = true}, seqpe_vit_together},
      {{.name = "locus-vit", .family = "locus", .image = true, .base_field = "position_encoding.base"},
       [](const fs::path& folder, WrittenLayout&) {
         locus_own(R"({"model_type": "locus", "vocab_size": 7, "hidden_size": 24, "num_hidden_layers": 2,
           "num_attention_heads": 3, "norm": "layer", "causal": false, "tie_word_embeddings": false,
           "image": {"patch_size": 8, "rows": 4, "columns": 4}, "position_encoding": {"name": "rope-axial"}})",
                   folder);
       }},
  };
}

constexpr const char* kPicturesAsTheyAre = R"({"do_resize": false, "do_rescale": true,
  "rescale_factor": 0.00392156862745098, "do_normalize": true, "image_mean": [0.5, 0.5, 0.5],
  "image_std": [0.5, 0.5, 0.5]})";

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list = text_entries();
    const std::vector<Entry> images = image_entries();
    list.insert(list.end(), images.begin(), images.end());
    return list;
  }();
  return all;
}

}  // namespace

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = [] {
    std::vector<Layout> list;
    for (const Entry& entry : entries()) {
      list.push_back(entry.layout);
    }
    return list;
  }();
  return all;
}

WrittenLayout write_layout(const Layout& layout, const fs::path& folder) {
  for (const Entry& entry : entries()) {
    if (entry.layout.name != layout.name) {
      continue;
    }
    WrittenLayout written;
    entry.write(folder, written);
    written.path = layout.file.empty() ? folder : folder / layout.file;
    if (layout.image) {
      written.patch = 8;
      write_text(folder / "preprocessor_config.json", kPicturesAsTheyAre);
    }
    return written;
  }
  throw std::runtime_error("no layout " + layout.name);
}

void write_image_type(const std::string& type, const std::filesystem::path& folder) {
  const ConformanceType stored(type);
  write_text(folder / "config.json", stored.data().at("config").dump());
  write_text(folder / "preprocessor_config.json", kPicturesAsTheyAre);
  stored.write_tensors(folder);
}

}  // namespace locus::test
