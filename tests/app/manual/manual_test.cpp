// The manual: everything the program knows has its place there, and what it shows works.
#include "app/manual/manual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "app/cli/command.h"
#include "app/manual/embedded.h"
#include "app/session/recipe.h"
#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "models/api/model.h"
#include "models/api/train.h"
#include "models/families/engine/family.h"
#include "tests/support/run_locus.h"

namespace {

using locus::manual::Block;
using locus::manual::Place;
using locus::manual::Span;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;

std::string page(const std::string& name) {
  return std::string(locus::manual::text_of({name, {}}));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// "`name`", or with what it takes: "`--name N`".
bool names(const std::string& text, const std::string& name) {
  return holds(text, "`" + name + "`") || holds(text, "`" + name + " ");
}

std::vector<Block> blocks_of(const std::string& name) {
  return locus::manual::parse_blocks(locus::manual::text_of({name, {}}));
}

// The options that the help of a sub-command lists.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> names;
  const std::regex option("\n  (?:-[a-z],)?(--[a-z][a-z-]*)");
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
    names.insert((*at)[1].str());
  }
  return names;
}

TEST(Manual, ListsEveryFileOnce) {
  std::set<std::string> listed;
  for (const auto& each : locus::manual::pages()) {
    EXPECT_TRUE(listed.insert(each.name).second) << each.name << " twice";
    EXPECT_FALSE(each.title.empty()) << each.name;
    EXPECT_FALSE(each.text.empty()) << each.name << ".md is not there";
  }
  EXPECT_EQ(listed.size(), locus::manual::embedded_pages().size()) << "a file that the contents do not list";
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(locus::test::source_dir() + "/assets/manual")) {
    ++files;
    EXPECT_TRUE(locus::testing_support::read_text(file.path()) == page(file.path().stem())) << file.path();
  }
  EXPECT_EQ(files, listed.size());
}

TEST(Manual, EveryViewHasItsPage) {
  for (const locus::views::View* view : locus::views::views()) {
    const locus::views::ViewInfo& info = view->info();
    const std::string text = page(info.name);
    for (const char* const heading : {"## Equation\n\n```\n", "## What it shows", "## What to look for", "## Options",
                                      "## Command\n\n```sh", "## In the papers", "## What is not known"}) {
      EXPECT_TRUE(holds(text, heading)) << info.name << ": " << heading;
    }
    EXPECT_TRUE(holds(text, "\nlocus figure " + info.name + " ")) << info.name;
    for (const locus::views::Control& control : info.controls) {
      std::string fallback = locus::to_text(control.fallback);
      if (control.name == "boundary" && !fallback.empty()) {
        fallback = "`" + fallback + "`";
      } else if (fallback.starts_with('-')) {
        fallback = "−" + fallback.substr(1);
      }
      EXPECT_TRUE(holds(text, "| `" + control.name + "` | " + fallback + (fallback.empty() ? "|" : " |")))
          << info.name << ": " << control.name << " with its default, " << fallback;
      for (const std::string& choice : control.choices) {
        EXPECT_TRUE(holds(text, choice)) << info.name << ": " << control.name << "=" << choice;
      }
    }
  }
}

// A page that names a figure of the bundled session shows its screenshot; every screenshot is one of these.
TEST(Manual, ScreenshotsShowFiguresOfTheBundledSession) {
  const std::filesystem::path assets = locus::test::source_dir() + "/assets";
  const auto session = locus::session::load_session(assets / "sessions/first-light.locus.json");
  ASSERT_TRUE(session.ok()) << session.error().describe();
  std::set<std::string> shown;
  for (const locus::views::View* view : locus::views::views()) {
    const std::string& name = view->info().name;
    const std::string text = page(name);
    std::smatch found;
    if (!std::regex_search(text, found, std::regex("\n<!-- figure: (.+), (light|dark) -->\n"))) {
      continue;
    }
    shown.insert(name);
    EXPECT_TRUE(holds(text, "](../screenshots/" + name + ".png)")) << name;
    const auto figure = std::ranges::find(session->bookmarks, found[1].str(), &locus::session::Bookmark::name);
    ASSERT_NE(figure, session->bookmarks.end()) << name << ": no figure " << found[1];
    EXPECT_EQ(figure->state.view, name);
  }
  for (const auto& file : std::filesystem::directory_iterator(assets / "screenshots")) {
    EXPECT_TRUE(file.path().extension() != ".png" || shown.contains(file.path().stem())) << file.path();
  }
  EXPECT_GE(shown.size(), 33U);
  const std::string readme = locus::testing_support::read_text(locus::test::source_dir() + "/README.md");
  const std::regex picture(R"(\]\(assets/screenshots/([a-z0-9-]+)\.png\))");
  for (std::sregex_iterator at(readme.begin(), readme.end(), picture), end; at != end; ++at) {
    EXPECT_TRUE(shown.contains((*at)[1].str())) << (*at)[0];
  }
}

