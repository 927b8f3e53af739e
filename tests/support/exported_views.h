// Views of the bundled text-rope on a text made up here, as tests of what they export ask for them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "app/views/shared/view.h"
#include "tests/support/bundled.h"

namespace locus::views::test_views {

inline constexpr const char* kText =
    "A grey cat counts the boats. One boat, two boats, three boats, and then a fourth that nobody saw. "
    "The grey cat counts the boats again: one boat, two boats.";

inline const View& view_of(std::string_view name) {
  return **find_view(std::string(name));
}

inline ViewInput input_of(const std::string& text = kText) {
  ViewInput input;
  input.columns.push_back(test::column_of(test::bundled("text-rope"), text));
  input.layer = 1;
  input.head = 2;
  return input;
}

// With a second column whose RoPE turns by another base.
inline ViewInput pair_of() {
  ViewInput input = input_of();
  input.columns.push_back(test::column_of(test::bundled("text-rope", 300.0), kText, "base 300"));
  return input;
}

// The same for views of edits, which need one: the second column has it.
inline ViewInput pair_for(const View& view) {
  ViewInput input = pair_of();
  if (view.info().of_edits) {
    input.columns.back() =
        test::column_of(test::with_edit(test::bundled("text-rope"), "head 1.2 zero"), kText, "edited");
  }
  return input;
}

inline Field map_of(const models::Trace& trace, std::int64_t layer, std::int64_t head,
                    models::Quantity quantity = models::Quantity::kWeight) {
  models::MapRequest request;
  request.layer = layer;
  request.head = head;
  request.quantity = quantity;
  const auto map = trace.map(request);
  EXPECT_TRUE(map.ok());
  return *map;
}

// |a − b| ≤ tolerance·(1 + |b|).
inline void expect_near(double a, double b, double tolerance = 2e-5) {
  EXPECT_LE(std::abs(a - b), tolerance * (1 + std::abs(b))) << a << " and " << b;
}

inline double at(const Data& data, std::int64_t row, std::int64_t column) {
  return static_cast<double>(data.values[static_cast<std::size_t>(row * data.shape[1] + column)]);
}

inline std::int64_t column_named(const Data& data, const std::string& name) {
  const auto found = std::find(data.columns.begin(), data.columns.end(), name);
  EXPECT_NE(found, data.columns.end()) << name;
  return found - data.columns.begin();
}

inline Data exported(const std::string& view, const ViewInput& input) {
  const auto data = view_of(view).data(input);
  EXPECT_TRUE(data.ok()) << (data.ok() ? "" : data.error().describe());
  const auto figure = view_of(view).figure(input);
  EXPECT_TRUE(figure.ok()) << (figure.ok() ? "" : figure.error().describe());
  return data.ok() ? *data : Data{{0, 0}, {}, {}};
}

}  // namespace locus::views::test_views
