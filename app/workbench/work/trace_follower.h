// TraceFollower: reports when an open trace file has been rewritten, for example by a training run in another program.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "app/workbench/work/checkpoint_list.h"

namespace locus::workbench {

// Traces are replaced by renaming a complete file: folders are watched as well as files. A sharded trace has one file
// for each rank; all of them are watched.
class TraceFollower : public QObject {
  Q_OBJECT

 public:
  TraceFollower();

  // Watches the shown traces of the list and no others.
  void watch(const CheckpointList& list);

 Q_SIGNALS:
  void written(int id);  // all its files exist, and one has changed since the last report

 private:
  // Inode, size and time of change of each file; empty: one does not exist.
  using State = std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>>;
  struct Followed {
    std::vector<std::string> files;
    State state;
  };
  static State state_of(const std::vector<std::string>& files);
  void watch_files();
  void look();

  QFileSystemWatcher watcher_;
  QTimer quiet_;  // fires after a moment without further changes
  std::map<int, Followed> followed_;
};

}  // namespace locus::workbench
