// Files of BART and its relatives as people publish them: stored tables of sines, one side alone, classifiers, words of
// each side. That their numbers are the library's is in tests/conformance.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/changed_type.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

constexpr double kBartTolerance = 1e-5;

models::TraceData run_bart(const models::Model& model, const models::Input& input) {
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? test::recorded(**trace) : models::TraceData();
}

bool warns(const models::Model& model, const std::string& part) {
  const std::vector<std::string>& all = model.info().warnings;
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& warning) { return warning.find(part) != std::string::npos; });
}

// Without the tensors whose names begin so.
std::function<void(test::Tensors&)> without(const std::string& prefix) {
  return [prefix](test::Tensors& tensors) {
    std::erase_if(tensors, [&](const auto& item) { return item.first.starts_with(prefix); });
  };
}

// (rows, width): sines, then cosines.
at::Tensor sines(std::int64_t rows, std::int64_t width) {
  const at::Tensor rates = at::pow(10000.0, at::arange(0, width, 2, at::kDouble) / -static_cast<double>(width));
  const at::Tensor angles = at::arange(rows, at::kDouble).unsqueeze(1) * rates;
  return at::cat({angles.sin(), angles.cos()}, 1).to(at::kFloat);
}

TEST(Bart, StoredSinesAreTheEncoding) {
  const std::string table = ".embed_positions.weight";
  const auto store = [&](test::Tensors& tensors) {
    tensors["model.encoder" + table] = tensors["model.decoder" + table] = sines(64, 64);
  };
  const auto leave_out = [&](test::Tensors& tensors) {
    tensors.erase("model.encoder" + table);
    tensors.erase("model.decoder" + table);
  };
  const test::ChangedType stored("pegasus", store);
  const test::ChangedType computed("pegasus", leave_out);
  const auto one = stored.open();
  const auto other = computed.open();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ((*one)->info().first_encoding().name, "sinusoidal");
  EXPECT_EQ((*one)->info().unexpected, std::vector<std::string>());
  EXPECT_CLOSE(run_bart(**one, stored.input()).logits, run_bart(**other, computed.input()).logits, kBartTolerance);
  const test::ChangedType learned("pegasus");
  const auto own = learned.open();
  ASSERT_TRUE(own.ok());
  EXPECT_EQ((*own)->info().first_encoding().name, "learned");
}

TEST(Bart, RoFormersTableMustBeThatOfItsAngles) {
  const std::string name = "roformer.encoder.embed_positions.weight";
  const test::ChangedType computed("roformer");
  const test::ChangedType stored("roformer", [&](test::Tensors& tensors) { tensors[name] = sines(64, 16); });
  const auto one = computed.open();
  const auto other = stored.open();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ((*other)->info().unexpected, std::vector<std::string>());
  EXPECT_TRUE(run_bart(**one, computed.input()).logits.equal(run_bart(**other, stored.input()).logits));
  const test::ChangedType changed("roformer", [&](test::Tensors& tensors) { tensors[name] = sines(64, 16) * 1.01; });
  const auto refused = changed.open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().describe().find(name), std::string::npos) << refused.error().describe();
}

// With cross-attention that writes nothing, the decoder of both sides gives what it gives alone.
TEST(Bart, ADecoderMayBeAlone) {
  const test::ChangedType both("mbart", [](test::Tensors& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name.find("encoder_attn.out_proj") != std::string::npos || name == "final_logits_bias") {
        tensor.zero_();
      }
    }
  });
  const test::ChangedType alone("mbart", [](test::Tensors& tensors) {
    without("model.encoder.")(tensors);
    tensors.erase("final_logits_bias");
  });
  const auto whole = both.open();
  const auto half = alone.open();
  ASSERT_TRUE(whole.ok() && half.ok()) << (half.ok() ? "" : half.error().describe());
  EXPECT_EQ((*whole)->info().encoder_layers, 3);
  EXPECT_EQ((*half)->info().encoder_layers, 0);
  EXPECT_EQ((*half)->info().unexpected, std::vector<std::string>());
  EXPECT_TRUE(warns(**half, "without cross-attention: the file has no encoder"));
  models::Input input;
  input.ids = both.input().decoder_ids;
  EXPECT_CLOSE(run_bart(**half, input).logits, run_bart(**whole, both.input()).logits, kBartTolerance);
}

