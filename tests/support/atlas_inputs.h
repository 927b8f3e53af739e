// Inputs of views of atlases, made-up and bundled, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "app/views/shared/field_cache.h"
#include "tests/support/fake_atlas.h"
#include "tests/support/paths.h"

namespace locus::test {

inline views::ViewInput made_up_input(std::int64_t layer = 1, std::int64_t head = 2) {
  views::ViewInput input;
  input.columns = {atlas_column("made-up")};
  input.layer = layer;
  input.head = head;
  input.cache = std::make_shared<views::FieldCache>(8 << 20);
  return input;
}

inline views::ViewInput bundled_atlas_input(const std::string& name, std::int64_t layer, std::int64_t head) {
  views::ViewInput input = made_up_input(layer, head);
  const auto trace = models::open_atlas_trace(source_dir() + "/assets/atlases/" + name + ".safetensors");
  EXPECT_TRUE(trace.ok()) << trace.error().describe();
  input.columns = {{name, nullptr, *trace}};
  return input;
}

inline const models::Atlas& atlas_in(const views::ViewInput& input) {
  return *models::atlas_of(*input.columns.front().trace);
}

}  // namespace locus::test
