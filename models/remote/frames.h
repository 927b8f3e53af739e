// The messages between the program here and the one that holds a model: how they lie on the line.
//
// A frame is the number of its bytes (4 bytes, the most significant first; at most 64 MiB) and an object in
// MessagePack:
//
//   kind       fields                     sent by   meaning
//   greeting   protocol, version          both      the first message of each end, and the only one without an id
//   call       id, name, body             client    asks for one call of the facade
//   cancel     id                         client    the call is no longer wanted; it is answered nevertheless
//   progress   id, fraction, text         server    how much of a call is done; −1: not known
//   news       id, body                   server    a part of the answer that is of use before the rest
//   part       id, body                   server    the next bytes of the answer's long blocks of numbers
//   result     id, body                   server    the answer
//   error      id, code, text, context    server    why there is none
//
// Ids are those of calls, 1 … 2^53. Blocks of numbers lie in a body as bytes. No LibTorch: fuzzers link this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::remote {

constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;
constexpr std::int64_t kProtocol = 1;
constexpr std::int64_t kMaxCallId = std::int64_t{1} << 53;

enum class MessageKind { kGreeting, kCall, kCancel, kProgress, kNews, kPart, kResult, kError };

// Fields that a kind has not keep their defaults.
struct Message {
  MessageKind kind = MessageKind::kGreeting;
  std::int64_t id = 0;
  std::int64_t protocol = 0;
  std::string version;  // of the program that greets
  std::string name;     // of the call
  nlohmann::json body;
  double fraction = 0;
  std::string text;
  ErrorCode code = ErrorCode::kInternal;
  std::string context;
};

// This program's greeting, and an error as an answer to call `id`.
Message greeting();
Message error_message(std::int64_t id, const Error& error);

// The frame of a message. Errors: kTooLarge where it has more than kMaxMessageBytes. Preconditions: text is
// UTF-8, a body is not deeper than kMaxDepth − 1 levels.
Result<std::string> frame_of(const Message& message);

// The message in the bytes of a frame after its length. Errors: kBadInput with `peer` as context, naming field,
// expected and found; those of parse_message_pack().
Result<Message> parse_message(std::string_view bytes, const std::string& peer);

// Gives up to `size` bytes, at least one unless the line has ended; blocks until it can.
using ReadBytes = std::function<Result<std::size_t>(char* bytes, std::size_t size)>;

// The next message; none where the line ended between two of them. Memory grows with the bytes that arrive. Errors:
// those of `read` and parse_message(), kBadInput for a length of 0 or beyond kMaxMessageBytes and for a line that ends
// within a message.
Result<std::optional<Message>> read_message(const ReadBytes& read, const std::string& peer);

// Whether the first message of the other end is a greeting of this protocol. Errors: kBadInput where it is none,
// kUnsupported for another protocol, with both versions.
Status check_greeting(const Message& message, const std::string& peer);

}  // namespace locus::remote
