// Edits on the command line: what they say, where they are carried, how they are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/run_locus.h"

namespace locus::testing_support {
namespace {

using nlohmann::json;

const std::string kText = "ROMEO: I will not go to the";

std::string checkpoint(const std::string& name) {
  return test::source_dir() + "/assets/checkpoints/" + name;
}

json parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

void refused(const std::vector<std::string>& words, int status, const std::string& says) {
  const Outcome outcome = run_locus(words);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(CliEffect, SaysWhatEditsChange) {
  const json effect = parsed(run_locus({"effect", checkpoint("text-rope"), "--text", kText, "--edit", "head 0.0 zero",
                                        "--edit", "shift 3:5 by -2", "--json"}));
  const json plain = parsed(run_locus({"run", checkpoint("text-rope"), "--text", kText, "--json"}));
  const json edited = parsed(run_locus({"run", checkpoint("text-rope"), "--text", kText, "--edit", "head 0.0 zero",
                                        "--edit", "shift 3:5 by -2", "--json"}));
  EXPECT_EQ(effect.at("edits"), json::parse(R"([{"edit": "head", "layer": 0, "head": 0, "to": "zero"},
                                               {"edit": "shift", "tokens": [3, 5], "by": -2}])"));
  const std::size_t tokens = plain.at("tokens").size();
  EXPECT_EQ(effect.at("kl").size(), tokens);
  EXPECT_EQ(effect.at("delta").size(), tokens - 1);
  double sum = 0;
  for (const json& delta : effect.at("delta")) {
    sum += delta.get<double>();
  }
  EXPECT_NEAR(sum / static_cast<double>(tokens - 1),
              effect.at("loss_edited").get<double>() - effect.at("loss").get<double>(), 1e-9);
  const auto near = [](const json& a, const json& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t n = 0; n < a.size(); ++n) {
      EXPECT_EQ(a[n].at("id"), b[n].at("id"));
      EXPECT_NEAR(a[n].at("probability").get<double>(), b[n].at("probability").get<double>(), 1e-5);
    }
  };
  near(effect.at("top"), plain.at("top"));
  near(effect.at("top_edited"), edited.at("top"));
  EXPECT_NE(effect.at("top"), effect.at("top_edited"));
}

TEST(CliEffect, OfAnImageItIsThatOfItsClasses) {
  const json effect = parsed(
      run_locus({"effect", checkpoint("shapes-rope-mixed"), "--image", test::source_dir() + "/assets/samples/star.png",
                 "--edit", "head 0.all uniform", "--edit", "shift 0:8 by 8", "--json"}));
  EXPECT_EQ(effect.at("kl").size(), 1U);
  EXPECT_GT(effect.at("kl")[0].get<double>(), 0);
  EXPECT_TRUE(effect.at("loss").is_null());
  EXPECT_TRUE(effect.at("delta").empty());
}

TEST(CliEffect, FiguresTracesAndRecipesCarryEdits) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "cli_effect";
  std::filesystem::create_directories(folder);
  const auto file = [&](const char* name) { return (folder / name).string(); };
  std::ofstream(file("edits.json")) << R"({"edits": [{"edit": "edge", "layer": 1, "head": 0, "queries": [4, 6],
    "keys": [0, 2]}]})";
  const Outcome drawn =
      run_locus({"figure", "attention", checkpoint("text-rope"), "--text", kText, "--edits", file("edits.json"),
                 "--edit", "scale 0.1 by 2", "--layer", "1", "--head", "0", "--data", file("edited.csv")});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  const json recipe = json::parse(read_text(file("edited.csv.recipe.json")));
  EXPECT_EQ(recipe.at("checkpoints")[0].at("edits").size(), 2U);
  const Outcome again = run_locus({"figure", "--recipe", file("edited.csv.recipe.json"), "--data", file("again.csv")});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_text(file("again.csv")), read_text(file("edited.csv")));
  ASSERT_EQ(run_locus({"figure", "attention", checkpoint("text-rope"), "--text", kText, "--layer", "1", "--head", "0",
                       "--data", file("plain.csv")})
                .status,
            0);
  EXPECT_NE(read_text(file("plain.csv")), read_text(file("edited.csv")));

  ASSERT_EQ(run_locus({"run", checkpoint("text-rope"), "--text", kText, "--edits", file("edits.json"), "--edit",
                       "scale 0.1 by 2", "--trace", file("edited.safetensors"), "--keep", "logits,attention"})
                .status,
            0);
  const Outcome verified = run_locus({"verify", checkpoint("text-rope"), "--text", kText, "--edits", file("edits.json"),
                                      "--edit", "scale 0.1 by 2", "--against", file("edited.safetensors")});
  EXPECT_EQ(verified.status, 0) << verified.err << verified.out;
  EXPECT_EQ(
      run_locus({"verify", checkpoint("text-rope"), "--text", kText, "--against", file("edited.safetensors")}).status,
      3);
  std::filesystem::remove_all(folder);
}

