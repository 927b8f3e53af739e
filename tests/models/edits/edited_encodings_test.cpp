// Edits on every encoding of a sequence, other angles and pairs, and what only a run can refuse.
#include <set>

#include "core/position/list.h"
#include "core/position/path.h"
#include "models/engine/model_info.h"
#include "tests/models/edits/twins.h"
#include "tests/support/encodings.h"
#include "tests/support/rounding.h"

namespace locus::test {
namespace {

using transformer::Spec;

constexpr std::int64_t kTokens = 21;
constexpr double kSameLogits = 2e-4;

Spec spec_of(const std::string& encoding, const Settings& options = {}) {
  Spec spec = small_spec(2, encoding, options);
  spec.vocabulary = 40;
  spec.trained_length = 32;
  return spec;
}

Subject subject_of(const Transformer& model) {
  at::manual_seed(4);
  return {model,
          models::shape_info(model),
          {at::randint(model.spec().vocabulary, {1, kTokens}, at::kLong), {}, model.positions(kTokens)}};
}

TEST(EditedEncodings, EveryEncodingOfASequenceTakesEdits) {
  for (const position::Entry& entry : position::encodings()) {
    const std::string& name = entry.description.name;
    if (!takes_sequences(name)) {
      continue;
    }
    SCOPED_TRACE(name);
    const Spec spec = spec_of(name);
    const auto model = model_of(spec);
    const Subject subject = subject_of(*model);
    expect_twins(subject, 0, 1);
    expect_twins(subject, 1, 3);
    expect_content(subject, 0, 2);
    expect_content(subject, 1, 0);
  }
}

TEST(EditedEncodings, WindowsCapsSinksAndBothWaysTakeEdits) {
  for (const char* kind : {"window", "cap", "sink", "both ways", "chunk"}) {
    SCOPED_TRACE(kind);
    Spec spec = spec_of("rope");
    const std::string name = kind;
    spec.causal = name != "both ways";
    spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
      layer.attention.window = name == "window" ? 6 : 0;
      layer.attention.chunk = name == "chunk" ? 8 : 0;
      layer.attention.soft_cap = name == "cap" ? 0.5 : 0;
      layer.attention.sinks = name == "sink";
    });
    const auto model = model_of(spec);
    const Subject subject = subject_of(*model);
    expect_twins(subject, 0, 1);
    expect_twins(subject, 1, 2);
    expect_content(subject, 1, 0);
  }
}

// `edits` on the first model give the logits of the second, which differs by an option of its encoding.
void expect_same(const Spec& from, const Spec& to, const std::vector<std::string>& edits) {
  SCOPED_TRACE(edits.front());
  const at::NoGradGuard no_grad;
  const auto first = model_of(from);
  const auto second = model_of(to);
  const Subject subject = subject_of(*first);
  const auto batch = edited(subject, edits_of(edits));
  ASSERT_TRUE(batch.ok()) << batch.error().describe();
  const Subject other = subject_of(*second);
  const at::Tensor wanted = observed(other, other.batch).logits;
  EXPECT_CLOSE(observed(subject, *batch).logits, wanted, kSameLogits);
  EXPECT_GT(deviation(observed(subject, subject.batch).logits, wanted), 1e-3);
}

TEST(EditedEncodings, OtherAnglesAreThoseOfAnotherBase) {
  const Settings base{{"base", 50.0}};
  expect_same(spec_of("rope"), spec_of("rope", base), {"angles all.all 50^(-m/M)"});
  expect_same(spec_of("rope", base), spec_of("rope"), {"angles all.all (base*200)^(-2*m/D)"});
  expect_same(spec_of("rope", {{"layout", std::string("interleaved")}}),
              spec_of("rope", {{"layout", std::string("interleaved")}, {"base", 50.0}}), {"angles all.all 50^(-m/M)"});
  expect_same(spec_of("rope", {{"fraction", 0.5}}), spec_of("rope", {{"fraction", 0.5}, {"base", 50.0}}),
              {"angles all.all 50^(-m/M)"});
  expect_same(spec_of("xpos"), spec_of("xpos", base), {"angles all.all 50^(-m/M)"});
  expect_same(spec_of("pope"), spec_of("pope", base), {"angles all.all 50^(-m/M)"});  // δ stays
  expect_same(spec_of("rope"), spec_of("rope", {{"scaling", std::string("linear")}, {"factor", 4.0}}),
              {"angles all.all 10000^(-m/M)/4"});
  const auto by_heads = [](std::vector<double> sections, double theta) {
    return spec_of("rope",
                   {{"sections", std::move(sections)}, {"section_layout", std::string("heads")}, {"base", theta}});
  };
  expect_same(by_heads({1, 1, 0}, 10000), by_heads({1, 1, 0}, 50), {"angles all.all 50^(-m/M)"});
  expect_same(by_heads({1, 0, 0}, 10000), by_heads({1, 0, 0}, 50), {"angles all.0,1 50^(-m/M)"});
  expect_same(by_heads({1, 0, 0}, 10000), spec_of("none"), {"pairs all.all 0:4 still"});
  // No angle at all is no position.
  expect_same(spec_of("rope"), spec_of("none"), {"angles all.all 0"});
  expect_same(spec_of("rope"), spec_of("none"), {"pairs all.all 0:4 still"});
  expect_same(spec_of("rope"), spec_of("none"), {"pairs all.all wavelengths 0.. still"});
  expect_same(spec_of("rope"), spec_of("none"), {"head all.all content"});
}

TEST(EditedEncodings, OneHeadTurnsOtherwiseAlone) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(spec_of("rope"));
  const auto other = model_of(spec_of("rope", {{"base", 50.0}}));
  const Subject subject = subject_of(*model);
  const at::Tensor logits =
      map_of(subject_of(*other), subject.batch, observed(subject_of(*other), subject.batch), 0, Quantity::kLogit);
  for (const std::int64_t head : {0, 3}) {
    expect_twin(subject, {edits_of({"angles " + place(0, head) + "50^(-m/M)"}), 0, head,
                          [&](at::Tensor& own) { own.copy_(logits.select(0, head)); }});
  }
}

