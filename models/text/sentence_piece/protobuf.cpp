#include "models/text/sentence_piece/protobuf.h"

namespace locus::text {
namespace {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t n = bytes.size(); n-- > 0;) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[n]);
  }
  return value;
}

}  // namespace

std::optional<std::uint64_t> ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> ProtobufReader::take(std::uint64_t bytes) {
  if (bytes > rest_.size()) {
    return std::nullopt;
  }
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (rest_.empty() || broken_) {
    return std::nullopt;
  }
  broken_ = true;  // until the field is whole
  const auto tag = varint();
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > 0x1FFFFFFF) {
    return std::nullopt;
  }
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  std::optional<std::string_view> bytes;
  switch (*tag & 7) {
    case 0: {
      const auto value = varint();
      if (!value) {
        return std::nullopt;
      }
      field.value = *value;
      broken_ = false;
      return field;
    }
    case 1:
      bytes = take(8);
      break;
    case 5:
      bytes = take(4);
      break;
    case 2: {
      const auto length = varint();
      bytes = length ? take(*length) : std::nullopt;
      break;
    }
    default:
      break;  // groups have not been written for decades
  }
  if (!bytes) {
    return std::nullopt;
  }
  if ((*tag & 7) == 2) {
    field.bytes = *bytes;
  } else {
    field.value = little_endian(*bytes);
  }
  broken_ = false;
  return field;
}

}  // namespace locus::text
