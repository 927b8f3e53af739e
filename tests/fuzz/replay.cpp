// Runs a fuzz target on stored inputs: fuzz_NAME_replay FILE|FOLDER…; fails when there are none.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> inputs;
  for (int n = 1; n < argc; ++n) {
    if (fs::is_directory(argv[n])) {
      std::transform(fs::directory_iterator(argv[n]), fs::directory_iterator(), std::back_inserter(inputs),
                     [](const fs::directory_entry& entry) { return entry.path(); });
    } else {
      inputs.emplace_back(argv[n]);
    }
  }
  std::sort(inputs.begin(), inputs.end());
  for (const fs::path& input : inputs) {
    const locus::Result<std::string> bytes = locus::read_file(input, std::size_t{64} << 20U);
    if (!bytes.ok()) {
      std::cerr << bytes.error().describe() << "\n";
      return 1;
    }
    // A copy of exactly the input's size, so that a sanitizer sees a byte too far.
    const std::vector<std::uint8_t> copy(bytes->begin(), bytes->end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
  }
  std::cout << inputs.size() << " inputs\n";
  return inputs.empty() ? 1 : 0;
}
