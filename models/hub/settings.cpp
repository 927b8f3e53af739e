#include "models/hub/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "core/base/shown.h"
#include "models/formats/hub_cache.h"
#include "models/hub/url.h"

namespace locus::hub {

namespace {

// An environment variable without surrounding spaces; empty where it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  const std::string_view text = value == nullptr ? std::string_view() : std::string_view(value);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos
             ? std::string()
             : std::string(text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1));
}

bool is_set(std::string value) {
  for (char& letter : value) {
    letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  constexpr std::array<std::string_view, 4> kYes{"1", "ON", "YES", "TRUE"};
  return std::find(kYes.begin(), kYes.end(), value) != kYes.end();
}

}  // namespace

Result<HubSettings> hub_settings() {
  HubSettings settings;
  settings.cache = formats::hub_cache();
  if (is_set(variable("HF_HUB_OFFLINE"))) {
    return bad_input("nothing is fetched while it is set", "HF_HUB_OFFLINE");
  }
  if (const std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) {
    settings.endpoint = endpoint.substr(0, endpoint.find_last_not_of('/') + 1);
  }
  if (origin_of(settings.endpoint).empty()) {
    return bad_input("expected an http or https address, found " + shown(settings.endpoint), "HF_ENDPOINT");
  }
  settings.token = variable("HF_TOKEN");
  const bool plain = std::all_of(settings.token.begin(), settings.token.end(),
                                 [](char symbol) { return symbol > ' ' && symbol < '\x7F'; });
  if (!plain) {
    return bad_input("expected letters, digits and signs, found spaces or controls", "HF_TOKEN");
  }
  return settings;
}

}  // namespace locus::hub
