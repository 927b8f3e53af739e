// The views of images and positions: their numbers against formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "app/views/shared/plots/map_lines.h"
#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/view.h"
#include "core/base/numbers.h"
#include "renderers/figure/layout.h"
#include "tests/support/fake_model.h"
#include "tests/support/fake_views.h"

namespace locus::views {
namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kColumns = 5;
constexpr std::int64_t kPrefix = 3;  // class token and two registers

using namespace test_views;

// With a model, as image models have one.
ViewInput fake_open_text(const std::string& text) {
  test::FakeShape shape;
  shape.gates = true;
  ViewInput input;
  input.columns.push_back(
      {"fake", std::make_shared<test::FakeModel>(shape), std::make_shared<test::FakeTrace>(shape, text)});
  return input;
}

figure::Hit hit_at(std::size_t panel, double x, double y) {
  figure::Hit hit;
  hit.panel = panel;
  hit.x = x;
  hit.y = y;
  return hit;
}

TEST(ImageViews, PatchesAreTheQuerysRowWithoutClassTokenAndRegisters) {
  ViewInput input = fake_image();
  for (const std::int64_t query : {kNone, kPrefix + 7}) {
    input.query = query;
    const auto data = view_of("attention-image").data(input);
    ASSERT_TRUE(data.ok()) << data.error().describe();
    ASSERT_EQ(data->shape, (std::vector<std::int64_t>{kRows, kColumns}));
    for (std::int64_t n = 0; n < kRows * kColumns; ++n) {
      expect_close(data->values[static_cast<std::size_t>(n)],
                   fake(input).weight(0, 0, query == kNone ? 0 : query, kPrefix + n));
    }
  }
  input.layer = kAll;
  input.head = kAll;
  const auto all = view_of("attention-image").data(input);
  ASSERT_TRUE(all.ok()) << all.error().describe();
  ASSERT_EQ(all->shape, (std::vector<std::int64_t>{3, 4, kRows, kColumns}));
  expect_close(all->values[static_cast<std::size_t>((2 * 4 + 3) * 15 + 4)],
               fake(input).weight(2, 3, kPrefix + 7, kPrefix + 4));
}

TEST(ImageViews, TheImageLiesUnderTheWholeGridAndTheQueryIsFramed) {
  ViewInput input = fake_image();
  input.query = kPrefix + 7;  // row 1, column 2
  input.options.set("sinks", 0.0);
  const auto figure = view_of("attention-image").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const figure::Panel& panel = figure->panels.front();
  ASSERT_EQ(panel.layers.size(), 5U);  // the picture, its numbers, two lines of an outline, the frame
  const auto& image = std::get<figure::ImageLayer>(panel.layers[0]);
  EXPECT_EQ(image.width, 4 * kColumns);
  EXPECT_EQ(image.height, 4 * kRows);
  EXPECT_EQ(image.x.high, kColumns);
  EXPECT_EQ(image.y.high, kRows);
  EXPECT_EQ(std::get<figure::HeatMap>(panel.layers[1]).opacity, 0);
  const auto& box = std::get<figure::Box>(panel.layers[4]);
  EXPECT_EQ(box.x.low, 2);
  EXPECT_EQ(box.y.low, 1);
  EXPECT_NE(panel.note.find("patch 1, 2"), std::string::npos) << panel.note;
  EXPECT_NE(panel.note.find("registers"), std::string::npos) << panel.note;
}

TEST(ImageViews, AClickOnAPatchMakesItTheQuery) {
  ViewInput input = fake_image();
  const Selection picked = view_of("attention-image").pick(input, hit_at(0, 4.5, 2.1));
  EXPECT_EQ(picked.query, kPrefix + 14);
  EXPECT_FALSE(view_of("attention-image").pick(input, hit_at(0, 5.5, 2.1)).query.has_value());
  const auto places = view_of("attention-image").places(input, picked);
  ASSERT_EQ(places.size(), 2U);  // in the picture itself too
  EXPECT_EQ(places[0].x.low, 4);
  EXPECT_EQ(places[0].y.low, 2);
  EXPECT_EQ(view_of("attention-image").pick(input, hit_at(1, 4.5, 2.1)).query, kPrefix + 14);
  input.options.set("all-heads", true);
  EXPECT_EQ(view_of("attention-image").figure(input)->panels.size(), 5U);
  EXPECT_EQ(view_of("attention-image").pick(input, hit_at(3, 0.5, 0.5)).head, 3);
  const Selection of_picture = view_of("attention-image").pick(input, hit_at(4, 0.5, 0.5));
  EXPECT_EQ(of_picture.query, kPrefix);
  EXPECT_FALSE(of_picture.head.has_value());
  input.options.set("plain", false);
  EXPECT_EQ(view_of("attention-image").figure(input)->panels.size(), 4U);
}

// (rows, columns) of patches.
Field patches_with(std::int64_t rows, std::int64_t columns, std::vector<float> values) {
  Field field = Field::zeros(rows, columns);
  field.values = std::move(values);
  return field;
}

// All subsets, from the smallest on.
std::size_t fewest_with_half(const std::vector<float>& values) {
  double all = 0;
  for (const float value : values) {
    all += static_cast<double>(value);
  }
  std::size_t fewest = values.size();
  for (std::size_t set = 0; set < std::size_t{1} << values.size(); ++set) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
      const bool in = (set >> n & 1) != 0;
      sum += in ? static_cast<double>(values[n]) : 0;
      count += in ? 1 : 0;
    }
    fewest = 2 * sum >= all ? std::min(fewest, count) : fewest;
  }
  return fewest;
}

