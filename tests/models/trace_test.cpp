// Traces: written, opened again, made by another program, verified.
#include <gtest/gtest.h>

#include <cmath>

#include "models/api/analyses.h"
#include "models/api/files.h"
#include "models/api/verify.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

// The Llama of the golden tests.
struct Llama {
  test::Golden golden{"llama_rope"};
  test::TemporaryFolder folder;
  std::shared_ptr<const models::Model> model;
  models::Input input;

  Llama() {
    folder.write("config.json", R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 32,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "rms_norm_eps": 1e-5})");
    test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
    const models::OpenOptions options;
    model = test::open_model(folder.path(), options);
    input.ids = test::ids_of(golden["input_ids"][0]);
  }
  std::shared_ptr<const models::Trace> run(const std::set<std::string>& keep) const {
    models::RunOptions options;
    options.keep = keep;
    options.all_logits = true;
    const auto trace = model->run(input, options);
    EXPECT_TRUE(trace.ok());
    return trace.ok() ? *trace : nullptr;
  }
};

void expect_same_maps(const models::Trace& got, const models::Trace& want) {
  for (const models::Quantity quantity : {models::Quantity::kWeight, models::Quantity::kContent}) {
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      models::MapRequest request;
      request.layer = layer;
      request.head = 3;
      request.quantity = quantity;
      const auto a = got.map(request);
      const auto b = want.map(request);
      ASSERT_TRUE(a.ok() && b.ok()) << (a.ok() ? "" : a.error().describe());
      for (std::size_t n = 0; n < b->values.size(); ++n) {
        EXPECT_TRUE(std::isnan(b->values[n]) ? std::isnan(a->values[n])
                                             : std::abs(a->values[n] - b->values[n]) < 1e-5F);
      }
    }
  }
}

TEST(Trace, WrittenAndOpenedAgainItShowsTheSame) {
  const Llama llama;
  const auto trace = llama.run({"all"});
  ASSERT_TRUE(trace);
  for (const std::set<std::string>& keep :
       {std::set<std::string>{"all"}, std::set<std::string>{"q", "k", "q_content", "k_content", "logits"},
        std::set<std::string>{"q", "k", "logits"}}) {  // whose content the encoding gives back
    const auto path = llama.folder.path() / "trace.safetensors";
    const Status written = trace->write(path, keep);
    ASSERT_TRUE(written.ok()) << written.error().describe();
    const auto opened = test::open_trace(path);
    ASSERT_TRUE(opened.ok()) << opened.error().describe();
    EXPECT_EQ((*opened)->model().first_encoding().name, "rope");
    EXPECT_EQ((*opened)->length(), 7);
    EXPECT_EQ((*opened)->top(3)[0].id, trace->top(3)[0].id);
    expect_same_maps(**opened, *trace);
    EXPECT_TRUE((*opened)->dot_product(1, 0, {}, {}, {.cosine = true, .centred = {}}).ok());
  }
}

TEST(Trace, AttentionOfAnotherProgramIsEnough) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "theirs.safetensors";
  const at::Tensor attention = at::softmax(at::randn({2, 3, 3}), -1);
  std::vector<formats::OutputTensor> tensors{
      {"layers.0.attention",
       formats::DType::kF32,
       {2, 3, 3},
       {static_cast<const std::byte*>(attention.data_ptr()), attention.nbytes()}}};
  const Status written = formats::write_safetensors(
      path, tensors, {{"locus.format", "trace/1"}, {"tokens", R"(["a", "b", "c"])"}, {"causal", "false"}});
  ASSERT_TRUE(written.ok());
  const auto opened = test::open_trace(path);
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  models::MapRequest request;
  request.head = 1;
  const auto map = (*opened)->map(request);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->at(1, 2), attention[1][1][2].item<float>());
  request.quantity = models::Quantity::kLogit;
  EXPECT_EQ((*opened)->map(request).error().code, ErrorCode::kUnsupported);
}

