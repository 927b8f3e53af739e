#include "models/formats/trace/ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/shown.h"
#include "models/formats/json/json.h"
#include "models/formats/trace/rank_files.h"

namespace locus::models::trace {

namespace {

using formats::TensorInfo;
using nlohmann::json;

constexpr std::array kLists{"layer_encodings", "windows", "chunks", "soft_caps", "sinks"};

// N of "layers.N.q"; −1 of other names.
std::int64_t layer_of(const std::string& name) {
  constexpr std::string_view kBefore = "layers.";
  std::int64_t layer = -1;
  if (name.starts_with(kBefore)) {
    const auto [end, code] = std::from_chars(name.data() + kBefore.size(), name.data() + name.size(), layer);
    layer = code == std::errc() && end != name.data() + name.size() && *end == '.' ? layer : -1;
  }
  return layer;
}

// True if a layer's tensor has one row per head, or per key head.
bool by_heads(const std::string& name) {
  static const std::set<std::string> known{"q",           "k",         "q_content", "k_content", "attention",
                                           "log_sum_exp", "positions", "gates",     "sinks"};
  return known.count(name.substr(name.rfind('.') + 1)) != 0;
}

std::span<const std::byte> bytes_of(const TensorInfo& info) {
  const std::size_t size = formats::element_size(info.dtype);
  return info.storage.subspan(static_cast<std::size_t>(info.offset) * size,
                              static_cast<std::size_t>(info.elements()) * size);
}

class JoinedRanks : public formats::TensorSource {
 public:
  explicit JoinedRanks(std::vector<Rank> ranks) : ranks_(std::move(ranks)) {}