TEST(ImageViews, HalfOfTheWeightIsInTheFewestPatches) {
  const std::vector<std::vector<float>> lists{{0.4F, 0.1F, 0.2F, 0.3F, 0.05F, 0.15F},
                                              {0.9F, 0.01F, 0.02F, 0.03F, 0.01F, 0.03F},
                                              {0.11F, 0.12F, 0.13F, 0.14F, 0.15F, 0.16F}};
  for (const std::vector<float>& values : lists) {
    const std::vector<bool> half = half_of_weight(patches_with(2, 3, values));
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(half, true)), fewest_with_half(values));
    for (std::size_t in = 0; in < values.size(); ++in) {
      for (std::size_t out = 0; out < values.size(); ++out) {
        EXPECT_FALSE(half[in] && !half[out] && values[in] < values[out]);
      }
    }
  }
  const float none = std::nanf("");
  EXPECT_EQ(std::ranges::count(half_of_weight(patches_with(1, 4, {0.2F, 0.2F, 0.2F, none})), true), 3);  // ties
  EXPECT_EQ(std::ranges::count(half_of_weight(patches_with(1, 2, {0, none})), true), 0);
  EXPECT_EQ(std::ranges::count(half_of_weight(patches_with(1, 1, {0.3F})), true), 1);
}

TEST(ImageViews, AnyShareOfTheWeightIsInTheFewestPatches) {
  const Field patches = patches_with(2, 3, {0.4F, 0.1F, 0.2F, 0.3F, 0.05F, 0.15F});  // 1.2 in all
  EXPECT_EQ(most_of_weight(patches, 0.8), (std::vector<bool>{true, false, true, true, false, true}));
  EXPECT_EQ(most_of_weight(patches, 0.3), (std::vector<bool>{true, false, false, false, false, false}));
  EXPECT_EQ(most_of_weight(patches, 1), std::vector<bool>(6, true));
}

// Compares random grids with labels that spread until nothing changes.
TEST(ImageViews, TheLargestAreaIsThatOfLabelsThatSpread) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kColumns = 7;
  std::uint32_t state = 1;
  const auto random = [&] { return (state = state * 1664525U + 1013904223U) >> 8; };
  for (int round = 0; round < 200; ++round) {
    std::vector<float> values;
    std::vector<bool> inside;
    for (std::int64_t n = 0; n < kRows * kColumns; ++n) {
      values.push_back(static_cast<float>(1 + random() % 997));
      inside.push_back(random() % 3 == 0);
    }
    std::vector<std::int64_t> label(inside.size());
    for (std::size_t n = 0; n < label.size(); ++n) {
      label[n] = inside[n] ? static_cast<std::int64_t>(n) : -1;
    }
    for (bool more = true; more;) {
      more = false;
      for (std::int64_t a = 0; a < kRows * kColumns; ++a) {
        for (const std::int64_t b : {a + 1, a + kColumns}) {
          const bool beside = b < kRows * kColumns && (b == a + kColumns || b % kColumns != 0);
          auto& one = label[static_cast<std::size_t>(a)];
          if (beside && one >= 0 && label[static_cast<std::size_t>(b)] >= 0 &&
              one != label[static_cast<std::size_t>(b)]) {
            one = label[static_cast<std::size_t>(b)] = std::min(one, label[static_cast<std::size_t>(b)]);
            more = true;
          }
        }
      }
    }
    double all = 0;
    std::map<std::int64_t, PatchBlob> blobs;
    for (std::size_t n = 0; n < label.size(); ++n) {
      all += static_cast<double>(values[n]);
      if (label[n] >= 0) {
        const auto row = static_cast<std::int64_t>(n) / kColumns;
        const auto column = static_cast<std::int64_t>(n) % kColumns;
        auto [at, made] = blobs.try_emplace(label[n], PatchBlob{row, column, 0, 0, 0, 0});
        PatchBlob& blob = at->second;  // rows and columns: the last ones
        blob.left = std::min(blob.left, column);
        blob.rows = std::max(blob.rows, row);
        blob.columns = std::max(blob.columns, column);
        ++blob.patches;
        blob.share += static_cast<double>(values[n]);
      }
    }
    const auto found = largest_blob(patches_with(kRows, kColumns, values), inside);
    ASSERT_EQ(found.has_value(), !blobs.empty());
    const PatchBlob* most = nullptr;
    for (const auto& [first, blob] : blobs) {
      most = most == nullptr || blob.share > most->share ? &blob : most;
    }
    if (most != nullptr) {
      EXPECT_NEAR(found->share, most->share / all, 1e-12);
      EXPECT_EQ(found->patches, most->patches);
      EXPECT_EQ(std::vector({found->top, found->left, found->rows, found->columns}),
                std::vector({most->top, most->left, most->rows - most->top + 1, most->columns - most->left + 1}));
    }
  }
  EXPECT_FALSE(largest_blob(patches_with(1, 1, {1}), {false}).has_value());
}

