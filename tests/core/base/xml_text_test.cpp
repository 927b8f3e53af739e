#include "core/base/xml_text.h"

#include <gtest/gtest.h>

#include <string>

namespace locus {
namespace {

TEST(XmlText, WhatXmlCannotHoldIsShown) {
  using namespace std::string_literals;
  EXPECT_EQ(xml_text("a <b> & ä 名 \U0001F600\t\n\r"), "a <b> & ä 名 \U0001F600\t\n\r");
  EXPECT_EQ(xml_text("\x1B[31m\0\x0B\x1F"s), "\\x1B[31m\\x00\\x0B\\x1F");
  EXPECT_EQ(xml_text("\uFFFD\uFFFE\uFFFF"), "\uFFFD\\uFFFE\\uFFFF");
  EXPECT_EQ(xml_text("a\xFF\xED\xA0\x80z"), "a\\xFF\\xED\\xA0\\x80z");  // no UTF-8; a surrogate is none either
  EXPECT_EQ(xml_text("\x7F\u0085\U0001FFFE"), "\x7F\u0085\U0001FFFE");  // which XML 1.0 has
}

TEST(XmlText, OfJsonItIsTheSameValue) {
  EXPECT_EQ(xml_json("{\"a\": \"\uFFFEb\uFFFF\"}"), R"({"a": "\uFFFEb\uFFFF"})");
  EXPECT_EQ(xml_json("{\"a\": \"b\"}\n"), "{\"a\": \"b\"}\n");
}

}  // namespace
}  // namespace locus
