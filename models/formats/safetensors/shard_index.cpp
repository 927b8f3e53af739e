#include "models/formats/safetensors/shard_index.h"

#include <set>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/shown.h"
#include "models/formats/json/json_events.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIndexLimit = 128U << 20U;
constexpr std::size_t kIndexedTensors = 1'000'000;
constexpr std::size_t kShardLimit = 4096;

// The extension: ".safetensors" of "model.safetensors.index.json".
std::string shard_extension(const fs::path& index) {
  return index.stem().stem().extension().string();
}

Status check_shard(const std::string& name, const fs::path& index) {
  const fs::path shard(name);
  bool inside = !name.empty() && !shard.is_absolute() && name.find_first_of("\\:") == std::string::npos &&
                name.find('\0') == std::string::npos && name.size() <= 1024;
  for (const fs::path& part : shard) {
    inside = inside && part != ".." && part != "." && !part.empty();
  }
  if (!inside) {
    return bad_input("expected files beside the index, found \"" + shown(name) + "\"", index.string());
  }
  const std::string extension = shard_extension(index);
  if (shard.extension() != extension || shard.stem().empty()) {
    return bad_input("expected files named *" + extension + ", found \"" + shown(name) + "\"", index.string());
  }
  return {};
}

// Reads weight_map from the events of an index and skips everything else.
class Collector {
 public:
  explicit Collector(const fs::path& path) : path_(path) {}

  Status handle(const JsonEvent& event) {
    using Kind = JsonEvent::Kind;
    if (depth_ == 0 && event.kind != Kind::kBeginObject) {
      return bad_input("expected an object, found " + event.describe(), path_.string());
    }
    if (event.kind == Kind::kKey && depth_ == 1) {
      in_map_ = event.text == "weight_map";
      found_ |= in_map_;
    } else if (event.kind == Kind::kKey && depth_ == 2 && in_map_) {
      name_ = event.text;
    } else if (in_map_ && event.kind != Kind::kEndObject && event.kind != Kind::kEndArray) {
      LOCUS_CHECK(take(event));
    }
    if (event.kind == Kind::kBeginObject || event.kind == Kind::kBeginArray) {
      ++depth_;
    } else if (event.kind == Kind::kEndObject || event.kind == Kind::kEndArray) {
      --depth_;
    }
    return {};
  }

  Status finish() const { return found_ ? Status() : bad_input("expected a weight_map, found none", path_.string()); }

  ShardIndex index;

 private:
  Status take(const JsonEvent& event) {
    if (depth_ == 1) {
      return event.kind == JsonEvent::Kind::kBeginObject
                 ? Status()
                 : bad_input("weight_map: expected an object, found " + event.describe(), path_.string());
    }
    if (event.kind != JsonEvent::Kind::kText) {
      return bad_input("weight_map: expected a file name, found " + event.describe(), tensor_context(path_, name_));
    }
    const std::string shard(event.text);
    if (shards_.insert(shard).second) {
      LOCUS_CHECK(check_shard(shard, path_));
    }
    if (shards_.size() > kShardLimit || index.weight_map.size() == kIndexedTensors) {
      return too_large("expected at most " + std::to_string(kIndexedTensors) + " tensors in " +
                           std::to_string(kShardLimit) + " files, found more",
                       path_.string());
    }
    index.weight_map.emplace(name_, shard);
    return {};
  }

  const fs::path& path_;
  int depth_ = 0;
  bool in_map_ = false;
  bool found_ = false;
  std::string name_;
  std::set<std::string> shards_;
};

// Warns of tensors that the index places in a file without them. If a model needs one, binding its weights fails with
// its name; indexes often keep entries of rotary buffers and tied heads.
void note_absent(const ShardIndex& index, const std::string& shard, const TensorSource& source, TensorTable& table) {
  for (const auto& [name, file] : index.weight_map) {
    if (file == shard && source.find(name) == nullptr) {
      table.warnings.push_back(tensor_context(source.files().front(), name) + ": in the index, not in the file");
    }
  }
}

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view json, const fs::path& path) {
  Collector collector(path);
  const JsonLimits limits{.depth = 16, .nodes = 2 * kIndexedTensors + 1000};
  if (const Status status = read_json(json, limits, [&](const JsonEvent& event) { return collector.handle(event); });
      !status.ok()) {
    return status.error().context.empty() ? status.error().within(path.string()) : status.error();
  }
  LOCUS_CHECK(collector.finish());
  return std::move(collector.index);
}

Result<Source> open_sharded(const fs::path& path, const std::function<Result<Source>(const fs::path&)>& open_file) {
  LOCUS_TRY(const std::string json, read_file(path, kIndexLimit));
  LOCUS_TRY(const ShardIndex index, parse_shard_index(json, path));
  std::map<std::string, std::size_t> promised;  // file → its tensors in the index
  for (const auto& [name, shard] : index.weight_map) {
    ++promised[shard];
  }
  TensorTable table;
  table.files.push_back(path);
  for (const auto& [shard, count] : promised) {
    LOCUS_TRY(const Source source, open_file(path.parent_path() / shard));
    std::size_t taken = 0;
    for (const TensorInfo& tensor : source->tensors()) {
      const auto found = index.weight_map.find(tensor.name);
      if (found == index.weight_map.end() || found->second != shard) {
        table.warnings.push_back(tensor_context(tensor.file, tensor.name) + ": not in the index, left out");
        continue;
      }
      table.tensors.push_back(tensor);
      ++taken;
    }
    if (taken != count) {
      note_absent(index, shard, *source, table);
    }
    table.files.insert(table.files.end(), source->files().begin(), source->files().end());
    table.warnings.insert(table.warnings.end(), source->warnings().begin(), source->warnings().end());
    table.metadata.insert(source->metadata().begin(), source->metadata().end());
    table.owners.push_back(source);
  }
  return make_source(std::move(table));
}

}  // namespace locus::formats
