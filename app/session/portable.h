// Portable paths: sessions and recipes name checkpoints so that they can be found after a folder has moved, or on
// another machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/session/session.h"

namespace locus::session {

// Larger files of weights are not hashed.
inline constexpr std::uintmax_t kMaxHashedBytes = std::uintmax_t{1} << 30;

// The name of a file at `path` in a file of `folder`: relative to it, with slashes; the whole path where there is no
// way from one to the other.
std::string relative_path(const std::filesystem::path& path, const std::filesystem::path& folder);
// The same for files that have no folder of their own: relative to the working directory when below it, whole
// otherwise.
std::string working_path(const std::filesystem::path& path);

// Whether a file of text can name the checkpoints and pictures of a session. Errors: kBadInput for a path that is not
// UTF-8.
Status check_names(const Session& session);

// Where a stored path is now: as stored from `folder`; else by its name in `folder`, in its `checkpoints/` or in the
// `checkpoints/` beside it. What is found nowhere comes back as stored.
std::filesystem::path find_stored(const std::string& stored, const std::filesystem::path& folder);

// A folder that holds one file of weights with this SHA-256: `folder`'s own folders and those of its `checkpoints/` and
// `assets/checkpoints/`. Empty when there is none. Reads files of up to a gigabyte.
std::filesystem::path find_weights(const std::string& sha256, const std::filesystem::path& folder);

// The checkpoints that are not there: each path once, those of the bookmarks after those of the session.
std::vector<std::filesystem::path> missing_checkpoints(Session session, bool bookmarks = true);

// The session with `from` replaced by `to`; every other missing checkpoint that lies beside `to` under its own name is
// found there too.
Session relocated(Session session, const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace locus::session
