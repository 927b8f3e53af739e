// Edits of image models: patches that stand elsewhere, pairs and angles of encodings with an axis or a direction a
// pair.
#include "models/engine/model_info.h"
#include "tests/models/edits/twins.h"

namespace locus::test {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 3;
constexpr std::int64_t kPatch = 8;

transformer::Spec image_spec(const std::string& encoding, const Settings& options = {}) {
  transformer::Spec spec = small_spec(4, encoding, options);
  spec.vocabulary = 5;
  spec.causal = false;
  spec.tied_head = false;
  spec.image.patch = kPatch;
  spec.image.rows = kRows;
  spec.image.columns = kColumns;
  spec.image.registers = 1;
  return spec;
}

Subject image_subject(const Transformer& model) {
  at::manual_seed(4);
  return {model,
          models::shape_info(model),
          {{}, at::randn({1, 3, kRows * kPatch, kColumns * kPatch}), model.grid_positions(kRows, kColumns)},
          kColumns};
}

TEST(EditedImages, PairsStandStillOrAreLeftOut) {
  for (const char* layout : {"interleaved", "half"}) {
    const auto model = model_of(image_spec("rope-axial", {{"layout", std::string(layout)}}));
    expect_pairs(image_subject(*model), 0, 3, std::string(layout) == "interleaved");
    expect_pairs(image_subject(*model), 1, 0, std::string(layout) == "interleaved");
  }
  const auto mixed = model_of(image_spec("rope-mixed"));
  expect_pairs(image_subject(*mixed), 0, 1, true);
  expect_pairs(image_subject(*mixed), 1, 2, true);
}

// Logits of one head whose pair m (channels 2m, 2m + 1) turns by `angles` (T, M): from what is projected, by hand.
at::Tensor turned_logits(const Subject& subject, std::int64_t layer, std::int64_t head, const at::Tensor& angles) {
  const Observation plain = observed(subject, subject.batch);
  const position::Prepared& prepared = plain.layers[static_cast<std::size_t>(layer)].prepared;
  const auto turned = [&](const at::Tensor& projected) {
    const at::Tensor own = projected[0].select(0, head).to(at::kDouble).unflatten(-1, {-1, 2});  // (T, M, 2)
    const at::Tensor a = own.select(-1, 0);
    const at::Tensor b = own.select(-1, 1);
    return at::stack({a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()}, -1).flatten(1);
  };
  return at::matmul(turned(prepared.content_query), turned(prepared.content_key).t()) /
         std::sqrt(static_cast<double>(subject.info.head_width));
}

TEST(EditedImages, AnglesGoAlongTheAxisOfTheirPair) {
  const at::NoGradGuard no_grad;
  for (const bool rows_first : {false, true}) {
    const auto model = model_of(image_spec("rope-axial", {{"first", std::string(rows_first ? "rows" : "columns")}}));
    const Subject subject = image_subject(*model);
    at::Tensor angles = at::zeros({subject.length(), 4}, at::kDouble);
    for (std::int64_t token = 2; token < subject.length(); ++token) {  // class and register tokens do not turn
      const std::int64_t patch = token - 2;
      const std::int64_t whole_rows = patch / kColumns;
      const auto row = static_cast<double>(whole_rows);
      const auto column = static_cast<double>(patch % kColumns);
      for (std::int64_t m = 0; m < 4; ++m) {
        angles[token][m] = 0.3 * static_cast<double>(m + 1) * ((m < 2) == rows_first ? row : column);
      }
    }
    for (const std::int64_t layer : {0, 1}) {
      expect_twin(subject, {edits_of({"angles " + place(layer, 2) + "0.3*(m+1)"}), layer, 2,
                            [&](at::Tensor& own) { own.copy_(turned_logits(subject, layer, 2, angles)); }});
    }
  }
}

TEST(EditedImages, AnglesGoAlongTheTrainedDirectionOfTheirPair) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(image_spec("rope-mixed"));
  const Subject subject = image_subject(*model);
  at::Tensor trained;  // (2, layers, H·M), x first
  for (const transformer::Parameter& parameter : model->parameters()) {
    trained = parameter.name == "position.freqs" ? parameter.value->to(at::kDouble) : trained;
  }
  ASSERT_TRUE(trained.defined());
  for (const std::int64_t layer : {0, 1}) {
    const std::int64_t head = 3 - layer;
    at::Tensor angles = at::zeros({subject.length(), 4}, at::kDouble);
    for (std::int64_t token = 2; token < subject.length(); ++token) {
      const std::int64_t patch = token - 2;
      const std::int64_t whole_rows = patch / kColumns;
      const auto row = static_cast<double>(whole_rows);
      const auto column = static_cast<double>(patch % kColumns);
      for (std::int64_t m = 0; m < 4; ++m) {
        const double x = trained[0][layer][head * 4 + m].item<double>();
        const double y = trained[1][layer][head * 4 + m].item<double>();
        angles[token][m] = 0.2 * static_cast<double>(m + 1) * (x * column + y * row) / std::hypot(x, y);
      }
    }
    expect_twin(subject, {edits_of({"angles " + place(layer, head) + "0.2*(m+1)"}), layer, head,
                          [&](at::Tensor& own) { own.copy_(turned_logits(subject, layer, head, angles)); }});
  }
}

TEST(EditedImages, PatchesStandWhereTheirIndexSays) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(image_spec("rope-axial"));
  const Subject subject = image_subject(*model);
  const auto batch = edited(subject, edits_of({"shift 2:4 by 3", "positions 5:8 start 1 step 2", "shift 7:8 by 4"}));
  ASSERT_TRUE(batch.ok()) << batch.error().describe();
  std::vector<double> places{0, 1, 2 + 3, 3 + 3, 4, 1, 3, 5 + 4, 8, 9, 10, 11};
  for (std::size_t n = 0; n < places.size(); ++n) {
    const at::Tensor id = batch->positions.ids[static_cast<std::int64_t>(n) + 2];
    EXPECT_EQ(id[0].item<double>(), std::floor(places[n] / kColumns)) << n;
    EXPECT_EQ(id[1].item<double>(), places[n] - kColumns * std::floor(places[n] / kColumns)) << n;
  }
  EXPECT_CLOSE(observed(subject, *batch).logits, model->forward(*batch), kTolerance);
  EXPECT_GT(deviation(observed(subject, *batch).logits, observed(subject, subject.batch).logits), 1e-3);
}

}  // namespace
}  // namespace locus::test
