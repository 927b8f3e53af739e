// The views of edited runs: what they export, against runs of the edited model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/figures/open_columns.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/plots/series.h"
#include "core/analysis/expected_range.h"
#include "core/base/atomic_file.h"
#include "models/api/effect.h"
#include "models/api/knock_out.h"
#include "models/api/move_curve.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/data_text.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

using namespace test_views;

models::Input text() {
  models::Input input;
  input.text = test_views::kText;
  return input;
}

std::shared_ptr<const models::Model> edited(const std::shared_ptr<const models::Model>& model,
                                            const std::string& words) {
  return *model->edited({*models::parse_edit(words, 0)});
}

TEST(EditViews, KnockOutIsTheEffectOfEachHeadsEdit) {
  ViewInput input = input_of();
  const auto model = input.columns.front().model;
  const std::int64_t heads = model->info().heads;
  for (const char* to : {"zero", "mean", "uniform", "content", "first"}) {
    input.options = Settings{{"to", std::string(to)}, {"null", std::int64_t{0}}};
    const Data loss = exported("knock-out", input);
    input.options.set("measure", std::string("kl"));
    const Data kl = exported("knock-out", input);
    ASSERT_EQ(loss.shape, (std::vector<std::int64_t>{model->info().layers, heads}));
    for (const std::int64_t layer : {std::int64_t{0}, model->info().layers - 1}) {
      const auto effect = models::effect_of_edits(*edited(model, "head " + std::to_string(layer) + ".1 " + to), text());
      ASSERT_TRUE(effect.ok());
      double sum = 0;
      for (const double each : effect->kl) {
        sum += each;
      }
      EXPECT_NEAR(at(loss, layer, 1), effect->loss_edited - effect->loss, 2e-5) << to;
      expect_near(at(kl, layer, 1), sum / static_cast<double>(effect->kl.size()), 2e-5);
    }
  }
}

TEST(EditViews, KnockOutOfATokenIsItsLogProbability) {
  ViewInput input = input_of();
  const auto model = input.columns.front().model;
  const auto share = [&](const models::Trace& trace, std::int64_t id) {
    for (const models::Prediction& each : trace.top(model->info().vocabulary)) {
      if (each.id == id) {
        return std::log(static_cast<double>(each.probability));
      }
    }
    return std::nan("");
  };
  const models::Trace& unedited = *input.columns.front().trace;
  const auto changed = edited(model, "head 1.2 zero")->run(text());
  ASSERT_TRUE(changed.ok());
  input.options = Settings{{"to", std::string("zero")}, {"measure", std::string("logit")}, {"null", std::int64_t{0}}};
  const std::int64_t best = unedited.top(1).front().id;
  expect_near(at(exported("knock-out", input), 1, 2), share(**changed, best) - share(unedited, best), 1e-4);
  input.options.set("token", std::string("7"));
  expect_near(at(exported("knock-out", input), 1, 2), share(**changed, 7) - share(unedited, 7), 1e-4);
  // At another position, which a shorter text ends with.
  models::Input shorter;
  shorter.ids.emplace();
  for (std::int64_t n = 0; n <= 20; ++n) {
    shorter.ids->push_back(unedited.tokens()[static_cast<std::size_t>(n)].id);
  }
  input.options.set("at", std::int64_t{20});
  const double there = at(exported("knock-out", input), 1, 2);
  const auto before = model->run(shorter);
  const auto after = edited(model, "head 1.2 zero")->run(shorter);
  ASSERT_TRUE(before.ok() && after.ok());
  expect_near(there, share(**after, 7) - share(**before, 7), 1e-4);
}

