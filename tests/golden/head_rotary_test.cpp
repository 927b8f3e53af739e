// Heads that turn with one component of a position each, against the published MHRoPE: the values of
// tests/golden/make_head_rotary.py, which are float32. Tolerance 2e-6.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/encodings.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus::test {
namespace {

TEST(HeadRotary, turnsAsPublished) {
  std::ifstream file(std::filesystem::path(source_dir()) / "tests" / "golden" / "head_rotary.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 4U);
  for (const auto& each : cases) {
    SCOPED_TRACE(each.at("sections").dump() + " of " + each.at("key_heads").dump());
    const std::int64_t heads = each.at("heads");
    const std::int64_t key_heads = each.at("key_heads");
    const std::int64_t width = each.at("width");
    const nlohmann::json& published = each.at("rope");
    Settings options{{"base", published.at("rope_theta").get<double>()},
                     {"sections", each.at("sections").get<std::vector<double>>()},
                     {"section_layout", std::string("heads")}};
    if (published.contains("factor")) {
      options.set("scaling", std::string("yarn"));
      options.set("factor", published.at("factor").get<double>());
      options.set("original_max_position_embeddings",
                  published.at("original_max_position_embeddings").get<std::int64_t>());
    }
    const auto rows = each.at("positions").get<std::vector<std::vector<double>>>();
    const auto length = static_cast<std::int64_t>(rows.size());
    at::Tensor ids = at::empty({length, 3}, at::kDouble);
    for (std::int64_t t = 0; t < length; ++t) {
      ids[t].copy_(at::tensor(rows[static_cast<std::size_t>(t)], at::kDouble));
    }
    const auto numbers = [&](std::int64_t own) {
      return at::arange(1, own * length * width + 1, at::kDouble).view({1, own, length, width});
    };
    const auto stored = [&](const char* name, std::int64_t own) {
      return at::tensor(each.at(name).get<std::vector<double>>(), at::kDouble).view({1, own, length, width});
    };
    const auto rope = encoding("rope", options, shape_of(heads, width, key_heads));
    const position::Prepared prepared =
        prepare(*rope, {ids, 0}, (0.37 * numbers(heads)).sin(), (0.53 * numbers(key_heads)).cos());
    EXPECT_CLOSE(prepared.query, stored("query", heads), 2e-6);
    EXPECT_CLOSE(prepared.key, stored("key", key_heads), 2e-6);
  }
}

}  // namespace
}  // namespace locus::test
