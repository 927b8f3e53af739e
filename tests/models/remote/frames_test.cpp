// Messages of a connection: what is written is read again; what a broken or hostile end sends is one clear error.
#include "models/remote/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/remote/message_pack.h"

namespace locus::remote {
namespace {

using nlohmann::json;

// A line that holds these bytes and gives at most `most` of them at a time.
ReadBytes line_of(std::string bytes, std::size_t most = 1U << 20) {
  return [rest = std::make_shared<std::string>(std::move(bytes)), most](char* out,
                                                                        std::size_t size) -> Result<std::size_t> {
    const std::size_t count = std::min({size, most, rest->size()});
    std::copy_n(rest->data(), count, out);
    rest->erase(0, count);
    return count;
  };
}

std::string framed(const std::string& bytes) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(static_cast<unsigned char>(bytes.size() >> static_cast<unsigned>(shift)));
  }
  return frame + bytes;
}

std::string packed(const json& tree) {
  std::string bytes;
  json::to_msgpack(tree, bytes);
  return bytes;
}

void expect_refused(const std::string& bytes, ErrorCode code, const std::string& named) {
  const auto read = read_message(line_of(bytes), "node7");
  ASSERT_FALSE(read.ok()) << named;
  EXPECT_EQ(read.error().code, code) << read.error().describe();
  const std::string text = read.error().describe();
  EXPECT_NE(text.find(named), std::string::npos) << text;
  EXPECT_EQ(text.rfind("node7", 0), 0U) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_LT(text.size(), 400U);
}

void expect_refused(const json& tree, const std::string& named) {
  expect_refused(framed(packed(tree)), ErrorCode::kBadInput, named);
}

TEST(Frames, WhatIsWrittenIsRead) {
  Message call;
  call.kind = MessageKind::kCall;
  call.id = kMaxCallId;
  call.name = "map";
  call.body = {{"layer", 3}, {"rows", {0, 512}}, {"tile", json::binary({0, 255, 7})}, {"scale", -0.1}};
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.id = 1;
  Message progress;
  progress.kind = MessageKind::kProgress;
  progress.id = 2;
  progress.fraction = 0.25;
  progress.text = "layer 3 of 12";
  Message result;
  result.kind = MessageKind::kResult;
  result.id = 2;
  const Message error = error_message(3, too_large("needs 9 GB", "layers.3"));
  std::string bytes;
  for (const Message& message : {greeting(), call, cancel, progress, result, error}) {
    bytes += *frame_of(message);
  }
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    const ReadBytes line = line_of(bytes, most);
    std::vector<Message> read;
    for (auto next = read_message(line, "node7"); next.ok() && next->has_value(); next = read_message(line, "node7")) {
      read.push_back(**next);
    }
    ASSERT_EQ(read.size(), 6U);
    EXPECT_TRUE(check_greeting(read[0], "node7").ok());
    EXPECT_EQ(read[1].kind, MessageKind::kCall);
    EXPECT_EQ(read[1].id, kMaxCallId);
    EXPECT_EQ(read[1].name, "map");
    EXPECT_EQ(read[1].body, call.body);
    EXPECT_EQ(read[2].kind, MessageKind::kCancel);
    EXPECT_EQ(read[3].fraction, 0.25);
    EXPECT_EQ(read[3].text, "layer 3 of 12");
    EXPECT_TRUE(read[4].body.is_null());
    EXPECT_EQ(read[5].code, ErrorCode::kTooLarge);
    EXPECT_EQ(read[5].text, "needs 9 GB");
    EXPECT_EQ(read[5].context, "layers.3");
  }
}

TEST(Frames, LengthsAreCheckedBeforeMemoryIsTaken) {
  expect_refused(std::string(4, '\0'), ErrorCode::kBadInput, "found a length of 0");
  expect_refused("\xFF\xFF\xFF\xFF", ErrorCode::kBadInput, "found a length of 4294967295");
  expect_refused(std::string("\x04\x00\x00\x01", 4), ErrorCode::kBadInput, "found a length of 67108865");
  // A length that may be, of which little arrives.
  expect_refused(std::string("\x04\x00\x00\x00", 4) + "abc", ErrorCode::kBadInput, "expected 67108864 bytes, found 3");
  // A list, text and bytes that promise 2^32 − 1 elements.
  for (const char* start :
       {"\xDD\xFF\xFF\xFF\xFF", "\xDF\xFF\xFF\xFF\xFF", "\xDB\xFF\xFF\xFF\xFF", "\xC6\xFF\xFF\xFF\xFF"}) {
    expect_refused(framed(start), ErrorCode::kBadInput, "expected MessagePack");
  }
}

