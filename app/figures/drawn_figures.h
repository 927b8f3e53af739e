// Which figures of a folder need not be drawn again.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"

namespace locus::figures {

// When a file, or the last file of a folder, was written; the end of time for what is not there.
inline std::filesystem::file_time_type last_written(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::file_time_type last = std::filesystem::last_write_time(path, code);
  if (code) {
    return std::filesystem::file_time_type::max();
  }
  if (std::filesystem::is_directory(path, code)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
      last = std::max(last, entry.last_write_time(code));
    }
  }
  return last;
}

// Which figures of a folder are as their session has them. FOLDER/.drawn has a line per figure: its name, and the
// session that it was drawn from.
class DrawnFigures {
 public:
  // `session`: its file; empty: nothing is remembered.
  DrawnFigures(std::filesystem::path folder, const std::filesystem::path& session);

  // Whether the figure of this name was drawn from the session, and its files are newer than the session, the program
  // and all of `sources`: files, or folders with what lies in them.
  bool current(const std::string& name, const std::vector<std::filesystem::path>& sources) const;
  // Remembers that it was drawn. What cannot be written is drawn again next time.
  void add(const std::string& name);
  std::vector<std::filesystem::path> files(const std::string& name) const;

 private:
  static constexpr const char* kRecord = ".drawn";

  std::filesystem::path folder_;
  std::string session_;
  std::map<std::string, std::string> drawn_;
};

inline DrawnFigures::DrawnFigures(std::filesystem::path folder, const std::filesystem::path& session)
    : folder_(std::move(folder)) {
  std::error_code code;
  session_ = session.empty() ? "" : std::filesystem::weakly_canonical(session, code).string();
  std::ifstream record(folder_ / kRecord);
  for (std::string line; std::getline(record, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != line.npos) {
      drawn_[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }
}

inline std::vector<std::filesystem::path> DrawnFigures::files(const std::string& name) const {
  return {folder_ / (name + ".png"), folder_ / (name + ".pdf")};
}

inline bool DrawnFigures::current(const std::string& name, const std::vector<std::filesystem::path>& sources) const {
  const auto known = drawn_.find(name);
  if (session_.empty() || known == drawn_.end() || known->second != session_) {
    return false;
  }
  std::filesystem::file_time_type last = std::max(last_written(session_), last_written("/proc/self/exe"));
  for (const std::filesystem::path& source : sources) {
    last = std::max(last, last_written(source));
  }
  const std::vector<std::filesystem::path> drawn = files(name);
  return std::all_of(drawn.begin(), drawn.end(), [last](const std::filesystem::path& file) {
    const std::filesystem::file_time_type time = last_written(file);
    return time > last && time != std::filesystem::file_time_type::max();
  });
}

inline void DrawnFigures::add(const std::string& name) {
  if (session_.empty()) {
    return;
  }
  drawn_[name] = session_;
  std::string lines;
  for (const auto& [figure, session] : drawn_) {
    lines.append(figure).append("\t").append(session).append("\n");
  }
  static_cast<void>(write_file(folder_ / kRecord, lines));
}

}  // namespace locus::figures