// A trace says that its products were fast.
TEST(Trace, FastProductsAreKept) {
  const test::TemporaryFolder folder;
  const at::Tensor attention = at::softmax(at::randn({1, 2, 2}), -1);
  for (const std::string speed : {"fast", "exact", "swift"}) {
    const auto path = folder.path() / (speed + ".safetensors");
    const std::vector<formats::OutputTensor> tensors{
        {"layers.0.attention",
         formats::DType::kF32,
         {1, 2, 2},
         {static_cast<const std::byte*>(attention.data_ptr()), attention.nbytes()}}};
    const Status stored =
        formats::write_safetensors(path, tensors, {{"locus.format", "trace/1"}, {"causal", "false"}, {"speed", speed}});
    ASSERT_TRUE(stored.ok()) << stored.error().describe();
    const auto opened = test::open_trace(path);
    ASSERT_EQ(opened.ok(), speed != "swift");
    if (!opened.ok()) {
      EXPECT_NE(opened.error().describe().find("expected exact or fast, found swift"), std::string::npos);
      continue;
    }
    EXPECT_EQ((*opened)->model().overrides.fast, speed == "fast");
    ASSERT_TRUE((*opened)->write(folder.path() / "again.safetensors", {"attention"}).ok());
    const auto again = test::open_trace(folder.path() / "again.safetensors");
    ASSERT_TRUE(again.ok()) << again.error().describe();
    EXPECT_EQ((*again)->model().overrides.fast, speed == "fast");
  }
}

// Queries and keys of another program, (H, T, D) and (Hkv, T, D), and nothing else.
void write_head(const std::filesystem::path& path, const at::Tensor& query, const at::Tensor& key,
                const std::string& encoding, const std::string& shape = "{}") {
  std::vector<formats::OutputTensor> tensors;
  for (const auto& [name, tensor] : {std::pair{"layers.0.q", &query}, std::pair{"layers.0.k", &key}}) {
    tensors.push_back({name,
                       formats::DType::kF32,
                       tensor->sizes().vec(),
                       {static_cast<const std::byte*>(tensor->data_ptr()), tensor->nbytes()}});
  }
  const Status written = formats::write_safetensors(
      path, tensors, {{"locus.format", "trace/1"}, {"encoding", encoding}, {"causal", "true"}, {"shape", shape}});
  ASSERT_TRUE(written.ok()) << written.error().describe();
}

// A key head's number alone says which component turns it: a file must have as many key heads as the model.
TEST(Trace, KeyHeadsAreThoseThatSectionsCount) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "heads.safetensors";
  at::manual_seed(5);
  const auto rope =
      test::encoding("rope", {{"sections", std::vector<double>{1, 0, 0}}, {"section_layout", std::string("heads")}},
                     test::shape_of(4, 8, 2));
  const at::Tensor query = at::randn({1, 4, 9, 8});
  const at::Tensor key = at::randn({1, 2, 9, 8});
  const position::Prepared turned = test::prepare(*rope, position::Positions::sequence(9), query, key);
  const auto opened = [&](const at::Tensor& keys, const std::string& shape) {
    write_head(path, turned.query[0].contiguous(), keys.contiguous(),
               R"({"name": "rope", "sections": [1, 0, 0], "section_layout": "heads"})", shape);
    return test::open_trace(path);
  };
  const auto trace = opened(turned.key[0], R"({"kv_heads": 2})");
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  for (std::int64_t head = 0; head < 4; ++head) {  // q and k are turned back, or never turned
    models::MapRequest request;
    request.head = head;
    request.quantity = models::Quantity::kContent;
    const auto map = (*trace)->map(request);
    ASSERT_TRUE(map.ok()) << map.error().describe();
    const at::Tensor want = at::matmul(query[0][head], key[0][head / 2].t()) / std::sqrt(8.0);
    for (std::int64_t i = 0; i < 9; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        EXPECT_NEAR(map->at(i, j), want[i][j].item<float>(), 2e-6) << head << ": " << i << ", " << j;
      }
    }
    const auto theory = models::theory_curves(**trace, 0, head, {0, 1, 2});
    EXPECT_EQ(theory.ok(), head < 2);
    EXPECT_TRUE(theory.ok() || theory.error().code == ErrorCode::kUnsupported) << theory.error().describe();
  }
  // As an edit of pairs leaves them: a key head for each query head.
  const auto more = opened(turned.key[0].repeat_interleave(2, 0), R"({"kv_heads": 2})");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, ErrorCode::kBadInput);
  EXPECT_NE(more.error().describe().find("tensor layers.0.k: expected 2 key heads, which section_layout heads deals to "
                                         "components, found 4"),
            std::string::npos)
      << more.error().describe();
  EXPECT_TRUE(opened(turned.key[0], "{}").ok());
}

