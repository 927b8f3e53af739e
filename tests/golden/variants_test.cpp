// Folders of tests/golden/variants: models of known families as people publish them. make.py there remakes the folders
// and the values, which transformers and the arithmetic of PEFT and of sentence-transformers gave.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/api/convert.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kVariantsTolerance = 1e-4;

fs::path variants(const std::string& kind) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "variants" / kind;
}

std::vector<std::string> names_in(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(variants(kind))) {
    if (fs::exists(entry.path() / "expected.safetensors")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::shared_ptr<const models::Trace> run(const models::Model& model, const test::Golden& golden) {
  models::Input input;
  input.ids = test::ids_of(golden["input_ids"]);
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? *trace : nullptr;
}

void expect_same(const models::Model& model, const test::Golden& golden) {
  const auto trace = run(model, golden);
  ASSERT_NE(trace, nullptr);
  const models::TraceData data = test::recorded(*trace);
  const bool states = golden.has("hidden");
  EXPECT_EQ(model.info().head, !states);
  EXPECT_CLOSE(states ? data.hidden : data.logits, golden[states ? "hidden" : "logits"], kVariantsTolerance);
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const std::string name = "layers." + std::to_string(n) + ".attention";
    if (golden.has(name)) {
      const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
      ASSERT_TRUE(map.ok());
      EXPECT_CLOSE(*map, golden[name], kVariantsTolerance) << "layer " << n;
    }
  }
}

// A copy of a folder that a test may change.
class CopiedFolder {
 public:
  explicit CopiedFolder(const fs::path& from) { fs::copy(from, place_.path() / "copy", fs::copy_options::recursive); }
  fs::path path() const { return place_.path() / "copy"; }
  json read(const std::string& name) const { return json::parse(std::ifstream(path() / name)); }
  void write(const std::string& name, const json& value) const { std::ofstream(path() / name) << value.dump(); }
  void change(const std::string& name, const std::function<void(json&)>& change) const {
    json value = read(name);
    change(value);
    write(name, value);
  }
  // The tensors of a file, changed.
  void change_tensors(const std::string& name, const std::function<void(test::Tensors&)>& change) const {
    test::Tensors tensors;
    {
      const auto source = *formats::open_tensors(path() / name);
      for (const formats::TensorInfo& tensor : source->tensors()) {
        tensors[tensor.name] = transformer::to_tensor(tensor, source).clone();
      }
    }
    change(tensors);
    fs::remove(path() / name);
    test::write_tensors(path() / name, tensors);
  }
  std::string error(const models::OpenOptions& options = {}) const {
    const auto model = models::open(path(), options);
    return model.ok() ? "opens" : model.error().describe();
  }

 private:
  test::TemporaryFolder place_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool warns(const models::ModelInfo& info, const std::string& part) {
  return std::any_of(info.warnings.begin(), info.warnings.end(),
                     [&](const std::string& warning) { return contains(warning, part); });
}

// ---- heads

TEST(Variants, ModelsOfOtherTasksGiveTheLibrarysStates) {
  const std::vector<std::string> names = names_in("tasks");
  EXPECT_GE(names.size(), 18U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto model = test::open_model(variants("tasks") / name);
    ASSERT_NE(model, nullptr);
    expect_same(*model, test::Golden("variants/tasks/" + name + "/expected"));
    EXPECT_TRUE(model->info().unexpected.empty());
    const bool bare = name.ends_with("-model");
    EXPECT_TRUE(bare || !model->info().task_heads.empty());
    if (name.ends_with("-sequence") || name.ends_with("-token")) {
      EXPECT_EQ(model->info().labels, (std::vector<std::string>{"no", "maybe", "yes"}));
    }
    const auto trace = run(*model, test::Golden("variants/tasks/" + name + "/expected"));
    EXPECT_TRUE(trace->top(3).empty());
  }
}

TEST(Variants, HeadsOfOtherTasksAreNamedOnce) {
  const auto heads = [](const std::string& name) {
    return test::open_model(variants("tasks") / name)->info().task_heads;
  };
  EXPECT_EQ(heads("bert-sequence"), (std::vector<std::string>{"pooler", "classifier"}));
  EXPECT_EQ(heads("llama-sequence"), std::vector<std::string>{"score"});
  EXPECT_EQ(heads("llama-question"), std::vector<std::string>{"qa_outputs"});
  EXPECT_EQ(heads("modernbert-sequence"), (std::vector<std::string>{"classifier", "head"}));
}

// The embedding of a classifier was not trained as an output head, though the configuration ties them.
TEST(Variants, ATiedHeadOfAnotherTaskIsLeftOutWithAWarning) {
  for (const char* const name : {"gpt2-model", "gpt2-question", "gemma2-sequence"}) {
    const auto model = test::open_model(variants("tasks") / name);
    EXPECT_TRUE(warns(model->info(), "no output head")) << name;
  }
}

TEST(Variants, AnOutputHeadThatIsNamedAndMissingIsAnError) {
  const CopiedFolder folder(variants("tasks") / "bert-sequence");
  folder.change("config.json", [](json& config) { config["architectures"] = {"BertForMaskedLM"}; });
  EXPECT_TRUE(contains(folder.error(), "cls.predictions")) << folder.error();
}

// Only heads may lie beside the layers: a tensor of a layer that nothing reads is unexpected.
TEST(Variants, AHeadsNameInsideALayerIsUnexpected) {
  const CopiedFolder folder(variants("tasks") / "llama-sequence");
  folder.change_tensors("model.safetensors", [](test::Tensors& tensors) {
    tensors["model.layers.0.mlp.score.weight"] = at::ones({2, 2});
  });
  const auto model = test::open_model(folder.path());
  EXPECT_EQ(model->info().unexpected, std::vector<std::string>{"model.layers.0.mlp.score.weight"});
}

// ---- names of wrappers

TEST(Variants, NamesOfWrappersAreLeftOut) {
  const test::Golden golden("variants/tasks/llama-sequence/expected");
  for (const std::string prefix : {"_orig_mod.", "module.", "net.", "model._orig_mod.", "module.net.model.",
                                   "_fsdp_wrapped_module.module._orig_mod."}) {
    SCOPED_TRACE(prefix);
    const CopiedFolder folder(variants("tasks") / "llama-sequence");
    folder.change_tensors("model.safetensors", [&](test::Tensors& tensors) {
      test::Tensors wrapped;
      for (const auto& [name, value] : tensors) {
        wrapped[prefix + name] = value;
      }
      tensors = wrapped;
    });
    const auto model = test::open_model(folder.path());
    ASSERT_NE(model, nullptr);
    expect_same(*model, golden);
    EXPECT_TRUE(prefix == "module." || warns(model->info(), "left out of the names of tensors"));
  }
}

TEST(Variants, ComponentsOfWrappersAreLeftOutInsideNames) {
  const CopiedFolder folder(variants("tasks") / "llama-sequence");
  const auto rename = [](test::Tensors& tensors, const std::string& after) {
    test::Tensors wrapped;
    for (const auto& [name, value] : tensors) {
      const std::size_t at = name.find(".self_attn");
      wrapped[at == std::string::npos ? name : name.substr(0, at) + after + name.substr(at)] = value;
    }
    tensors = wrapped;
  };
  folder.change_tensors("model.safetensors", [&](test::Tensors& tensors) { rename(tensors, "._orig_mod"); });
  expect_same(*test::open_model(folder.path()), test::Golden("variants/tasks/llama-sequence/expected"));
  // Other components stay, and nothing is guessed.
  const CopiedFolder other(variants("tasks") / "llama-sequence");
  other.change_tensors("model.safetensors", [&](test::Tensors& tensors) { rename(tensors, ".inner"); });
  EXPECT_TRUE(contains(other.error(), "self_attn.q_proj")) << other.error();
}

TEST(Variants, FourPrefixesOrTwoTensorsOfOneNameAreErrors) {
  const CopiedFolder folder(variants("tasks") / "llama-model");
  folder.change_tensors("model.safetensors", [](test::Tensors& tensors) {
    test::Tensors wrapped;
    for (const auto& [name, value] : tensors) {
      wrapped["a.b.c.d." + name] = value;
    }
    tensors = wrapped;
  });
  EXPECT_TRUE(contains(folder.error(), "embed_tokens.weight")) << folder.error();
  const CopiedFolder twice(variants("tasks") / "llama-model");
  twice.change_tensors("model.safetensors",
                       [](test::Tensors& tensors) { tensors["_orig_mod.norm.weight"] = at::ones({16}); });
  EXPECT_TRUE(contains(twice.error(), "expected every name once")) << twice.error();
}

// ---- sentence-transformers

TEST(Variants, SentenceTransformersGiveTheTextsVector) {
  for (const std::string& name : names_in("sentence")) {
    SCOPED_TRACE(name);
    const auto model = test::open_model(variants("sentence") / name);
    ASSERT_NE(model, nullptr);
    const test::Golden golden("variants/sentence/" + name + "/expected");
    EXPECT_FALSE(model->info().head);
    EXPECT_FALSE(model->info().pooling.empty());
    models::Input input;
    input.ids = test::ids_of(golden["input_ids"]);
    const auto trace = model->run(input);  // as the window runs it: states of all tokens are kept for the vector
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    const models::SentenceVector sentence = (*trace)->sentence();
    EXPECT_CLOSE(at::tensor(sentence.values), golden["vector"], kVariantsTolerance);
    EXPECT_EQ(sentence.weights.size(), input.ids->size());
    EXPECT_NEAR(models::cosine_similarity(sentence.values, sentence.values), 1, 1e-6);
  }
}

TEST(Variants, SentenceTransformersWeighTokens) {
  const auto weights = [](const std::string& name) {
    const auto model = test::open_model(variants("sentence") / name);
    models::Input input;
    input.ids = std::vector<std::int64_t>{5, 6, 7, 8};
    return (*model->run(input))->sentence().weights;
  };
  EXPECT_EQ(weights("mean-normalised"), (std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F}));
  EXPECT_EQ(weights("cls-dense"), (std::vector<float>{1, 0, 0, 0}));
  EXPECT_EQ(weights("last"), (std::vector<float>{0, 0, 0, 1}));
  // The mean of (t + 1)/10 and 1/√4.
  const std::vector<float> both = weights("weighted");
  for (std::size_t t = 0; t < both.size(); ++t) {
    EXPECT_NEAR(both[t], (0.1 * static_cast<double>(t + 1) + 0.5) / 2, 1e-6);
  }
}

TEST(Variants, SentenceTransformersOfOtherModulesOpenWithoutAVector) {
  const CopiedFolder folder(variants("sentence") / "mean-normalised");
  folder.change("modules.json",
                [](json& modules) { modules[2]["type"] = "sentence_transformers.models.WeightedLayerPooling"; });
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().pooling.empty());
  EXPECT_TRUE(warns(model->info(), "WeightedLayerPooling"));
}