// Every edge between a flagged cell and another is walked once, and nothing else; loops are closed.
TEST(ImageViews, OutlinesGoAroundTheFlaggedCells) {
  const std::vector<std::vector<bool>> grids{{true, false, false, true},  // diagonal: two loops
                                             {true, true, false, true},
                                             {true, true, true, true},
                                             {false, false, false, false},
                                             {true, true, true, true, false, true, true, true, true}};  // a hole
  for (const std::vector<bool>& inside : grids) {
    const std::int64_t columns = inside.size() == 4 ? 2 : 3;
    const auto is_inside = [&](std::int64_t c, std::int64_t r) {
      return c >= 0 && c < columns && r >= 0 && r < columns && inside[static_cast<std::size_t>(r * columns + c)];
    };
    std::int64_t edges = 0;
    for (std::int64_t r = 0; r < columns; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        for (const auto& [x, y] : {std::pair(c + 1, r), {c - 1, r}, {c, r + 1}, {c, r - 1}}) {
          edges += is_inside(c, r) && !is_inside(x, y) ? 1 : 0;
        }
      }
    }
    const PictureLines lines = outline_of(inside, columns);
    std::int64_t walked = 0;
    std::size_t begin = 0;
    for (std::size_t n = 0; n <= lines.x.size(); ++n) {
      if (n == lines.x.size() || std::isnan(lines.x[n])) {
        if (n > begin) {
          EXPECT_EQ(lines.x[begin], lines.x[n - 1]);
          EXPECT_EQ(lines.y[begin], lines.y[n - 1]);
        }
        begin = n + 1;
      } else if (n > begin) {
        const double dx = lines.x[n] - lines.x[n - 1];
        const double dy = lines.y[n] - lines.y[n - 1];
        EXPECT_EQ(std::abs(dx) + std::abs(dy), 1);
        const auto cell = [&](double side) {  // right or left of the step
          const double x = (lines.x[n] + lines.x[n - 1]) / 2 - side * dy / 2;
          const double y = (lines.y[n] + lines.y[n - 1]) / 2 + side * dx / 2;
          return is_inside(static_cast<std::int64_t>(std::floor(x)), static_cast<std::int64_t>(std::floor(y)));
        };
        EXPECT_TRUE(cell(1));
        EXPECT_FALSE(cell(-1));
        ++walked;
      }
    }
    EXPECT_EQ(walked, edges);
  }
}

TEST(ImageViews, APictureIsDarkenedPatchByPatch) {
  models::Picture picture{4, 2, std::make_shared<const std::vector<std::uint8_t>>(32, std::uint8_t{200})};
  const Field patches = patches_with(1, 4, {0, 0.5F, 1, std::nanf("")});
  figure::ColorScale scale;
  scale.mask_color = 0x646464FF;
  const models::Picture made = darkened(picture, patches, scale, 0.75);
  ASSERT_EQ(made.rgba->size(), picture.rgba->size());
  for (std::size_t y = 0; y < 2; ++y) {
    const auto at = [&](std::size_t x, std::size_t channel) { return (*made.rgba)[(y * 4 + x) * 4 + channel]; };
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(at(0, channel), 50);   // a quarter
      EXPECT_EQ(at(1, channel), 125);  // 1 − 0.75 · 0.5
      EXPECT_EQ(at(2, channel), 200);
      EXPECT_EQ(at(3, channel), 125);  // a quarter, and three of the mask's 100
    }
    EXPECT_EQ(at(0, 3), 200);  // opaque as it was
  }
}

