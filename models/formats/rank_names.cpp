// The names of a sharded run's files.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "models/formats/files_read.h"

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankMark = ".rank";
constexpr std::string_view kOf = "of";
constexpr std::string_view kEnding = ".safetensors";
constexpr int kMaxRanks = 1024;

// "t.rank1of2.safetensors": what stands before the mark, and the numbers in it.
struct RankName {
  std::string stem;
  int rank = 0;
  int ranks = 0;
};

std::string ranked(const std::string& stem, int rank, int ranks) {
  return stem + std::string(kRankMark) + std::to_string(rank) + std::string(kOf) + std::to_string(ranks) +
         std::string(kEnding);
}

std::optional<RankName> parse_rank(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t mark = name.rfind(kRankMark);
  if (mark == std::string::npos || mark == 0 || !name.ends_with(kEnding)) {
    return std::nullopt;
  }
  RankName parsed{name.substr(0, mark), 0, 0};
  const char* const end = name.data() + name.size();
  const auto rank = std::from_chars(name.data() + mark + kRankMark.size(), end, parsed.rank);
  if (rank.ec != std::errc() || !std::string_view(rank.ptr, end).starts_with(kOf)) {
    return std::nullopt;
  }
  const auto ranks = std::from_chars(rank.ptr + kOf.size(), end, parsed.ranks);
  const bool sane = ranks.ec == std::errc() && parsed.rank >= 0 && parsed.rank < parsed.ranks &&
                    parsed.ranks <= kMaxRanks && name == ranked(parsed.stem, parsed.rank, parsed.ranks);
  return sane ? std::optional(parsed) : std::nullopt;
}

}  // namespace

std::vector<fs::path> rank_files(const fs::path& file) {
  std::vector<fs::path> files;
  if (const auto parsed = parse_rank(file)) {
    for (int rank = 0; rank < parsed->ranks; ++rank) {
      files.push_back(file.parent_path() / ranked(parsed->stem, rank, parsed->ranks));
    }
  }
  return files;
}

fs::path first_rank_of(const fs::path& whole) {
  std::error_code code;
  if (whole.extension() != kEnding || fs::exists(whole, code)) {
    return {};
  }
  const std::string stem = whole.stem().string();
  fs::path found;
  fs::file_time_type written = fs::file_time_type::min();
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const auto parsed = parse_rank(entry->path());
    std::error_code ignored;
    const fs::file_time_type time = entry->last_write_time(ignored);
    if (parsed && parsed->stem == stem && parsed->rank == 0 && (found.empty() || time > written)) {
      found = whole.parent_path() / entry->path().filename();
      written = time;
    }
  }
  return found;
}

std::string whole_name(const fs::path& file) {
  const auto parsed = parse_rank(file);
  return parsed ? parsed->stem : file.stem().string();
}

}  // namespace locus::formats
