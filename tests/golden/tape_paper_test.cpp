// The paper's own equations: Eq. 6 with its blocks, Eq. 7, Eq. 8 in both parameterisations, and the next layer's
// logits.
#include <gtest/gtest.h>

#include "core/position/list.h"
#include "core/position/tape/tape.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kTapePaperTolerance = 1e-4;
constexpr std::int64_t kLength = 10;

class Equations {
 public:
  Equations(const std::string& weights, const std::string& mixing) : golden_("tape_paper"), weights_(weights) {
    position::ModelShape shape;
    shape.heads = shape.kv_heads = 2;
    shape.head_width = 8;
    shape.width = 16;
    const Settings options{{"form", std::string("paper")},
                           {"mixing", mixing},
                           {"layout", std::string("interleaved")},
                           {"scaled", false},
                           {"position_size", std::int64_t{8}}};
    encoding_ = *position::make_encoding("tape", options, shape);
    const std::map<std::string, std::string> names{
        {"layers.0.pe.w1", weights + ".W1"}, {"layers.0.pe.w2", weights + ".W2"}, {"layers.0.pe.psi.w1", "psi.w1"},
        {"layers.0.pe.psi.b1", "psi.b1"},    {"layers.0.pe.psi.w2", "psi.w2"},    {"layers.0.pe.psi.b2", "psi.b2"}};
    for (const position::Parameter& parameter : encoding_->parameters()) {
      const at::Tensor& stored = golden_[names.at(parameter.name)];
      EXPECT_EQ(stored.sizes(), parameter.value->sizes()) << parameter.name;
      *parameter.value = stored;
    }
  }

  const position::Tape& tape() const { return static_cast<const position::Tape&>(*encoding_); }
  const test::Golden& golden() const { return golden_; }

  // (T, H, M, L, R) as stored <-> (1, H, T, M, L, R).
  static at::Tensor state(const at::Tensor& stored) { return stored.transpose(0, 1).unsqueeze(0); }
  static at::Tensor stored(const at::Tensor& state) { return state[0].transpose(0, 1); }

  at::Tensor by_head(const std::string& weight) const {
    return at::linear(golden_["x"], golden_[weight]).view({1, kLength, 2, 8}).transpose(1, 2);
  }

  position::Prepared prepare(const at::Tensor& e) const {
    return tape().prepare({position::Positions::sequence(kLength), e}, 0, {by_head("wq"), by_head("wk"), {}, {}});
  }

  at::Tensor alpha(const at::Tensor& e) const {
    return tape().score(prepare(e), {0, {0, 2}, {0, kLength}, {0, kLength}}).logits[0];
  }

  at::Tensor features(const at::Tensor& alpha) const {
    const at::Tensor hidden = at::ones({kLength, kLength}, at::kBool).triu(1);
    const at::Tensor weights = at::softmax(alpha.masked_fill(hidden, -INFINITY), -1);
    const at::Tensor mean = at::matmul(weights, by_head("wv")).transpose(1, 2).flatten(2);
    return golden_["x"] + at::linear(mean, golden_["wo"]);
  }

  // The whole layer from the stored start with this ending, every array compared.
  void expect_layer(const std::string& ending) const {
    const at::Tensor e0 = state(golden_["e0" + ending]);
    const position::Prepared prepared = prepare(e0);
    const at::Tensor logits = alpha(e0);
    EXPECT_CLOSE(logits, golden_["alpha" + ending], kTapePaperTolerance);
    const at::Tensor x_tilde = features(logits);
    EXPECT_CLOSE(x_tilde[0], golden_["x_tilde" + ending], kTapePaperTolerance);

    position::State run{position::Positions::sequence(kLength), e0};
    const position::PositionEncoding::Attended attended{
        {}, tape().state_values(run, 0), &prepared, {0, kLength}, x_tilde};
    const at::Tensor e_tilde = tape().contextualised(attended);
    EXPECT_CLOSE(stored(e_tilde), golden_["e_tilde" + ending], kTapePaperTolerance);
    const at::Tensor e_hat = tape().mixed(0, e_tilde, tape().gates(0, x_tilde));
    EXPECT_CLOSE(stored(e_hat), golden_[weights_ + ".e_hat" + ending], kTapePaperTolerance);
    tape().after_attention(run, 0, attended);
    EXPECT_CLOSE(stored(run.table), golden_[weights_ + ".e_out" + ending], kTapePaperTolerance);
    EXPECT_CLOSE(alpha(run.table), golden_[weights_ + ".alpha_next" + ending], kTapePaperTolerance);
  }

