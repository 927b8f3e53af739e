// Whole models of the forgetting transformer against its authors' code and flash-linear-attention (make_fox.py), in
// float32: the plain block, the Pro block, each of its parts alone and left out, and what is refused. Tolerance 1e-5.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kFoxTolerance = 1e-5;
constexpr std::array<const char*, 5> kParts{"qk_norm", "use_output_gate", "use_output_norm", "use_k_shift",
                                            "use_v_shift"};

// A folder of tests/golden/families with other fields or tensors.
class Changed {
 public:
  explicit Changed(const std::string& name, const json& fields = json::object(),
                   const std::function<void(Tensors&)>& change = {}) {
    const fs::path folder = fs::path(source_dir()) / "tests" / "golden" / "families" / name;
    json config = json::parse(std::ifstream(folder / "config.json"));
    config.update(fields);
    folder_.write("config.json", config.dump());
    Tensors tensors = with_prefix(Golden("families/" + name + "/model"), "");
    if (change) {
      change(tensors);
    }
    write_tensors(folder_.path() / "model.safetensors", tensors);
  }

  Result<std::shared_ptr<const models::Model>> open() const {
    static const models::OpenOptions options;
    return locus::test::open(folder_.path(), options);
  }

 private:
  TemporaryFolder folder_;
};

TEST(FoxModels, GiveTheAuthorsLogits) {
  for (const std::string name : {"fox", "fox-pro", "fox-rope", "forgetting_transformer"}) {
    SCOPED_TRACE(name);
    const Golden golden("families/" + name + "/expected");
    const Changed folder(name);
    const auto model = folder.open();
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_EQ((*model)->info().first_encoding().name, "fox");
    EXPECT_EQ((*model)->info().warnings, std::vector<std::string>());
    EXPECT_CLOSE(logits_of(**model, golden["input_ids"]), golden["logits"], kFoxTolerance);
  }
}

TEST(FoxModels, GiveTheAuthorsLogitsWithSomePartsOfTheProBlock) {
  const Golden golden("fox_models");
  const at::Tensor ids = Golden("families/fox-pro/expected")["input_ids"];
  EXPECT_EQ(golden.arrays().size(), 12U);
  for (const auto& [name, logits] : golden.arrays()) {
    SCOPED_TRACE(name);
    const std::string flags = name.substr(name.rfind('.') + 1);
    ASSERT_EQ(flags.size(), kParts.size());
    json fields;
    for (std::size_t n = 0; n < kParts.size(); ++n) {
      fields[kParts[n]] = flags[n] == '1';
    }
    const Changed some("fox-pro", fields, [&](Tensors& tensors) {
      Tensors kept;
      for (const auto& [tensor, value] : tensors) {
        const auto has = [&](const char* part) { return tensor.find(part) != std::string::npos; };
        const bool shifted =
            has("attn.k_proj.") ? fields["use_k_shift"].get<bool>() : fields["use_v_shift"].get<bool>();
        if ((has("q_norm") || has("k_norm")) ? !fields["qk_norm"].get<bool>()
            : has("ogate_proj")              ? !fields["use_output_gate"].get<bool>()
            : has("output_norm")             ? !fields["use_output_norm"].get<bool>()
                                             : has("shift_proj") && !shifted) {
          continue;
        }
        const std::size_t linear = shifted ? std::string::npos : tensor.find(".linear");
        kept[linear == std::string::npos ? tensor : std::string(tensor).erase(linear, 7)] = value;
      }
      tensors = kept;
    });
    const auto model = some.open();
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_CLOSE(logits_of(**model, ids), logits, kFoxTolerance);
  }
}

TEST(FoxModels, RefuseWhatWasNotCompared) {
  struct Field {
    const char* folder;
    const char* name;
    json value;
  };
  for (const Field& field :
       {Field{"fox-pro", "fgate_type", "bias_only"}, Field{"fox-pro", "fgate_type", "none"},
        Field{"fox-pro", "ogate_act", "silu"}, Field{"fox-pro", "qk_norm_share_param_across_head", true},
        Field{"fox-pro", "num_kv_heads", 1}, Field{"fox-pro", "window_size", 8},
        Field{"fox-pro", "attention_bias", true}, Field{"fox-pro", "hidden_act", "sigmoid"},
        Field{"forgetting_transformer", "window_size", 8}, Field{"forgetting_transformer", "qkv_bias", true},
        Field{"forgetting_transformer", "attnres_block_size", 2}, Field{"forgetting_transformer", "use_rope", true},
        Field{"forgetting_transformer", "hidden_act", "powlu"}}) {
    SCOPED_TRACE(std::string(field.folder) + " " + field.name);
    const auto model = Changed(field.folder, {{field.name, field.value}}).open();
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(model.error().describe().find(field.name), std::string::npos) << model.error().describe();
  }
}

// A norm of q and k is stored as one row for all heads.
TEST(FoxModels, RefuseTensorsThatDoNotFit) {
  const std::string norm = "model.layers.1.attn.q_norm.weight";
  for (const std::int64_t size : {16, 24, 31, 48}) {
    const auto model =
        Changed("fox-pro", json::object(), [&](Tensors& tensors) { tensors.at(norm) = at::ones({size}); }).open();
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(model.error().code, ErrorCode::kBadInput);
    EXPECT_NE(model.error().describe().find(norm), std::string::npos) << model.error().describe();
  }
  for (const char* const part : kParts) {
    EXPECT_FALSE(Changed("fox", {{part, true}}).open().ok()) << part;
  }
}

// Tensors of a part that the configuration does not have are named.
TEST(FoxModels, NameTensorsThatAreNotRead) {
  for (const char* const part : kParts) {
    const auto model = Changed("fox-pro", {{part, false}}).open();
    ASSERT_TRUE(model.ok()) << part << ": " << model.error().describe();
    EXPECT_FALSE((*model)->info().unexpected.empty()) << part;
  }
}

// Without intermediate_size the width is the next multiple of 256.
TEST(FoxModels, DeriveTheInnerWidth) {
  for (const std::string name : {"fox", "forgetting_transformer", "path_attn"}) {
    SCOPED_TRACE(name);
    const auto model = Changed(name, {{"intermediate_size", nullptr}, {"hidden_ratio", 4}}, [](Tensors& tensors) {
                         for (auto& [tensor, value] : tensors) {
                           if (tensor.find("mlp.") == std::string::npos) {
                             continue;
                           }
                           const bool both = tensor.find("gate_proj") != std::string::npos && value.size(0) == 96;
                           const bool down = tensor.find("down_proj") != std::string::npos;
                           value = down ? at::ones({value.size(0), 256}) : at::ones({both ? 512 : 256, value.size(1)});
                         }
                       }).open();
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  }
}

}  // namespace
}  // namespace locus::test
