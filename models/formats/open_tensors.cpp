#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "models/formats/files_read.h"
#include "models/formats/foreign_folder.h"
#include "models/formats/gguf/gguf.h"
#include "models/formats/mapped_file.h"
#include "models/formats/safetensors/safetensors.h"
#include "models/formats/safetensors/shard_index.h"
#include "models/formats/tensor_source.h"
#include "models/formats/torch/torch_file.h"

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

bool is_foreign(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h5" || extension == ".msgpack" || extension == ".onnx" || extension == ".npz";
}

Error foreign(const fs::path& path) {
  return unsupported("expected safetensors, GGUF or a torch file, found " + path.extension().string(), path.string());
}

// Recognises safetensors without an extension by the JSON of its header after eight bytes: files from another machine,
// and blobs of the hub's cache.
bool is_nameless_safetensors(const fs::path& path, std::span<const std::byte> bytes) {
  return path.extension().empty() && bytes.size() > 8 && bytes[8] == std::byte{'{'};
}

Result<Source> open_file(const fs::path& path) {
  if (is_index(path.filename().string())) {
    // A shard cannot be an index: its extension was checked.
    return open_sharded(path, open_file);
  }
  if (is_foreign(path)) {
    return foreign(path);
  }
  LOCUS_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  if (is_gguf(file->bytes()) || path.extension() == ".gguf") {
    return open_gguf(path);
  }
  if (path.extension() == ".safetensors" || is_nameless_safetensors(path, file->bytes())) {
    return read_safetensors(file->bytes(), file, path);
  }
  const std::string extension = path.extension().string();
  if (extension == ".pt" || extension == ".pth" || extension == ".bin") {
    return read_torch_file(file->bytes(), file, path);
  }
  return bad_input(
      "expected .safetensors, .gguf, .pt, .pth, .bin or .index.json, found \"" + path.extension().string() + "\"",
      path.string());
}

// The one tensor file of a folder without a usual name.
Result<fs::path> only_file(const fs::path& folder) {
  std::vector<fs::path> safetensors;
  std::vector<fs::path> torch;
  std::vector<fs::path> ggufs;
  fs::path other;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& path = entry->path();
    const std::string extension = path.extension().string();
    if (extension == ".safetensors") {
      safetensors.push_back(path);
    } else if (extension == ".gguf" && gguf_parts(path).front() == path) {
      ggufs.push_back(path);
    } else if ((extension == ".pt" || extension == ".pth" || extension == ".bin") &&
               !is_training_state(path.filename().string())) {
      torch.push_back(path);
    } else if (is_foreign(path)) {
      other = path;
    }
  }
  if (code) {
    return bad_input("cannot read: " + code.message(), folder.string());
  }
  std::vector<fs::path>& found = !safetensors.empty() ? safetensors : !torch.empty() ? torch : ggufs;
  if (found.size() == 1) {
    return found.front();
  }
  if (found.empty() && !other.empty()) {
    return foreign(other);
  }
  std::sort(found.begin(), found.end());
  std::string names;
  for (std::size_t n = 0; n < std::min<std::size_t>(found.size(), 3); ++n) {
    names += (n == 0 ? "" : ", ") + found[n].filename().string();
  }
  names += found.size() > 3 ? ", …" : "";
  return bad_input("expected model.safetensors, pytorch_model.bin, an index or a single tensor file, found " +
                       (names.empty() ? "none" : names),
                   folder.string());
}

}  // namespace

Result<Source> open_tensors(const fs::path& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    return open_file(path);
  }
  for (const std::string_view name : kUsualWeights) {
    if (fs::exists(path / name, code)) {
      return open_file(path / name);
    }
  }
  const Result<fs::path> file = only_file(path);
  // Their own files may end like torch files.
  const std::string name = file.ok() ? file->filename().string() : "";
  const bool theirs = name.starts_with("openvino_") || name.find("mp_rank_") != name.npos;
  if (!file.ok() || theirs || name.find("zero_pp_rank_") != name.npos) {
    if (std::optional<Error> foreign = foreign_folder(path)) {
      return *std::move(foreign);
    }
  }
  if (!file.ok()) {
    return file.error();
  }
  return open_file(*file);
}

std::string unread_weights(const fs::path& folder) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return "";
  }
  std::string taken;
  std::string others;
  for (const std::string_view name : kUsualWeights) {
    if (!fs::exists(folder / name, code)) {
      continue;
    }
    if (taken.empty()) {
      taken = name;
    } else if (name.find("safetensors") != name.npos) {  // torch files are often the same weights in the older format
      others += (others.empty() ? "" : ", ") + std::string(name);
    }
  }
  return others.empty() ? "" : folder.string() + ": read from " + taken + "; not read: " + others;
}

}  // namespace locus::formats