// A forget gate is of every token and head: a trace without them, or with vectors in their place, is refused.
TEST(Trace, ForgetGatesAreExpectedWhereTheEncodingHasThem) {
  const test::TemporaryFolder folder;
  at::manual_seed(5);
  const at::Tensor rows = at::randn({2, 5, 4});
  const at::Tensor gate = at::randn({2, 8});
  const at::Tensor bias = at::zeros({2});
  const auto opened = [&](const at::Tensor& gates) {
    std::vector<std::pair<std::string, at::Tensor>> all{{"layers.0.q", rows},
                                                        {"layers.0.k", rows},
                                                        {"layers.0.encoding.gate", gate},
                                                        {"layers.0.encoding.gate_bias", bias}};
    if (gates.defined()) {
      all.emplace_back("layers.0.q_gate", gates);
    }
    std::vector<formats::OutputTensor> tensors;
    for (const auto& [name, tensor] : all) {
      tensors.push_back({name,
                         formats::DType::kF32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    const auto path = folder.path() / "fox.safetensors";
    const Status written = formats::write_safetensors(
        path, tensors,
        {{"locus.format", "trace/1"}, {"encoding", R"({"name": "fox"})"}, {"causal", "true"}, {"width", "8"}});
    EXPECT_TRUE(written.ok()) << written.error().describe();
    return test::open_trace(path);
  };
  const auto whole = opened(-at::rand({2, 5, 1}));
  ASSERT_TRUE(whole.ok()) << whole.error().describe();
  models::MapRequest request;
  request.head = 1;
  EXPECT_TRUE((*whole)->map(request).ok());
  for (const at::Tensor& gates : {at::Tensor(), rows}) {
    const auto refused = opened(gates);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().describe().find("layers.0.q_gate"), std::string::npos) << refused.error().describe();
  }
}

// The terms of GRAPE are a number of each token and head: others, and none, are refused. Without its parameters, which
// say what its pairs turn by, there is no map of queries and keys.
TEST(Trace, TermsAreExpectedWhereGrapeHasThem) {
  const test::TemporaryFolder folder;
  at::manual_seed(5);
  const at::Tensor rows = at::randn({2, 5, 4});
  const at::Tensor terms = at::rand({2, 5, 1});
  const auto opened = [&](const std::string& encoding, const std::vector<std::pair<std::string, at::Tensor>>& more) {
    std::vector<formats::OutputTensor> tensors;
    std::vector<std::pair<std::string, at::Tensor>> all{{"layers.0.q", rows}, {"layers.0.k", rows}};
    all.insert(all.end(), more.begin(), more.end());
    for (const auto& [name, tensor] : all) {
      tensors.push_back({name,
                         formats::DType::kF32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    const auto path = folder.path() / "grape.safetensors";
    const Status written = formats::write_safetensors(
        path, tensors, {{"locus.format", "trace/1"}, {"encoding", encoding}, {"causal", "true"}, {"width", "8"}});
    EXPECT_TRUE(written.ok()) << written.error().describe();
    return test::open_trace(path);
  };
  const auto additive = [&](const at::Tensor& of_query, const at::Tensor& of_key) {
    std::vector<std::pair<std::string, at::Tensor>> more{{"layers.0.encoding.rate", at::ones({2})},
                                                         {"layers.0.encoding.key_direction", at::ones({2, 4})},
                                                         {"layers.0.encoding.query_direction", at::ones({2, 4})}};
    for (const auto& [name, tensor] : {std::pair("layers.0.q_gate", of_query), std::pair("layers.0.k_gate", of_key)}) {
      if (tensor.defined()) {
        more.emplace_back(name, tensor);
      }
    }
    return opened(R"({"name": "grape", "form": "additive", "gated": "both"})", more);
  };
  const auto whole = additive(terms, terms);
  ASSERT_TRUE(whole.ok()) << whole.error().describe();
  const auto map = (*whole)->map({0, 1, models::Quantity::kContribution, {}, {}});
  ASSERT_TRUE(map.ok()) << map.error().describe();
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double term = terms[1][i][0].item<double>() + terms[1][j][0].item<double>();
      EXPECT_NEAR(map->at(i, j), -static_cast<double>(i - j) * term, 1e-5) << i << " " << j;
    }
  }
  for (const at::Tensor& wrong : {at::Tensor(), rows}) {
    for (const bool of_key : {false, true}) {
      const auto refused = additive(of_key ? terms : wrong, of_key ? wrong : terms);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
      EXPECT_NE(refused.error().describe().find(of_key ? "layers.0.k_gate" : "layers.0.q_gate"), std::string::npos)
          << refused.error().describe();
    }
  }
  const std::string turned = R"({"name": "grape"})";
  const auto known = opened(turned, {{"layers.0.encoding.log_frequencies", at::randn({2})}});
  ASSERT_TRUE(known.ok()) << known.error().describe();
  EXPECT_TRUE((*known)->map({0, 1, models::Quantity::kLogit, {}, {}}).ok());
  const auto unknown = opened(turned, {});
  EXPECT_FALSE(unknown.ok() && (*unknown)->map({0, 1, models::Quantity::kLogit, {}, {}}).ok());
}

// The numbers by which each token mixes its profiles: others, and none, are refused.
TEST(Trace, StatesAreExpectedWhereTokensMixProfiles) {
  const test::TemporaryFolder folder;
  at::manual_seed(6);
  const at::Tensor rows = at::randn({2, 5, 4});
  const at::Tensor profiles = at::randn({2, 3});
  const auto opened = [&](const at::Tensor& states) {
    std::vector<std::pair<std::string, at::Tensor>> all{{"layers.0.q", rows},
                                                        {"layers.0.k", rows},
                                                        {"layers.0.encoding.mixing", at::ones({4, 8})},
                                                        {"layers.0.encoding.profiles", profiles}};
    if (states.defined()) {
      all.emplace_back("layers.0.q_gate", states);
    }
    std::vector<formats::OutputTensor> tensors;
    for (const auto& [name, tensor] : all) {
      tensors.push_back({name,
                         formats::DType::kF32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    const auto path = folder.path() / "relative-state.safetensors";
    const Status written =
        formats::write_safetensors(path, tensors,
                                   {{"locus.format", "trace/1"},
                                    {"encoding", R"({"name": "relative-state", "extent": 3, "states": 2})"},
                                    {"causal", "true"},
                                    {"width", "8"}});
    EXPECT_TRUE(written.ok()) << written.error().describe();
    return test::open_trace(path);
  };
  const at::Tensor states = at::randn({2, 5, 2});
  const auto whole = opened(states);
  ASSERT_TRUE(whole.ok()) << whole.error().describe();
  const auto map = (*whole)->map({0, 1, models::Quantity::kContribution, {}, {}});
  ASSERT_TRUE(map.ok()) << map.error().describe();
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double bias = i - j < 3 ? (states[1][i] * profiles.select(1, i - j)).sum().item<double>() : 0;
      EXPECT_NEAR(map->at(i, j), bias, 1e-5) << i << " " << j;
    }
  }
  for (const at::Tensor& wrong : {at::Tensor(), rows}) {
    const auto refused = opened(wrong);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
    EXPECT_NE(refused.error().describe().find("layers.0.q_gate"), std::string::npos) << refused.error().describe();
  }
}

TEST(Trace, QueriesAndKeysAloneAreEnough) {
  constexpr std::int64_t kLength = 150;
  constexpr std::int64_t kPixels = 30;
  const test::TemporaryFolder folder;
  at::manual_seed(11);
  const at::Tensor query = at::randn({4, kLength, 16});
  const at::Tensor key = at::randn({2, kLength, 16});
  write_head(folder.path() / "head.safetensors", query, key, R"({"name": "rope"})");
  const auto opened = test::open_trace(folder.path() / "head.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  const models::Trace& trace = **opened;
  EXPECT_EQ(trace.length(), kLength);
  const at::Tensor hidden = at::ones({kLength, kLength}, at::kBool).triu(1);
  for (std::int64_t head = 0; head < 4; ++head) {
    const at::Tensor logits = (at::matmul(query[head], key[head / 2].t()) / 4).masked_fill(hidden, -INFINITY);
    const at::Tensor weights = at::softmax(logits, -1);
    for (const auto& [quantity, want] :
         {std::pair{models::Quantity::kLogit, &logits}, std::pair{models::Quantity::kWeight, &weights}}) {
      const models::MapRequest request{0, head, quantity, {}, {}};
      const auto cells = want->accessor<float, 2>();
      const auto expect = [&](float got, std::int64_t row, std::int64_t column) {
        const float value = cells[row][column];
        if (std::isinf(value)) {
          EXPECT_TRUE(std::isnan(got));
        } else {
          EXPECT_NEAR(got, value, 1e-5F * (1 + std::abs(value))) << head << ": " << row << ", " << column;
        }
      };
      const auto map = trace.map(request);
      const auto sampled = trace.preview(request, kPixels, kPixels);
      const auto maximum = trace.overview(request, kPixels, kPixels, Reduction::kMax);
      ASSERT_TRUE(map.ok() && sampled.ok() && maximum.ok());
      for (std::int64_t row = 0; row < kLength; ++row) {
        for (std::int64_t column = 0; column < kLength; ++column) {
          expect(map->at(row, column), row, column);
        }
      }
      constexpr std::int64_t kCells = kLength / kPixels;
      for (std::int64_t y = 0; y < kPixels; ++y) {
        for (std::int64_t x = 0; x <= y; ++x) {
          expect(sampled->at(y, x), (y + 1) * kCells - 1, x * kCells);
          const at::Tensor cell = want->slice(0, y * kCells, (y + 1) * kCells).slice(1, x * kCells, (x + 1) * kCells);
          EXPECT_NEAR(maximum->at(y, x), cell.max().item<float>(), 1e-5F * (1 + std::abs(maximum->at(y, x))));
        }
      }
    }
  }
}

using Metadata = std::map<std::string, std::string>;

// A trace of one layer with one head over 13 tokens, and this metadata.
void write_stored(const std::filesystem::path& path, const Metadata& metadata) {
  const at::Tensor attention = at::softmax(at::zeros({1, 13, 13}), -1);
  const at::Tensor ids = at::arange(13, at::kLong);
  const auto bytes = [](const at::Tensor& tensor) {
    return std::span(static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes());
  };
  const Status written =
      formats::write_safetensors(path,
                                 {{"layers.0.attention", formats::DType::kF32, {1, 13, 13}, bytes(attention)},
                                  {"input_ids", formats::DType::kI64, {13}, bytes(ids)}},
                                 metadata);
  ASSERT_TRUE(written.ok()) << written.error().describe();
}

TEST(Trace, WhatItsMetadataSaysIsChecked) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "theirs.safetensors";
  const auto with = [&](const std::string& name, const std::string& text) {
    write_stored(path, {{"locus.format", "trace/1"}, {name, text}});
    return test::open_trace(path);
  };
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"image_grid", R"({"rows": 3, "columns": 4, "cls": 1})"},
           {"image_grid", R"({"rows": 2, "columns": 4, "cls": 1, "registers": 4})"},
           {"image_grid", R"({"rows": 2, "columns": 4, "cls": 1, "detections": 4})"},
           {"shape", R"({"width": 64, "vocabulary": 5000000000, "new": []})"},
           {"causal", "false"},
           {"window", "5"}}) {
    const auto opened = with(name, text);
    EXPECT_TRUE(opened.ok()) << opened.error().describe();
  }
  for (const auto& [name, text, what] : std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"image_grid", R"({"rows": 4, "columns": 4611686018427387913, "cls": 1})", "columns: expected 0 to 13"},
           {"image_grid", R"({"rows": 4611686018427387904, "columns": 4})", "rows"},
           {"image_grid", R"({"rows": 1e30, "columns": 4})", "rows: expected a whole number"},
           {"image_grid", R"({"rows": 4, "columns": 4, "cls": -3})", "cls: expected 0 to 13, found -3"},
           {"image_grid", R"({"rows": 5, "columns": 3, "registers": -2})", "registers"},
           {"image_grid", R"({"rows": 4, "columns": 4, "detections": -3})", "detections: expected 0 to 13, found -3"},
           {"image_grid", R"({"rows": 3, "columns": 4, "detections": 2})", "found 3 × 4 + 0 + 0 + 2"},
           {"image_grid", R"({"rows": "4", "columns": 4})", "rows: expected a whole number, found \"4\""},
           {"image_grid", R"({"rows": 3, "columns": 4, "cls": [1]})", "cls"},
           {"image_grid", R"({"rows": 3, "columns": 4})", "found 3 × 4 + 0 + 0"},
           {"image_grid", R"({"rows": 0, "columns": 4, "cls": 13})", "found 0 × 4 + 13 + 0"},
           {"image_grid", "[3, 4]", "expected an object, found array"},
           {"image_grid", "{", "not JSON"},
           {"shape", R"({"width": -1})", "width: expected 0 to 16777216, found -1"},
           {"shape", R"({"head_width": "wide"})", "head_width"},
           {"shape", "7", "expected an object"},
           {"tokens", "5", "expected a list of texts"},
           {"tokens", R"(["a", 7])", "[1]: expected a text, found number"},
           {"tokens", R"(["a", "b"])", "found 13 ids and 2 tokens"},
           {"encoding", R"(["rope"])", "expected an object"},
           {"encoding", R"({"name": 3})", "name: expected a string, found 3"},
           {"encoding", R"({"base": 3})", "name"},
           {"encoding", R"({"name": "rope", "base": {}})", "base"},
           {"causal", "True", "expected true or false, found True"},
           {"window", "-4", "found -4"},
           {"window", "4 tokens", "found 4 tokens"}}) {
    const auto opened = with(name, text);
    ASSERT_FALSE(opened.ok()) << name << " " << text;
    EXPECT_EQ(opened.error().code, ErrorCode::kBadInput) << opened.error().describe();
    const std::string line = opened.error().describe();
    EXPECT_TRUE(line.starts_with(path.string())) << line;
    EXPECT_NE(line.find(name), std::string::npos) << line;
    EXPECT_NE(line.find(what), std::string::npos) << line;
  }
}

