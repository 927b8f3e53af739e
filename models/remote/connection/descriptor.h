// An open file of this process, closed with its owner, and pipes of two of them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace locus::remote {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  void close() {
    if (number_ >= 0) {
      ::close(std::exchange(number_, -1));
    }
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// A pipe that programs started from here do not inherit. Errors: kTooLarge where too many files are open.
inline Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return too_large(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace locus::remote