TEST(EditViews, KnockOutSaysWhatItCannotMeasure) {
  ViewInput input = input_of();
  const auto refused = [&](const Settings& options, ErrorCode code) {
    input.options = options;
    const auto figure = view_of("knock-out").figure(input);
    EXPECT_FALSE(figure.ok());
    EXPECT_TRUE(figure.ok() || figure.error().code == code) << figure.error().describe();
  };
  refused({{"at", std::int64_t{3}}}, ErrorCode::kUsage);
  refused({{"null", std::int64_t{1}}}, ErrorCode::kUsage);
  refused({{"measure", std::string("logit")}, {"positions", std::int64_t{8}}}, ErrorCode::kUsage);
  refused({{"texts", std::string("/no/such/folder")}}, ErrorCode::kBadInput);
  refused({{"measure", std::string("logit")}, {"token", std::string("two words of it")}}, ErrorCode::kUsage);
  refused({{"measure", std::string("logit")}, {"token", std::string("999999")}}, ErrorCode::kBadInput);
  refused({{"measure", std::string("logit")}, {"at", std::int64_t{100000}}}, ErrorCode::kBadInput);
}

TEST(EditViews, KnockOutsNullIsTheEffectOnShuffledTexts) {
  ViewInput input = input_of();
  const Column& column = input.columns.front();
  models::KnockOutOptions options;
  options.to = models::HeadTo::kMean;  // as the view has it
  const auto shuffled = models::knock_out_shuffled(*column.model, *column.trace, options, 4, 9);
  ASSERT_TRUE(shuffled.ok()) << shuffled.error().describe();
  ASSERT_EQ(shuffled->size(), 4U);
  EXPECT_NE((*shuffled)[0].values, (*shuffled)[1].values) << "every copy is in an order of its own";
  EXPECT_EQ(models::knock_out_shuffled(*column.model, *column.trace, options, 4, 9)->back().values,
            shuffled->back().values);
  EXPECT_NE(models::knock_out_shuffled(*column.model, *column.trace, options, 4, 10)->back().values,
            shuffled->back().values);
  const auto [low, high] = analysis::expected_range(*shuffled);
  input.options = Settings{{"null", std::int64_t{4}}, {"seed", std::int64_t{9}}, {"export", std::string("null-low")}};
  EXPECT_EQ(exported("knock-out", input).values, low.values);
  input.options.set("export", std::string("null-high"));
  EXPECT_EQ(exported("knock-out", input).values, high.values);
  // Cells within the range have a stroke, no others.
  input.options.set("export", std::string("effect"));
  const Data effect = exported("knock-out", input);
  std::size_t struck = 0;
  for (std::size_t cell = 0; cell < effect.values.size(); ++cell) {
    struck += effect.values[cell] >= low.values[cell] && effect.values[cell] <= high.values[cell] ? 1 : 0;
  }
  const figure::Panel panel = view_of("knock-out").figure(input)->panels.front();
  ASSERT_TRUE(std::holds_alternative<figure::Curve>(panel.layers.back()));
  EXPECT_EQ(std::get<figure::Curve>(panel.layers.back()).x.size(), 6 * struck) << "two strokes a cell";
  EXPECT_NE(panel.note.find("stroke: " + std::to_string(struck) + " of "), std::string::npos) << panel.note;
}

