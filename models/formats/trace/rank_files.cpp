#include "models/formats/trace/rank_files.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "models/formats/files_read.h"
#include "models/formats/json/json.h"

namespace locus::models::trace {

namespace {

using formats::Source;
using nlohmann::json;

constexpr std::int64_t kMaxRanks = 1024;
constexpr std::int64_t kMaxRankLayers = 4096;
constexpr std::int64_t kMaxHeads = 1 << 20;

Result<Rank> read_rank(Source source, const std::filesystem::path& path) {
  Rank rank{std::move(source), path.string(), 0, 0, {}, 0, 0, 0};
  const std::string where = rank.metadata("shard");
  LOCUS_TRY(const json stored, parse_json(rank.text("shard"), where));
  LOCUS_TRY(const JsonObject shard, JsonObject::of(stored, where));
  LOCUS_TRY(rank.ranks, shard.get<std::int64_t>("ranks"));
  LOCUS_TRY(rank.number, shard.get<std::int64_t>("rank"));
  LOCUS_TRY(rank.of, shard.get<std::int64_t>("of"));
  LOCUS_TRY(const json* const layers, shard.array("layers"));
  LOCUS_TRY(const json* const heads, shard.array("heads"));
  if (rank.ranks < 1 || rank.ranks > kMaxRanks || rank.number < 0 || rank.number >= rank.ranks) {
    return shard.wrong("rank", "a rank below " + std::to_string(std::clamp<std::int64_t>(rank.ranks, 1, kMaxRanks)));
  }
  for (const json& layer : *layers) {
    const auto number = whole_number(layer, rank.layers.empty() ? 0 : rank.layers.back() + 1, kMaxRankLayers - 1);
    if (!number) {
      return shard.wrong("layers", "rising numbers below " + std::to_string(kMaxRankLayers));
    }
    rank.layers.push_back(*number);
  }
  const bool two = heads->size() == 2 && rank.of > 0 && rank.of <= kMaxHeads;
  rank.begin = two ? whole_number((*heads)[0], 0, rank.of - 1).value_or(-1) : -1;
  rank.end = two ? whole_number((*heads)[1], rank.begin + 1, rank.of).value_or(-1) : -1;
  if (rank.begin < 0 || rank.end < 0 || rank.layers.empty()) {
    return shard.wrong("heads", "begin and end within the model's heads, and layers");
  }
  return rank;
}

}  // namespace

Result<std::vector<Rank>> read_ranks(const Source& source, const std::filesystem::path& path) {
  LOCUS_TRY(const Rank first, read_rank(source, path));
  const std::vector<std::filesystem::path> files = formats::rank_files(path);
  if (std::ssize(files) != first.ranks || files[static_cast<std::size_t>(first.number)].filename() != path.filename()) {
    return bad_input("expected a name with .rank" + std::to_string(first.number) + "of" + std::to_string(first.ranks) +
                         "., as the ranks' files have",
                     first.file);
  }
  std::vector<Rank> ranks;
  for (std::int64_t n = 0; n < first.ranks; ++n) {
    const std::filesystem::path& file = files[static_cast<std::size_t>(n)];
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) {
      return bad_input(
          "expected the file of rank " + std::to_string(n) + " of " + std::to_string(first.ranks) + ", found none",
          file.string());
    }
    LOCUS_TRY(Source opened, formats::open_tensors(file));
    LOCUS_TRY(Rank rank, read_rank(std::move(opened), file));
    if (rank.number != n || rank.ranks != first.ranks || rank.of != first.of) {
      return bad_input("expected rank " + std::to_string(n) + " of " + std::to_string(first.ranks) + " and " +
                           std::to_string(first.of) + " heads, found rank " + std::to_string(rank.number) + " of " +
                           std::to_string(rank.ranks) + " and " + std::to_string(rank.of),
                       rank.metadata("shard"));
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace locus::models::trace