// Every figure of a real model is shown on the page of them, and a recipe beside it names what it was drawn from.
TEST(Manual, FiguresOfRealModelsHaveRecipes) {
  std::size_t figures = 0;
  for (const auto& file : std::filesystem::directory_iterator(locus::test::source_dir() + "/assets/real-models")) {
    if (file.path().extension() != ".png") {
      continue;
    }
    ++figures;
    EXPECT_LE(file.file_size(), 200U * 1024) << file.path();
    EXPECT_TRUE(holds(page("real-models"), "](../real-models/" + file.path().filename().string() + ")")) << file.path();
    const std::string beside = file.path().string() + ".recipe.json";
    const auto recipe = locus::session::parse_recipe(locus::testing_support::read_text(beside), beside);
    ASSERT_TRUE(recipe.ok()) << recipe.error().describe();
    for (std::size_t n = 0; n < recipe->stored.size(); ++n) {
      EXPECT_FALSE(recipe->stored[n].starts_with('/')) << beside;
      EXPECT_EQ(recipe->digests[n].size(), 64U) << beside;
    }
  }
  EXPECT_GE(figures, 4U);
}

TEST(Manual, EverySubCommandAndOptionHasItsPlace) {
  const std::string shared = page("command-line");
  for (const locus::cli::Command& command : locus::cli::commands()) {
    const std::string part(locus::manual::text_of({"command-line", "locus-" + command.name}));
    EXPECT_FALSE(part.empty()) << command.name;
    const Outcome help = run_locus({command.name, "--help"});
    ASSERT_EQ(help.status, 0) << command.name;
    const std::string others = shared.substr(0, shared.find("\n## `locus`\n"));
    for (const std::string& option : options_in(help.out)) {
      EXPECT_TRUE(names(part, option) || names(others, option)) << command.name << " " << option;
    }
    // What a part says of options is true.
    for (const std::string& option : options_in(std::regex_replace(part, std::regex("\\| `--"), "  --"))) {
      EXPECT_TRUE(options_in(help.out).count(option)) << command.name << " has no " << option;
    }
  }
  for (const std::string& option : options_in(run_locus({"--help"}).out)) {
    EXPECT_TRUE(names(shared, option)) << option;
  }
}

TEST(Manual, EveryExitStatusIsNamed) {
  const std::string part(locus::manual::text_of({"command-line", "exit-status"}));
  for (int code = 0; code < static_cast<int>(locus::ErrorCode::kCancelled); ++code) {
    EXPECT_TRUE(holds(part, "| " + std::to_string(code) + " | ")) << code;
  }
  EXPECT_TRUE(holds(part, "| 130 | "));
}

TEST(Manual, EveryEncodingHasItsEquationParametersAndOptions) {
  for (const locus::models::EncodingInfo& info : locus::models::encodings()) {
    const std::string part(locus::manual::text_of({"encodings", info.name}));
    EXPECT_TRUE(holds(part, "```\n" + info.equation + "\n")) << info.name << ": " << info.equation;
    EXPECT_TRUE(holds(part, info.title)) << info.name;
    for (const auto& parameter : info.parameters) {
      EXPECT_TRUE(names(part, parameter.name)) << info.name << ": " << parameter.name;
    }
    for (const auto& option : info.options) {
      EXPECT_TRUE(names(part, option.name)) << info.name << ": " << option.name;
      const bool listed = holds(part, "| `" + option.name + "` | ");
      EXPECT_TRUE(!listed || holds(part, "| `" + option.name + "` | " + option.shape + " |"))
          << info.name << ": " << option.name;
    }
  }
}

