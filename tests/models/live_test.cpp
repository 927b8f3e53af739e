// Continued runs: what a trace hands on to the next one, generation, and estimates, against whole runs.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numbers>
#include <random>
#include <thread>

#include "core/base/system_files.h"
#include "core/base/work_time.h"
#include "core/position/list.h"
#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/golden.h"
#include "tests/support/rounding.h"

namespace locus {
namespace {

using models::Input;
using models::RunOptions;
using Ids = std::vector<std::int64_t>;
using TracePointer = std::shared_ptr<const models::Trace>;

constexpr std::int64_t kVocabulary = 40;
constexpr std::int64_t kTrained = 32;
constexpr double kTolerance = 1e-5;

struct Case {
  std::string name;
  Settings options;
  std::int64_t kv_heads = 4;
  std::int64_t window = 0;
  bool parallel = false;
  bool post_norm = false;
  bool follows_length = false;  // beyond the trained length every run is a whole one
  void (*change)(transformer::Spec& spec) = nullptr;
};

transformer::Spec spec_of(const Case& each) {
  transformer::Spec spec;
  transformer::LayerSpec layer;
  spec.vocabulary = kVocabulary;
  spec.width = 32;
  layer.attention.kv_heads = each.kv_heads;
  layer.attention.head_width = 8;
  layer.attention.window = each.window;
  layer.feed_forward.inner = 48;
  layer.parallel = each.parallel;
  layer.attention_norm = layer.feed_forward_norm =
      each.post_norm ? transformer::NormPlace::kPost : transformer::NormPlace::kPre;
  spec.final_norm = !each.post_norm;
  spec.encodings = {{each.name, each.options}};
  spec.trained_length = kTrained;
  spec.repeat(layer, 3);
  if (each.change != nullptr) {
    each.change(spec);
  }
  return spec;
}

// A model with random weights, nothing zero.
std::unique_ptr<models::LoadedModel> model_of(const transformer::Spec& spec, std::int64_t memory_limit_mb = 0) {
  auto made = transformer::Transformer::create(spec, true, 5);
  if (!made.ok()) {
    ADD_FAILURE() << spec.encodings.front().name << ": " << made.error().describe();
    return nullptr;
  }
  models::CheckpointParts parts;
  parts.info = models::shape_info(**made);
  at::manual_seed(6);
  const at::NoGradGuard no_grad;
  for (const transformer::Parameter& parameter : (*made)->parameters()) {
    parameter.value->add_(at::randn_like(*parameter.value) * 0.15);
    parts.info.parameters += parameter.value->numel();
  }
  parts.info.name = spec.encodings.front().name;
  parts.options.memory_limit_mb = memory_limit_mb;
  parts.transformer = std::move(*made);
  return std::make_unique<models::LoadedModel>(std::move(parts));
}

TracePointer run(const models::Model& model, const Ids& ids, const RunOptions& options = {}) {
  Input input;
  input.ids = ids;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? *trace : nullptr;
}

const at::Tensor& logits_of(const models::Trace& trace) {
  return dynamic_cast<const models::RecordedTrace&>(trace).data().logits;
}

at::Tensor weights_of(const models::Trace& trace, std::int64_t layer) {
  models::MapRequest request;
  request.layer = layer;
  request.head = models::kMeanHead;
  const auto map = trace.map(request);
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().describe());
  return at::tensor(map->values).view({map->rows, map->columns});
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const position::Entry& entry : position::encodings()) {
    Case each{entry.description.name, {}};
    const auto encoding = position::make_encoding(each.name, {}, {3, 4, 4, 8, 32, kTrained, true});
    if (encoding.ok() && (*encoding)->accepts(position::Positions::sequence(8)).ok()) {
      list.push_back(each);
    }
  }
  list.push_back({"rope", {{"scaling", std::string("dynamic")}, {"factor", 4.0}}, 2, 0, false, false, true});
  list.push_back({"rope", {}, 2, 5, true});
  list.push_back({"alibi", {}, 4, 0, false, true});
  list.push_back({"cope", {{"gates", std::string("sep-key")}, {"with", std::string("rope")}}, 2});
  list.push_back({"cope", {{"gates", std::string("value")}, {"hard_attention", true}}, 4});
  list.push_back({"tape", {{"form", std::string("paper")}, {"softmax", std::string("block")}}, 4});
  list.push_back({"rope", {{"norm", true}}, 4});
  // Layers that are not alike: without positions, of another encoding, with a window, a chunk, a sink, experts.
  list.push_back({"rope", {}, 2, 0, false, false, false, [](transformer::Spec& spec) {
                    spec.layers[1].encoding = -1;
                    spec.layers[2].attention.window = 5;
                    spec.layers[2].attention.sinks = true;
                  }});
  list.push_back({"tape", {}, 4, 0, false, false, false, [](transformer::Spec& spec) {
                    spec.encodings.push_back({"cope", {}});
                    spec.layers[1].encoding = 1;
                  }});
  list.push_back({"rope", {}, 4, 0, false, false, false, [](transformer::Spec& spec) {
                    spec.encodings.push_back({"rope", {{"base", 100.0}}});
                    spec.layers[0].encoding = 1;
                    spec.layers[0].attention.chunk = 7;
                    spec.layers[1].attention.soft_cap = 2;
                    spec.layers[2].feed_forward.experts.count = 3;
                    spec.layers[2].feed_forward.experts.chosen = 2;
                  }});
  list.push_back({"rope", {}, 4, 0, false, false, false, [](transformer::Spec& spec) {
                    spec.layer_inputs = {4, kVocabulary};
                    spec.each([](std::int64_t, transformer::LayerSpec& layer) {
                      layer.attention.qkv = transformer::QkvLayout::kSeparate;
                    });
                    spec.layers[2].attention.source = 1;
                  }});
  return list;
}