TEST(Variants, SentenceTransformersNameAPromptThatIsNotAdded) {
  const CopiedFolder folder(variants("sentence") / "last");
  folder.write("config_sentence_transformers.json", {{"default_prompt_name", "query"}});
  EXPECT_TRUE(warns(test::open_model(folder.path())->info(), "default_prompt_name"));
}

TEST(Variants, DamagedSentenceTransformersAreRefused) {
  const auto refused = [](const std::string& name, const std::string& file, const std::function<void(json&)>& change,
                          const std::string& naming) {
    const CopiedFolder folder(variants("sentence") / name);
    folder.change(file, change);
    EXPECT_TRUE(contains(folder.error(), naming)) << folder.error();
  };
  refused(
      "mean-normalised", "modules.json", [](json& modules) { modules[1]["path"] = "../1_Pooling"; }, "path");
  refused(
      "mean-normalised", "modules.json", [](json& modules) { modules = json::array(); }, "modules");
  refused(
      "mean-normalised", "modules.json", [](json& modules) { modules = json::object(); }, "a list");
  refused(
      "mean-normalised", "1_Pooling/config.json", [](json& config) { config["word_embedding_dimension"] = 17; },
      "word_embedding_dimension: expected 16");
  refused(
      "mean-normalised", "1_Pooling/config.json", [](json& config) { config["pooling_mode_mean_tokens"] = false; },
      "expected a pooling mode");
  refused(
      "cls-dense", "2_Dense/config.json", [](json& config) { config["in_features"] = 15; }, "in_features");
  refused(
      "cls-dense", "2_Dense/config.json", [](json& config) { config["out_features"] = 6; }, "linear.weight");
}

