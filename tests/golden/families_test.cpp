// Every folder of tests/golden/families: a tiny checkpoint of a family as it is published, and what reference
// implementations compute from it. A family that is added brings its folder; nothing here changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/api/verify.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/families/engine/family.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr double kFamiliesTolerance = 1e-4;

std::vector<fs::path> folders() {
  std::vector<fs::path> list;
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "tests" / "golden" / "families")) {
    if (entry.is_directory()) {
      list.push_back(entry.path());
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

fs::path family_folder(const char* name) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "families" / name;
}

test::Golden expected(const fs::path& folder) {
  return test::Golden("families/" + folder.filename().string() + "/expected");
}

// As it is.
std::shared_ptr<const models::Model> open_plain(const fs::path& folder) {
  static const models::OpenOptions options;
  return test::open_model(folder, options);
}

models::Input input_of(const fs::path& folder, const test::Golden& golden) {
  models::Input input;
  if (golden.has("pixel_values")) {
    input.pixels = folder / "expected.safetensors";
    return input;
  }
  const at::Tensor ids = golden["input_ids"].contiguous();
  input.ids = std::vector<std::int64_t>(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel());
  if (golden.has("decoder_input_ids")) {
    const at::Tensor own = golden["decoder_input_ids"].contiguous();
    input.decoder_ids =
        std::vector<std::int64_t>(own.data_ptr<std::int64_t>(), own.data_ptr<std::int64_t>() + own.numel());
  }
  return input;
}

std::shared_ptr<const models::Trace> run(const models::Model& model, const models::Input& input) {
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? *trace : nullptr;
}

// What a model says: logits, or states where it has no head.
at::Tensor outcome(const models::TraceData& data) {
  const at::Tensor& found = data.logits.defined() ? data.logits : data.hidden;
  return data.model.image && data.logits.defined() ? found.flatten() : found;
}
at::Tensor outcome(const test::Golden& golden) {
  return golden[golden.has("logits") ? "logits" : "hidden"];
}
at::Tensor attention_of(const test::Golden& golden, std::size_t layer) {
  const std::string name = "layers." + std::to_string(layer) + ".attention";
  return golden[golden.has("decoder." + name) ? "decoder." + name : name];
}

TEST(Families, GiveTheReferencesLogitsAndMaps) {
  const std::vector<fs::path> all = folders();
  EXPECT_GE(all.size(), 62U);
  for (const fs::path& folder : all) {
    SCOPED_TRACE(folder.filename().string());
    const auto model = open_plain(folder);
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->info().unexpected.empty());
    const test::Golden golden = expected(folder);
    const auto trace = run(*model, input_of(folder, golden));
    ASSERT_NE(trace, nullptr);
    const models::TraceData& data = test::recorded(*trace);
    EXPECT_CLOSE(outcome(data), outcome(golden), kFamiliesTolerance);
    for (std::size_t n = 0; n < data.layers.size(); ++n) {
      const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
      ASSERT_TRUE(map.ok());
      EXPECT_CLOSE(*map, attention_of(golden, n), kFamiliesTolerance) << "layer " << n;
    }
    // A file of it is read again.
    const test::TemporaryFolder place;
    const fs::path file = place.path() / "trace.safetensors";
    ASSERT_TRUE(trace->write(file, {"all"}).ok());
    const auto read = test::open_trace(file);
    ASSERT_TRUE(read.ok()) << read.error().describe();
    const models::MapRequest whole{0, 0, models::Quantity::kWeight, {}, {}};
    const auto own = trace->map(whole);
    const auto again = (*read)->map(whole);
    ASSERT_TRUE(own.ok() && again.ok()) << again.error().describe();
    for (std::size_t n = 0; n < own->values.size(); ++n) {
      EXPECT_NEAR(again->values[n], own->values[n], 1e-5F);
    }
  }
}

