// Corpus: text files of any size, memory-mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/formats/mapped_file.h"

namespace locus::models::atlas {

class Corpus {
 public:
  // Opens files, and every .txt file below folders, by name. Errors: kBadInput for a path that is neither, a folder
  // without texts, and texts that are all empty.
  static Result<Corpus> open(const std::vector<std::filesystem::path>& paths);

  std::size_t files() const { return files_.size(); }
  const std::string& name(std::size_t file) const { return files_[file].name; }
  std::int64_t size(std::size_t file) const { return files_[file].size; }
  std::int64_t bytes() const { return bytes_; }
  // File, and offset in it, of byte `at` of the concatenated files; 0 ≤ at < bytes().
  std::pair<std::size_t, std::int64_t> place(std::int64_t at) const;
  // At most `count` bytes of a file from `offset` on. Errors: kBadInput for a file that was removed or became shorter.
  Result<std::string> read(std::size_t file, std::int64_t offset, std::int64_t count) const;
  // Names, sizes and SHA-256 of all files: reads them once, a block at a time. Errors also: kCancelled.
  Result<std::vector<AtlasCorpus>> hashed(const StopToken& stop, const Progress& progress) const;

 private:
  struct File {
    std::filesystem::path path;
    std::string name;
    std::int64_t size = 0;
    std::int64_t begin = 0;  // of the concatenated files
  };
  Result<std::shared_ptr<const formats::MappedFile>> mapped(std::size_t file) const;

  std::vector<File> files_;
  std::int64_t bytes_ = 0;
  mutable std::list<std::pair<std::size_t, std::shared_ptr<const formats::MappedFile>>> open_;  // newest first
};

}  // namespace locus::models::atlas