// While a measurement is under way its figure has the heads so far, then the map without its null.
TEST(EditViews, KnockOutShowsHeadsAsTheyCome) {
  ViewInput input = input_of();
  input.options = Settings{{"null", std::int64_t{2}}};
  const figure::Figure whole = *view_of("knock-out").figure(input);
  std::vector<figure::Figure> parts;
  input.so_far = [&](figure::Figure part) { parts.push_back(std::move(part)); };
  input.so_far_ms = 0;
  const figure::Figure again = *view_of("knock-out").figure(input);
  EXPECT_EQ(again.panels.front().note, whole.panels.front().note);
  EXPECT_EQ(again.statement, whole.statement);
  const auto cells = [](const figure::Figure& figure) {
    return std::get<figure::HeatMap>(figure.panels.front().layers.front()).field->values;
  };
  const models::ModelInfo& info = input.columns.front().model->info();
  ASSERT_GT(parts.size(), static_cast<std::size_t>(info.layers));
  std::size_t before = 0;
  for (std::size_t n = 0; n + 1 < parts.size(); ++n) {
    std::size_t done = 0;
    for (std::size_t cell = 0; cell < cells(parts[n]).size(); ++cell) {
      if (const float value = cells(parts[n])[cell]; !std::isnan(value)) {
        ++done;
        EXPECT_EQ(value, cells(whole)[cell]);
      }
    }
    EXPECT_GT(done, before);
    before = done;
    const std::string expected =
        std::to_string(done) + " of " + std::to_string(info.layers * info.heads) + " heads so far";
    EXPECT_EQ(parts[n].panels.front().note.rfind(expected, 0), 0U) << parts[n].panels.front().note;
  }
  EXPECT_EQ(cells(parts.back()), cells(whole));
  EXPECT_EQ(parts.back().panels.front().note.rfind("the shuffled copies are still to come", 0), 0U);
  EXPECT_EQ(parts.back().panels.front().note.find("stroke"), std::string::npos);
  // A short one is not shown in parts.
  parts.clear();
  input.so_far_ms = 1e9;
  ASSERT_TRUE(view_of("knock-out").figure(input).ok());
  EXPECT_TRUE(parts.empty());
}

// A tiny Llama with 70,000 outputs, whose knock-outs are estimated first.
std::shared_ptr<const models::Model> large_vocabulary() {
  const test::TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 32,
      "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 70000,
      "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true})");
  at::manual_seed(5);
  test::Tensors weights{{"model.embed_tokens.weight", at::randn({70000, 16})}, {"model.norm.weight", at::ones({16})}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      weights[layer + "self_attn." + name + ".weight"] = at::randn({16, 16}) * 0.2;
    }
    weights[layer + "mlp.gate_proj.weight"] = at::randn({32, 16}) * 0.2;
    weights[layer + "mlp.up_proj.weight"] = at::randn({32, 16}) * 0.2;
    weights[layer + "mlp.down_proj.weight"] = at::randn({16, 32}) * 0.2;
    weights[layer + "input_layernorm.weight"] = weights[layer + "post_attention_layernorm.weight"] = at::ones({16});
  }
  test::write_tensors(folder.path() / "model.safetensors", weights);
  return test::open_model(folder.path());
}

// Says of a large vocabulary how many heads are estimated so far, and that the shuffled copies are.
TEST(EditViews, KnockOutSaysWhatIsEstimated) {
  ViewInput input;
  models::Input ids{.ids = std::vector<std::int64_t>()};
  for (std::int64_t n = 0; n < 40; ++n) {
    ids.ids->push_back(n * 1741 % 70000);
  }
  input.columns.push_back(test::column_of(large_vocabulary(), ids));
  std::vector<figure::Figure> parts;
  input.so_far = [&](figure::Figure part) { parts.push_back(std::move(part)); };
  input.so_far_ms = 0;
  const auto note_of = [&](const Settings& options) {
    input.options = options;
    const auto made = view_of("knock-out").figure(input);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().describe());
    return made.ok() ? made->panels.front().note : "";
  };
  const std::string note = note_of({{"null", std::int64_t{2}}});
  EXPECT_NE(note.find("as in 2 shuffled copies, by a sample of the outputs"), std::string::npos) << note;
  EXPECT_EQ(note.find("estimated"), std::string::npos) << note;
  ASSERT_FALSE(parts.empty());
  const std::string first = parts.front().panels.front().note;
  EXPECT_NE(first.find("heads so far, "), std::string::npos) << first;
  EXPECT_NE(first.find(" estimated (standard error ≤ "), std::string::npos) << first;
  // A log-probability is that of all outputs.
  const std::string logit = note_of({{"null", std::int64_t{2}}, {"measure", std::string("logit")}});
  EXPECT_NE(logit.find("as in 2 shuffled copies"), std::string::npos) << logit;
  EXPECT_EQ(logit.find("sample"), std::string::npos) << logit;
}

