// Names of models on Hugging Face's hub: ORG/NAME, or ORG/NAME@REVISION with a branch, a tag or a commit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace locus::formats {

struct HubName {
  std::string organisation;
  std::string model;
  std::string revision;  // empty: main

  std::string path() const { return organisation + "/" + model; }                  // "ORG/NAME"
  std::string folder() const { return "models--" + organisation + "--" + model; }  // folder in the cache
};

// Empty for a text that is no such name: parts are letters, digits, '-', '_' and '.', never "..", hidden or longer than
// 96 characters; a revision may have several parts, separated by '/'.
std::optional<HubName> parse_hub_name(const std::string& text);

// "ORG/NAME" of a folder models--ORG--NAME; empty for other folders.
std::string name_of_hub_folder(const std::string& folder);

// 40 lower-case hexadecimal digits.
bool is_hub_commit(std::string_view text);

// One part of such a name, also valid as the name of a file: never "..", hidden, or with a separator.
bool is_hub_part(std::string_view part);

}  // namespace locus::formats
