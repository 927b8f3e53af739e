// Tiny models with layers without a soft-max: types of tests/conformance with their generated weights.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/bundled.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/conformance.h"

namespace locus::test {

// Writes the checkpoint of a type into `folder`, which exists; the input that its values are of.
inline models::Input write_hybrid(const std::string& type, const std::filesystem::path& folder) {
  const ConformanceType stored(type);
  std::ofstream(folder / "config.json") << stored.data().at("config").dump();
  stored.write_tensors(folder);
  return stored.input(folder);
}

inline views::Column hybrid_column(const std::string& type) {
  const TemporaryFolder folder;
  const models::Input input = write_hybrid(type, folder.path());
  return column_of(open_model(folder.path()), input, type);
}

}  // namespace locus::test
