// Progress of long work and the request to stop it. Work reports through its Progress and polls its StopToken between
// blocks; both may be empty.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

namespace locus {

using StopToken = std::stop_token;

// One report: `fraction` in [0, 1] (negative when unknown), `what` for a person ("layer 3 of 12").
struct ProgressReport {
  double fraction = -1;
  std::string what;
};

using Progress = std::function<void(const ProgressReport&)>;

inline void report(const Progress& progress, double fraction, std::string what) {
  if (progress) {
    progress({fraction, std::move(what)});
  }
}

}  // namespace locus
