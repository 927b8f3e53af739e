// Configurations that differ from a type's own in one field or one rotary block, against the library's values for each
// (make.py): what Locus opens and the library runs gives the library's values. A refusal is no wrong map.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> types_with_changes() {
  std::vector<std::string> types;
  for (const test::ConformanceRow& row : test::conformance_table()) {
    if (test::ConformanceType::stored(row.type) && test::ConformanceType(row.type).data().contains("changes")) {
      types.push_back(row.type);
    }
  }
  return types;
}

// Changes that Locus opens though the library gives no values, each for a reason of the library's.
bool opens_here_alone(const json& change) {
  const std::string library = change.at("library").get<std::string>();
  const std::string what = change.at("what").get<std::string>();
  const std::pair<std::string, std::string> known[] = {
      {"rope_parameters by layer type", "refuses: KeyError"},  // applied here wherever layers have types
      {"rope_parameters by layer type", "refuses: RuntimeError"},
      {"rope_parameters by layer type", "refuses: ValueError"},
      {"n_head=8", "refuses: gives values of other shapes"},  // the stored rows are those of four heads
      {"n_heads=8", "refuses: gives values of other shapes"},
      {"num_heads=8", "refuses: gives values of other shapes"},
      {"encoder_attention_heads=8", "refuses: gives values of other shapes"},
      {"decoder_attention_heads=8", "refuses: gives values of other shapes"},
      {"layer_types=['full_attention', 'sliding_attention', 'full_attention', 'sliding_attention']",
       "refuses: StrictDataclassClassValidationError"},  // four types of three layers, of which these models have none
      {"attn_logit_softcapping=6", "refuses: StrictDataclassFieldValidationError"},  // a whole number
      {"final_logit_softcapping=6", "refuses: StrictDataclassFieldValidationError"},
      {"pooler_output_size=128", "refuses: RuntimeError"},                   // the pooler is no part of the maps
      {"unpadded_vocab_size=184", "refuses: gives values of other shapes"},  // logits of the whole vocabulary
      {"use_mask_token=True", "refuses: Missing"},  // a tensor that takes part in training alone
      {"add_fpn=True", "refuses: ValueError"},      // segmentation
      {"legacy=False", "refuses: Missing"},         // the name of the head's tensors
      {"alibi=True", "errs: adds ALiBi to the scores, and with the mask a second time"}};
  return std::find(std::begin(known), std::end(known), std::pair(what, library)) != std::end(known);
}

// Counts of the verdicts on a type's changed configurations.
struct Verdicts {
  int equal = 0;
  int refused = 0;  // by Locus alone
};

void check_change(const test::ConformanceType& stored, const json& change, const fs::path& place, Verdicts& verdicts) {
  const test::TemporaryFolder folder;
  fs::create_symlink(place / "model.safetensors", folder.path() / "model.safetensors");
  json config = stored.data().at("config");
  for (const auto& [field, value] : change.at("fields").items()) {
    config.erase(field);
    if (!value.is_null()) {
      config[field] = value;
    }
  }
  folder.write("config.json", config.dump());
  const bool library_runs = change.at("library").get<std::string>().starts_with("runs");
  models::RunOptions options;
  options.all_logits = true;
  const auto model = models::open(folder.path(), {});
  const auto trace = model.ok() ? (*model)->run(stored.input(place), options)
                                : Result<std::shared_ptr<const models::Trace>>(model.error());
  if (!trace.ok()) {
    EXPECT_TRUE(trace.error().code == ErrorCode::kBadInput || trace.error().code == ErrorCode::kUnsupported)
        << trace.error().describe();
    verdicts.refused += library_runs ? 1 : 0;
    return;
  }
  if (!library_runs) {
    EXPECT_TRUE(opens_here_alone(change)) << "opens what the library does not run: " << change.at("library");
    return;
  }
  const bool same = !change.contains("place");
  const std::string difference =
      stored.difference(**trace, same ? std::nullopt : std::optional(change["place"].get<std::int64_t>()));
  std::string warnings;
  for (const std::string& warning : (*model)->info().warnings) {
    warnings += "\nwarning: " + warning;
  }
  EXPECT_EQ(difference, "") << (same ? "the field changes nothing in the library" : "") << warnings;
  verdicts.equal += difference.empty() ? 1 : 0;
}

class ChangedConfigurations : public testing::TestWithParam<std::string> {};

TEST_P(ChangedConfigurations, GiveTheLibrarysValuesOrAreRefused) {
  const test::ConformanceType stored(GetParam());
  const test::TemporaryFolder folder;
  stored.write_tensors(folder.path());
  Verdicts verdicts;
  for (const json& change : stored.data().at("changes")) {
    SCOPED_TRACE(GetParam() + ": " + change.at("what").get<std::string>());
    check_change(stored, change, fs::absolute(folder.path()), verdicts);
  }
  // Most of what the library runs is run, so that refusing all of it would be noticed.
  EXPECT_GT(verdicts.equal, verdicts.refused);
}

INSTANTIATE_TEST_SUITE_P(All, ChangedConfigurations, testing::ValuesIn(types_with_changes()));

}  // namespace
}  // namespace locus