// How far a continued run may lie from a whole one, whose products have other shapes and so another order of sums.
// kTolerance is outputs_differ(3, 4, 48), 8e-6, for three layers with scores up to 4 and sums of at most 48 products.
// TAPA's score amplitude·cos(2π·|i − j|^0.1·phase) is steeper in its phase than others in what they are made of:
// amplitudes and phases, q·k over 4 channels, are about 0.75 here (rows of 32 weights of 0.15 make q and k of 0.85),
// and a text of 24 + 8·4 tokens has distances up to 55, so 0.75·2π·55^0.1 = 7.
double tolerance_of(const Case& each) {
  constexpr double kSize = 0.75;
  constexpr double kLongest = 24 + 8 * 4 - 1;
  const double steepness = kSize * 2 * std::numbers::pi * std::pow(kLongest, 0.1);
  return each.name == "tapa" ? test::steep_outputs_differ(3, 4, 48, steepness, test::sums_differ(4, kSize))
                             : kTolerance;
}

// One random edit: an insertion, deletion or replacement of a few tokens anywhere.
void edit(Ids& ids, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::size_t place = below(ids.size() + 1);
  const auto at = ids.begin() + static_cast<std::ptrdiff_t>(place);
  const std::size_t kind = below(3);
  const std::size_t count = std::min(1 + below(4), ids.size() - place);
  if (kind == 0 || count == 0) {
    ids.insert(at, static_cast<std::int64_t>(below(kVocabulary)));
  } else if (kind == 1 && ids.size() > count + 4) {
    ids.erase(at, at + static_cast<std::ptrdiff_t>(count));
  } else {
    *at = static_cast<std::int64_t>(below(kVocabulary));
  }
}

std::int64_t shared(const Ids& a, const Ids& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto end = a.begin() + static_cast<std::ptrdiff_t>(shorter);
  const auto same = static_cast<std::size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
  return static_cast<std::int64_t>(std::min(same, b.size() - 1));
}