// So does the logit lens, whose prediction comes first, beside the columns that are done.
TEST(EditViews, TheLogitLensShowsRowsAsTheyCome) {
  for (const char* token : {"", "7"}) {
    ViewInput input = pair_of();
    input.options = Settings{{"token", std::string(token)}};
    const figure::Figure whole = *view_of("logit-lens").figure(input);
    std::vector<figure::Figure> parts;
    input.so_far = [&](figure::Figure part) { parts.push_back(std::move(part)); };
    input.so_far_ms = 0;
    ASSERT_TRUE(view_of("logit-lens").figure(input).ok());
    const std::int64_t rows = input.columns.front().model->info().layers + 1;
    ASSERT_EQ(parts.size(), 2U);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      constexpr std::int64_t kShown = 1;
      const std::size_t panels = n + 1;
      ASSERT_EQ(parts[n].panels.size(), panels);
      const figure::Panel& panel = parts[n].panels.back();
      EXPECT_EQ(panel.title, whole.panels[panels - 1].title);
      const std::string expected = std::to_string(kShown) + " of " + std::to_string(rows) + " rows so far";
      EXPECT_EQ(panel.note.rfind(expected, 0), 0U) << panel.note;
      const auto& map = std::get<figure::HeatMap>(panel.layers.front());
      const auto& all = std::get<figure::HeatMap>(whole.panels[panels - 1].layers.front());
      for (std::size_t cell = 0; cell < map.field->values.size(); ++cell) {
        const bool done = static_cast<std::int64_t>(cell) / map.field->columns >= rows - kShown;
        EXPECT_EQ(std::isnan(map.field->values[cell]), !done);
        EXPECT_EQ((*map.texts)[cell], done ? (*all.texts)[cell] : "");
        EXPECT_EQ((*map.said)[cell], done ? (*all.said)[cell] : "");
      }
    }
  }
}

// The interval is that of the tokens' changes of loss, taken pair by pair; a ring stands where it holds 0.
TEST(EditViews, KnockOutsMarginIsTheIntervalOfPairedLosses) {
  ViewInput input = input_of();
  const auto model = input.columns.front().model;
  input.options = Settings{{"null", std::int64_t{0}}};
  const Data effect = exported("knock-out", input);
  const figure::Panel panel = view_of("knock-out").figure(input)->panels.front();
  input.options.set("export", std::string("margin"));
  const Data margin = exported("knock-out", input);
  const auto of_head = models::effect_of_edits(*edited(model, "head 1.2 mean"), text());
  ASSERT_TRUE(of_head.ok());
  const std::vector<double>& changes = of_head->delta;
  const auto count = static_cast<double>(changes.size());
  double mean = 0;
  double squares = 0;
  for (const double each : changes) {
    mean += each / count;
  }
  for (const double each : changes) {
    squares += (each - mean) * (each - mean);
  }
  const double half = 1.976 * std::sqrt(squares / (count - 1) / count);  // Student's 97.5 % quantile of about 152
  ASSERT_NEAR(count, 153, 2);
  expect_near(at(effect, 1, 2), mean, 2e-5);
  EXPECT_NEAR(at(margin, 1, 2), half, 2e-3 * half);
  std::size_t rings = 0;
  for (std::size_t cell = 0; cell < effect.values.size(); ++cell) {
    rings += std::abs(effect.values[cell]) <= margin.values[cell] ? 1 : 0;
  }
  EXPECT_NE(panel.note.find("ring: " + std::to_string(rings) + " of 16"), std::string::npos) << panel.note;
  ASSERT_GT(rings, 0U);
  EXPECT_EQ(std::get<figure::Curve>(panel.layers.back()).x.size(), 18 * rings);
  input.options.set("measure", std::string("kl"));
  EXPECT_FALSE(view_of("knock-out").data(input).ok()) << "a mean divergence has no interval around 0";
}

