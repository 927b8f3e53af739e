#include "app/workbench/widgets/exact_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace locus::workbench {
namespace {

void expect_kept(const std::string& bytes) {
  EXPECT_EQ(to_bytes(to_document(bytes)), bytes);
}

TEST(ExactText, EveryByteComesBack) {
  expect_kept("");
  expect_kept("plain\ntext\twith a tab\n");
  expect_kept("one\r\ntwo\rthree\n\r");
  expect_kept("no\u00A0break, line\u2028separator, paragraph\u2029separator");
  expect_kept("\u2400\u240D\u241F\u2420\u2421\u2422");  // pictures of control characters
  expect_kept("\uFDD0\uFDD1\uFDD2\uFEFF\uFFFC\uFFFD\uFFFE");
  expect_kept("𝄞 🙂 e\u0301 第二段");
  for (int byte = 1; byte < 256; ++byte) {
    expect_kept(std::string("a") + static_cast<char>(byte) + "b");
  }
  expect_kept(std::string("a\0b", 3));
}

TEST(ExactText, BytesThatAreNoUtf8ComeBack) {
  expect_kept("\xE2\x82");                           // cut off
  expect_kept("\xC0\x80 \xE0\x80\x80");              // not the shortest form
  expect_kept("\xED\xA0\x80\xED\xB0\x80");           // surrogates
  expect_kept("\xF4\x90\x80\x80 \xF8\x88\x80\x80");  // above U+10FFFF
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (int n = 0; n < 40; ++n) {
      constexpr unsigned char kLikely[] = {0x0D, 0x0A, 0xC2, 0xA0, 0xE2, 0x80, 0xA8,
                                           0xA9, 0x90, 0x8D, 0xEF, 0xB7, 0x41};
      const auto pick = random() % (2 * sizeof kLikely);
      bytes += static_cast<char>(pick < sizeof kLikely ? kLikely[pick] : random() % 256);
    }
    expect_kept(bytes);
  }
}

TEST(ExactText, WhatIsShownCanBeReadAndLinesEndWhereTheyEnd) {
  EXPECT_EQ(to_document("a\r\nb"), QStringLiteral("a␍\nb"));
  EXPECT_EQ(to_document("a\u00A0b\tc"), QStringLiteral("a\u00A0b\tc"));
  // A document's paragraphs, and half a character that somebody pasted.
  EXPECT_EQ(to_bytes(QStringLiteral("a\u2029b")), "a\nb");
  EXPECT_EQ(to_bytes(QString(QChar(u'\xD800'))), "\uFFFD");
}

}  // namespace
}  // namespace locus::workbench
