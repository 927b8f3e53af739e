// The authors' TAPE model and its ablations, layer by layer, against values of their published code.
#include <gtest/gtest.h>

#include <cmath>

#include "core/position/list.h"
#include "core/position/tape/tape.h"
#include "tests/support/golden.h"
#include "tests/support/llama.h"

namespace locus {
namespace {

constexpr double kTapeTolerance = 1e-4;

// One golden file: its model's weights, and the encoding with its own.
struct Reference {
  test::Golden golden;
  test::Weights weights;
  std::unique_ptr<position::PositionEncoding> encoding;

  Reference(const std::string& name, std::int64_t layers, Settings options) : golden(name) {
    for (const auto& [array, values] : golden.arrays()) {
      if (array.rfind("w.", 0) == 0) {
        weights[array.substr(2)] = values;
      }
    }
    position::ModelShape shape;
    shape.layers = layers;
    shape.heads = shape.kv_heads = 4;
    shape.head_width = 8;
    shape.width = 32;
    options.set("position_size", std::int64_t{16});
    encoding = *position::make_encoding("tape", options, shape);
    for (const position::Parameter& parameter : encoding->parameters()) {
      const at::Tensor& stored = weights.at("model." + parameter.name + ".weight");
      EXPECT_EQ(stored.sizes(), parameter.value->sizes()) << parameter.name;
      *parameter.value = stored;
    }
  }

  test::LlamaRun run(const position::Positions& positions) const {
    return test::run_llama(weights, *encoding, golden["input_ids"], positions);
  }

  // The (cos, sin) pair of a state, or of anything shaped as one: (2, B, H, T, D).
  at::Tensor channels(const at::Tensor& e) const {
    const position::TapeBlocks& blocks = static_cast<const position::Tape&>(*encoding).blocks();
    return position::tape_channels(e.dim() == 6 ? e : e.unflatten(-1, {blocks.blocks, 2, 2}), blocks);
  }

  void expect_state(const at::Tensor& e, const std::string& name, const std::string& ending = "") const {
    const at::Tensor pair = channels(e);
    EXPECT_CLOSE(pair[0], golden[name + "_cos" + ending], kTapeTolerance) << name;
    EXPECT_CLOSE(pair[1], golden[name + "_sin" + ending], kTapeTolerance) << name;
  }
};

position::Positions sequence(std::int64_t length, double start = 0) {
  return position::Positions::sequence(length, start);
}

TEST(Tape, EveryIntermediateOfTheAuthorsModel) {
  const Reference reference("tape", 2, {});
  const test::LlamaRun run = reference.run(sequence(7));
  reference.expect_state(run.layers[0].entering.table, "E0");
  at::Tensor before = run.layers[0].entering.table;
  for (std::size_t index = 0; index < 2; ++index) {
    const std::string number = std::to_string(index);
    const test::LlamaLayer& layer = run.layers[index];
    reference.expect_state(layer.mean_state, "attn" + number + ".etilde");
    EXPECT_CLOSE(layer.attention_output, reference.golden["attn" + number + ".out"], kTapeTolerance);
    EXPECT_CLOSE(layer.feed_forward, reference.golden["mlp" + number + ".out"], kTapeTolerance);
    EXPECT_CLOSE(layer.hidden, reference.golden["layer" + number + ".hidden"], kTapeTolerance);
    reference.expect_state(layer.leaving.table, "layer" + number + ".E");
  }
  EXPECT_CLOSE(run.logits, reference.golden["logits"], kTapeTolerance);
}

TEST(Tape, TheMixingAloneOfStoredGates) {
  const Reference reference("tape", 2, {});
  const auto& tape = static_cast<const position::Tape&>(*reference.encoding);
  const test::LlamaRun run = reference.run(sequence(7));
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    const std::string number = std::to_string(layer);
    const auto& post = reference.weights.at("model.layers." + number + ".post_attention_linear.weight");
    const at::Tensor entering = run.layers[static_cast<std::size_t>(layer)].entering.table;
    const at::Tensor mean = run.layers[static_cast<std::size_t>(layer)].mean_state.view(entering.sizes());
    const at::Tensor e = entering + mean * post.sum(1).view({4, 1, 1, 1, 1});
    const at::Tensor gates = tape.gates(layer, reference.golden["mlp" + number + ".out"]);
    reference.expect_state(tape.mixed(layer, e, gates), "pe" + number + ".out");
  }
}

TEST(Tape, ShiftedAndHalvedPositions) {
  const Reference reference("tape", 2, {});
  EXPECT_CLOSE(reference.run(sequence(7, 37)).logits, reference.golden["logits_shift37"], kTapeTolerance);
  EXPECT_CLOSE(reference.run(sequence(7, 37)).logits, reference.golden["logits"], kTapeTolerance);
  position::Positions halved = sequence(7);
  halved.ids = halved.ids / 2;
  EXPECT_CLOSE(reference.run(halved).logits, reference.golden["logits_pi2"], kTapeTolerance);
  EXPECT_GT(test::deviation(reference.golden["logits_pi2"], reference.golden["logits"]), 1e-2);
}

void check_ablation(const std::string& file, const Settings& options, bool shift_invariant) {
  const Reference reference(file, 3, options);
  const test::LlamaRun run = reference.run(sequence(11));
  reference.expect_state(run.layers[0].entering.table, "E0");
  for (std::size_t index = 0; index < 3; ++index) {
    const std::string name = "layer" + std::to_string(index);
    reference.expect_state(run.layers[index].leaving.table, name + ".E");
    EXPECT_CLOSE(run.layers[index].hidden, reference.golden[name + ".hidden"], kTapeTolerance);
  }
  EXPECT_CLOSE(run.logits, reference.golden["logits"], kTapeTolerance);
  const test::LlamaRun shifted = reference.run(sequence(11, 37));
  reference.expect_state(shifted.layers[2].leaving.table, "layer2.E", "_shift37");
  EXPECT_CLOSE(shifted.logits, reference.golden["logits_shift37"], kTapeTolerance);
  EXPECT_EQ(test::deviation(shifted.logits, run.logits) < kTapeTolerance, shift_invariant);
}

TEST(Tape, AblationWithoutEquivariance) {
  check_ablation("tape_adawoeq", {{"mixing", std::string("non-equivariant")}}, false);
}

TEST(Tape, AblationVectorEmbedding) {
  check_ablation("tape_adavector", {{"mixing", std::string("vector")}}, false);
}

TEST(Tape, AblationAttentionUpdateOnly) {
  check_ablation("tape_adattention", {{"updates", std::string("attention")}}, true);
}

TEST(Tape, AblationFeedForwardUpdateOnly) {
  check_ablation("tape_adamlp", {{"updates", std::string("feed-forward")}}, true);
}

// The authors' ramp between θ and θ/s: linear in the turns of a pair, where YaRN's is linear in its index.
struct AuthorsYarn {
  at::Tensor frequencies;
  double magnitude;

