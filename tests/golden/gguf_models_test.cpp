// Models in GGUF files against what reference implementations compute from their expanded weights.
#include <gtest/gtest.h>

#include <filesystem>

#include "models/families/gguf.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/reference_run.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr double kGgufTolerance = 1e-4;

fs::path gguf_file(const std::string& name) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "gguf" / (name + ".gguf");
}

class GgufModels : public testing::TestWithParam<const char*> {};

TEST_P(GgufModels, GiveTheReferencesLogitsAndMaps) {
  const test::Golden golden(std::string("gguf/") + GetParam() + ".expected");
  const auto model = test::open_model(gguf_file(GetParam()));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->info().family, "llama");
  EXPECT_TRUE(model->info().unexpected.empty());
  test::expect_reference(*model, golden, kGgufTolerance);
}

struct GgufOpened {
  std::unique_ptr<transformer::Transformer> model;
  transformer::WeightBinding binding;
};

GgufOpened loaded(const fs::path& file, transformer::Storage storage) {
  families::CheckpointFiles checkpoint;
  checkpoint.path = file;
  checkpoint.tensors = *formats::open_tensors(file);
  checkpoint = *families::adapt_gguf(checkpoint);
  const auto plan = families::read_plan(**families::family_of(checkpoint), checkpoint);
  GgufOpened made{*transformer::Transformer::create(plan->spec, false), {}};
  made.binding = *transformer::bind_weights(*made.model, *plan, checkpoint);
  EXPECT_TRUE(transformer::load(made.binding, storage).empty());
  return made;
}

at::Tensor gguf_logits(const transformer::Transformer& model, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  transformer::ObserveOptions options;
  options.all_logits = true;
  return model.observe({ids, {}, model.positions(ids.size(1))}, options)->logits[0];
}

// The same numbers where the matrices stay as the file holds them: at once, and the last token alone.
TEST_P(GgufModels, GiveThemWithTheWeightsAsStored) {
  const test::Golden golden(std::string("gguf/") + GetParam() + ".expected");
  const GgufOpened stored = loaded(gguf_file(GetParam()), transformer::Storage::kAsStored);
  const at::Tensor ids = golden["input_ids"].reshape({1, -1});
  EXPECT_CLOSE(gguf_logits(*stored.model, ids), golden["logits"], kGgufTolerance);
  transformer::ObserveOptions options;
  options.values = true;
  const std::int64_t length = ids.size(1);
  auto run = stored.model->observe({ids.slice(1, 0, length - 1), {}, stored.model->positions(length - 1)}, options);
  ASSERT_TRUE(run.ok());
  const transformer::ReusedTokens reused{std::move(run->layers), length - 1, run->rows};
  options.reused_tokens = &reused;
  const auto longer = stored.model->observe({ids, {}, stored.model->positions(length)}, options);
  ASSERT_TRUE(longer.ok());
  EXPECT_CLOSE(longer->logits.select(1, -1)[0], golden["logits"][-1], kGgufTolerance);
  // What stays is counted as it is.
  const transformer::WeightBytes bytes = weight_bytes(stored.binding, transformer::Storage::kAsStored);
  EXPECT_LT(bytes.converted, 0.2 * bytes.stored);
  EXPECT_LT(bytes.all(), static_cast<double>(fs::file_size(gguf_file(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(Files, GgufModels, testing::Values("llama-f16", "llama-q8_0", "llama-q4_k"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace locus
