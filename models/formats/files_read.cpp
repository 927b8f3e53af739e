#include "models/formats/files_read.h"

#include <string>
#include <system_error>

#include "core/base/atomic_file.h"
#include "models/formats/file_names.h"
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
    return;  // opening it says why
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
  std::vector<fs::path> weights;  // of a folder whose weights have no usual name
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

}  // namespace locus::formats
