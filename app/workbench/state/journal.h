// Journal: a file with the recent state of the session, for recovery after a crash, and the earlier states of sessions.
//
// A folder holds `journal/`, one file per running program with a lock beside it, and `states/`, at most ten. A journal
// without a running program was left behind by a crash.
#pragma once

#include <QLockFile>
#include <QString>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/session.h"

namespace locus::workbench {

class Journal {
 public:
  static constexpr std::size_t kMaxStates = 10;

  // Errors of the folder are reported by write().
  explicit Journal(std::filesystem::path folder);
  ~Journal();  // removes the journal: a clean end
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Writes the session and the path of its file (empty: none) if they have changed since the last call. Not flushed to
  // the disk: it survives a crash of the program, not of the machine. Errors: kBadInput if it cannot be written.
  Status write(const session::Session& session, const std::filesystem::path& of = {});
  // Removes the journal: the session has been saved.
  void discard();

  // Turns the journals left behind into earlier states and returns the file of the newest; empty: there are none.
  std::optional<std::filesystem::path> take_left_behind();

  struct State {
    std::filesystem::path file;
    std::chrono::system_clock::time_point time;
  };
  // Newest first.
  std::vector<State> states() const;
  // Adds a state, unless it equals the newest.
  Status keep(const session::Session& session, const std::filesystem::path& of = {});

 private:
  std::filesystem::path state_file(std::filesystem::file_time_type time) const;
  void prune() const;

  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::unique_ptr<QLockFile> lock_;
  std::string written_;
};

// The file of the session of a state; empty: unknown or none.
std::filesystem::path file_of(const std::filesystem::path& state);
// The menu text of a state: "14:32, one two three …, 3 figures". Empty: it cannot be read.
std::string summary_of(const Journal::State& state);

}  // namespace locus::workbench
