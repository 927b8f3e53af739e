#include "models/formats/torch/zip_records.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/base/shown.h"

namespace locus::formats {

namespace {

// APPNOTE.TXT 4.3: signatures and fixed sizes.
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr std::uint32_t kDirectoryLocator64 = 0x07064b50;
constexpr std::uint64_t kLocalSize = 30;
constexpr std::uint64_t kEntrySize = 46;
constexpr std::uint64_t kEndSize = 22;
constexpr std::uint64_t kEnd64Size = 56;
constexpr std::uint64_t kLocatorSize = 20;
constexpr std::uint64_t kCommentLimit = 65'535;
constexpr std::uint64_t kRecordLimit = 1'000'000;
constexpr std::uint32_t kSaturated = 0xFFFFFFFF;

// Little-endian numbers at offsets that were checked.
class RecordBytes {
 public:
  explicit RecordBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t size() const { return bytes_.size(); }
  bool has(std::uint64_t at, std::uint64_t count) const { return at <= size() && count <= size() - at; }
  template <class T>
  T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  std::uint64_t u16(std::uint64_t at) const { return get<std::uint16_t>(at); }
  std::uint32_t u32(std::uint64_t at) const { return get<std::uint32_t>(at); }
  std::string_view text(std::uint64_t at, std::uint64_t count) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, static_cast<std::size_t>(count)};
  }
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t count) const {
    return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t records = 0;
};

std::optional<Directory> find_directory(const RecordBytes& file) {
  if (file.size() < kEndSize) {
    return std::nullopt;
  }
  const std::uint64_t last = file.size() - kEndSize;
  for (std::uint64_t back = 0; back <= std::min(last, kCommentLimit); ++back) {
    const std::uint64_t end = last - back;
    if (file.u32(end) != kDirectoryEnd || file.u16(end + 20) != back) {
      continue;
    }
    Directory directory{file.u32(end + 16), file.u32(end + 12), file.u16(end + 10)};
    std::uint64_t limit = end;
    if (end >= kLocatorSize && file.u32(end - kLocatorSize) == kDirectoryLocator64) {
      const auto at = file.get<std::uint64_t>(end - kLocatorSize + 8);
      if (!file.has(at, kEnd64Size) || at + kEnd64Size > end - kLocatorSize || file.u32(at) != kDirectoryEnd64) {
        return std::nullopt;
      }
      directory = {file.get<std::uint64_t>(at + 48), file.get<std::uint64_t>(at + 40),
                   file.get<std::uint64_t>(at + 32)};
      limit = at;
    }
    const bool inside = directory.offset <= limit && directory.size <= limit - directory.offset;
    return inside && directory.records <= directory.size / kEntrySize ? std::optional(directory) : std::nullopt;
  }
  return std::nullopt;
}

struct Record {
  std::string_view name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t local = 0;
  std::uint64_t data = 0;
};

// Sizes and offset that do not fit 32 bits are in the extra field 1, in this order.
bool read_extra64(const RecordBytes& file, std::uint64_t at, std::uint64_t end, Record& record) {
  while (end - at >= 4) {
    const std::uint64_t id = file.u16(at);
    const std::uint64_t length = file.u16(at + 2);
    at += 4;
    if (length > end - at) {
      return false;
    }
    if (id == 1) {
      std::uint64_t field = at;
      for (std::uint64_t* value : {&record.size, &record.packed, &record.local}) {
        if (*value != kSaturated) {
          continue;
        }
        if (field + 8 > at + length) {
          return false;
        }
        *value = file.get<std::uint64_t>(field);
        field += 8;
      }
    }
    at += length;
  }
  return true;
}

// The reason why the record cannot be read, or empty; sets the start of its data.
std::string check_record(const RecordBytes& file, const Directory& directory, Record& record) {
  if (record.method != 0 || record.packed != record.size) {
    return "expected a stored record, found compression method " + std::to_string(record.method);
  }
  if ((record.flags & 1U) != 0) {
    return "expected a plain record, found an encrypted one";
  }
  if (!file.has(record.local, kLocalSize) || file.u32(record.local) != kLocalHeader) {
    return "expected its local header at byte " + std::to_string(record.local) + ", found none";
  }
  const std::uint64_t name_length = file.u16(record.local + 26);
  record.data = record.local + kLocalSize + name_length + file.u16(record.local + 28);
  if (!file.has(record.local + kLocalSize, name_length) ||
      file.text(record.local + kLocalSize, name_length) != record.name || file.u16(record.local + 8) != 0) {
    return "expected a local header that agrees with the directory";
  }
  if (record.data > directory.offset || record.size > directory.offset - record.data) {
    return "expected " + std::to_string(record.size) + " bytes inside the archive, found fewer";
  }
  return {};
}

}  // namespace

Result<std::map<std::string_view, std::span<const std::byte>>> read_zip_records(std::span<const std::byte> archive,
                                                                                const std::filesystem::path& path) {
  const RecordBytes file(archive);
  const std::optional<Directory> directory = find_directory(file);
  if (!directory) {
    return bad_input("expected a zip archive with a directory at its end, found none", path.string());
  }
  if (directory->records > kRecordLimit) {
    return too_large(
        "expected at most " + std::to_string(kRecordLimit) + " records, found " + std::to_string(directory->records),
        path.string());
  }
  const auto broken = [&] { return bad_input("expected a whole zip directory, found a broken one", path.string()); };
  std::vector<Record> records;
  std::uint64_t at = directory->offset;
  const std::uint64_t end = directory->offset + directory->size;
  for (std::uint64_t n = 0; n < directory->records; ++n) {
    if (end - at < kEntrySize || file.u32(at) != kDirectoryEntry) {
      return broken();
    }
    const std::uint64_t name_length = file.u16(at + 28);
    const std::uint64_t extra_length = file.u16(at + 30);
    const std::uint64_t length = kEntrySize + name_length + extra_length + file.u16(at + 32);
    if (end - at < length) {
      return broken();
    }
    Record record{file.text(at + kEntrySize, name_length),
                  file.u16(at + 8),
                  file.u16(at + 10),
                  file.u32(at + 20),
                  file.u32(at + 24),
                  file.u32(at + 42),
                  0};
    const std::uint64_t extra = at + kEntrySize + name_length;
    if (!read_extra64(file, extra, extra + extra_length, record)) {
      return broken();
    }
    if (const std::string why = check_record(file, *directory, record); !why.empty()) {
      return bad_input(why, path.string() + ": record " + shown(record.name));
    }
    records.push_back(record);
    at += length;
  }
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.local < b.local; });
  std::map<std::string_view, std::span<const std::byte>> found;
  std::uint64_t free = 0;
  for (const Record& record : records) {
    const std::string context = path.string() + ": record " + shown(record.name);
    if (record.local < free) {
      return bad_input("expected records side by side, found an overlap", context);
    }
    free = record.data + record.size;
    if (!found.emplace(record.name, file.part(record.data, record.size)).second) {
      return bad_input("expected every record once, found it twice", context);
    }
  }
  return found;
}

}  // namespace locus::formats