// Half of the tokens first, then the others one by one: the same maps.
TEST(Families, GiveTheSameWhenTokensAreAppended) {
  for (const fs::path& folder : folders()) {
    SCOPED_TRACE(folder.filename().string());
    const auto model = open_plain(folder);
    ASSERT_NE(model, nullptr);
    const test::Golden golden = expected(folder);
    const models::Input input = input_of(folder, golden);
    if (!input.ids) {
      continue;
    }
    models::RunOptions options;
    options.continuable = true;
    models::Input part = input;
    for (std::size_t count = input.ids->size() / 2; count <= input.ids->size(); ++count) {
      part.ids = std::vector<std::int64_t>(input.ids->begin(), input.ids->begin() + static_cast<std::ptrdiff_t>(count));
      const auto trace = model->run(part, options);
      ASSERT_TRUE(trace.ok()) << trace.error().describe();
      options.reuse = *trace;
    }
    EXPECT_TRUE(!model->info().causal || model->info().encoder_layers > 0 || options.reuse->reused() > 0);
    const models::TraceData& data = test::recorded(*options.reuse);
    EXPECT_CLOSE(outcome(data)[-1], outcome(golden)[-1], kFamiliesTolerance);
    for (std::size_t n = 0; n < data.layers.size(); ++n) {
      const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
      ASSERT_TRUE(map.ok());
      EXPECT_CLOSE(*map, attention_of(golden, n), kFamiliesTolerance) << "layer " << n;
    }
  }
}

// The table read backwards: every tensor of the file, under its name and as it was.
TEST(Families, WriteWhatTheyRead) {
  for (const fs::path& folder : folders()) {
    SCOPED_TRACE(folder.filename().string());
    families::CheckpointFiles checkpoint;
    checkpoint.path = checkpoint.folder = folder;
    const auto config = families::Config::load(folder / "config.json");
    const auto tensors = formats::open_tensors(folder);
    ASSERT_TRUE(config.ok() && tensors.ok());
    checkpoint.config = *config;
    checkpoint.tensors = *tensors;
    const auto family = families::family_of(checkpoint);
    ASSERT_TRUE(family.ok()) << family.error().describe();
    const auto plan = families::read_plan(**family, checkpoint);
    ASSERT_TRUE(plan.ok()) << plan.error().describe();
    auto model = transformer::Transformer::create(plan->spec, false);
    ASSERT_TRUE(model.ok()) << model.error().describe();
    const auto binding = transformer::bind_weights(**model, *plan, checkpoint);
    ASSERT_TRUE(binding.ok()) << binding.error().describe();
    transformer::load(*binding);
    // Of an encoder–decoder, what neither side reads.
    transformer::WeightBinding both = *binding;
    for (const families::Plan& plan_of_encoder : plan->encoder) {
      auto encoder = transformer::Transformer::create(plan_of_encoder.spec, false);
      ASSERT_TRUE(encoder.ok()) << encoder.error().describe();
      auto own = transformer::bind_weights(**encoder, plan_of_encoder, checkpoint);
      ASSERT_TRUE(own.ok()) << own.error().describe();
      both.add(std::move(*own));
    }
    EXPECT_TRUE(both.unexpected.empty());
    std::size_t written = 0;
    for (const auto& [name, value] : transformer::stored_tensors(**model, *plan)) {
      const formats::TensorInfo* const info = checkpoint.find(name);
      ASSERT_NE(info, nullptr) << name;
      EXPECT_CLOSE(value.reshape(info->shape), transformer::to_tensor(*info, checkpoint.tensors), 1e-6) << name;
      ++written;
    }
    std::set<const formats::TensorInfo*> read;
    for (const auto& part : binding->parts) {
      read.insert(part.tensor);
    }
    EXPECT_EQ(written, read.size());
  }
}

TEST(Families, NameEachLayersEncodingAndWindow) {
  const auto layer = [](const char* folder, std::int64_t n) {
    const auto model = open_plain(fs::path(test::source_dir()) / "tests" / "golden" / "families" / folder);
    return model == nullptr ? std::string() : models::layer_text(model->info(), n);
  };
  EXPECT_EQ(layer("gemma3_text", 0), "rope base=100, window 6");
  EXPECT_EQ(layer("gemma3_text", 2), "rope base=20000 scaling=linear");
  EXPECT_EQ(layer("smollm3", 2), "rope base=2000000");
  EXPECT_EQ(layer("smollm3", 3), "none");
  EXPECT_EQ(layer("gpt_oss", 0), "rope base=150000 scaling=yarn, window 6, sink");
  EXPECT_EQ(layer("llama4_text", 1), "rope base=500000, chunk 7");
  EXPECT_EQ(layer("llama4_text", 2), "none");
  EXPECT_EQ(layer("dinov3_vit", 1), "rope-axial base=100");
  EXPECT_EQ(layer("beit", 1), "relative-grid");
  EXPECT_EQ(layer("beit-both", 1), "relative-grid");
  EXPECT_EQ(layer("deberta-v2", 1), "disentangled");
  EXPECT_EQ(layer("t5-encoder", 0), "t5");
  EXPECT_EQ(open_plain(family_folder("t5-encoder"))->info().warnings, std::vector<std::string>());
  EXPECT_EQ(layer("t5", 1), "t5");
  EXPECT_EQ(layer("umt5", 1), "t5");
  EXPECT_EQ(open_plain(family_folder("t5"))->info().warnings, std::vector<std::string>());
}

