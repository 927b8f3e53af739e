// Fields of vision-language checkpoints as transformers saves them: other values give what the library gives, or are
// refused by name; experts stacked in two tensors; the text half alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/engine/trace/recorded_trace.h"
#include "models/image/video.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kFieldsTolerance = 4e-4;  // that of families_vlm_test.cpp for these folders

// A copy of tests/golden/families-vlm/FAMILY whose config.json and tensors may be changed.
class ChangedVlm {
 public:
  explicit ChangedVlm(const std::string& family) : family_(family) {
    for (const auto& entry : fs::directory_iterator(test::pictured_folder(family))) {
      if (entry.path().filename() != "expected.safetensors") {
        fs::copy(entry.path(), place_.path());
      }
    }
  }

  const fs::path& path() const { return place_.path(); }

  void config(const std::function<void(json&)>& change) const {
    std::ifstream file(place_.path() / "config.json");
    json config = json::parse(file);
    change(config);
    place_.write("config.json", config.dump());
  }

  void tensors(const std::function<test::Tensors(const test::Tensors&)>& change) const {
    fs::remove(place_.path() / "model.safetensors");
    test::write_tensors(place_.path() / "model.safetensors",
                        change(test::Golden("families-vlm/" + family_ + "/model").arrays()));
  }

  // The error of opening it; "" where it opens.
  std::string error() const {
    const auto model = test::open(place_.path());
    return model.ok() ? "" : model.error().describe();
  }

  // The logits of its own ids and pixels.
  at::Tensor logits() const {
    const auto model = test::open_model(place_.path());
    const auto input = test::pictured_input(family_);
    if (model == nullptr || !input.ok()) {
      return {};
    }
    EXPECT_TRUE(model->info().unexpected.empty());
    EXPECT_TRUE(model->info().warnings.empty());
    models::RunOptions options;
    options.all_logits = true;
    const auto trace = model->run(*input, options);
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
    return trace.ok() ? test::recorded(**trace).logits : at::Tensor();
  }

 private:
  std::string family_;
  test::TemporaryFolder place_;
};

// config.json's neighbour as transformers 5 writes it, with these fields of the processor.
void write_processor(const ChangedVlm& changed, const std::string& family, const std::string& part) {
  std::ifstream file(test::pictured_folder(family) / "preprocessor_config.json");
  const json fields = json::parse(file);
  fs::remove(changed.path() / "processor_config.json");
  std::ofstream(changed.path() / "processor_config.json")
      << json{{part, fields}, {"processor_class", "AProcessor"}}.dump();
}

json& sections_of(json& config) {
  return config["text_config"]["rope_parameters"]["mrope_section"];
}

// Interleaved sections end with the pairs that turn; a file may leave them out.
TEST(FamiliesVlmFields, SectionsOfQwen35EndWithThePairsThatTurn) {
  const test::Golden golden("families-vlm/qwen3_5/expected");
  for (const json& sections : {json{9, 2, 1}, json{0, 2, 1}, json{3, 20, 1}}) {
    SCOPED_TRACE(sections.dump());
    const ChangedVlm changed("qwen3_5");
    changed.config([&](json& config) { sections_of(config) = sections; });
    EXPECT_CLOSE(changed.logits(), golden["logits"], kFieldsTolerance);
  }
  for (const json& sections : {json(), json{2, 2, 2}, json{11, 11, 10}}) {
    SCOPED_TRACE(sections.dump());
    const ChangedVlm changed("qwen3_5");
    changed.config([&](json& config) {
      if (sections.is_null()) {
        config["text_config"]["rope_parameters"].erase("mrope_section");
      } else {
        sections_of(config) = sections;
      }
    });
    EXPECT_CLOSE(changed.logits(), golden["logits.without_sections"], kFieldsTolerance);
  }
}

struct RefusedField {
  const char* family;
  const char* at;     // JSON pointer
  const char* value;  // JSON; empty: taken out
  const char* named;  // a part of the error
};

