#include "models/transformer/locus_config.h"

#include <gtest/gtest.h>

#include <tuple>

namespace {

using locus::ErrorCode;
using namespace locus::transformer;
using nlohmann::json;

Spec unusual() {
  Spec spec;
  spec.vocabulary = 300;
  spec.width = 48;
  spec.norm = Norm::kLayer;
  spec.norm_bias = spec.norm_weight = false;
  spec.norm_eps = 1e-12;
  spec.after_norm_eps = 1e-3;
  LayerSpec layer;
  layer.attention = {6, 2, 10, 12, QkvLayout::kPerHead};
  layer.attention.set_qkv_bias(true);
  layer.attention.output_bias = layer.attention.sinks = true;
  layer.attention.norm = {QueryNormForm::kOwn, Norm::kLayer, false, true, 1e-3, NormedSides::kKey};
  layer.attention.scale = 0.3;
  layer.attention.soft_cap = 50;
  layer.attention.window = 9;
  layer.attention.chunk = 16;
  layer.attention.value_norm = layer.attention.output_norm = layer.output_scale = true;
  layer.attention.output_norm_own = true;
  layer.attention.tuning = {0.1, 4, 0, false, true};
  layer.attention.value_scale = 0.7;
  layer.attention.clip = 6;
  layer.attention.gate = {GateForm::kChannel, true, true};
  layer.feed_forward = {77, Activation::kGeluTanh, false, true, false, true, 7, 1.5};
  layer.feed_forward.gate_factor = 0.7;
  layer.feed_forward.output_scale = true;
  layer.attention_input = layer.attention_output = 0.9;
  layer.mixer_input = layer.mixer_output = 0.8;
  MixerSpec& mixer = layer.mixer;
  mixer.kind = Mixing::kDelta;
  mixer.heads = 6;
  mixer.key_heads = 6;
  mixer.key_width = 10;
  mixer.value_width = 12;
  mixer.kernel = 3;
  mixer.kernel_bias = mixer.bias = true;
  mixer.norm_eps = 1e-4;
  mixer.norm = MixerNorm::kGateThenNorm;
  mixer.norm_groups = 2;
  mixer.qkv = QkvLayout::kSeparate;
  mixer.tiled_values = mixer.channel_decay = mixer.sigmoid_gate = mixer.inner_norms = true;
  mixer.decay_floor = -5;
  mixer.beta_scale = 2;
  mixer.gate_rank = 8;
  mixer.least_step = 0.1;
  mixer.most_step = 0.9;
  mixer.gate_factor = mixer.value_factor = mixer.write_factor = mixer.read_factor = mixer.step_factor = 0.5;
  mixer.step_rank = 4;
  layer.feed_forward.experts = {8,   2, Router::kSigmoid, true, true, true, 4, 2, 2.5, 20, true, true, true, true, 3, 2,
                                0.1, 5};
  layer.attention_norm = NormPlace::kPost;
  layer.feed_forward_norm = NormPlace::kBoth;
  layer.parallel = layer.shared_norm = layer.residual_from_norm = layer.layer_scale = true;
  layer.attention_sum = {0.8, 0.6, true};
  layer.feed_forward_sum = {0.9, 0.4, true};
  spec.repeat(layer, 3);
  spec.embedding_norm_weight = false;
  spec.embedding_norm = spec.early_norm = true;
  spec.embedding_scale = 2;
  spec.residual_scale = 0.5;
  spec.logit_scale = 0.25;
  spec.logit_cap = 30;
  spec.token_types = 2;
  spec.embedding_width = 24;
  spec.padding = 1;
  spec.head = spec.head_transform_bias = false;
  spec.head_transform_gelu = spec.token_score = true;
  spec.head_transform_norm = false;
  spec.head_transform_width = 40;
  spec.head_inner = 20;
  spec.all_seen = 100;
  spec.pool = Pool::kAll;
  spec.norm_after_pool = true;
  spec.final_norm = false;
  spec.tied_head = false;
  spec.head_bias = spec.head_transform = true;
  spec.encodings = {{"cope",
                     {{"gates", std::string("sep-key")},
                      {"npos", std::int64_t{64}},
                      {"ratio", 0.5},
                      {"flag", true},
                      {"list", std::vector<double>{1, 2.5}}}}};
  spec.trained_length = 128;
  return spec;
}

TEST(LocusConfig, KeepsEveryField) {
  const Spec spec = unusual();
  const json written = json::parse(locus_config(spec).dump());
  const auto read = parse_locus_config(written, "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(locus_config(*read).dump(), locus_config(spec).dump());
  EXPECT_EQ(*read, spec);
  // Every field of the two differs from its default, so none can have been left out of both functions.
  const json plain = json::parse(locus_config(Spec{}).dump());
  for (const auto& [name, value] : plain.items()) {
    if (name != "model_type" && name != "key_as_value" && name != "key_source" && name != "state_width" &&
        name.rfind("layer_inputs", 0) != 0 && name != "causal" && name != "dropped_token" && name != "attends" &&
        name != "feeds" && name != "bounded" && name != "difference" && name != "key_bonus" && name != "round" &&
        name != "key_shift" && name != "value_shift" && name != "short_convolution" &&
        name != "experts_of_every_token" && name.rfind("latent_", 0) != 0 && name.rfind("convolution", 0) != 0) {
      EXPECT_NE(value, written[name]) << name;
    }
  }
}

TEST(LocusConfig, KeepsBoundsOfAnImageModelsProducts) {
  Spec spec;
  LayerSpec layer;
  layer.attention.qkv = QkvLayout::kSeparate;
  layer.bounded = true;
  spec.repeat(layer, 2);
  spec.image = {4, 3, 2, 2, 0, 0};
  spec.pool = Pool::kPatches;
  spec.encodings = {{"rope-axial", {}}};
  spec.causal = spec.head = false;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  spec.head = true;
  EXPECT_FALSE(validate(spec).ok());
  spec.head = false;
  spec.layers[1].attention.qkv = QkvLayout::kFused;
  EXPECT_FALSE(validate(spec).ok());
}

TEST(LocusConfig, KeepsLatentAttention) {
  Spec spec;
  LayerSpec layer;
  layer.attention.qkv = QkvLayout::kSeparate;
  layer.attention.latent = {16, 24, 8, 1e-3};
  spec.repeat(layer, 2);
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
}

TEST(LocusConfig, KeepsLayersOfOnePart) {
  Spec spec;
  spec.repeat({}, 3);
  spec.layers[0].attends = false;
  spec.layers[1].feeds = false;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
}

TEST(LocusConfig, KeepsSharedKeysAndPerLayerEmbeddings) {
  Spec spec;
  LayerSpec layer;
  layer.attention.qkv = QkvLayout::kSeparate;
  layer.attention.key_as_value = true;
  spec.repeat(layer, 3);
  spec.layers[2].attention.source = 1;
  spec.layer_inputs = {16, 512, 7, 3};
  spec.head = false;
  spec.state_width = 24;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  // Later layers, those without keys of their own, and those of another shape or encoding have no keys to share.
  for (const auto& [at, source] : {std::pair{1, 2}, std::pair{2, 2}, std::pair{0, -2}}) {
    Spec wrong = spec;
    wrong.layers[static_cast<std::size_t>(at)].attention.source = source;
    EXPECT_FALSE(validate(wrong).ok()) << at << " " << source;
  }
  spec.layers[1].encoding = -1;
  EXPECT_FALSE(validate(spec).ok());
}

TEST(LocusConfig, KeepsDifferencesBonusesAndRounds) {
  Spec spec;
  LayerSpec layer;
  layer.attention.qkv = QkvLayout::kSeparate;
  spec.repeat(layer, 3);
  spec.layers[0].attention.difference = 0.2;
  spec.layers[0].attention.value_width = 2 * layer.attention.head_width;
  spec.layers[1].attention.key_bonus = true;
  spec.layers[1].attention.value_width = layer.attention.head_width;
  spec.layers[0].round = Round::kBegins;
  spec.layers[1].round = Round::kEndsLow;
  spec.layers[2].round = Round::kWholeHigh;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  spec.layers[0].attention.value_width = layer.attention.head_width;
  EXPECT_FALSE(validate(spec).ok());
}

TEST(LocusConfig, KeepsTokenShifts) {
  Spec spec;
  LayerSpec layer;
  layer.attention.qkv = QkvLayout::kSeparate;
  spec.repeat(layer, 2);
  spec.layers[0].attention.key_shift = true;
  spec.layers[1].attention.value_shift = true;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  // One matrix for q, k and v, keys of another layer, values that are the keys, tokens that see those after them, and
  // norms of heads without a norm.
  const auto refused = [&](auto change) {
    Spec wrong = spec;
    change(wrong, wrong.layers[1].attention);
    return !validate(wrong).ok();
  };
  EXPECT_TRUE(refused([](Spec&, AttentionSpec& attention) { attention.qkv = QkvLayout::kFused; }));
  EXPECT_TRUE(refused([](Spec&, AttentionSpec& attention) { attention.source = 0; }));
  EXPECT_TRUE(refused([](Spec&, AttentionSpec& attention) { attention.key_as_value = true; }));
  EXPECT_TRUE(refused([](Spec& wrong, AttentionSpec&) { wrong.causal = false; }));
  EXPECT_TRUE(refused([](Spec&, AttentionSpec& attention) { attention.output_norm_own = true; }));
}

TEST(LocusConfig, KeepsShortConvolutionsAndExpertsOfEveryToken) {
  Spec spec;
  LayerSpec layer;
  layer.attention.qkv = QkvLayout::kSeparate;
  layer.convolution = 3;
  layer.feed_forward.experts = {.count = 4, .chosen = 2, .router = Router::kSigmoid, .normalised = true, .always = 2};
  spec.repeat(layer, 2);
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  const auto refused = [&](auto change) {
    Spec wrong = spec;
    change(wrong, wrong.layers[1]);
    return !validate(wrong).ok();
  };
  for (const std::int64_t tokens : {-1, 1025}) {
    EXPECT_TRUE(refused([&](Spec&, LayerSpec& wrong) { wrong.convolution = tokens; })) << tokens;
  }
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.attention.qkv = QkvLayout::kFused; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.attention.source = 0; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.attention.key_shift = true; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.feed_forward_norm = NormPlace::kBoth; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.parallel = true; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.feeds = false; }));
  EXPECT_TRUE(refused([](Spec& wrong, LayerSpec&) { wrong.causal = false; }));
  for (const std::int64_t count : {-1, (1 << 10) + 1}) {
    EXPECT_TRUE(refused([&](Spec&, LayerSpec& wrong) { wrong.feed_forward.experts.always = count; })) << count;
  }
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.feed_forward.experts.router = Router::kSoftmax; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.feed_forward.experts.normalised = false; }));
  EXPECT_TRUE(refused([](Spec&, LayerSpec& wrong) { wrong.feed_forward.experts.capacity = 3; }));
}

