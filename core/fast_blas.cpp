// Chooses OpenBLAS's kernels, and how threads wait for work, before OpenBLAS and OpenMP are loaded. An OpenBLAS older
// than the CPU it runs on does not know it and falls back to its SSE3 kernels: on an Emerald Rapids machine Debian 12's
// 0.3.21 runs a 1024³ product at 64 GFLOP/s, at 300 with its AVX-512 kernels. ATen's threads are OpenMP's, OpenBLAS has
// its own: by default both spin for milliseconds after their work on the cores that the other needs next, and a forward
// pass of GPT-2 small takes 1.5 times as long on two cores.
//
// Both read the environment in their constructors, so main() is too late. Functions of .preinit_array run before the
// constructors of all shared libraries, but after the loader has bound their symbols (0.4 s: LibTorch has many) and
// with an environment that cannot grow: libc takes the kernel's array again in its own constructor. So the settings
// borrow the places of variables that no library reads, until the constructors of the program itself give them back.
// Where too few of those are set the program starts itself once more, with all it had and the settings. Linked into
// every program that multiplies matrices, as an object, since no symbol of it is ever referenced.
#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace {

// What is set unless somebody has set it.
using Setting = std::array<char, 32>;
std::array<Setting, 3> settings{Setting{"OPENBLAS_CORETYPE=SkylakeX"},
                                Setting{"OPENBLAS_THREAD_TIMEOUT=16"},  // 2^16 cycles
                                Setting{"OMP_WAIT_POLICY=passive"}};
std::array<char*, 1024> environment;

// The first setting, by what this CPU has; empty where OpenBLAS's own choice is as good.
void choose_kernels() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx512) {
    std::strcpy(settings[0].data(), avx2 ? "OPENBLAS_CORETYPE=Haswell" : "");
  }
}

bool is_set(const Setting& setting, char** envp) {
  const char* const equals = std::strchr(setting.data(), '=');
  const auto name = equals == nullptr ? 0 : static_cast<std::size_t>(equals - setting.data()) + 1;
  for (; name > 0 && *envp != nullptr; ++envp) {
    if (std::strncmp(*envp, setting.data(), name) == 0) {
      return true;
    }
  }
  return name == 0;
}

// Variables of shells and logins, whose places may be borrowed.
constexpr std::array kBorrowed{"_=",       "SHLVL=",    "OLDPWD=",    "PWD=",      "LS_COLORS=", "LOGNAME=",
                               "MAIL=",    "LESSOPEN=", "LESSCLOSE=", "HOSTNAME=", "COLUMNS=",   "LINES=",
                               "SSH_TTY=", "EDITOR=",   "PAGER=",     "SHELL=",    "USER=",      "DEBIAN_FRONTEND="};

struct Loan {
  char** place = nullptr;
  char* lent = nullptr;  // what stood there
};
std::array<Loan, std::tuple_size_v<decltype(settings)>> loans;

char** find_place(char** envp) {
  for (; *envp != nullptr; ++envp) {
    for (const char* const name : kBorrowed) {
      if (std::strncmp(*envp, name, std::strlen(name)) == 0) {
        return envp;
      }
    }
  }
  return nullptr;
}

// Puts a setting into a borrowed place.
bool borrow(Loan& loan, Setting& setting, char** envp) {
  loan.place = find_place(envp);
  if (loan.place == nullptr) {
    return false;
  }
  loan.lent = *loan.place;
  *loan.place = setting.data();
  return true;
}

void put_back() {
  for (const Loan& loan : loans) {
    if (loan.lent != nullptr) {
      *loan.place = loan.lent;
    }
  }
}

// The program's own constructors run after those of all libraries, of which one may have copied the environment.
[[gnu::constructor]] void give_back() {
  put_back();
  for (std::size_t i = 0; i < loans.size(); ++i) {
    if (loans[i].lent != nullptr) {
      ::putenv(loans[i].lent);
      ::putenv(settings[i].data());  // what the program starts inherits it, as it does from a second start
    }
  }
}

void start_again(char** argv, char** envp) {
  put_back();
  std::size_t count = 0;
  for (; envp[count] != nullptr; ++count) {
    if (count + settings.size() + 1 >= environment.size()) {
      return;  // too large to copy
    }
    environment[count] = envp[count];
  }
  for (Setting& setting : settings) {
    if (!is_set(setting, envp)) {
      environment[count++] = setting.data();
    }
  }
  environment[count] = nullptr;
  ::execve("/proc/self/exe", argv, environment.data());  // returns only if it failed: then the libraries choose
}

void start_with_settings(int /*argc*/, char** argv, char** envp) {
  choose_kernels();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (!is_set(settings[i], envp) && !borrow(loans[i], settings[i], envp)) {
      start_again(argv, envp);
      return;
    }
  }
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const start_first)(int, char**, char**) = start_with_settings;

}  // namespace

#endif