  AuthorsYarn(std::int64_t width, double factor, double original) : magnitude(1 + 0.1 * std::log(factor)) {
    const at::Tensor theta = position::inverse_frequencies(width, 10000.0);
    const at::Tensor keep = ((theta * (original / (2 * M_PI)) - 1) / 31).clamp(0, 1);
    frequencies = theta * (keep + (1 - keep) / factor);
  }
};

TEST(Tape, TheAuthorsYarnRampDiffersFromYarnAsStored) {
  const Reference reference("tape_adayarn", 3, {});
  const AuthorsYarn ramp(8, 11.0 / 8.0, 8);
  EXPECT_CLOSE(ramp.frequencies, reference.golden["yarn_inv_freq"], 1e-6);
  EXPECT_NEAR(ramp.magnitude, reference.golden.number("yarn_mscale"), 1e-6);
  const AuthorsYarn unit(64, 4, 2048);
  EXPECT_CLOSE(unit.frequencies, reference.golden["unit_inv_freq_d64_s4_L2048"], 1e-6);
  EXPECT_NEAR(unit.magnitude, reference.golden.number("unit_mscale_s4"), 1e-6);
  const Settings yarn{
      {"scaling", std::string("yarn")}, {"factor", 4.0}, {"original_max_position_embeddings", std::int64_t{2048}}};
  const position::RotaryFrequencies ours = position::RopeScaling::from(yarn)->frequencies(64, 10000.0, 8192, 2048);
  EXPECT_GT(((unit.frequencies - ours.inverse).abs() / ours.inverse).max().item<double>(), 0.4);
}

TEST(Tape, TheAuthorsYarnModelFromItsStart) {
  const Reference reference("tape_adayarn", 3, {});
  const auto& tape = static_cast<const position::Tape&>(*reference.encoding);
  const AuthorsYarn ramp(8, 11.0 / 8.0, 8);
  for (const double start : {0.0, 37.0}) {
    position::State state = tape.begin(sequence(11, start), 2);
    const position::Rotation turned = position::rotation(state.positions.ids, ramp.frequencies, ramp.magnitude);
    state.table = position::tape_rope_start(turned, tape.blocks()).to(at::kFloat).expand({2, 4, 11, 4, 2, 2});
    const test::LlamaRun run = test::run_llama(reference.weights, tape, reference.golden["input_ids"], state);
    if (start == 0) {
      reference.expect_state(run.layers[0].entering.table, "E0");
      reference.expect_state(run.layers[2].leaving.table, "layer2.E");
      EXPECT_CLOSE(run.logits, reference.golden["logits"], kTapeTolerance);
    } else {
      reference.expect_state(run.layers[2].leaving.table, "layer2.E", "_shift37");
      EXPECT_CLOSE(run.logits, reference.golden["logits_shift37"], kTapeTolerance);
    }
  }
}

}  // namespace
}  // namespace locus
