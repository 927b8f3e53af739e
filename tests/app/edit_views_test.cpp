// The views of edited runs: what they export, against runs of the edited model.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "app/session/open_columns.h"
#include "models/effect.h"
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
    input.options = Settings{{"to", std::string(to)}};
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
  const models::Trace& untouched = *input.columns.front().trace;
  const auto changed = edited(model, "head 1.2 zero")->run(text());
  ASSERT_TRUE(changed.ok());
  input.options = Settings{{"measure", std::string("logit")}};
  const std::int64_t best = untouched.top(1).front().id;
  expect_near(at(exported("knock-out", input), 1, 2), share(**changed, best) - share(untouched, best), 1e-4);
  input.options.set("token", std::string("7"));
  expect_near(at(exported("knock-out", input), 1, 2), share(**changed, 7) - share(untouched, 7), 1e-4);
  // At another position, which a shorter text ends with.
  models::Input shorter;
  shorter.ids.emplace();
  for (std::int64_t n = 0; n <= 20; ++n) {
    shorter.ids->push_back(untouched.tokens()[static_cast<std::size_t>(n)].id);
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
  refused({{"measure", std::string("logit")}, {"token", std::string("two words of it")}}, ErrorCode::kUsage);
  refused({{"measure", std::string("logit")}, {"token", std::string("999999")}}, ErrorCode::kBadInput);
  refused({{"measure", std::string("logit")}, {"at", std::int64_t{100000}}}, ErrorCode::kBadInput);
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
