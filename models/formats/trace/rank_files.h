// The files of a sharded run's trace, one per process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/formats/tensor_source.h"

namespace locus::models::trace {

// The layers with tensors in one file, and which of the `of` heads these tensors hold.
struct Rank {
  formats::Source source;
  std::string file;
  std::int64_t number = 0;
  std::int64_t ranks = 0;
  std::vector<std::int64_t> layers;
  std::int64_t begin = 0;  // its heads
  std::int64_t end = 0;
  std::int64_t of = 0;

  std::string text(const std::string& key) const {
    const auto found = source->metadata().find(key);
    return found == source->metadata().end() ? std::string() : found->second;
  }
  std::string metadata(const std::string& key) const { return file + ": metadata " + key; }
  std::string tensor(const std::string& name) const { return file + ": tensor " + name; }
  bool holds(std::int64_t layer) const { return std::binary_search(layers.begin(), layers.end(), layer); }
};

// The files of all ranks of the file at `path`, in order. Errors: kBadInput naming the file of a rank that is missing,
// or whose metadata `shard` contradicts its name.
Result<std::vector<Rank>> read_ranks(const formats::Source& source, const std::filesystem::path& path);

}  // namespace locus::models::trace
