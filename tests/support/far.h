// The program of this build as the server of another machine, which is this one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "models/api/machine.h"
#include "tests/support/paths.h"

namespace locus::test {

// While one lives, `ssh://here/path` is reached by `command` instead of ssh; by default the program of this build. %s
// in it is where that lies.
class FarMachine {
 public:
  explicit FarMachine(std::string command = "env 'PATH=%s:/usr/bin:/bin'") {
    const std::string folder = std::filesystem::path(binary()).parent_path();
    for (std::size_t at = command.find("%s"); at != std::string::npos; at = command.find("%s", at + folder.size())) {
      command.replace(at, 2, folder);
    }
    setenv("LOCUS_SSH", command.c_str(), 1);
    models::allow_all_machines();  // a command line in this process may have allowed its own alone
  }
  ~FarMachine() { unsetenv("LOCUS_SSH"); }
  FarMachine(const FarMachine&) = delete;
  FarMachine& operator=(const FarMachine&) = delete;

  static std::string path(const std::filesystem::path& here) { return "ssh://here" + here.string(); }
};

}  // namespace locus::test