// ---- adapters

TEST(Variants, AdaptersGiveTheAdaptedModel) {
  for (const char* const name : {"lora", "rslora", "dora", "ia3", "lora-gpt2"}) {
    SCOPED_TRACE(name);
    const auto model = test::open_model(variants("adapters") / name);
    ASSERT_NE(model, nullptr);
    expect_same(*model, test::Golden(std::string("variants/adapters/") + name + "/expected"));
    EXPECT_EQ(model->info().name, name);
    EXPECT_TRUE(warns(model->info(), " modules, on "));
  }
}

TEST(Variants, AnAdaptersBaseMayBeNamed) {
  const CopiedFolder folder(variants("adapters") / "lora");
  folder.change("adapter_config.json", [](json& config) { config["base_model_name_or_path"] = "nobody/nothing"; });
  EXPECT_TRUE(contains(folder.error(), "base_model_name_or_path: expected the base model")) << folder.error();
  models::OpenOptions options;
  options.base = variants("adapters") / "base";
  const auto model = test::open_model(folder.path(), options);
  ASSERT_NE(model, nullptr);
  expect_same(*model, test::Golden("variants/adapters/lora/expected"));
  options.base = variants("adapters") / "lora";
  EXPECT_TRUE(contains(folder.error(options), "another adapter")) << folder.error(options);
  options.base = variants("adapters") / "base-gpt2";
  EXPECT_TRUE(contains(folder.error(options), "expected a tensor of this name in the base")) << folder.error(options);
}

