#include "app/session/recipe.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/sha256.h"
#include "models/text/json.h"

namespace locus::workbench {

namespace {

using nlohmann::json;

constexpr std::uintmax_t kMostHashedBytes = std::uintmax_t{1} << 30;

}  // namespace

std::string to_json(const Recipe& recipe) {
  json document = json::parse(to_json(recipe.session, "/"));
  document.erase("bookmarks");
  document["version"] = LOCUS_VERSION;
  document["paper"] = {{"width_mm", recipe.paper.width_mm}, {"dpi", recipe.paper.dpi}, {"dark", recipe.paper.dark}};
  std::size_t n = 0;
  for (json& checkpoint : document["checkpoints"]) {
    const std::filesystem::path path = "/" + checkpoint["path"].get<std::string>();
    checkpoint["path"] = path.string();
    checkpoint["name"] = path.filename().string();
    if (n < recipe.digests.size() && !recipe.digests[n].empty()) {
      checkpoint["sha256"] = recipe.digests[n];
    }
    ++n;
  }
  return document.dump();
}

Result<Recipe> parse_recipe(const std::string& text, const std::string& file) {
  LOCUS_TRY(const json document, parse_json(text, file));
  Recipe recipe;
  LOCUS_TRY(recipe.session, parse_session(document, file, "/"));
  if (const auto paper = document.find("paper"); paper != document.end()) {
    const bool good = paper->is_object() && paper->contains("width_mm") && paper->at("width_mm").is_number() &&
                      paper->contains("dpi") && paper->at("dpi").is_number() && paper->contains("dark") &&
                      paper->at("dark").is_boolean();
    if (!good) {
      return bad_input("paper: expected width_mm, dpi and dark", file);
    }
    recipe.paper = {paper->at("width_mm").get<double>(), paper->at("dpi").get<double>(), paper->at("dark").get<bool>()};
  }
  // parse_session() has checked that there is a list of objects.
  for (const json& checkpoint : document.value("checkpoints", json::array())) {
    const auto digest = checkpoint.find("sha256");
    std::filesystem::path& path = recipe.session.checkpoints[recipe.digests.size()].path;
    const auto beside = std::filesystem::path(file).parent_path() / path.filename();
    std::error_code code;
    if (!std::filesystem::exists(path, code) && std::filesystem::exists(beside, code)) {
      path = std::filesystem::absolute(beside).lexically_normal();
    }
    recipe.digests.push_back(digest != checkpoint.end() && digest->is_string() ? digest->get<std::string>() : "");
  }
  return recipe;
}

std::filesystem::path numbered(const std::filesystem::path& file, std::int64_t layer, std::int64_t head) {
  const std::string name = file.stem().string() + "-l" + std::to_string(layer) + "-h" +
                           (head == views::kMean ? "mean" : std::to_string(head)) + file.extension().string();
  return file.parent_path() / name;
}

Result<std::string> checkpoint_digest(const std::vector<std::string>& files) {
  std::uintmax_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code failure;
    bytes += std::filesystem::file_size(file, failure);
    if (failure || bytes > kMostHashedBytes) {
      return std::string();
    }
  }
  if (files.size() == 1) {
    return sha256_of_file(files.front());
  }
  std::string digests;
  for (const std::string& file : files) {
    LOCUS_TRY(const std::string digest, sha256_of_file(file));
    digests += digest + "\n";
  }
  return files.empty() ? std::string() : sha256(digests);
}

}  // namespace locus::workbench
