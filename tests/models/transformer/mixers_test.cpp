// Runs of models with layers without a soft-max that continue others: typing, deleting, generation, and edits, against
// whole runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/models/transformer/mixed_layers.h"
#include "tests/support/golden.h"

namespace locus::mixed_runs {
namespace {

using Ids = std::vector<std::int64_t>;
using TracePointer = std::shared_ptr<const models::Trace>;

constexpr double kRounding = 1e-4;  // weights are large, so that nothing is negligible

std::shared_ptr<const models::Model> loaded(const test::LayerKind& kind) {
  models::CheckpointParts parts;
  at::manual_seed(6);
  parts.transformer = test::kind_model(kind);
  if (parts.transformer == nullptr) {
    return nullptr;
  }
  parts.info = models::shape_info(*parts.transformer);
  return std::make_shared<models::LoadedModel>(std::move(parts));
}

TracePointer run(const models::Model& model, const Ids& ids, const models::RunOptions& options = {}) {
  models::Input input;
  input.ids = ids;
  const auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? *trace : nullptr;
}

Ids some_ids(std::int64_t length) {
  Ids ids;
  for (std::int64_t n = 0; n < length; ++n) {
    ids.push_back(n * n % 37);
  }
  return ids;
}

const models::TraceData& data_of(const models::Trace& trace) {
  return models::recorded_of(trace)->data();
}

at::Tensor map_of(const models::TraceData& data, std::size_t layer, attention::Quantity quantity) {
  const auto map = models::whole_map(*data.layers[layer].scores, quantity);
  EXPECT_TRUE(map.ok());
  return *map;
}

// Norms that are computed again token by token end with that of the state which the run has left, where it has one.
void expect_norms_of_the_last_state(const models::Trace& trace, std::size_t layer) {
  const models::TraceLayer& own = data_of(trace).layers[layer];
  if (own.marks.empty() || !own.marks.back().state.recurrence.defined()) {
    return;
  }
  const auto norms =
      trace.side(models::Side::kMixer)->state_numbers(static_cast<std::int64_t>(layer), models::StateNumber::kNorm);
  ASSERT_TRUE(norms.ok()) << norms.error().describe();
  const at::Tensor last = own.marks.back().state.recurrence.reshape({norms->rows, -1}).norm(2, -1);
  for (std::int64_t head = 0; head < norms->rows; ++head) {
    const double expected = last[head].item<double>();
    EXPECT_NEAR(norms->at(head, norms->columns - 1), expected, kRounding * (1 + expected)) << layer;
  }
}

// The same logits, attention maps and implied maps.
void expect_same(const models::Trace& trace, const models::Trace& whole) {
  const models::TraceData& own = data_of(trace);
  const models::TraceData& twin = data_of(whole);
  EXPECT_CLOSE(own.logits, twin.logits, kRounding);
  for (std::size_t n = 0; n < twin.layers.size(); ++n) {
    EXPECT_CLOSE(map_of(own, n, attention::Quantity::kWeight), map_of(twin, n, attention::Quantity::kWeight), kRounding)
        << n;
    const at::Tensor implied = map_of(twin.mixer->data(), n, attention::Quantity::kImplied);
    const double size = std::max(implied.nan_to_num().abs().max().item<double>(), 1.0);
    EXPECT_CLOSE(map_of(own.mixer->data(), n, attention::Quantity::kImplied) / size, implied / size, kRounding) << n;
    expect_norms_of_the_last_state(trace, n);
  }
}

TEST(Mixers, MarksLieAtTheEndAndOnPowersBeforeIt) {
  using Marks = std::vector<std::int64_t>;
  EXPECT_EQ(transformer::marks_of(1), (Marks{1}));
  EXPECT_EQ(transformer::marks_of(2), (Marks{1, 2}));
  EXPECT_EQ(transformer::marks_of(20), (Marks{16, 19, 20}));
  EXPECT_EQ(transformer::marks_of(1000), (Marks{768, 992, 999, 1000}));
  // Typed tokens lose none of them.
  std::set<std::int64_t> known{1};
  for (std::int64_t length = 2; length < 2000; ++length) {
    known.insert(length);
    std::set<std::int64_t> kept;
    for (const std::int64_t mark : transformer::marks_of(length)) {
      EXPECT_EQ(known.count(mark), 1U) << length << " " << mark;
      kept.insert(mark);
    }
    known = kept;
  }
}

// RG-LRU writes √(1 − a²) of a token, and all of one at position 0: of a state that keeps everything nothing is written.
TEST(Mixers, OnlyATextFromPositionZeroIsWrittenWhole) {
  const auto logits = [](std::int64_t start, bool writes) {
    const auto kind = std::find_if(test::kMixedKinds.begin(), test::kMixedKinds.end(),
                                   [](const test::LayerKind& each) { return std::string(each.name) == "RG-LRU"; });
    models::CheckpointParts parts;
    at::manual_seed(6);
    parts.transformer = test::kind_model(*kind);
    const at::NoGradGuard no_grad;
    for (const transformer::Parameter& parameter : parts.transformer->parameters()) {
      if (parameter.name.find("mixer.rate") != std::string::npos) {
        parameter.value->fill_(-100);
      } else if (!writes && parameter.name.find("mixer.output.weight") != std::string::npos) {
        parameter.value->zero_();
      }
    }
    parts.info = models::shape_info(*parts.transformer);
    const std::shared_ptr<const models::Model> model = std::make_shared<models::LoadedModel>(std::move(parts));
    models::Input input;
    input.ids = some_ids(6);
    input.position_start = start;
    return data_of(**model->run(input)).logits.clone();
  };
  EXPECT_CLOSE(logits(5, true), logits(5, false), kRounding);
  EXPECT_GT(test::deviation(logits(0, true), logits(0, false)), 1e-2);
}

// What is reused is what the marks of the run before say; so many tokens are the same.
struct Step {
  std::int64_t same;
  std::int64_t added;
  std::int64_t reused;
};

TEST(Mixers, TypedTextsEqualWholeRuns) {
  const std::vector<Step> steps{{40, 1, 40},               // appended
                                {41, 1, 41}, {41, 1, 41},  // the last one replaced
                                {41, 1, 41}, {42, 3, 42},  // several appended
                                {45, 1, 45}, {42, 1, 32},  // and deleted again: behind the last multiple of 16
                                {40, 2, 32}, {41, 1, 41}, {20, 30, 0},  // back before every mark
                                {50, 1, 50}};
  for (const test::LayerKind& kind : test::kMixedKinds) {
    SCOPED_TRACE(kind.name);
    const auto model = loaded(kind);
    ASSERT_NE(model, nullptr);
    models::RunOptions options;
    options.continuable = true;
    options.keep = {"logits", "hidden"};
    Ids ids = some_ids(40);
    TracePointer trace = run(*model, ids, options);
    for (std::size_t n = 0; n < steps.size(); ++n) {
      SCOPED_TRACE(n);
      const TracePointer before = trace;
      const Ids old = ids;
      ids.resize(static_cast<std::size_t>(steps[n].same));
      for (std::int64_t k = 0; k < steps[n].added; ++k) {
        ids.push_back(ids.size() < old.size() ? (old[ids.size()] + 1) % 40 : 7 + 3 * k % 5);
      }
      options.reuse = before;
      trace = run(*model, ids, options);
      const TracePointer whole = run(*model, ids);
      ASSERT_TRUE(trace && whole);
      EXPECT_EQ(trace->reused(), steps[n].reused);
      expect_same(*trace, *whole);
      for (const models::TraceLayer& layer : data_of(*trace).layers) {
        EXPECT_LE(layer.marks.size(), 4U);
      }
    }
  }
}

TEST(Mixers, DeletedTokensAreNotRunFromTheBeginEachTime) {
  const auto model = loaded(test::kMixedKinds.front());
  models::RunOptions options;
  options.continuable = true;
  Ids ids = some_ids(600);
  TracePointer trace = run(*model, ids, options);
  std::int64_t computed = 0;
  while (ids.size() > 520) {
    ids.pop_back();
    options.reuse = trace;
    trace = run(*model, ids, options);
    computed += trace->length() - trace->reused();
  }
  EXPECT_CLOSE(data_of(*trace).logits, data_of(*run(*model, ids)).logits, kRounding);
  EXPECT_LT(computed, 20 * 80);
}

TEST(Mixers, GreedyGenerationEqualsRepeatedRuns) {
  for (const test::LayerKind& kind : test::kMixedKinds) {
    SCOPED_TRACE(kind.name);
    const auto model = loaded(kind);
    Ids ids = some_ids(9);
    models::Input input;
    input.ids = ids;
    models::GenerateOptions options;
    options.count = 12;
    const auto made = model->generate(input, options, {}, {}, {});
    ASSERT_TRUE(made.ok()) << made.error().describe();
    EXPECT_EQ(made->trace->reused(), 20);
    for (int n = 0; n < options.count; ++n) {
      ids.push_back(run(*model, ids)->top(1).front().id);
    }
    EXPECT_EQ(made->ids, Ids(ids.begin() + 9, ids.end()));
    expect_same(*made->trace, *run(*model, ids));
  }
}

TEST(Mixers, LayersBelowAnEditAreTakenOver) {
  for (const test::LayerKind& kind : test::kMixedKinds) {
    SCOPED_TRACE(kind.name);
    const auto model = loaded(kind);
    const Ids ids = some_ids(30);
    models::RunOptions options;
    options.continuable = true;
    options.keep = {"logits", "hidden"};
    const TracePointer plain = run(*model, ids, options);
    models::Edit edit;
    edit.layer = {{1}};
    edit.head = {{0}};
    const auto edited = model->edited({edit});
    ASSERT_TRUE(edited.ok()) << edited.error().describe();
    options.reuse = plain;
    const TracePointer part = run(**edited, ids, options);
    EXPECT_EQ(part->kept_layers(), 1);
    expect_same(*part, *run(**edited, ids));
    EXPECT_GT(test::deviation(data_of(*part).logits, data_of(*plain).logits), 1e-4);
    // Back to none, and on from there.
    options.reuse = part;
    const TracePointer back = run(*model, ids, options);
    EXPECT_EQ(back->kept_layers(), 1);
    expect_same(*back, *plain);
    Ids longer = ids;
    longer.push_back(3);
    options.reuse = back;
    const TracePointer more = run(*model, longer, options);
    EXPECT_EQ(more->reused(), 30);
    expect_same(*more, *run(*model, longer));
  }
}

std::shared_ptr<const models::Model> edited(const models::Model& model, const char* text) {
  const auto edit = models::parse_edit(text, 0);
  EXPECT_TRUE(edit.ok()) << text;
  const auto made = model.edited({*edit});
  EXPECT_TRUE(made.ok()) << text << ": " << made.error().describe();
  return made.ok() ? *made : nullptr;
}

constexpr std::array kMixerEdits{"decay all.1 keep", "decay all.all mean", "unwrite 0.all 3:6", "reset all.2 at 20",
                                 "mixer zero 0.0,3"};

bool decays(const models::Model& model) {
  return model.info().layer_info.front().mixer_reach == 0;
}

// Of an edited run nothing is continued: a mean over the tokens is one of all of them, and masks are of a whole run.
TEST(Mixers, TypingUnderAnEditEqualsWholeRuns) {
  for (const test::LayerKind& kind : test::kMixedKinds) {
    const auto model = loaded(kind);
    for (const char* const edit : kMixerEdits) {
      SCOPED_TRACE(std::string(kind.name) + ": " + edit);
      if (!decays(*model) && std::string(edit).rfind("mixer zero", 0) != 0) {
        continue;
      }
      const auto own = edited(*model, edit);
      ASSERT_NE(own, nullptr);
      models::RunOptions options;
      options.continuable = true;
      options.keep = {"logits", "hidden"};
      Ids ids = some_ids(70);
      options.reuse = run(*model, ids, options);  // what was run before the edit
      for (const std::int64_t id : {7, 2, 9}) {
        const TracePointer typed = run(*own, ids, options);
        expect_same(*typed, *run(*own, ids));
        EXPECT_EQ(typed->reused(), 0);
        options.reuse = typed;
        ids.push_back(id);
      }
      // And without the edit again.
      const TracePointer back = run(*model, ids, options);
      EXPECT_EQ(back->reused(), 0);
      expect_same(*back, *run(*model, ids));
    }
  }
}

TEST(Mixers, GenerationUnderAnEditEqualsRepeatedRuns) {
  for (const test::LayerKind& kind : test::kMixedKinds) {
    const auto model = loaded(kind);
    for (const char* const edit : {"decay all.all mean", "reset all.all at 7", "mixer zero all.0"}) {
      SCOPED_TRACE(std::string(kind.name) + ": " + edit);
      if (!decays(*model) && std::string(edit) != "mixer zero all.0") {
        continue;
      }
      const auto own = edited(*model, edit);
      ASSERT_NE(own, nullptr);
      Ids ids = some_ids(9);
      models::Input input;
      input.ids = ids;
      models::GenerateOptions options;
      options.count = 5;
      const auto made = own->generate(input, options, {}, {}, {});
      ASSERT_TRUE(made.ok()) << made.error().describe();
      for (int n = 0; n < options.count; ++n) {
        ids.push_back(run(*own, ids)->top(1).front().id);
      }
      EXPECT_EQ(made->ids, Ids(ids.begin() + 9, ids.end()));
      expect_same(*made->trace, *run(*own, ids));
    }
  }
}

TEST(Mixers, ARunWithoutMarksIsNotContinued) {
  const auto model = loaded(test::kMixedKinds.front());
  const Ids ids = some_ids(30);
  models::RunOptions options;
  options.continuable = true;
  options.reuse = run(*model, ids);
  EXPECT_EQ(run(*model, ids, options)->reused(), 0);
  options.reuse = run(*model, ids, options);
  EXPECT_EQ(run(*model, ids, options)->reused(), 29);
  options.all_logits = true;
  EXPECT_EQ(run(*model, ids, options)->reused(), 0);
}

}  // namespace
}  // namespace locus::mixed_runs