// The three kinds of maps of an encoder–decoder, and what each side says.
TEST(Families, EncoderDecodersHaveThreeSides) {
  const fs::path folder = family_folder("t5");
  const auto model = open_plain(folder);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->info().encoder_layers, 2);
  EXPECT_TRUE(model->info().causal);
  std::int64_t numbers = 0;
  const auto tensors = *formats::open_tensors(folder / "model.safetensors");
  for (const formats::TensorInfo& tensor : tensors->tensors()) {
    numbers += tensor.name.find("EncDecAttention.relative_attention_bias") == std::string::npos ? tensor.elements() : 0;
  }
  EXPECT_EQ(model->info().parameters, numbers);  // the embedding of both is one

  const test::Golden golden = expected(folder);
  const auto trace = run(*model, input_of(folder, golden));
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->side(models::Side::kDecoder), nullptr);
  EXPECT_FALSE(trace->crosses());
  const auto encoder = trace->side(models::Side::kEncoder);
  const auto cross = trace->side(models::Side::kCross);
  ASSERT_TRUE(encoder && cross);
  EXPECT_EQ(std::pair(trace->length(), encoder->length()), std::pair(std::int64_t{13}, std::int64_t{18}));
  EXPECT_EQ(std::pair(cross->length(), cross->keys()), std::pair(std::int64_t{13}, std::int64_t{18}));
  EXPECT_TRUE(cross->crosses());
  EXPECT_EQ(cross->key_tokens().back().id, encoder->tokens().back().id);
  EXPECT_FALSE(encoder->model().causal);
  EXPECT_EQ(cross->model().first_encoding().name, "none");
  EXPECT_CLOSE(test::recorded(*encoder).hidden, golden["encoder.hidden"], kFamiliesTolerance);
  for (std::size_t n = 0; n < 2; ++n) {
    const std::string prefix = ".layers." + std::to_string(n) + ".";
    const auto map = [&](const models::Trace& side) {
      return *models::whole_map(*test::recorded(side).layers[n].scores, attention::Quantity::kWeight);
    };
    EXPECT_CLOSE(map(*encoder), golden["encoder" + prefix + "attention"], kFamiliesTolerance);
    EXPECT_CLOSE(map(*cross), golden["decoder" + prefix + "cross_attention"], kFamiliesTolerance);
  }
  const auto part =
      cross->overview({1, models::kMeanHead, models::Quantity::kWeight, {2, 13}, {1, 18}}, 11, 17, Reduction::kMean);
  ASSERT_TRUE(part.ok()) << part.error().describe();
  const at::Tensor want = golden["decoder.layers.1.cross_attention"].mean(0).slice(0, 2).slice(1, 1);
  EXPECT_CLOSE(at::tensor(at::ArrayRef<float>(part->values)).view({11, 17}), want, kFamiliesTolerance);
}

// Without an input of its own the decoder has read the start token; the last row alone has logits unless all are asked.
TEST(Families, EncoderDecodersStartWithoutDecoderIds) {
  const auto model = open_plain(family_folder("t5"));
  models::Input input = input_of(family_folder("t5"), expected(family_folder("t5")));
  const auto whole = run(*model, input);
  models::RunOptions options;
  const auto last = model->run(input, options);
  ASSERT_TRUE(last.ok()) << last.error().describe();
  ASSERT_EQ(test::recorded(**last).logits.size(0), 1);
  EXPECT_CLOSE(test::recorded(**last).logits[0], test::recorded(*whole).logits[12], kFamiliesTolerance);
  EXPECT_EQ((*last)->side(models::Side::kCross)->length(), 13);
  input.decoder_ids.reset();
  const auto start = run(*model, input);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->length(), 1);
  EXPECT_EQ(start->tokens().front().id, 0);
  input.decoder_ids = std::vector<std::int64_t>{0};
  EXPECT_CLOSE(test::recorded(*start).logits, test::recorded(*run(*model, input)).logits, 1e-6);

  input.decoder_ids = std::vector<std::int64_t>{0, 61};
  const auto outside = model->run(input, options);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(outside.error().describe(), "decoder: token 1: expected an id from 0 to 60, found 61");
  input.decoder_ids = std::vector<std::int64_t>();
  EXPECT_EQ(model->run(input, options).error().code, ErrorCode::kBadInput);
  input.decoder_ids = std::vector<std::int64_t>{0};
  input.decoder_text = "a";
  EXPECT_EQ(model->run(input, options).error().code, ErrorCode::kUsage);
  input.decoder_text.reset();
  const auto other = open_plain(family_folder("t5-encoder"))->run(input, options);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kBadInput);
}