TEST(EditedEncodings, PairsStandStillOrAreLeftOut) {
  for (const bool interleaved : {false, true}) {
    const auto model = model_of(spec_of("rope", {{"layout", std::string(interleaved ? "interleaved" : "half")}}));
    expect_pairs(subject_of(*model), 0, 3, interleaved);
    expect_pairs(subject_of(*model), 1, 0, interleaved);
  }
}

// A query that attends to a single key attends to that of its largest edited logit.
TEST(EditedEncodings, HardAttentionTakesEdits) {
  Spec spec = spec_of("cope", {{"hard_attention", true}});
  spec.layers[0].attention.kv_heads = spec.layers[1].attention.kv_heads = 4;
  const auto model = model_of(spec);
  const Subject subject = subject_of(*model);
  for (const std::int64_t layer : {0, 1}) {
    const std::string at = place(layer, 2);
    const auto twin = [&](const std::vector<std::string>& texts, Change logits) {
      Twin made{edits_of(texts), layer, 2, std::move(logits)};
      made.hard = true;
      expect_twin(subject, made);
    };
    twin({"scale " + at + "by -1"}, [](at::Tensor& logits) { logits.neg_(); });
    twin({"edge " + at + "6:21 0:4"}, [](at::Tensor& logits) { logits.slice(0, 6).slice(1, 0, 4).fill_(kNothing); });
    twin({"edge " + at + "6:7 0:21"}, [](at::Tensor& logits) { logits.slice(0, 6, 7).fill_(kNothing); });
    const at::Tensor ids = subject.batch.positions.ids;
    twin({"bias " + at + "-4*abs(d-3)", "scale " + at + "by 0.5"},
         [&](at::Tensor& logits) { logits.mul_(0.5).sub_(4 * (ids.unsqueeze(1) - ids - 3).abs()); });
    twin({"head " + at + "first"}, [](at::Tensor& logits) {
      logits.fill_(kNothing);
      logits.select(1, 0).zero_();
    });
    expect_twin(subject, {edits_of({"head " + at + "zero"}), layer, 2, {}, {}, [](at::Tensor& w) { w.zero_(); }});
    const auto refused = edited(subject, edits_of({"head " + at + "uniform"}));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  }
}

TEST(EditedEncodings, AStatesPairsKeepTheLengthTheTextGaveThem) {
  const at::NoGradGuard no_grad;
  Spec spec = spec_of("tape");
  spec.layers[0].attention.kv_heads = spec.layers[1].attention.kv_heads = 4;
  const auto model = model_of(spec);
  const Subject subject = subject_of(*model);
  const Observation plain = observed(subject, subject.batch);
  const transformer::LayerRecord& record = plain.layers[1];
  const at::Tensor blocks = record.state.table[0][2].to(at::kDouble);       // (T, M, 2, 2)
  const at::Tensor lengths = blocks.select(-1, 0).square().sum(-1).sqrt();  // (T, M)
  ASSERT_GT(deviation(lengths, at::ones_like(lengths)), 1e-3) << "the text changes nothing";
  const at::Tensor scale = at::cat({lengths, lengths}, -1);
  const auto of_head = [&](const at::Tensor& x) { return x[0][2].to(at::kDouble) * scale; };
  const at::Tensor logits =
      at::matmul(of_head(record.prepared.content_query), of_head(record.prepared.content_key).t()) / std::sqrt(8.0);
  const at::Tensor hidden = subject.model.block(1).mask().hidden({0, kTokens}, {0, kTokens}, at::kCPU);
  const at::Tensor wanted = logits.masked_fill(hidden, std::numeric_limits<double>::quiet_NaN());
  expect_twin(subject, {edits_of({"pairs 1.2 0:4 still"}), 1, 2, [&](at::Tensor& own) { own.copy_(wanted); }});
}

TEST(EditedEncodings, TokensStandWhereTheyAreMoved) {
  const at::NoGradGuard no_grad;
  for (const char* name : {"rope", "alibi", "t5", "tapa", "sinusoidal", "cope", "fire", "seqpe"}) {
    SCOPED_TRACE(name);
    Spec spec = spec_of(name);
    spec.layers[0].attention.kv_heads = spec.layers[1].attention.kv_heads = 4;
    const auto model = model_of(spec);
    const Subject subject = subject_of(*model);
    const auto batch =
        edited(subject, edits_of({"shift 8:21 by 5", "positions 2:5 start 12 step 3", "shift 4:9 by 2"}));
    ASSERT_TRUE(batch.ok()) << batch.error().describe();
    EXPECT_EQ(batch->edits, nullptr);
    std::vector<double> ids{0, 1, 12, 15, 18 + 2, 5 + 2, 6 + 2, 7 + 2, 8 + 5 + 2};
    for (double id = 9; id < kTokens; ++id) {
      ids.push_back(id + 5);
    }
    EXPECT_TRUE(at::equal(batch->positions.ids, at::tensor(ids, at::kDouble))) << batch->positions.ids;
    EXPECT_CLOSE(observed(subject, *batch).logits, model->forward(*batch), kTolerance);
    const double moved = deviation(observed(subject, *batch).logits, observed(subject, subject.batch).logits);
    if (std::string(name) == "cope") {
      EXPECT_EQ(moved, 0) << "CoPE counts, whatever the ids";
    } else {
      EXPECT_GT(moved, 1e-3);
    }
  }
}

