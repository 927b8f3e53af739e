// Edits as data: read, written, refused.
#include "models/api/edits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "models/api/atlas.h"
#include "models/api/model.h"
#include "models/edits/formula.h"
#include "tests/support/paths.h"

namespace locus::test {
namespace {

using models::Edit;
using models::EditKind;
using models::Edits;
using models::Formula;
using models::HeadTo;
using models::PairsDo;

Edits every_kind() {
  Edits edits(20);
  for (std::size_t n = 0; n < edits.size(); ++n) {
    edits[n].kind = static_cast<EditKind>(n);
  }
  edits[0].tokens = {3, 9};
  edits[0].start = 100.5;
  edits[0].step = 2;
  edits[1].tokens = {40, 41};
  edits[1].by = -32;
  edits[2].layer.indices = {3};
  edits[2].head.indices = {0, 1};
  edits[2].to = HeadTo::kPrevious;
  edits[3].head.indices = {2};
  edits[3].queries = {5, 6};
  edits[3].keys = {0, 3};
  edits[4].by = 0.25;
  edits[5].pairs = {0, 8};
  edits[5].action = PairsDo::kDrop;
  edits[6].formula = "-d * 2^(-8*h/H)";
  edits[7].layer.indices = {0, 2};
  edits[7].formula = "500^(-m/M)";
  edits[9].image = 1;
  edits[9].along = {0, 2, -1.5};
  edits[10].image = 2;
  edits[10].rows = {1, 3};
  edits[10].columns = {2, 5};
  edits[11].decay = models::DecayTo::kMean;
  edits[12].layer.indices = {1};
  edits[12].tokens = {4, 6};
  edits[13].head.indices = {2};
  edits[13].at = 7;
  edits[14].layer.indices = {0};
  edits[15].tokens = {4, 6};
  edits[15].formula = "0.5";
  edits[16].layer.indices = {2};
  edits[16].tokens = {4, 6};
  edits[16].formula = "by -1.5";
  edits[17].layer.indices = {1};
  edits[17].tokens = {4, 6};
  edits[17].formula = "1.5";
  edits[18].layer.indices = {1};
  edits[18].tokens = {4, 6};
  edits[18].formula = "mean";
  edits[19].formula = "v2pe:64";
  return edits;
}

models::ModelInfo small_model() {
  models::ModelInfo info;
  info.layers = 4;
  info.heads = 4;
  info.trained_length = 64;
  return info;
}

std::string refused(const std::string& json) {
  const auto edits = models::parse_edits(json, "e.json");
  EXPECT_FALSE(edits.ok()) << json;
  EXPECT_TRUE(edits.ok() || edits.error().code == ErrorCode::kBadInput) << json;
  return edits.ok() ? "" : edits.error().describe();
}

std::string refused_words(const std::string& text) {
  const auto edit = models::parse_edit(text, 2);
  EXPECT_FALSE(edit.ok()) << text;
  EXPECT_TRUE(edit.ok() || edit.error().code == ErrorCode::kBadInput) << text;
  return edit.ok() ? "" : edit.error().describe();
}

TEST(Edits, EveryKindIsReadAsItIsWritten) {
  const Edits edits = every_kind();
  const auto again = models::parse_edits(models::to_json(edits), "e.json");
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ(*again, edits);
  for (const Edit& edit : edits) {
    const auto words = models::parse_edit(models::to_text(edit), 0);
    ASSERT_TRUE(words.ok()) << words.error().describe();
    EXPECT_EQ(*words, edit) << models::to_text(edit);
  }
}

TEST(Edits, ShortFormsAreTheTablesWords) {
  const Edits edits = every_kind();
  EXPECT_EQ(models::to_text(edits[0]), "positions 3:9 start 100.5 step 2");
  EXPECT_EQ(models::to_text(edits[1]), "shift 40:41 by -32");
  EXPECT_EQ(models::to_text(edits[2]), "head 3.0,1 previous");
  EXPECT_EQ(models::to_text(edits[3]), "edge all.2 queries 5:6 keys 0:3");
  EXPECT_EQ(models::to_text(edits[5]), "pairs all.all 0:8 drop");
  EXPECT_EQ(models::to_text(edits[6]), "bias all.all -d * 2^(-8*h/H)");
  EXPECT_EQ(models::to_text(edits[8]), "positions flat");
  EXPECT_EQ(models::to_text(edits[9]), "shift image 1 by 0,2,-1.5");
  EXPECT_EQ(models::to_text(edits[10]), "mask image 2 1:3,2:5");
  EXPECT_EQ(models::to_text(edits[11]), "decay all.all mean");
  EXPECT_EQ(models::to_text(edits[12]), "unwrite 1.all 4:6");
  EXPECT_EQ(models::to_text(edits[13]), "reset all.2 at 7");
  EXPECT_EQ(models::to_text(edits[14]), "mixer zero 0.all");
  EXPECT_EQ(models::to_text(edits[15]), "gates all.all tokens 4:6 0.5");
  EXPECT_EQ(models::to_text(*models::parse_edit("gates 1.0 mean", 0)), "gates 1.0 mean");
  EXPECT_EQ(models::to_text(edits[16]), "place 2.all tokens 4:6 by -1.5");
  EXPECT_EQ(models::to_text(edits[17]), "beta 1.all tokens 4:6 1.5");
  EXPECT_EQ(models::to_text(*models::parse_edit("beta 1.0 mean", 0)), "beta 1.0 mean");
  EXPECT_EQ(models::to_text(edits[19]), "positions as v2pe:64");
  EXPECT_EQ(models::to_text(edits[18]), "direction 1.all tokens 4:6 mean");
  EXPECT_EQ(models::to_text(*models::parse_edit("direction 1.0 mean", 0)), "direction 1.0 mean");
  for (const char* const place :
       {"place 1.0 2.5", "place 1.0 index", "place 1.0 mix 0.25", "place 1.0 tokens 3:9 sorted"}) {
    EXPECT_EQ(models::to_text(*models::parse_edit(place, 0)), place);
  }
  for (const auto& [other, same] :
       {std::pair{"  head  3.1   zero ", "head 3.1 to zero"},
        std::pair{"positions 3:9 7", "positions tokens 3:9 start 7 step 1"},
        std::pair{"edge 0.0 1:2 0:1", "edge 0.0 queries 1:2 keys 0:1"},
        std::pair{"head 3.1 pairs 3-7 off", "pairs 3.1 3:8 drop"},
        std::pair{"head 3.1 pairs 3:7 off", "pairs 3.1 3:7 drop"},
        std::pair{"head all.all  pairs 3  still", "pairs all.all 3:4 still"},
        std::pair{"head 3.1 wavelengths 8..40 off", "pairs 3.1 wavelengths 8..40 drop"},
        std::pair{"head 0.all position off", "head 0.all content"}, std::pair{"gates 1.0 1", "gates 1.0 to 1"},
        std::pair{"bias 0.0  d<64 ? 0 : -2", "bias 0.0 formula d<64 ? 0 : -2"}}) {
    const auto a = models::parse_edit(other, 0);
    const auto b = models::parse_edit(same, 0);
    ASSERT_TRUE(a.ok() && b.ok()) << other << ": " << (a.ok() ? b : a).error().describe();
    EXPECT_EQ(*a, *b);
  }
}

TEST(Edits, PairsAreNamedByTheirNumbersOrTheirWavelengths) {
  const auto edit = models::parse_edit("head 3.1 wavelengths 8..40.5 off", 0);
  ASSERT_TRUE(edit.ok()) << edit.error().describe();
  EXPECT_EQ(edit->kind, EditKind::kPairs);
  EXPECT_EQ(models::to_text(*edit), "pairs 3.1 wavelengths 8..40.5 drop");
  EXPECT_EQ(models::to_json({*edit}),
            R"({"edits":[{"do":"drop","edit":"pairs","head":1,"layer":3,"wavelengths":"8..40.5"}]})");
  EXPECT_EQ(*models::parse_edits(models::to_json({*edit}), "e.json"), models::Edits{*edit});
  const auto wrong = [](const std::string& words) {
    const Status fits = models::check_edits({*models::parse_edit(words, 0)}, small_model(), 10);
    return fits.ok() ? "" : fits.error().describe();
  };
  for (const char* good : {"8..40", "8..", "..40", "0..0"}) {
    EXPECT_EQ(wrong(std::string("pairs 3.1 wavelengths ") + good + " drop"), "");
  }
  for (const char* bad : {"40..8", "..", "8-40", "8", "-1..3", "a..b", "8..nan"}) {
    EXPECT_EQ(wrong(std::string("pairs 3.1 wavelengths ") + bad + " drop").find("edits[0].wavelengths: expected"), 0U)
        << bad;
  }
  EXPECT_NE(refused_words("pairs 3.1 0:3 wavelengths 8..40 drop").find("no pairs beside wavelengths"),
            std::string::npos);
  EXPECT_NE(refused_words("pairs 3.1 drop").find("edits[2].pairs"), std::string::npos);
  EXPECT_NE(refused_words("head 3.1 pairs 3-7 on").find("edits[2].do"), std::string::npos);
  EXPECT_NE(refused_words("head 3.1 pairs 7-3 off").find("edits[2].pairs"), std::string::npos);
  EXPECT_NE(refused_words("head 3.1 position on").find("edits[2].to"), std::string::npos);
  EXPECT_NE(refused_words("head 3.1 position off now").find("found now"), std::string::npos);
}

TEST(Edits, WhatIsWrongIsNamedByIndexAndField) {
  EXPECT_EQ(refused(R"({"edits": [{"edit": "head", "layer": 0, "head": 0, "to": "nothing"}]})"),
            "e.json: edits[0].to: expected one of zero, mean, uniform, first, previous, self, content, found "
            "\"nothing\"");
  EXPECT_EQ(
      refused(R"({"edits": [{"edit": "wish"}]})"),
      "e.json: edits[0].edit: expected one of positions, shift, head, edge, scale, pairs, bias, angles, positions "
      "flat, shift image, mask image, decay, unwrite, reset, mixer zero, gates, place, beta, direction, positions as, "
      "found "
      "\"wish\"");
  EXPECT_NE(refused(R"({"edits": [{"edit": "shift", "tokens": [0, 1], "by": 1, "size": 3}]})")
                .find("edits[0].size: expected no such field of shift"),
            std::string::npos);
  EXPECT_NE(refused(R"({"edits": [{"edit": "shift", "tokens": [4, 4], "by": 1}]})").find("edits[0].tokens"),
            std::string::npos);
  EXPECT_NE(refused(R"({"edits": [{"edit": "shift", "tokens": [-1, 4], "by": 1}]})").find("edits[0].tokens"),
            std::string::npos);
  EXPECT_NE(refused(R"({"edits": [{"edit": "shift", "tokens": [0, 4]}]})").find("edits[0].by: expected a value"),
            std::string::npos);
  EXPECT_NE(refused(R"({"edits": [{"edit": "scale", "layer": [], "head": 0, "by": 1}]})").find("edits[0].layer"),
            std::string::npos);
  EXPECT_NE(refused(R"({"edits": [7]})").find("edits[0]: expected an object"), std::string::npos);
  EXPECT_NE(refused("[]").find("the one field edits"), std::string::npos);
  EXPECT_NE(refused(R"({"edits": [], "more": 1})").find("the one field edits"), std::string::npos);
  EXPECT_NE(refused("{").find("e.json"), std::string::npos);
  EXPECT_NE(refused_words("head 3 zero").find("edits[2].head"), std::string::npos);
  EXPECT_NE(refused_words("head x.1 zero").find("edits[2].layer"), std::string::npos);
  EXPECT_NE(refused_words("shift 40 by 1").find("edits[2].tokens"), std::string::npos);
  EXPECT_NE(refused_words("shift 40:41 by much").find("edits[2].by"), std::string::npos);
  EXPECT_NE(refused_words("head 3.1 zero now").find("found now"), std::string::npos);
  EXPECT_NE(refused_words("").find("edits[2].edit"), std::string::npos);
  EXPECT_NE(refused_words("bias 0.0").find("edits[2].formula"), std::string::npos);
  EXPECT_NE(refused_words("shift image 0 by 1,2").find("edits[2].by: expected a finite number, or three"),
            std::string::npos);
  EXPECT_NE(refused_words("shift image -1 by 1").find("edits[2].image"), std::string::npos);
  EXPECT_NE(refused_words("mask image 0 1:3").find("edits[2].columns"), std::string::npos);
  EXPECT_NE(refused_words("mask image 0 3:1,0:1").find("edits[2].rows"), std::string::npos);
  EXPECT_NE(refused_words("decay 0.0 zero").find("edits[2].to: expected one of keep, mean"), std::string::npos);
  EXPECT_NE(refused_words("unwrite 0.0 3").find("edits[2].tokens"), std::string::npos);
  EXPECT_NE(refused_words("reset 0.0 at -1").find("edits[2].at"), std::string::npos);
  EXPECT_NE(refused_words("mixer zero 0").find("edits[2].head"), std::string::npos);
  EXPECT_NE(refused_words("positions flat 3").find("found 3"), std::string::npos);
  EXPECT_NE(refused_words("positions as").find("edits[2].design"), std::string::npos);
}

TEST(Edits, AModelAndATextLimitThem) {
  const auto found = [](const std::string& text, std::int64_t length = 10) {
    const auto edit = models::parse_edit(text, 0);
    EXPECT_TRUE(edit.ok()) << text;
    const Status fits = models::check_edits({*edit}, small_model(), length);
    EXPECT_TRUE(fits.ok() || fits.error().code == ErrorCode::kBadInput);
    return fits.ok() ? "" : fits.error().describe();
  };
  EXPECT_EQ(found("head 3.3 zero"), "");
  EXPECT_EQ(found("head 4.3 zero"), "edits[0].layer: expected 0 to 3, found 4");
  EXPECT_EQ(found("head all.0,4 zero"), "edits[0].head: expected 0 to 3, found 4");
  EXPECT_EQ(found("shift 9:10 by 1"), "");
  EXPECT_EQ(found("shift 9:11 by 1"), "edits[0].tokens: expected a range within 0 to 10, found 9 to 11");
  EXPECT_EQ(found("shift 9:11 by 1", 0), "");
  EXPECT_NE(found("edge 0.0 0:11 0:1").find("edits[0].queries"), std::string::npos);
  EXPECT_NE(found("edge 0.0 0:1 0:11").find("edits[0].keys"), std::string::npos);
  EXPECT_EQ(found("bias 0.0 d/L"), "");
  EXPECT_NE(found("bias 0.0 d/").find("edits[0].formula: \"d/\" at character"), std::string::npos);
  EXPECT_NE(found("angles 0.0 2^d").find("unknown name d; known: m, M, D, base, L, T"), std::string::npos);
}

TEST(Edits, KindsOfLayersAreThoseOfTheModel) {
  models::ModelInfo info = small_model();
  info.layer_info.resize(4);
  info.layer_info[0].window = 8;
  info.layer_info[2].chunk = 4;
  info.layer_info[3].attends = false;
  const auto layers = [&](const std::string& text) {
    const auto edit = models::parse_edit(text, 0);
    EXPECT_TRUE(edit.ok()) << text;
    EXPECT_EQ(models::to_text(*edit), text);
    EXPECT_EQ(*models::parse_edits(models::to_json({*edit}), "e.json"), Edits{*edit});
    const auto resolved = models::with_layers({*edit}, info);
    EXPECT_TRUE(resolved.ok()) << text;
    EXPECT_EQ(resolved->front().layer.kind, "");
    return resolved->front().layer.indices;
  };
  EXPECT_EQ(layers("head local.all zero"), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(layers("head global.1 zero"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(layers("head all.1 zero"), (std::vector<std::int64_t>()));
  EXPECT_TRUE(models::check_edits({*models::parse_edit("scale local.3 by 2", 0)}, info).ok());
  EXPECT_EQ(models::check_edits({*models::parse_edit("scale local.4 by 2", 0)}, info).error().describe(),
            "edits[0].head: expected 0 to 3, found 4");
  EXPECT_EQ(models::check_edits({*models::parse_edit("head 0.local zero", 0)}, info).error().describe(),
            "edits[0].head: expected numbers of heads or all, found local");
  info.layer_info[0].window = info.layer_info[2].chunk = 0;
  EXPECT_EQ(models::check_edits({*models::parse_edit("head local.0 zero", 0)}, info).error().describe(),
            "edits[0].layer: expected a checkpoint with local layers, found none in this one");
}

TEST(Edits, ALineCanNameTheHeadsOfAnAtlas) {
  const std::string file = source_dir() + "/assets/atlases/text-rope-800.safetensors";
  const auto atlas = models::open_atlas(file);
  ASSERT_TRUE(atlas.ok()) << atlas.error().describe();
  std::vector<std::string> above;
  std::vector<std::string> below;
  for (std::int64_t layer = 0; layer < (*atlas)->info().layers; ++layer) {
    const auto values = (*atlas)->values("heads.previous", layer);
    for (std::int64_t head = 0; head < (*atlas)->info().heads; ++head) {
      const std::string place = "head " + std::to_string(layer) + "." + std::to_string(head);
      (values->mean[static_cast<std::size_t>(head)] > 0.2 ? above : below).push_back(place);
    }
  }
  ASSERT_FALSE(above.empty());
  ASSERT_FALSE(below.empty());
  const auto texts = [&](const std::string& line) {
    const auto edits = models::parse_edit_line(line, 1);
    EXPECT_TRUE(edits.ok()) << line << ": " << edits.error().describe();
    std::vector<std::string> said;
    for (const Edit& edit : *edits) {
      said.push_back(models::to_text(edit));
    }
    return said;
  };
  const auto with = [](std::vector<std::string> places, const std::string& change) {
    for (std::string& place : places) {
      place += change;
    }
    return places;
  };
  EXPECT_EQ(texts("heads previous > 0.2 zero of " + file), with(above, " zero"));
  EXPECT_EQ(texts("heads heads.previous<0.2 mean of " + file), with(below, " mean"));
  EXPECT_EQ(texts("head 3.1 zero"), std::vector<std::string>{"head 3.1 zero"});
  const auto refused = [](const std::string& line) {
    const auto edits = models::parse_edit_line(line, 1);
    return edits.ok() ? "" : edits.error().describe();
  };
  EXPECT_NE(refused("heads previous > 2 zero of " + file).find("expected a head with heads.previous > 2"),
            std::string::npos);
  EXPECT_NE(refused("heads previous > 2 zero of " + file).find("found at most 0."), std::string::npos);
  EXPECT_NE(refused("heads previous > 0.2 of " + file).find("edits[1]: expected \"heads STATISTIC"), std::string::npos);
  EXPECT_NE(refused("heads previous zero of " + file).find("edits[1]: expected"), std::string::npos);
  EXPECT_NE(refused("heads wish > 0 zero of " + file).find("wish"), std::string::npos);
  EXPECT_NE(refused("heads profile.weight > 0 zero of " + file).find("one number for each head"), std::string::npos);
  EXPECT_NE(refused("heads previous > 0.2 zero of nowhere.safetensors").find("nowhere"), std::string::npos);
  EXPECT_NE(refused("heads previous > 0.2 dance of " + file).find("edits[1].to"), std::string::npos);
}

TEST(Edits, TheFirstDifferenceIsTheLowestLayerEdited) {
  const auto list = [](std::initializer_list<const char*> texts) {
    Edits edits;
    for (const char* text : texts) {
      edits.push_back(*models::parse_edit(text, 0));
    }
    return edits;
  };
  EXPECT_EQ(models::first_difference({}, {}, 4), 4);
  EXPECT_EQ(models::first_difference({}, list({"head 2.0 zero"}), 4), 2);
  EXPECT_EQ(models::first_difference(list({"head all.0 zero"}), list({"head all.0 zero", "scale 3.1 by 2"}), 4), 3);
  EXPECT_EQ(models::first_difference(list({"head 1.0 zero"}), list({"head 1,2.0 zero"}), 4), 2);
  EXPECT_EQ(models::first_difference(list({"head 3.0 zero"}), list({"shift 0:1 by 1", "head 3.0 zero"}), 4), 0);
  EXPECT_EQ(models::first_difference(list({"head 3.0 zero"}), list({"positions flat", "head 3.0 zero"}), 4), 0);
  EXPECT_EQ(models::first_difference(list({"shift image 0 by 1"}), list({"shift image 0 by 2"}), 4), 0);
  EXPECT_EQ(models::first_difference({}, list({"mask image 0 0:1,0:1"}), 4), 0);
}

TEST(Edits, FormulasSayWhereTheyCannotBeRead) {
  const auto wrong = [](const std::string& text) {
    const auto formula = Formula::compile(text, models::bias_variables());
    EXPECT_FALSE(formula.ok()) << text;
    return formula.ok() ? "" : formula.error().describe();
  };
  EXPECT_EQ(wrong("d*q").find("\"d*q\" at character 3: unknown name q; known: d, i, j, h, H, T, L"), 0U)
      << wrong("d*q");
  EXPECT_EQ(wrong("(d+1").find("\"(d+1\" at character"), 0U);
  EXPECT_EQ(wrong("d = 3").find("\"d = 3\" at character 3: unexpected ="), 0U);
  EXPECT_EQ(wrong("d, h").find("\"d, h\" at character 2: expected one value"), 0U);
  EXPECT_EQ(wrong("d & h").find("\"d & h\" at character 3: unexpected &; && and || are logical"), 0U);
  EXPECT_EQ(wrong("d ||| h").find("\"d ||| h\" at character 5: unexpected |"), 0U);
  EXPECT_LT(wrong(std::string(1900, '(')).size(), 300U);
  wrong("");
  wrong("\"text\"");
  wrong(std::string(3000, '1'));
}

TEST(Edits, FormulasAreNumbers) {
  const auto value = [](const std::string& text, double d, double h) {
    const auto formula = Formula::compile(text, models::bias_variables());
    EXPECT_TRUE(formula.ok()) << (formula.ok() ? "" : formula.error().describe());
    double result = 0;
    const auto set = [&](std::int64_t, double* values) {
      std::ranges::copy(std::array{d, d + 3, 3.0, h, 8.0, 20.0, 64.0}, values);
    };
    formula->each(1, set, &result);
    return result;
  };
  EXPECT_DOUBLE_EQ(value("-d*2^(-8*h/H)", 5, 2), -5 * std::exp2(-2));
  EXPECT_DOUBLE_EQ(value("d < 64 ? 0 : -2", 63, 1), 0);
  EXPECT_DOUBLE_EQ(value("d < 64 ? 0 : -2", 64, 1), -2);
  EXPECT_DOUBLE_EQ(value("i - j == d && d >= 0 ? 7 : 1", 4, 1), 7);
  EXPECT_DOUBLE_EQ(value("T + L + min(i, j)", 4, 1), 87);
  // What is not 0 is true, a fraction too.
  EXPECT_DOUBLE_EQ(value("0.5 && 1", 4, 1), 1);
  EXPECT_DOUBLE_EQ(value("0.5&&-0.25", 4, 1), 1);
  EXPECT_DOUBLE_EQ(value("0 && 0.5", 4, 1), 0);
  EXPECT_DOUBLE_EQ(value("0.25 || 0", 4, 1), 1);
  EXPECT_DOUBLE_EQ(value("0||0", 4, 1), 0);
  EXPECT_DOUBLE_EQ(value("d/8 && h/4 ? 3 : 2", 4, 1), 3);
  EXPECT_DOUBLE_EQ(value("0 && 0 || 1", 4, 1), 1);
  EXPECT_DOUBLE_EQ(value("1 || 0 && 0", 4, 1), 1);  // && binds first
  EXPECT_DOUBLE_EQ(value("d>3&&d<5||d==9", 4, 1), 1);
  EXPECT_TRUE(!std::isfinite(value("ln(d)", 0, 1)));
  EXPECT_TRUE(!std::isfinite(value("1/d", 0, 1)));
}

}  // namespace
}  // namespace locus::test
