// Whole models of GRAPE's authors (make_grape_models.py), in float32, and what is refused. Tolerance 1e-5.
#include <gtest/gtest.h>

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

constexpr double kGrapeTolerance = 1e-5;

Result<std::shared_ptr<const models::Model>> open_grape(const std::string& form, const TemporaryFolder& place,
                                                        const json& fields = json::object(),
                                                        const std::function<void(Tensors&)>& change = {}) {
  const fs::path folder = fs::path(source_dir()) / "tests" / "golden" / "families" / ("grape-" + form);
  json config = json::parse(std::ifstream(folder / "config.json"));
  config.update(fields);
  place.write("config.json", config.dump());
  Tensors tensors = with_prefix(Golden("families/grape-" + form + "/model"), "");
  if (change) {
    change(tensors);
  }
  write_tensors(place.path() / "model.safetensors", tensors);
  static const models::OpenOptions options;
  return locus::test::open(place.path(), options);
}

TEST(GrapeModels, GiveTheAuthorsLogits) {
  for (const std::string form :
       {"multiplicative", "contextual", "multiplicative-normed", "contextual-normed", "key", "query", "both", "path"}) {
    SCOPED_TRACE(form);
    const TemporaryFolder place;
    const Golden golden("families/grape-" + form + "/expected");
    const auto model = open_grape(form, place);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_EQ((*model)->info().first_encoding().name, "grape");
    EXPECT_EQ((*model)->info().warnings, std::vector<std::string>());
    EXPECT_TRUE((*model)->info().unexpected.empty());
    EXPECT_CLOSE(logits_of(**model, golden["input_ids"]), golden["logits"], kGrapeTolerance);
  }
}

// Files have one of the two names of the embedding, or both.
TEST(GrapeModels, OpenWithOneNameOfTheEmbedding) {
  for (const char* const name : {"lm_head.weight", "transformer.wte.weight"}) {
    const TemporaryFolder place;
    const Golden golden("families/grape-path/expected");
    const auto model = open_grape("path", place, json::object(), [&](Tensors& tensors) { tensors.erase(name); });
    ASSERT_TRUE(model.ok()) << model.error().describe();
    EXPECT_CLOSE(logits_of(**model, golden["input_ids"]), golden["logits"], kGrapeTolerance);
  }
}

TEST(GrapeModels, RefuseWhatIsComputedOtherwise) {
  struct Field {
    const char* form;
    const char* name;
    json value;
  };
  for (const Field& field : {Field{"multiplicative", "grape_share_across_heads", false},
                             Field{"multiplicative", "grape_learnable_freq", false},
                             Field{"both", "using_groupnorm", true}, Field{"key", "keygated_u_l2_norm", false},
                             Field{"query", "querygated_v_l2_norm", false}, Field{"path", "p_tie_mode", "pqtie"}}) {
    SCOPED_TRACE(std::string(field.form) + " " + field.name);
    const TemporaryFolder place;
    const auto model = open_grape(field.form, place, {{field.name, field.value}});
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(model.error().describe().find(field.name), std::string::npos) << model.error().describe();
  }
  // A model of the same repository with another encoding, which its files do not name.
  const TemporaryFolder place;
  const auto other = open_grape("path", place, json::object(), [](Tensors& tensors) {
    for (const char* const layer : {"0", "1"}) {
      tensors.erase(std::string("transformer.h.") + layer + ".attn.c_p.weight");
    }
  });
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(other.error().describe().find("form of GRAPE"), std::string::npos) << other.error().describe();
}

}  // namespace
}  // namespace locus::test
