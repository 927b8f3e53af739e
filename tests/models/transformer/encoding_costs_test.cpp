// assets/sessions/tape-table-3.json, which the figure TAPE Table 3 draws: its products are counted again here, its times
// are compared with their ratios alone, and the paper's numbers are those of its tables.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/atomic_file.h"
#include "core/position/list.h"
#include "models/transformer/spec.h"
#include "tests/support/encodings.h"
#include "tests/support/paths.h"

namespace locus::transformer {
namespace {

struct CostShape {
  std::string split;
  std::int64_t layers;
  std::int64_t heads;
  std::int64_t head_width;
  std::int64_t inner;
  std::int64_t vocabulary;
  std::int64_t length;
};

// Products of a forward pass with an encoding's default options.
double products_of(const CostShape& shape, const std::string& name) {
  Spec spec;
  spec.width = shape.heads * shape.head_width;
  spec.vocabulary = shape.vocabulary;
  LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = shape.heads;
  layer.attention.head_width = shape.head_width;
  layer.feed_forward.inner = shape.inner;
  spec.repeat(layer, shape.layers);
  position::ModelShape model = test::shape_of(shape.heads, shape.head_width);
  model.layers = shape.layers;
  model.width = spec.width;
  model.trained_length = shape.length;
  const auto encoding = position::make_encoding(name, {}, model);
  EXPECT_TRUE(encoding.ok()) << name;
  double sum = multiply_accumulates(spec, shape.length);
  for (std::int64_t n = 0; n < shape.layers; ++n) {
    sum += (*encoding)->macs(n, shape.length);
  }
  return sum;
}

nlohmann::json stored_costs() {
  const auto text = read_file(test::source_dir() + "/assets/sessions/tape-table-3.json", std::size_t{1} << 20);
  EXPECT_TRUE(text.ok());
  return nlohmann::json::parse(text.ok() ? *text : std::string("{}"));
}

TEST(EncodingCosts, ProductsAreThoseThatAreStored) {
  const CostShape paper{"MACs, large", 12, 12, 64, 3072, 50257, 1024};
  const CostShape small{"MACs, small", 4, 4, 32, 344, 256, 256};
  const nlohmann::json stored = stored_costs();
  EXPECT_GE(stored.at("rows").size(), 20U);
  for (const CostShape& shape : {paper, small}) {
    const double rope = products_of(shape, "rope");
    for (const auto& row : stored.at("rows")) {
      const std::string name = row.at("encoding");
      EXPECT_NEAR(row.at("splits").at(shape.split).get<double>(), products_of(shape, name) / rope, 1e-4)
          << name << ", " << shape.split;
    }
  }
}

TEST(EncodingCosts, TimesAreRatiosOfWhatWasMeasuredOnce) {
  const nlohmann::json stored = stored_costs();
  EXPECT_EQ(stored.at("timed").at("date").get<std::string>().size(), 10U);
  EXPECT_FALSE(stored.at("timed").at("machine").get<std::string>().empty());
  const auto rope = stored.at("rows").at(0);
  ASSERT_EQ(rope.at("encoding"), "rope");
  for (const auto& row : stored.at("rows")) {
    const double ratio = row.at("milliseconds").get<double>() / rope.at("milliseconds").get<double>();
    EXPECT_NEAR(row.at("splits").at("time, small").get<double>(), ratio, 0.006) << row.at("encoding");
    EXPECT_EQ(row.at("metric"), rope.at("metric"));
  }
}

TEST(EncodingCosts, ThePapersNumbersAreThoseOfItsTables) {
  const std::map<std::string, std::pair<double, double>> paper{
      {"tape", {180.69, 5.63}}, {"rope", {160.46, 2.08}}, {"fire", {165.69, 5.56}}, {"t5", {160.46, 6.90}}};
  const nlohmann::json costs = stored_costs();
  for (const auto& row : costs.at("rows")) {
    const auto& splits = row.at("splits");
    const auto found = paper.find(row.at("encoding").get<std::string>());
    EXPECT_EQ(splits.contains("MACs, paper"), found != paper.end());
    EXPECT_EQ(splits.contains("time, paper"), found != paper.end());
    if (found != paper.end()) {
      EXPECT_NEAR(splits.at("MACs, paper").get<double>(), found->second.first / paper.at("rope").first, 1e-4);
      EXPECT_NEAR(splits.at("time, paper").get<double>(), found->second.second / paper.at("rope").second, 0.006);
    }
  }
}

}  // namespace
}  // namespace locus::transformer
