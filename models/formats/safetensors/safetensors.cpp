#include "models/formats/safetensors/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/base/shown.h"
#include "models/formats/json/json_events.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

constexpr std::uint64_t kHeaderLimit = 100'000'000;  // limit of the reference reader
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMetadataLimit = 65'536;

Result<DType> parse_dtype(std::string_view name) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16,
                            DType::kI8, DType::kU8, DType::kBool}) {
    if (name == to_text(dtype)) {
      return dtype;
    }
  }
  if (name == "U32") {
    return DType::kI32;  // words of packed numbers, of which nobody reads the sign
  }
  if (name == blocks::float8().name) {
    return DType::kBlocks;  // of one number
  }
  for (const std::string_view known : {"U16", "U64", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2", "C64"}) {
    if (name == known) {
      return unsupported("expected a dtype of F64, F32, F16, BF16, I64, I32, U32, I16, I8, U8, BOOL, F8_E4M3, found " +
                         std::string(name));
    }
  }
  return bad_input("expected a dtype, found \"" + shown(name, 40) + "\"");
}

// One entry of the header, unchecked.
struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> offsets;
  bool has_shape = false;
};

// Collects the header's entries from its JSON events.
class Header {
 public:
  explicit Header(const std::filesystem::path& path) : path_(path) {}

  Status handle(const JsonEvent& event) {
    using Kind = JsonEvent::Kind;
    switch (state_) {
      case State::kStart:
        return event.kind == Kind::kBeginObject ? enter(State::kNames) : wrong("an object", event);
      case State::kNames:
        if (event.kind == Kind::kEndObject) {
          return enter(State::kEnd);
        }
        return begin_name(event);
      case State::kEntry:
        return event.kind == Kind::kBeginObject ? enter(State::kFields) : wrong("an object", event);
      case State::kFields:
        if (event.kind == Kind::kEndObject) {
          return end_entry();
        }
        return begin_field(event);
      case State::kDtype:
        return set_dtype(event);
      case State::kList:
        return event.kind == Kind::kBeginArray ? enter(State::kNumbers) : wrong("a list", event);
      case State::kNumbers:
        return event.kind == Kind::kEndArray ? enter(State::kFields) : add_number(event);
      case State::kMetadata:
        return event.kind == Kind::kBeginObject ? enter(State::kMetadataNames) : wrong("an object of texts", event);
      case State::kMetadataNames:
        if (event.kind == Kind::kEndObject) {
          return enter(State::kNames);
        }
        metadata_name_ = event.text;
        return enter(State::kMetadataText);
      case State::kMetadataText:
        return add_metadata(event);
      case State::kEnd:
        break;
    }
    return internal("a JSON event after the header's end");
  }

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

 private:
  enum class State {
    kStart,
    kNames,
    kEntry,
    kFields,
    kDtype,
    kList,
    kNumbers,
    kMetadata,
    kMetadataNames,
    kMetadataText,
    kEnd,
  };

  Status enter(State state) {
    state_ = state;
    return {};
  }
  std::string context() const {
    return entries.empty() || state_ == State::kNames ? path_.string() : tensor_context(path_, entries.back().name);
  }
  Status wrong(const std::string& expected, const JsonEvent& event) const {
    const std::string field = field_.empty() ? "" : field_ + ": ";
    return bad_input(field + "expected " + expected + ", found " + event.describe(), context());
  }

  Status begin_name(const JsonEvent& event) {
    field_.clear();
    if (event.text == "__metadata__") {
      field_ = "__metadata__";
      return enter(State::kMetadata);
    }
    if (entries.size() == kTensorLimit) {
      return too_large("expected at most " + std::to_string(kTensorLimit) + " tensors, found more", path_.string());
    }
    entries.emplace_back().name = event.text;
    return enter(State::kEntry);
  }

  Status begin_field(const JsonEvent& event) {
    field_ = event.text;
    if (field_ == "dtype") {
      return enter(State::kDtype);
    }
    if (field_ == "shape" || field_ == "data_offsets") {
      numbers_ = field_ == "shape" ? &entries.back().shape : &entries.back().offsets;
      entries.back().has_shape |= field_ == "shape";
      return enter(State::kList);
    }
    return bad_input("expected dtype, shape and data_offsets, found \"" + shown(event.text, 40) + "\"", context());
  }

  Status set_dtype(const JsonEvent& event) {
    if (event.kind != JsonEvent::Kind::kText) {
      return wrong("a text", event);
    }
    LOCUS_TRY(entries.back().dtype, within(parse_dtype(event.text), context()));
    return enter(State::kFields);
  }

  Status add_number(const JsonEvent& event) {
    if (event.kind != JsonEvent::Kind::kInteger || event.integer < 0) {
      return wrong("whole numbers from 0 to 2^63 - 1", event);
    }
    if (numbers_->size() == kRankLimit) {
      return bad_input(field_ + ": expected at most " + std::to_string(kRankLimit) + " numbers, found more", context());
    }
    numbers_->push_back(event.integer);
    return {};
  }