// Weights leave the picture its colours unless a colormap is asked for; signed quantities have one.
TEST(ImageViews, AColormapIsPaintedOverThePicture) {
  ViewInput input = fake_image();
  const auto opacity = [&] {
    const auto figure = view_of("attention-image").figure(input);
    EXPECT_TRUE(figure.ok()) << figure.error().describe();
    return map_of(figure->panels.front())->opacity;
  };
  EXPECT_EQ(opacity(), 0);
  EXPECT_EQ(view_of("attention-image").figure(input)->panels.front().color_bar_label, "attention weight");
  input.scale.colormap = "magma";
  EXPECT_GT(opacity(), 0);
  input.scale.colormap.clear();
  input.quantity = models::Quantity::kContribution;
  EXPECT_GT(opacity(), 0);
}

TEST(ImageViews, AnchorsAgainstTheGrid) {
  ViewInput input = fake_image();
  input.options.set("anchors", std::string("0,0 2,3"));
  const auto data = view_of("pe-dot-product-2d").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{2, kRows, kColumns}));
  for (std::int64_t n = 0; n < kRows * kColumns; ++n) {
    expect_close(data->values[static_cast<std::size_t>(n)], std::cos(static_cast<double>(n) / 10));
    expect_close(data->values[static_cast<std::size_t>(15 + n)], std::cos(static_cast<double>(13 - n) / 10));
  }
  const Selection moved = view_of("pe-dot-product-2d").pick(input, hit_at(1, 4.2, 1.2));
  ASSERT_TRUE(moved.option.has_value());
  EXPECT_EQ(std::get<std::string>(moved.option->second), "0,0 1,4");
  input.options.set("anchors", std::string("1;2"));
  EXPECT_EQ(view_of("pe-dot-product-2d").figure(input).error().code, ErrorCode::kUsage);
}

// Against the Gram matrix of the patches' states, centred twice.
TEST(ImageViews, CentredAnchorsAreComparedWithoutTheMeanState) {
  constexpr std::int64_t kCount = kRows * kColumns;
  const auto gram = [](std::int64_t i, std::int64_t j) { return std::cos(static_cast<double>(i - j) / 10); };
  const auto centred = [&](std::int64_t i, std::int64_t j) {
    double value = gram(i, j);
    for (std::int64_t n = 0; n < kCount; ++n) {
      value -= (gram(i, n) + gram(n, j)) / kCount;
      for (std::int64_t m = 0; m < kCount; ++m) {
        value += gram(n, m) / (kCount * kCount);
      }
    }
    return value;
  };
  ViewInput input = fake_image();
  input.layer = 2;  // where all states have a part in common
  input.options.set("anchors", std::string("0,0 2,3"));
  input.options.set("centred", true);
  const std::array<std::int64_t, 2> anchors{0, 13};
  for (const bool cosine : {false, true}) {
    input.options.set("cosine", cosine);
    const auto data = view_of("pe-dot-product-2d").data(input);
    const auto figure = view_of("pe-dot-product-2d").figure(input);
    ASSERT_TRUE(data.ok() && figure.ok());
    for (std::size_t anchor = 0; anchor < 2; ++anchor) {
      const auto& map = std::get<figure::HeatMap>(figure->panels[anchor].layers.front());
      for (std::int64_t n = 0; n < kCount; ++n) {
        const std::int64_t a = anchors[anchor];
        const double expected = centred(a, n) / (cosine ? std::sqrt(centred(a, a) * centred(n, n)) : 1);
        const float value = data->values[anchor * kCount + static_cast<std::size_t>(n)];
        expect_close(value, expected);
        EXPECT_EQ(map.field->values[static_cast<std::size_t>(n)], value);
      }
      EXPECT_EQ(figure->panels.back().color_bar_label, cosine ? "centred cosine" : "⟨e − ē, eₐ − ē⟩");
    }
  }
}

