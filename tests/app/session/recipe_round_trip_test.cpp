// A figure draws itself again: what `locus --figures` wrote of every view, from the recipe inside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "app/views/shared/view.h"
#include "tests/support/browser.h"
#include "tests/support/hybrid.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

#if LOCUS_GUI

namespace {

using locus::testing_support::read_text;
using locus::testing_support::run_locus;

// The checkpoints that each view is drawn of, its options and its input.
struct Drawn {
  std::string columns;
  std::string state;
  std::string input = R"("text": "One boat left, two boats stayed.")";
};

// Shows a view that is not listed with the first head of text-rope.
std::map<std::string, Drawn> figures() {
  const std::string image = R"("image": ")" + locus::test::source_dir() + R"(/assets/samples/star.png")";
  std::map<std::string, Drawn> figures = {
      {"attention",
       {"text-rope text-tape", R"("layer": 1, "head": 2, "difference": true, "scale": {"transfer": "log"})"}},
      {"attention-grid", {"text-rope", R"("scale": {"colormap": "magma", "shared": false})"}},
      {"attention-text", {"text-rope", R"("query": 9)"}},
      {"attention-image",
       {"shapes-seqpe", R"("layer": 3, "options": {"attention-image": {"all-heads": true}})", image}},
      {"pe-dot-product", {"text-rope", R"("options": {"pe-dot-product": {"layers": true, "centred": true}})"}},
      {"pe-dot-product-2d",
       {"shapes-seqpe shapes-learned",
        R"("head": -1, "scale": {"shared": false}, "options": {"pe-dot-product-2d": {"cosine": true, "centred": true}})",
        image}},
      {"gates", {"text-cope", R"("head": 2, "options": {"gates": {"boundary": "\\s"}})"}},
      {"positions", {"text-cope", R"("head": 2, "options": {"positions": {"strip": 9}})"}},
      {"position-attention", {"text-cope", R"("head": 2)"}},
      {"distance-bias", {"text-rope text-rope:2000", R"("options": {"distance-bias": {"pairs": 200}})"}},
      {"distance-profile",
       {"text-rope", R"("quantity": "logit", "options": {"distance-profile": {"theory": "llama"}})"}},
      {"kernel", {"text-rope text-alibi", R"("layer": 0, "head": 3, "options": {"kernel": {"reach": 64, "at": 2}})"}},
      {"pair-energy", {"text-rope", R"("layer": 1, "options": {"pair-energy": {"over": "layers"}})"}},
      {"pair-scores", {"text-rope", R"("layer": 0, "head": 3, "query": 9, "key": 8)"}},
      {"pair-profile",
       {"text-rope text-rope:2000", R"("layer": 2, "head": 1, "options": {"pair-profile": {"without": "9"}})"}},
      {"pair-plane", {"text-rope", R"("layer": 2, "head": 1, "options": {"pair-plane": {"pair": 9}})"}},
      {"shift-stability", {"text-rope text-rope:2000", R"("options": {"shift-stability": {"move": "tokens"}})"}},
      {"picture-stability",
       {"shapes-rope-mixed shapes-learned",
        R"("options": {"picture-stability": {"move": "rotate", "most": 30, "steps": 1, "measure": "states"}})", image}},
      {"length-curve", {"text-rope", R"("options": {"length-curve": {"shortest": 8, "longest": 32, "scored": 4}})"}},
      {"task-accuracy",
       {"addition-rope addition-tape", R"("options": {"task-accuracy": {"accuracy": true}})", R"("ids": [0])"}},
      {"training-curve", {"text-rope text-cope", R"("options": {"training-curve": {"of": "both"}})", R"("ids": [0])"}},
      {"heads", {"text-rope", R"("layer": 0)"}},
      {"addressing",
       {"text-rope text-rope:2000", R"("layer": 0, "head": 3, "options": {"addressing": {"of": "pairs"}})"}},
      {"atlas",
       {"atlas:text-rope-800 atlas:text-cope",
        R"("options": {"atlas": {"y": "entropy", "size": "distance", "heads": "0.3 1"}})", ""}},
      {"mean-map",
       {"atlas:text-rope-800 atlas:text-alibi", R"("layer": 0, "head": 3, "options": {"mean-map": {"of": "low"}})",
        ""}},
      {"loss-by-position",
       {"atlas:text-rope-800 atlas:text-learned", R"("options": {"loss-by-position": {"smooth": 8}})", ""}},
      {"training", {"atlas:text-rope-800", R"("options": {"training": {"statistic": "previous", "heads": "0"}})", ""}},
      {"needle", {"atlas:text-rope-800", R"("layer": 0, "head": 3, "options": {"needle": {"of": "needle"}})", ""}},
      {"examples",
       {"atlas:text-words-rope-1500", R"("layer": 1, "head": 2, "options": {"examples": {"level": 5}})", ""}},
      {"head-difference", {"text-rope text-rope:2000", R"("layer": 0)"}},
      {"knock-out", {"text-rope", R"("options": {"knock-out": {"to": "uniform", "measure": "kl", "null": 8}})"}},
      {"learned-positions",
       {"text-repo", R"("layer": 1, "head": 2, "options": {"learned-positions": {"head": true}})"}},
      {"transform",
       {"family:path_attn family:path_attn#2", R"("layer": 1, "head": 2, "options": {"transform": {"of": "carried"}})",
        R"("ids": [3, 1, 4, 1, 5, 9, 2, 6])"}},
      {"transform-steps",
       {"family:path_attn", R"("layer": 1, "head": 2, "query": 6, "key": 1)", R"("ids": [3, 1, 4, 1, 5, 9, 2, 6])"}},
      {"perceived-distance",
       {"text-rope text-cope",
        R"("layer": 1, "head": 2, "query": 20, "options": {"perceived-distance": {"shares": false}})"}},
      {"memory", {"hybrid:qwen3_next hybrid:lfm2", R"("layer": 0)", R"("ids": [11, 76, 88, 57, 25, 39])"}},
      {"move", {"text-rope text-rope:2000", R"("options": {"move": {"tokens": "8:10", "by": "-4:4:2"}})"}},
      {"reading", {"text-rope", R"("head": 3, "options": {"reading": {"of": "head"}})"}},
      {"logit-lens", {"text-rope", R"("options": {"logit-lens": {"token": "e"}})"}},
      {"repeated-text", {"text-rope text-rope#3", R"("options": {"repeated-text": {"period": 12, "inputs": 3}})"}},
      {"state-norms", {"text-rope", R"("options": {"state-norms": {"of": "values"}})"}},
      {"logit-attribution",
       {"text-rope text-rope:2000", R"("options": {"logit-attribution": {"against": "e", "at": 5}})"}},
      {"score-sources",
       {"text-rope text-rope:2000", R"("layer": 2, "head": 1, "options": {"score-sources": {"shown": 4}})"}},
      {"effect", {"text-rope text-rope#3", R"("options": {"effect": {"of": "kl", "as": "text"}})"}},
  };
  for (const auto* view : locus::views::views()) {
    figures.emplace(view->info().name, Drawn{"text-rope", R"("layer": 0)"});
  }
  return figures;
}

// "text-rope:2000" is the checkpoint with another RoPE base, "text-rope#3" the one without its head 0.3, "atlas:text-rope-800" a bundled atlas, "family:fox" one of
// tests/golden/families, "family:path_attn#2" with other strengths of two tokens in its head 1.2, "hybrid:lfm2" a tiny model, which is written into `folder`.
std::string columns_json(const std::string& names, const std::filesystem::path& folder) {
  std::istringstream words(names);
  std::string json;
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find_first_of(":#");
    json += json.empty() ? "" : ", ";
    if (word.starts_with("hybrid:")) {
      const std::filesystem::path own = folder / word.substr(7);
      std::filesystem::create_directories(own);
      locus::test::write_hybrid(word.substr(7), own);
      json += R"({"path": ")" + own.string() + "\"}";
      continue;
    }
    if (word.starts_with("family:")) {
      json += R"({"path": ")" + locus::test::source_dir() + "/tests/golden/families/" +
              word.substr(7, word.find('#') - 7) + "\"";
      json += word.find('#') == std::string::npos
                  ? "}"
                  : R"(, "edits": [{"edit": "beta", "layer": 1, "head": )" + word.substr(word.find('#') + 1) +
                        R"(, "tokens": [3, 5], "to": "1"}]})";
      continue;
    }
    if (word.starts_with("atlas:")) {
      json += R"({"path": ")" + locus::test::source_dir() + "/assets/atlases/" + word.substr(6) + ".safetensors\"}";
      continue;
    }
    json += R"({"path": ")" + locus::test::source_dir() + "/assets/checkpoints/" + word.substr(0, colon) + "\"";
    json += colon == std::string::npos ? "}"
            : word[colon] == ':'       ? R"(, "rope_base": )" + word.substr(colon + 1) + "}"
                                 : R"(, "edits": [{"edit": "head", "layer": 0, "head": )" + word.substr(colon + 1) +
                                       R"(, "to": "zero"}]})";
  }
  return json;
}