// A typed bias counts from the query back to the key, between tokens that stand between two positions too.
TEST(EditedEncodings, ATypedBiasTakesDistancesThatAreNotWhole) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(spec_of("rope"));
  const Subject subject = subject_of(*model);
  const auto logits = [&](const std::vector<std::string>& edits) {
    const auto batch = edited(subject, edits_of(edits));
    EXPECT_TRUE(batch.ok());
    return map_of(subject, *batch, observed(subject, *batch), 0, Quantity::kLogit);
  };
  for (const auto& [by, tokens] : {std::pair("0.5", 0.5), std::pair("3", 3.0)}) {
    const std::string moved = std::string("shift 8:21 by ") + by;
    at::Tensor ids = at::arange(kTokens, at::kDouble);
    ids.slice(0, 8).add_(tokens);
    const at::Tensor distance = ids.unsqueeze(1) - ids;
    const at::Tensor plain = logits({moved}).nan_to_num(0);
    const at::Tensor change = logits({moved, "bias 0.1 i/4-d/8"}).nan_to_num(0) - plain;
    const at::Tensor wanted = at::tril(ids.unsqueeze(1) / 4 - distance / 8);
    // The edited layer scores all its heads tile by tile, the other in one pass: the same sums in another order.
    const double rounding = sums_differ(8, plain.abs().max().item<double>());
    EXPECT_LE((change[1] - wanted).abs().max().item<double>(), rounding + ulp(wanted.abs().max().item<double>())) << by;
    EXPECT_LE(change[0].abs().max().item<double>(), rounding) << by;
  }
}

// Scores beyond ±1e12 are held there, and said of the lowest layer where a query sees one: never NaN, and every row
// still sums to 1.
TEST(EditedEncodings, ScoresThatOverflowAreHeldAndSaid) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(spec_of("rope"));
  const Subject subject = subject_of(*model);
  struct Case {
    std::vector<std::string> edits;
    std::int64_t layer;  // −1: none
  };
  const std::vector<Case> cases{{{"scale 0.0 by 1e308"}, 0},
                                {{"scale 1.2 by 1e300", "scale 1.2 by 1e300"}, 1},
                                {{"bias 1.1 1e300*d"}, 1},
                                {{"bias 1.1 -1e300*(d+1)"}, 1},
                                {{"bias 0.1 exp(40*d)", "bias 1.1 exp(30*d)"}, 0},
                                {{"bias 0.1 exp(d)"}, -1},
                                {{"bias 0.1 d < 4 ? 0 : 1/0"}, -1},
                                {{"bias 0.1 exp(-40*d)"}, -1},  // of keys that no query sees
                                {{"scale 0.0 by 1e6"}, -1}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.edits.front());
    const auto batch = edited(subject, edits_of(each.edits));
    ASSERT_TRUE(batch.ok()) << batch.error().describe();
    const Observation seen = observed(subject, *batch);
    EXPECT_TRUE(at::isfinite(seen.logits).all().item<bool>());
    std::vector<std::string> warnings;
    models::add_warnings(edits_of(each.edits), subject.info, batch->edits.get(), warnings);
    ASSERT_EQ(warnings.size(), each.layer < 0 ? 0U : 1U);
    if (each.layer >= 0) {
      EXPECT_EQ(warnings[0].find("edits: layer " + std::to_string(each.layer) + ": scores overflow"), 0U)
          << warnings[0];
    }
    for (const std::int64_t layer : {0, 1}) {
      const at::Tensor sums = map_of(subject, *batch, seen, layer, Quantity::kWeight).sum(-1);
      EXPECT_LE((sums - 1).abs().max().item<double>(), 1e-4) << layer << sums;
    }
  }
}

// The larger of two scores has all the weight, however far apart a scale puts them.
TEST(EditedEncodings, ALargeScaleLooksAtTheLargestScore) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(spec_of("rope"));
  const Subject subject = subject_of(*model);
  const at::Tensor logits = map_of(subject, subject.batch, observed(subject, subject.batch), 0, Quantity::kLogit)[2];
  const auto batch = edited(subject, edits_of({"scale 0.2 by 1e8"}));
  ASSERT_TRUE(batch.ok());
  const at::Tensor weights = map_of(subject, *batch, observed(subject, *batch), 0, Quantity::kWeight)[2];
  EXPECT_LE((weights - hardened(logits)).abs().max().item<double>(), 1e-6);
}

// A `head` edit decides over all others of its head: the map and what is computed are as if it stood alone.
TEST(EditedEncodings, AHeadEditDecidesOverTheOthersOfItsHead) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(spec_of("rope"));
  const Subject subject = subject_of(*model);
  const auto run = [&](const std::vector<std::string>& edits) {
    const auto batch = edited(subject, edits_of(edits));
    EXPECT_TRUE(batch.ok());
    const Observation seen = observed(subject, *batch);
    return std::pair{seen.logits, map_of(subject, *batch, seen, 1, Quantity::kWeight)};
  };
  const std::vector<std::string> others{"bias 1.0 d", "scale 1.0 by 5", "edge 1.0 4:6 0:3", "pairs 1.0 0:2 still",
                                        "angles 1.0 50^(-m/M)"};
  for (const char* to : {"zero", "uniform", "first", "previous", "self", "content"}) {
    SCOPED_TRACE(to);
    const std::string head = std::string("head 1.0 ") + to;
    std::vector<std::string> all = others;
    all.insert(all.begin() + 2, head);
    const auto [logits, map] = run({head});
    const auto [all_logits, all_map] = run(all);
    EXPECT_CLOSE(all_logits, logits, kTolerance);
    EXPECT_CLOSE(all_map, map, kWeightTolerance);
    std::vector<std::string> warnings;
    models::add_warnings(edits_of(all), subject.info, nullptr, warnings);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].find("edits: \"" + head + "\" decides over layer 1, head 0: \"bias 1.0 d\", "), 0U)
        << warnings[0];
    EXPECT_NE(warnings[0].find(" have no effect there"), std::string::npos) << warnings[0];
  }
  const auto warned = [&](const std::vector<std::string>& edits) {
    std::vector<std::string> warnings;
    models::add_warnings(edits_of(edits), subject.info, nullptr, warnings);
    return warnings.size();
  };
  EXPECT_EQ(warned({"head 1.0 mean", "bias 1.0 d"}), 0U) << "a mean is one of what the others make";
  EXPECT_EQ(warned({"head 1.0 zero", "head 1.0 mean"}), 1U) << "the last one holds";
  EXPECT_EQ(warned({"head 1.0 zero", "bias 1.1 d", "scale 0.0 by 2", "shift 1:2 by 3"}), 0U);
  EXPECT_EQ(warned({"head all.0 zero", "bias 1.all d"}), 1U);
}

