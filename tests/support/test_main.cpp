// The main of every test program: a filter that matches no test fails, and --locus_suites=A,B,… fails unless exactly
// these suites exist, so that no test file is left out of ctest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include "core/base/instruction_sets.h"
#include "core/base/library_settings.h"
#include "tests/support/keep_driver.h"
#include "tests/support/name_crash.h"

namespace {

std::string suite_name(const std::string& full) {
  const auto slash = full.find('/');
  if (slash == std::string::npos) {
    return full;
  }
  // "Instance/Suite" of value-parametrised tests, "Suite/0" of typed ones.
  const std::string tail = full.substr(slash + 1);
  return tail.find_first_not_of("0123456789") == std::string::npos ? full.substr(0, slash) : tail;
}

int check_suites(const std::string& list) {
  std::set<std::string> expected;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    expected.insert(name);
  }
  std::set<std::string> found;
  const auto& tests = *testing::UnitTest::GetInstance();
  for (int n = 0; n < tests.total_test_suite_count(); ++n) {
    found.insert(suite_name(tests.GetTestSuite(n)->name()));
  }
  int status = 0;
  for (const std::string& name : found) {
    if (expected.count(name) == 0) {
      std::cerr << "suite " << name << " is not named after its file: no ctest runs it\n";
      status = 1;
    }
  }
  for (const std::string& name : expected) {
    if (found.count(name) == 0) {
      std::cerr << "a test file promises the suite " << name << ", which does not exist\n";
      status = 1;
    }
  }
  return status;
}

// Starts this program once more with the settings of OpenBLAS and OpenMP, which the libraries that it is linked with read
// before main(). A shell's choice of kernels counts only where LOCUS_KERNELS says that a set of kernels is tested.
void restart_with_settings(char** argv) {
  constexpr const char* kRestarted = "LOCUS_TEST_RESTARTED";
  if (std::getenv(kRestarted) == nullptr) {
    ::setenv(kRestarted, "1", 1);
    if (std::getenv("LOCUS_KERNELS") == nullptr) {
      ::unsetenv("OPENBLAS_CORETYPE");
    }
    ::setenv("OMP_WAIT_POLICY", "passive", 0);  // other tests run beside this one
    locus::set_library_defaults();
    locus::restart(argv);
  }
}

// Whether this CPU can run the kernels that LOCUS_KERNELS names.
bool can_run_kernels() {
  if (std::getenv("LOCUS_KERNELS") == nullptr) {
    return true;
  }
  const locus::Result<locus::LoopChoice> chosen = locus::chosen_loops();
  if (!chosen.ok()) {
    std::cerr << chosen.error().describe() << "\n";
  }
  return chosen.ok();
}

// A folder for what the tests of this process write, so that what an ended run or another checkout left is not met;
// gone with the process.
class OwnFolder {
 public:
  OwnFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "locus_tests_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) {
      path_ = pattern;
      ::setenv("TEST_TMPDIR", (pattern + "/").c_str(), 1);  // testing::TempDir()
    }
  }
  ~OwnFolder() {
    std::error_code ignored;
    if (!path_.empty()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // as ctest is told
  std::setlocale(LC_ALL, "");   // as a Qt program begins
  restart_with_settings(argv);
  if (!can_run_kernels()) {
    return kSkipped;
  }
  testing::InitGoogleTest(&argc, argv);
  locus::test::name_crashes();
  constexpr const char* kSuites = "--locus_suites=";
  for (int n = 1; n < argc; ++n) {
    if (std::strncmp(argv[n], kSuites, std::strlen(kSuites)) == 0) {
      return check_suites(argv[n] + std::strlen(kSuites));
    }
  }
  locus::test::keep_driver();
  const OwnFolder folder;
  const int status = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << "no test matches the filter\n";
    return 1;
  }
  return status;
}
