#include "app/session/recipe.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/session/portable.h"
#include "core/base/lists.h"
#include "core/base/shown.h"
#include "core/base/version.h"
#include "models/api/files.h"
#include "models/formats/json/json.h"
#include "models/remote/address.h"

namespace locus::session {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kSmallestPt = 4;
constexpr double kLargestPt = 48;

// Puts where the file is now into `path`, if it is not there and is found.
void find_again(fs::path& path, const std::string& stored, const std::string& sha256,
                const std::vector<fs::path>& folders) {
  std::error_code code;
  if (remote::is_remote(stored)) {
    path = stored;
    return;
  }
  for (const fs::path& folder : folders) {
    if (!fs::exists(path, code)) {
      path = find_stored(stored, folder);
    }
  }
  for (const fs::path& folder : folders) {
    const fs::path found = fs::exists(path, code) ? fs::path() : find_weights(sha256, folder);
    path = found.empty() ? path : found;
  }
}

// Each part by its name.
constexpr std::array<std::pair<const char*, bool PaperState::*>, 3> kParts = {
    {{"titles", &PaperState::titles}, {"labels", &PaperState::labels}, {"legend", &PaperState::legend}}};

// The parts of `paper` that older recipes have not.
Status read_type_and_parts(const json& object, const std::string& file, PaperState& paper) {
  if (const auto size = object.find("text_pt"); size != object.end()) {
    const double points = size->is_number() ? size->get<double>() : 0;
    if (!(points >= kSmallestPt && points <= kLargestPt)) {
      return bad_input("paper.text_pt: expected a number from 4 to 48, found " + shown_value(*size), file);
    }
    paper.text_pt = points;
  }
  if (const auto marks = object.find("marks"); marks != object.end()) {
    if (!marks->is_boolean()) {
      return bad_input("paper.marks: expected true or false, found " + shown_value(*marks), file);
    }
    paper.marks = marks->get<bool>();
  }
  if (const auto without = object.find("without"); without != object.end()) {
    const Status read = leave_out(without->is_string() ? without->get<std::string>() : without->dump(), paper);
    return read.ok() ? read : Status(bad_input("paper.without: " + read.error().message, file));
  }
  return {};
}

}  // namespace

std::string parts_left_out(const PaperState& paper) {
  std::string words;
  for (const auto& [name, member] : kParts) {
    words += paper.*member ? "" : (words.empty() ? "" : ",") + std::string(name);
  }
  return words;
}

Status leave_out(const std::string& words, PaperState& paper) {
  for (const std::string_view word : split_terminated(words)) {
    const auto part = std::find_if(kParts.begin(), kParts.end(), [&](const auto& each) { return each.first == word; });
    if (part == kParts.end()) {
      return usage("expected titles, labels, legend or several of them, separated by commas, found " + shown(word));
    }
    paper.*(part->second) = false;
  }
  return {};
}

std::string to_json(const Recipe& recipe, const StateFields& fields) {
  json document = json::parse(to_json(recipe.session, "/", fields));
  document.erase("bookmarks");
  document["version"] = program_version();
  document["paper"] = {{"width_mm", recipe.paper.width_mm}, {"dpi", recipe.paper.dpi}, {"dark", recipe.paper.dark}};
  if (recipe.paper.text_pt != PaperState{}.text_pt) {
    document["paper"]["text_pt"] = recipe.paper.text_pt;
  }
  if (const std::string without = parts_left_out(recipe.paper); !without.empty()) {
    document["paper"]["without"] = without;
  }
  if (recipe.paper.marks) {
    document["paper"]["marks"] = true;
  }
  std::size_t n = 0;
  for (json& checkpoint : document["checkpoints"]) {
    const fs::path& path = recipe.session.checkpoints[n].path;
    const bool known = n < recipe.stored.size() && !recipe.stored[n].empty();
    checkpoint["path"] = known ? recipe.stored[n] : working_path(path);
    checkpoint["name"] = fs::path(checkpoint["path"].get<std::string>()).filename().string();
    if (n < recipe.digests.size() && !recipe.digests[n].empty()) {
      checkpoint["sha256"] = recipe.digests[n];
    }
    ++n;
  }
  const models::Input& input = recipe.session.input;
  if (input.image) {
    document["input"]["image"] = working_path(*input.image);
  }
  if (input.pixels) {
    document["input"]["pixels"] = working_path(*input.pixels);
  }
  for (std::size_t image = 0; image < input.images.size(); ++image) {
    document["input"]["images"][image] = working_path(input.images[image]);
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Recipe> parse_recipe(const std::string& text, const std::string& file) {
  LOCUS_TRY(const json document, parse_json(text, file));
  std::error_code code;
  const fs::path working = fs::current_path(code);
  const fs::path folder = fs::absolute(file, code).parent_path();
  Recipe recipe;
  LOCUS_TRY(recipe.session, parse_session(document, file, working));
  if (const auto paper = document.find("paper"); paper != document.end()) {
    const bool good = paper->is_object() && paper->contains("width_mm") && paper->at("width_mm").is_number() &&
                      paper->contains("dpi") && paper->at("dpi").is_number() && paper->contains("dark") &&
                      paper->at("dark").is_boolean();
    if (!good) {
      return bad_input("paper: expected width_mm, dpi and dark", file);
    }
    recipe.paper.width_mm = paper->at("width_mm").get<double>();
    recipe.paper.dpi = paper->at("dpi").get<double>();
    recipe.paper.dark = paper->at("dark").get<bool>();
    LOCUS_CHECK(read_type_and_parts(*paper, file, recipe.paper));
  }
  // parse_session() has checked that there is a list of objects with paths.
  for (const json& checkpoint : document.value("checkpoints", json::array())) {
    const auto digest = checkpoint.find("sha256");
    recipe.digests.push_back(digest != checkpoint.end() && digest->is_string() ? digest->get<std::string>() : "");
    recipe.stored.push_back(checkpoint.at("path").get<std::string>());
    find_again(recipe.session.checkpoints[recipe.stored.size() - 1].path, recipe.stored.back(), recipe.digests.back(),
               {folder, working});
  }
  models::Input& input = recipe.session.input;
  for (auto* path : {&input.image, &input.pixels}) {
    if (path->has_value()) {
      find_again(**path, (*path)->string(), "", {folder});
    }
  }
  for (fs::path& image : input.images) {
    find_again(image, image.string(), "", {folder});
  }
  return recipe;
}

std::filesystem::path numbered(const std::filesystem::path& file, std::int64_t layer, std::int64_t head) {
  const std::string name = file.stem().string() + "-l" + std::to_string(layer) + "-h" +
                           (head == views::kMean ? "mean" : std::to_string(head)) + file.extension().string();
  return file.parent_path() / name;
}

Result<std::string> checkpoint_digest(const std::vector<std::string>& files) {
  return models::files_digest({files.begin(), files.end()});
}

}  // namespace locus::session