// Logits of a head under other gates of the tokens: content + Σ of the gates' logarithms after the key.
TEST(EditedEncodings, ForgetGatesAreThoseGiven) {
  const at::NoGradGuard no_grad;
  const auto model = model_of(spec_of("fox"));
  const Subject subject = subject_of(*model);
  const Observation plain = observed(subject, subject.batch);
  constexpr std::int64_t kHead = 2;
  for (const std::int64_t layer : {0, 1}) {
    const at::Tensor own =
        plain.layers[static_cast<std::size_t>(layer)].prepared.gate_query[0].select(0, kHead).squeeze(-1).to(
            at::kDouble);
    const at::Tensor content = map_of(subject, subject.batch, plain, layer, Quantity::kContent).select(0, kHead);
    const auto with = [&](const at::Tensor& logs) {
      return [&, logs](at::Tensor& logits) {
        for (std::int64_t i = 0; i < kTokens; ++i) {
          double sum = 0;
          for (std::int64_t j = i; j >= 0; --j) {
            logits[i][j] = content[i][j].item<double>() + sum;
            sum += logs[j].item<double>();
          }
        }
      };
    };
    const std::string at = "gates " + place(layer, kHead);
    expect_twin(subject, {edits_of({at + "1"}), layer, kHead, with(at::zeros_like(own))});
    expect_twin(subject, {edits_of({at + "mean"}), layer, kHead, with(own.mean().expand(kTokens))});
    at::Tensor some = own.clone();
    some.slice(0, 4, 7).fill_(std::log(0.25));
    some[5] = own.mean();
    expect_twin(subject, {edits_of({at + "tokens 4:7 0.25", at + "tokens 5:6 mean"}), layer, kHead, with(some)});
    at::Tensor closed = own.clone();
    closed[9] = kNothing;
    expect_twin(subject, {edits_of({at + "tokens 9:10 0"}), layer, kHead, with(closed)});
    expect_content(subject, layer, kHead);
  }
  // What the text shows of the gates follows them.
  const auto lives = [&](const std::vector<std::string>& texts) {
    const auto batch = edited(subject, edits_of(texts));
    const auto& encoding = subject.model.encoding_of(*batch, 1);
    return encoding->log_gates(observed(subject, *batch).layers[1].prepared)[0].squeeze(-1).to(at::kDouble);
  };
  at::Tensor expected = plain.layers[1].prepared.gate_query[0].squeeze(-1).to(at::kDouble);
  EXPECT_CLOSE(lives({"gates 0.all 1", "gates 1.0 0.5"}).slice(0, 0, 1), at::full({1, kTokens}, std::log(0.5)), 1e-6);
  EXPECT_CLOSE(lives({"gates 1.0 0.5"}).slice(0, 1), expected.slice(0, 1), 1e-6);
}

