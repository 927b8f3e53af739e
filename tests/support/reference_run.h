// A model's run against what its reference gives.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus::test {

// The logits of all tokens and the maps of all layers of the reference's `input_ids`, within the tolerance.
inline void expect_reference(const models::Model& model, const Golden& golden, double tolerance) {
  models::Input input;
  input.ids = ids_of(golden["input_ids"]);
  models::RunOptions options;
  options.all_logits = true;
  const auto trace = model.run(input, options);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const models::TraceData data = recorded(**trace);
  EXPECT_CLOSE(data.logits, golden["logits"], tolerance);
  ASSERT_FALSE(data.layers.empty());
  for (std::size_t n = 0; n < data.layers.size(); ++n) {
    const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
    ASSERT_TRUE(map.ok());
    EXPECT_CLOSE(*map, golden["layers." + std::to_string(n) + ".attention"], tolerance) << "layer " << n;
  }
}

}  // namespace locus::test
