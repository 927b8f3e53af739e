// Analyses, edits, generation and files of another machine give the numbers of the same here, bit for bit.
#include <gtest/gtest.h>

#include "models/api/analyses.h"
#include "models/api/effect.h"
#include "models/api/files.h"
#include "models/api/knock_out.h"
#include "models/api/logit_attribution.h"
#include "models/api/logit_lens.h"
#include "models/api/machine.h"
#include "models/api/move_curve.h"
#include "models/api/pairs.h"
#include "models/api/verify.h"
#include "models/trace/is_trace.h"
#include "tests/support/far_same.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using test::expect_same;
using test::expect_same_facts;
using test::expect_same_maps;

class FarModels : public test::FarTest {};

TEST_F(FarModels, EveryAnalysisIsTheSame) {
  const ModelPointer here = opened(bundled_path("text-rope"));
  const ModelPointer there = opened(test::FarMachine::path(bundled_path("text-rope")));
  ASSERT_TRUE(here && there);
  const models::Input input = input_for(here->info());
  models::RunOptions options;
  options.all_logits = true;
  options.keep = {"logits", "hidden"};
  const auto a = *here->run(input, options);
  const auto b = *there->run(input, options);
  expect_same(models::head_table(*a), models::head_table(*b), "head_table");
  expect_same(models::distance_bias({a}, 1, {{0, 4}, {8, 16}}), models::distance_bias({b}, 1, {{0, 4}, {8, 16}}),
              "distance_bias");
  expect_same(models::distance_profile(*a, 1, {}), models::distance_profile(*b, 1, {}), "distance_profile");
  expect_same(models::theory_curves(*a, 1, 0, {1, 2, 4}), models::theory_curves(*b, 1, 0, {1, 2, 4}), "theory_curves");
  expect_same(models::induction_map(*here), models::induction_map(*there), "induction_map");
  expect_same(models::attention_rollout(*a, 5), models::attention_rollout(*b, 5), "attention_rollout");
  expect_same(models::head_difference(*a, *a), models::head_difference(*b, *b), "head_difference");
  expect_same(models::match_heads(*a, *a), models::match_heads(*b, *b), "match_heads");
  expect_same(models::shift_stability(*here, *a, {8, {}}), models::shift_stability(*there, *b, {8, {}}),
              "shift_stability");
  expect_same(models::length_curve(*here, a->tokens()), models::length_curve(*there, b->tokens()), "length_curve");
  expect_same(models::knock_out(*here, *a, {}), models::knock_out(*there, *b, {}), "knock_out");
  expect_same(models::knock_out_shuffled(*here, *a, {}, 2, 1), models::knock_out_shuffled(*there, *b, {}, 2, 1),
              "knock_out_shuffled");
  expect_same(models::logit_attribution(*here, *a, {}), models::logit_attribution(*there, *b, {}), "logit_attribution");
  expect_same(models::logit_lens(*here, *a), models::logit_lens(*there, *b), "logit_lens");
  models::MoveOptions move;
  move.tokens = {3, 5};
  move.by = {1, 8};
  expect_same(models::move_curve(*here, *a, move), models::move_curve(*there, *b, move), "move_curve");
  expect_same(models::move_map(*here, *a, move), models::move_map(*there, *b, move), "move_map");
  expect_same(models::pair_list(*a, 0, 1), models::pair_list(*b, 0, 1), "pair_list");
  for (const auto norm : {analysis::PairNorm::kQuery, analysis::PairNorm::kKey, analysis::PairNorm::kProduct}) {
    expect_same(models::pair_energy(*a, 0, norm), models::pair_energy(*b, 0, norm), "pair_energy");
  }
  expect_same(models::pair_parts(*a, 0, 1, 9, 4, {1, 2}), models::pair_parts(*b, 0, 1, 9, 4, {1, 2}), "pair_parts");
  expect_same(models::pair_profile(*a, 0, 1), models::pair_profile(*b, 0, 1), "pair_profile");
  expect_same(models::pair_plane(*a, 0, 1, 2), models::pair_plane(*b, 0, 1, 2), "pair_plane");
  expect_same(models::pair_statistics(*a), models::pair_statistics(*b), "pair_statistics");
  const auto pairs_here = models::with_pairs(*a, 0, {0, 3});
  const auto pairs_there = models::with_pairs(*b, 0, {0, 3});
  ASSERT_TRUE(pairs_here.ok() && pairs_there.ok());
  expect_same_maps(**pairs_here, **pairs_there, "with_pairs");
  expect_same(models::verify(*here, input), models::verify(*there, input), "verify");
  // Errors too.
  expect_same(models::distance_profile(*a, 99, {}), models::distance_profile(*b, 99, {}), "no such layer");
}

