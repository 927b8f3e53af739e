// Names of tests over lists.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace locus::test {

// The label with "_" for whatever a test cannot be called.
inline std::string test_name(std::string label) {
  std::replace_if(
      label.begin(), label.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return label;
}

}  // namespace locus::test