// Strengths that are given, by the product of all changes between key and query: k_jᵀ H_{j+1} … H_i q_i.
TEST(EditedEncodings, StrengthsAreThoseGiven) {
  const at::NoGradGuard no_grad;
  for (const bool gates : {false, true}) {
    const auto model = model_of(spec_of("path", {{"rank", std::int64_t{3}}, {"gates", gates}}));
    const Subject subject = subject_of(*model);
    const Observation plain = observed(subject, subject.batch);
    constexpr std::int64_t kHead = 2;
    for (const std::int64_t layer : {0, 1}) {
      const position::Prepared& own = plain.layers[static_cast<std::size_t>(layer)].prepared;
      const auto& path = dynamic_cast<const position::Path&>(*subject.model.layer_encoding(layer));
      const position::Path::Reflections turns = path.reflections(own, layer, {kHead, kHead + 1}, {0, kTokens});
      const at::Tensor directions = turns.direction[0][0].to(at::kDouble);  // (T, D)
      const at::Tensor strengths = turns.strength[0][0].to(at::kDouble);    // (T)
      const at::Tensor query = own.query[0].select(0, kHead).to(at::kDouble);
      const at::Tensor key = own.key[0].select(0, kHead / 2).to(at::kDouble);
      const at::Tensor logs = gates ? own.gate_query[0].select(0, kHead).squeeze(-1).to(at::kDouble)  // with the scale
                                    : at::zeros({kTokens}, at::kDouble);
      const auto with = [&](const at::Tensor& betas) {
        return [&, betas](at::Tensor& logits) {
          for (std::int64_t j = 0; j < kTokens; ++j) {
            at::Tensor moved = key[j].clone();
            double lost = 0;
            for (std::int64_t i = j; i < kTokens; ++i) {
              if (i > j) {
                moved = moved - betas[i] * at::dot(moved, directions[i]) * directions[i];
                lost += logs[i].item<double>();
              }
              logits[i][j] = at::dot(moved, query[i]).item<double>() / std::sqrt(8.0) + lost;
            }
          }
        };
      };
      const std::string at = "beta " + place(layer, kHead);
      expect_twin(subject, {edits_of({at + "0"}), layer, kHead, with(at::zeros_like(strengths))});
      expect_twin(subject, {edits_of({at + "1"}), layer, kHead, with(at::ones_like(strengths))});
      expect_twin(subject, {edits_of({at + "2"}), layer, kHead, with(at::full_like(strengths, 2))});
      expect_twin(subject, {edits_of({at + "mean"}), layer, kHead, with(strengths.mean().expand(kTokens))});
      at::Tensor some = strengths.clone();
      some.slice(0, 4, 7).fill_(0.25);
      some[5] = strengths.mean();
      const Edits edits = edits_of({at + "tokens 4:7 0.25", at + "tokens 5:6 mean"});
      expect_twin(subject, {edits, layer, kHead, with(some)});
      expect_content(subject, layer, kHead);
      // What the views show of the changes follows them, and no other head, nor the key head's other query head, does.
      const auto batch = edited(subject, edits);
      const Observation seen = observed(subject, *batch);
      const position::Prepared& now = seen.layers[static_cast<std::size_t>(layer)].prepared;
      const position::Transforming& shown = *subject.model.encoding_of(*batch, layer)->transforming();
      EXPECT_CLOSE(shown.strengths(now)[0][kHead].to(at::kDouble), some, 1e-6);
      EXPECT_CLOSE(shown.strengths(now)[0][kHead + 1], path.strengths(own)[0][kHead + 1], 1e-6);
      const position::TransformSteps steps = shown.steps(now, layer, kHead, 9, 3, {});
      ASSERT_EQ(steps.strength.size(), 7U);
      for (std::size_t n = 1; n < steps.strength.size(); ++n) {
        EXPECT_NEAR(steps.strength[n], some[3 + static_cast<std::int64_t>(n)].item<double>(), 1e-6);
      }
      // A token's share of the logit is what is missing once its strength is 0.
      const auto without = edited(subject, edits_of({at + "tokens 6:7 0"}));
      const position::TransformSteps all = path.steps(own, layer, kHead, 9, 3);
      const position::TransformSteps less =
          subject.model.encoding_of(*without, layer)->transforming()->steps(own, layer, kHead, 9, 3);
      EXPECT_NEAR(less.logit, all.logit - all.change[3], 1e-6);
      at::Tensor logits = at::zeros({kTokens, kTokens}, at::kDouble);
      with(some)(logits);
      EXPECT_NEAR(steps.logit + logs.slice(0, 4, 10).sum().item<double>(), logits[9][3].item<double>(), 1e-5);
      const position::Tile tile{layer, {kHead, kHead + 1}, {0, kTokens}, {0, kTokens}};
      EXPECT_GT(deviation(shown.deviation(now, tile).tril(), path.deviation(now, tile).tril()), 1e-3);
      EXPECT_NEAR(shown.deviation(now, tile)[0][0][9][3].item<double>(), steps.deviation.back(), 1e-4);
      EXPECT_NEAR(shown.carried(now, tile)[0][0][9][3].item<double>(), steps.carried.back(), 1e-4);
    }
  }
}

// Directions that are the head's mean: by the product of all changes, and, where all tokens share one direction, by
// P_ij = I − (1 − Π_{j<s≤i} (1 − β_s|w|²)) w wᵀ/|w|².
TEST(EditedEncodings, DirectionsAreTheirMean) {
  const at::NoGradGuard no_grad;
  for (const bool gates : {false, true}) {
    const auto model = model_of(spec_of("path", {{"rank", std::int64_t{3}}, {"gates", gates}}));
    const Subject subject = subject_of(*model);
    const Observation plain = observed(subject, subject.batch);
    constexpr std::int64_t kHead = 1;
    for (const std::int64_t layer : {0, 1}) {
      const position::Prepared& own = plain.layers[static_cast<std::size_t>(layer)].prepared;
      const auto& path = dynamic_cast<const position::Path&>(*subject.model.layer_encoding(layer));
      const position::Path::Reflections turns = path.reflections(own, layer, {kHead, kHead + 1}, {0, kTokens});
      const at::Tensor directions = turns.direction[0][0].to(at::kDouble);  // (T, D)
      const at::Tensor strengths = turns.strength[0][0].to(at::kDouble);    // (T)
      const at::Tensor sum = directions.sum(0) / kTokens;
      const at::Tensor mean = sum / (sum.square().sum() + 1e-6).sqrt();
      const double square = mean.square().sum().item<double>();
      ASSERT_GT(deviation(directions, mean.expand_as(directions)), 0.1);  // the model's own directions differ
      const at::Tensor query = own.query[0].select(0, kHead).to(at::kDouble);
      const at::Tensor key = own.key[0].select(0, kHead / 2).to(at::kDouble);
      const at::Tensor logs = gates ? own.gate_query[0].select(0, kHead).squeeze(-1).to(at::kDouble)  // with the scale
                                    : at::zeros({kTokens}, at::kDouble);
      const auto with = [&](const at::Tensor& ways, const at::Tensor& betas) {
        return [&, ways, betas](at::Tensor& logits) {
          for (std::int64_t j = 0; j < kTokens; ++j) {
            at::Tensor moved = key[j].clone();
            double lost = 0;
            for (std::int64_t i = j; i < kTokens; ++i) {
              if (i > j) {
                moved = moved - betas[i] * at::dot(moved, ways[i]) * ways[i];
                lost += logs[i].item<double>();
              }
              logits[i][j] = at::dot(moved, query[i]).item<double>() / std::sqrt(8.0) + lost;
            }
          }
        };
      };
      const auto along_one = [&](at::Tensor& logits) {
        for (std::int64_t j = 0; j < kTokens; ++j) {
          double kept = 1;
          double lost = 0;
          for (std::int64_t i = j; i < kTokens; ++i) {
            kept *= i > j ? 1 - strengths[i].item<double>() * square : 1;
            lost += i > j ? logs[i].item<double>() : 0;
            const double along = (at::dot(query[i], mean) * at::dot(key[j], mean)).item<double>() / square;
            const double content = at::dot(query[i], key[j]).item<double>();
            logits[i][j] = (content - (1 - kept) * along) / std::sqrt(8.0) + lost;
          }
        }
      };
      const std::string at = "direction " + place(layer, kHead);
      expect_twin(subject, {edits_of({at + "mean"}), layer, kHead, along_one});
      at::Tensor some = directions.clone();
      some.slice(0, 4, 7).copy_(mean.expand({3, 8}));
      some[9] = mean;
      at::Tensor betas = strengths.clone();
      betas.slice(0, 6, 8).fill_(1.5);
      const Edits edits =
          edits_of({at + "tokens 4:7 mean", at + "tokens 9:10 mean", "beta " + place(layer, kHead) + "tokens 6:8 1.5"});
      expect_twin(subject, {edits, layer, kHead, with(some, betas)});
      expect_content(subject, layer, kHead);
      // What the views show of the changes follows them, in this head alone: the key head's other query head keeps its own.
      const auto batch = edited(subject, edits_of({at + "mean"}));
      ASSERT_TRUE(batch.ok()) << batch.error().describe();
      const Observation seen = observed(subject, *batch);
      const position::Prepared& now = seen.layers[static_cast<std::size_t>(layer)].prepared;
      const position::Transforming& shown = *subject.model.encoding_of(*batch, layer)->transforming();
      const position::TransformSteps steps = shown.steps(now, layer, kHead, 9, 3, {});
      at::Tensor logits = at::zeros({kTokens, kTokens}, at::kDouble);
      along_one(logits);
      EXPECT_NEAR(steps.logit + logs.slice(0, 4, 10).sum().item<double>(), logits[9][3].item<double>(), 1e-5);
      const position::Tile tile{layer, {kHead - 1, kHead + 1}, {0, kTokens}, {0, kTokens}};
      const at::Tensor kept = (1 - strengths.slice(0, 4, 10) * square).prod();
      EXPECT_NEAR(shown.deviation(now, tile)[0][1][9][3].item<double>(), std::abs(1 - kept.item<double>()), 1e-4);
      EXPECT_NEAR(shown.carried(now, tile)[0][1][9][3].item<double>(), steps.carried.back(), 1e-4);
      EXPECT_CLOSE(shown.deviation(now, tile).select(1, 0).tril(), path.deviation(own, tile).select(1, 0).tril(), 1e-6);
    }
  }
}

