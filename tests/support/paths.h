// Where the tree and the build lie. Only paths.cpp is compiled with these folders, so that every other test file compiles to the
// same object in any checkout.
#pragma once

#include <string>

namespace locus::test {

std::string source_dir();  // the checkout
std::string build_dir();   // the build folder
std::string binary();      // the program locus

}  // namespace locus::test