  Status end_entry() {
    const Entry& entry = entries.back();
    if (!entry.dtype || !entry.has_shape || entry.offsets.size() != 2) {
      const std::string missing = !entry.dtype ? "dtype" : !entry.has_shape ? "shape" : "data_offsets of two numbers";
      return bad_input("expected " + missing + ", found none", context());
    }
    return enter(State::kNames);
  }

  Status add_metadata(const JsonEvent& event) {
    if (event.kind != JsonEvent::Kind::kText) {
      return bad_input("__metadata__." + shown(metadata_name_, 40) + ": expected a text, found " + event.describe(),
                       path_.string());
    }
    if (metadata.size() == kMetadataLimit) {
      return too_large("__metadata__: expected at most " + std::to_string(kMetadataLimit) + " texts, found more",
                       path_.string());
    }
    metadata.emplace(metadata_name_, event.text);
    return enter(State::kMetadataNames);
  }

  const std::filesystem::path& path_;
  State state_ = State::kStart;
  std::string field_;
  std::string metadata_name_;
  std::vector<std::int64_t>* numbers_ = nullptr;
};

// Checks that sizes agree with the offsets, and that the offsets tile the data: no overlap, hole or trailing bytes.
Status place(std::vector<Entry>& entries, std::span<const std::byte> data, const std::filesystem::path& path,
             TensorTable& table) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  table.tensors.reserve(entries.size());
  const auto size = static_cast<std::int64_t>(data.size());
  std::int64_t end = 0;
  for (Entry& entry : entries) {
    const auto refuse = [&](const std::string& message) {
      return bad_input(message, tensor_context(path, entry.name));
    };
    const std::string range = std::to_string(entry.offsets[0]) + " to " + std::to_string(entry.offsets[1]);
    if (entry.offsets[0] > entry.offsets[1] || entry.offsets[1] > size) {
      return refuse("expected data_offsets in order and within " + std::to_string(size) + " bytes, found " + range);
    }
    TensorInfo tensor;
    std::int64_t count = 0;
    const bool counted = row_major(entry.shape, tensor.strides, count);
    const auto bytes = checked_product({count, static_cast<std::int64_t>(element_size(*entry.dtype))});
    if (!counted || !bytes) {
      return refuse("expected a shape whose size fits 63 bits, found " + shape_text(entry.shape));
    }
    if (*bytes != entry.offsets[1] - entry.offsets[0]) {
      return refuse("expected " + std::to_string(*bytes) + " bytes for " + std::string(to_text(*entry.dtype)) + " " +
                    shape_text(entry.shape) + ", found " + std::to_string(entry.offsets[1] - entry.offsets[0]));
    }
    if (entry.offsets[0] != end) {
      return refuse("expected data from byte " + std::to_string(end) + ", found " +
                    (entry.offsets[0] > end ? "a hole: " : "an overlap: ") + range);
    }
    end = entry.offsets[1];
    tensor.name = std::move(entry.name);
    tensor.dtype = *entry.dtype;
    tensor.blocks = tensor.dtype == DType::kBlocks ? &blocks::float8() : nullptr;
    tensor.shape = std::move(entry.shape);
    tensor.storage = data.subspan(static_cast<std::size_t>(entry.offsets[0]), static_cast<std::size_t>(*bytes));
    tensor.file = path;
    table.tensors.push_back(std::move(tensor));
  }
  if (end != size) {
    return bad_input("expected " + std::to_string(end) + " bytes of tensors, found " + std::to_string(size),
                     path.string());
  }
  return {};
}

}  // namespace

Result<Source> read_safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                const std::filesystem::path& path) {
  if (bytes.size() < kLengthBytes) {
    return bad_input("expected a safetensors header of at least 8 bytes, found " + std::to_string(bytes.size()),
                     path.string());
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kHeaderLimit || length > bytes.size() - kLengthBytes) {
    return bad_input("expected a header of at most " +
                         std::to_string(std::min<std::uint64_t>(kHeaderLimit, bytes.size() - kLengthBytes)) +
                         " bytes, found the length " + std::to_string(length),
                     path.string());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '{') {
    return bad_input("expected a header that begins with {", path.string());
  }
  Header header(path);
  const JsonLimits limits{.depth = 3, .nodes = 40 * kTensorLimit};
  if (const Status status = read_json(text, limits, [&](const JsonEvent& event) { return header.handle(event); });
      !status.ok()) {
    return status.error().context.empty() ? status.error().within(path.string() + ": header") : status.error();
  }
  TensorTable table;
  LOCUS_CHECK(place(header.entries, bytes.subspan(kLengthBytes + text.size()), path, table));
  table.metadata = std::move(header.metadata);
  table.files = {path};
  table.owners.push_back(std::move(owner));
  return make_source(std::move(table));
}

}  // namespace locus::formats
