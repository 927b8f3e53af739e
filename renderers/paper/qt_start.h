// The start of Qt. Where it finds no display and no platform it ends the program with a signal and lines of its own:
// here that is one error, and an exit status.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"

namespace locus::paper {

// While it lives, an end of the program by Qt becomes kUnsupported, "`what`: why; `instead`", told to `fail`, whose
// result is the exit status. Qt's other messages are held back, and printed when it ends. One at a time; make the
// application object within.
class QtStart {
 public:
  using Fail = std::function<int(const Error&)>;
  QtStart(std::string what, std::string instead, Fail fail);
  ~QtStart();
  QtStart(const QtStart&) = delete;
  QtStart& operator=(const QtStart&) = delete;
};

}  // namespace locus::paper