// Two checkpoints whose states differ by a factor of 5: in a shared range the weaker is almost one colour.
TEST(ImageViews, ARowOfAnchorsMayHaveItsOwnColours) {
  ViewInput input = fake_image();
  test::FakeShape shape;
  shape.rows = kRows;
  shape.columns = kColumns;
  shape.states = 5;
  input.columns.push_back({"other", nullptr, std::make_shared<test::FakeTrace>(shape, "")});
  input.options.set("anchors", std::string("0,0 2,3"));
  const auto scale = [&](std::size_t panel) {
    const auto figure = view_of("pe-dot-product-2d").figure(input);
    return std::get<figure::HeatMap>(figure->panels.at(panel).layers.front()).scale;
  };
  const auto extremes = [&](std::size_t row) {
    ViewInput one = input;
    one.columns = {input.columns[row]};
    const auto data = view_of("pe-dot-product-2d").data(one);
    const auto [low, high] = std::minmax_element(data->values.begin(), data->values.end());
    return std::pair(*low, *high);
  };
  for (const bool shared : {true, false}) {
    input.scale.shared = shared;
    const auto [low, high] = extremes(0);
    const auto [other_low, other_high] = extremes(1);
    for (const std::size_t anchor : {0U, 1U}) {
      EXPECT_EQ(scale(anchor).low, shared ? std::min(low, other_low) : low);
      EXPECT_EQ(scale(anchor).high, shared ? std::max(high, other_high) : high);
      EXPECT_EQ(scale(2 + anchor).low, shared ? std::min(low, other_low) : other_low);
      EXPECT_EQ(scale(2 + anchor).high, shared ? std::max(high, other_high) : other_high);
    }
  }
}

TEST(ImageViews, AnotherSideComesFromTheModelsEncoding) {
  ViewInput input = fake_image();
  input.options.set("anchors", std::string("6,6"));
  input.options.set("side", std::int64_t{7});
  const auto data = view_of("pe-dot-product-2d").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{1, 7, 7}));
  expect_close(data->values[3], std::cos(45.0 / 10));
}

TEST(ImageViews, DotProductsOfAnyLengthAndBase) {
  ViewInput input = fake_open_text("twelve bytes");
  input.options.set("length", std::int64_t{40});
  input.options.set("base", 500.0);
  const auto data = view_of("pe-dot-product").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{40, 40}));
  expect_close(data->values[35 * 40 + 5], std::cos(30 * 1000.0 / 500));
  const auto figure = view_of("pe-dot-product").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(figure->panels[0].x.view.high, 40);
  EXPECT_NE(figure->panels[0].title.find("base 500"), std::string::npos);
  input.options = {};
  const auto own = view_of("pe-dot-product").data(input);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->shape, (std::vector<std::int64_t>{12, 12}));
}

// Over blocks of rows: the states lie on a circle, whose neighbours are equally far apart.
TEST(ImageViews, StepsBetweenPositionsStandBelowTheMap) {
  ViewInput input = fake_open_text("one two three");
  input.options.set("steps", true);
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{300}}) {
    input.options.set("length", length);
    const auto figure = view_of("pe-dot-product").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    ASSERT_EQ(figure->panels.size(), 2U);
    const auto& curve = std::get<figure::Curve>(figure->panels[1].layers.front());
    ASSERT_EQ(curve.y.size(), static_cast<std::size_t>(length == 0 ? fake(input).length() : length) - 1);
    for (const double step : curve.y) {
      EXPECT_NEAR(step, 2 * std::sin(0.05), 1e-3);
    }
    EXPECT_FALSE(view_of("pe-dot-product").pick(input, hit_at(1, 3.5, 0.05)).key.has_value());
    const auto data = view_of("pe-dot-product").data(input);
    ASSERT_TRUE(data.ok()) << data.error().describe();
    ASSERT_EQ(data->shape, (std::vector<std::int64_t>{static_cast<std::int64_t>(curve.y.size()), 2}));
    EXPECT_EQ(data->values[14], 7);
    EXPECT_EQ(data->values[15], static_cast<float>(curve.y[7]));
  }
}

// Less the mean state, a product depends on both positions and not on their distance alone.
TEST(ImageViews, WhatDistanceDoesNotExplainIsSaid) {
  ViewInput input = fake_open_text("one two three");
  const auto note = [&] { return view_of("pe-dot-product").figure(input)->panels[0].note; };
  EXPECT_NE(note().find("0.0 % of the variance is not explained by distance"), std::string::npos) << note();
  input.options.set("centred", true);
  const auto data = view_of("pe-dot-product").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  const std::int64_t n = fake(input).length();
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(data->values[static_cast<std::size_t>(i * n + j)]);
  };
  double mean = 0;
  for (const float value : data->values) {
    mean += static_cast<double>(value) / static_cast<double>(data->values.size());
  }
  double all = 0;
  double within = 0;
  for (std::int64_t distance = 1 - n; distance < n; ++distance) {
    double own = 0;
    const std::int64_t first = std::max<std::int64_t>(distance, 0);
    const std::int64_t end = std::min(n + distance, n);
    for (std::int64_t i = first; i < end; ++i) {
      own += at(i, i - distance) / static_cast<double>(end - first);
    }
    for (std::int64_t i = first; i < end; ++i) {
      within += (at(i, i - distance) - own) * (at(i, i - distance) - own);
      all += (at(i, i - distance) - mean) * (at(i, i - distance) - mean);
    }
  }
  const std::string share = fixed_text(100 * within / all, 1) + " % of the variance is not explained by distance";
  EXPECT_GT(within / all, 0.05);
  EXPECT_NE(note().find(share), std::string::npos) << note() << " and " << share;
}

