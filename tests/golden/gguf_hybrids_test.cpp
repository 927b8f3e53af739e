// GGUF files of hybrids, as the converter of llama.cpp writes them (tests/conformance/make_gguf.py): they give the values
// that the library computes from the checkpoints that were converted, and the mixers' maps of those checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "models/api/convert.h"
#include "models/families/gguf_hybrids.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/gguf_files.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

using test::bytes_of;
using test::expect_library_values;
using test::hybrid_file;
using test::HybridFile;
using test::opening_refusal;
using test::renamed_in;
using test::run_of;
using test::with_value;

constexpr double kSameWeights = 1e-4;  // of shares of maps in float32
class GgufHybrids : public testing::TestWithParam<HybridFile> {};

TEST_P(GgufHybrids, GiveTheLibrarysMapsAndLogits) {
  expect_library_values(GetParam());
}

// Head by head: heads in another order, or scaled against each other, would give the same logits.
TEST_P(GgufHybrids, ImplyTheCheckpointsMaps) {
  const test::ConformanceType stored(GetParam().name, test::kGgufFolder);
  const test::TemporaryFolder folder;
  folder.write("config.json", stored.data().at("config").dump());
  stored.write_tensors(folder.path());
  const auto file = test::open_model(hybrid_file(GetParam().name));
  const auto checkpoint = test::open_model(folder.path());
  ASSERT_TRUE(file != nullptr && checkpoint != nullptr);
  EXPECT_EQ(file->info().layers, checkpoint->info().layers);
  for (std::int64_t n = 0; n < file->info().layers; ++n) {
    EXPECT_EQ(models::layer_text(file->info(), n), models::layer_text(checkpoint->info(), n));
  }
  const auto found = run_of(*file, stored.input(folder.path()));
  const auto wanted = run_of(*checkpoint, stored.input(folder.path()));
  ASSERT_TRUE(found != nullptr && wanted != nullptr);
  const auto found_mixer = found->side(models::Side::kMixer);
  const auto wanted_mixer = wanted->side(models::Side::kMixer);
  ASSERT_TRUE(found_mixer != nullptr && wanted_mixer != nullptr);
  const models::TraceData data = test::recorded(*wanted_mixer);
  ASSERT_FALSE(data.layers.empty());
  for (std::int64_t layer = 0; layer < wanted_mixer->model().layers; ++layer) {
    for (std::int64_t head = 0; head < wanted_mixer->model().heads; ++head) {
      const models::MapRequest request{layer, head, models::Quantity::kWeight, {0, found->length()}, {}, false};
      const auto one = found_mixer->map(request);
      const auto other = wanted_mixer->map(request);
      ASSERT_EQ(one.ok(), other.ok()) << layer << "." << head;
      if (other.ok()) {
        const auto count = static_cast<std::int64_t>(other->values.size());
        EXPECT_CLOSE(at::tensor(one->values), at::tensor(other->values), kSameWeights) << layer << "." << head;
        EXPECT_GT(count, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, GgufHybrids,
    testing::Values(HybridFile{"qwen3next", "qwen3_next"}, HybridFile{"qwen35", "qwen3_5_text"},
                    HybridFile{"qwen35moe", "qwen3_5_moe_text"}, HybridFile{"granitehybrid", "granitemoehybrid"},
                    HybridFile{"granitehybrid-moe", "granitemoehybrid"}, HybridFile{"bamba", "bamba"},
                    HybridFile{"nemotron_h", "nemotron_h"}, HybridFile{"nemotron_h_moe", "nemotron_h"},
                    HybridFile{"falcon-h1", "falcon_h1"}, HybridFile{"falcon-h1-norm", "falcon_h1"},
                    HybridFile{"lfm2", "lfm2"}, HybridFile{"lfm2moe", "lfm2_moe"},
                    HybridFile{"kimi-linear", "kimi_linear"}, HybridFile{"jamba", "jamba"}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// The numbers of a file whose matrices stay as it holds them.
at::Tensor logits_as_stored(const fs::path& file, const at::Tensor& ids) {
  families::CheckpointFiles checkpoint;
  checkpoint.path = file;
  checkpoint.tensors = *formats::open_tensors(file);
  checkpoint = *families::adapt_gguf(checkpoint);
  const auto plan = families::read_plan(**families::family_of(checkpoint), checkpoint);
  const auto model = *transformer::Transformer::create(plan->spec, false);
  const auto binding = transformer::bind_weights(*model, *plan, checkpoint);
  EXPECT_TRUE(transformer::load(*binding, transformer::Storage::kAsStored).empty());
  EXPECT_LT(weight_bytes(*binding, transformer::Storage::kAsStored).converted,
            weight_bytes(*binding, transformer::Storage::kAsStored).stored);
  const at::NoGradGuard no_grad;
  transformer::ObserveOptions options;
  options.all_logits = true;
  return model->observe({ids.unsqueeze(0), {}, model->positions(ids.size(0))}, options)->logits[0];
}

// Experts one by one and parts of matrices come out of blocks as out of the floats that these stand for.
TEST_F(GgufHybrids, BlocksAreTheirFloats) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "f");
  const fs::path blocks = folder.path() / "m.gguf";
  const fs::path floats = folder.path() / "f" / "m.gguf";
  for (const char* name : {"qwen3next", "qwen35", "granitehybrid-moe", "nemotron_h_moe"}) {
    SCOPED_TRACE(name);
    const auto written = models::convert(hybrid_file(name), {"q8_0", blocks});
    ASSERT_TRUE(written.ok()) << written.error().describe();
    EXPECT_GT(written->tensors.at("q8_0"), 10);
    ASSERT_TRUE(models::convert(blocks, {"f32", floats}).ok());
    const auto model = test::open_model(blocks);
    const auto twin = test::open_model(floats);
    const auto exact = test::open_model(hybrid_file(name));
    ASSERT_TRUE(model != nullptr && twin != nullptr && exact != nullptr);
    EXPECT_EQ(model->info().unexpected, std::vector<std::string>());
    const at::Tensor ids = at::arange(24, at::kLong) + 7;
    const at::Tensor logits = test::logits_of(*twin, ids);
    EXPECT_CLOSE(test::logits_of(*model, ids), logits, 1e-5);
    EXPECT_CLOSE(logits_as_stored(blocks, ids), logits, 1e-4);
    EXPECT_GT(test::deviation(test::logits_of(*exact, ids), logits), 1e-3);
  }
}

// ---- damaged files

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(GgufHybrids, ErrorsNameTheValueThatIsMissingOrWrong) {
  const std::string next = bytes_of("qwen3next");
  EXPECT_SAYS(opening_refusal(renamed_in(next, "ssm.conv_kernel", "ssm.conv_kernal")),
              "metadata qwen3next.ssm.conv_kernel: expected a value, found none");
  EXPECT_SAYS(opening_refusal(with_value(next, "qwen3next.block_count", 1U << 31U)),
              "block_count: expected 1 to 55 blocks, as the file has tensors, found 2147483648");
  EXPECT_SAYS(opening_refusal(with_value(next, "qwen3next.block_count", 0)), "found 0");
  EXPECT_SAYS(opening_refusal(with_value(next, "ssm.time_step_rank", 3)),
              "ssm.inner_size: expected a multiple of 3, found 32");
  EXPECT_SAYS(opening_refusal(with_value(next, "ssm.time_step_rank", 0)), "expected a multiple of 0, found 32");
  EXPECT_SAYS(opening_refusal(with_value(next, "attention.head_count", 0)), "attention.head_count");
  EXPECT_SAYS(opening_refusal(with_value(next, "attention.key_length", 15)), "expected an even width of heads");
  EXPECT_SAYS(opening_refusal(with_value(next, "ssm.state_size", 1U << 20U)), "expected shape");
  EXPECT_SAYS(opening_refusal(with_value(next, "qwen3next.expert_count", 4)), "expected shape");
  EXPECT_SAYS(opening_refusal(with_value(bytes_of("qwen35"), "nextn_predict_layers", 4)),
              "expected less than all 4 blocks, found 4");
  EXPECT_SAYS(opening_refusal(renamed_in(bytes_of("lfm2"), "shortconv.l_cache", "shortconv.l_cachi")),
              "lfm2.shortconv.l_cache: expected a value, found none");
  EXPECT_SAYS(opening_refusal(with_value(bytes_of("kimi-linear"), "attention.key_length_mla", 4)),
              "attention.key_length_mla: expected more than the 8 of rope.dimension_count, found 4");
  EXPECT_SAYS(opening_refusal(renamed_in(bytes_of("kimi-linear"), "attn_v_b", "attn_v_x")),
              "expected a tensor, found none");
}

// A number of experts that no bytes stand behind allocates nothing.
TEST_F(GgufHybrids, ErrorsCountExpertsByTheirBytes) {
  const auto source = *formats::open_tensors(hybrid_file("qwen3next"));
  const auto reading = *families::GgufReading::of(*source, "qwen3next");
  formats::TensorInfo tensor = *source->find("blk.0.ffn_gate_exps.weight");
  const auto split = [&](const std::vector<std::int64_t>& shape) {
    tensor.shape = shape;
    return families::hybrid_tensors(families::gguf_hybrids().front(), reading, 16, tensor);
  };
  EXPECT_EQ(split({3, 16, 32})->size(), 3U);
  EXPECT_EQ(split({3, 16, 32})->at(2).name, "model.layers.0.mlp.experts.2.gate_proj.weight");
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{std::int64_t{1} << 40, 0, 0}, {0, 16, 32}, {5, 16, 32}, {7}}) {
    const auto found = split(shape);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.error().describe().find("expected experts of the same size"), std::string::npos);
  }
}

TEST_F(GgufHybrids, ErrorsRefuseWhatIsNotComputed) {
  const auto refused = [](const std::string& bytes) { return opening_refusal(bytes, ErrorCode::kUnsupported); };
  EXPECT_SAYS(refused(renamed_in(bytes_of("qwen3next"), "ssm_ba.weight", "ssm_in.weight")), "early converter");
  EXPECT_SAYS(refused(renamed_in(bytes_of("jamba"), "blk.0.ssm_a", "blk.0.ssm_q")),
              "expected attention in one of every 1 layers, found another order at layer 2");
  EXPECT_SAYS(refused(with_value(bytes_of("kimi-linear"), "expert_gating_func", 1)), "expected 2, a sigmoid, found 1");
  EXPECT_SAYS(refused(with_value(bytes_of("lfm2moe"), "expert_gating_func", 3)), "expected 2, a sigmoid, found 3");
  const std::string unknown = refused(renamed_in(bytes_of("jamba"), "jamba", "mamba"));
  EXPECT_SAYS(unknown,
              "qwen3next, qwen35, qwen35moe, granitehybrid, nemotron_h, nemotron_h_moe, falcon-h1, lfm2, "
              "lfm2moe, kimi-linear, jamba, qwen2moe, ");
}

// Without a head of its own, a Falcon-H1's logits are those of the embedding with the embedding's factor; rates are below 0.
TEST_F(GgufHybrids, ErrorsWarnOfWhatIsDoubtful) {
  const test::TemporaryFolder folder;
  const auto opened = [&](const std::string& bytes) {
    folder.write("m.gguf", bytes);
    return test::open_model(folder.path() / "m.gguf");
  };
  const std::string length("\x0d\0\0\0\0\0\0\0", 8);
  const auto headless = opened(renamed_in(bytes_of("falcon-h1"), length + "output.weight", length + "autput.weight"));
  ASSERT_NE(headless, nullptr);
  const auto& notes = headless->info().warnings;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("tensor output.weight: expected one, found none") != std::string::npos;
  }));
  std::string positive = bytes_of("granitehybrid");
  const auto source = *formats::open_tensors(hybrid_file("granitehybrid"));
  const float one = 1;
  const std::span<const std::byte> rates = source->find("blk.0.ssm_a")->storage;
  const std::size_t at = positive.find(std::string(reinterpret_cast<const char*>(rates.data()), rates.size()));
  ASSERT_NE(at, std::string::npos);
  std::memcpy(positive.data() + at, &one, sizeof one);
  const auto growing = opened(positive);
  ASSERT_NE(growing, nullptr);
  const auto& warnings = growing->info().warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("tensor blk.0.ssm_a: holds values that are not finite") != std::string::npos;
  }));
}

}  // namespace
}  // namespace locus
