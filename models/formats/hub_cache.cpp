#include "models/formats/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "core/base/atomic_file.h"
#include "models/formats/files_read.h"
#include "models/formats/hub_name.h"

namespace locus::formats {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestRef = 1024;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The commit that refs/REVISION names.
std::optional<std::string> commit_of(const fs::path& file) {
  const auto text = read_file(file, kLongestRef);
  std::string commit = text.ok() ? *text : std::string();
  commit.resize(std::min(commit.size(), commit.find_last_not_of(" \r\n") + 1));
  return is_hub_commit(commit) ? std::optional(commit) : std::nullopt;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// The folder of a model's revision, and the searched place.
std::optional<fs::path> snapshot_of(const fs::path& model, const std::string& revision, fs::path& looked) {
  const std::string wanted = revision.empty() ? "main" : revision;
  const std::string commit = commit_of(model / "refs" / wanted).value_or(is_hub_commit(wanted) ? wanted : "");
  looked = commit.empty() ? model / "refs" / wanted : model / "snapshots" / commit;
  if (!commit.empty() && is_folder(looked)) {
    return looked;
  }
  // Copies of a cache may lack refs: then the only snapshot is used.
  const std::vector<fs::path> all =
      revision.empty() && commit.empty() ? entries_of(model / "snapshots") : std::vector<fs::path>();
  return all.size() == 1 && is_folder(all.front()) ? std::optional(all.front()) : std::nullopt;
}

}  // namespace

fs::path hub_cache() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) {
    return cache;
  }
  if (const std::string home = environment("HF_HOME"); !home.empty()) {
    return fs::path(home) / "hub";
  }
  const std::string caches = environment("XDG_CACHE_HOME");
  return (caches.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(caches)) / "huggingface" / "hub";
}

Result<fs::path> find_checkpoint(const std::string& name) {
  std::error_code ignored;
  const std::optional<HubName> parsed = parse_hub_name(name);
  if (fs::exists(name, ignored)) {
    return fs::path(name);
  }
  if (fs::path ranked = first_rank_of(name); !ranked.empty()) {
    return ranked;
  }
  if (!parsed) {
    return fs::path(name);
  }
  const fs::path model = hub_cache() / parsed->folder();
  fs::path looked = model;
  if (is_folder(model)) {
    if (const auto snapshot = snapshot_of(model, parsed->revision, looked)) {
      return *snapshot;
    }
  }
  return bad_input("no such file or folder, and not in the cache: expected " + looked.string() + " (locus get " + name +
                       " fetches it)",
                   name);
}

std::string hub_name(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path.lexically_normal()) {
    parts.push_back(part.string());
  }
  for (std::size_t n = 0; n + 2 < parts.size(); ++n) {
    if (parts[n + 1] == "snapshots" && parts[n].starts_with("models--")) {
      return name_of_hub_folder(parts[n]);
    }
  }
  return {};
}

std::vector<HubModel> hub_models() {
  std::vector<HubModel> models;
  for (const fs::path& model : entries_of(hub_cache())) {
    const std::string name = name_of_hub_folder(model.filename().string());
    if (name.empty()) {
      continue;
    }
    std::map<std::string, std::string> revisions;  // by commit
    for (const fs::path& ref : entries_of(model / "refs")) {
      if (const auto commit = commit_of(ref)) {
        revisions.emplace(*commit, ref.filename().string());
      }
    }
    for (const fs::path& snapshot : entries_of(model / "snapshots")) {
      const std::string commit = snapshot.filename().string();
      const auto named = revisions.find(commit);
      if (is_folder(snapshot) && is_hub_commit(commit)) {
        models.push_back({name, named == revisions.end() ? commit : named->second, snapshot});
      }
    }
  }
  return models;
}

}  // namespace locus::formats