TEST(RecipeRoundTrip, EveryViewIsDrawnAgainFromItsOwnFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_round_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string bookmarks;
  const std::map<std::string, Drawn> drawings = figures();
  for (const auto& [name, drawn] : drawings) {
    bookmarks += (bookmarks.empty() ? "" : ",\n") + std::string(R"({"name": ")") + name + R"(", "input": {)" +
                 drawn.input + R"(}, "columns": [)" + columns_json(drawn.columns, folder) +
                 R"(], "state": {"view": ")" + name + "\", " + drawn.state + "}}";
  }
  std::ofstream(folder / "all.locus.json") << R"({"locus": "session/1", "bookmarks": [)" << bookmarks << "]}";
  const auto made = run_locus({"--figures", (folder / "drawn").string(), (folder / "all.locus.json").string()});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.err.find("locus: "), std::string::npos) << made.err;  // progress alone
  for (const auto& [name, unused] : drawings) {
    for (const std::string ending : {".png", ".pdf", ".html"}) {
      const auto first = folder / "drawn" / (name + ending);
      const auto second = folder / ("again" + ending);
      const auto again = run_locus({"figure", "--recipe", first.string(), "--out", second.string()});
      ASSERT_EQ(again.status, 0) << name << ending << ": " << again.err;
      EXPECT_EQ(again.err, "") << name << ending;
      EXPECT_GT(read_text(first).size(), 1000U) << name << ending;
      EXPECT_TRUE(read_text(first) == read_text(second)) << name << ending << " is another picture";
    }
  }
  if (locus::test::browser()) {  // every page is drawn where it is read
    std::vector<std::filesystem::path> pages;
    for (const auto& [name, unused] : drawings) {
      pages.push_back(folder / "drawn" / (name + ".html"));
    }
    const std::string said = locus::test::looked_at(pages, folder / "all.html");
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), std::ssize(pages)) << said;
    EXPECT_EQ(said.find("not ready"), std::string::npos) << said;
  }
  // Another format of the same recipe is as faithful.
  const std::string png = (folder / "drawn/positions.png").string();
  for (const auto& [from, to] :
       {std::pair(png, "first.svg"), std::pair((folder / "first.svg").string(), "second.svg")}) {
    ASSERT_EQ(run_locus({"figure", "--recipe", from, "--out", (folder / to).string()}).status, 0) << to;
  }
  EXPECT_TRUE(read_text(folder / "first.svg") == read_text(folder / "second.svg"));
  std::filesystem::remove_all(folder);
}

}  // namespace

#endif