TEST(LocusConfig, KeepsConvolutions) {
  Spec spec;
  spec.causal = false;
  spec.convolution = {5, 2, Activation::kRelu};
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  for (const Convolution& wrong : {Convolution{4, 1, Activation::kTanh}, Convolution{1025, 1, Activation::kTanh},
                                   Convolution{3, 3, Activation::kTanh}, Convolution{3, 0, Activation::kTanh}}) {
    spec.convolution = wrong;
    EXPECT_FALSE(parse_locus_config(json::parse(locus_config(spec).dump()), "config.json").ok());
  }
  spec.causal = true;
  spec.convolution = {5, 2, Activation::kRelu};
  EXPECT_FALSE(parse_locus_config(json::parse(locus_config(spec).dump()), "config.json").ok());
}

TEST(LocusConfig, KeepsDroppedTokens) {
  Spec spec;
  spec.causal = false;
  spec.dropped_token = 5;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
  spec.causal = true;
  EXPECT_FALSE(parse_locus_config(json::parse(locus_config(spec).dump()), "config.json").ok());
}

TEST(LocusConfig, KeepsLayersOfTheirOwn) {
  Spec spec;
  spec.encodings = {{"rope", {{"base", 10000.0}}}, {"rope", {{"base", 500.0}}}};
  spec.repeat({}, 6);
  spec.each([](std::int64_t n, LayerSpec& layer) {
    layer.encoding = n == 4 ? -1 : n % 2;
    layer.attention.window = n % 3 == 0 ? 64 : 0;
    layer.feed_forward.inner = n == 5 ? 96 : 512;
  });
  const json written = json::parse(locus_config(spec).dump());
  EXPECT_EQ(written["position_encoding"].size(), 6U);
  EXPECT_TRUE(written["position_encoding"][4].is_null());
  EXPECT_EQ(written["layers"][1], json::parse(R"({"window": 0})"));
  const auto read = parse_locus_config(written, "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(*read, spec);
}

TEST(LocusConfig, KeepsLayersWithHeadsOfTheirOwn) {
  Spec spec;
  spec.repeat({}, 4);
  spec.layers[1].encoding = spec.layers[3].encoding = -1;
  spec.layers[2].attention.kv_heads = 2;
  spec.layers[3].attention.kv_heads = 1;
  EXPECT_FALSE(validate(spec).ok());
  separate_shapes(spec);
  ASSERT_TRUE(validate(spec).ok());
  EXPECT_EQ(spec.layers[0].encoding, 0);
  EXPECT_EQ(spec.layers[1].encoding, -1);
  EXPECT_EQ(spec.encodings.size(), 3U);
  EXPECT_EQ(spec.encodings[1].name, "rope");
  EXPECT_EQ(spec.encodings[2].name, "none");
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(locus_config(*read).dump(), locus_config(spec).dump());
  EXPECT_EQ(read->layers[2].attention, spec.layers[2].attention);
  EXPECT_EQ(read->encodings.size(), 3U);
  EXPECT_NE(read->layers[2].encoding, read->layers[0].encoding);
}

TEST(LocusConfig, ReadsTheFieldsOfEarlierFiles) {
  json old = json::parse(locus_config(Spec{}).dump());
  for (const char* field :
       {"query_bias", "key_bias", "value_bias", "attention_norm_place", "feed_forward_norm_place"}) {
    old.erase(field);
  }
  old["num_hidden_layers"] = 3;
  old["qkv_bias"] = true;
  old["norm_place"] = "post";
  old["window"] = 8;
  old["window_from_layer"] = 1;
  const auto read = parse_locus_config(old, "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_TRUE(read->first().attention.key_bias);
  EXPECT_EQ(read->first().feed_forward_norm, NormPlace::kPost);
  EXPECT_EQ(read->layers[0].attention.window, 0);
  EXPECT_EQ(read->layers[1].attention.window, 8);
  EXPECT_EQ(read->layers[2].attention.window, 8);
}

TEST(LocusConfig, KeepsAnImageStem) {
  Spec spec;
  spec.image = {8, 1, 4, 5, 2, 3, false};
  spec.image.position_embedding = true;
  spec.image.patch_norm = true;
  spec.causal = false;
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(read->image.patch, 8);
  EXPECT_EQ(read->image.channels, 1);
  EXPECT_EQ(read->image.rows, 4);
  EXPECT_EQ(read->image.columns, 5);
  EXPECT_EQ(read->image, spec.image);
  EXPECT_FALSE(read->causal);
}

TEST(LocusConfig, KeepsDetectionTokens) {
  Spec spec;
  spec.image = {8, 1, 4, 5};
  spec.image.detections = 6;
  spec.image.positions_after_layers = true;
  spec.causal = spec.tied_head = spec.head = false;
  spec.encodings = {{"learned",
                     {{"class_rows", std::int64_t{1}},
                      {"after_rows", std::int64_t{6}},
                      {"grid_rows", std::int64_t{4}},
                      {"grid_columns", std::int64_t{5}}}}};
  const auto read = parse_locus_config(json::parse(locus_config(spec).dump()), "config.json");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  EXPECT_EQ(read->image, spec.image);
  for (const auto& [detections, head, encoding] :
       {std::tuple{-1, false, "learned"}, {4097, false, "learned"}, {6, true, "learned"}, {6, false, "rope-axial"}}) {
    Spec wrong = spec;
    wrong.image.detections = detections;
    wrong.head = head;
    wrong.encodings.front().name = encoding;
    EXPECT_FALSE(validate(wrong).ok()) << detections << " " << head << " " << encoding;
  }
}

TEST(LocusConfig, NamesTheFieldThatIsWrong) {
  const json good = json::parse(locus_config(Spec{}).dump());
  const auto expect_error = [&good](const char* field, const json& value) {
    json config = good;
    config[field] = value;
    const auto read = parse_locus_config(config, "config.json");
    ASSERT_FALSE(read.ok()) << field;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput) << field;
    EXPECT_NE(read.error().describe().find("config.json"), std::string::npos);
  };
  expect_error("vocab_size", "many");
  expect_error("vocab_size", nullptr);
  expect_error("vocab_size", -1);
  expect_error("hidden_size", 9.5);
  expect_error("num_attention_heads", 0);
  expect_error("num_key_value_heads", 3);
  expect_error("norm", "batch");
  expect_error("gated", 1);
  expect_error("position_encoding", "rope");
  expect_error("position_encoding", json::parse(R"({"base": 10})"));
  expect_error("position_encoding", json::parse(R"({"name": "rope", "base": {"deep": 1}})"));
  expect_error("position_encoding", json::parse(R"([{"name": "rope"}])"));
  expect_error("position_encoding", json::parse(R"([{"name": "rope"}, 3])"));
  expect_error("layers", json::parse("[{}]"));
  expect_error("layers", json::parse(R"([{}, {"window": "wide"}])"));
  expect_error("layers", json::parse(R"([{}, {"window": -1}])"));
  expect_error("image", json::parse(R"({"rows": 3})"));
  EXPECT_FALSE(parse_locus_config(json::array(), "config.json").ok());
  json huge = good;
  huge["hidden_size"] = INT64_MAX;
  EXPECT_FALSE(parse_locus_config(huge, "config.json").ok());
}

}  // namespace
