// Folders of tests/golden/quantised: checkpoints with quantised weights, in the forms of published ones. make.py there
// remakes them; it unpacked the stored numbers by the formulas of the formats.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "core/products/packed.h"
#include "models/api/convert.h"
#include "models/api/weight_kinds.h"
#include "models/engine/read_checkpoint.h"
#include "models/families/engine/family.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using transformer::Storage;

constexpr double kQuantisedTolerance = 1e-4;

fs::path quantised(const std::string& name) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "quantised" / name;
}

struct Opened {
  families::CheckpointFiles checkpoint;
  std::unique_ptr<transformer::Transformer> model;
  transformer::WeightBinding binding;
};

Opened opened(const std::string& name, Storage storage) {
  const auto checkpoint = models::read_checkpoint(quantised(name), {});
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.error().describe();
  const auto plan = families::read_plan(**families::family_of(*checkpoint), *checkpoint);
  Opened made{*checkpoint, *transformer::Transformer::create(plan->spec, false), {}};
  made.binding = *transformer::bind_weights(*made.model, *plan, *checkpoint);
  EXPECT_TRUE(transformer::load(made.binding, storage).empty());
  return made;
}

at::Tensor logits(const transformer::Transformer& model, const at::Tensor& ids) {
  transformer::ObserveOptions options;
  options.all_logits = true;
  return model.observe({ids.unsqueeze(0), {}, model.positions(ids.size(0))}, options)->logits[0];
}

struct Form {
  const char* name;
  const char* type;      // as locus info names it
  bool blocks = true;    // whether large models keep it in blocks
  double bytes = 1.125;  // that a number may take in blocks
  bool mixed = false;    // whether some matrices are of other types
};

class Quantised : public testing::TestWithParam<Form> {};

// Every weight is what the stored numbers mean, to the last bit.
TEST_P(Quantised, WeightsAreThoseOfTheStoredNumbers) {
  const auto checkpoint = models::read_checkpoint(quantised(GetParam().name), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().describe();
  const auto digests = nlohmann::json::parse(std::ifstream(quantised(GetParam().name) / "weights.json"));
  ASSERT_GE(digests.size(), 4U);
  for (const auto& [name, digest] : digests.items()) {
    const formats::TensorInfo* const tensor = checkpoint->find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_TRUE(GetParam().mixed || tensor->type_name() == GetParam().type) << name << " " << tensor->type_name();
    const at::Tensor value = transformer::to_tensor(*tensor, checkpoint->tensors).contiguous();
    EXPECT_EQ(value.sizes().vec(), tensor->shape) << name;
    const std::string bytes(static_cast<const char*>(value.data_ptr()), value.nbytes());
    EXPECT_EQ(sha256(bytes), digest.get<std::string>()) << name;
  }
}

TEST_P(Quantised, ModelsGiveTheLibrarysLogits) {
  const auto model = test::open_model(quantised(GetParam().name));
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().unexpected.empty());
  EXPECT_TRUE(model->info().warnings.empty()) << model->info().warnings.front();
  EXPECT_EQ(model->info().dtype, GetParam().type);
  const test::Golden golden("quantised/" + std::string(GetParam().name) + "/expected");
  EXPECT_CLOSE(test::logits_of(*model, golden["input_ids"].unsqueeze(0)), golden["logits"], kQuantisedTolerance);
  const std::vector<models::WeightKind> kinds = models::weight_kinds(*model);
  EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(), [](const models::WeightKind& kind) {
    return kind.format == GetParam().type && kind.kind.find("up_proj") != std::string::npos;
  }));
}

// As large models hold them: in blocks, which take about the file's bytes.
TEST_P(Quantised, BlocksGiveTheNumbersOfExpandedOnes) {
  const Opened stored = opened(GetParam().name, Storage::kAsStored);
  const Opened converted = opened(GetParam().name, Storage::kConverted);
  double packed = 0;
  double numbers = 0;
  for (const transformer::Parameter& parameter : stored.model->parameters()) {
    if (const products::Packed* const matrix = products::packed_of(*parameter.value)) {
      packed += static_cast<double>(matrix->outputs * matrix->row_bytes());
      numbers += static_cast<double>(matrix->outputs * matrix->inputs);
    }
  }
  EXPECT_EQ(packed > 0, GetParam().blocks);
  EXPECT_LE(packed, GetParam().bytes * numbers);
  // They are memory of this process, not of the file.
  EXPECT_EQ(transformer::weight_bytes(stored.binding, Storage::kAsStored).stored, 0);
  EXPECT_EQ(transformer::weight_bytes(stored.binding, Storage::kAsStored).converted,
            packed + 4 * (static_cast<double>(stored.binding.parameters) - numbers));
  const test::Golden golden("quantised/" + std::string(GetParam().name) + "/expected");
  const at::Tensor ids = golden["input_ids"];
  EXPECT_CLOSE(logits(*stored.model, ids), golden["logits"], kQuantisedTolerance);
  EXPECT_CLOSE(logits(*stored.model, ids.slice(0, 0, 1)), logits(*converted.model, ids.slice(0, 0, 1)),
               kQuantisedTolerance);
}

// `locus convert` writes the weights that the numbers mean.
TEST_P(Quantised, ConvertsToPlainWeights) {
  const test::TemporaryFolder place;
  fs::copy(quantised(GetParam().name) / "config.json", place.path() / "config.json");
  models::ConvertOptions options;
  options.to = "f32";
  options.out = place.path() / "model.safetensors";
  const auto written = models::convert(quantised(GetParam().name), options);
  ASSERT_TRUE(written.ok()) << written.error().describe();
  const auto plain = formats::open_tensors(place.path());
  ASSERT_TRUE(plain.ok());
  const Opened own = opened(GetParam().name, Storage::kConverted);
  for (const formats::TensorInfo& tensor : own.checkpoint.tensors->tensors()) {
    const formats::TensorInfo* const again = (*plain)->find(tensor.name);
    ASSERT_NE(again, nullptr) << tensor.name;
    EXPECT_TRUE(transformer::to_tensor(*again, *plain).equal(transformer::to_tensor(tensor, own.checkpoint.tensors)))
        << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Quantised,
    testing::Values(Form{"fp8-blocks", "F8_E4M3"}, Form{"fp8-static", "F8_E4M3"},
                    Form{"fp8-channels", "F8_E4M3", false}, Form{"mxfp4", "MXFP4", true, 0.54},
                    Form{"gptq", "GPTQ 4-bit", true, 0.66}, Form{"gptq-order", "GPTQ 4-bit", false},
                    Form{"gptq-v2", "GPTQ 4-bit", true, 0.66}, Form{"awq", "AWQ 4-bit", true, 0.66},
                    Form{"packed-int4", "INT4", true, 0.66}, Form{"packed-int8", "INT8", true, 1.2},
                    Form{"int8-channels", "INT8", true, 1.2}, Form{"mlx-4bit", "MLX 4-bit", true, 0.63},
                    Form{"mlx-mixed", "MLX 8-bit", true, 1.25, true}, Form{"nf4", "NF4", true, 0.57},
                    Form{"fp4", "FP4", false}, Form{"llm-int8", "LLM.int8", true, 1.2}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace locus