// The sentence and the note name the largest effect that has neither mark, and none where every effect has one.
TEST(EditViews, KnockOutNamesNoHeadThatItMarks) {
  for (const std::string& sentence : {std::string(test_views::kText), std::string("aaaaaaaaaaaaaaaa")}) {
    for (const char* const measure : {"loss", "kl"}) {
      SCOPED_TRACE(sentence.substr(0, 4) + " " + measure);
      ViewInput input = input_of(sentence);
      input.cache = std::make_shared<FieldCache>(8 << 20);
      const auto of = [&](const char* what) {
        input.options = Settings{{"null", std::int64_t{4}}, {"measure", std::string(measure)}};
        input.options.set("export", std::string(what));
        return view_of("knock-out").data(input);
      };
      const Data low = *of("null-low");
      const Data high = *of("null-high");
      const auto margin = of("margin");
      const Data effect = *of("effect");
      std::size_t beyond = 0;
      std::size_t best = 0;
      for (std::size_t cell = 0; cell < effect.values.size(); ++cell) {
        const float value = effect.values[cell];
        const bool marked = (value >= low.values[cell] && value <= high.values[cell]) ||
                            (margin.ok() && std::abs(value) <= margin->values[cell]);
        const bool more = beyond == 0 || std::abs(value) > std::abs(effect.values[best]);
        best = !marked && more ? cell : best;
        beyond += marked ? 0 : 1;
      }
      const auto figure = view_of("knock-out").figure(input);
      ASSERT_TRUE(figure.ok());
      const std::string& label = figure->panels.front().color_bar_label;
      const std::string& note = figure->panels.front().note;
      if (beyond == 0) {
        EXPECT_EQ(figure->statement, label + ": none of the 16 heads is outside the null");
        EXPECT_EQ(note.find("largest"), std::string::npos) << note;
        continue;
      }
      const std::string largest = "head " + head_name_at(best, 4) + ", " +
                                  short_number(static_cast<double>(effect.values[best])) +
                                  (margin.ok() ? " ± " + short_number(static_cast<double>(margin->values[best])) : "");
      EXPECT_EQ(figure->statement, label + ": largest of " + largest + "; " + std::to_string(beyond) + " of 16 heads " +
                                       (beyond == 1 ? "is" : "are") + " outside the null");
      EXPECT_TRUE(note.starts_with("largest: " + largest + "; ")) << note;
    }
  }
}

// A text of one letter is the same in any order, so its null is the effect itself.
TEST(EditViews, KnockOutsNullOfATextWithoutOrderIsItsEffect) {
  const ViewInput input = input_of("aaaaaaaaaaaaaaaaaaaaaaaa");
  const Column& column = input.columns.front();
  for (const models::KnockOutMeasure measure : {models::KnockOutMeasure::kLoss, models::KnockOutMeasure::kLogit}) {
    models::KnockOutOptions options;
    options.measure = measure;
    const auto effect = models::knock_out(*column.model, *column.trace, options);
    const auto shuffled = models::knock_out_shuffled(*column.model, *column.trace, options, 2, 1);
    ASSERT_TRUE(effect.ok() && shuffled.ok());
    EXPECT_EQ((*shuffled)[1].values, effect->effect.values);
  }
}

TEST(EditViews, KnockOutOfAFolderIsTheMeanOverItsTexts) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_texts_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file(folder / "a.txt", test_views::kText).ok());
  ASSERT_TRUE(write_file(folder / "b.txt", "To be, or not to be, that is the question.").ok());
  ViewInput input = input_of();
  input.options = Settings{{"null", std::int64_t{0}}};
  const Data first = exported("knock-out", input);
  const Data second = exported("knock-out", [&] {
    ViewInput other = input_of("To be, or not to be, that is the question.");
    other.options = input.options;
    return other;
  }());
  input.options.set("texts", folder.string());
  const Data mean = exported("knock-out", input);
  input.options.set("export", std::string("spread"));
  const Data spread = exported("knock-out", input);
  for (std::size_t n = 0; n < mean.values.size(); ++n) {
    EXPECT_NEAR(mean.values[n], (first.values[n] + second.values[n]) / 2, 1e-6);
    EXPECT_NEAR(spread.values[n], std::abs(first.values[n] - second.values[n]) / std::sqrt(2.0F), 1e-6);
  }
  std::filesystem::remove_all(folder);
}

