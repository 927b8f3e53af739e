// Interrupt: Ctrl-C as a StopToken, for commands that save what they have. A second Ctrl-C ends the program.
#pragma once

#include <array>
#include <stop_token>
#include <thread>

namespace locus::cli {

// While it lives, SIGINT and SIGTERM request the stop. At most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::array<int, 2> ends_{};  // of the pipe: read, write
  std::thread watcher_;
};

}  // namespace locus::cli