TEST(Live, RandomEditsEqualWholeRuns) {
  EXPECT_GE(cases().size(), 23U);
  unsigned seed = 100;
  for (const Case& each : cases()) {
    ++seed;
    SCOPED_TRACE(each.name + " " + to_text(SettingValue(static_cast<double>(seed))));
    const auto model = model_of(spec_of(each));
    ASSERT_NE(model, nullptr);
    std::mt19937 random(seed);
    Ids ids;
    for (int n = 0; n < 24; ++n) {
      ids.push_back(static_cast<std::int64_t>(random() % kVocabulary));
    }
    RunOptions options;
    options.continuable = true;
    TracePointer trace = run(*model, ids, options);
    ASSERT_NE(trace, nullptr);
    // What was handed on stays as it was: all of it, or the last one alone so that the memory of others is used again.
    std::vector<std::pair<TracePointer, at::Tensor>> shown;
    for (int step = 0; step < 8; ++step) {
      const Ids before = ids;
      edit(ids, random);
      if (seed % 2 == 0) {
        shown.clear();
      }
      shown.emplace_back(trace, weights_of(*trace, 2).clone());
      options.reuse = trace;
      trace = run(*model, ids, options);
      const TracePointer whole = run(*model, ids);
      ASSERT_TRUE(trace && whole);
      if (!each.follows_length) {
        EXPECT_EQ(trace->reused(), shared(before, ids));
      }
      EXPECT_CLOSE(logits_of(*trace), logits_of(*whole), tolerance_of(each));
      for (std::int64_t layer = 0; layer < 3; ++layer) {
        EXPECT_CLOSE(weights_of(*trace, layer), weights_of(*whole, layer), tolerance_of(each));
      }
      EXPECT_EQ(trace->memory_mb(), whole->memory_mb());
      for (const auto& [older, map] : shown) {
        EXPECT_CLOSE(weights_of(*older, 2), map, 0.0);
      }
    }
  }
}

// Typing: tokens are appended, and the last one is replaced by a longer one.
TEST(Live, TypedTextsEqualWholeRuns) {
  for (const char* name : {"rope", "learned", "cope", "tape", "alibi"}) {
    SCOPED_TRACE(name);
    const auto model = model_of(spec_of({name, {}}));
    Ids ids(12, 3);
    RunOptions options;
    options.continuable = true;
    options.keep = {"logits", "hidden"};
    TracePointer trace = run(*model, ids, options);
    for (int step = 0; step < 12; ++step) {
      if (step % 3 == 0) {
        ids.push_back(step);
      } else {
        ids.back() = 7 + step;
      }
      options.reuse = trace;
      trace = run(*model, ids, options);
      const TracePointer whole = run(*model, ids);
      ASSERT_TRUE(trace && whole);
      EXPECT_EQ(trace->reused(), static_cast<std::int64_t>(ids.size()) - 1);
      EXPECT_CLOSE(logits_of(*trace), logits_of(*whole), kTolerance);
      EXPECT_CLOSE(weights_of(*trace, 2), weights_of(*whole, 2), kTolerance);
    }
  }
}

TEST(Live, ACancelledRunLeavesTheOneBeforeItAsItWas) {
  for (const char* name : {"rope", "tape"}) {
    for (const bool replaces : {false, true}) {
      SCOPED_TRACE(name);
      const auto model = model_of(spec_of({name, {}}));
      Ids ids(20, 3);
      RunOptions options;
      options.continuable = true;
      for (int n = 0; n < 3; ++n) {  // until rows are shared
        options.reuse = run(*model, ids, options);
        ids.push_back(n);
      }
      const TracePointer before = options.reuse;
      const at::Tensor map = weights_of(*before, 2).clone();
      ids.pop_back();
      if (replaces) {
        ids.back() = 30;
      } else {
        ids.push_back(30);
      }
      Input input;
      input.ids = ids;
      std::stop_source stop;
      const auto cancelled = model->run(input, options, stop.get_token(), [&](const ProgressReport& news) {
        if (news.what == "layer 3 of 3") {
          stop.request_stop();
        }
      });
      ASSERT_FALSE(cancelled.ok());
      EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
      EXPECT_CLOSE(weights_of(*before, 2), map, 0.0);
      ids.back() = 31;
      const TracePointer after = run(*model, ids, options);
      EXPECT_GT(after->reused(), 0);
      EXPECT_CLOSE(logits_of(*after), logits_of(*run(*model, ids)), kTolerance);
      EXPECT_CLOSE(weights_of(*before, 2), map, 0.0);
    }
  }
}

TEST(Live, LongerTextsThanTheAnglesOfAreRunWhole) {
  const Case dynamic{"rope", {{"scaling", std::string("dynamic")}, {"factor", 4.0}}};
  const auto model = model_of(spec_of(dynamic));
  RunOptions options;
  options.continuable = true;
  options.reuse = run(*model, Ids(kTrained - 2, 3), options);
  EXPECT_EQ(run(*model, Ids(kTrained, 3), options)->reused(), kTrained - 2);
  EXPECT_EQ(run(*model, Ids(kTrained + 1, 3), options)->reused(), 0);
}