// Token by token as one run over all of them says, each the likeliest.
TEST(Families, EncoderDecodersGenerate) {
  const auto model = open_plain(family_folder("t5"));
  models::Input input = input_of(family_folder("t5"), expected(family_folder("t5")));
  input.decoder_ids->resize(3);
  models::GenerateOptions wanted;
  wanted.count = 5;
  models::RunOptions options;
  options.all_logits = true;
  const auto made = model->generate(input, wanted, options);
  ASSERT_TRUE(made.ok()) << made.error().describe();
  ASSERT_EQ(made->ids.size(), 5U);
  input.decoder_ids->insert(input.decoder_ids->end(), made->ids.begin(), made->ids.end());
  const auto whole = run(*model, input);
  ASSERT_NE(whole, nullptr);
  const at::Tensor likeliest = test::recorded(*whole).logits.argmax(-1);
  for (std::int64_t n = 0; n < 5; ++n) {
    EXPECT_EQ(made->ids[static_cast<std::size_t>(n)], likeliest[2 + n].item<std::int64_t>()) << n;
  }
  EXPECT_CLOSE(test::recorded(*made->trace).logits, test::recorded(*whole).logits, 1e-5);
  const auto map = [](const models::Trace& trace) {
    const auto cross = trace.side(models::Side::kCross);
    return *models::whole_map(*test::recorded(*cross).layers[1].scores, attention::Quantity::kWeight);
  };
  EXPECT_CLOSE(map(*made->trace), map(*whole), 1e-5);
}

// The folder of T5 with other tensors and another config.
class OtherT5 {
 public:
  using Changes = std::vector<std::pair<std::string, std::string>>;  // what stands instead of a part of the config
  explicit OtherT5(test::Tensors tensors, const Changes& changes = {}) {
    std::string config = *read_file(family_folder("t5") / "config.json", 1 << 20);
    for (const auto& [field, value] : changes) {
      const std::size_t at = config.find(field);
      EXPECT_NE(at, std::string::npos) << field;
      config.replace(at, field.size(), value);
    }
    folder_.write("config.json", config);
    test::write_tensors(folder_.path() / "model.safetensors", tensors);
  }
  static test::Tensors tensors() { return test::with_prefix(test::Golden("families/t5/model"), ""); }
  Result<std::shared_ptr<const models::Model>> open() const {
    static const models::OpenOptions options;
    return test::open(folder_.path(), options);
  }

 private:
  test::TemporaryFolder folder_;
};

// v1.1, FLAN and mT5 files have a head of their own, which nothing scales; some say module. before every name.
TEST(Families, EncoderDecodersMayHaveTheirOwnHead) {
  test::Tensors named;
  for (const auto& [name, tensor] : OtherT5::tensors()) {
    named["module." + name] = tensor;
  }
  named["module.lm_head.weight"] = OtherT5::tensors().at("shared.weight") / std::sqrt(32.0);
  const OtherT5 folder(named, {{"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"}});
  const auto model = folder.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
  const test::Golden golden = expected(family_folder("t5"));
  const auto trace = run(**model, input_of(family_folder("t5"), golden));
  ASSERT_NE(trace, nullptr);
  EXPECT_CLOSE(test::recorded(*trace).logits, golden["logits"], kFamiliesTolerance);
}