// The head of a value, and an embedding that was trained with the adapter.
TEST(Variants, TensorsThatAnAdapterStoresWholeReplaceTheBases) {
  const CopiedFolder folder(variants("adapters") / "lora");
  folder.change("adapter_config.json",
                [](json& config) { config["base_model_name_or_path"] = (variants("adapters") / "base").string(); });
  const at::Tensor head = at::arange(40 * 16, at::kFloat).reshape({40, 16}) / 640;
  folder.change_tensors("adapter_model.safetensors", [&](test::Tensors& tensors) {
    tensors["base_model.model.lm_head.modules_to_save.weight"] = head;
    tensors["base_model.model.score.weight"] = at::ones({2, 16});
  });
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->info().task_heads, std::vector<std::string>{"score"});
  const test::Golden golden("variants/adapters/lora/expected");
  const auto trace = run(*model, golden);
  EXPECT_GT((test::recorded(*trace).logits - golden["logits"]).abs().max().item<float>(), 0.1);
}

TEST(Variants, DamagedAdaptersAreRefused) {
  const auto refused = [](const std::string& name, const std::function<void(json&)>& change,
                          const std::function<void(test::Tensors&)>& change_tensors, const std::string& naming) {
    const CopiedFolder folder(variants("adapters") / name);
    folder.change("adapter_config.json", [&](json& config) {
      config["base_model_name_or_path"] = (variants("adapters") / "base").string();
      change(config);
    });
    folder.change_tensors("adapter_model.safetensors", change_tensors);
    EXPECT_TRUE(contains(folder.error(), naming)) << folder.error();
  };
  const auto same = [](auto& /*value*/) {};
  const std::string query = "base_model.model.model.layers.0.self_attn.q_proj.";
  refused(
      "lora", [](json& config) { config["peft_type"] = "LOHA"; }, same, "peft_type: expected LORA or IA3");
  refused(
      "lora", [](json& config) { config["r"] = 4; }, same, "expected shape [4, ");
  refused(
      "lora", [](json& config) { config["r"] = 0; }, same, "field r");
  refused(
      "lora", [](json& config) { config["use_dora"] = true; }, same, "lora_magnitude_vector");
  refused(
      "dora", [](json& config) { config["use_dora"] = false; }, same, "lora_magnitude_vector");
  refused(
      "lora", [](json& config) { config["lora_bias"] = true; }, same, "lora_bias");
  refused(
      "lora", [](json& config) { config["init_lora_weights"] = "pissa_niter_4"; }, same, "init_lora_weights");
  refused(
      "lora",
      [](json& config) {
        config["layer_replication"] = {{0, 1}};
      },
      same, "layer_replication");
  refused(
      "lora",
      [](json& config) {
        config["rank_pattern"] = {{".*q_proj", 2}};
      },
      same, "rank_pattern");
  refused(
      "lora",
      [](json& config) {
        config["alpha_pattern"] = {{"q_proj", "two"}};
      },
      same, "alpha_pattern");
  refused(
      "lora", same, [&](test::Tensors& tensors) { tensors.erase(query + "lora_B.weight"); }, "lora_A and lora_B");
  refused(
      "lora", same,
      [&](test::Tensors& tensors) {
        tensors[query + "lora_B.weight"] = at::ones({15, 3});
      },
      "expected shape [16, 3], found [15, 3]");
  refused(
      "lora", same, [&](test::Tensors& tensors) { tensors[query + "lora_x"] = at::ones({2}); }, "lora_x");
  refused(
      "lora", same,
      [](test::Tensors& tensors) {
        tensors = {{"base_model.model.x", at::ones({2})}};
      },
      "expected tensors of LoRA");
  refused(
      "ia3", same,
      [](test::Tensors& tensors) {
        tensors.begin()->second = at::ones({3, 1});
      },
      "expected shape");
}