TEST(EditViews, AnImagesNullShufflesItsPatches) {
  models::Input star;
  star.image = test::source_dir() + "/assets/samples/star.png";
  const Column column = test::column_of(test::bundled("shapes-rope-mixed"), star);
  models::KnockOutOptions options;
  options.measure = models::KnockOutMeasure::kKl;
  const auto effect = models::knock_out(*column.model, *column.trace, options);
  const auto shuffled = models::knock_out_shuffled(*column.model, *column.trace, options, 2, 1);
  ASSERT_TRUE(effect.ok() && shuffled.ok());
  EXPECT_NE((*shuffled)[0].values, effect->effect.values);
  EXPECT_NE((*shuffled)[0].values, (*shuffled)[1].values);
}

// What stands before a moved token cannot know of it: those positions' zeros are no part of the mean.
TEST(EditViews, AMovesDivergenceIsTheMeanOverThePositionsItReaches) {
  ViewInput input = input_of();
  const auto effect = models::effect_of_edits(*edited(input.columns.front().model, "shift 120:124 by 5"), text());
  ASSERT_TRUE(effect.ok());
  double sum = 0;
  for (std::size_t n = 0; n < effect->kl.size(); ++n) {
    if (n < 120) {
      EXPECT_NEAR(effect->kl[n], 0, 1e-7) << n;
    } else {
      sum += effect->kl[n];
    }
  }
  input.options = Settings{{"tokens", std::string("120:124")}, {"by", std::string("5:5:1")}};
  const Data curve = exported("move", input);
  expect_near(at(curve, 0, column_named(curve, "kl")), sum / static_cast<double>(effect->kl.size() - 120), 1e-5);
}

TEST(EditViews, AMapOfMovesHasTheCurveOfEachToken) {
  ViewInput input = input_of();
  for (const char* measure : {"kl", "loss", "weight"}) {
    input.options = Settings{{"by", std::string("-3:6:3")},
                             {"measure", std::string(measure)},
                             {"as", std::string("map")},
                             {"tokens", std::string("40:44")}};
    const Data map = exported("move", input);
    ASSERT_EQ(map.shape, (std::vector<std::int64_t>{4, 4}));
    input.options.set("as", std::string("curve"));
    for (std::int64_t token = 0; token < 4; ++token) {
      input.options.set("tokens", std::to_string(40 + token) + ":" + std::to_string(41 + token));
      const Data curve = exported("move", input);
      for (std::int64_t n = 0; n < 4; ++n) {
        EXPECT_EQ(at(map, token, n), at(curve, n, column_named(curve, measure))) << measure;
      }
    }
  }
  input.options = Settings{{"as", std::string("map")}, {"by", std::string("-2000:2000:1")}};
  EXPECT_EQ(view_of("move").figure(input).error().code, ErrorCode::kUsage) << "too many runs";
}

TEST(EditViews, TheWeightOfAMovedTokenIsThatOfTheEditedRun) {
  ViewInput input = input_of();
  input.layer = 0;
  input.head = 3;
  const auto model = input.columns.front().model;
  const std::int64_t last = input.columns.front().trace->length() - 1;
  input.options = Settings{{"by", std::string("-4:4:4")},
                           {"measure", std::string("weight")},
                           {"tokens", std::to_string(last - 2) + ":" + std::to_string(last)}};
  const Data curve = exported("move", input);
  EXPECT_EQ(curve.columns, (std::vector<std::string>{"by", "weight"}));
  for (std::int64_t n = 0; n < 3; ++n) {
    const auto moved = edited(model, "shift " + std::to_string(last - 2) + ":" + std::to_string(last) + " by " +
                                         std::to_string(4 * (n - 1)))
                           ->run(text());
    ASSERT_TRUE(moved.ok());
    const Field weights = map_of(**moved, 0, 3);
    expect_near(at(curve, n, 1),
                static_cast<double>(weights.at(last, last - 2)) + static_cast<double>(weights.at(last, last - 1)),
                1e-5);
  }
  EXPECT_GT(std::abs(at(curve, 1, 1) - at(curve, 2, 1)), 1e-3) << "this head looks at the token before";
}

