#include "models/text/steps/normalizer.h"

#include <functional>
#include <utility>

#include "core/base/words.h"
#include "models/formats/json/json.h"
#include "models/text/base64.h"
#include "models/text/sentence_piece/charsmap.h"
#include "models/text/steps/split.h"
#include "models/text/unicode.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

// A normaliser that cannot fail.
class Rewrite final : public Normalizer {
 public:
  explicit Rewrite(std::function<MappedText(const MappedText&)> rewrite) : rewrite_(std::move(rewrite)) {}
  Status apply(MappedText& text) const override {
    text = rewrite_(text);
    return {};
  }

 private:
  std::function<MappedText(const MappedText&)> rewrite_;
};

std::unique_ptr<const Normalizer> rewriting(std::function<MappedText(const MappedText&)> rewrite) {
  return std::make_unique<Rewrite>(std::move(rewrite));
}

// Calls `write(builder, character, begin, end)` for every character and invalid byte.
template <class Write>
MappedText each_character(const MappedText& text, const Write& write) {
  MappedTextBuilder builder(text);
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text.text(), at);
    write(builder, character, at, at + character.bytes);
    at += character.bytes;
  }
  return std::move(builder).finish();
}

MappedText lowered(const MappedText& text) {
  std::string lower;
  return each_character(text, [&](MappedTextBuilder& builder, Character character, std::size_t begin, std::size_t end) {
    if (!character.valid) {
      builder.copy(begin, end);
      return;
    }
    lower.clear();
    append_lower(lower, character.code);
    builder.replace(lower, begin, end);
  });
}

MappedText without(const MappedText& text, bool (*drop)(char32_t)) {
  return each_character(text, [&](MappedTextBuilder& builder, Character character, std::size_t begin, std::size_t end) {
    if (!character.valid || !drop(character.code)) {
      builder.copy(begin, end);
    }
  });
}

// Invalid bytes count as U+FFFD, which BERT drops.
MappedText cleaned(const MappedText& text) {
  return each_character(text, [](MappedTextBuilder& builder, Character character, std::size_t begin, std::size_t end) {
    if (!character.valid || character.code == 0 || character.code == 0xFFFD || is_control(character.code)) {
      return;
    }
    if (is_white_space(character.code)) {
      builder.replace(" ", begin, end);
    } else {
      builder.copy(begin, end);
    }
  });
}

MappedText cjk_spaced(const MappedText& text) {
  return each_character(text, [](MappedTextBuilder& builder, Character character, std::size_t begin, std::size_t end) {
    const bool spaced = character.valid && is_cjk(character.code);
    if (spaced) {
      builder.replace(" ", begin, begin);
    }
    builder.copy(begin, end);
    if (spaced) {
      builder.replace(" ", end, end);
    }
  });
}

MappedText stripped(const MappedText& text, bool left, bool right) {
  const std::string_view bytes = text.text();
  std::size_t begin = bytes.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Character character = character_at(bytes, at);
    if (!character.valid || !is_white_space(character.code)) {
      begin = std::min(begin, at);
      end = at + character.bytes;
    }
    at += character.bytes;
  }
  begin = left ? begin : 0;
  end = right ? std::max(end, begin) : bytes.size();
  MappedTextBuilder builder(text);
  builder.copy(begin, end);
  return std::move(builder).finish();
}

class Replace final : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status apply(MappedText& text) const override {
    std::vector<Fragment> fragments;
    LOCUS_CHECK(pattern_.split(text.text(), 0, static_cast<std::uint32_t>(text.size()), fragments));
    MappedTextBuilder builder(text);
    for (const Fragment& fragment : fragments) {
      if (fragment.match) {
        builder.replace(content_, fragment.begin, fragment.end);
      } else {
        builder.copy(fragment.begin, fragment.end);
      }
      if (builder.size() > growth_limit(text.size())) {
        return too_large("the text grows beyond " + std::to_string(growth_limit(text.size())) +
                         " bytes when it is normalised");
      }
    }
    text = std::move(builder).finish();
    return {};
  }

 private:
  Pattern pattern_;
  std::string content_;
};