TEST(Variants, FieldsOfAnAdapterThatNothingReadsAreNamed) {
  const CopiedFolder folder(variants("adapters") / "lora");
  folder.change("adapter_config.json", [](json& config) {
    config["base_model_name_or_path"] = (variants("adapters") / "base").string();
    config["new_kind_of_factor"] = 3;
  });
  EXPECT_TRUE(warns(test::open_model(folder.path())->info(), "not used: new_kind_of_factor"));
}

// ---- files of the authors of Llama and Mistral

TEST(Variants, NativeNamesGiveTheSameModel) {
  for (const char* const name : {"meta", "mistral"}) {
    SCOPED_TRACE(name);
    const auto model = test::open_model(variants("native") / name);
    ASSERT_NE(model, nullptr);
    expect_same(*model, test::Golden(std::string("variants/native/") + name + "/expected"));
  }
  const auto file = test::open_model(variants("native") / "mistral" / "consolidated.safetensors");
  expect_same(*file, test::Golden("variants/native/mistral/expected"));
}

TEST(Variants, NativeNamesAreConvertedOnlyWithTheirRowsInOrder) {
  const test::TemporaryFolder place;
  models::ConvertOptions options;
  options.to = "F32";
  options.out = place.path() / "model.safetensors";
  const auto refused = models::convert(variants("native") / "mistral", options);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(contains(refused.error().describe(), "rows of pairs")) << refused.error().describe();
  options.out = place.path() / "model.gguf";
  const auto written = models::convert(variants("native") / "mistral", options);
  ASSERT_TRUE(written.ok()) << written.error().describe();
  expect_same(*test::open_model(options.out), test::Golden("variants/native/mistral/expected"));
}

TEST(Variants, DamagedNativeFilesAreRefused) {
  const auto refused = [](const std::string& field, const json& value, const std::string& naming) {
    const CopiedFolder folder(variants("native") / "mistral");
    folder.change("params.json", [&](json& params) { params[field] = value; });
    EXPECT_TRUE(contains(folder.error(), naming)) << folder.error();
  };
  refused("moe", {{"num_experts", 8}}, "field moe");
  refused("dim", 0, "field dim");
  refused("dim", "wide", "field dim");
  refused("n_heads", 0, "field n_heads");
  refused("head_dim", 3, "head_dim");
  refused("hidden_dim", 25, "expected shape");
  refused("sliding_window", json::array({1, 2}), "sliding_window");
  const CopiedFolder parts(variants("native") / "meta");
  fs::copy_file(variants("native") / "meta" / "consolidated.01.pth", parts.path() / "consolidated.02.pth");
  EXPECT_TRUE(contains(parts.error(), "expected")) << parts.error();
  const CopiedFolder one(variants("native") / "meta");
  fs::remove(one.path() / "consolidated.01.pth");
  EXPECT_TRUE(contains(one.error(), "expected shape")) << one.error();
  const CopiedFolder names(variants("native") / "mistral");
  names.change_tensors("consolidated.safetensors",
                       [](test::Tensors& tensors) { tensors.erase("tok_embeddings.weight"); });
  EXPECT_TRUE(contains(names.error(), "tok_embeddings.weight")) << names.error();
}

// ---- the text of composite models