 private:
  test::Golden golden_;
  std::string weights_;
  std::unique_ptr<position::PositionEncoding> encoding_;
};

TEST(TapePaper, SharedWeights) {
  Equations("hi", "shared").expect_layer("");
}
TEST(TapePaper, SharedWeightsAfterAShift) {
  Equations("hi", "shared").expect_layer("_shift37");
}
TEST(TapePaper, FullWeights) {
  Equations("ml", "full").expect_layer("");
}
TEST(TapePaper, FullWeightsAfterAShift) {
  Equations("ml", "full").expect_layer("_shift37");
}

TEST(TapePaper, OnlySharedWeightsSurviveTheShift) {
  const test::Golden golden("tape_paper");
  EXPECT_CLOSE(golden["hi.alpha_next_shift37"], golden["hi.alpha_next"], kTapePaperTolerance);
  EXPECT_GT((golden["ml.alpha_next_shift37"] - golden["ml.alpha_next"]).abs().max().item<double>(), 10);
}

TEST(TapePaper, LogitsOfEveryBlock) {
  const Equations equations("hi", "shared");
  const position::Prepared prepared = equations.prepare(Equations::state(equations.golden()["e0"]));
  const position::TapeBlocks& blocks = equations.tape().blocks();
  const at::Tensor query = blocks.split(prepared.query)[0].transpose(1, 2);  // (H, M, T, R)
  const at::Tensor key = blocks.split(prepared.key)[0].transpose(1, 2);
  EXPECT_CLOSE(at::matmul(query, key.transpose(-1, -2)), equations.golden()["alpha_m"], kTapePaperTolerance);
}

TEST(TapePaper, TheGateAlone) {
  const Equations equations("hi", "shared");
  EXPECT_CLOSE(equations.tape().gates(0, equations.golden()["x_tilde"]), equations.golden()["psi"],
               kTapePaperTolerance);
}

// The printed e_i e_jᵀ of Eq. 6 turns the other way than Eq. 2, whose logits the transposed start gives.
TEST(TapePaper, TheStartIsThePrintedOneTransposed) {
  const Equations equations("hi", "shared");
  const position::State start = equations.tape().begin(position::Positions::sequence(kLength), 1);
  EXPECT_CLOSE(Equations::stored(start.table).transpose(-1, -2), equations.golden()["e0"], 1e-6);
  EXPECT_CLOSE(equations.alpha(start.table), equations.golden()["rope_alpha"], kTapePaperTolerance);
  EXPECT_GT(test::deviation(equations.golden()["alpha"], equations.golden()["rope_alpha"]), 1e-2);
}

TEST(TapePaper, RowsOfALongerPreparedSet) {
  const Equations equations("hi", "shared");
  const at::Tensor e0 = Equations::state(equations.golden()["e0"]);
  const position::Prepared prepared = equations.prepare(e0);
  const position::PositionEncoding::Attended attended{{}, e0.flatten(-3), &prepared, {6, 9}, {}};
  EXPECT_CLOSE(Equations::stored(equations.tape().contextualised(attended)),
               equations.golden()["e_tilde"].slice(0, 6, 9), kTapePaperTolerance);
}

}  // namespace
}  // namespace locus