// Letters of one width.
class EvenLetters final : public figure::TextMetrics {
 public:
  double width(const std::string& text, double size) const override {
    return 0.6 * size * static_cast<double>(text.size());
  }
};

// Its rows are named however many keys there are.
TEST(ImageViews, RowsOfALongStripAreNamed) {
  const EvenLetters typeface;
  std::string text;
  for (int n = 0; n < 64; ++n) {
    text += n % 9 == 8 ? ". " : "ab";
  }
  ViewInput input = fake_open_text(text);
  input.query = 100;
  for (const std::int64_t keys : {16, 24, 25, 40, 64}) {
    input.options.set("strip", keys);
    const auto figure = view_of("positions").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    for (const double height : {0.0, 600.0}) {
      const figure::Layout layout = figure::lay_out(*figure, 500, height, figure::Style::light(12), typeface);
      std::set<std::string> texts;
      for (const figure::PlacedText& each : layout.panels[1].texts) {
        texts.insert(each.text);
      }
      for (const char* row : {"distance", "gate", "position", "attention"}) {
        EXPECT_TRUE(texts.contains(row)) << row << " of " << keys << " keys, " << height;
      }
    }
  }
}

TEST(ImageViews, TheStripShowsDistanceGatePositionAndAttention) {
  ViewInput input = fake_open_text("one two. three four.");
  input.query = 10;
  input.options.set("strip", std::int64_t{4});
  const auto figure = view_of("positions").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  const auto& strip = std::get<figure::HeatMap>(figure->panels[1].layers[0]);
  ASSERT_EQ(strip.field->rows, 4);
  ASSERT_EQ(strip.field->columns, 4);
  const double largest_gate =
      std::max({fake(input).gate(10, 7), fake(input).gate(10, 8), fake(input).gate(10, 9), fake(input).gate(10, 10)});
  const double largest_weight = std::max({fake(input).weight(0, 0, 10, 7), fake(input).weight(0, 0, 10, 8),
                                          fake(input).weight(0, 0, 10, 9), fake(input).weight(0, 0, 10, 10)});
  for (std::int64_t c = 0; c < 4; ++c) {
    expect_close(strip.field->at(0, c), (3.0 - static_cast<double>(c)) / 3);
    expect_close(strip.field->at(1, c), fake(input).gate(10, 7 + c) / largest_gate);
    expect_close(strip.field->at(2, c), fake(input).position(10, 7 + c) / fake(input).position(10, 7));
    expect_close(strip.field->at(3, c), fake(input).weight(0, 0, 10, 7 + c) / largest_weight);
  }
  EXPECT_EQ(strip.texts->front(), "3");
  EXPECT_FALSE(figure->panels[1].follows_camera);
  EXPECT_EQ(view_of("positions").pick(input, hit_at(1, 8.5, 2)).key, 8);
}

TEST(ImageViews, GatesOfMarkedTokensAreComparedWithTheOthers) {
  ViewInput input = fake_open_text("a é. b");
  input.options.set("boundary", std::string(".\\s"));
  const auto figure = view_of("gates").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  int lines = 0;
  for (const figure::Layer& layer : figure->panels[0].layers) {
    lines += std::holds_alternative<figure::Marker>(layer) ? 1 : 0;
  }
  EXPECT_EQ(lines, 3);  // two spaces and a full stop
  double marked = 0;
  int count = 0;
  for (std::int64_t i = 0; i < fake(input).length(); ++i) {
    for (const std::int64_t j : {1, 4, 5}) {
      marked += j <= i ? fake(input).gate(i, j) : 0;
      count += j <= i ? 1 : 0;
    }
  }
  const std::string mean = fixed_text(marked / count, 3);
  EXPECT_NE(figure->panels[0].note.find(mean), std::string::npos) << figure->panels[0].note << " and " << mean;
}

// The squared correlation of all cells' positions with the tokens between key and query that count.
double squared_correlation(const ViewInput& input, std::int64_t first,
                           const std::function<bool(std::int64_t)>& counts) {
  std::vector<std::pair<double, double>> pairs;
  std::pair<double, double> mean;
  for (std::int64_t i = first; i < fake(input).length(); ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double count = 0;
      for (std::int64_t k = j; k <= i; ++k) {
        count += counts(k) ? 1 : 0;
      }
      pairs.emplace_back(count, fake(input).position(i, j));
      mean.first += pairs.back().first;
      mean.second += pairs.back().second;
    }
  }
  const auto n = static_cast<double>(pairs.size());
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (const auto& [x, y] : pairs) {
    xx += (x - mean.first / n) * (x - mean.first / n);
    yy += (y - mean.second / n) * (y - mean.second / n);
    xy += (x - mean.first / n) * (y - mean.second / n);
  }
  return xy * xy / (xx * yy);
}

