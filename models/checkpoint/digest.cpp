#include "models/checkpoint/digest.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/sha256.h"
#include "models/checkpoint/mapped_file.h"

namespace locus::checkpoint {

namespace {

constexpr std::size_t kPiece = 4U << 20U;

}  // namespace

Result<std::string> digest_of(std::vector<std::filesystem::path> files, const Progress& progress,
                              const StopToken& stop) {
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.filename() < b.filename(); });
  std::vector<std::shared_ptr<const MappedFile>> mapped;
  std::size_t total = 0;
  for (const std::filesystem::path& file : files) {
    LOCUS_TRY(std::shared_ptr<const MappedFile> map, MappedFile::open(file));
    total += map->bytes().size();
    mapped.push_back(std::move(map));
  }
  std::vector<std::string> digests;
  std::size_t done = 0;
  for (std::size_t n = 0; n < files.size(); ++n) {
    Sha256 hash;
    std::span<const std::byte> rest = mapped[n]->bytes();
    while (!rest.empty()) {
      if (stop.stop_requested()) {
        return cancelled();
      }
      report(progress, static_cast<double>(done) / static_cast<double>(total),
             "reading " + files[n].filename().string());
      const std::span<const std::byte> piece = rest.first(std::min(rest.size(), kPiece));
      hash.add(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
      rest = rest.subspan(piece.size());
      done += piece.size();
    }
    digests.push_back(hash.finish());
  }
  if (digests.size() == 1) {
    return digests.front();
  }
  if (digests.empty()) {
    return bad_input("expected files to make a digest of, found none");
  }
  std::string lines;
  for (std::size_t n = 0; n < files.size(); ++n) {
    lines += digests[n] + "  " + files[n].filename().string() + "\n";
  }
  return sha256(lines);
}

}  // namespace locus::checkpoint
