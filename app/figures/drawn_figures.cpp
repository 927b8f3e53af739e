#include "app/figures/drawn_figures.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"

namespace locus::figures {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRecord = ".drawn";

// When a file, or the last file of a folder, was written; the end of time for what is not there.
fs::file_time_type last_written(const fs::path& path) {
  std::error_code code;
  fs::file_time_type last = fs::last_write_time(path, code);
  if (code) {
    return fs::file_time_type::max();
  }
  for (fs::directory_iterator each(path, code), end; !code && each != end; each.increment(code)) {
    std::error_code unreadable;
    last = std::max(last, each->last_write_time(unreadable));
  }
  return last;
}

}  // namespace

DrawnFigures::DrawnFigures(fs::path folder, const fs::path& session) : folder_(std::move(folder)) {
  std::error_code code;
  session_ = session.empty() ? session : fs::weakly_canonical(session, code);
  std::ifstream record(folder_ / kRecord);
  for (std::string line; std::getline(record, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) {
      drawn_[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }
}

std::string DrawnFigures::origin(const std::string& text) const {
  return sha256(text) + " " + session_.string();
}

std::vector<fs::path> DrawnFigures::files(const std::string& name) const {
  return {folder_ / (name + ".png"), folder_ / (name + ".pdf"), folder_ / (name + ".html")};
}

bool DrawnFigures::current(const std::string& name, const std::string& text,
                           const std::vector<fs::path>& sources) const {
  const auto known = drawn_.find(name);
  if (session_.empty() || known == drawn_.end() || known->second != origin(text)) {
    return false;
  }
  fs::file_time_type last = std::max(last_written(session_), last_written("/proc/self/exe"));
  for (const fs::path& source : sources) {
    last = std::max(last, last_written(source));
  }
  return std::ranges::all_of(files(name), [last](const fs::path& file) {
    const fs::file_time_type time = last_written(file);
    return time > last && time != fs::file_time_type::max();
  });
}

void DrawnFigures::add(const std::string& name, const std::string& text) {
  if (session_.empty()) {
    return;
  }
  drawn_[name] = origin(text);
  std::string lines;
  for (const auto& [figure, from] : drawn_) {
    lines.append(figure).append("\t").append(from).append("\n");
  }
  static_cast<void>(write_file(folder_ / kRecord, lines));
}

}  // namespace locus::figures
