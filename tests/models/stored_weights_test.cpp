// Models whose 16-bit weights stay as they are stored, against the same with converted ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "core/base/guarded.h"
#include "core/base/large_pages.h"
#include "core/products/kernels.h"
#include "core/products/packed.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/families/engine/family.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/rounding.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using transformer::Storage;

struct Opened {
  std::unique_ptr<transformer::Transformer> model;
  transformer::WeightBinding binding;
};

fs::path bundled_folder(const std::string& name) {
  return fs::path(test::source_dir()) / "assets" / "checkpoints" / name;
}

// A checkpoint with its matrices as float16 numbers or as float32 ones.
Opened opened_folder(const fs::path& folder, Storage storage) {
  families::CheckpointFiles checkpoint;
  checkpoint.path = checkpoint.folder = folder;
  checkpoint.config = *families::Config::load(checkpoint.folder / "config.json");
  checkpoint.tensors = *formats::open_tensors(checkpoint.folder);
  const auto plan = families::read_plan(**families::family_of(checkpoint), checkpoint);
  Opened made{*transformer::Transformer::create(plan->spec, false), {}};
  made.binding = *transformer::bind_weights(*made.model, *plan, checkpoint);
  EXPECT_TRUE(transformer::load(made.binding, storage).empty());
  return made;
}

Opened opened(const std::string& name, Storage storage) {
  return opened_folder(bundled_folder(name), storage);
}

constexpr std::int64_t kLength = 70;

at::Tensor logits(const transformer::Transformer& model, const at::Tensor& ids) {
  transformer::ObserveOptions options;
  options.all_logits = true;
  return model.observe({ids, {}, model.positions(ids.size(1))}, options)->logits;
}

// How far the logits may lie from those of the same weights by other kernels: where scores reach hundreds, neighbouring
// floats are 1e-5 apart, and so far do the weights follow the order of the sums.
double bound(const transformer::Transformer& model, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = ids.size(1);
  const auto seen = model.observe({ids, {}, model.positions(length)}, {});
  double largest = 1;
  std::int64_t terms = model.spec().width;
  for (std::int64_t n = 0; n < model.spec().depth(); ++n) {
    const transformer::LayerSpec& layer = model.block(n).spec();
    const position::Tile all{model.encoding_layer(n), {0, layer.attention.heads}, {0, length}, {0, length}};
    const at::Tensor scores =
        model.layer_encoding(n)->score(seen->layers[static_cast<std::size_t>(n)].prepared, all, {}, {}).logits;
    largest = std::max(largest, at::tril(scores).abs().max().item<double>());
    terms = std::max(terms, layer.feed_forward.inner);
  }
  return test::outputs_differ(static_cast<double>(model.spec().depth()), largest, static_cast<double>(terms));
}

class StoredWeights : public testing::TestWithParam<const char*> {};

TEST_P(StoredWeights, GiveTheNumbersOfConvertedOnes) {
  const Opened stored = opened(GetParam(), Storage::kAsStored);
  const Opened converted = opened(GetParam(), Storage::kConverted);
  std::int64_t halves = 0;
  for (const transformer::Parameter& parameter : stored.model->parameters()) {
    halves += parameter.value->scalar_type() == at::kHalf ? parameter.value->numel() : 0;
    EXPECT_TRUE(parameter.product || parameter.value->scalar_type() == at::kFloat) << parameter.name;
  }
  EXPECT_GT(halves, stored.binding.parameters / 2);
  const transformer::WeightBytes bytes = weight_bytes(stored.binding, Storage::kAsStored);
  EXPECT_EQ(bytes.stored, 2.0 * static_cast<double>(halves));
  EXPECT_EQ(bytes.converted, 4.0 * static_cast<double>(stored.binding.parameters - halves));
  at::manual_seed(3);
  const at::Tensor ids = at::randint(stored.model->spec().vocabulary, {1, kLength}, at::kLong);
  EXPECT_CLOSE(logits(*stored.model, ids), logits(*converted.model, ids), bound(*converted.model, ids));
}

// The parameters whose numbers lie in the file.
std::int64_t mapped_parameters(const Opened& opened) {
  return std::count_if(opened.binding.parts.begin(), opened.binding.parts.end(),
                       [](const transformer::WeightBinding::Part& part) {
                         const std::span<const std::byte> file = part.tensor->storage;
                         const auto* const first = static_cast<const std::byte*>(part.parameter.value->data_ptr());
                         return first >= file.data() && first < file.data() + file.size();
                       });
}

// Where the system has large pages, these few weights are read from the file once.
TEST_P(StoredWeights, AreCopiedFromTheFileOrMapped) {
  const Opened copied = opened(GetParam(), Storage::kAsStored);
  const Opened mapped = opened(GetParam(), Storage::kMapped);
  EXPECT_EQ(mapped_parameters(copied) == 0, LargePages::are_offered());
  EXPECT_GT(mapped_parameters(mapped), 0);
  at::manual_seed(5);
  const at::Tensor ids = at::randint(copied.model->spec().vocabulary, {1, kLength}, at::kLong);
  EXPECT_TRUE(logits(*copied.model, ids).equal(logits(*mapped.model, ids)));
}

