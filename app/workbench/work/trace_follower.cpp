#include "app/workbench/work/trace_follower.h"

#include <sys/stat.h>

#include <QFileInfo>
#include <algorithm>

#include "app/figures/open_columns.h"

namespace locus::workbench {

namespace {

constexpr int kSettledMs = 150;  // ranks of one run write one after another
constexpr std::int64_t kNanoseconds = 1000000000;

bool is_trace_file(const Checkpoint& checkpoint) {
  return checkpoint.entry.shown && !checkpoint.model && checkpoint.entry.path.extension() == ".safetensors";
}

}  // namespace

TraceFollower::TraceFollower() {
  quiet_.setSingleShot(true);
  quiet_.setInterval(kSettledMs);
  connect(&quiet_, &QTimer::timeout, this, &TraceFollower::look);
  const auto begin = [this] {
    if (!quiet_.isActive()) {  // a run that writes all the time is looked at all the time
      quiet_.start();
    }
  };
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, begin);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, begin);
}

TraceFollower::State TraceFollower::state_of(const std::vector<std::string>& files) {
  State state;
  for (const std::string& file : files) {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
      return {};
    }
    state.emplace_back(found.st_ino, found.st_size, found.st_mtim.tv_sec * kNanoseconds + found.st_mtim.tv_nsec);
  }
  return state;
}

void TraceFollower::watch(const CheckpointList& list) {
  std::erase_if(followed_, [&](const auto& each) {
    const Checkpoint* checkpoint = list.find(each.first);
    return checkpoint == nullptr || !is_trace_file(*checkpoint);
  });
  for (const Checkpoint& each : list.all()) {
    if (is_trace_file(each) && !followed_.contains(each.id)) {
      // Before it has been read: what is written meanwhile is another state.
      Followed followed{files_of(each.entry, nullptr), {}};
      followed.state = state_of(followed.files);
      followed_.emplace(each.id, std::move(followed));
    }
  }
  watch_files();
}

void TraceFollower::watch_files() {
  QStringList wanted;
  for (const auto& [id, followed] : followed_) {
    for (const std::string& file : followed.files) {
      const QFileInfo info(QString::fromStdString(file));
      for (const QString& path : {info.filePath(), info.path()}) {
        if (!wanted.contains(path) && QFileInfo::exists(path)) {
          wanted << path;
        }
      }
    }
  }
  const QStringList watched = watcher_.files() + watcher_.directories();
  for (const QString& path : watched) {
    if (!wanted.contains(path)) {
      watcher_.removePath(path);
    }
  }
  for (const QString& path : wanted) {
    if (!watched.contains(path)) {
      watcher_.addPath(path);
    }
  }
}

void TraceFollower::look() {
  std::vector<int> changed;
  for (auto& [id, followed] : followed_) {
    State state = state_of(followed.files);
    if (!state.empty() && state != followed.state) {
      followed.state = std::move(state);
      changed.push_back(id);
    }
  }
  watch_files();  // a file of the same name is another one now
  for (const int id : changed) {
    Q_EMIT written(id);
  }
}

}  // namespace locus::workbench
