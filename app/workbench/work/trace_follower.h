// TraceFollower: says when a trace that is open has been written anew, by a run that goes on elsewhere.
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

// Traces are written whole, under another name, which then becomes theirs: folders are watched as well as files, and of
// several files, one for each rank, all.
class TraceFollower : public QObject {
  Q_OBJECT

 public:
  TraceFollower();

  // Watches the shown traces of the list, and forgets the others.
  void watch(const CheckpointList& list);

 Q_SIGNALS:
  void written(int id);  // all files of its trace exist, and one is another than when it was opened or last told

 private:
  // Of each file its inode, size and time of change; empty where one does not exist.
  using State = std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>>;
  struct Followed {
    std::vector<std::string> files;
    State state;
  };
  static State state_of(const std::vector<std::string>& files);
  void watch_files();
  void look();

  QFileSystemWatcher watcher_;
  QTimer settled_;  // a moment without further changes
  std::map<int, Followed> followed_;
};

}  // namespace locus::workbench
