// An X display of its own for windows: Xvfb, on a free number.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QString>
#include <cstdlib>
#include <memory>
#include <string>

namespace locus::test {

// A running Xvfb, which ends with it. Started by posix_spawn: a process that Qt starts (clone with CLONE_VM) makes
// ThreadSanitizer blind to our locks.
class Display {
 public:
  explicit Display(pid_t process) : process_(process) {}
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;
  ~Display() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
};

// The line that arrives at `file` within a minute; empty: none.
inline std::string line_from(int file) {
  constexpr int kLimitMs = 60'000;
  std::string line;
  pollfd input{file, POLLIN, 0};
  for (char letter = 0; poll(&input, 1, kLimitMs) == 1 && read(file, &letter, 1) == 1 && letter != '\n';) {
    line += letter;
  }
  return line;
}

// Starts Xvfb (Debian: xvfb) and makes it this process's DISPLAY; null without Xvfb, and DISPLAY stays what it was.
// Destroy it when the application is gone.
inline std::unique_ptr<Display> start_display(const QString& size = QStringLiteral("1600x1000x24")) {
  int ends[2] = {};
  if (pipe(ends) != 0) {
    return nullptr;
  }
  // Xvfb chooses a free number and writes it to its standard output.
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclose(&files, ends[0]);
  posix_spawn_file_actions_addclose(&files, ends[1]);
  const std::string screen = size.toStdString();
  const char* words[] = {"Xvfb", "-displayfd", "1", "-screen", "0", screen.c_str(), "-nolisten", "tcp", nullptr};
  pid_t process = 0;
  const bool started = posix_spawnp(&process, "Xvfb", &files, nullptr, const_cast<char**>(words), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  auto display = started ? std::make_unique<Display>(process) : nullptr;
  const std::string number = started ? line_from(ends[0]) : "";
  close(ends[0]);
  if (number.empty()) {
    return nullptr;
  }
  qputenv("DISPLAY", QByteArray::fromStdString(":" + number));
  return display;
}

}  // namespace locus::test
