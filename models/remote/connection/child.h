// A program that was started here, with pipes in place of its standard streams.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/remote/connection/descriptor.h"

namespace locus::remote {

class Child {
 public:
  // `words` are the program, found in PATH, and its arguments; no shell reads them. Errors: kBadInput where it cannot
  // be started, kTooLarge where too many files are open.
  static Result<Child> start(const std::vector<std::string>& words);

  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        input_(std::move(other.input_)),
        output_(std::move(other.output_)),
        errors_(std::move(other.errors_)) {}
  Child& operator=(Child&&) = delete;
  // Ends it: its standard input ends, and where that does not end it, a signal does.
  ~Child();

  int input() const { return input_.get(); }    // what is written there it reads
  int output() const { return output_.get(); }  // what it writes
  int errors() const { return errors_.get(); }  // what it says of itself
  pid_t pid() const { return pid_; }

 private:
  Child(Descriptor input, Descriptor output, Descriptor errors)
      : input_(std::move(input)), output_(std::move(output)), errors_(std::move(errors)) {}

  pid_t pid_ = -1;
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
};

}  // namespace locus::remote
