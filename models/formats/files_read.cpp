#include "models/formats/files_read.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/atomic_file.h"
#include "models/formats/gguf/gguf.h"
#include "models/formats/safetensors/shard_index.h"

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIndexFileLimit = std::size_t{128} << 20;

bool is_usual_weights(const std::string& name) {
  return name == "model.safetensors" || name == "pytorch_model.bin" || is_index(name);
}

void add_shards(const fs::path& index, std::vector<fs::path>& files) {
  const auto text = read_file(index, kIndexFileLimit);
  const auto parsed = text.ok() ? parse_shard_index(*text, index) : Result<ShardIndex>(text.error());
  if (!parsed.ok()) {
    return;  // opening it reports the error
  }
  for (const auto& [tensor, shard] : parsed->weight_map) {
    if (files.empty() || files.back() != index.parent_path() / shard) {  // tensors of a shard mostly follow each other
      files.push_back(index.parent_path() / shard);
    }
  }
}

}  // namespace

std::vector<fs::path> files_read(const fs::path& checkpoint) {
  std::vector<fs::path> files;
  std::error_code code;
  const bool folder = fs::is_directory(checkpoint, code);
  if (!folder && !fs::exists(checkpoint, code)) {
    return files;
  }
  std::vector<fs::path> weights;  // weights of a folder without usual names
  bool usual = !folder;
  const fs::path where = folder ? checkpoint : checkpoint.has_parent_path() ? checkpoint.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(where, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& file = entry->path();
    const std::string name = file.filename().string();
    if (is_read_by_name(name)) {
      files.push_back(file);
    } else if (folder && is_usual_weights(name)) {
      usual = true;
      files.push_back(file);
    } else if (folder && may_be_weights(name)) {
      weights.push_back(file);
    }
    if (folder && is_index(name)) {
      add_shards(file, files);
    }
  }
  if (!usual) {
    files.insert(files.end(), weights.begin(), weights.end());
  }
  if (!folder) {
    for (const std::vector<fs::path>& parts : {gguf_parts(checkpoint), rank_files(checkpoint)}) {
      files.insert(files.end(), parts.begin(), parts.end());
    }
    if (is_index(checkpoint.filename().string())) {
      add_shards(checkpoint, files);
    }
  }
  return files;
}

namespace {

constexpr std::string_view kRankMark = ".rank";
constexpr std::string_view kOf = "of";
constexpr std::string_view kEnding = ".safetensors";
constexpr int kMaxRanks = 1024;

// "t.rank1of2.safetensors": the part before the mark, and its numbers.
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

namespace {

constexpr std::array<std::string_view, 26> kRead{"config.json",
                                                 "params.json",
                                                 "modules.json",
                                                 "config_sentence_transformers.json",
                                                 "adapter_config.json",
                                                 "generation_config.json",
                                                 "preprocessor_config.json",
                                                 "processor_config.json",
                                                 "video_preprocessor_config.json",
                                                 "pe_config.json",
                                                 "tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "tokenizer.model",
                                                 "spiece.model",
                                                 "spm.model",
                                                 "sentencepiece.bpe.model",
                                                 "vocab.txt",
                                                 "training.json",
                                                 "loss.csv",
                                                 "training_state.safetensors",
                                                 "expected.safetensors",
                                                 "model_1.safetensors"};

}  // namespace

bool is_read_by_name(std::string_view name) {
  return std::find(kRead.begin(), kRead.end(), name) != kRead.end();
}

bool is_index(std::string_view name) {
  return name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json");
}

bool may_be_weights(std::string_view name) {
  return name.ends_with(".safetensors") || name.ends_with(".gguf") || name.ends_with(".bin") || name.ends_with(".pt") ||
         name.ends_with(".pth");
}

bool is_training_state(std::string_view name) {
  constexpr std::array<std::string_view, 5> kStarts{"training_args", "optimizer", "scheduler", "scaler", "rng_state"};
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace locus::formats
