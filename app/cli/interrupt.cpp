#include "app/cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace locus::cli {

namespace {

// A signal handler may do little more than write to a pipe; a thread waits at its other end.
std::atomic<int> pipe_in{-1};

void handle(int /*signal*/) {
  const char byte = 'i';
  [[maybe_unused]] const auto written = write(pipe_in.load(), &byte, 1);
}

void install(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  if (pipe(ends_.data()) != 0) {
    return;  // no descriptors left: Ctrl-C keeps its usual meaning
  }
  pipe_in = ends_[1];
  watcher_ = std::thread([this] {
    char byte = 0;
    if (read(ends_[0], &byte, 1) == 1 && byte == 'i') {
      source_.request_stop();
    }
  });
  install(handle, static_cast<int>(SA_RESETHAND));
}

Interrupt::~Interrupt() {
  if (!watcher_.joinable()) {
    return;
  }
  install(SIG_DFL, 0);
  pipe_in = -1;
  // Both ends are open until the watcher is gone: a write to a pipe that nobody reads would end the program.
  const char byte = 'q';
  [[maybe_unused]] const auto written = write(ends_[1], &byte, 1);
  watcher_.join();
  close(ends_[0]);
  close(ends_[1]);
}

}  // namespace locus::cli