// β of 0 or 1 in all heads is a checkpoint whose strength does not depend on the text: u = 0, and b = −∞ or 0.
TEST(EditedEncodings, GivenStrengthsAreThoseOfAnotherCheckpoint) {
  const at::NoGradGuard no_grad;
  const Spec spec = spec_of("path", {{"rank", std::int64_t{3}}});
  const auto model = model_of(spec);
  const Subject subject = subject_of(*model);
  for (const auto& [text, bias] : {std::pair("beta all.all 0", -80.0), std::pair("beta all.all 1", 0.0)}) {
    SCOPED_TRACE(text);
    const auto other = model_of(spec);
    for (const transformer::Parameter& parameter : other->parameters()) {
      if (parameter.name.ends_with(".strength")) {
        parameter.value->zero_();
      } else if (parameter.name.ends_with(".strength_bias")) {
        parameter.value->fill_(bias);
      }
    }
    const Subject forced = subject_of(*other);
    const auto batch = edited(subject, edits_of({text}));
    ASSERT_TRUE(batch.ok()) << batch.error().describe();
    const at::Tensor wanted = observed(forced, forced.batch).logits;
    EXPECT_CLOSE(observed(subject, *batch).logits, wanted, kSameLogits);
    EXPECT_GT(deviation(observed(subject, subject.batch).logits, wanted), 1e-3);
  }
  // Without any change of keys nothing is left of the encoding.
  const auto none = edited(subject, edits_of({"beta all.all 0"}));
  const auto content = edited(subject, edits_of({"head all.all content"}));
  ASSERT_TRUE(none.ok() && content.ok());
  EXPECT_CLOSE(observed(subject, *none).logits, observed(subject, *content).logits, kSameLogits);
}

// Learned positions that are moved by hand: the logits are made of the run's queries and keys before their rotation.
TEST(EditedEncodings, PlacesAreThoseGiven) {
  const at::NoGradGuard no_grad;
  for (const std::int64_t key_heads : {4, 2}) {
    Spec spec = spec_of("repo");
    spec.each([&](std::int64_t, transformer::LayerSpec& layer) { layer.attention.kv_heads = key_heads; });
    const auto model = model_of(spec);
    const Subject subject = subject_of(*model);
    const Observation plain = observed(subject, subject.batch);
    constexpr std::int64_t kHead = 2;
    for (const std::int64_t layer : {0, 1}) {
      const position::Prepared& own = plain.layers[static_cast<std::size_t>(layer)].prepared;
      const at::Tensor z = own.gate_query[0].select(0, kHead).squeeze(-1).to(at::kDouble);
      const at::Tensor query = own.content_query[0].select(0, kHead).to(at::kDouble);
      const at::Tensor key = own.content_key[0].select(0, kHead / (4 / key_heads)).to(at::kDouble);
      const std::int64_t pairs = query.size(1) / 2;
      const auto with = [&](const at::Tensor& places) {
        return [&, places](at::Tensor& logits) {
          for (std::int64_t i = 0; i < kTokens; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) {
              double sum = 0;
              for (std::int64_t m = 0; m < pairs; ++m) {
                const double angle = (places[i].item<double>() - places[j].item<double>()) *
                                     std::pow(10000.0, -static_cast<double>(m) / static_cast<double>(pairs));
                const double qa = query[i][m].item<double>();
                const double qb = query[i][m + pairs].item<double>();
                const double ka = key[j][m].item<double>();
                const double kb = key[j][m + pairs].item<double>();
                sum += std::cos(angle) * (qa * ka + qb * kb) - std::sin(angle) * (qb * ka - qa * kb);
              }
              logits[i][j] = sum / std::sqrt(2.0 * static_cast<double>(pairs));
            }
          }
        };
      };
      const std::string at = "place " + place(layer, kHead);
      const at::Tensor index = at::arange(kTokens, at::kDouble);
      expect_twin(subject, {edits_of({at + "index"}), layer, kHead, with(index)});
      expect_twin(subject, {edits_of({at + "mix 0.25"}), layer, kHead, with(0.75 * z + 0.25 * index)});
      expect_twin(subject, {edits_of({at + "sorted"}), layer, kHead, with(std::get<0>(z.sort(0)))});
      at::Tensor some = z.clone();
      some.slice(0, 4, 7).fill_(3.5);
      some.slice(0, 6, 9).sub_(2);
      some.slice(0, 12, 14).copy_(z.slice(0, 12, 14).round());
      expect_twin(subject, {edits_of({at + "tokens 4:7 3.5", at + "tokens 6:9 by -2", at + "tokens 12:14 round"}),
                            layer, kHead, with(some)});
      // What the text shows of the places follows them, and no other head moves.
      const auto batch = edited(subject, edits_of({at + "tokens 4:7 3.5", at + "tokens 6:9 by -2"}));
      const auto& encoding = subject.model.encoding_of(*batch, layer);
      const at::Tensor shown =
          encoding->learned_positions(observed(subject, *batch).layers[static_cast<std::size_t>(layer)].prepared)[0]
              .squeeze(-1)
              .to(at::kDouble);
      EXPECT_CLOSE(shown.select(0, kHead).slice(0, 0, 9), some.slice(0, 0, 9), 1e-6);
      EXPECT_CLOSE(shown.select(0, 0), own.gate_query[0].select(0, 0).squeeze(-1).to(at::kDouble), 1e-6);
    }
  }
}

