#include "models/atlas/corpus.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/mapping_guard.h"
#include "core/base/sha256.h"

namespace locus::models::atlas {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOpen = 8;  // mapped at once
constexpr std::size_t kMaxFiles = 1'000'000;
constexpr std::int64_t kHashBlock = std::int64_t{4} << 20;  // bytes between two checks of the stop token

// Collects path and name of every text below a folder, by name.
Result<std::vector<std::pair<std::string, fs::path>>> texts_below(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::path>> texts;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, code);
  for (const fs::recursive_directory_iterator end; !code && entry != end; entry.increment(code)) {
    std::error_code ignored;
    if (entry->path().extension() == ".txt" && entry->is_regular_file(ignored)) {
      texts.emplace_back(entry->path().lexically_relative(folder).generic_string(), entry->path());
    }
    if (texts.size() > kMaxFiles) {
      return bad_input("expected at most " + std::to_string(kMaxFiles) + " .txt files, found more", folder.string());
    }
  }
  if (code || texts.empty()) {
    return bad_input(code ? "cannot read: " + code.message() : "expected .txt files in the folder, found none",
                     folder.string());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

Result<Corpus> Corpus::open(const std::vector<fs::path>& paths) {
  Corpus corpus;
  for (const fs::path& path : paths) {
    std::error_code code;
    std::vector<std::pair<std::string, fs::path>> texts{{path.filename().string(), path}};
    if (fs::is_directory(path, code)) {
      LOCUS_TRY(texts, texts_below(path));
    }
    for (auto& [name, file] : texts) {
      // Mapping checks that the file can be read.
      LOCUS_TRY(const auto mapped, formats::MappedFile::open(file));
      const auto size = static_cast<std::int64_t>(mapped->bytes().size());
      corpus.files_.push_back({file, name, size, corpus.bytes_});
      corpus.bytes_ += size;
    }
  }
  if (corpus.bytes_ == 0) {
    return bad_input(paths.empty() ? "expected a corpus, found none" : "expected a text, found empty files",
                     paths.empty() ? "" : paths.front().string());
  }
  return corpus;
}

std::pair<std::size_t, std::int64_t> Corpus::place(std::int64_t at) const {
  const auto behind = std::upper_bound(files_.begin(), files_.end(), at,
                                       [](std::int64_t byte, const File& file) { return byte < file.begin; });
  const auto file = static_cast<std::size_t>(behind - files_.begin()) - 1;
  return {file, at - files_[file].begin};
}

Result<std::shared_ptr<const formats::MappedFile>> Corpus::mapped(std::size_t file) const {
  const auto known = std::find_if(open_.begin(), open_.end(), [&](const auto& each) { return each.first == file; });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
    return open_.front().second;
  }
  LOCUS_TRY(const auto mapped, formats::MappedFile::open(files_[file].path));
  if (static_cast<std::int64_t>(mapped->bytes().size()) != files_[file].size) {
    return bad_input("expected the " + std::to_string(files_[file].size) + " bytes that it had at the start, found " +
                         std::to_string(mapped->bytes().size()),
                     files_[file].path.string());
  }
  open_.emplace_front(file, mapped);
  if (open_.size() > kMaxOpen) {
    open_.pop_back();
  }
  return mapped;
}

Result<std::string> Corpus::read(std::size_t file, std::int64_t offset, std::int64_t count) const {
  LOCUS_TRY(const auto mapped, this->mapped(file));
  const std::int64_t end = std::min(offset + count, files_[file].size);
  const auto* const bytes = reinterpret_cast<const char*>(mapped->bytes().data());
  std::string text(bytes + std::min(offset, end), bytes + end);
  if (const auto lost = lost_file()) {
    return *lost;
  }
  return text;
}

Result<std::vector<AtlasCorpus>> Corpus::hashed(const StopToken& stop, const Progress& progress) const {
  std::vector<AtlasCorpus> hashes;
  for (std::size_t n = 0; n < files_.size(); ++n) {
    Sha256 hash;
    for (std::int64_t offset = 0; offset < files_[n].size; offset += kHashBlock) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      LOCUS_TRY(const std::string block, read(n, offset, kHashBlock));
      hash.add(block);
      report(progress, static_cast<double>(files_[n].begin + offset) / static_cast<double>(bytes_),
             "SHA-256 of the corpus");
    }
    hashes.push_back({files_[n].name, hash.finish(), files_[n].size});
  }
  return hashes;
}

}  // namespace locus::models::atlas