TEST(EditViews, TheAttributionsPartsAreNamedAndSumToTheLogit) {
  ViewInput input = input_of();
  const models::Trace& trace = *input.columns.front().trace;
  const auto model = input.columns.front().model;
  const auto best = trace.top(2);
  input.options = Settings{{"token", std::to_string(best[0].id)}, {"against", std::to_string(best[1].id)}};
  const Data parts = exported("logit-attribution", input);
  ASSERT_EQ(parts.titles.size(), parts.values.size());
  EXPECT_EQ(parts.columns, (std::vector<std::string>{"part", "value"}));
  double sum = 0;
  for (const float value : parts.values) {
    sum += static_cast<double>(value);
  }
  // A difference of logits is one of log-probabilities.
  const double wanted = std::log(static_cast<double>(best[0].probability) / static_cast<double>(best[1].probability));
  EXPECT_NEAR(sum, wanted, 1e-3 * (1 + std::abs(wanted)));
  EXPECT_EQ(parts.titles.front(), "embedding");
  const auto most = std::ranges::max_element(parts.values, {}, [](float value) { return std::abs(value); });
  const std::string said = view_of("logit-attribution").figure(input)->statement;
  EXPECT_TRUE(said.starts_with("most from " + parts.titles[static_cast<std::size_t>(most - parts.values.begin())] +
                               ", " + short_number(static_cast<double>(*most))))
      << said;
  const auto& names = parts.titles;
  EXPECT_EQ(std::count(names.begin(), names.end(), "head 1.2"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "feed-forward 0"), 1);
  const std::string csv = test::written(parts, ".csv");
  EXPECT_EQ(csv.find("part,value\nembedding,"), 0U) << csv.substr(0, 60);
  // A click on a head opens it, one beside the heads does not.
  EXPECT_EQ(view_of("logit-attribution").pick(input, {0, 2.5, 1.5, -1}).head, 2);
  EXPECT_FALSE(view_of("logit-attribution")
                   .pick(input, {0, static_cast<double>(model->info().heads) + 1.5, 1.5, -1})
                   .head.has_value());
}

TEST(EditViews, AnEffectIsThatOfTheColumnsEdits) {
  ViewInput input = input_of();
  const auto model = edited(input.columns.front().model, "head 0.3 zero");
  const auto moved = *input.columns.front().model->edited(
      {*models::parse_edit("shift 30:40 by 7", 0), *models::parse_edit("positions 3:5 start 50", 1)});
  for (const auto& each : {model, moved}) {
    input.columns.back() = test::column_of(each, text());
    const auto effect = models::effect_of_edits(*each, text());
    ASSERT_TRUE(effect.ok());
    const Data data = exported("effect", input);
    ASSERT_EQ(data.shape[0], static_cast<std::int64_t>(effect->kl.size()));
    ASSERT_EQ(data.titles.size(), 4 * effect->kl.size()) << "four columns of words stand before the numbers";
    for (std::int64_t n = 0; n < data.shape[0]; ++n) {
      expect_near(at(data, n, column_named(data, "kl") - 4), effect->kl[static_cast<std::size_t>(n)], 2e-5);
      if (n + 1 < data.shape[0]) {
        expect_near(at(data, n, column_named(data, "delta") - 4), effect->delta[static_cast<std::size_t>(n)], 2e-5);
      }
    }
    const auto last = static_cast<std::size_t>(data.shape[0] - 1);
    EXPECT_EQ(data.titles[4 * last + 2], effect->unedited->top(1).front().token);
    EXPECT_EQ(data.titles[4 * last + 3], effect->edited->top(1).front().token);
  }
  EXPECT_EQ(view_of("effect").figure(input_of()).error().describe(),
            "effect: expected a column with edits (--edit; in the window: Edits…), found none");
  EXPECT_EQ(view_of("effect").data(input_of()).error().code, ErrorCode::kUsage);
  // Beside the unedited run the edited one is shown alone; a token is tinted by what happened to it.
  input.columns.insert(input.columns.begin(), input_of().columns.front());
  input.options = Settings{{"as", std::string("text")}};
  const auto figure = view_of("effect").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 1U);
  const auto& strip = std::get<figure::TokenStrip>(figure->panels.front().layers.front());
  const auto effect = models::effect_of_edits(*moved, text());
  EXPECT_TRUE(std::isnan(strip.values.front()));
  expect_near(static_cast<double>(strip.values[20]), effect->delta[19], 2e-5);
}