// Gates of given keys, for all queries. z_i[p] is read off where all gates are 1 (p = i − j + 1) and where all are 0.
TEST(EditedEncodings, ContextualGatesAreThoseGiven) {
  const at::NoGradGuard no_grad;
  for (const Settings& options : {Settings{}, {{"gates", std::string("sep-key")}}, {{"gates", std::string("value")}}}) {
    const auto model = model_of(spec_of("cope", options));
    const Subject subject = subject_of(*model);
    constexpr std::int64_t kHead = 1;
    for (const std::int64_t layer : {0, 1}) {
      const Observation plain = observed(subject, subject.batch);
      const at::Tensor content = map_of(subject, subject.batch, plain, layer, Quantity::kContent).select(0, kHead);
      const std::string at = "gates " + place(layer, kHead);
      const auto part_of = [&](const std::string& to) {
        const auto batch = edited(subject, edits_of({at + to}));
        const Observation seen = observed(subject, *batch);
        return map_of(subject, *batch, seen, layer, Quantity::kLogit).select(0, kHead) -
               map_of(subject, *batch, seen, layer, Quantity::kContent).select(0, kHead);
      };
      const at::Tensor open = part_of("1");
      const at::Tensor shut = part_of("0");
      const auto z = [&](std::int64_t i, std::int64_t p) {
        return p == 0 ? shut[i][0].item<double>() : open[i][i + 1 - p].item<double>();
      };
      at::Tensor gates = map_of(subject, subject.batch, plain, layer, Quantity::kGate).select(0, kHead).clone();
      const auto twin = [&](at::Tensor& logits) {
        for (std::int64_t i = 0; i < kTokens; ++i) {
          double p = 0;
          for (std::int64_t j = i; j >= 0; --j) {
            p += gates[i][j].item<double>();
            const auto low = static_cast<std::int64_t>(std::floor(p));
            const double rest = p - std::floor(p);
            logits[i][j] = content[i][j].item<double>() + (1 - rest) * z(i, low) +
                           (rest > 0 ? rest * z(i, std::min(low + 1, i + 1)) : 0.0);
          }
        }
      };
      at::Tensor same = map_of(subject, subject.batch, plain, layer, Quantity::kLogit).select(0, kHead).clone();
      twin(same);
      EXPECT_CLOSE(same, map_of(subject, subject.batch, plain, layer, Quantity::kLogit).select(0, kHead), 1e-4);
      gates.slice(1, 3, 8).fill_(0);
      gates.slice(1, 12, 13).fill_(0.75);
      expect_twin(subject, {edits_of({at + "tokens 3:8 0", at + "tokens 12:13 0.75"}), layer, kHead, twin});
    }
  }
}