TEST(Live, NothingIsTakenOverWhereItWouldNotHold) {
  const Ids ids(20, 7);
  RunOptions options;
  options.continuable = true;
  const auto decoder = model_of(spec_of({"rope", {}}));
  const auto twin = model_of(spec_of({"rope", {}}));
  RunOptions reuse = options;
  reuse.reuse = run(*decoder, ids, options);
  EXPECT_EQ(run(*decoder, ids, reuse)->reused(), 19);
  EXPECT_EQ(run(*twin, ids, reuse)->reused(), 0);  // another model's
  reuse.all_logits = true;
  EXPECT_EQ(run(*decoder, ids, reuse)->reused(), 0);
  reuse.all_logits = false;
  reuse.reuse = run(*decoder, ids);  // kept no values
  EXPECT_EQ(run(*decoder, ids, reuse)->reused(), 0);

  transformer::Spec both_ways = spec_of({"alibi", {}});
  both_ways.causal = false;
  const auto encoder = model_of(both_ways);
  reuse.reuse = run(*encoder, ids, options);
  EXPECT_EQ(run(*encoder, ids, reuse)->reused(), 0);
  Input input;
  input.ids = ids;
  EXPECT_EQ(encoder->generate(input, {}, {}, {}, {}).error().code, ErrorCode::kUnsupported);
}

TEST(Live, GreedyGenerationEqualsRepeatedRuns) {
  for (const char* name : {"rope", "tape", "cope", "seqpe", "learned"}) {
    SCOPED_TRACE(name);
    const auto model = model_of(spec_of({name, {}}));
    Ids ids{4, 9, 2, 33, 8};
    Input input;
    input.ids = ids;
    models::GenerateOptions options;
    options.count = 10;
    const auto made = model->generate(input, options, {}, {}, {});
    ASSERT_TRUE(made.ok()) << made.error().describe();
    for (int n = 0; n < options.count; ++n) {
      ids.push_back(run(*model, ids)->top(1).front().id);
    }
    EXPECT_EQ(made->ids, Ids(ids.begin() + 5, ids.end()));
    ASSERT_EQ(made->trace->length(), 15);
    const TracePointer whole = run(*model, ids);
    EXPECT_CLOSE(logits_of(*made->trace), logits_of(*whole), kTolerance);
    EXPECT_CLOSE(weights_of(*made->trace, 2), weights_of(*whole, 2), kTolerance);
  }
}

TEST(Live, SamplingFollowsItsSeed) {
  const auto model = model_of(spec_of({"rope", {}}));
  Input input;
  input.ids = Ids{1, 2, 3};
  models::GenerateOptions options{30, 1.5, 11};
  const auto one = model->generate(input, options, {}, {}, {});
  const auto again = model->generate(input, options, {}, {}, {});
  options.seed = 12;
  const auto other = model->generate(input, options, {}, {}, {});
  ASSERT_TRUE(one.ok() && again.ok() && other.ok());
  EXPECT_EQ(one->ids, again->ids);
  EXPECT_NE(one->ids, other->ids);
  options.temperature = -1;
  EXPECT_EQ(model->generate(input, options, {}, {}, {}).error().code, ErrorCode::kUsage);
}

TEST(Live, GenerationStopsAndStaysWithinTheTable) {
  const auto model = model_of(spec_of({"learned", {}}));
  Input input;
  input.ids = Ids(20, 1);
  models::GenerateOptions options;
  options.count = 1000;
  EXPECT_FALSE(model->generate(input, options, {}, {}, {}).ok());
  options.count = 10;
  std::stop_source stop;
  int reports = 0;
  const auto cancelled = model->generate(input, options, {}, stop.get_token(), [&](const ProgressReport&) {
    if (++reports == 4) {
      stop.request_stop();
    }
  });
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
}

double process_megabytes(const char* key) {
  return system_bytes("/proc/self/status", key) / 1e6;
}

