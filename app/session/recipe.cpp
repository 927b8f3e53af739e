#include "app/session/recipe.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/session/portable.h"
#include "app/session/session_json.h"
#include "core/base/version.h"
#include "models/api/files.h"
#include "models/remote/address.h"

namespace locus::session {

namespace {

namespace fs = std::filesystem;
using formats::Tree;

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

}  // namespace

std::string to_json(const Recipe& recipe, const StateFields& fields) {
  Tree checkpoints = Tree::list();
  for (std::size_t n = 0; n < recipe.session.checkpoints.size(); ++n) {
    const CheckpointEntry& entry = recipe.session.checkpoints[n];
    const bool known = n < recipe.stored.size() && !recipe.stored[n].empty();
    const std::string path = known ? recipe.stored[n] : working_path(entry.path);
    Tree checkpoint = to_tree(entry, path, working_path);
    checkpoint["name"] = fs::path(path).filename().string();
    if (n < recipe.digests.size() && !recipe.digests[n].empty()) {
      checkpoint["sha256"] = recipe.digests[n];
    }
    checkpoints.push_back(std::move(checkpoint));
  }
  const Tree document{{"locus", kSessionFormat},
                      {"version", program_version()},
                      {"input", to_tree(recipe.session.input, working_path)},
                      {"state", to_tree(recipe.session.state, fields)},
                      {"checkpoints", std::move(checkpoints)},
                      {"paper", to_tree(recipe.paper)}};
  return document.dump(-1, Tree::Order::kByName);
}

Result<Recipe> parse_recipe(const std::string& text, const std::string& file) {
  LOCUS_TRY(const Tree document, Tree::parse(text, file));
  std::error_code code;
  const fs::path working = fs::current_path(code);
  const fs::path folder = fs::absolute(file, code).parent_path();
  Recipe recipe;
  LOCUS_TRY(recipe.session, read_session(document, file, working));
  std::optional<Error> error;
  const formats::Node root(document, "recipe", error);
  if (const Tree* paper = document.find("paper")) {
    const formats::Node node(*paper, "paper", error);
    node.expect_object();
    recipe.paper = read_paper(node);
  }
  // read_session() has checked that there is a list of objects with paths.
  root.each_object("checkpoints", [&](const formats::Node& checkpoint) {
    checkpoint.get("path", recipe.stored.emplace_back());
    checkpoint.get("sha256", recipe.digests.emplace_back());
  });
  if (error) {
    return error->within(file);
  }
  for (std::size_t n = 0; n < recipe.stored.size(); ++n) {
    CheckpointEntry& entry = recipe.session.checkpoints[n];
    find_again(entry.path, recipe.stored[n], recipe.digests[n], {folder, working});
    if (!entry.base.empty() && !remote::is_remote(entry.path.native())) {
      find_again(entry.base, entry.base.string(), "", {folder});
    }
  }
  models::Input& input = recipe.session.input;
  for (auto* path : {&input.image, &input.pixels}) {
    if (path->has_value()) {
      find_again(**path, (*path)->string(), "", {folder});
    }
  }
  for (std::vector<fs::path>* const files : {&input.images, &input.videos}) {
    for (fs::path& file : *files) {
      find_again(file, file.string(), "", {folder});
    }
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