TEST(Manual, EveryTaskQuantityAndFamilyHasItsPlace) {
  for (const auto& task : locus::training::tasks()) {
    EXPECT_TRUE(holds(page("tasks"), "| `" + task.name + "` | ")) << task.name;
    for (const auto& option : task.options) {
      EXPECT_TRUE(names(page("tasks"), option.name)) << task.name << ": " << option.name;
    }
  }
  using locus::models::Quantity;
  for (const Quantity quantity :
       {Quantity::kWeight, Quantity::kLogit, Quantity::kContent, Quantity::kContribution, Quantity::kGate,
        Quantity::kPosition, Quantity::kC2p, Quantity::kP2c, Quantity::kDeviation, Quantity::kCarried}) {
    EXPECT_TRUE(names(page("attention"), locus::models::to_text(quantity)));
  }
  for (const locus::families::Family& family : locus::families::families()) {
    EXPECT_TRUE(names(page("checkpoints"), std::string(family.name))) << family.name;
  }
  // The error of a family that is not known names the first ones, and where all are.
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "locus_manual_family";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(locus::test::source_dir() + "/assets/checkpoints/text-rope/model.safetensors",
                             folder / "model.safetensors", std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "config.json") << R"({"model_type": "horoscope"})";
  expect_error(run_locus({"info", folder.string()}), 4, " more: `locus help checkpoints`");
  std::filesystem::remove_all(folder);
}

TEST(Manual, LinksAndPicturesLeadSomewhere) {
  const std::filesystem::path folder = locus::test::source_dir() + "/assets/manual";
  std::size_t links = 0;
  const auto follow = [&](const std::string& from, const locus::manual::Line& line) {
    for (const Span& span : line) {
      if (span.kind != Span::Kind::kLink || span.target.starts_with("https://arxiv.org/abs/")) {
        continue;
      }
      ++links;
      const Place place = locus::manual::place_of(from, span.target);
      EXPECT_FALSE(place.page.empty()) << from << ": " << span.target;
      EXPECT_FALSE(locus::manual::text_of(place).empty()) << from << ": " << span.target;
    }
  };
  for (const auto& each : locus::manual::pages()) {
    for (const Block& block : blocks_of(each.name)) {
      follow(each.name, block.line);
      for (const auto& row : block.rows) {
        EXPECT_EQ(row.size(), block.rows.front().size()) << each.name << ": " << locus::manual::plain(row.front());
        for (const auto& cell : row) {
          follow(each.name, cell);
        }
      }
      if (block.kind == Block::Kind::kPicture) {
        EXPECT_TRUE(std::filesystem::exists(folder / block.picture)) << each.name << ": " << block.picture;
      }
    }
  }
  EXPECT_GT(links, 50U);
}

// ---- locus help

TEST(Manual, HelpPrintsPagesPartsAndTheList) {
  const Outcome list = run_locus({"help"});
  EXPECT_EQ(list.status, 0);
  for (const auto& each : locus::manual::pages()) {
    EXPECT_TRUE(holds(list.out, "\n  " + each.name + " ")) << each.name;
  }
  const Outcome whole = run_locus({"help", "distance-bias"});
  EXPECT_EQ(whole.status, 0);
  EXPECT_TRUE(holds(whole.out, "Δscore = s_λ − s_Λ")) << whole.out;
  EXPECT_FALSE(holds(whole.out, "](")) << "a link's mark";
  EXPECT_FALSE(holds(whole.out, "**")) << "a bold's mark";
  const Outcome part = run_locus({"help", "cope"});
  EXPECT_TRUE(part.out.starts_with("cope\n────\n")) << part.out;
  EXPECT_FALSE(holds(part.out, "Token-aware phase attention")) << "the next part is not there";
  EXPECT_TRUE(run_locus({"help", "train"}).out.starts_with("locus train\n"));
  EXPECT_TRUE(holds(run_locus({"help", "exit-status"}).out, "130"));
  EXPECT_TRUE(run_locus({"help", "gates", "--markdown"}).out.starts_with("# Gates\n"));
}

TEST(Manual, HelpNamesTheNearestTopics) {
  expect_error(run_locus({"help", "distance-bais"}), 2, "nearest: distance-bias");
  expect_error(run_locus({"help", "rotary"}), 2, "unknown topic rotary");
  expect_error(run_locus({"help", "gates", "--search", "x"}), 2, "--search");
  expect_error(run_locus({"help", "--search", "zyzzyva"}), 2, "zyzzyva");
}

TEST(Manual, SearchFindsPartsByTheirWords) {
  const auto hits = locus::manual::search("perplexity bytes");
  ASSERT_FALSE(hits.empty());
  EXPECT_TRUE(std::any_of(hits.begin(), hits.end(), [](const auto& hit) { return hit.place.page == "length-curve"; }));
  EXPECT_EQ(locus::manual::search("distance bias").front().place.page, "distance-bias") << "headings come first";
  EXPECT_EQ(locus::manual::search("COPE").size(), locus::manual::search("cope").size());
  EXPECT_TRUE(locus::manual::search("").empty());
  EXPECT_TRUE(locus::manual::search("zyzzyva").empty());
}

}  // namespace