TEST(Live, EstimatesAreWithinAFactorOfTwoOfThePeak) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the process also holds shadow memory and what was freed";
#endif
  for (const char* name : {"none", "rope", "cope"}) {
    SCOPED_TRACE(name);
    transformer::Spec spec = spec_of({name, {}});
    spec.width = 256;
    transformer::LayerSpec layer = spec.first();
    layer.attention.head_width = 64;
    layer.feed_forward.inner = 768;
    spec.repeat(layer, 8);
    const auto model = model_of(spec);
    const Ids ids(3000, 5);
    RunOptions options;
    options.continuable = true;
    run(*model, Ids(16, 5), options);
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    const double before = process_megabytes("VmRSS");
    run(*model, ids, options);
    const double peak = process_megabytes("VmHWM") - before;
    const models::Estimate estimate = model->estimate(3000, options);
    EXPECT_GT(estimate.memory_mb, peak / 2);
    EXPECT_LT(estimate.memory_mb, peak * 2);
    EXPECT_GT(estimate.time_ms, 0);
  }
}

// Key heads that turn by components of their own have a table of angles each: cos and sin of half the channels, float64.
TEST(Live, EstimatesCountATableOfAnglesPerKeyHead) {
  const auto estimate_of = [](const char* layout, const std::vector<double>& sections) {
    transformer::Spec spec = spec_of({"rope", {{"sections", sections}, {"section_layout", std::string(layout)}}});
    transformer::LayerSpec layer = spec.first();
    layer.attention.heads = layer.attention.kv_heads = 4;
    layer.attention.head_width = 8;
    spec.repeat(layer, 2);
    return model_of(spec)->estimate(100'000, {}).memory_mb;
  };
  EXPECT_NEAR(estimate_of("heads", {1, 1, 2}) - estimate_of("chunked", {1, 1, 2}), 3 * 100'000 * 8 * 8 / 1e6, 0.01);
}

TEST(Live, WhatDoesNotFitIsRefusedWithWhatWould) {
  const auto model = model_of(spec_of({"rope", {}}), 20);
  const models::Estimate estimate = model->estimate(100'000, {});
  EXPECT_FALSE(estimate.fits);
  ASSERT_GT(estimate.longest, 0);
  EXPECT_TRUE(model->estimate(estimate.longest, {}).fits);
  EXPECT_FALSE(model->estimate(estimate.longest + 1, {}).fits);
  Input input;
  input.ids = Ids(100'000, 1);
  const auto refused = model->run(input, {}, {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(refused.error().describe().find(std::to_string(estimate.longest) + " tokens would fit"), std::string::npos);

  // Maps are counted before they are made.
  input.ids = Ids(2000, 1);
  RunOptions maps;
  maps.keep = {"attention"};
  const auto too_many = model->run(input, maps, {}, {});
  ASSERT_FALSE(too_many.ok());
  EXPECT_EQ(too_many.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(too_many.error().describe().find("nothing but q and k kept"), std::string::npos)
      << too_many.error().describe();
  EXPECT_TRUE(model->run(input, {}, {}, {}).ok());
}

// A run says how far it is within its layers, rests between its parts, and tells the layers that are done: their maps
// are those of the whole run.
TEST(Live, ALongRunTellsItsLayersAsTheyAreDone) {
  for (const char* encoding : {"rope", "cope"}) {
    const auto model = model_of(spec_of({encoding, {}}));
    Input input;
    input.ids = Ids(6000, 1);
    for (std::size_t n = 0; n < input.ids->size(); ++n) {
      (*input.ids)[n] = static_cast<std::int64_t>(n * n % 37);
    }
    RunOptions options;
    int rests = 0;
    std::vector<TracePointer> early;
    double rested_ms = 0;
    options.pause = [&] {
      const WorkTime rest;
      ++rests;
      std::this_thread::sleep_for(std::chrono::milliseconds(rests == 1 ? 300 : 0));
      rested_ms += rest.ms();
    };
    options.early = [&](const TracePointer& trace) { early.push_back(trace); };
    options.early_ms = 0;
    std::vector<double> fractions;
    const auto told = [&](const ProgressReport& news) { fractions.push_back(news.fraction); };
    const WorkTime all;
    const auto whole = model->run(input, options, {}, told);
    ASSERT_TRUE(whole.ok()) << whole.error().describe();
    EXPECT_GE(rested_ms, 300);
    EXPECT_LT((*whole)->time_ms(), all.ms() - rested_ms) << "rests are no part of the run";
    const std::int64_t layers = (*whole)->model().layers;
    ASSERT_GE(layers, 2);
    EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end())) << encoding;
    EXPECT_LE(fractions.back(), 1);
    EXPECT_GT(static_cast<std::int64_t>(fractions.size()), 2 * layers) << encoding << ": none within a layer";
    EXPECT_EQ(rests, static_cast<int>(fractions.size()));
    ASSERT_EQ(static_cast<std::int64_t>(early.size()), layers - 1);
    for (std::size_t n = 0; n < early.size(); ++n) {
      EXPECT_EQ(early[n]->model().layers, static_cast<std::int64_t>(n) + 1);
      EXPECT_EQ(early[n]->length(), 6000);
      models::MapRequest request;
      request.layer = static_cast<std::int64_t>(n);
      request.rows = {5900, 6000};
      request.columns = {5900, 6000};
      const auto soon = early[n]->map(request);
      const auto later = (*whole)->map(request);
      ASSERT_TRUE(soon.ok()) << soon.error().describe();
      EXPECT_EQ(soon->values, later->values) << encoding << " layer " << n;
      request.layer = static_cast<std::int64_t>(n) + 1;
      EXPECT_FALSE(early[n]->map(request).ok());
    }
    // The same numbers as a run that nobody watches: attention in parts is attention.
    const auto alone = model->run(input, {}, {}, {});
    ASSERT_TRUE(alone.ok());
    models::MapRequest last;
    last.layer = layers - 1;
    last.rows = {5950, 6000};
    EXPECT_EQ((*alone)->map(last)->values, (*whole)->map(last)->values) << encoding;
  }
}

// A run that gives its layers away has their maps, one layer at a time, and keeps none.
TEST(Live, ARunGivesEachLayerWhenItIsDone) {
  for (const char* encoding : {"rope", "cope", "tape"}) {
    const auto model = model_of(spec_of({encoding, {}}));
    const Input input{.ids = Ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}};
    const TracePointer whole = model->run(input, {}, {}, {}).value();
    RunOptions options;
    std::vector<std::int64_t> given;
    options.each_layer = [&](const models::Trace& trace, std::int64_t layer) -> Status {
      given.push_back(layer);
      EXPECT_EQ(trace.model().layers, whole->model().layers);
      for (std::int64_t n = 0; n < whole->model().layers; ++n) {
        models::MapRequest request;
        request.layer = n;
        const auto map = trace.map(request);
        EXPECT_TRUE(map.ok()) << encoding << " " << n;
        if (map.ok() && n == layer) {
          EXPECT_EQ(map->values, whole->map(request)->values) << encoding << " " << n;
        } else if (map.ok()) {
          EXPECT_TRUE(std::isnan(map->values.front())) << encoding << " " << n << " of layer " << layer;
        }
      }
      return {};
    };
    const auto run = model->run(input, options, {}, {});
    ASSERT_TRUE(run.ok()) << run.error().describe();
    ASSERT_EQ(std::ssize(given), whole->model().layers);
    EXPECT_TRUE(std::is_sorted(given.begin(), given.end()));
    EXPECT_EQ((*run)->top(1).front().id, whole->top(1).front().id);
    EXPECT_TRUE(std::isnan((*run)->map({})->values.front()));
    const TracePointer bare = model->run(input, {.scores = false}, {}, {}).value();
    EXPECT_TRUE(std::isnan(bare->map({})->values.front()));
    EXPECT_EQ(bare->top(1).front().probability, whole->top(1).front().probability);
    options.each_layer = [](const models::Trace&, std::int64_t layer) {
      return layer == 1 ? Status(bad_input("enough")) : Status();
    };
    const auto ended = model->run(input, options, {}, {});
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(ended.error().message, "enough");
  }
  // What it needs does not grow with the layers.
  transformer::Spec spec = spec_of({"rope", {}});
  RunOptions options;
  options.each_layer = [](const models::Trace&, std::int64_t) { return Status(); };
  spec.repeat(spec.first(), 4);
  const double four = model_of(spec)->estimate(10'000, options).memory_mb;
  spec.repeat(spec.first(), 40);
  EXPECT_NEAR(model_of(spec)->estimate(10'000, options).memory_mb, four, 1e-9);
}

}  // namespace
}  // namespace locus
