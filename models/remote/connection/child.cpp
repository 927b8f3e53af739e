#include "models/remote/connection/child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/shown.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace locus::remote {

namespace {

constexpr std::chrono::milliseconds kGrace{200};  // for it to end by itself, and then by SIGTERM
constexpr std::chrono::milliseconds kLook{2};

// Whether it ends within that time.
bool ends(pid_t pid, std::chrono::milliseconds within) {
  for (auto waited = std::chrono::milliseconds(0); waited <= within; waited += kLook) {
    if (const pid_t ended = ::waitpid(pid, nullptr, WNOHANG); ended == pid || (ended < 0 && errno == ECHILD)) {
      return true;
    }
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

// The actions and signals of a child whose standard streams are these.
class Spawning {
 public:
  Spawning(int input, int output, int errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t changed;
    ::sigemptyset(&changed);
    ::sigaddset(&changed, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &changed);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  int start(pid_t& pid, const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    return ::posix_spawnp(&pid, arguments.front(), &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& words) {
  LOCUS_TRY(Pipe input, make_pipe());
  LOCUS_TRY(Pipe output, make_pipe());
  LOCUS_TRY(Pipe errors, make_pipe());
  Child child(std::move(input.write), std::move(output.read), std::move(errors.read));
  const Spawning spawning(input.read.get(), output.write.get(), errors.write.get());
  if (const int failure = spawning.start(child.pid_, words); failure != 0) {
    child.pid_ = -1;
    return bad_input("cannot start " + shown(words.front()) + ": " + std::strerror(failure));
  }
  return child;
}

Child::~Child() {
  input_.close();
  output_.close();
  errors_.close();
  if (pid_ > 0 && !ends(pid_, kLook)) {
    ::kill(pid_, SIGTERM);
    if (!ends(pid_, kGrace)) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
}

}  // namespace locus::remote