TEST(FamiliesVlmFields, WrongOnesAreRefusedByName) {
  const std::vector<RefusedField> all{
      {"qwen3_5", "/text_config/rope_parameters/mrope_section", "[3, 2]", "sections"},
      {"qwen3_5", "/text_config/rope_parameters/mrope_section", "[3, -1, 4]", "sections"},
      {"qwen3_5", "/text_config/rope_parameters/mrope_section", "[3.5, 1.5, 1]", "sections"},
      {"qwen3_5", "/text_config/rope_parameters/mrope_section", "\"3, 2, 1\"", "mrope_section"},
      {"qwen3_5", "/text_config/attn_output_gate", "false", "attn_output_gate"},
      {"qwen3_5", "/vision_config/rope_parameters/rope_type", "\"yarn\"", "rope_type"},
      {"qwen3_5", "/vision_config/rope_parameters/rope_theta", "\"100\"", "rope_theta"},
      {"qwen3_5", "/vision_config/rope_parameters/rope_theta", "0", "base"},
      {"qwen3_5", "/vision_config/num_position_embeddings", "24", "num_position_embeddings"},
      {"qwen3_5", "/vision_config/spatial_merge_size", "0", "expected"},
      {"qwen3_5", "/image_token_id", "", "image_token_id"},
      {"qwen3_5", "/image_token_id", "-1", "image_token_id"},
      {"qwen3_5", "/video_token_id", "\"x\"", "video_token_id"},
      {"qwen3_5_moe", "/text_config/num_experts_per_tok", "5", "expected"},
      {"qwen3_vl_moe", "/text_config/num_experts_per_tok", "5", "expected"},
      {"qwen3_vl_moe", "/text_config/moe_intermediate_size", "", "moe_intermediate_size"},
      {"qwen3_vl_moe", "/text_config/moe_intermediate_size", "20", "experts"},
      {"qwen3_vl_moe", "/text_config/rope_parameters/mrope_section", "", "mrope_section"},
      {"qwen3_vl_moe", "/vision_config/deepstack_visual_indexes", "[0, 3]", "deepstack_visual_indexes"},
      {"glm4v_moe", "/text_config/use_qk_norm", "true", "use_qk_norm"},
      {"glm4v_moe", "/text_config/rope_parameters/mrope_section", "[3, 1, 3]", "sections"},
      {"glm4v_moe", "/text_config/rope_parameters/mrope_section", "", "mrope_section"},
      {"glm4v_moe", "/text_config/n_group", "3", "groups"},
      {"glm4v_moe", "/text_config/num_experts_per_tok", "5", "expected"},
      {"glm4v_moe", "/text_config/first_k_dense_replace", "-1", "first_k_dense_replace"},
      {"glm46v", "/text_config/rope_parameters/mrope_section", "[2, 4, 3]", "sections"},
      {"glm46v", "/text_config/rope_parameters/mrope_section", "", "mrope_section"},
      {"glm46v", "/text_config/rope_parameters/partial_rotary_factor", "0.5", "sections"},
      {"glm46v", "/vision_config/rope_parameters/rope_type", "\"linear\"", "rope_type"},
      {"glm46v", "/vision_config/intermediate_size", "0", "intermediate_size"},
      {"lfm2_vl", "/downsample_factor", "0", "downsample_factor"},
      {"lfm2_vl", "/downsample_factor", "65", "downsample_factor"},
      {"lfm2_vl", "/projector_hidden_size", "0", "projector_hidden_size"},
      {"lfm2_vl", "/projector_hidden_act", "\"swish2\"", "projector_hidden_act"},
      {"lfm2_vl", "/projector_use_layernorm", "1", "projector_use_layernorm"},
      {"lfm2_vl", "/projector_bias", "\"no\"", "projector_bias"},
      {"lfm2_vl", "/image_token_id", "", "image_token_id"},
      {"lfm2_vl", "/vision_feature_layer", "-2", "vision_feature_layer"},
      {"lfm2_vl", "/use_image_special_tokens", "false", "use_image_special_tokens"},
      {"lfm2_vl", "/vision_config/num_patches", "24", "num_patches"},
      {"lfm2_vl", "/vision_config/model_type", "3", "model_type"},
      {"lfm2_vl", "/text_config/layer_types", "[\"conv\"]", "layer_types"},
      {"lfm2_vl", "/text_config/conv_L_cache", "0", "conv_L_cache"},
      {"lfm2_vl", "/text_config/model_type", "\"lfm9\"", "model_type"},
      {"gemma3", "/text_config/use_bidirectional_attention", "true",
       "text_config.use_bidirectional_attention: expected false, found true"},
      {"gemma3", "/text_config/use_bidirectional_attention", "1", "use_bidirectional_attention"},
      {"gemma3", "/text_config/is_causal", "false", "text_config.is_causal: expected true, found false"},
      {"gemma4", "/vision_config/rope_parameters/rope_type", "\"yarn\"", "rope_type"},
      {"gemma4", "/vision_config/rope_parameters/rope_theta", "1", "base"},
      {"gemma4", "/vision_config/head_dim", "10", "expected"},
      {"gemma4", "/vision_config/num_key_value_heads", "3", "kv_heads"},
      {"gemma4", "/vision_config/hidden_activation", "\"other\"", "activation other"},
      {"gemma4", "/vision_config/patch_size", "5", "input_proj"},
      {"gemma4", "/vision_config/patch_size", "0", "patch"},
      {"gemma4", "/vision_config/position_embedding_size", "0", "position_embedding_size"},
      {"gemma4", "/vision_config/position_embedding_size", "11", "position_embedding_table"},
      {"gemma4", "/vision_config/pooling_kernel_size", "0", "pooling_kernel_size"},
      {"gemma4", "/vision_config/pooling_kernel_size", "65", "connector"},
      {"gemma4", "/vision_config/standardize", "1", "standardize"},
      {"gemma4", "/vision_config/use_clipped_linears", "\"no\"", "use_clipped_linears"},
      {"gemma4", "/text_config/pad_token_id", "76", "pad_token_id"},
      {"gemma4", "/text_config/pad_token_id", "-1", "pad_token_id"},
      {"gemma4", "/text_config/use_bidirectional_attention", "\"some\"", "use_bidirectional_attention"},
      {"gemma4", "/audio_token_id", "\"x\"", "audio_token_id"},
      {"gemma4", "/image_token_id", "", "image_token_id"},
  };
  for (const RefusedField& each : all) {
    SCOPED_TRACE(std::string(each.family) + " " + each.at + " " + each.value);
    const ChangedVlm changed(each.family);
    changed.config([&](json& config) {
      const json::json_pointer at(each.at);
      if (std::string(each.value).empty()) {
        config.at(at.parent_pointer()).erase(at.back());
      } else {
        config[at] = json::parse(each.value);
      }
    });
    const std::string error = changed.error();
    EXPECT_NE(error.find(each.named), std::string::npos) << error;
  }
}