TEST(Families, EncoderDecodersFeedForwardsMayBeGated) {
  test::Tensors gated;
  for (const auto& [name, tensor] : OtherT5::tensors()) {
    const std::string plain = ".DenseReluDense.wi.weight";
    if (!name.ends_with(plain)) {
      gated[name] = tensor;
      continue;
    }
    const std::string before = name.substr(0, name.size() - plain.size()) + ".DenseReluDense.";
    gated[before + "wi_0.weight"] = tensor;
    gated[before + "wi_1.weight"] = tensor.flip(0);
  }
  const OtherT5 folder(gated, {{"\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\""},
                               {"\"dense_act_fn\": \"relu\"", "\"dense_act_fn\": \"gelu_new\""},
                               {"\"is_gated_act\": false", "\"is_gated_act\": true"}});
  const auto model = folder.open();
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
  const auto report = models::verify(**model, input_of(family_folder("t5"), expected(family_folder("t5"))));
  ASSERT_TRUE(report.ok()) << report.error().describe();
  EXPECT_TRUE(report->passed);
}

TEST(Families, EncoderDecodersSayWhatDoesNotFit) {
  test::Tensors less = OtherT5::tensors();
  less.erase("decoder.block.1.layer.1.EncDecAttention.k.weight");
  const auto missing = OtherT5(less).open();
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().describe().find("decoder.block.1.layer.1.EncDecAttention.k.weight"), std::string::npos);
  const std::string field = "\"num_decoder_layers\": 2";
  for (const char* const count : {"0", "-1", "5000", "3000000000", "\"two\""}) {
    const auto wrong = OtherT5(OtherT5::tensors(), {{field, "\"num_decoder_layers\": " + std::string(count)}}).open();
    ASSERT_FALSE(wrong.ok()) << count;
    EXPECT_EQ(wrong.error().code, ErrorCode::kBadInput);
    EXPECT_NE(wrong.error().describe().find("num_decoder_layers"), std::string::npos) << wrong.error().describe();
  }
  const auto shorter = OtherT5(OtherT5::tensors(), {{field, "\"num_decoder_layers\": 1"}}).open();
  ASSERT_TRUE(shorter.ok()) << shorter.error().describe();
  EXPECT_EQ((*shorter)->info().layers, 1);
  EXPECT_EQ((*shorter)->info().encoder_layers, 2);
  EXPECT_EQ((*shorter)->info().unexpected.size(), 13U);  // what the second layer has
  const auto start =
      OtherT5(OtherT5::tensors(), {{"\"decoder_start_token_id\": 0", "\"decoder_start_token_id\": 99"}}).open();
  ASSERT_TRUE(start.ok()) << start.error().describe();
  models::Input input;
  input.ids = {1};
  EXPECT_EQ((*start)->run(input).error().describe(), "decoder: token 0: expected an id from 0 to 60, found 99");
}

// Some programs give maps before the sinks' share, which is in the logits alone: rows of the sum 1.
TEST(Families, MapsBeforeTheSinksAreVerifiedByTheirRows) {
  const fs::path folder = family_folder("gpt_oss");
  const auto model = open_plain(folder);
  const auto golden = formats::open_tensors(folder / "expected.safetensors");
  ASSERT_TRUE(golden.ok());
  const test::TemporaryFolder changed;
  const fs::path file = changed.path() / "expected.safetensors";
  for (const double wrong : {0.0, 0.01}) {
    test::Tensors tensors;
    for (const formats::TensorInfo& each : (*golden)->tensors()) {
      at::Tensor value = transformer::to_tensor_as_stored(each, *golden);
      if (each.name.ends_with(".attention")) {
        value = value / value.sum(-1, true);
        value = value * (1 - wrong) + wrong / static_cast<double>(value.size(-1));
      }
      tensors[each.name] = value.contiguous();
    }
    test::write_tensors(file, tensors);
    const auto report = models::verify_expected(*model, file);
    ASSERT_TRUE(report.ok()) << report.error().describe();
    EXPECT_EQ(report->passed, wrong == 0);
    EXPECT_TRUE(std::any_of(report->rows.begin(), report->rows.end(), [](const models::VerifyRow& row) {
      return row.name == "layers.0.attention before the sinks";
    }));
  }
}

