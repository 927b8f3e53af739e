#include "models/formats/gguf/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/checked.h"
#include "core/base/shown.h"
#include "models/formats/gguf/gguf_cursor.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::uint64_t kGgufValueLimit = 65'536;
constexpr std::uint64_t kItemLimit = 1U << 24U;
constexpr std::uint32_t kGgufRanks = 4;
constexpr std::int64_t kUsualAlignment = 32;
constexpr std::int64_t kAlignmentLimit = 1 << 20;
// Least bytes of a named value and of a tensor's entry.
constexpr std::uint64_t kLeastValue = 8 + 4 + 1;
constexpr std::uint64_t kLeastEntry = 8 + 4 + 8 + 4 + 8;

struct GgufEntry {
  std::string name;
  std::vector<std::int64_t> shape;
  const blocks::Format* format = nullptr;
  DType dtype = DType::kF32;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// Types other than block formats: buffers of whole numbers, and float64.
std::optional<DType> plain_type(std::uint32_t number) {
  switch (number) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 24:
      return DType::kI8;
    case 25:
      return DType::kI16;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 28:
      return DType::kF64;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// Types of other files, and of none: repacked for some processors, or intermediate results.
std::string other_type(std::uint32_t number) {
  static const std::map<std::uint32_t, std::string> names{
      {4, "Q4_2"},      {5, "Q4_3"},      {9, "Q8_1"},        {15, "Q8_K"},       {31, "Q4_0_4_4"},
      {32, "Q4_0_4_8"}, {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};
  const auto found = names.find(number);
  return found == names.end() ? "type " + std::to_string(number) : found->second;
}

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::filesystem::path& path)
      : bytes_(bytes),
        path_(path),
        metadata_(std::make_shared<GgufMetadata>(path.string(), owner)),
        owner_(std::move(owner)),
        cursor_(bytes, path) {}

  Result<Source> read() {
    LOCUS_CHECK(read_header());
    for (std::uint64_t n = 0; n < values_; ++n) {
      LOCUS_CHECK(read_value());
    }
    LOCUS_TRY(const std::optional<std::int64_t> alignment, metadata_->integer("general.alignment"));
    alignment_ = alignment.value_or(kUsualAlignment);
    if (alignment_ < 1 || alignment_ > kAlignmentLimit || (alignment_ & (alignment_ - 1)) != 0) {
      return bad_input(
          "expected a power of two up to " + std::to_string(kAlignmentLimit) + ", found " + std::to_string(alignment_),
          metadata_->context("general.alignment"));
    }
    std::vector<GgufEntry> entries;
    entries.reserve(static_cast<std::size_t>(tensors_));
    for (std::uint64_t n = 0; n < tensors_; ++n) {
      LOCUS_TRY(GgufEntry entry, read_entry());
      entries.push_back(std::move(entry));
    }
    TensorTable table;
    LOCUS_CHECK(place(entries, table));
    table.files = {path_};
    table.owners.push_back(owner_);
    table.gguf = metadata_;
    return make_source(std::move(table));
  }

 private:
  Status read_header() {
    if (!is_gguf(bytes_)) {
      return bad_input("expected a file that begins with GGUF", path_.string());
    }
    cursor_.skip(kGgufMagic.size());
    LOCUS_TRY(const auto version, cursor_.number<std::uint32_t>("the version"));
    if (version != 2 && version != 3) {
      const bool other_end = (version & 0xFFFFU) == 0 && version != 0;
      return unsupported("expected GGUF version 2 or 3, found " +
                             (other_end ? "a file of a big-endian machine" : "version " + std::to_string(version)),
                         path_.string());
    }
    LOCUS_TRY(tensors_, cursor_.number<std::uint64_t>("the number of tensors"));
    LOCUS_TRY(values_, cursor_.number<std::uint64_t>("the number of values"));
    LOCUS_CHECK(check_count("tensors", tensors_, kTensorLimit, kLeastEntry));
    return check_count("values", values_, kGgufValueLimit, kLeastValue);
  }

  Status check_count(const std::string& what, std::uint64_t count, std::uint64_t limit, std::uint64_t least) const {
    if (count > cursor_.left() / least) {
      return bad_input("expected at most " + std::to_string(cursor_.left() / least) + " " + what + " in " +
                           std::to_string(cursor_.left()) + " bytes, found " + std::to_string(count),
                       path_.string());
    }
    return count > limit ? too_large("expected at most " + std::to_string(limit) + " " + what + ", found " +
                                         std::to_string(count),
                                     path_.string())
                         : Status();
  }

  Status read_value() {
    LOCUS_TRY(const std::string_view key, cursor_.name("the name of a value"));
    const std::string what = "the value of " + shown(key);
    LOCUS_TRY(auto type, cursor_.number<std::uint32_t>(what));
    GgufValue value;
    value.list = type == static_cast<std::uint32_t>(GgufType::kList);
    if (value.list) {
      LOCUS_TRY(type, cursor_.number<std::uint32_t>(what));
      LOCUS_TRY(value.count, cursor_.number<std::uint64_t>(what));
    }
    value.type = static_cast<GgufType>(type);
    if (type > static_cast<std::uint32_t>(GgufType::kF64) || value.type == GgufType::kList) {
      return bad_input("expected a type of values from 0 to 12" + std::string(value.list ? " but no list" : "") +
                           ", found " + std::to_string(type),
                       metadata_->context(key));
    }
    LOCUS_TRY(value.bytes, value.type == GgufType::kText ? cursor_.texts(value, what) : cursor_.numbers(value, what));
    if (value.list && value.count > kItemLimit) {
      return too_large(
          "expected at most " + std::to_string(kItemLimit) + " items, found " + std::to_string(value.count),
          metadata_->context(key));
    }
    return metadata_->add(key, value)
               ? Status()
               : Status(bad_input("expected every name once, found it twice", metadata_->context(key)));
  }

  Result<GgufEntry> read_entry() {
    GgufEntry entry;
    LOCUS_TRY(const std::string_view called, cursor_.name("the name of a tensor"));
    entry.name = called;
    const std::string where = tensor_context(path_, entry.name);
    LOCUS_TRY(const auto rank, cursor_.number<std::uint32_t>("a tensor's rank"));
    if (rank > kGgufRanks) {
      return bad_input("expected at most " + std::to_string(kGgufRanks) + " dimensions, found " + std::to_string(rank),
                       where);
    }
    for (std::uint32_t n = 0; n < rank; ++n) {
      LOCUS_TRY(const auto size, cursor_.number<std::uint64_t>("a tensor's sizes"));
      if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return bad_input("expected sizes below 2^63, found " + std::to_string(size), where);
      }
      entry.shape.insert(entry.shape.begin(), static_cast<std::int64_t>(size));
    }
    LOCUS_TRY(const auto type, cursor_.number<std::uint32_t>("a tensor's type"));
    LOCUS_TRY(const auto offset, cursor_.number<std::uint64_t>("a tensor's place"));
    LOCUS_CHECK(set_type(type, where, entry));
    if (offset > bytes_.size() || static_cast<std::int64_t>(offset) % alignment_ != 0) {
      return bad_input("expected a place within " + std::to_string(bytes_.size()) + " bytes, a multiple of " +
                           std::to_string(alignment_) + ", found " + std::to_string(offset),
                       where);
    }
    entry.offset = static_cast<std::int64_t>(offset);
    return entry;
  }

