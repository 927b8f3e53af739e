#include "models/formats/torch/zip_records.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/pickle_writer.h"

namespace locus::formats {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

auto parsed_zip_records(const std::string& bytes) {
  return read_zip_records(std::as_bytes(std::span(bytes)), "a.pt");
}

std::string zip_records_refusal(const std::string& bytes) {
  const auto records = parsed_zip_records(bytes);
  if (records.ok()) {
    ADD_FAILURE() << "opened";
    return "opened";
  }
  EXPECT_EQ(records.error().code, ErrorCode::kBadInput);
  return records.error().describe();
}

// `bytes` with those at `at` replaced.
std::string patched(std::string bytes, std::size_t at, const std::string& with) {
  return bytes.replace(at, with.size(), with);
}

const std::string kTwo = zip_of({{"a", "first"}, {"b/c", ""}});
const std::size_t kDirectory = kTwo.find("PK\x01\x02");
const std::size_t kEnd = kTwo.find("PK\x05\x06");

TEST(ZipRecords, FindsRecords) {
  const auto records = parsed_zip_records(kTwo);
  ASSERT_TRUE(records.ok()) << records.error().describe();
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(records->at("a").data()), 5), "first");
  EXPECT_EQ(records->at("b/c").size(), 0U);
  // A comment at the end, and bytes between the records, are allowed.
  EXPECT_TRUE(parsed_zip_records(patched(kTwo, kEnd + 20, little(std::uint16_t{3})) + "abc").ok());
}

TEST(ZipRecords, ReadsZip64) {
  // The first entry's sizes and place move to extra field 1, the end's to its 64-bit form.
  const std::string extra = little(std::uint16_t{1}) + little(std::uint16_t{24}) + little(std::uint64_t{5}) +
                            little(std::uint64_t{5}) + little(std::uint64_t{0});
  std::string directory = kTwo.substr(kDirectory, kEnd - kDirectory);
  directory.replace(20, 8, std::string(8, '\xff')).replace(42, 4, std::string(4, '\xff'));
  directory.replace(30, 2, little(std::uint16_t{28})).insert(47, extra);
  const std::string end64 = "PK\x06\x06" + little(std::uint64_t{44}) + std::string(12, '\0') +
                            little(std::uint64_t{2}) + little(std::uint64_t{2}) +
                            little(std::uint64_t{directory.size()}) + little(std::uint64_t{kDirectory});
  const std::string locator = "PK\x06\x07" + std::string(4, '\0') +
                              little(std::uint64_t{kDirectory + directory.size()}) + little(std::uint32_t{1});
  const std::string end = "PK\x05\x06" + std::string(4, '\0') + std::string(12, '\xff') + std::string(2, '\0');
  const std::string file = kTwo.substr(0, kDirectory) + directory + end64 + locator + end;
  const auto records = parsed_zip_records(file);
  ASSERT_TRUE(records.ok()) << records.error().describe();
  EXPECT_EQ(records->at("a").size(), 5U);
  // The extra field may not end in the middle of a number, nor the end's place lie outside.
  EXPECT_HAS(zip_records_refusal(patched(file, kDirectory + 49, little(std::uint16_t{20}))), "broken one");
  EXPECT_HAS(zip_records_refusal(patched(file, file.find("PK\x06\x07") + 8, std::string(8, '\xff'))), "found none");
  EXPECT_HAS(zip_records_refusal(patched(file, file.find("PK\x06\x06") + 48, std::string(8, '\xff'))), "found none");
}

TEST(ZipRecords, RefusesBrokenDirectories) {
  EXPECT_HAS(zip_records_refusal(""), "found none");
  EXPECT_HAS(zip_records_refusal("PK\x03\x04"), "found none");
  EXPECT_HAS(zip_records_refusal(kTwo.substr(0, kEnd)), "found none");
  EXPECT_HAS(zip_records_refusal(kTwo + "x"), "found none");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kEnd + 16, std::string(4, '\x7f'))), "found none");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kEnd + 12, std::string(4, '\x7f'))), "found none");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kEnd + 10, little(std::uint16_t{3}))), "found none");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory, "PKxx")), "broken one");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 28, std::string(2, '\xff'))), "broken one");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 32, std::string(2, '\xff'))), "broken one");
}

TEST(ZipRecords, RefusesRecordsItCannotMap) {
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 10, little(std::uint16_t{8}))),
             "record a: expected a stored record");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 20, little(std::uint32_t{4}))), "expected a stored record");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 8, little(std::uint16_t{1}))), "encrypted");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 42, little(std::uint32_t{1}))), "local header at byte 1");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 42, std::string(4, '\x7f'))), "local header at byte");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, 30, "z")), "agrees with the directory");
  EXPECT_HAS(zip_records_refusal(patched(kTwo, 28, std::string(2, '\xff'))), "inside the archive");
  EXPECT_HAS(
      zip_records_refusal(patched(kTwo, kDirectory + 20, little(std::uint32_t{5000}) + little(std::uint32_t{5000}))),
      "expected 5000 bytes inside the archive");
}

TEST(ZipRecords, RefusesDuplicatesAndOverlaps) {
  EXPECT_HAS(zip_records_refusal(zip_of({{"a", "1"}, {"a", "2"}})), "record a: expected every record once");
  // The first record claims the bytes of the second.
  EXPECT_HAS(zip_records_refusal(patched(kTwo, kDirectory + 20, little(std::uint32_t{9}) + little(std::uint32_t{9}))),
             "an overlap");
}

}  // namespace
}  // namespace locus::formats
