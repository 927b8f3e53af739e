// Journal: the session as it was a moment ago, in a file, for the case that the program ends without closing; and the
// last states that were left, to return to.
//
// A folder holds `journal/`, one file per running program with a lock beside it, and `states/`, at most ten. A journal
// whose program no longer lives was left behind.
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

  // Errors of the folder are those of write().
  explicit Journal(std::filesystem::path folder);
  ~Journal();  // a clean end
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The session as it is now, and the file that it is of (empty: none); nothing is written when it is what was written
  // last. Not flushed to the disk: it outlives the program, not the machine. Errors: kBadInput when it cannot be
  // written.
  Status write(const session::Session& session, const std::filesystem::path& of = {});
  // There is nothing to come back for: the session is in another file.
  void discard();

  // Makes a state of the newest journal that was left behind, and of the others; the newest's file. Empty: none.
  std::optional<std::filesystem::path> take_left_behind();

  struct State {
    std::filesystem::path file;
    std::chrono::system_clock::time_point time;
  };
  // Newest first.
  std::vector<State> states() const;
  // Adds one, unless the newest is the same.
  Status keep(const session::Session& session, const std::filesystem::path& of = {});

 private:
  std::filesystem::path state_file(std::filesystem::file_time_type time) const;
  void prune() const;

  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::unique_ptr<QLockFile> lock_;
  std::string written_;
};

// The file that a state's session was of; empty: none, or one that is said nowhere.
std::filesystem::path file_of(const std::filesystem::path& state);
// "14:32, one two three …, 3 figures": what a state is, in a menu. Empty when it cannot be read.
std::string summary_of(const Journal::State& state);

}  // namespace locus::workbench