TEST(Frames, ALineThatEndsWithinAMessageIsAnError) {
  const std::string frame = *frame_of(greeting());
  const auto none = read_message(line_of(""), "node7");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  for (std::size_t size = 1; size < frame.size(); ++size) {
    expect_refused(frame.substr(0, size), ErrorCode::kBadInput, "the line ended within a message");
    if (size > 4) {  // the same bytes as a whole message
      expect_refused(framed(frame.substr(4, size - 4)), ErrorCode::kBadInput, "expected MessagePack");
    }
  }
  expect_refused(framed(frame.substr(4) + "\xC0"), ErrorCode::kBadInput, "expected MessagePack");
}

TEST(Frames, AnErrorOfTheLineIsTheReaders) {
  const auto read = read_message(
      [](char*, std::size_t) -> Result<std::size_t> { return bad_input("Permission denied (publickey)", "node7"); },
      "node7");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().describe(), "node7: Permission denied (publickey)");
}

TEST(Frames, FieldsOfAnotherKindAreRefused) {
  expect_refused(json(3), "object");
  expect_refused(json::object(), "kind");
  expect_refused({{"kind", 7}}, "kind");
  expect_refused({{"kind", json::binary(std::vector<std::uint8_t>(1000, 200))}}, "bytes");
  expect_refused({{"kind", "shout\n\x1b[2J"}}, "\\x1B");
  for (const json& id :
       {json(0), json(-1), json(kMaxCallId + 1), json(1.5), json("1"), json(nullptr), json(UINT64_MAX)}) {
    expect_refused({{"kind", "cancel"}, {"id", id}}, "id");
  }
  expect_refused({{"kind", "call"}, {"id", 1}, {"body", nullptr}}, "name");
  expect_refused({{"kind", "call"}, {"id", 1}, {"name", "run"}}, "body");
  expect_refused({{"kind", "result"}, {"id", 1}}, "body");
  expect_refused({{"kind", "greeting"}, {"protocol", "1"}, {"version", "1"}}, "protocol");
  expect_refused({{"kind", "greeting"}, {"protocol", 1}}, "version");
  for (const json& fraction : {json(-0.1), json(1.1), json(std::nan("")), json("half")}) {
    expect_refused({{"kind", "progress"}, {"id", 1}, {"fraction", fraction}, {"text", ""}}, "fraction");
  }
  for (const json& code : {json(0), json(7), json("3")}) {
    expect_refused({{"kind", "error"}, {"id", 1}, {"code", code}, {"text", ""}, {"context", ""}}, "code");
  }
}

TEST(Frames, TreesAreBounded) {
  const std::string levels(kMaxDepth, '\x91');
  EXPECT_TRUE(parse_message_pack(levels.substr(1) + "\x90", "node7").ok());
  expect_refused(framed(levels + "\x90"), ErrorCode::kBadInput, "at most 32 levels");
  expect_refused(framed(std::string(std::size_t{1} << 22, '\x91')), ErrorCode::kBadInput, "at most 32 levels");
  const std::string list("\xDD\x00\x1E\x84\x80", 5);  // 2,000,000 elements
  expect_refused(framed(list + std::string(2'000'000, '\xC0')), ErrorCode::kBadInput, "at most 1000000 values");
}

TEST(Frames, WhatJsonHasNotIsRefused) {
  expect_refused(framed("\x82\xA1"
                        "a\x01\xA1"
                        "a\x02"),
                 ErrorCode::kBadInput, "comes twice");
  expect_refused(framed("\x81\x01\x02"), ErrorCode::kBadInput, "expected MessagePack");  // a name that is a number
  expect_refused(framed("\xA1\xFF"), ErrorCode::kBadInput, "UTF-8");
  expect_refused(framed("\x81\xA1\xFF\x01"), ErrorCode::kBadInput, "UTF-8");
  expect_refused(framed("\xD4\x05\x01"), ErrorCode::kBadInput, "extension type");
  expect_refused(framed("\xC1"), ErrorCode::kBadInput, "expected MessagePack");  // a byte without meaning
}

TEST(Frames, AnotherProtocolNamesBothVersions) {
  Message other = greeting();
  EXPECT_TRUE(check_greeting(other, "node7").ok());
  other.protocol = kProtocol + 1;
  other.version = "9.1\n";
  const Status status = check_greeting(other, "node7");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(status.error().describe().find("9.1\\x0A there speaks protocol 2"), std::string::npos)
      << status.error().describe();
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  EXPECT_EQ(check_greeting(cancel, "node7").error().code, ErrorCode::kBadInput);
}

TEST(Frames, AMessageBeyondTheLimitIsNotWritten) {
  Message result;
  result.kind = MessageKind::kResult;
  result.id = 1;
  result.body = json::binary(std::vector<std::uint8_t>(kMaxMessageBytes));
  const auto frame = frame_of(result);
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace locus::remote
