#include "app/workbench/widgets/exact_text.h"

#include <QChar>

#include "core/base/shown.h"

namespace locus::workbench {

namespace {

constexpr char32_t kPictures = 0x2400;  // of the control characters 0 to 31
constexpr char32_t kPictureOfDelete = 0x2421;
constexpr char32_t kByte = 0xDC00;          // and a byte that is no UTF-8
constexpr char32_t kPicture = 0xDD00;       // and the last byte of a picture that stands for itself
constexpr char32_t kParagraph = 0xDE00;     // U+2029
constexpr char32_t kNoncharacter = 0xDE10;  // and the last four bits of U+FDD0 and U+FDD1
constexpr char32_t kFirstNoncharacter = 0xFDD0;
constexpr char32_t kLastNoncharacter = 0xFDD1;

bool is_picture(char32_t point) {
  return point >= kPictures && point <= kPictureOfDelete && point != kPictures + ' ';
}

// The stand-in of a character in the document.
char32_t stand_in(char32_t point) {
  if (point == 0x7F) {
    return kPictureOfDelete;
  }
  if (point < ' ' && point != '\n' && point != '\t') {
    return kPictures + point;
  }
  if (is_picture(point)) {
    return kPicture + (point & 0xFFU);
  }
  if (point == QChar::ParagraphSeparator) {
    return kParagraph;
  }
  if (point == kFirstNoncharacter || point == kLastNoncharacter) {
    return kNoncharacter + (point & 0xFU);
  }
  return point;
}

// The inverse; never a byte's.
char32_t stood_for(char32_t unit) {
  if (unit == kPictureOfDelete) {
    return 0x7F;
  }
  if (is_picture(unit)) {
    return unit - kPictures;
  }
  if (unit >= kPicture && unit < kPicture + 0x100) {
    return kPictures + (unit - kPicture);
  }
  if (unit == kParagraph) {
    return QChar::ParagraphSeparator;
  }
  if (unit >= kNoncharacter && unit < kNoncharacter + 0x10) {
    return kFirstNoncharacter + (unit - kNoncharacter);
  }
  return unit == QChar::ParagraphSeparator ? U'\n' : unit;  // documents end their lines with it
}

void append_utf8(std::string& bytes, char32_t point) {
  const auto put = [&](char32_t value) { bytes += static_cast<char>(static_cast<unsigned char>(value)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3FU));
    put(0x80 | (point & 0x3FU));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3FU));
    put(0x80 | (point >> 6 & 0x3FU));
    put(0x80 | (point & 0x3FU));
  }
}

}  // namespace

QString to_document(std::string_view bytes) {
  QString document;
  document.reserve(static_cast<qsizetype>(bytes.size()));
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      document += QChar(static_cast<char16_t>(kByte + static_cast<unsigned char>(bytes[0])));
      bytes.remove_prefix(1);
      continue;
    }
    const char32_t shown = stand_in(utf8_code(bytes, length));
    if (QChar::requiresSurrogates(shown)) {
      document += QChar(QChar::highSurrogate(shown));
      document += QChar(QChar::lowSurrogate(shown));
    } else {
      document += QChar(static_cast<char16_t>(shown));
    }
    bytes.remove_prefix(length);
  }
  return document;
}

std::string to_bytes(QStringView document) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(document.size()));
  for (qsizetype n = 0; n < document.size(); ++n) {
    const QChar unit = document[n];
    if (unit.isHighSurrogate() && n + 1 < document.size() && document[n + 1].isLowSurrogate()) {
      append_utf8(bytes, QChar::surrogateToUcs4(unit, document[++n]));
    } else if (unit.unicode() >= kByte && unit.unicode() < kByte + 0x100) {
      bytes += static_cast<char>(static_cast<unsigned char>(unit.unicode() - kByte));
    } else if (const char32_t point = stood_for(unit.unicode()); point < 0xD800 || point > 0xDFFF) {
      append_utf8(bytes, point);
    } else {
      append_utf8(bytes, QChar::ReplacementCharacter);  // half a character, pasted
    }
  }
  return bytes;
}

}  // namespace locus::workbench