  Status join() {
    LOCUS_CHECK(join_layers());
    LOCUS_CHECK(join_metadata());
    std::map<std::string, std::vector<Part>> named;
    for (const Rank& rank : ranks_) {
      files_.emplace_back(rank.file);
      for (const TensorInfo& info : rank.source->tensors()) {
        named[info.name].push_back({&rank, &info});
      }
    }
    for (const auto& [name, parts] : named) {
      LOCUS_CHECK(layer_of(name) < 0 ? add_shared(parts) : add_of_layer(name, parts));
    }
    return {};
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(std::string_view name) const override {
    const auto found =
        std::find_if(tensors_.begin(), tensors_.end(), [&](const TensorInfo& info) { return info.name == name; });
    return found == tensors_.end() ? nullptr : &*found;
  }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::vector<std::filesystem::path>& files() const override { return files_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  const std::string& extra_json() const override { return extra_json_; }

 private:
  struct Part {
    const Rank* rank;
    const TensorInfo* info;
  };

  // Checks that every layer up to the last has all heads, each once.
  Status join_layers() {
    for (const Rank& rank : ranks_) {
      layers_ = std::max(layers_, rank.layers.back() + 1);
    }
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      std::vector<const Rank*> holders;
      for (const Rank& rank : ranks_) {
        if (rank.holds(layer)) {
          holders.push_back(&rank);
        }
      }
      std::sort(holders.begin(), holders.end(), [](const Rank* a, const Rank* b) { return a->begin < b->begin; });
      std::int64_t next = 0;
      for (const Rank* const rank : holders) {
        if (rank->begin != next) {
          return bad_input("layer " + std::to_string(layer) + ": expected heads from " + std::to_string(next) +
                               " on, found " + std::to_string(rank->begin) + " to " + std::to_string(rank->end),
                           rank->metadata("shard"));
        }
        next = rank->end;
      }
      if (next != ranks_.front().of) {
        return bad_input("layer " + std::to_string(layer) + ": expected " + std::to_string(ranks_.front().of) +
                             " heads in the files of all ranks, found " + std::to_string(next),
                         ranks_.front().metadata("shard"));
      }
    }
    return {};
  }

  // Metadata that must be equal in all ranks, and the concatenated lists of layers.
  Status join_metadata() {
    const Rank& first = ranks_.front();
    std::set<std::string> own{"shard", "shape", "encoding", "window", "notes"};
    own.insert(kLists.begin(), kLists.end());
    for (const Rank& rank : ranks_) {
      std::map<std::string, std::string> all = first.source->metadata();
      all.insert(rank.source->metadata().begin(), rank.source->metadata().end());
      for (const auto& [key, text] : all) {
        if (own.count(key) == 0 && rank.text(key) != first.text(key)) {
          return bad_input(
              "expected the value of rank 0, " + shown(first.text(key)) + ", found " + shown(rank.text(key)),
              rank.metadata(key));
        }
      }
    }
    metadata_ = first.source->metadata();
    metadata_.erase("shard");
    for (const char* const key : kLists) {
      LOCUS_CHECK(join_list(key));
    }
    return join_notes();
  }

  // What any of them says, once.
  Status join_notes() {
    json joined = json::array();
    for (const Rank& rank : ranks_) {
      if (rank.text("notes").empty()) {
        continue;
      }
      LOCUS_TRY(const json notes, parse_json(rank.text("notes"), rank.metadata("notes")));
      for (const json& note : notes) {
        if (std::find(joined.begin(), joined.end(), note) == joined.end()) {
          joined.push_back(note);
        }
      }
    }
    if (!joined.empty()) {
      metadata_["notes"] = joined.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    return {};
  }

  Status join_list(const std::string& key) {
    std::vector<std::optional<json>> entries(static_cast<std::size_t>(layers_));
    for (const Rank& rank : ranks_) {
      LOCUS_TRY(const json list, parse_json(rank.text(key), rank.metadata(key)));
      if (!list.is_array() || list.size() != rank.layers.size()) {
        return bad_input("expected a list of " + std::to_string(rank.layers.size()) + " entries, one per layer",
                         rank.metadata(key));
      }
      for (std::size_t n = 0; n < list.size(); ++n) {
        std::optional<json>& entry = entries[static_cast<std::size_t>(rank.layers[n])];
        if (entry && *entry != list[n]) {
          return bad_input("layer " + std::to_string(rank.layers[n]) + ": expected " + shown_value(*entry) +
                               " as another rank has, found " + shown_value(list[n]),
                           rank.metadata(key));
        }
        entry = list[n];
      }
    }
    json joined = json::array();
    for (const std::optional<json>& entry : entries) {
      joined.push_back(*entry);
    }
    metadata_[key] = joined.dump(-1, ' ', false, json::error_handler_t::replace);
    return {};
  }

  // Ids, positions and parameters: equal in all ranks that have them.
  Status add_shared(const std::vector<Part>& parts) {
    const Part& first = parts.front();
    for (const Part& part : parts) {
      const auto mine = bytes_of(*part.info);
      const auto other = bytes_of(*first.info);
      if (part.info->dtype != first.info->dtype || part.info->shape != first.info->shape ||
          !std::equal(mine.begin(), mine.end(), other.begin(), other.end())) {
        return bad_input("expected the values of " + first.rank->file + ", found others",
                         part.rank->tensor(part.info->name));
      }
    }
    tensors_.push_back(*first.info);
    return {};
  }

  Status add_of_layer(const std::string& name, std::vector<Part> parts) {
    const std::int64_t layer = layer_of(name);
    for (const Rank& rank : ranks_) {
      const bool here = rank.source->find(name) != nullptr;
      if (here != rank.holds(layer)) {
        return bad_input(
            here ? "expected no tensor of a layer that its metadata does not name, found one"
                 : "expected it as in the files of the other ranks of layer " + std::to_string(layer) + ", found none",
            rank.tensor(name));
      }
    }
    if (!by_heads(name)) {
      return add_shared(parts);
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.rank->begin < b.rank->begin; });
    const TensorInfo& first = *parts.front().info;
    const std::int64_t first_heads = parts.front().rank->end - parts.front().rank->begin;
    std::int64_t rows = 0;
    std::size_t bytes = 0;
    for (const auto& [rank, info] : parts) {
      const bool alike = info->dtype == first.dtype && info->shape.size() == first.shape.size() &&
                         !info->shape.empty() && info->elements() > 0 &&
                         std::equal(info->shape.begin() + 1, info->shape.end(), first.shape.begin() + 1);
      const std::int64_t heads = rank->end - rank->begin;
      const bool keys = name.ends_with(".k") || name.ends_with(".k_content");  // as many for a head as elsewhere
      if (!alike || (keys ? info->shape[0] * first_heads != first.shape[0] * heads : info->shape[0] != heads)) {
        return bad_input("expected " + std::to_string(heads) +
                             " heads of the type and shape that the other ranks have, found others",
                         rank->tensor(name));
      }
      rows += info->shape[0];
      bytes += bytes_of(*info).size();
    }
    tensors_.push_back(first);
    if (parts.size() > 1) {
      std::vector<std::byte>& whole = joined_.emplace_back();
      whole.reserve(bytes);
      for (const Part& part : parts) {
        const auto own = bytes_of(*part.info);
        whole.insert(whole.end(), own.begin(), own.end());
      }
      TensorInfo& info = tensors_.back();
      info.shape[0] = rows;
      info.offset = 0;
      info.storage = whole;
    }
    return {};
  }

  std::vector<Rank> ranks_;
  std::int64_t layers_ = 0;
  std::vector<TensorInfo> tensors_;
  std::vector<std::vector<std::byte>> joined_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::string> warnings_;
  std::string extra_json_;
};

}  // namespace

Result<formats::Source> join_ranks(formats::Source source, const std::filesystem::path& path) {
  if (source->metadata().count("shard") == 0) {
    return source;
  }
  LOCUS_TRY(std::vector<Rank> ranks, read_ranks(source, path));
  const auto joined = std::make_shared<JoinedRanks>(std::move(ranks));
  LOCUS_CHECK(joined->join());
  return formats::Source(joined);
}

}  // namespace locus::models::trace