// transformers 5 puts the processor's fields into one file, which comes before the older one.
TEST(FamiliesVlmFields, ProcessorsAreReadFromTheFileOfTransformers5) {
  for (const char* const name : {"qwen3_5", "glm46v"}) {
    SCOPED_TRACE(name);
    const std::string family = name;
    const test::Golden golden("families-vlm/" + family + "/expected");
    auto input = test::pictured_input(family, true);
    ASSERT_TRUE(input.ok()) << input.error().describe();
    const ChangedVlm changed(family);
    std::ofstream(changed.path() / "preprocessor_config.json") << R"({"size": {"height": 8, "width": 8}})";
    const auto other = test::open_model(changed.path());
    ASSERT_NE(other, nullptr);
    EXPECT_FALSE(other->run(*input, models::RunOptions{}).ok());  // pictures of one cell
    write_processor(changed, family, "image_processor");
    const auto model = test::open_model(changed.path());
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->info().warnings.empty());
    const auto trace = model->run(*input, models::RunOptions{});
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    EXPECT_CLOSE(test::recorded(**trace).pixels, golden["pixel_values"], 1e-6);
    write_processor(changed, family, "feature_extractor");  // of sound: the older file holds
    const auto sound = test::open_model(changed.path());
    ASSERT_NE(sound, nullptr);
    EXPECT_FALSE(sound->run(*input, models::RunOptions{}).ok());
    for (const char* const text : {"{", "[]", R"({"image_processor": 3})",
                                   R"({"image_processor": {"image_processor_type": "Glm46VImageProcessor",
                                       "size": {"shortest_edge": 9, "longest_edge": 4}}})"}) {
      SCOPED_TRACE(text);
      std::ofstream(changed.path() / "processor_config.json") << text;
      const auto unread = test::open_model(changed.path());
      ASSERT_NE(unread, nullptr);
      ASSERT_FALSE(unread->info().warnings.empty());
      EXPECT_NE(unread->info().warnings.front().find("processor_config.json"), std::string::npos);
      EXPECT_FALSE(unread->run(*input, models::RunOptions{}).ok());
    }
  }
}