TEST(ImageViews, PositionsAreComparedWithTheMarkedKeysBetween) {
  ViewInput input = fake_open_text("a é. b");
  input.options.set("boundary", std::string(".\\s"));
  const auto marked = [](std::int64_t token) { return token == 1 || token == 4 || token == 5; };
  const auto any = [](std::int64_t) { return true; };
  const auto said = [&](std::int64_t first) {
    return "R² with the number of marked keys " + fixed_text(squared_correlation(input, first, marked), 3) +
           ", with that of all keys " + fixed_text(squared_correlation(input, first, any), 3);
  };
  const auto figure = view_of("positions").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_NE(figure->panels[0].note.find(said(0)), std::string::npos) << figure->panels[0].note << "\n" << said(0);
  // The strip's query is the last token.
  const std::string last = "of this query, " + said(fake(input).length() - 1);
  EXPECT_NE(figure->panels[1].note.find(last), std::string::npos) << figure->panels[1].note << "\n" << last;
  input.options.set("boundary", std::string("z"));
  const auto unmarked = view_of("positions").figure(input);
  ASSERT_TRUE(unmarked.ok()) << unmarked.error().describe();
  EXPECT_EQ(unmarked->panels[0].note.find("R²"), std::string::npos) << unmarked->panels[0].note;
}

// As a table: each kind of characters that the text has, and each of its tokens, with all tokens last.
TEST(ImageViews, PositionsAreComparedWithEveryClassOfTokens) {
  ViewInput input = fake_open_text("a é. b");
  const auto among = [](std::vector<std::int64_t> tokens) {
    return [tokens](std::int64_t token) { return std::ranges::count(tokens, token) > 0; };
  };
  const auto any = [](std::int64_t) { return true; };
  struct Row {
    std::string name;
    std::int64_t count;
    std::function<bool(std::int64_t)> holds;
  };
  const std::map<std::string, std::vector<Row>> tables{{"characters",
                                                        {{"letters", 2, among({0, 6})},
                                                         {"punctuation", 1, among({4})},
                                                         {"spaces", 2, among({1, 5})},
                                                         {"other characters", 2, among({2, 3})},
                                                         {"all tokens", 7, any}}},
                                                       {"tokens",
                                                        {{"“·”", 2, among({1, 5})},
                                                         {"“a”", 1, among({0})},
                                                         {"“\xC3”", 1, among({2})},
                                                         {"“\xA9”", 1, among({3})},
                                                         {"“.”", 1, among({4})},
                                                         {"“b”", 1, among({6})},
                                                         {"all tokens", 7, any}}}};
  for (const auto& [as, rows] : tables) {
    input.options.set("as", as);
    const auto data = view_of("positions").data(input);
    ASSERT_TRUE(data.ok()) << data.error().describe();
    ASSERT_EQ(data->shape, (std::vector<std::int64_t>{static_cast<std::int64_t>(rows.size()), 2}));
    EXPECT_EQ(data->columns, (std::vector<std::string>{"class", "tokens", "r_squared"}));
    const auto figure = view_of("positions").figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    ASSERT_EQ(figure->panels.size(), 1U);
    const auto& map = std::get<figure::HeatMap>(figure->panels[0].layers[0]);
    double best = 0;
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const double squared = squared_correlation(input, 0, rows[n].holds);
      EXPECT_EQ(data->titles[n], rows[n].name);
      EXPECT_EQ(data->values[2 * n], static_cast<float>(rows[n].count)) << rows[n].name;
      EXPECT_NEAR(static_cast<double>(data->values[2 * n + 1]), squared, 1e-5) << rows[n].name;
      EXPECT_EQ((*map.said)[n],
                rows[n].name + ": " + std::to_string(rows[n].count) + " of 7 tokens, R² " + fixed_text(squared, 3));
      best = n + 1 < rows.size() ? std::max(best, squared) : best;
    }
    const std::string said = "R² = " + fixed_text(best, 3);
    EXPECT_NE(figure->statement.find(said), std::string::npos) << figure->statement << " and " << said;
    EXPECT_FALSE(view_of("positions").home(input).has_value());
    EXPECT_EQ(view_of("positions").pick(input, hit_at(0, 0.5, 0.5)), Selection());
    EXPECT_FALSE(view_of("positions").why_idle(input, "strip").empty());
  }
  EXPECT_TRUE(view_of("positions").why_idle(input, "as").empty());
  input.head = kAll;
  EXPECT_EQ(view_of("positions").data(input).error().code, ErrorCode::kUsage);
}