TEST(Trace, WhatItsWriterNotesIsAWarning) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "noted.safetensors";
  const Metadata noted{{"locus.format", "trace/1"},
                       {"notes", R"(["layers 2: the map is stored", "one\ntwo"])"},
                       {"recorded_layers", "[5]"}};
  write_stored(path, noted);
  const auto opened = test::open_trace(path);
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  const std::vector<std::string>& warnings = (*opened)->model().warnings;
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_EQ(warnings[0], "recording: layers 2: the map is stored");
  EXPECT_EQ(warnings[1].find('\n'), std::string::npos);
  EXPECT_EQ(warnings[2], "recording: its layers are those that the model numbers 5");
  for (const auto& [key, value] : {std::pair{"notes", "[1]"}, std::pair{"notes", "{}"}, std::pair{"notes", "["},
                                   std::pair{"recorded_layers", "[1, 2]"}, std::pair{"recorded_layers", "[-1]"},
                                   std::pair{"recorded_layers", "1"}}) {
    Metadata wrong = noted;
    wrong[key] = value;
    write_stored(path, wrong);
    const auto refused = test::open_trace(path);
    ASSERT_FALSE(refused.ok()) << value;
    EXPECT_NE(refused.error().describe().find(std::string("metadata ") + key), std::string::npos);
  }
}