TEST(FamiliesVlmFields, ProcessorsOfVideosAreReadFromTheFileOfTransformers5) {
  const auto read = image::parse_video_preprocessor(R"({"video_processor": {"fps": 4.0, "num_frames": 6}})",
                                                    "processor_config.json", image::VideoRule::kStamps);
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(read->fps, 4);
  EXPECT_EQ(read->count, 6);
  EXPECT_FALSE(
      image::parse_video_preprocessor(R"({"video_processor": 4})", "processor_config.json", image::VideoRule::kStamps)
          .ok());
}

// Fields of Gemma 4 that change what its pictures are; parts for sound are skipped by name.
TEST(FamiliesVlmFields, OtherFieldsOfGemma4GiveTheLibrarysLogits) {
  const test::Golden golden("families-vlm/gemma4/expected");
  const ChangedVlm causal("gemma4");
  causal.config([](json& config) { config["text_config"].erase("use_bidirectional_attention"); });
  EXPECT_CLOSE(causal.logits(), golden["logits.causal"], kFieldsTolerance);
  const ChangedVlm plain("gemma4");
  plain.config([](json& config) { config["vision_config"]["standardize"] = false; });
  EXPECT_CLOSE(plain.logits(), golden["logits.plain"], kFieldsTolerance);
  const ChangedVlm unbounded("gemma4");
  unbounded.config([](json& config) { config["vision_config"]["use_clipped_linears"] = false; });
  EXPECT_CLOSE(unbounded.logits(), golden["logits.unbounded"], kFieldsTolerance);
  const ChangedVlm heard("gemma4");
  heard.config([](json& config) { config["audio_config"] = {{"model_type", "gemma4_audio"}, {"hidden_size", 8}}; });
  heard.tensors([](const test::Tensors& tensors) {
    test::Tensors more = tensors;
    more["model.audio_tower.layers.0.norm_out.weight"] = at::ones({8});
    more["model.embed_audio.embedding_projection.weight"] = at::ones({32, 8});
    return more;
  });
  EXPECT_CLOSE(heard.logits(), golden["logits"], kFieldsTolerance);
  const ChangedVlm missing("gemma4");
  missing.tensors([](const test::Tensors& tensors) {
    test::Tensors fewer = tensors;
    fewer.erase("model.vision_tower.std_bias");
    return fewer;
  });
  EXPECT_NE(missing.error().find("std_bias"), std::string::npos) << missing.error();
}

// Where the processor counts other cells than the model, pictures are refused; pixels of the model's own still run.
TEST(FamiliesVlmFields, ProcessorsOfGemma4CountTheModelsCells) {
  auto pictures = test::pictured_input("gemma4", true);
  auto pixels = test::pictured_input("gemma4");
  ASSERT_TRUE(pictures.ok() && pixels.ok());
  for (const auto& [field, value, said] : std::vector<std::tuple<std::string, json, std::string>>{
           {"patch_size", 8, "patch_size: expected that of the model, 4, found 8"},
           {"patch_size", nullptr, "patch_size: expected that of the model, 4, found 16"},  // the library's default
           {"pooling_kernel_size", 2, "pooling_kernel_size: expected that of the model, 3, found 2"}}) {
    SCOPED_TRACE(said);
    const ChangedVlm changed("gemma4");
    std::ifstream file(test::pictured_folder("gemma4") / "preprocessor_config.json");
    json fields = json::parse(file);
    value.is_null() ? static_cast<void>(fields.erase(field)) : static_cast<void>(fields[field] = value);
    std::ofstream(changed.path() / "preprocessor_config.json") << fields.dump();
    const auto model = test::open_model(changed.path());
    ASSERT_NE(model, nullptr);
    ASSERT_FALSE(model->info().warnings.empty());
    EXPECT_NE(model->info().warnings.front().find(said), std::string::npos) << model->info().warnings.front();
    const auto refused = model->run(*pictures, models::RunOptions{});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().describe().find("preprocessor_config.json"), std::string::npos)
        << refused.error().describe();
    EXPECT_NE(refused.error().describe().find(said), std::string::npos) << refused.error().describe();
    EXPECT_TRUE(model->run(*pixels, models::RunOptions{}).ok());
  }
}