// A trace keeps edits of mixers and the maps under them; a figure's recipe repeats them.
TEST(CliEffect, MixersAreEditedInFiguresTracesAndRecipes) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "cli_effect_mixers";
  std::filesystem::create_directories(folder);
  const auto file = [&](const char* name) { return (folder / name).string(); };
  const auto figure = [&](const std::vector<std::string>& of, const char* data) {
    std::vector<std::string> words{"figure", "attention", "--side",     "mixer",   "--layer", "0",
                                   "--head", "1",         "--quantity", "implied", "--data",  file(data)};
    words.insert(words.begin() + 2, of.begin(), of.end());
    const Outcome drawn = run_locus(words);
    EXPECT_EQ(drawn.status, 0) << drawn.err;
    return read_text(file(data));
  };
  const std::vector<std::string> plain{checkpoint("text-delta-nope"), "--text", kText};
  std::vector<std::string> edited = plain;
  for (const char* const edit : {"decay 0.all keep", "reset 0.1 at 4"}) {
    edited.insert(edited.end(), {"--edit", edit});
  }
  const std::string map = figure(edited, "edited.csv");
  EXPECT_NE(map, figure(plain, "plain.csv"));
  const Outcome again = run_locus({"figure", "--recipe", file("edited.csv.recipe.json"), "--data", file("again.csv")});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_text(file("again.csv")), map);
  std::vector<std::string> traced = edited;
  traced.insert(traced.begin(), "run");
  traced.insert(traced.end(), {"--trace", file("edited.safetensors"), "--keep", "attention,logits"});
  const Outcome kept = run_locus(traced);
  ASSERT_EQ(kept.status, 0) << kept.err;
  const auto numbers = [](const std::string& data) {
    return data.substr(data.find('\n', data.find("implied weight")));
  };
  EXPECT_EQ(numbers(figure({file("edited.safetensors")}, "traced.csv")), numbers(map));
  std::filesystem::remove_all(folder);
}

TEST(CliEffect, EvaluationsAreOfEditedRuns) {
  const auto value = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"evaluate", "flip-flop", checkpoint("flip-flop-rope"), "--samples", "20", "--split",
                                   "in",       "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return parsed(run_locus(words)).at("rows")[0].at("splits").at("in").get<double>();
  };
  const double plain = value({});
  EXPECT_EQ(value({"--edit", "shift 0:4 by 0"}), plain);
  EXPECT_GT(value({"--edit", "head all.all uniform"}), plain + 0.1);
}

TEST(CliEffect, WrongEditsNameTheirIndexAndField) {
  const auto with = [&](const std::string& command, const std::string& name, const std::vector<std::string>& edits) {
    std::vector<std::string> words{command, checkpoint(name), "--text", kText};
    for (const std::string& edit : edits) {
      words.insert(words.end(), {"--edit", edit});
    }
    return words;
  };
  refused(with("run", "text-rope", {"head 0.0 zero", "wish"}), 3, "edits[1].edit: expected one of positions, shift");
  refused(with("run", "text-rope", {"head 99.0 zero"}), 3, "edits[0].layer: expected 0 to ");
  refused(with("verify", "text-rope", {"shift 500:501 by 1"}), 3, "edits[0].tokens: expected a range within 0 to ");
  refused(with("effect", "text-rope", {"bias 0.0 d*q"}), 3,
          "edits[0].formula: \"d*q\" at character 3: unknown name q; known: d, i, j, h, H, T, L");
  refused(with("effect", "text-alibi", {"pairs 0.0 0:1 drop"}), 4, "edits[0].do: encoding alibi turns no pairs");
  refused(with("effect", "text-learned", {"angles 0.0 1"}), 4, "edits[0].formula: ");
  refused(with("effect", "text-learned", {"shift 2:3 by 100000"}), 3, "edits[0].by: encoding learned: expected");
  refused(with("run", "text-rope", {"decay 0.0 keep"}), 4,
          "edits[0].layer: expected a layer with a mixer, found layer 0 of attention alone");
  refused(with("run", "text-delta-nope", {"reset all.0 at 1000"}), 3, "edits[0].at: expected a range within 0 to ");
  refused(with("effect", "text-rope", {}), 2, "expected at least one --edit");
  refused(
      {"evaluate", "flip-flop", checkpoint("flip-flop-rope"), "--samples", "2", "--edit", "shift 99999:100000 by 1"}, 3,
      "edits[0].tokens");
}

}  // namespace
}  // namespace locus::testing_support
