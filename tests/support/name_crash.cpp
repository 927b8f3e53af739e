#include "tests/support/name_crash.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>

namespace locus::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void name_crashes() {}

#else

namespace {

// Fixed memory, as a signal's handler may not allocate.
char running[256] = "before all tests";
std::array<char, 1 << 16> stack;  // of the handler, where the main thread has used up its own

// Keeps the name of the running test, or of the suite between two tests.
class NameKeeper : public testing::EmptyTestEventListener {
  void OnTestSuiteStart(const testing::TestSuite& suite) override { keep(std::string("before ") + suite.name()); }
  void OnTestStart(const testing::TestInfo& test) override {
    keep(std::string("in ") + test.test_suite_name() + "." + test.name());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    keep(std::string("after ") + test.test_suite_name() + "." + test.name());
  }

  static void keep(const std::string& name) {
    const std::size_t size = std::min(name.size(), sizeof running - 1);
    std::memcpy(running, name.data(), size);
    running[size] = 0;
  }
};

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    default:
      return "SIGILL";
  }
}

void say(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void name_crash(int signal) {
  say("\nended by ");
  say(name_of(signal));
  say(", ");
  say(running);
  say(":\n");
  std::array<void*, 64> calls{};
  ::backtrace_symbols_fd(calls.data(), ::backtrace(calls.data(), static_cast<int>(calls.size())), STDERR_FILENO);
  ::raise(signal);  // the handler is gone (SA_RESETHAND)
}

}  // namespace

void name_crashes() {
  testing::UnitTest::GetInstance()->listeners().Append(new NameKeeper);  // which owns it
  std::array<void*, 1> call{};
  ::backtrace(call.data(), 1);  // loads what it needs
  stack_t own{};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  ::sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = name_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    ::sigaction(signal, &action, nullptr);
  }
}

#endif

}  // namespace locus::test