// Bounds of products: four numbers each, of which no largest is below its least.
TEST(FamiliesVlmFields, BoundsOfGemma4sTowerAreChecked) {
  const std::string product = "model.vision_tower.encoder.layers.1.mlp.up_proj.";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::tuple<std::string, at::Tensor, std::string>> wrong{
      {"input_max", at::Tensor(), "expected a tensor, found none"},
      {"output_min", at::ones({2}), "expected one number"},
      {"output_max", at::scalar_tensor(-5.0), "of at least the least"},
      {"input_min", at::scalar_tensor(nan), "expected a number"}};
  for (const auto& [name, value, said] : wrong) {
    SCOPED_TRACE(name);
    const ChangedVlm changed("gemma4");
    changed.tensors([&, name = name, value = value](const test::Tensors& tensors) {
      test::Tensors others = tensors;
      others.erase(product + name);
      if (value.defined()) {
        others[product + name] = value.to(at::kFloat);
      }
      return others;
    });
    const std::string error = changed.error();
    EXPECT_NE(error.find(product + name), std::string::npos) << error;
    EXPECT_NE(error.find(said), std::string::npos) << error;
  }
}

// Towers of another type, files without a tower: the text alone, with a warning that says why.
TEST(FamiliesVlmFields, Gemma4WithoutATowerThatIsReadIsItsText) {
  const ChangedVlm other("gemma4");
  other.config([](json& config) { config["vision_config"]["model_type"] = "another_tower"; });
  const ChangedVlm without("gemma4");
  without.config([](json& config) { config["vision_config"] = nullptr; });
  for (const auto& [changed, said] :
       {std::pair{&other, "another_tower"}, std::pair{&without, "without vision_config"}}) {
    SCOPED_TRACE(said);
    const auto model = test::open_model(changed->path());
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->info().vision_layers, 0);
    EXPECT_TRUE(model->info().unexpected.empty());
    ASSERT_FALSE(model->info().warnings.empty());
    EXPECT_NE(model->info().warnings.front().find(said), std::string::npos) << model->info().warnings.front();
  }
}

// A token of sound, or of a video, would have an embedding that the library does not read.
TEST(FamiliesVlmFields, TokensOfSoundAndVideosAreRefused) {
  const auto model = test::open_model(test::pictured_folder("gemma4"));
  ASSERT_NE(model, nullptr);
  for (const std::int64_t id : {73, 74}) {
    auto input = test::pictured_input("gemma4");
    ASSERT_TRUE(input.ok()) << input.error().describe();
    input->ids->push_back(id);
    const auto trace = model->run(*input, models::RunOptions{});
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(trace.error().describe().find("id " + std::to_string(id)), std::string::npos);
  }
}

// Published files stack the experts of a layer; the library saves them one by one.
TEST(FamiliesVlmFields, StackedExpertsOfQwen35) {
  const ChangedVlm changed("qwen3_5_moe");
  changed.tensors([](const test::Tensors& tensors) {
    test::Tensors stacked = tensors;
    for (int layer = 0; layer < 2; ++layer) {
      const std::string experts = "model.language_model.layers." + std::to_string(layer) + ".mlp.experts.";
      std::vector<at::Tensor> inner;
      std::vector<at::Tensor> outer;
      for (int n = 0; n < 4; ++n) {
        const std::string own = experts + std::to_string(n) + ".";
        inner.push_back(at::cat({tensors.at(own + "gate_proj.weight"), tensors.at(own + "up_proj.weight")}));
        outer.push_back(tensors.at(own + "down_proj.weight"));
        for (const char* const part : {"gate_proj.weight", "up_proj.weight", "down_proj.weight"}) {
          stacked.erase(own + part);
        }
      }
      stacked[experts + "gate_up_proj"] = at::stack(inner);
      stacked[experts + "down_proj"] = at::stack(outer);
    }
    return stacked;
  });
  EXPECT_CLOSE(changed.logits(), test::Golden("families-vlm/qwen3_5_moe/expected")["logits"], kFieldsTolerance);
}

// Published files have both matrices of an expert as inputs × outputs, transformers 5 saves outputs × inputs; the weights
// of chosen experts add up to 1 whatever the file says. Both as in the library, of which this was run too.
TEST(FamiliesVlmFields, ExpertsOfQwen3VlInEitherDirection) {
  const at::Tensor logits = test::Golden("families-vlm/qwen3_vl_moe/expected")["logits"];
  const ChangedVlm turned("qwen3_vl_moe");
  turned.tensors([](const test::Tensors& tensors) {
    test::Tensors others = tensors;
    for (const int layer : {0, 2}) {
      for (const char* const matrix : {"gate_up_proj", "down_proj"}) {
        at::Tensor& experts =
            others.at("model.language_model.layers." + std::to_string(layer) + ".mlp.experts." + matrix);
        experts = experts.transpose(1, 2).contiguous();
      }
    }
    return others;
  });
  EXPECT_CLOSE(turned.logits(), logits, kFieldsTolerance);
  const ChangedVlm plain("qwen3_vl_moe");
  plain.config([](json& config) { config["text_config"]["norm_topk_prob"] = false; });
  EXPECT_CLOSE(plain.logits(), logits, kFieldsTolerance);
}

