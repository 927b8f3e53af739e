// What is compared of a model here and the same model on another machine, which is this one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/api/machine.h"
#include "models/engine/threads.h"
#include "tests/support/facade_tour.h"
#include "tests/support/far.h"
#include "tests/support/picture.h"
#include "tests/support/run_locus.h"

namespace locus::test {

inline constexpr const char* kFarText = "The ship left the harbour early.\nNobody counted.";

// The same value or the same error.
template <class T>
void expect_same(const Result<T>& here, const Result<T>& there, const std::string& what) {
  ASSERT_EQ(here.ok(), there.ok()) << what << ": " << (here.ok() ? there.error() : here.error()).describe();
  if (here.ok()) {
    EXPECT_TRUE(bytes_of(*here) == bytes_of(*there)) << what;
  } else {
    EXPECT_EQ(here.error().code, there.error().code) << what;
    EXPECT_EQ(here.error().describe(), there.error().describe()) << what;
  }
}

// The folders of assets/checkpoints.
inline std::vector<std::string> bundled_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_dir() + "/assets/checkpoints")) {
    if (entry.is_directory()) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class FarTest : public testing::Test {
 protected:
  using ModelPointer = std::shared_ptr<const models::Model>;

  // One server for all tests of the suite. It uses all cores, and so does this process then: OpenBLAS's kernels for
  // AVX2 add up in another order with another number of threads.
  static void SetUpTestSuite() {
    threads_before_ = models::product_threads();
    models::set_product_threads(models::bounded_threads(0));
    const FarMachine machine;
    const auto line = models::line_to(FarMachine::path("/any"));
    EXPECT_TRUE(line.ok()) << (line.ok() ? "" : line.error().describe());
    line_ = line.ok() ? *line : nullptr;
  }
  static void TearDownTestSuite() {
    line_.reset();
    models::set_product_threads(threads_before_);
  }

  FarTest() : folder_(fs::path(testing::TempDir()) / "far machine") { fs::create_directories(folder_); }
  ~FarTest() override { fs::remove_all(folder_); }

  static ModelPointer opened(const fs::path& path) {
    const auto model = models::open(path);
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
    return model.ok() ? *model : nullptr;
  }
  static fs::path bundled_path(const std::string& name) { return source_dir() + "/assets/checkpoints/" + name; }
  models::Input input_for(const models::ModelInfo& info) const {
    models::Input input;
    if (info.image) {
      const fs::path picture = folder_ / "a picture.png";
      write_colours(picture, "rgb");
      input.image = picture;
    } else if (info.tokenizer) {
      input.text = kFarText;
    } else {
      input.ids = std::vector<std::int64_t>();
      for (std::int64_t n = 0; n < 24; ++n) {
        input.ids->push_back(n * 5 % info.vocabulary);
      }
    }
    return input;
  }
  // The bytes of a trace as it is written to a path of this machine.
  std::string file_of(const Trace& trace, const std::set<std::string>& keep) const {
    const fs::path path = folder_ / "trace.safetensors";
    const Status written = trace.write(path, keep);
    EXPECT_TRUE(written.ok()) << written.error().describe();
    return testing_support::read_text(path);
  }

  static inline std::shared_ptr<const models::Machine> line_;
  static inline int threads_before_ = 1;
  FarMachine machine_;
  fs::path folder_;
};

inline void expect_same_maps(const Trace& here, const Trace& there, const std::string& what) {
  const std::int64_t last = here.model().layers - 1;
  for (const Quantity quantity : kQuantities) {
    const models::MapRequest request{last, 0, quantity, {}, {}};
    expect_same(here.map(request), there.map(request), what + " map " + to_text(quantity));
  }
  const models::MapRequest mean{0, models::kMeanHead, Quantity::kWeight, {1, 9}, {0, 7}};
  expect_same(here.map(mean), there.map(mean), what + " part");
  const models::MapRequest whole{last, 0, Quantity::kWeight, {}, {}};
  expect_same(here.overview(whole, 7, 11, Reduction::kMax), there.overview(whole, 7, 11, Reduction::kMax),
              what + " overview");
  expect_same(here.overview_band(whole, 7, 11, Reduction::kMean, {2, 5}),
              there.overview_band(whole, 7, 11, Reduction::kMean, {2, 5}), what + " band");
  expect_same(here.preview(whole, 7, 11), there.preview(whole, 7, 11), what + " preview");
  expect_same(here.dot_product(0, 0, {}, {}, {true, {}}), there.dot_product(0, 0, {}, {}, {true, {}}),
              what + " dot product");
  expect_same(here.sink(0, 0, {}), there.sink(0, 0, {}), what + " sink");
  for (const std::int64_t layer : {std::int64_t{0}, last}) {
    for (const auto number : {models::StateNumber::kHalfLife, models::StateNumber::kNorm}) {
      expect_same(here.state_numbers(layer, number), there.state_numbers(layer, number), what + " state");
    }
  }
  const models::MapRequest none{last + 1, 0, Quantity::kWeight, {}, {}};
  expect_same(here.map(none), there.map(none), what + " no such layer");
}

// All that a Trace says without a Result.
inline void expect_same_facts(const Trace& here, const Trace& there) {
  EXPECT_EQ(bytes_of(here.tokens()), bytes_of(there.tokens()));
  EXPECT_EQ(here.crosses(), there.crosses());
  EXPECT_EQ(bytes_of(here.key_tokens()), bytes_of(there.key_tokens()));
  EXPECT_EQ(here.image_grid(), there.image_grid());
  EXPECT_EQ(here.images(), there.images());
  EXPECT_EQ(bytes_of(here.picture()), bytes_of(there.picture()));
  EXPECT_EQ(bytes_of(here.pictures()), bytes_of(there.pictures()));
  EXPECT_EQ(here.position_vectors(), there.position_vectors());
  EXPECT_EQ(here.text(), there.text());
  EXPECT_TRUE(here.input() == nullptr || there.input() == nullptr || *here.input() == *there.input());
  EXPECT_EQ(here.key_text(), there.key_text());
  EXPECT_EQ(here.memory_mb(), there.memory_mb());
  EXPECT_EQ(here.reused(), there.reused());
  EXPECT_EQ(here.kept_layers(), there.kept_layers());
  EXPECT_EQ(here.edits(), there.edits());
  EXPECT_EQ(here.token_scores(), there.token_scores());
  EXPECT_EQ(here.sentence(), there.sentence());
  for (const std::int64_t count : {3, 40}) {  // more than arrive with the trace
    EXPECT_EQ(bytes_of(here.top(count)), bytes_of(there.top(count)));
  }
}

}  // namespace locus::test
