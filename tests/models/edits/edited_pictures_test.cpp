// Edits of texts with pictures: flat positions, pictures elsewhere, cells that no query sees.
#include "models/api/edits.h"

#include "models/api/effect.h"
#include "models/api/knock_out.h"
#include "models/edits/picture_positions.h"
#include "tests/models/edits/twins.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/pictured_text.h"

namespace locus::test {
namespace {

using models::TraceData;

const TraceData& data_of(const models::Trace& trace) {
  return models::recorded_of(trace)->data();
}

// A tiny vision-language model with the text and the two pictures of its folder.
class PicturedModel {
 public:
  explicit PicturedModel(const std::string& family) : model_(open_model(pictured_folder(family))) {
    const auto input = pictured_input(family);
    EXPECT_TRUE(input.ok());
    input_ = *input;
    plain_ = run({});
  }

  Result<std::shared_ptr<const models::Trace>> try_run(const std::vector<std::string>& edits) const {
    LOCUS_TRY(const auto edited, model_->edited(edits_of(edits)));
    models::RunOptions options;
    options.all_logits = true;
    return edited->run(input_, options);
  }
  std::shared_ptr<const models::Trace> run(const std::vector<std::string>& edits) const {
    auto trace = try_run(edits);
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
    return trace.ok() ? *trace : nullptr;
  }
  std::string refused(const std::string& edit, ErrorCode code = ErrorCode::kBadInput) const {
    const auto trace = try_run({edit});
    EXPECT_FALSE(trace.ok()) << edit;
    EXPECT_TRUE(trace.ok() || trace.error().code == code) << trace.error().describe();
    return trace.ok() ? "" : trace.error().message;
  }

  const TraceData& plain() const { return data_of(*plain_); }
  const std::vector<models::ImageSpan>& pictures() const { return plain_->images(); }

  // The logits (T, V) of the unedited model over other positions.
  at::Tensor logits_at(const at::Tensor& ids) const {
    const models::LoadedModel& loaded = *models::loaded_model_of(*model_);
    Batch batch;
    batch.ids = plain().input_ids.unsqueeze(0);
    batch.images = plain().image_rows;
    batch.blocks = plain().blocks;
    batch.positions = {ids, 0};
    const auto transformer = loaded.checkpoint().ready();
    EXPECT_TRUE(transformer.ok());
    return (*transformer)->observe(batch, {.all_logits = true})->logits.select(0, 0);
  }
  void expect_at(const std::string& edit, const at::Tensor& ids) const {
    const auto edited = run({edit});
    ASSERT_TRUE(edited) << edit;
    EXPECT_TRUE(at::equal(data_of(*edited).position_ids, ids)) << edit;
    EXPECT_LE(deviation(data_of(*edited).logits, logits_at(ids)), 1e-6) << edit;
    EXPECT_GT(deviation(data_of(*edited).logits, plain().logits), 1e-4) << edit;
  }