TEST_F(FarModels, EditsAndGenerationAreTheSame) {
  const ModelPointer here = opened(bundled_path("text-rope"));
  const ModelPointer there = opened(test::FarMachine::path(bundled_path("text-rope")));
  ASSERT_TRUE(here && there);
  const models::Input input = input_for(here->info());
  const models::Edits edits{*models::parse_edit("head 0.1 zero", 0), *models::parse_edit("shift 4:6 by 3", 1)};
  const auto edited_here = here->edited(edits);
  const auto edited_there = there->edited(edits);
  ASSERT_TRUE(edited_here.ok() && edited_there.ok()) << edited_there.error().describe();
  EXPECT_EQ((*edited_there)->edits(), edits);
  const models::Edits none{*models::parse_edit("head 99.1 zero", 0)};
  EXPECT_EQ(here->edited(none).error().describe(), there->edited(none).error().describe());
  const auto effect_here = models::effect_of_edits(**edited_here, input);
  const auto effect_there = models::effect_of_edits(**edited_there, input);
  expect_same(effect_here, effect_there, "effect_of_edits");
  expect_same_facts(*effect_here->edited, *effect_there->edited);
  expect_same(models::effect_between(effect_here->untouched, effect_here->edited),
              models::effect_between(effect_there->untouched, effect_there->edited), "effect_between");
  expect_same(models::effect_on(**edited_here, *effect_here->edited),
              models::effect_on(**edited_there, *effect_there->edited), "effect_on");
  const models::GenerateOptions generate{6, 0.8, 3};
  const auto made_here = here->generate(input, generate);
  const auto made_there = there->generate(input, generate);
  ASSERT_TRUE(made_here.ok() && made_there.ok()) << made_there.error().describe();
  EXPECT_EQ(made_here->ids, made_there->ids);
  EXPECT_EQ(made_here->text, made_there->text);
  expect_same_facts(*made_here->trace, *made_there->trace);
  // A run goes on from an earlier one, there as here.
  models::RunOptions options;
  options.continuable = true;
  options.reuse = *here->run(input, options);
  models::Input longer = input;
  *longer.text += " More.";
  const auto goes_on = here->run(longer, options);
  options.reuse = nullptr;
  options.reuse = *there->run(input, options);
  const auto far_goes_on = there->run(longer, options);
  ASSERT_TRUE(goes_on.ok() && far_goes_on.ok());
  EXPECT_GT((*far_goes_on)->reused(), 40);
  expect_same_facts(**goes_on, **far_goes_on);
  models::PositionRequest positions;
  positions.length = 12;
  const auto table_here = here->position_table(positions, 0);
  const auto table_there = there->position_table(positions, 0);
  ASSERT_EQ(table_here.ok(), table_there.ok());
  if (table_here.ok()) {
    EXPECT_EQ((*table_there)->length(), 12);
    expect_same((*table_here)->dot_product(0, {}, {}, {}), (*table_there)->dot_product(0, {}, {}, {}), "table");
  }
}

TEST_F(FarModels, TracesAndFilesThere) {
  const ModelPointer here = opened(bundled_path("text-alibi"));
  const auto run = *here->run(input_for(here->info()));
  const fs::path file = folder_ / "of here.safetensors";
  ASSERT_TRUE(run->write(file, {"logits", "q", "k"}).ok());
  const std::string far_file = test::FarMachine::path(file);
  EXPECT_TRUE(models::is_trace(far_file));
  EXPECT_FALSE(models::is_trace(test::FarMachine::path(bundled_path("text-alibi"))));
  EXPECT_TRUE(models::file_exists(far_file));
  EXPECT_FALSE(models::file_exists(far_file + "x"));
  EXPECT_EQ(*models::files_digest({file}), *models::files_digest({far_file}));
  const auto trace_here = models::open_trace(file);
  const auto trace_there = models::open_trace(far_file);
  ASSERT_TRUE(trace_here.ok() && trace_there.ok()) << trace_there.error().describe();
  expect_same_facts(**trace_here, **trace_there);
  expect_same_maps(**trace_here, **trace_there, "trace file");
  // A path there is written there.
  const fs::path second = folder_ / "of there.safetensors";
  const Status written = (*trace_there)->write(test::FarMachine::path(second), {"q", "k"});
  ASSERT_TRUE(written.ok()) << written.error().describe();
  EXPECT_TRUE(models::is_trace(second));
  // What is not there says so, as the program there does.
  const auto none = models::open("ssh://here/no/such/checkpoint");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kBadInput);
  EXPECT_NE(none.error().describe().find("/no/such/checkpoint"), std::string::npos) << none.error().describe();
}

TEST_F(FarModels, RunsOfTwoMachinesAreNotMixed) {
  const ModelPointer here = opened(bundled_path("text-alibi"));
  const ModelPointer there = opened(test::FarMachine::path(bundled_path("text-alibi")));
  const auto a = *here->run(input_for(here->info()));
  const auto b = *there->run(input_for(here->info()));
  const auto both = models::head_difference(*a, *b);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(both.error().describe().find("here"), std::string::npos) << both.error().describe();
  // A run that another machine made is not continued, but it is no error to name it.
  models::RunOptions options;
  options.reuse = a;
  EXPECT_TRUE(there->run(input_for(here->info()), options).ok());
}

}  // namespace
}  // namespace locus