MappedText prepended(const MappedText& text, const std::string& prefix) {
  if (text.empty()) {
    return text;
  }
  MappedTextBuilder builder(text);
  builder.replace(prefix, 0, 0);
  builder.copy(0, text.size());
  return std::move(builder).finish();
}

Result<std::unique_ptr<const Normalizer>> parse_bert(const JsonObject& object) {
  BertNormalizerOptions options;
  LOCUS_TRY(options.clean_text, object.boolean("clean_text", true));
  LOCUS_TRY(options.space_cjk, object.boolean("handle_chinese_chars", true));
  LOCUS_TRY(options.lowercase, object.boolean("lowercase", true));
  LOCUS_TRY(options.strip_accents, object.boolean("strip_accents", options.lowercase));
  return bert_normalizer(options);
}

Result<std::unique_ptr<const Normalizer>> parse_precompiled(const JsonObject& object) {
  LOCUS_TRY(const std::string encoded, object.text("precompiled_charsmap", ""));
  const auto blob = from_base64(encoded);
  if (!blob) {
    return bad_input("precompiled_charsmap: expected base64", object.where());
  }
  LOCUS_TRY(Charsmap map, within(Charsmap::parse(*blob), object.where()));
  return rewriting([map = std::move(map)](const MappedText& text) { return map.apply(text); });
}

Result<std::unique_ptr<const Normalizer>> one_normalizer(const std::string& type, const JsonObject& object) {
  constexpr WordTable<NormalForm, 4> kForms{
      {{"NFC", NormalForm::kNfc}, {"NFD", NormalForm::kNfd}, {"NFKC", NormalForm::kNfkc}, {"NFKD", NormalForm::kNfkd}}};
  if (const std::optional<NormalForm> form = find_word(kForms, type)) {
    return rewriting([form](const MappedText& text) { return normalized(text, *form); });
  }
  if (type == "Lowercase") {
    return rewriting(lowered);
  }
  if (type == "StripAccents") {
    return rewriting([](const MappedText& text) { return without(text, is_mark); });
  }
  if (type == "Strip") {
    LOCUS_TRY(const bool left, object.boolean("strip_left", true));
    LOCUS_TRY(const bool right, object.boolean("strip_right", true));
    return rewriting([left, right](const MappedText& text) { return stripped(text, left, right); });
  }
  if (type == "BertNormalizer") {
    return parse_bert(object);
  }
  if (type == "Prepend") {
    LOCUS_TRY(const std::string prefix, object.text("prepend", ""));
    return rewriting([prefix](const MappedText& text) { return prepended(text, prefix); });
  }
  if (type == "Replace") {
    LOCUS_TRY(Pattern pattern, parse_pattern(object));
    LOCUS_TRY(std::string content, object.text("content", ""));
    return std::unique_ptr<const Normalizer>(std::make_unique<Replace>(std::move(pattern), std::move(content)));
  }
  if (type == "Precompiled") {
    return parse_precompiled(object);
  }
  return unsupported("normalizer \"" + type.substr(0, 80) + "\"", object.where());
}

}  // namespace

std::unique_ptr<const Normalizer> bert_normalizer(const BertNormalizerOptions& options) {
  return rewriting([options](const MappedText& text) {
    MappedText result = options.clean_text ? cleaned(text) : text;
    if (options.space_cjk) {
      result = cjk_spaced(result);
    }
    if (options.strip_accents) {
      result = without(normalized(result, NormalForm::kNfd), is_nonspacing_mark);
    }
    return options.lowercase ? lowered(result) : result;
  });
}

Result<Normalizers> parse_normalizer(const nlohmann::json& value, const std::string& where) {
  Normalizers steps;
  if (value.is_null()) {
    return steps;
  }
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  LOCUS_TRY(const std::string type, object.text("type", ""));
  if (type != "Sequence") {
    LOCUS_TRY(auto step, one_normalizer(type, object));
    steps.push_back(std::move(step));
    return steps;
  }
  LOCUS_TRY(const nlohmann::json* const members, object.array("normalizers"));
  for (const auto& member : *members) {
    LOCUS_TRY(Normalizers inner, parse_normalizer(member, where));
    std::move(inner.begin(), inner.end(), std::back_inserter(steps));
  }
  return steps;
}

}  // namespace locus::text