TEST(Trace, TokensStandForTheBytesOfTheTextInTheirOrder) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "theirs.safetensors";
  const auto with = [&](const at::Tensor& bytes) {
    const at::Tensor attention = at::softmax(at::zeros({1, 4, 4}), -1);
    const auto of = [](const at::Tensor& tensor) {
      return std::span(static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes());
    };
    const Status written =
        formats::write_safetensors(path,
                                   {{"layers.0.attention", formats::DType::kF32, {1, 4, 4}, of(attention)},
                                    {"token_bytes", formats::DType::kI64, {4, 2}, of(bytes)}},
                                   {{"locus.format", "trace/1"}, {"text", "abcdef"}});
    EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().describe());
    return test::open_trace(path);
  };
  // A special token without bytes, two tokens of one letter, and one whose bytes begin within another's.
  const auto opened = with(at::tensor({0, 0, 0, 2, 0, 2, 1, 6}, at::kLong));
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  EXPECT_EQ((*opened)->tokens()[3].bytes, (Range{1, 6}));
  for (const auto& bytes : std::initializer_list<std::vector<std::int64_t>>{{0, 0, 0, 2, 2, 4, 4, 7},
                                                                            {-1, 2, 2, 4, 4, 5, 5, 6},
                                                                            {0, 2, 4, 2, 4, 5, 5, 6},
                                                                            {2, 4, 0, 2, 4, 5, 5, 6},
                                                                            {2, 4, 0, 0, 1, 3, 5, 6}}) {
    const auto bad = with(at::tensor(bytes));
    ASSERT_FALSE(bad.ok()) << at::tensor(bytes);
    EXPECT_NE(bad.error().describe().find("expected bytes of the text from "), std::string::npos)
        << bad.error().describe();
  }
}

