#include "models/text/unicode.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr std::size_t kClusterLimit = 4096;

bool in_category(char32_t code, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(code)) & mask) != 0;
}

const icu::Normalizer2* normalizer(NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found = nullptr;
  switch (form) {
    case NormalForm::kNfc:
      found = icu::Normalizer2::getNFCInstance(status);
      break;
    case NormalForm::kNfd:
      found = icu::Normalizer2::getNFDInstance(status);
      break;
    case NormalForm::kNfkc:
      found = icu::Normalizer2::getNFKCInstance(status);
      break;
    case NormalForm::kNfkd:
      found = icu::Normalizer2::getNFKDInstance(status);
      break;
  }
  return U_SUCCESS(status) ? found : nullptr;
}

// End of the run from `begin` that is normalised separately: up to the next character that never joins with the one
// before it.
std::size_t cluster_end(const icu::Normalizer2& forms, std::string_view text, std::size_t begin) {
  std::size_t at = begin + character_at(text, begin).bytes;
  while (at < text.size() && at - begin < kClusterLimit) {
    const Character next = character_at(text, at);
    if (!next.valid || next.code < 0x80 || forms.hasBoundaryBefore(static_cast<UChar32>(next.code))) {
      break;
    }
    at += next.bytes;
  }
  return at;
}

}  // namespace

bool is_white_space(char32_t code) {
  return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0;
}

bool is_punctuation(char32_t code) {
  if (code < 0x80) {
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
           (code >= 123 && code <= 126);
  }
  return in_category(code, U_GC_P_MASK);
}

bool is_numeric(char32_t code) {
  return in_category(code, U_GC_N_MASK);
}

bool is_word(char32_t code) {
  return in_category(code, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(static_cast<UChar32>(code), UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(static_cast<UChar32>(code), UCHAR_JOIN_CONTROL) != 0;
}

bool is_mark(char32_t code) {
  return in_category(code, U_GC_M_MASK);
}
bool is_nonspacing_mark(char32_t code) {
  return in_category(code, U_GC_MN_MASK);
}

bool is_control(char32_t code) {
  return code != '\t' && code != '\n' && code != '\r' &&
         in_category(code, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK);
}

bool is_cjk(char32_t code) {
  const auto within = [&](char32_t first, char32_t last) { return code >= first && code <= last; };
  return within(0x4E00, 0x9FFF) || within(0x3400, 0x4DBF) || within(0x20000, 0x2A6DF) || within(0x2A700, 0x2B73F) ||
         within(0x2B740, 0x2B81F) || within(0x2B820, 0x2CEAF) || within(0xF900, 0xFAFF) || within(0x2F800, 0x2FA1F);
}

void append_lower(std::string& text, char32_t code) {
  if (code == 0x130) {  // the only character with a lower case of two characters, outside any language
    append_utf8(text, 'i');
    append_utf8(text, 0x307);
  } else {
    append_utf8(text, static_cast<char32_t>(u_tolower(static_cast<UChar32>(code))));
  }
}

MappedText normalized(const MappedText& text, NormalForm form) {
  const icu::Normalizer2* forms = normalizer(form);
  if (forms == nullptr) {
    return text;
  }
  const std::string_view bytes = text.text();
  MappedTextBuilder builder(text);
  std::string cluster;
  for (std::size_t at = 0; at < bytes.size();) {
    if (!character_at(bytes, at).valid) {
      builder.copy(at, at + 1);
      ++at;
      continue;
    }
    const std::size_t end = cluster_end(*forms, bytes, at);
    const std::string_view source = bytes.substr(at, end - at);
    cluster.assign(source);
    if (source.size() > 1) {
      UErrorCode status = U_ZERO_ERROR;
      const icu::UnicodeString wide =
          icu::UnicodeString::fromUTF8({source.data(), static_cast<std::int32_t>(source.size())});
      const icu::UnicodeString result = forms->normalize(wide, status);
      if (U_SUCCESS(status) && result != wide) {
        cluster.clear();
        result.toUTF8String(cluster);
      }
    }
    if (cluster == source) {
      builder.copy(at, end);
    } else {
      builder.replace(cluster, at, end);
    }
    at = end;
  }
  return std::move(builder).finish();
}

}  // namespace locus::text
