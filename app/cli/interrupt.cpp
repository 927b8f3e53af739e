#include "app/cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "core/base/unfinished.h"

namespace locus::cli {

namespace {

// A signal handler may do little more than write to a pipe; a thread waits at its other end.
std::atomic<int> pipe_in{-1};

constexpr int kInterrupted = 130;  // as shells say of SIGINT

void handle(int /*signal*/) {
  const char byte = 'i';
  [[maybe_unused]] const auto written = write(pipe_in.load(), &byte, 1);
}

constexpr std::array kSignals{SIGINT, SIGTERM};

}  // namespace

Interrupt::Interrupt(std::chrono::seconds patience) : patience_(patience) {
  if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
    return;  // no descriptors left: Ctrl-C keeps its usual meaning
  }
  pipe_in = ends_[1];
  watcher_ = std::thread([this] { watch(); });
  install();
}

void Interrupt::install() {
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t n = 0; n < kSignals.size(); ++n) {
    sigaction(kSignals[n], nullptr, &before_[n]);
    if (before_[n].sa_handler != SIG_IGN) {
      sigaction(kSignals[n], &action, nullptr);
    }
  }
}

void Interrupt::watch() {
  char byte = 0;
  if (read(ends_[0], &byte, 1) != 1 || byte != 'i') {
    return;
  }
  source_.request_stop();
  pollfd end{ends_[0], POLLIN, 0};
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience_);
  const bool silent = poll(&end, 1, static_cast<int>(wait.count())) == 0;
  if (silent || (read(ends_[0], &byte, 1) == 1 && byte == 'i')) {  // the other signal is a second one
    remove_unfinished();
    constexpr std::string_view kSays = "locus: cancelled; what was under way did not stop by itself\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kSays.data(), kSays.size());
    std::_Exit(kInterrupted);
  }
}

Interrupt::~Interrupt() {
  if (!watcher_.joinable()) {
    return;
  }
  for (std::size_t n = 0; n < kSignals.size(); ++n) {
    sigaction(kSignals[n], &before_[n], nullptr);
  }
  pipe_in = -1;
  // Both ends are open until the watcher is gone: a write to a pipe that nobody reads would end the program.
  const char byte = 'q';
  [[maybe_unused]] const auto written = write(ends_[1], &byte, 1);
  watcher_.join();
  close(ends_[0]);
  close(ends_[1]);
}

}  // namespace locus::cli
