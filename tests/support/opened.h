// What tests of the facade open. They run twice: on models of this machine, and, with LOCUS_TEST_FAR in the environment
// (the ctests far.*), on models of another one: the program of this build, which LOCUS_SSH there starts.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "models/api/machine.h"
#include "models/api/model.h"

namespace locus::test {

inline bool is_far() {
  return std::getenv("LOCUS_TEST_FAR") != nullptr;
}

inline std::filesystem::path there(const std::filesystem::path& path) {
  return is_far() ? std::filesystem::path("ssh://here" + std::filesystem::absolute(path).string()) : path;
}

// One server for all tests of a process; errors without its name.
template <class Open>
auto opened_there(const std::filesystem::path& path, const Open& open) {
  static const auto line = models::line_to(there(path));
  auto answer = open(there(path));
  if (is_far() && !answer.ok()) {
    Error error = answer.error();
    error.context = error.context == "here"               ? ""
                    : error.context.starts_with("here: ") ? error.context.substr(6)
                                                          : error.context;
    return decltype(answer)(std::move(error));
  }
  return answer;
}

inline auto open(const std::filesystem::path& path, const models::OpenOptions& options = {}, const StopToken& stop = {},
                 const Progress& progress = {}) {
  return opened_there(path, [&](const auto& where) { return models::open(where, options, stop, progress); });
}

inline auto open_trace(const std::filesystem::path& path) {
  return opened_there(path, [](const auto& where) { return models::open_trace(where); });
}

}  // namespace locus::test
