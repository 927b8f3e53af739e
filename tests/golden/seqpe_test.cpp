// SeqPE's encoder, as it stands alone and inside the authors' GPT-2 and ViT, and its two losses.
#include <gtest/gtest.h>

#include "core/position/list.h"
#include "core/position/seqpe/losses.h"
#include "core/position/seqpe/seqpe.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kSeqpeTolerance = 1e-4;

// The encoding with the encoder weights of a golden file, stored after `prefix`.
std::unique_ptr<position::PositionEncoding> loaded(const test::Golden& golden, const std::string& prefix,
                                                   const Settings& options, position::ModelShape shape) {
  auto encoding = *position::make_encoding("seqpe", options, shape);
  std::size_t read = 0;
  for (const position::Parameter& parameter : encoding->parameters()) {
    if (parameter.name.rfind("encoder.", 0) == 0) {
      const at::Tensor& stored = golden[prefix + parameter.name.substr(8)];
      EXPECT_EQ(stored.sizes(), parameter.value->sizes()) << parameter.name;
      *parameter.value = stored;
      ++read;
    }
  }
  std::size_t there = 0;
  for (const auto& [name, values] : golden.arrays()) {
    there += name.rfind(prefix, 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(read, there);
  return encoding;
}

position::ModelShape shape_of(std::int64_t heads, std::int64_t head_width) {
  position::ModelShape shape;
  shape.layers = 2;
  shape.heads = shape.kv_heads = heads;
  shape.head_width = head_width;
  shape.width = heads * head_width;
  return shape;
}

void check_encoder(const std::string& file, const Settings& options, const position::ModelShape& shape) {
  const test::Golden golden(file);
  const auto encoding = loaded(golden, "w.", options, shape);
  const auto& encoder = static_cast<const position::Seqpe&>(*encoding).encoder();
  const at::Tensor digits = encoder.digits(golden["positions"]);
  EXPECT_TRUE(digits.equal(golden["digits"]));
  EXPECT_TRUE(encoder.padding(digits).logical_not().to(at::kFloat).equal(golden["pad_mask"]));
  const position::Positions positions{golden["positions"].to(at::kDouble), 0};
  ASSERT_TRUE(encoding->accepts(positions));
  EXPECT_CLOSE(encoding->begin(positions, 1).table, golden["pe"], kSeqpeTolerance);
}

TEST(Seqpe, EncoderOfTexts) {
  check_encoder("seqpe_1d", {}, shape_of(4, 8));
}

TEST(Seqpe, BidirectionalEncoder) {
  check_encoder("seqpe_1d_bi", {{"encoder_causal", false}}, shape_of(4, 8));
}

TEST(Seqpe, EncoderThatMasksPadding) {
  check_encoder("seqpe_1d_maskpad", {{"mask_padding", true}}, shape_of(4, 8));
}

TEST(Seqpe, EncoderOfImages) {
  check_encoder(
      "seqpe_2d",
      {{"dimensions", std::int64_t{2}}, {"encoder_width", std::int64_t{32}}, {"encoder_heads", std::int64_t{4}}},
      shape_of(6, 8));
}

TEST(Seqpe, TablesInsideGpt2) {
  for (const std::string model : {"attn_scalar_none", "attn_scalar_single", "attn_scalar_multi", "attn_mul_single",
                                  "attn_mul_multi", "attn_add_multi", "attn_mul_multi_singlehead", "input_add_none"}) {
    SCOPED_TRACE(model);
    const test::Golden golden("seqpe_gpt2_" + model);
    Settings options{{"single_head", model.find("singlehead") != std::string::npos}};
    options.set("integration", std::string(model.find("input") == 0 ? "input" : "mul"));
    const auto encoding = loaded(golden, "pe_w.", options, shape_of(4, 8));
    const position::State state = encoding->begin(position::Positions::sequence(8), 2);
    EXPECT_CLOSE(state.table, golden["pe"], kSeqpeTolerance);
    EXPECT_EQ(encoding->embed(state).defined(), model.find("input") == 0);
  }
}

TEST(Seqpe, TablesInsideVit) {
  for (const std::string model :
       {"attn_add_multi", "attn_mul_multi", "attn_scalar_multi", "attn_mul_single", "input_add_None"}) {
    SCOPED_TRACE(model);
    const test::Golden golden("seqpe_vit_" + model);
    const Settings options{
        {"dimensions", std::int64_t{2}}, {"encoder_width", std::int64_t{16}}, {"encoder_heads", std::int64_t{2}}};
    const auto encoding = loaded(golden, "pe_w.", options, shape_of(2, 16));
    for (const position::Parameter& parameter : encoding->parameters()) {
      if (parameter.name == "cls_token_pos_embed") {
        *parameter.value = golden["w.cls_token_pos_embed"];
      }
    }
    const position::Positions grid = position::Positions::grid(4, 4, 1);
    EXPECT_TRUE(grid.ids.slice(0, 1).to(at::kLong).equal(golden["positions"]));
    const at::Tensor table = encoding->begin(grid, 1).table;
    EXPECT_CLOSE(table.slice(0, 1), golden["pe"], kSeqpeTolerance);
    EXPECT_CLOSE(table.slice(0, 0, 1), golden["w.cls_token_pos_embed"][0], 0.0);
  }
}

TEST(Seqpe, DistanceLoss) {
  const test::Golden golden("seqpe_losses");
  const at::Tensor candidates = golden["neg"].view({4, 6, 32});
  EXPECT_CLOSE(position::seqpe_distance_loss(golden["pivot"], candidates, golden["labels"]), golden["ct_loss"],
               kSeqpeTolerance);
}

TEST(Seqpe, TransferLossOfTheAuthors) {
  const test::Golden golden("seqpe_losses");
  const at::Tensor teacher = golden["main_pe"][0].index_select(0, golden["main_indices"]).view({3, 5, 32});
  const at::Tensor student = golden["trans_pe"].view({3, 5, 32});
  for (const auto& [share, name] : {std::pair{1.0, "trans_loss"}, {0.8, "trans_loss_beta08"}}) {
    EXPECT_CLOSE(position::seqpe_transfer_loss(teacher, student, 4, position::SeqpeTransfer::kCode, share),
                 golden[name], kSeqpeTolerance);
  }
}

}  // namespace
}  // namespace locus
