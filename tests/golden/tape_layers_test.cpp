// What the app shows of TAPE's layers: attention, ⟨e_i, e_j⟩, and their change under shifted ids and added tokens.
#include <gtest/gtest.h>

#include "core/position/list.h"
#include "tests/support/golden.h"
#include "tests/support/llama.h"

namespace locus {
namespace {

constexpr double kTapeLayersTolerance = 1e-4;

at::Tensor dots(const at::Tensor& e) {
  const at::Tensor flat = e.flatten(-3);
  return at::matmul(flat, flat.transpose(-1, -2));
}

class Stability {
 public:
  Stability() : weights_file_("tape"), golden_("tape_layers") {
    for (const auto& [array, values] : weights_file_.arrays()) {
      if (array.rfind("w.", 0) == 0) {
        weights_[array.substr(2)] = values;
      }
    }
    position::ModelShape shape;
    shape.layers = 2;
    shape.heads = shape.kv_heads = 4;
    shape.head_width = 8;
    shape.width = 32;
    encoding_ = *position::make_encoding("tape", {}, shape);
    for (const position::Parameter& parameter : encoding_->parameters()) {
      *parameter.value = weights_.at("model." + parameter.name + ".weight");
    }
  }

  test::LlamaRun run(const std::string& ids, double start) const {
    return test::run_llama(weights_, *encoding_, golden_[ids],
                           position::Positions::sequence(golden_[ids].size(1), start));
  }
  const test::Golden& golden() const { return golden_; }
  const position::PositionEncoding& encoding() const { return *encoding_; }

  void expect_layers(const test::LlamaRun& run, const std::string& prefix) const {
    for (std::size_t index = 0; index < 2; ++index) {
      const std::string name = prefix + "layer" + std::to_string(index);
      EXPECT_CLOSE(run.layers[index].attention, golden_[name + ".attn"], kTapeLayersTolerance);
      EXPECT_CLOSE(dots(run.layers[index].entering.table), golden_[name + ".pe_dot_in"], kTapeLayersTolerance);
      EXPECT_CLOSE(dots(run.layers[index].leaving.table), golden_[name + ".pe_dot_out"], kTapeLayersTolerance);
    }
  }

 private:
  test::Golden weights_file_;
  test::Golden golden_;
  test::Weights weights_;
  std::unique_ptr<position::PositionEncoding> encoding_;
};

TEST(TapeLayers, DotProductsAndAttention) {
  const Stability stability;
  stability.expect_layers(stability.run("input_ids", 0), "");
  stability.expect_layers(stability.run("input_ids", 3), "shift3.");
  stability.expect_layers(stability.run("input_ids_bos3", 0), "bos3.");
}

TEST(TapeLayers, VectorsGiveTheStoredDotProducts) {
  const Stability stability;
  const test::LlamaRun run = stability.run("input_ids", 0);
  for (std::size_t index = 0; index < 2; ++index) {
    const at::Tensor vectors =
        stability.encoding().vectors(run.layers[index].entering, static_cast<std::int64_t>(index));
    EXPECT_CLOSE(position::dot_products(vectors, {0, 7}, {0, 7}, false),
                 stability.golden()["layer" + std::to_string(index) + ".pe_dot_in"][0], kTapeLayersTolerance);
  }
}

TEST(TapeLayers, TheFormulasOfTableEight) {
  const Stability stability;
  const test::LlamaRun plain = stability.run("input_ids", 0);
  const test::LlamaRun longer = stability.run("input_ids_bos3", 0);
  const test::LlamaRun shifted = stability.run("input_ids", 3);
  const at::Tensor causal = at::ones({7, 7}, at::kBool).tril();
  for (std::int64_t index = 0; index < 2; ++index) {
    const auto tail = [](const at::Tensor& map) { return map.slice(-2, map.size(-2) - 7).slice(-1, map.size(-1) - 7); };
    const test::LlamaLayer& base = plain.layers[static_cast<std::size_t>(index)];
    const test::LlamaLayer& other = longer.layers[static_cast<std::size_t>(index)];
    const at::Tensor change = (tail(other.attention) - base.attention).abs();
    EXPECT_CLOSE(change.sum(-1).mean(), stability.golden()["bos3.attn_l1"][index], kTapeLayersTolerance);
    EXPECT_CLOSE(change.masked_select(causal).mean(), stability.golden()["bos3.attn_mean"][index],
                 kTapeLayersTolerance);
    const auto percent = [&](const at::Tensor& after, const at::Tensor& before) {
      return 100 * (tail(dots(after)) - dots(before)).abs().masked_select(causal).sum() /
             dots(before).abs().masked_select(causal).sum();
    };
    EXPECT_CLOSE(percent(other.entering.table, base.entering.table), stability.golden()["bos3.pe_in_pct"][index], 1e-3);
    EXPECT_CLOSE(percent(other.leaving.table, base.leaving.table), stability.golden()["bos3.pe_out_pct"][index], 1e-3);
    const test::LlamaLayer& moved = shifted.layers[static_cast<std::size_t>(index)];
    EXPECT_LT((moved.attention - base.attention).abs().sum(-1).mean().item<double>(), 1e-5);
    EXPECT_LT(percent(moved.leaving.table, base.leaving.table).item<double>(), 1e-3);
  }
}

}  // namespace
}  // namespace locus
