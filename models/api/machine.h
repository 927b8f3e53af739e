// Where a model or a trace is that is not on this machine.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::models {

// The line to another machine. What is asked of a model or a trace there travels over it.
class Machine {
 public:
  virtual ~Machine() = default;

  virtual std::string name() const = 0;  // "ada@node7:2222"
  // The round trip of an empty message, measured every few seconds; 0: not yet.
  virtual double latency_ms() const = 0;
  // Why nothing arrives from there any more; a new line needs a new open(). None: it is well.
  virtual std::optional<Error> lost() const = 0;
};

class Model;
class PositionTable;
class Trace;

// The line to the machine that holds it; null: this one does. Of a model or trace there, what returns a Result waits
// for an answer; what returns none is known here, but for Model::macs() and estimate() and more than a few of top().
std::shared_ptr<const Machine> machine_of(const Model& model);
std::shared_ptr<const Machine> machine_of(const Trace& trace);
std::shared_ptr<const Machine> machine_of(const PositionTable& table);

// From now on nothing on this thread waits for another machine: what is not known here is an error (kUnsupported). For
// the thread of a window.
void never_wait_on_this_thread();

// While one lives, what this thread waits for of another machine ends as kCancelled where the stop is requested, also
// in functions that take none.
class StopsWaiting {
 public:
  explicit StopsWaiting(StopToken stop);
  ~StopsWaiting();
  StopsWaiting(const StopsWaiting&) = delete;
  StopsWaiting& operator=(const StopsWaiting&) = delete;

 private:
  StopToken before_;
};

// ---- which machines may be reached
//
// Whoever opens a file of a stranger starts no ssh to the machines that it names: the program allows those that the
// user named or agreed to. A line to another one is an error (kBadInput) before anything is started.

// From now on the machines of these paths alone; until then all.
void allow_only_machines_of(const std::vector<std::filesystem::path>& paths);
// Allows the computer of this path too; does nothing for a path of this one.
void allow_machine_of(const std::filesystem::path& path);
void allow_all_machines();
// The machine of a path that is not allowed, "ada@node7:2222"; empty: it is, or the path is one of this machine.
std::string unallowed_machine_of(const std::filesystem::path& path);

// ---- lines

// How long a machine may say nothing while an answer is due.
struct SilenceLimits {
  std::chrono::milliseconds told{5000};   // then it is told of
  std::chrono::milliseconds lost{60000};  // then its line is lost
};
// Calls `tell`, on any thread, with what is waited for, one line, when a machine has said nothing for so long. Null:
// nobody.
void tell_of_silent_machines(std::function<void(const std::string& what)> tell, const SilenceLimits& limits = {});

// The line to the machine of a path `ssh://…`, one that is there or a new one; null for paths of this machine. It is
// there as long as somebody holds it, or a model or trace of it: who asks for several things one after the other holds
// it meanwhile. Errors: open()'s of the line; kCancelled.
Result<std::shared_ptr<const Machine>> line_to(const std::filesystem::path& path, const StopToken& stop = {},
                                               const Progress& progress = {});

}  // namespace locus::models
