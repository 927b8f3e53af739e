// Where a model or a trace is that is not on this machine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

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

// While one lives, what this thread waits for of another machine ends as kCancelled where the stop is requested, also in
// functions that take none.
class StopsWaiting {
 public:
  explicit StopsWaiting(StopToken stop);
  ~StopsWaiting();
  StopsWaiting(const StopsWaiting&) = delete;
  StopsWaiting& operator=(const StopsWaiting&) = delete;

 private:
  StopToken before_;
};

// The line to the machine of a path `ssh://…`, one that is there or a new one; null for paths of this machine. It is
// there as long as somebody holds it, or a model or trace of it: who asks for several things one after the other holds
// it meanwhile. Errors: open()'s of the line; kCancelled.
Result<std::shared_ptr<const Machine>> line_to(const std::filesystem::path& path, const StopToken& stop = {},
                                               const Progress& progress = {});

}  // namespace locus::models