// What is shown of all three sides explains what the model says; without one of them it would not.
TEST(Families, EncoderDecodersAreVerified) {
  const fs::path folder = family_folder("t5");
  const auto model = open_plain(folder);
  const auto own = models::verify(*model, input_of(folder, expected(folder)));
  ASSERT_TRUE(own.ok()) << own.error().describe();
  EXPECT_TRUE(own->passed);
  const auto report = models::verify_expected(*model, folder / "expected.safetensors");
  ASSERT_TRUE(report.ok()) << report.error().describe();
  EXPECT_TRUE(report->passed);
  std::vector<std::string> names;
  for (const models::VerifyRow& row : report->rows) {
    names.push_back(row.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"logits", "encoder.hidden", "encoder.layers.0.attention",
                                             "encoder.layers.1.attention", "decoder.layers.0.attention",
                                             "decoder.layers.1.attention", "decoder.layers.0.cross_attention",
                                             "decoder.layers.1.cross_attention"}));
}

// DeBERTa's parts of the logits, as quantities of their own.
TEST(Families, DebertasPartsAreQuantities) {
  const fs::path folder = family_folder("deberta-v2");
  const auto model = open_plain(folder);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->info().has_parts());
  const test::Golden golden = expected(folder);
  const auto trace = run(*model, input_of(folder, golden));
  ASSERT_NE(trace, nullptr);
  const models::TraceData& data = test::recorded(*trace);
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const std::string prefix = "layers." + std::to_string(n) + ".";
    const auto map = [&](attention::Quantity quantity) { return *models::whole_map(*data.layers[n].scores, quantity); };
    EXPECT_CLOSE(map(attention::Quantity::kContent), golden[prefix + "content"], kFamiliesTolerance);
    EXPECT_CLOSE(map(attention::Quantity::kC2p), golden[prefix + "c2p"], kFamiliesTolerance);
    EXPECT_CLOSE(map(attention::Quantity::kP2c), golden[prefix + "p2c"], kFamiliesTolerance);
    EXPECT_CLOSE(map(attention::Quantity::kContribution),
                 map(attention::Quantity::kC2p) + map(attention::Quantity::kP2c), 1e-5);
  }
  // Two parameters of the encoding are the layers' own projections, counted once.
  std::int64_t numbers = 0;
  const auto tensors = *formats::open_tensors(folder / "model.safetensors");
  for (const formats::TensorInfo& tensor : tensors->tensors()) {
    numbers += tensor.elements();
  }
  EXPECT_EQ(model->info().parameters, numbers);
  const auto plain = open_plain(family_folder("qwen3"));
  const auto other = run(*plain, input_of(family_folder("qwen3"), expected(family_folder("qwen3"))));
  EXPECT_EQ(other->map({0, 0, models::Quantity::kC2p, {}, {}}).error().code, ErrorCode::kUnsupported);
}

// What a trace keeps of a layer beside its maps: the sink's share, and which experts the tokens went to.
TEST(Families, TracesKeepSinksAndExperts) {
  const fs::path folder = family_folder("gpt_oss");
  const auto model = open_plain(folder);
  const test::Golden golden = expected(folder);
  models::Input input = input_of(folder, golden);
  models::RunOptions options;
  options.keep = {"all"};
  const auto trace = model->run(input, options);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const test::TemporaryFolder place;
  const fs::path file = place.path() / "trace.safetensors";
  ASSERT_TRUE((*trace)->write(file, {"all"}).ok());
  const auto read = test::open_trace(file);
  ASSERT_TRUE(read.ok()) << read.error().describe();
  ASSERT_TRUE((*trace)->write(place.path() / "maps.safetensors", {"attention"}).ok());
  const auto maps = test::open_trace(place.path() / "maps.safetensors");
  ASSERT_TRUE(maps.ok()) << maps.error().describe();
  const auto length = (*trace)->length();
  for (std::int64_t n = 0; n < model->info().layers; ++n) {
    const at::Tensor rows = golden["layers." + std::to_string(n) + ".attention"].sum(-1);  // (H, T)
    for (const auto& each : {*trace, *read, *maps}) {
      for (const std::int64_t head : {std::int64_t{1}, models::kMeanHead}) {
        const auto sink = each->sink(n, head, {2, length});
        ASSERT_TRUE(sink.ok()) << sink.error().describe();
        const at::Tensor want = 1 - (head == models::kMeanHead ? rows.mean(0) : rows[head]).slice(0, 2);
        EXPECT_CLOSE(at::tensor(at::ArrayRef<float>(sink->values)), want, kFamiliesTolerance);
      }
    }
    const auto layer = static_cast<std::size_t>(n);
    const models::TraceLayer kept = test::recorded(**trace).layers[layer];
    ASSERT_EQ(kept.experts.sizes(), at::IntArrayRef({length, 2}));
    EXPECT_LT(kept.experts.max().item<std::int64_t>(), 4);
    EXPECT_TRUE(kept.experts.select(1, 0).ne(kept.experts.select(1, 1)).all().item<bool>());
    EXPECT_CLOSE(kept.expert_weights.sum(-1), at::ones({length}), 1e-6);
    EXPECT_TRUE(kept.experts.equal(test::recorded(**read).layers[layer].experts));
    EXPECT_CLOSE(kept.expert_weights, test::recorded(**read).layers[layer].expert_weights, 1e-7);
  }
  // Tokens that are appended bring theirs.
  options.continuable = true;
  models::Input part = input;
  part.ids->resize(9);
  const auto before = model->run(part, options);
  ASSERT_TRUE(before.ok());
  options.reuse = *before;
  const auto after = model->run(input, options);
  ASSERT_TRUE(after.ok());
  EXPECT_GT((*after)->reused(), 0);
  EXPECT_TRUE(test::recorded(**after).layers[1].experts.equal(test::recorded(**trace).layers[1].experts));
  EXPECT_EQ(open_plain(family_folder("qwen3"))->info().layer_info[0].sink, false);
}