// Where no field names the base of the text, it is that of the library's composite types (5.24), not of the texts alone.
TEST(FamiliesVlmFields, BasesOfQwensTextsWithoutAField) {
  for (const auto& [name, base] : {std::pair{"qwen2_vl", 1e6}, {"qwen2_5_vl", 1e6}, {"qwen3_vl", 5e5}}) {
    const auto logits = [name = name](const json& value) {
      const ChangedVlm changed(name);
      changed.config([&](json& config) {
        json& text = config.contains("text_config") ? config["text_config"] : config;
        text.erase("rope_theta");
        for (const char* block : {"rope_parameters", "rope_scaling"}) {
          if (text.contains(block) && text[block].is_object()) {
            text[block].erase("rope_theta");
          }
        }
        if (!value.is_null()) {
          text["rope_theta"] = value;
        }
      });
      return changed.logits();
    };
    const at::Tensor absent = logits(nullptr);
    EXPECT_TRUE(absent.equal(logits(base))) << name;
    EXPECT_FALSE(absent.equal(logits(10000.0))) << name;
  }
}

// The projector's norm and biases may be absent; towers of older files have one more component in their names.
TEST(FamiliesVlmFields, ProjectorsOfLfm2WithoutNormAndBiases) {
  const test::Golden golden("families-vlm/lfm2_vl/expected");
  const ChangedVlm plain("lfm2_vl");
  plain.config([](json& config) { config["projector_use_layernorm"] = config["projector_bias"] = false; });
  plain.tensors([](test::Tensors tensors) {
    for (const char* const name : {"layer_norm.weight", "layer_norm.bias", "linear_1.bias", "linear_2.bias"}) {
      EXPECT_EQ(tensors.erase("model.multi_modal_projector." + std::string(name)), 1U) << name;
    }
    return tensors;
  });
  EXPECT_CLOSE(plain.logits(), golden["logits.plain"], kFieldsTolerance);
  const ChangedVlm older("lfm2_vl");
  older.tensors([](const test::Tensors& tensors) {
    const std::string tower = "model.vision_tower.";
    test::Tensors renamed;
    for (const auto& [name, value] : tensors) {
      renamed[name.starts_with(tower) ? tower + "vision_model." + name.substr(tower.size()) : name] = value;
    }
    return renamed;
  });
  EXPECT_CLOSE(older.logits(), golden["logits"], kFieldsTolerance);
}

// The text of a type without a table is read alone, by the table of text_config: the same maps of a text without
// pictures.
TEST(FamiliesVlmFields, TheTextAloneIsTheSame) {
  for (const char* const family : {"qwen3_5", "qwen3_5_moe", "qwen3_vl_moe", "glm46v", "lfm2_vl", "gemma4"}) {
    SCOPED_TRACE(family);
    const ChangedVlm changed(family);
    changed.config([](json& config) { config["model_type"] = "a_new_type"; });
    const auto whole = test::open_model(test::pictured_folder(family));
    const auto text = test::open_model(changed.path());
    ASSERT_NE(whole, nullptr);
    ASSERT_NE(text, nullptr);
    EXPECT_GT(whole->info().vision_layers, 0);
    EXPECT_EQ(text->info().vision_layers, 0);
    models::Input input;
    input.ids = std::vector<std::int64_t>{1, 5, 9, 12, 30, 8, 21, 33, 40, 2, 17};
    const auto one = whole->run(input, models::RunOptions{});
    const auto other = text->run(input, models::RunOptions{});
    ASSERT_TRUE(one.ok()) << one.error().describe();
    ASSERT_TRUE(other.ok()) << other.error().describe();
    const models::TraceData first = test::recorded(**one);
    const models::TraceData second = test::recorded(**other);
    const auto map = models::whole_map(*first.layers.back().scores, attention::Quantity::kWeight);
    const auto same = models::whole_map(*second.layers.back().scores, attention::Quantity::kWeight);
    ASSERT_TRUE(map.ok());
    ASSERT_TRUE(same.ok());
    EXPECT_CLOSE(*same, *map, kFieldsTolerance);
  }
}

}  // namespace
}  // namespace locus