TEST(Bart, AnEncoderMayBeAlone) {
  const test::ChangedType both("mbart");
  const test::ChangedType alone("mbart", without("model.decoder."));
  const auto whole = both.open();
  const auto half = alone.open();
  ASSERT_TRUE(whole.ok() && half.ok()) << (half.ok() ? "" : half.error().describe());
  EXPECT_FALSE((*half)->info().causal);
  EXPECT_FALSE((*half)->info().head);
  models::Input input;
  input.ids = both.input().ids;
  const models::TraceData states = run_bart(**half, input);
  const models::TraceData pair = run_bart(**whole, both.input());
  ASSERT_NE(pair.encoder, nullptr);
  EXPECT_CLOSE(*models::whole_map(*states.layers.back().scores, attention::Quantity::kWeight),
               *models::whole_map(*pair.encoder->data().layers.back().scores, attention::Quantity::kWeight),
               kBartTolerance);
}

TEST(Bart, WhispersEncoderIsNotRun) {
  const test::ChangedType whisper("whisper", [](test::Tensors& tensors) {
    tensors["model.encoder.conv1.weight"] = at::zeros({64, 80, 3});
    tensors["model.encoder.layers.0.self_attn.q_proj.weight"] = at::zeros({64, 64});
  });
  const auto model = whisper.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_TRUE(warns(**model, "the encoder reads sound"));
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
}

TEST(Bart, ClassifiersPredictNoTokens) {
  const test::ChangedType classifier("bart",
                                     [](test::Tensors& tensors) {
                                       tensors.erase("final_logits_bias");
                                       tensors["classification_head.dense.weight"] = at::zeros({64, 64});
                                       tensors["classification_head.out_proj.weight"] = at::zeros({3, 64});
                                     },
                                     {{"architectures", {"BartForSequenceClassification"}}});
  const auto model = classifier.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_FALSE((*model)->info().head);
  EXPECT_EQ((*model)->info().encoder_layers, 3);
  EXPECT_EQ((*model)->info().task_heads, std::vector<std::string>{"classification_head"});
}

TEST(Bart, SidesMayHaveWordsOfTheirOwn) {
  const test::ChangedType marian("marian",
                                 [](test::Tensors& tensors) {
                                   const at::Tensor words = tensors.at("model.shared.weight");
                                   tensors.erase("model.shared.weight");
                                   tensors["model.encoder.embed_tokens.weight"] = words;
                                   tensors["model.decoder.embed_tokens.weight"] = words.slice(0, 0, 50).contiguous();
                                   tensors["final_logits_bias"] =
                                       tensors.at("final_logits_bias").slice(1, 0, 50).contiguous();
                                 },
                                 {{"share_encoder_decoder_embeddings", false}, {"decoder_vocab_size", 50}});
  const test::ChangedType shared("marian");
  const auto own = marian.open();
  const auto same = shared.open();
  ASSERT_TRUE(own.ok() && same.ok()) << (own.ok() ? "" : own.error().describe());
  EXPECT_EQ((*own)->info().unexpected, std::vector<std::string>());
  models::Input input = shared.input();
  input.decoder_ids = {0, 3, 49};
  EXPECT_CLOSE(run_bart(**own, input).logits, run_bart(**same, input).logits.slice(-1, 0, 50), kBartTolerance);
  input.decoder_ids = {0, 50};
  EXPECT_EQ((*own)->run(input).error().describe(), "decoder: token 1: expected an id from 0 to 49, found 50");
}

}  // namespace
}  // namespace locus
