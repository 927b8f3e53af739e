// Every type of types.txt: its tiny checkpoint, whose weights follow from the tensors' names, gives the values that the
// library computes (make.py), or is refused. One line of the table adds a type.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"
#include "tests/support/generated_tensors.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

// Known numbers of the generator, from tensors.py.
TEST(Conformance, GeneratesTheNumbersThatTheScriptGenerates) {
  const std::string name = "model.layers.0.self_attn.q_proj.weight";
  EXPECT_EQ(test::generated_bits(name, 0), 7734744537421471828U);
  EXPECT_EQ(test::generated_bits(name, 1), 1234843388608301636U);
  EXPECT_EQ(test::generated_bits(name, 2), 15801250383363719602U);
  const at::Tensor small = test::generated_tensor("a", {2, 2}, 1, 0.1);
  EXPECT_TRUE(small.equal(at::tensor({1.0897084F, 1.2059492F, 1.1387452F, 0.9753046F}).reshape({2, 2}))) << small;
  const at::Tensor large = test::generated_tensor(name, {1000, 100}, 0, 1);
  EXPECT_LT(std::abs(large.mean().item<double>()), 0.02);
  EXPECT_NEAR(large.std().item<double>(), 1, 0.02);
  EXPECT_LT(large.abs().max().item<double>(), 3.47);
}

std::vector<std::string> stored_types() {
  std::vector<std::string> types;
  for (const test::ConformanceRow& row : test::conformance_table()) {
    if (test::ConformanceType::stored(row.type)) {
      types.push_back(row.type);
    }
  }
  return types;
}

class Conformance : public testing::TestWithParam<std::string> {};

TEST_P(Conformance, GiveTheLibrarysMapsAndLogits) {
  const std::string type = GetParam();
  const std::vector<test::ConformanceRow> table = test::conformance_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const auto& line) { return line.type == type; });
  const test::ConformanceType stored(type);
  const test::TemporaryFolder folder;
  folder.write("config.json", stored.data().at("config").dump());
  stored.write_tensors(folder.path());
  const auto model = models::open(folder.path(), {});
  if (!model.ok()) {
    EXPECT_FALSE(row->opens) << type << " opens by types.txt: " << model.error().describe();
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported) << model.error().describe();
    return;
  }
  EXPECT_TRUE(row->opens) << type << " opens, and is refused by types.txt: make.py --opens build/release/locus";
  EXPECT_EQ((*model)->info().unexpected, std::vector<std::string>());
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = (*model)->run(stored.input(folder.path()), options);
  ASSERT_TRUE(trace.ok()) << type << ": " << trace.error().describe();
  EXPECT_EQ(stored.difference(**trace), "") << type;
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(stored_types()), name_of);

// A damaged map, or logits of another run, are noticed at their place.
TEST(Conformance, NamesTheFirstPlaceThatDiffers) {
  const test::ConformanceType stored("llama");
  const test::TemporaryFolder folder;
  nlohmann::json config = stored.data().at("config");
  config["rope_parameters"]["rope_theta"] = 9000.0;
  folder.write("config.json", config.dump());
  stored.write_tensors(folder.path());
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model->run(stored.input(folder.path()), options);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  EXPECT_EQ(stored.difference(**trace).rfind("layers.0.attention, head 0, query ", 0), 0U)
      << stored.difference(**trace);
}

// The page *Models* of the manual has the table's lines in its order, and what the stored values say of each.
TEST(Conformance, ThePageOfModelsIsCurrent) {
  std::ifstream file(test::source_dir() + "/assets/manual/models.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string lines;
  for (const test::ConformanceRow& row : test::conformance_table()) {
    std::string compared;
    std::string with;
    if (row.opens && test::ConformanceType::stored(row.type)) {
      const test::ConformanceType stored(row.type);
      compared = stored.data().at("kind") == "seq2seq" ? "encoder, decoder and cross maps" : "maps";
      compared += stored.has("logits") ? ", logits" : ", states";
      if (stored.data().contains("changes")) {
        compared += "; " + std::to_string(stored.data()["changes"].size()) + " changed configurations";
      }
      with = stored.data().at("by");
    }
    lines += "| `" + row.type + "` | " + row.models + " | " + (row.opens ? "opens" : "refused") +
             (row.note.empty() ? "" : ": " + row.note) + " | " + compared + " | " + with + " |\n";
  }
  EXPECT_NE(page.find(lines + "<!-- end -->"), std::string::npos) << "tests/conformance/make.py --page";
}

}  // namespace
}  // namespace locus