TEST(ImageViews, SeveralQueriesStandBelowEachOther) {
  ViewInput input = fake_open_text("one two three");
  input.options.set("queries", std::string("4 9"));
  const auto figure = view_of("attention-text").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  ASSERT_EQ(figure->panels.size(), 2U);
  EXPECT_EQ(std::get<figure::TokenStrip>(figure->panels[1].layers[0]).selected, 9);
  const auto data = view_of("attention-text").data(input);
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{13, 3}));
  expect_close(data->values[3 * 2 + 1], fake(input).weight(0, 0, 4, 2));
  expect_close(data->values[3 * 2 + 2], fake(input).weight(0, 0, 9, 2));
  input.options.set("keep", true);
  figure::Hit hit;
  hit.token = 4;
  EXPECT_EQ(std::get<std::string>(view_of("attention-text").pick(input, hit).option->second), "9");
}

TEST(ImageViews, ColumnsOfOtherTokenizersAreAlignedByTheText) {
  ViewInput input = fake_open_text("one two three");
  test::FakeShape pairs;
  pairs.bytes_per_token = 2;
  input.columns.push_back({"pairs", nullptr, std::make_shared<test::FakeTrace>(pairs, "one two three")});
  input.query = 9;
  input.key = 2;
  Selection pinned;
  pinned.query = 9;
  pinned.key = 2;
  const auto places = view_of("attention").places(input, pinned);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].y.low, 9);
  EXPECT_EQ(places[1].y.low, 4);  // bytes 8 and 9
  EXPECT_EQ(places[1].x.low, 1);
  const Selection picked = view_of("attention").pick(input, hit_at(1, 1.5, 4.5));
  EXPECT_EQ(picked.query, 9);
  EXPECT_EQ(picked.key, 3);
  const auto text = view_of("attention-text").figure(input);
  ASSERT_TRUE(text.ok()) << text.error().describe();
  EXPECT_EQ(std::get<figure::TokenStrip>(text->panels[1].layers[0]).selected, 4);
}

// Patches go row by row behind the prefix, on a grid that is no square.
TEST(ImageViews, PatchesAreCountedRowByRow) {
  const models::ImageGrid grid{kRows, kColumns, 1, 2};
  Hit hit;
  hit.x = 3.5;
  hit.y = 1.5;
  EXPECT_EQ(patch_at(cells_of(grid), hit), kPrefix + kColumns + 3);
  EXPECT_EQ(patch_place(cells_of(grid), kPrefix + kColumns + 3)->x.low, 3);
  EXPECT_EQ(patch_place(cells_of(grid), kPrefix + kColumns + 3)->y.low, 1);
  hit.x = 5.5;
  EXPECT_FALSE(patch_at(cells_of(grid), hit));
}

// Where nothing is chosen: the class token, or the patch in the middle where there is none.
TEST(ImageViews, ThePatchInTheMiddleAsksWhereThereIsNoClassToken) {
  class Bare : public test::FakeTrace {
   public:
    using FakeTrace::FakeTrace;
    const models::ImageGrid& image_grid() const override { return bare_; }

   private:
    models::ImageGrid bare_{kRows, kColumns, 0, 2};
  };
  ViewInput input = fake_image();
  EXPECT_EQ(patch_query(input, input.columns[0]), 0);
  test::FakeShape shape;
  shape.rows = kRows;
  shape.columns = kColumns;
  shape.registers = 2;
  input.columns[0].trace = std::make_shared<Bare>(shape, "");
  EXPECT_EQ(patch_query(input, input.columns[0]), 2 + 1 * kColumns + 2);
}

TEST(ImageViews, TheStripSaysHowManyPositionsEndAtTheLargest) {
  ViewInput input = fake_open_text("The quick brown fox jumps");
  test::FakeShape shape;
  shape.gates = true;
  shape.p_max = 5;
  const auto trace = std::make_shared<test::FakeTrace>(shape, "The quick brown fox jumps");
  input.columns[0].trace = trace;
  input.query = 20;
  const auto figure = view_of("positions").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  std::int64_t ends = 0;
  for (std::int64_t key = 5; key <= 20; ++key) {
    ends += trace->position(20, key) >= 5 ? 1 : 0;
  }
  ASSERT_GT(ends, 0);
  EXPECT_NE(figure->panels.back().note.find("where " + std::to_string(ends) + " of these keys are"), std::string::npos)
      << figure->panels.back().note;
}

}  // namespace
}  // namespace locus::views