TEST(Trace, ItsLengthIsOneThatItsBytesBear) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "empty.safetensors";
  constexpr std::int64_t kHuge = std::int64_t{1} << 59;
  for (const auto& [name, shape] : std::initializer_list<std::pair<const char*, std::vector<std::int64_t>>>{
           {"layers.0.q", {0, kHuge, 8}}, {"position_ids", {kHuge, 0}}, {"layers.0.attention", {0, 3, 3}}}) {
    const Status written = formats::write_safetensors(path, {{name, formats::DType::kF32, shape, {}}},
                                                      {{"locus.format", "trace/1"}, {"encoding", ""}});
    ASSERT_TRUE(written.ok()) << written.error().describe();
    const auto opened = test::open_trace(path);
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::kBadInput) << opened.error().describe();
  }
}

TEST(Trace, AFileSaysWhetherItIsOne) {
  const test::TemporaryFolder folder;
  write_stored(folder.path() / "a.safetensors", {{"locus.format", "trace/1"}, {"image_grid", "broken"}});
  write_stored(folder.path() / "b.safetensors", {{"locus.format", "trace/2"}});
  write_stored(folder.path() / "c.safetensors", {{"locus.format", "training/1"}});
  write_stored(folder.path() / "d.safetensors", {});
  folder.write("e.safetensors", "no header");
  EXPECT_TRUE(models::is_trace(folder.path() / "a.safetensors"));
  EXPECT_TRUE(models::is_trace(folder.path() / "b.safetensors"));
  EXPECT_NE(test::open_trace(folder.path() / "b.safetensors").error().describe().find("found trace/2"),
            std::string::npos);
  for (const char* other : {"c.safetensors", "d.safetensors", "e.safetensors", "none.safetensors", "."}) {
    EXPECT_FALSE(models::is_trace(folder.path() / other)) << other;
  }
}

