// The main of every test program: a filter that matches no test fails, and --locus_suites=A,B,… fails unless exactly
// these suites exist, so that no test file is left out of ctest.
#include <gtest/gtest.h>

#include <clocale>
#include <cstring>
#include <iostream>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/keep_driver.h"

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

}  // namespace

int main(int argc, char** argv) {
  std::setlocale(LC_ALL, "");  // as a Qt program begins
  testing::InitGoogleTest(&argc, argv);
  constexpr const char* kSuites = "--locus_suites=";
  for (int n = 1; n < argc; ++n) {
    if (std::strncmp(argv[n], kSuites, std::strlen(kSuites)) == 0) {
      return check_suites(argv[n] + std::strlen(kSuites));
    }
  }
  locus::test::keep_driver();
  const int status = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << "no test matches the filter\n";
    return 1;
  }
  return status;
}
