// A reader of the protocol-buffer wire format, as far as SentencePiece models use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace locus::text {

struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // varint, fixed 64 or fixed 32 bits
  std::string_view bytes;   // of a string or message
};

// Walks the fields of one message.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}
  // The next field; none at the end or when the message is malformed (then broken() is true).
  std::optional<ProtobufField> next();
  bool broken() const { return broken_; }

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::string_view> take(std::uint64_t bytes);

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace locus::text
