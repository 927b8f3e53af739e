#include "models/formats/hub_name.h"

#include <algorithm>
#include <cstddef>

namespace locus::formats {

namespace {

constexpr std::string_view kFolder = "models--";
constexpr std::string_view kBetween = "--";
constexpr std::size_t kLongestPart = 96;  // limit of the hub
constexpr std::size_t kCommitDigits = 40;

bool is_plain(char symbol) {
  return (symbol >= 'a' && symbol <= 'z') || (symbol >= 'A' && symbol <= 'Z') || (symbol >= '0' && symbol <= '9') ||
         symbol == '-' || symbol == '_' || symbol == '.';
}

bool is_revision(std::string_view revision) {
  for (std::size_t slash = revision.find('/'); slash != std::string_view::npos; slash = revision.find('/')) {
    if (!is_hub_part(revision.substr(0, slash))) {
      return false;
    }
    revision.remove_prefix(slash + 1);
  }
  return is_hub_part(revision);
}

}  // namespace

bool is_hub_part(std::string_view part) {
  return !part.empty() && part.size() <= kLongestPart && part.front() != '.' &&
         part.find("..") == std::string_view::npos && std::all_of(part.begin(), part.end(), is_plain);
}

bool is_hub_commit(std::string_view text) {
  return text.size() == kCommitDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<HubName> parse_hub_name(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string path = text.substr(0, at);
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) {
    return std::nullopt;
  }
  HubName name{path.substr(0, slash), path.substr(slash + 1), at == std::string::npos ? "" : text.substr(at + 1)};
  const bool good = is_hub_part(name.organisation) && is_hub_part(name.model) &&
                    (at == std::string::npos || is_revision(name.revision));
  return good ? std::optional(name) : std::nullopt;
}

std::string name_of_hub_folder(const std::string& folder) {
  const std::size_t between = folder.find(kBetween, kFolder.size());
  if (!folder.starts_with(kFolder) || between == std::string::npos) {
    return {};
  }
  const HubName name{
      folder.substr(kFolder.size(), between - kFolder.size()), folder.substr(between + kBetween.size()), {}};
  return is_hub_part(name.organisation) && is_hub_part(name.model) ? name.path() : std::string();
}

}  // namespace locus::formats