  // The type, and the bytes of a tensor with this shape.
  Status set_type(std::uint32_t type, const std::string& where, GgufEntry& entry) const {
    const blocks::Format* format = blocks::format_of(type);
    const std::optional<DType> plain = plain_type(type);
    if (format == nullptr && !plain) {
      return unsupported("expected weights of a type that files have today (locus help gguf), found " +
                             other_type(type) + ": download the model in another of them",
                         where);
    }
    entry.format = plain ? nullptr : format;
    entry.dtype = plain.value_or(DType::kBlocks);
    std::vector<std::int64_t> strides;
    std::int64_t count = 0;
    const bool counted = row_major(entry.shape, strides, count);
    const std::int64_t in_row = entry.shape.empty() ? 1 : entry.shape.back();
    if (!plain && counted && in_row % format->elements != 0) {
      return bad_input("expected rows of a multiple of " + std::to_string(format->elements) + " numbers for " +
                           std::string(format->name) + ", found " + shape_text(entry.shape),
                       where);
    }
    const auto bytes = plain ? checked_product({count, static_cast<std::int64_t>(element_size(*plain))})
                             : blocks::row_bytes(*format, count);
    if (!counted || !bytes) {
      return bad_input("expected a shape whose size fits 63 bits, found " + shape_text(entry.shape), where);
    }
    entry.bytes = *bytes;
    return {};
  }

  // Checks that the tensors, by offset, do not overlap and end within the file.
  Status place(std::vector<GgufEntry>& entries, TensorTable& table) {
    const std::int64_t begin = (static_cast<std::int64_t>(cursor_.place()) + alignment_ - 1) / alignment_ * alignment_;
    const std::int64_t size = std::max<std::int64_t>(static_cast<std::int64_t>(bytes_.size()) - begin, 0);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const GgufEntry& a, const GgufEntry& b) { return a.offset < b.offset; });
    table.tensors.reserve(entries.size());
    std::int64_t end = 0;
    for (GgufEntry& entry : entries) {
      const std::string range = std::to_string(entry.bytes) + " from byte " + std::to_string(entry.offset);
      if (entry.offset > size || entry.bytes > size - entry.offset) {
        return bad_input(
            "expected its bytes within the " + std::to_string(size) + " of the file's data, found " + range,
            tensor_context(path_, entry.name));
      }
      if (entry.offset < end && entry.bytes > 0) {
        return bad_input("expected its bytes from " + std::to_string(end) + " on, found an overlap: " + range,
                         tensor_context(path_, entry.name));
      }
      end = std::max(end, entry.offset + entry.bytes);
      TensorInfo tensor;
      std::int64_t count = 0;
      row_major(entry.shape, tensor.strides, count);
      tensor.name = std::move(entry.name);
      tensor.dtype = entry.dtype;
      tensor.blocks = entry.format;
      tensor.shape = std::move(entry.shape);
      tensor.storage = count == 0 ? std::span<const std::byte>()
                                  : bytes_.subspan(static_cast<std::size_t>(begin + entry.offset),
                                                   static_cast<std::size_t>(entry.bytes));
      tensor.file = path_;
      table.tensors.push_back(std::move(tensor));
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  const std::filesystem::path& path_;
  std::shared_ptr<GgufMetadata> metadata_;
  std::shared_ptr<const void> owner_;
  GgufCursor cursor_;
  std::uint64_t tensors_ = 0;
  std::uint64_t values_ = 0;
  std::int64_t alignment_ = kUsualAlignment;
};

}  // namespace

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kGgufMagic.size() && std::memcmp(bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
}

Result<Source> read_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::filesystem::path& path) {
  return GgufReader(bytes, std::move(owner), path).read();
}

}  // namespace locus::formats