// A router's choice against its definition: of the last layer, whose input the trace has.
TEST(Families, ExpertsAreThoseOfTheLargestLogits) {
  const fs::path folder = family_folder("gpt_oss");
  const auto model = open_plain(folder);
  models::RunOptions options;
  options.keep = {"all"};
  const auto trace = model->run(input_of(folder, expected(folder)), options);
  ASSERT_TRUE(trace.ok());
  const auto tensors = *formats::open_tensors(folder);
  const auto weight = [&](const std::string& name) { return transformer::to_tensor(*tensors->find(name), tensors); };
  const models::TraceLayer layer = test::recorded(**trace).layers[1];
  const std::string prefix = "model.layers.1.";
  // The layer's attention branch, from the reference's map.
  const at::Tensor x = layer.hidden.cpu();
  const auto rms = [](const at::Tensor& values, const at::Tensor& scale) {
    return values / (values.square().mean(-1, true) + 1e-5).sqrt() * scale;
  };
  const at::Tensor normed = rms(x, weight(prefix + "input_layernorm.weight"));
  const at::Tensor value =
      at::linear(normed, weight(prefix + "self_attn.v_proj.weight"), weight(prefix + "self_attn.v_proj.bias"))
          .view({x.size(0), 2, 1, 16})
          .expand({-1, -1, 2, -1})
          .reshape({x.size(0), 4, 16})
          .transpose(0, 1);
  const at::Tensor mixed =
      at::matmul(expected(folder)["layers.1.attention"], value).transpose(0, 1).reshape({x.size(0), 64});
  const at::Tensor middle =
      x + at::linear(mixed, weight(prefix + "self_attn.o_proj.weight"), weight(prefix + "self_attn.o_proj.bias"));
  const at::Tensor logits = at::linear(rms(middle, weight(prefix + "post_attention_layernorm.weight")),
                                       weight(prefix + "mlp.router.weight"), weight(prefix + "mlp.router.bias"));
  const auto [largest, chosen] = logits.topk(2, -1);
  EXPECT_TRUE(layer.experts.equal(chosen));
  EXPECT_CLOSE(layer.expert_weights, at::softmax(largest, -1), kFamiliesTolerance);
}

