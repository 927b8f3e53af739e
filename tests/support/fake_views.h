// Views of made-up runs, whose values are formulas (fake_model.h).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "app/views/shared/view.h"
#include "tests/support/exported_views.h"
#include "tests/support/fake_model.h"

namespace locus::views::test_views {

inline constexpr const char* kSentences = "one two three. four five six seven";

inline ViewInput fake_text(const std::string& text = kSentences, bool gates = true) {
  test::FakeShape shape;
  shape.gates = gates;
  ViewInput input;
  input.columns.push_back({"fake", nullptr, std::make_shared<test::FakeTrace>(shape, text)});
  return input;
}

// A grid of 3 × 5 patches behind a class token and two registers.
inline ViewInput fake_image() {
  test::FakeShape shape;
  shape.rows = 3;
  shape.columns = 5;
  shape.registers = 2;
  ViewInput input;
  input.columns.push_back(
      {"fake", std::make_shared<test::FakeModel>(shape), std::make_shared<test::FakeTrace>(shape, "")});
  return input;
}

inline const test::FakeTrace& fake(const ViewInput& input, std::size_t column = 0) {
  return static_cast<const test::FakeTrace&>(*input.columns[column].trace);
}

// |a − b| ≤ 1e-5·(1 + |b|), or both NaN.
inline void expect_close(double a, double b) {
  if (std::isnan(b)) {
    EXPECT_TRUE(std::isnan(a));
    return;
  }
  EXPECT_LE(std::abs(a - b), 1e-5 * (1 + std::abs(b))) << a << " and " << b;
}

}  // namespace locus::views::test_views
