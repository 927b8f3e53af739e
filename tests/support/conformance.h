// The types of tests/conformance: their table, their tiny checkpoints, and the comparison of a run with the library's
// values.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/api/model.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus::test {

// A line of types.txt.
struct ConformanceRow {
  std::string type;
  std::string models;
  bool opens = false;
  std::string note;  // why it is refused, or what another test verifies
  bool elsewhere = false;
};

std::vector<ConformanceRow> conformance_table();

// A type whose values are stored, or a model of packages/. Reading throws, which fails the test.
class ConformanceType {
 public:
  explicit ConformanceType(const std::string& name, const std::string& folder = "values");
  static bool stored(const std::string& type);

  const nlohmann::json& data() const { return data_; }
  bool has(const std::string& array) const { return values_.has(array); }
  // The generated weights.
  Tensors tensors() const;
  // model.safetensors with generated weights, and the pixels of an image type.
  void write_tensors(const std::filesystem::path& folder) const;
  models::Input input(const std::filesystem::path& folder) const;

  // The first place where the trace of a run with all logits differs from the stored values, with layer, head, query,
  // key and both numbers; empty: none. `change`: the place of a changed configuration among the stored ones.
  std::string difference(const models::Trace& trace, std::optional<std::int64_t> change = {}) const;

 private:
  std::string map_difference(const models::Trace& trace, const std::string& name,
                             std::optional<std::int64_t> change) const;
  std::string outcome_difference(const models::Trace& trace, std::optional<std::int64_t> change) const;
  at::Tensor stored_values(const std::string& name, std::optional<std::int64_t> change) const;
  double tolerance() const;

  nlohmann::json data_;
  Golden values_;
};

}  // namespace locus::test
