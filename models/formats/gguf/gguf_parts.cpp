// GGUF models in several files.
#include <string>
#include <string_view>
#include <utility>

#include "core/base/shown.h"
#include "models/formats/gguf/gguf.h"
#include "models/formats/mapped_file.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

constexpr int kGgufPartLimit = 4096;

// "NAME-00002-of-00005.gguf": its NAME and 5; 1 part for other names.
std::pair<std::string, int> gguf_part_name(const fs::path& path) {
  constexpr std::string_view kForm = "-00001-of-00001.gguf";
  const std::string name = path.filename().string();
  if (name.size() <= kForm.size()) {
    return {name, 1};
  }
  const std::string_view ending = std::string_view(name).substr(name.size() - kForm.size());
  for (std::size_t n = 0; n < kForm.size(); ++n) {
    const bool digit = kForm[n] >= '0' && kForm[n] <= '9';
    if (digit ? ending[n] < '0' || ending[n] > '9' : ending[n] != kForm[n]) {
      return {name, 1};
    }
  }
  return {name.substr(0, name.size() - kForm.size()), std::stoi(std::string(ending.substr(10, 5)))};
}

std::string five_digits(int number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - digits.size(), '0') + digits;
}

Result<Source> open_gguf_part(const fs::path& path) {
  LOCUS_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  return read_gguf(file->bytes(), file, path);
}

// Checks that a part states its number and the number of parts, where it is one of several: all do, or none.
Status check_gguf_part(const GgufMetadata& metadata, const GgufMetadata& first, int number, int count) {
  LOCUS_TRY(const std::optional<std::int64_t> own, metadata.integer("split.no"));
  LOCUS_TRY(const std::optional<std::int64_t> parts, metadata.integer("split.count"));
  for (const char* const value : {"split.no", "split.count"}) {
    if (first.has(value) && !metadata.has(value)) {
      return bad_input("expected a value, as in " + first.file() + ", found none", metadata.context(value));
    }
  }
  if (parts && *parts != count) {
    return bad_input("expected " + std::to_string(count) + " parts as in its name, found " + std::to_string(*parts),
                     metadata.context("split.count"));
  }
  if (own && *own != number) {
    return bad_input(
        "expected part " + std::to_string(number) + ", counted from 0, as in its name, found " + std::to_string(*own),
        metadata.context("split.no"));
  }
  LOCUS_TRY(const auto model, first.text("general.architecture"));
  LOCUS_TRY(const auto same, metadata.text("general.architecture"));
  if (same && same != model) {
    return bad_input(
        "expected " + shown(model.value_or("none")) + ", as in " + first.file() + ", found " + shown(*same),
        metadata.context("general.architecture"));
  }
  return {};
}

// Checks the number of tensors of all parts, which the first states. Errors: kBadInput.
Status check_gguf_tensors(const GgufMetadata& metadata, std::size_t found) {
  LOCUS_TRY(const std::optional<std::int64_t> stated, metadata.integer("split.tensors.count"));
  if (stated && *stated != static_cast<std::int64_t>(found)) {
    return bad_input(
        "expected as many as the parts have, " + std::to_string(found) + ", found " + std::to_string(*stated),
        metadata.context("split.tensors.count"));
  }
  return {};
}

}  // namespace

std::vector<fs::path> gguf_parts(const fs::path& path) {
  const auto [name, count] = gguf_part_name(path);
  if (count < 2 || count > kGgufPartLimit) {
    return {path};
  }
  std::vector<fs::path> parts;
  for (int n = 1; n <= count; ++n) {
    parts.push_back(path.parent_path() / (name + "-" + five_digits(n) + "-of-" + five_digits(count) + ".gguf"));
  }
  return parts;
}

Result<Source> open_gguf(const fs::path& path) {
  const std::vector<fs::path> parts = gguf_parts(path);
  TensorTable table;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    LOCUS_TRY(const Source part, open_gguf_part(parts[n]));
    table.gguf = n == 0 ? part->gguf() : table.gguf;
    LOCUS_CHECK(check_gguf_part(*part->gguf(), *table.gguf, static_cast<int>(n), static_cast<int>(parts.size())));
    if (parts.size() == 1) {
      return part;
    }
    table.tensors.insert(table.tensors.end(), part->tensors().begin(), part->tensors().end());
    table.files.push_back(parts[n]);
    table.owners.push_back(part);
  }
  LOCUS_CHECK(check_gguf_tensors(*table.gguf, table.tensors.size()));
  return make_source(std::move(table));
}

}  // namespace locus::formats
