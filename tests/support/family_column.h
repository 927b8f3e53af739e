// Runs of the tiny models of tests/golden/families on ids made up here.
#pragma once

#include <string>

#include "tests/support/bundled.h"

namespace locus::test {

inline std::string family_path(const std::string& family) {
  return source_dir() + "/tests/golden/families/" + family;
}

// A run of 20 tokens below 10.
inline views::Column family_column(const std::string& family) {
  models::Input input;
  input.ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
  auto model = models::open(family_path(family));
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  return column_of(*std::move(model), input, family);
}

}  // namespace locus::test
