#include "app/cli/settings_text.h"

#include <algorithm>

#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::cli {

namespace {

SettingValue to_setting(const std::string& text) {
  if (text == "true" || text == "false") {
    return text == "true";
  }
  if (const auto integer = parse_number<std::int64_t>(text)) {
    return *integer;
  }
  if (const auto number = parse_number<double>(text)) {
    return *number;
  }
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (bracketed || text.find(',') != std::string::npos) {
    const std::string_view inner = bracketed ? std::string_view(text).substr(1, text.size() - 2) : text;
    std::vector<std::string_view> parts = split_words(inner, ",");
    for (std::string_view& part : parts) {
      part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    }
    const auto numbers = parse_numbers<double>(parts);
    return numbers ? SettingValue(*numbers) : SettingValue(text);
  }
  return text;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> split_pairs(const std::string& option,
                                                                     const std::vector<std::string>& typed) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : typed) {
    const auto equal = text.find('=');
    if (equal == std::string::npos || equal == 0) {
      return usage(option + ": expected KEY=VALUE, found " + shown(text));
    }
    pairs.emplace_back(text.substr(0, equal), text.substr(equal + 1));
  }
  return pairs;
}

Result<Settings> parse_settings(const std::string& option, const std::vector<std::string>& typed) {
  LOCUS_TRY(const auto pairs, split_pairs(option, typed));
  Settings settings;
  for (const auto& [key, value] : pairs) {
    settings.set(key, to_setting(value));
  }
  return settings;
}

}  // namespace locus::cli
