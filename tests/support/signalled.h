// Runs the real program and sends it a signal on its way.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace locus::testing_support {

// Starts the program and sends `signal` once `ready`, or after two minutes. The exit status, or −signal; its output
// and errors.
inline Outcome run_and_signal(const std::vector<std::string>& words, const std::function<bool()>& ready, int signal) {
  const std::string stem = testing::TempDir() + "/locus_signalled_" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    const std::string program = locus::test::binary();
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& word : words) {
      argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    dup2(open((stem + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open((stem + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  for (int n = 0; n < 12000 && !ready(); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_text(stem + ".out"),
                  read_text(stem + ".err")};
  std::filesystem::remove(stem + ".out");
  std::filesystem::remove(stem + ".err");
  return outcome;
}

}  // namespace locus::testing_support