// A composite of the adapters' base and a tower, whose tensors begin with `prefix`.
void compose(const CopiedFolder& folder, const std::string& type, const std::string& prefix, const std::string& head) {
  folder.change("config.json", [&](json& config) {
    config.erase("architectures");
    config = json{{"model_type", type},
                  {"text_config", config},
                  {"vision_config", {{"model_type", "an_unknown_tower"}, {"hidden_size", 4}}},
                  {"image_token_id", 5}};
  });
  folder.change_tensors("model.safetensors", [&](test::Tensors& tensors) {
    test::Tensors named;
    for (const auto& [name, value] : tensors) {
      const bool is_head = name.starts_with("lm_head");
      named[is_head ? head + name : prefix + name.substr(std::string("model.").size())] = value;
    }
    named["model.visual.blocks.0.weight"] = at::ones({3, 4});
    named["multi_modal_projector.linear.weight"] = at::ones({16, 4});
    tensors = named;
  });
}

TEST(Variants, CompositesOfUnknownTowersOpenTheirText) {
  struct Composite {
    const char* type;
    const char* prefix;
    const char* head;
  };
  for (const auto& [type, prefix, head] : {Composite{"a_new_type", "model.language_model.", ""},
                                           Composite{"a_new_type", "language_model.model.", "language_model."},
                                           Composite{"llava", "model.language_model.", ""},
                                           Composite{"llava", "language_model.model.", "language_model."}}) {
    SCOPED_TRACE(std::string(type) + " " + prefix);
    const CopiedFolder folder(variants("adapters") / "base");
    compose(folder, type, prefix, head);
    const auto model = test::open_model(folder.path());
    ASSERT_NE(model, nullptr);
    expect_same(*model, test::Golden("variants/adapters/base/expected"));
    EXPECT_EQ(model->info().vision_layers, 0);
    EXPECT_TRUE(warns(model->info(), "pictures are off"));
    EXPECT_TRUE(model->info().unexpected.empty());
  }
}

TEST(Variants, TheTextOfACompositeMayBeOfAFamilyFile) {
  const CopiedFolder folder(variants("adapters") / "base");
  compose(folder, "a_new_type", "model.language_model.", "");
  folder.change("config.json", [](json& config) { config["text_config"]["model_type"] = "iquestcoder"; });
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  expect_same(*model, test::Golden("variants/adapters/base/expected"));
}

TEST(Variants, CompositesOfAnUnknownTextAreRefused) {
  const CopiedFolder folder(variants("adapters") / "base");
  compose(folder, "a_new_type", "model.language_model.", "");
  folder.change("config.json", [](json& config) { config["text_config"]["model_type"] = "a_new_text"; });
  EXPECT_TRUE(contains(folder.error(), "a_new_type")) << folder.error();
}

// ---- files of other programs

TEST(Variants, FilesOfOtherProgramsAreRefusedWithWhatToDo) {
  const auto refusal = [](const std::vector<std::string>& files) {
    const test::TemporaryFolder folder;
    for (const std::string& file : files) {
      fs::create_directories((folder.path() / file).parent_path());
      folder.write(file, "x");
    }
    const auto model = models::open(folder.path());
    return model.ok() ? std::string("opens") : model.error().describe();
  };
  EXPECT_TRUE(contains(refusal({"config.json.bak", "zero_to_fp32.py", "global_step5/mp_rank_00_model_states.pt"}),
                       "zero_to_fp32.py . model"));
  EXPECT_TRUE(contains(refusal({"__0_0.distcp", ".metadata"}), "dcp_to_torch"));
  EXPECT_TRUE(contains(refusal({"mp_rank_00/model_optim_rng.pt"}), "Megatron"));
  EXPECT_TRUE(contains(refusal({"model.onnx"}), "download model.safetensors"));
  EXPECT_TRUE(contains(refusal({"openvino_model.xml", "openvino_model.bin"}), "OpenVINO"));
  // An export beside weights does not hide them.
  EXPECT_TRUE(contains(refusal({"model.onnx", "weights.pt"}), "weights.pt"));
  EXPECT_TRUE(contains(refusal({"tf_model.h5"}), "TensorFlow"));
  EXPECT_TRUE(contains(refusal({"flax_model.msgpack"}), "Flax"));
}

}  // namespace
}  // namespace locus