TEST(EditViews, TheLensEndsWithWhatTheModelSays) {
  ViewInput input = input_of();
  const models::Trace& trace = *input.columns.front().trace;
  const models::ModelInfo& info = trace.model();
  const Data lens = exported("logit-lens", input);
  ASSERT_EQ(lens.shape, (std::vector<std::int64_t>{info.layers + 1, trace.length()}));
  expect_near(at(lens, info.layers, trace.length() - 1), static_cast<double>(trace.top(1).front().probability), 1e-5);
  // All tokens' probabilities of one cell sum to 1, and the likeliest is the largest of them.
  double sum = 0;
  double largest = 0;
  for (std::int64_t id = 0; id < info.vocabulary; ++id) {
    input.options = Settings{{"token", std::to_string(id)}};
    const auto data = view_of("logit-lens").data(input);
    ASSERT_TRUE(data.ok());
    sum += at(*data, 1, 9);
    largest = std::max(largest, at(*data, 1, 9));
    if (id == 0) {
      EXPECT_LT(at(*data, 0, 0), 1);
    }
    if (info.vocabulary > 300 && id > 3) {
      break;
    }
  }
  EXPECT_TRUE(info.vocabulary > 300 || std::abs(sum - 1) < 1e-4) << sum;
  EXPECT_TRUE(info.vocabulary > 300 || std::abs(largest - at(lens, 1, 9)) < 1e-6);
}

TEST(EditViews, AnEditedColumnStandsBesideTheUntouchedOne) {
  const std::filesystem::path path = test::source_dir() + "/assets/checkpoints/text-rope";
  session::CheckpointEntry plain{path, {}, true, {}, {}};
  session::CheckpointEntry cut = plain;
  cut.edits = {*models::parse_edit("head 1.2 uniform", 0)};
  int opened = 0;
  session::ColumnMaker maker(
      [&](const std::filesystem::path& where, const models::OpenOptions& options, StopToken stop,
          const Progress& progress) {
        ++opened;
        return models::open(where, options, std::move(stop), progress);
      },
      [](const models::Model& model, const models::Input& typed) { return model.run(typed); });
  const auto columns = maker.columns({plain, cut}, text());
  ASSERT_TRUE(columns.ok()) << columns.error().describe();
  EXPECT_EQ(opened, 1) << "edits share the weights";
  EXPECT_EQ((*columns)[1].name, "text-rope head 1.2 uniform");
  const Field weights = map_of(*(*columns)[1].trace, 1, 2);
  for (std::int64_t key = 0; key <= 9; ++key) {
    EXPECT_NEAR(weights.at(9, key), 0.1, 1e-6);
  }
  EXPECT_GT(std::abs(map_of(*(*columns)[0].trace, 1, 2).at(9, 0) - 0.1), 1e-3);
}

}  // namespace
}  // namespace locus::views