// One token at a time has kernels of its own.
TEST_P(StoredWeights, AppendTheSameTokens) {
  const Opened stored = opened(GetParam(), Storage::kAsStored);
  const Opened converted = opened(GetParam(), Storage::kConverted);
  at::manual_seed(4);
  const at::Tensor ids = at::randint(stored.model->spec().vocabulary, {1, kLength}, at::kLong);
  transformer::ObserveOptions options;
  options.values = true;
  auto run = stored.model->observe({ids.slice(1, 0, kLength - 1), {}, stored.model->positions(kLength - 1)}, options);
  ASSERT_TRUE(run.ok());
  const transformer::ReusedTokens reused{std::move(run->layers), kLength - 1, run->rows};
  options.reused_tokens = &reused;
  const auto longer = stored.model->observe({ids, {}, stored.model->positions(kLength)}, options);
  ASSERT_TRUE(longer.ok());
  EXPECT_CLOSE(longer->logits.select(1, -1), logits(*converted.model, ids).select(1, -1), bound(*converted.model, ids));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, StoredWeights,
                         testing::Values("text-rope", "text-cope", "text-tape", "text-learned", "text-seqpe"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(StoredWeights, ATensorOfTwoParametersIsCopiedOnce) {
  Opened made = opened("text-rope", Storage::kMapped);
  const auto part = std::find_if(made.binding.parts.begin(), made.binding.parts.end(),
                                 [](const transformer::WeightBinding::Part& each) {
                                   return each.parameter.product && each.parameter.value->scalar_type() == at::kHalf;
                                 });
  ASSERT_NE(part, made.binding.parts.end());
  at::Tensor* const first = part->parameter.value;
  at::Tensor second;
  transformer::WeightBinding::Part again = *part;
  again.parameter.value = &second;
  made.binding.parts.push_back(again);
  EXPECT_TRUE(transformer::load(made.binding, Storage::kAsStored).empty());
  EXPECT_EQ(first->data_ptr(), second.data_ptr());
}

// A file that shrinks under a mapped model is an error of what reads it; a copied model no longer reads it.
TEST(StoredWeights, AFileThatShrinksIsAnErrorOfMappedOnesAlone) {
  at::manual_seed(6);
  for (const Storage storage : {Storage::kMapped, Storage::kAsStored}) {
    const test::TemporaryFolder folder;
    fs::copy(bundled_folder("text-rope"), folder.path(), fs::copy_options::recursive);
    const fs::path file = folder.path() / "model.safetensors";
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    const Opened made = opened_folder(folder.path(), storage);
    const at::Tensor ids = at::randint(made.model->spec().vocabulary, {1, kLength}, at::kLong);
    const at::Tensor before = logits(*made.model, ids);
    fs::resize_file(file, 4096);
    const auto after = guarded([&]() -> Result<at::Tensor> {
      transformer::ObserveOptions options;
      options.all_logits = true;
      LOCUS_TRY(const auto seen, made.model->observe({ids, {}, made.model->positions(kLength)}, options));
      return seen.logits;
    });
    if (storage == Storage::kAsStored && LargePages::are_offered()) {
      ASSERT_TRUE(after.ok()) << after.error().describe();
      EXPECT_TRUE(after->equal(before));
    } else {
      ASSERT_FALSE(after.ok());
      EXPECT_EQ(after.error().code, ErrorCode::kBadInput);
      EXPECT_EQ(after.error().context, file.string());
    }
  }
}

// The logits behind the last of these tokens, which alone is run after the others.
at::Tensor appended_logits(const transformer::Transformer& model, const at::Tensor& ids) {
  const std::int64_t length = ids.size(1);
  transformer::ObserveOptions options;
  options.values = true;
  auto run = model.observe({ids.slice(1, 0, length - 1), {}, model.positions(length - 1)}, options);
  EXPECT_TRUE(run.ok());
  const transformer::ReusedTokens reused{std::move(run->layers), length - 1, run->rows};
  options.reused_tokens = &reused;
  const auto longer = model.observe({ids, {}, model.positions(length)}, options);
  EXPECT_TRUE(longer.ok());
  return longer->logits.select(1, -1);
}

constexpr double kFastToken = 0.05;    // of the logits' norm, what fast products change a single token by at most
constexpr double kFastTokens = 0.001;  // and many

double change_of(const at::Tensor& logits, const at::Tensor& exact) {
  return ((logits - exact).norm() / exact.norm()).item<double>();
}
// Whether products of many tokens round.
bool rounds_many() {
  return products::kernels().integers != nullptr && products::kernels().tiles == nullptr;
}

// Fast products change logits by little, those of many tokens by less than those of a single one.
TEST(StoredWeights, FastProductsChangeLogitsByLittle) {
  const Opened made = opened("text-rope", Storage::kConverted);
  const blocks::Format& format = *blocks::format_of("Q8_0");
  int packed = 0;
  for (const transformer::Parameter& parameter : made.model->parameters()) {
    at::Tensor& value = *parameter.value;
    if (!parameter.product || value.dim() != 2 || value.size(1) % format.elements != 0) {
      continue;
    }
    const at::Tensor numbers = value.contiguous();
    const std::int64_t count = numbers.numel() / format.elements;
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(count * format.bytes));
    blocks::pack(format, numbers.data_ptr<float>(), count, bytes->data());
    value = products::packed_tensor({&format, bytes->data(), numbers.size(0), numbers.size(1), 0, bytes});
    ++packed;
  }
  ASSERT_GT(packed, 4);
  at::manual_seed(5);
  const at::Tensor ids = at::randint(made.model->spec().vocabulary, {1, kLength}, at::kLong);
  const at::Tensor whole = logits(*made.model, ids);
  const at::Tensor last = appended_logits(*made.model, ids);
  made.model->use_fast_products();
  const double of_many = change_of(logits(*made.model, ids), whole);
  EXPECT_EQ(of_many > 0, rounds_many());
  EXPECT_LE(of_many, kFastTokens);
  const double of_one = change_of(appended_logits(*made.model, ids), last);
  EXPECT_GT(of_one, 0);
  EXPECT_LE(of_one, kFastToken);
}

// A Llama of one layer whose matrices are Q8_0 with numbers drawn at random, large enough to stay in blocks.
std::filesystem::path write_blocks(const test::TemporaryFolder& place) {
  constexpr std::uint64_t kWidth = 256;
  constexpr std::uint64_t kVocabulary = 65'536;
  test::GgufBytes file;
  file.text("general.architecture", "llama");
  for (const char* const name : {"context_length", "embedding_length", "feed_forward_length"}) {
    file.integer(std::string("llama.") + name, kWidth);
  }
  file.integer("llama.block_count", 1);
  file.integer("llama.attention.head_count", 4);
  file.integer("llama.attention.head_count_kv", 4);
  file.integer("llama.vocab_size", kVocabulary);
  file.value("llama.attention.layer_norm_rms_epsilon", 6, test::raw(1e-5F));
  std::string data;
  std::mt19937 random(7);
  const auto matrix = [&](const std::string& name, std::uint64_t outputs) {
    file.tensor(name, {kWidth, outputs}, 8, data.size());
    for (std::uint64_t block = 0; block < outputs * kWidth / 32; ++block) {
      data += test::raw<std::uint16_t>(0x1000);  // 2^−11
      for (int n = 0; n < 32; ++n) {
        data += static_cast<char>(random() % 256);
      }
    }
  };
  const auto norm = [&](const std::string& name) {
    file.tensor(name, {kWidth}, 0, data.size());
    for (std::uint64_t n = 0; n < kWidth; ++n) {
      data += test::raw(1.0F);
    }
  };
  matrix("token_embd.weight", kVocabulary);
  for (const char* const name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    matrix("blk.0." + std::string(name) + ".weight", kWidth);
  }
  norm("blk.0.attn_norm.weight");
  norm("blk.0.ffn_norm.weight");
  norm("output_norm.weight");
  std::filesystem::path path = place.path() / "blocks.gguf";
  std::ofstream(path, std::ios::binary) << file.file(0) << data;
  return path;
}

at::Tensor predictions_of(const models::Trace& trace) {
  return dynamic_cast<const models::RecordedTrace&>(trace).data().logits;
}

// A model that is opened with them has fast products, of a further token and of a whole text.
TEST(StoredWeights, AnOpenedModelHasFastProducts) {
  const test::TemporaryFolder place;
  const std::filesystem::path file = write_blocks(place);
  std::vector<at::Tensor> whole;
  std::vector<at::Tensor> further;
  for (const bool fast : {false, true}) {
    models::OpenOptions options;
    options.overrides.fast = fast;
    const auto model = test::open(file, options);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    models::RunOptions running;
    running.continuable = true;
    models::Input input{.ids = std::vector<std::int64_t>{5, 60'000, 7, 30'000, 9, 11}};
    const auto first = (*model)->run(input, running);
    ASSERT_TRUE(first.ok()) << first.error().describe();
    input.ids->push_back(77);
    running.reuse = *first;
    const auto second = (*model)->run(input, running);
    ASSERT_TRUE(second.ok()) << second.error().describe();
    models::RunOptions all;
    all.all_logits = true;
    const auto third = (*model)->run(input, all);
    ASSERT_TRUE(third.ok()) << third.error().describe();
    whole.push_back(predictions_of(**third));
    further.push_back(predictions_of(**second));
  }
  EXPECT_EQ(change_of(whole[1], whole[0]) > 0, rounds_many());
  EXPECT_LE(change_of(whole[1], whole[0]), kFastTokens);
  EXPECT_GT(change_of(further[1], further[0]), 0);
  EXPECT_LE(change_of(further[1], further[0]), kFastToken);
}

// Small models are converted: a bundled checkpoint gives the numbers it has always given.
TEST(StoredWeights, SmallModelsAreConverted) {
  const Opened model = opened("text-rope", Storage::kBySize);
  for (const transformer::Parameter& parameter : model.model->parameters()) {
    EXPECT_EQ(parameter.value->scalar_type(), at::kFloat) << parameter.name;
  }
}

}  // namespace
}  // namespace locus