TEST(Trace, RefusesUnknownNamesAndWhatWasNotKept) {
  const Llama llama;
  const auto trace = llama.run({"logits"});
  ASSERT_TRUE(trace);
  const auto path = llama.folder.path() / "trace.safetensors";
  EXPECT_EQ(trace->write(path, {"attentions"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(trace->write(path, {"gates"}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(trace->write(path, {"hidden"}).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(std::filesystem::exists(path));
  models::MapRequest request;
  request.layer = 2;
  EXPECT_EQ(trace->map(request).error().code, ErrorCode::kBadInput);
}

TEST(Trace, TheShownAttentionExplainsTheLogits) {
  const Llama llama;
  const auto path = llama.folder.path() / "trace.safetensors";
  ASSERT_TRUE(llama.run({"all"})->write(path, {"all"}).ok());
  const auto report = models::verify(*llama.model, llama.input, path);
  ASSERT_TRUE(report.ok()) << report.error().describe();
  EXPECT_TRUE(report->passed);
  EXPECT_GE(report->rows.size(), 5U);

  models::OpenOptions options;
  options.overrides.rope_base = 100.0;
  const auto other = test::open_model(llama.folder.path(), options);
  const auto differs = models::verify(*other, llama.input, path);
  ASSERT_TRUE(differs.ok());
  EXPECT_FALSE(differs->passed);
}

}  // namespace
}  // namespace locus
