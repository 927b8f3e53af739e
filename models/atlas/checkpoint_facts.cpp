#include "models/atlas/checkpoint_facts.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/atomic_file.h"
#include "core/base/mapping_guard.h"
#include "core/base/numbers.h"
#include "core/base/sha256.h"
#include "models/formats/json/json.h"
#include "models/formats/mapped_file.h"
#include "models/formats/tensor_source.h"

namespace locus::models::atlas {

namespace {

constexpr std::size_t kLongestRecord = std::size_t{64} << 20;
constexpr std::size_t kHashedAtOnce = std::size_t{16} << 20;  // bytes of a file that are in memory

std::optional<std::int64_t> step_in_record(const std::filesystem::path& folder) {
  const auto text = read_file(folder / "training.json", kLongestRecord);
  const auto record = text.ok() ? parse_json(*text, "training.json") : Result<nlohmann::json>(text.error());
  if (!record.ok() || !record->is_object()) {
    return std::nullopt;
  }
  const auto steps = record->find("steps_done");
  return steps == record->end() ? std::nullopt : whole_number(*steps, 0, std::int64_t{1} << 60);
}

}  // namespace

std::optional<std::int64_t> step_in_name(const std::string& name) {
  const std::size_t word = name.rfind("step");
  if (word == std::string::npos) {
    return std::nullopt;
  }
  std::size_t begin = word + 4;
  begin += begin < name.size() && (name[begin] == '-' || name[begin] == '_') ? 1 : 0;
  std::size_t end = begin;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') {
    ++end;
  }
  return parse_number<std::int64_t>(std::string_view(name).substr(begin, end - begin));
}

Result<CheckpointFacts> facts_of(const std::filesystem::path& checkpoint) {
  LOCUS_TRY(const formats::Source source, formats::open_tensors(checkpoint));
  CheckpointFacts facts;
  Sha256 hash;
  for (const std::filesystem::path& file : source->files()) {
    LOCUS_TRY(const auto mapped, formats::MappedFile::open(file));
    for (std::span<const std::byte> rest = mapped->bytes(); !rest.empty();) {
      const std::span<const std::byte> part = rest.first(std::min(rest.size(), kHashedAtOnce));
      hash.add({reinterpret_cast<const char*>(part.data()), part.size()});
      release_mapping(part);
      rest = rest.subspan(part.size());
    }
  }
  facts.sha256 = hash.finish();
  const std::filesystem::path normal = std::filesystem::absolute(checkpoint).lexically_normal();
  facts.step =
      step_in_name(normal.has_filename() ? normal.filename().string() : normal.parent_path().filename().string());
  if (!facts.step) {
    facts.step = step_in_record(checkpoint);
  }
  return facts;
}

}  // namespace locus::models::atlas