TEST(EditedEncodings, WhatAnEncodingCannotTakeIsRefused) {
  const auto refused = [](const Spec& spec, const std::string& text, ErrorCode code) {
    const auto model = model_of(spec);
    const auto batch = edited(subject_of(*model), edits_of({text}));
    EXPECT_FALSE(batch.ok()) << text;
    EXPECT_TRUE(batch.ok() || batch.error().code == code) << text;
    return batch.ok() ? "" : batch.error().describe();
  };
  EXPECT_EQ(refused(spec_of("alibi"), "pairs 0.0 0:1 still", ErrorCode::kUnsupported),
            "edits[0].do: encoding alibi turns no pairs of channels: it changes the logit by the distance");
  EXPECT_EQ(refused(spec_of("learned"), "angles 0.0 1", ErrorCode::kUnsupported).find("edits[0].formula: "), 0U);
  EXPECT_EQ(
      refused(spec_of("rope", {{"sections", std::vector<double>{0, 0, 1}}, {"section_layout", std::string("heads")}}),
              "angles 0.1,2 1", ErrorCode::kUnsupported),
      "edits[0].head: head 2 of encoding rope does not turn: its angles have no direction");
  EXPECT_EQ(refused(spec_of("tapa"), "pairs 0.0 0:1 drop", ErrorCode::kUnsupported).find("edits[0].do: "), 0U);
  EXPECT_EQ(refused(spec_of("rope"), "pairs 0.0 0:5 drop", ErrorCode::kBadInput),
            "edits[0].pairs: expected a range within 0 to 4, found 0 to 5");
  EXPECT_EQ(refused(spec_of("rope"), "head 0.0 wavelengths 7..50 off", ErrorCode::kBadInput),
            "edits[0].wavelengths: expected wavelengths of layer 0, which are 6.283 to 6283, found 7..50");
  EXPECT_EQ(refused(spec_of("alibi"), "head 0.0 wavelengths 7..50 off", ErrorCode::kUnsupported).find("edits[0].do: "),
            0U);
  EXPECT_EQ(refused(spec_of("rope"), "angles 0.0 1/m", ErrorCode::kBadInput).find("edits[0].formula: expected angles"),
            0U);
  EXPECT_EQ(refused(spec_of("learned"), "shift 20:21 by 12", ErrorCode::kBadInput),
            "edits[0].by: encoding learned: expected positions 0 … 31, found 32");
  EXPECT_EQ(refused(spec_of("learned"), "positions 0:2 start 0.5", ErrorCode::kBadInput),
            "edits[0].start: encoding learned: expected whole positions, which its table has, found 0.5");
  EXPECT_EQ(refused(spec_of("rope"), "gates 0.0 1", ErrorCode::kUnsupported),
            "edits[0].to: expected a checkpoint with gates (CoPE, FoX), found none in this one");
  EXPECT_EQ(refused(spec_of("cope"), "gates 0.0 mean", ErrorCode::kUnsupported),
            "edits[0].to: expected a checkpoint with a gate a token (FoX), found none in this one");
  EXPECT_EQ(refused(spec_of("fox"), "gates 0.0 1.5", ErrorCode::kBadInput),
            "edits[0].to: expected a number from 0 to 1 or mean, found 1.5");
  EXPECT_EQ(refused(spec_of("fox"), "gates 0.0 tokens 20:22 1", ErrorCode::kBadInput),
            "edits[0].tokens: expected a range within 0 to 21, found 20 to 22");
  EXPECT_EQ(refused(spec_of("fox"), "beta 0.0 1", ErrorCode::kUnsupported),
            "edits[0].to: expected a checkpoint whose tokens change keys (PaTH), found none in this one");
  for (const std::string wrong : {"2.5", "-1", "nan", "half", "1 1"}) {
    EXPECT_EQ(refused(spec_of("path"), "beta 0.0 " + wrong, ErrorCode::kBadInput),
              "edits[0].to: expected a number from 0 to 2 or mean, found " + wrong);
  }
  EXPECT_EQ(refused(spec_of("path"), "beta 0.0 tokens 20:22 1", ErrorCode::kBadInput),
            "edits[0].tokens: expected a range within 0 to 21, found 20 to 22");
  EXPECT_EQ(refused(spec_of("fox"), "direction 0.0 mean", ErrorCode::kUnsupported),
            "edits[0].to: expected a checkpoint whose tokens change keys (PaTH), found none in this one");
  EXPECT_EQ(refused(spec_of("path"), "direction 0.0 1", ErrorCode::kBadInput), "edits[0].to: expected mean, found 1");
  EXPECT_EQ(refused(spec_of("rope"), "place 0.0 by 1", ErrorCode::kUnsupported),
            "edits[0].to: expected a checkpoint that learns positions (RePo), found none in this one");
  for (const std::string wrong : {"mix 1.5", "mix", "by", "by x", "left 2", "inf", "2e9"}) {
    EXPECT_EQ(
        refused(spec_of("repo"), "place 0.0 " + wrong, ErrorCode::kBadInput),
        "edits[0].to: expected a number, by a number, mix and a number from 0 to 1, index, round or sorted, found " +
            wrong);
  }
  EXPECT_EQ(refused(spec_of("rope"), "shift 20:22 by 1", ErrorCode::kBadInput),
            "edits[0].tokens: expected a range within 0 to 21, found 20 to 22");
}

TEST(EditedEncodings, LayersBelowTheLowestEditAreTakenOver) {
  const at::NoGradGuard no_grad;
  for (const char* name : {"rope", "tape", "cope"}) {
    SCOPED_TRACE(name);
    Spec spec = spec_of(name);
    spec.repeat(spec.layers[0], 4);
    spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.attention.kv_heads = 4; });
    const auto model = model_of(spec);
    const Subject subject = subject_of(*model);
    transformer::ObserveOptions options;
    options.hidden = options.values = options.all_logits = true;
    const auto plain = model->observe(subject.batch, options);
    ASSERT_TRUE(plain.ok());
    for (const std::int64_t layer : {1, 3}) {
      const auto batch = edited(subject, edits_of({"head " + place(layer, 1) + "uniform", "scale 3.2 by 2"}));
      ASSERT_TRUE(batch.ok());
      transformer::ReusedLayers reused;
      reused.hidden = plain->layers[static_cast<std::size_t>(layer)].hidden;
      for (std::int64_t n = 0; n < 4; ++n) {
        const transformer::LayerRecord& record = plain->layers[static_cast<std::size_t>(n)];
        if (n < layer) {
          reused.layers.push_back(record);
        } else {
          reused.after.push_back(record.state);
        }
      }
      const auto whole = model->observe(*batch, options);
      options.reused_layers = &reused;
      const auto part = model->observe(*batch, options);
      options.reused_layers = nullptr;
      ASSERT_TRUE(whole.ok() && part.ok());
      EXPECT_EQ(part->kept_layers, layer);
      EXPECT_TRUE(at::equal(whole->logits, part->logits));
      for (std::size_t n = 0; n < 4; ++n) {
        EXPECT_TRUE(at::equal(whole->layers[n].log_sum_exp, part->layers[n].log_sum_exp));
        EXPECT_TRUE(at::equal(whole->layers[n].hidden, part->layers[n].hidden));
      }
    }
  }
}

}  // namespace
}  // namespace locus::test
