// Interrupt: Ctrl-C as a StopToken, for commands that save what they have. A second Ctrl-C ends the program, and so
// does the first one where nobody looks at the token for too long.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace locus::cli {

// While it lives, SIGINT and SIGTERM request the stop; one that the program was started to ignore stays ignored. At
// most one at a time.
class Interrupt {
 public:
  // The program ends `patience` after the stop was requested, if this still lives then.
  explicit Interrupt(std::chrono::seconds patience = std::chrono::seconds(10));
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  void install();
  void watch();

  const std::chrono::seconds patience_;
  std::stop_source source_;
  std::array<struct sigaction, 2> before_{};
  std::array<int, 2> ends_{};  // of the pipe: read, write
  std::thread watcher_;
};

// For commands that write what they have once they are stopped.
constexpr std::chrono::seconds kWhileSaving{600};

}  // namespace locus::cli
