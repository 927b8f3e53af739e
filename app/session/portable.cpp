#include "app/session/portable.h"

#include <algorithm>
#include <array>

#include "core/base/sha256.h"
#include "core/base/shown.h"
#include "models/remote/address.h"

namespace locus::session {

namespace {

namespace fs = std::filesystem;

// Files of another machine are looked for when they are opened.
bool is_there(const fs::path& path) {
  std::error_code code;
  return remote::is_remote(path.native()) || fs::exists(path, code);
}

bool is_weights(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".safetensors" || ending == ".gguf" || ending == ".bin" || ending == ".pt" || ending == ".pth";
}

// The one file of weights in a folder; empty when there are none or several.
fs::path weights_of(const fs::path& folder) {
  fs::path found;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (is_weights(entry->path())) {
      if (!found.empty()) {
        return {};
      }
      found = entry->path();
    }
  }
  return found;
}

// Every checkpoint that a session names.
template <class Use>
void each_checkpoint(Session& session, Use use) {
  for (CheckpointEntry& entry : session.checkpoints) {
    use(entry);
  }
  for (Bookmark& bookmark : session.bookmarks) {
    for (CheckpointEntry& entry : bookmark.columns) {
      use(entry);
    }
  }
}

}  // namespace

std::string relative_path(const fs::path& path, const fs::path& folder) {
  if (remote::is_remote(path.native())) {
    return path.string();
  }
  std::error_code code;
  const auto target = fs::weakly_canonical(path, code);
  const auto base = fs::weakly_canonical(folder, code);
  const auto relative = target.lexically_relative(base);
  return (relative.empty() ? target : relative).generic_string();
}

std::string working_path(const fs::path& path) {
  std::error_code code;
  const auto relative = relative_path(path, fs::current_path(code));
  return code || relative.starts_with("..") ? fs::weakly_canonical(path, code).generic_string() : relative;
}

Status check_names(const Session& session) {
  std::vector<fs::path> paths;
  for (const CheckpointEntry& entry : session.checkpoints) {
    paths.push_back(entry.path);
    if (!entry.base.empty()) {
      paths.push_back(entry.base);
    }
  }
  for (const auto* file : {&session.input.image, &session.input.pixels}) {
    if (file->has_value()) {
      paths.push_back(**file);
    }
  }
  paths.insert(paths.end(), session.input.images.begin(), session.input.images.end());
  paths.insert(paths.end(), session.input.videos.begin(), session.input.videos.end());
  for (const fs::path& path : paths) {
    if (!is_utf8(working_path(path))) {
      return bad_input("expected a path in UTF-8, since the recipe of a figure names it, found another: rename it",
                       shown(path.string()));
    }
  }
  return {};
}

fs::path find_stored(const std::string& stored, const fs::path& folder) {
  if (remote::is_remote(stored)) {
    return stored;
  }
  const fs::path as_stored = (folder / stored).lexically_normal();
  const fs::path name = as_stored.filename();
  for (const fs::path& candidate :
       {as_stored, folder / name, folder / "checkpoints" / name, folder / ".." / "checkpoints" / name}) {
    if (!name.empty() && is_there(candidate)) {
      return candidate.lexically_normal();
    }
  }
  return as_stored;
}

fs::path find_weights(const std::string& sha256, const fs::path& folder) {
  if (sha256.empty()) {
    return {};
  }
  for (const fs::path& parent : {folder, folder / "checkpoints", folder / "assets" / "checkpoints"}) {
    std::error_code code;
    for (fs::directory_iterator entry(parent, code), end; !code && entry != end; entry.increment(code)) {
      std::error_code failure;
      const fs::path weights = entry->is_directory(failure) ? weights_of(entry->path()) : fs::path();
      if (weights.empty() || fs::file_size(weights, failure) > kMaxHashedBytes || failure) {
        continue;
      }
      const auto digest = sha256_of_file(weights.string());
      if (digest.ok() && *digest == sha256) {
        return entry->path().lexically_normal();
      }
    }
  }
  return {};
}

std::vector<fs::path> missing_checkpoints(Session session, bool bookmarks) {
  std::vector<fs::path> missing;
  if (!bookmarks) {
    session.bookmarks.clear();
  }
  each_checkpoint(session, [&](const CheckpointEntry& entry) {
    if (!is_there(entry.path) && std::find(missing.begin(), missing.end(), entry.path) == missing.end()) {
      missing.push_back(entry.path);
    }
  });
  return missing;
}

Session relocated(Session session, const fs::path& from, const fs::path& to) {
  each_checkpoint(session, [&](CheckpointEntry& entry) {
    if (entry.path == from) {
      entry.path = to;
    } else if (const fs::path beside = to.parent_path() / entry.path.filename();
               !is_there(entry.path) && is_there(beside)) {
      entry.path = beside;
    }
  });
  return session;
}

}  // namespace locus::session