 private:
  std::shared_ptr<const models::Model> model_;
  models::Input input_;
  std::shared_ptr<const models::Trace> plain_;
};

TEST(EditedPictures, FlatPositionsCountCellsAsWords) {
  const PicturedModel model("qwen3_vl");
  const at::Tensor ids = model.plain().position_ids;
  const std::int64_t length = ids.size(0);
  model.expect_at("positions flat", at::arange(length, at::kDouble).unsqueeze(1).expand({length, 3}).contiguous());
}

// Cells and the words behind them stand where a design puts them; the values are those of PicturePositions.
TEST(EditedPictures, DesignsPlaceAllTokens) {
  const PicturedModel model("qwen3_vl");
  const std::int64_t length = model.plain().position_ids.size(0);
  for (const std::string design :
       {"v2pe", "v2pe:2.5", "mrope:2x1x0.5", "videorope", "hope:0.5", "omnirope", "circlerope"}) {
    const auto placed = models::designed_positions(*models::parse_design(design), model.pictures(), length,
                                                   model.plain().position_ids[0][0].item<double>());
    ASSERT_TRUE(placed.ok()) << placed.error().describe();
    model.expect_at("positions as " + design, *placed);
  }
  EXPECT_NE(model.refused("positions as circle")
                .find("edits[0].design: expected v2pe, v2pe:STRIDE, mrope, mrope:TxHxW, videorope, hope, "
                      "hope:STRIDE, omnirope, circlerope or circlerope:RADIUS, found circle"),
            std::string::npos);
  // The first picture's first row, by hand: t and rows stay, columns count from 0.
  const auto omni = model.run({"positions as omnirope"});
  const models::ImageSpan& first = model.pictures()[0];
  const at::Tensor ids = data_of(*omni).position_ids;
  for (std::int64_t column = 0; column < first.columns; ++column) {
    EXPECT_EQ(ids[first.first + column][0].item<double>(), static_cast<double>(first.first));
    EXPECT_EQ(ids[first.first + column][1].item<double>(), 0);
    EXPECT_EQ(ids[first.first + column][2].item<double>(), static_cast<double>(column));
  }
}

TEST(EditedPictures, PositionsThatAreNumbersTakeV2peAlone) {
  const PicturedModel model("llava");
  const std::int64_t length = model.plain().position_ids.size(0);
  const auto placed = models::designed_positions(*models::parse_design("v2pe:3"), model.pictures(), length,
                                                 model.plain().position_ids[0].item<double>());
  ASSERT_TRUE(placed.ok()) << placed.error().describe();
  model.expect_at("positions as v2pe:3", placed->select(1, 0).contiguous());
  EXPECT_NE(model.refused("positions as omnirope").find("edits[0].design: expected v2pe, since positions of this"),
            std::string::npos);
}

TEST(EditedPictures, APictureMovesByComponent) {
  const PicturedModel model("qwen3_vl");
  ASSERT_EQ(model.pictures().size(), 2U);
  const models::ImageSpan& second = model.pictures()[1];
  at::Tensor ids = model.plain().position_ids.clone();
  ids.slice(0, second.first, second.first + second.count) += at::tensor({0.0, 2.0, 0.5}, at::kDouble);
  model.expect_at("shift image 1 by 0,2,0.5", ids);
  ids = model.plain().position_ids.clone();
  ids.slice(0, second.first, second.first + second.count) += 7;
  model.expect_at("shift image 1 by 7", ids);
}

TEST(EditedPictures, WordsMoveInAllComponents) {
  const PicturedModel model("qwen3_vl");
  const std::int64_t last = model.plain().position_ids.size(0);
  at::Tensor ids = model.plain().position_ids.clone();
  ids.slice(0, last - 2, last) += 9;
  model.expect_at("shift " + std::to_string(last - 2) + ":" + std::to_string(last) + " by 9", ids);
  ids = model.plain().position_ids.clone();
  ids.slice(0, last - 2, last) = at::tensor({40.0, 43.0}, at::kDouble).unsqueeze(1).expand({2, 3});
  model.expect_at("positions " + std::to_string(last - 2) + ":" + std::to_string(last) + " start 40 step 3", ids);
}

// Of Pixtral, whose rows of cells have other tokens between them, too.
TEST(EditedPictures, MaskedCellsAreKeysOfNoQuery) {
  for (const char* family : {"qwen3_vl", "pixtral", "gemma3"}) {
    SCOPED_TRACE(family);
    const PicturedModel model(family);
    const models::ImageSpan& first = model.pictures()[0];
    ASSERT_GE(first.rows, 1);
    ASSERT_GE(first.columns, 2);
    const auto masked = model.run({"mask image 0 0:1,1:2"});
    const std::string cell = std::to_string(first.first + 1) + ":" + std::to_string(first.first + 2);
    const auto cut =
        model.run({"edge all.all queries 0:" + std::to_string(model.plain().tokens.size()) + " keys " + cell});
    ASSERT_TRUE(masked && cut);
    EXPECT_TRUE(at::equal(data_of(*masked).logits, data_of(*cut).logits));
    EXPECT_GT(deviation(data_of(*masked).logits, model.plain().logits), 1e-6);
    const auto map = masked->map({0, 0, models::Quantity::kWeight, {}, {first.first + 1, first.first + 2}}, {});
    ASSERT_TRUE(map.ok());
    for (const float weight : map->values) {
      EXPECT_EQ(weight, 0.0F);
    }
  }
  const PicturedModel model("qwen3_vl");
  const models::ImageSpan& first = model.pictures()[0];
  const auto whole =
      model.run({"mask image 0 0:" + std::to_string(first.rows) + ",0:" + std::to_string(first.columns)});
  const auto cut = model.run({"edge all.all queries 0:" + std::to_string(model.plain().tokens.size()) + " keys " +
                              std::to_string(first.first) + ":" + std::to_string(first.first + first.count)});
  EXPECT_TRUE(at::equal(data_of(*whole).logits, data_of(*cut).logits));
}

TEST(EditedPictures, PositionsThatAreNumbersMoveByOne) {
  const PicturedModel model("llava");
  const models::ImageSpan& first = model.pictures()[0];
  at::Tensor ids = model.plain().position_ids.clone();
  ids.slice(0, first.first, first.first + first.count) += 3;
  model.expect_at("shift image 0 by 3", ids);
  EXPECT_NE(model.refused("shift image 0 by 0,2,0").find("edits[0].by: expected one number"), std::string::npos);
  EXPECT_NE(model.refused("positions flat").find("count as text already"), std::string::npos);
}

// The loss is that of the words; nobody predicts a cell.
TEST(EditedPictures, CellsHaveNoLoss) {
  const auto model = open_model(pictured_folder("qwen3_vl"));
  const auto input = pictured_input("qwen3_vl");
  const auto edited = model->edited(edits_of({"mask image 0 0:1,0:2"}));
  ASSERT_TRUE(input.ok() && edited.ok());
  const auto effect = models::effect_of_edits(**edited, *input);
  ASSERT_TRUE(effect.ok()) << effect.error().describe();
  const auto whole = model->run(*input, {.all_logits = true});
  ASSERT_TRUE(whole.ok()) << whole.error().describe();
  const TraceData& before = data_of(**whole);
  const at::Tensor shares = before.logits.to(at::kDouble).log_softmax(-1);
  double sum = 0;
  double words = 0;
  for (std::int64_t t = 1; t < before.input_ids.size(0); ++t) {
    const bool cell = std::ranges::any_of(before.images, [t](const auto& picture) { return picture.holds(t); });
    EXPECT_EQ(std::isnan(effect->delta[static_cast<std::size_t>(t - 1)]), cell) << t;
    sum -= cell ? 0 : shares[t - 1][before.input_ids[t].item<std::int64_t>()].item<double>();
    words += cell ? 0 : 1;
  }
  ASSERT_GT(words, 2);
  EXPECT_NEAR(effect->loss, sum / words, 1e-9);
  const auto knocked = models::knock_out(*model, *effect->unedited, {.measure = models::KnockOutMeasure::kLoss});
  ASSERT_TRUE(knocked.ok()) << knocked.error().describe();
  const auto silent = model->edited(edits_of({"head 1.0 zero"}));
  const auto without = models::effect_of_edits(**silent, *input);
  ASSERT_TRUE(without.ok());
  EXPECT_NEAR(knocked->effect.at(1, 0), without->loss_edited - without->loss, 1e-5);
}

TEST(EditedPictures, WhatIsNotThereIsNamed) {
  const PicturedModel model("qwen3_vl");
  EXPECT_EQ(model.refused("mask image 2 0:1,0:1"), "edits[0].image: expected 0 to 1, found 2");
  EXPECT_EQ(model.refused("shift image 7 by 1"), "edits[0].image: expected 0 to 1, found 7");
  const models::ImageSpan& first = model.pictures()[0];
  EXPECT_EQ(model.refused("mask image 0 0:99,0:1"),
            "edits[0].rows: expected a range within 0 to " + std::to_string(first.rows) + ", found 0 to 99");
  EXPECT_NE(model.refused("bias all.all -d/8", ErrorCode::kUnsupported).find("vectors"), std::string::npos);
  const auto text = test::open(pictured_folder("qwen3_vl"), {});
  ASSERT_TRUE(text.ok());
  models::Input words;
  words.ids = {{1, 2, 3}};
  const auto edited = (*text)->edited(edits_of({"mask image 0 0:1,0:1"}));
  ASSERT_TRUE(edited.ok());
  const auto trace = (*edited)->run(words, {});
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message.find("expected a text with pictures"), std::string::npos);
}

}  // namespace
}  // namespace locus::test
