#include "models/remote/frames.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/shown.h"
#include "core/base/version.h"
#include "models/formats/json/json.h"
#include "models/remote/message_pack.h"

namespace locus::remote {

namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 4;
constexpr std::array<const char*, 8> kKindNames = {"greeting", "call", "cancel", "progress",
                                                   "news",     "part", "result", "error"};

bool has_body(MessageKind kind) {
  return kind == MessageKind::kCall || kind == MessageKind::kNews || kind == MessageKind::kPart ||
         kind == MessageKind::kResult;
}

Result<MessageKind> parse_kind(const std::string& name, const std::string& peer) {
  const auto* const found = std::find(kKindNames.begin(), kKindNames.end(), name);
  if (found == kKindNames.end()) {
    return bad_input("kind: expected a kind of message, found \"" + shown(name) + "\"", peer);
  }
  return static_cast<MessageKind>(found - kKindNames.begin());
}

Result<std::int64_t> whole_field(const JsonObject& object, const std::string& name, std::int64_t least,
                                 std::int64_t most) {
  const json* const field = object.find(name);
  const auto value = field == nullptr ? std::nullopt : whole_number(*field, least, most);
  if (!value) {
    return object.wrong(name, "a whole number of " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

Status read_fields(const JsonObject& object, Message& message) {
  switch (message.kind) {
    case MessageKind::kGreeting: {
      LOCUS_TRY(message.protocol, whole_field(object, "protocol", 1, kMaxCallId));
      LOCUS_TRY(message.version, object.get<std::string>("version"));
      break;
    }
    case MessageKind::kCall: {
      LOCUS_TRY(message.name, object.get<std::string>("name"));
      break;
    }
    case MessageKind::kProgress: {
      LOCUS_TRY(message.fraction, object.get<double>("fraction"));
      if (message.fraction != -1 && !(message.fraction >= 0 && message.fraction <= 1)) {
        return object.wrong("fraction", "a number of 0 to 1, or -1");
      }
      LOCUS_TRY(message.text, object.get<std::string>("text"));
      break;
    }
    case MessageKind::kError: {
      LOCUS_TRY(const std::int64_t code, whole_field(object, "code", static_cast<int>(ErrorCode::kInternal),
                                                     static_cast<int>(ErrorCode::kCancelled)));
      message.code = static_cast<ErrorCode>(code);
      LOCUS_TRY(message.text, object.get<std::string>("text"));
      LOCUS_TRY(message.context, object.get<std::string>("context"));
      break;
    }
    case MessageKind::kCancel:
    case MessageKind::kNews:
    case MessageKind::kPart:
    case MessageKind::kResult:
      break;
  }
  return {};
}

json fields_of(const Message& message) {
  json fields = {{"kind", kKindNames.at(static_cast<std::size_t>(message.kind))}};
  if (message.kind != MessageKind::kGreeting) {
    fields["id"] = message.id;
  }
  switch (message.kind) {
    case MessageKind::kGreeting:
      fields["protocol"] = message.protocol;
      fields["version"] = message.version;
      break;
    case MessageKind::kCall:
      fields["name"] = message.name;
      break;
    case MessageKind::kProgress:
      fields["fraction"] = message.fraction;
      fields["text"] = message.text;
      break;
    case MessageKind::kError:
      fields["code"] = static_cast<int>(message.code);
      fields["text"] = message.text;
      fields["context"] = message.context;
      break;
    case MessageKind::kCancel:
    case MessageKind::kNews:
    case MessageKind::kPart:
    case MessageKind::kResult:
      break;
  }
  if (has_body(message.kind)) {
    fields["body"] = message.body;
  }
  return fields;
}

// How many of `size` bytes arrived before the line ended.
Result<std::size_t> read_all(const ReadBytes& read, char* bytes, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    LOCUS_TRY(const std::size_t count, read(bytes + done, size - done));
    if (count == 0) {
      break;
    }
    done += std::min(count, size - done);
  }
  return done;
}

Error cut_off(std::size_t expected, std::size_t found, const std::string& peer) {
  return bad_input("the line ended within a message: expected " + std::to_string(expected) + " bytes, found " +
                       std::to_string(found),
                   peer);
}

}  // namespace

Message greeting() {
  Message message;
  message.protocol = kProtocol;
  message.version = program_version();
  return message;
}

Message error_message(std::int64_t id, const Error& error) {
  Message message;
  message.kind = MessageKind::kError;
  message.id = id;
  message.code = error.code;
  message.text = printable(error.message);
  message.context = printable(error.context);
  return message;
}

Result<std::string> frame_of(const Message& message) {
  std::string frame(kLengthBytes, '\0');
  json::to_msgpack(fields_of(message), frame);
  const std::size_t size = frame.size() - kLengthBytes;
  if (size > kMaxMessageBytes) {
    return too_large("a message of " + std::to_string(size) + " bytes: at most " + std::to_string(kMaxMessageBytes) +
                     " travel at once");
  }
  for (std::size_t n = 0; n < kLengthBytes; ++n) {
    frame[n] = static_cast<char>(static_cast<unsigned char>(size >> (8 * (kLengthBytes - 1 - n))));
  }
  return frame;
}

Result<Message> parse_message(std::string_view bytes, const std::string& peer) {
  LOCUS_TRY(json tree, parse_message_pack(bytes, peer));
  LOCUS_TRY(const JsonObject object, JsonObject::of(tree, peer));
  LOCUS_TRY(const std::string kind, object.get<std::string>("kind"));
  Message message;
  LOCUS_TRY(message.kind, parse_kind(kind, peer));
  if (message.kind != MessageKind::kGreeting) {
    LOCUS_TRY(message.id, whole_field(object, "id", 1, kMaxCallId));
  }
  LOCUS_CHECK(read_fields(object, message));
  if (has_body(message.kind)) {
    if (!tree.contains("body")) {
      return bad_input("body: expected a value, found none", peer);
    }
    message.body = std::move(tree["body"]);
    if (message.kind == MessageKind::kPart && !message.body.is_binary()) {
      return bad_input("body: expected bytes, found " + shown_value(message.body), peer);
    }
  }
  return message;
}

Result<std::optional<Message>> read_message(const ReadBytes& read, const std::string& peer) {
  std::array<char, kLengthBytes> header{};
  LOCUS_TRY(const std::size_t begun, read_all(read, header.data(), header.size()));
  if (begun == 0) {
    return std::optional<Message>();
  }
  if (begun < header.size()) {
    return cut_off(header.size(), begun, peer);
  }
  std::size_t size = 0;
  for (const char byte : header) {
    size = size << 8U | static_cast<unsigned char>(byte);
  }
  if (size == 0 || size > kMaxMessageBytes) {
    return bad_input("expected a message of 1 to " + std::to_string(kMaxMessageBytes) + " bytes, found a length of " +
                         std::to_string(size),
                     peer);
  }
  constexpr std::size_t kPart = std::size_t{1} << 16;
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t part = std::min(kPart, size - bytes.size());
    const std::size_t before = bytes.size();
    bytes.resize(before + part);
    LOCUS_TRY(const std::size_t found, read_all(read, bytes.data() + before, part));
    if (found < part) {
      return cut_off(size, before + found, peer);
    }
  }
  LOCUS_TRY(Message message, parse_message(bytes, peer));
  return std::optional<Message>(std::move(message));
}

Status check_greeting(const Message& message, const std::string& peer) {
  if (message.kind != MessageKind::kGreeting) {
    return bad_input(std::string("expected a greeting, found a message of kind ") +
                         kKindNames.at(static_cast<std::size_t>(message.kind)),
                     peer);
  }
  if (message.protocol != kProtocol) {
    return unsupported("Locus " + shown(message.version) + " there speaks protocol " +
                           std::to_string(message.protocol) + ", Locus " + std::string(program_version()) +
                           " here speaks protocol " + std::to_string(kProtocol),
                       peer);
  }
  return {};
}

}  // namespace locus::remote
