// Runs of the bundled checkpoints on a text: what tests of views compute from.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/views/shared/view.h"
#include "models/api/model.h"
#include "tests/support/paths.h"

namespace locus::test {

// assets/checkpoints/NAME, with another RoPE base if one is given; fails the test and returns null when it does not
// open.
inline std::shared_ptr<const models::Model> bundled(const std::string& name, std::optional<double> rope_base = {}) {
  models::OpenOptions options;
  options.overrides.rope_base = rope_base;
  auto model = models::open(test::source_dir() + "/assets/checkpoints/" + name, options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  return model.ok() ? *std::move(model) : nullptr;
}

// The same weights with an edit, typed in its short form ("head 1.2 zero").
inline std::shared_ptr<const models::Model> with_edit(const std::shared_ptr<const models::Model>& model,
                                                      const std::string& words) {
  const auto edit = models::parse_edit(words, 0);
  EXPECT_TRUE(edit.ok()) << words;
  return edit.ok() ? *model->edited({*edit}) : nullptr;
}

inline views::Column column_of(std::shared_ptr<const models::Model> model, const models::Input& input,
                               const std::string& name = {}) {
  auto trace = model->run(input);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return {name.empty() ? model->info().name : name, std::move(model), trace.ok() ? *std::move(trace) : nullptr};
}

inline views::Column column_of(std::shared_ptr<const models::Model> model, const std::string& text,
                               const std::string& name = {}) {
  models::Input input;
  input.text = text;
  return column_of(std::move(model), input, name);
}

}  // namespace locus::test