// Configurations that make no model, or one that is not read: one line that names the field.
TEST(Families, RefuseConfigurationsThatCannotBe) {
  struct Wrong {
    const char* folder;
    const char* from;
    const char* to;
    ErrorCode code;
    const char* word;
  };
  const std::vector<Wrong> list{
      {"gpt_oss", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9", ErrorCode::kBadInput, "experts"},
      {"gpt_oss", "\"num_local_experts\": 4", "\"num_local_experts\": -4", ErrorCode::kBadInput, "experts"},
      {"gpt_oss", "\"sliding_window\": 6", "\"sliding_window\": 0", ErrorCode::kBadInput, "sliding_window"},
      {"gpt_oss", "\"sliding_attention\",", "", ErrorCode::kBadInput, "layer_types"},
      {"gpt_oss", "\"sliding_attention\"", "\"sideways_attention\"", ErrorCode::kUnsupported, "layer_types"},
      {"gemma2", "\"sliding_window\": 5", "\"sliding_window\": 0", ErrorCode::kBadInput, "sliding_window"},
      {"mixtral", "\"sliding_window\": null", "\"sliding_window\": 0", ErrorCode::kBadInput, "sliding_window"},
      {"smollm3", "\"no_rope_layers\": [", "\"no_rope_layers\": [1,", ErrorCode::kBadInput, "no_rope_layers"},
      {"dinov3_vit", "\"num_attention_heads\": 2", "\"num_attention_heads\": 16", ErrorCode::kBadInput, "4 divides"},
      {"dinov3_vit", "\"rope_theta\": 100.0", "\"rope_theta\": 0.5", ErrorCode::kBadInput, "base"},
      {"dinov3_vit", "\"patch_size\": 8", "\"patch_size\": 0", ErrorCode::kBadInput, "patch"},
      {"beit", "\"use_absolute_position_embeddings\": false", "\"use_absolute_position_embeddings\": true",
       ErrorCode::kBadInput, "beit.embeddings.position_embeddings"},
      {"beit", "\"image_size\": 40", "\"image_size\": 4", ErrorCode::kBadInput, "patch"},
      {"beit", "\"image_size\": 40", "\"image_size\": 48", ErrorCode::kBadInput, "relative_position_bias_table"},
      {"deberta-v2", "\"position_buckets\": 8", "\"position_buckets\": 1", ErrorCode::kBadInput, "buckets"},
      {"deberta-v2", "\"position_buckets\": 8", "\"position_buckets\": 16", ErrorCode::kBadInput, "rel_embeddings"},
      {"deberta-v2", "p2c|c2p", "p2p", ErrorCode::kUnsupported, "pos_att_type"},
      {"deberta-v2", "\"position_biased_input\": false", "\"position_biased_input\": true", ErrorCode::kUnsupported,
       "position_biased_input"},
      {"deberta-v2", "\"vocab_size\"", "\"conv_kernel_size\": 4, \"vocab_size\"", ErrorCode::kBadInput,
       "convolution: expected an odd number"},
      {"t5-encoder", "\"relative_attention_num_buckets\": 32", "\"relative_attention_num_buckets\": 6",
       ErrorCode::kBadInput, "buckets"},
      {"t5-encoder", "\"relative_attention_max_distance\": 128", "\"relative_attention_max_distance\": 8",
       ErrorCode::kBadInput, "max_distance"},
      {"t5-encoder", "gated-gelu", "gated-sine", ErrorCode::kUnsupported, "feed_forward_proj"},
  };
  for (const Wrong& wrong : list) {
    SCOPED_TRACE(std::string(wrong.folder) + ": " + wrong.to);
    const test::TemporaryFolder place;
    fs::copy(family_folder(wrong.folder), place.path(), fs::copy_options::recursive);
    std::string text = *read_file(place.path() / "config.json", 1 << 20);
    const std::size_t at = text.find(wrong.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string(wrong.from).size(), wrong.to);
    fs::remove(place.path() / "config.json");
    place.write("config.json", text);
    static const models::OpenOptions defaults;  // a temporary one is a false alarm of GCC 12
    const auto model = test::open(place.path(), defaults);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, wrong.code);
    EXPECT_NE(model.error().describe().find(wrong.word), std::string::npos) << model.error().describe();
    EXPECT_EQ(model.error().describe().find('\n'), std::string::npos);
  }
}

// A base that is asked for is obeyed by the layers that rope_theta rules, unless others are named.
TEST(Families, TheLayersOfItsFieldObeyWhatIf) {
  for (const char* const layers : {"", "0,1,2,3"}) {
    models::OpenOptions options;
    options.overrides.rope_base = 77;
    options.overrides.rope_base_layers = layers;
    const auto model = test::open_model(family_folder("gemma3_text"), options);
    ASSERT_NE(model, nullptr);
    for (std::int64_t n = 0; n < model->info().layers; ++n) {
      const bool local = model->info().layer_info[static_cast<std::size_t>(n)].window > 0;
      EXPECT_EQ(model->info().encoding_of(n)->options.number("base", 0).value(),
                local && *layers == '\0' ? 100.0 : 77.0)
          << n << " of " << layers;
    }
  }
}

}  // namespace
}  // namespace locus
