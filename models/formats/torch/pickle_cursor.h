// PickleCursor: reads a pickle's bytes sequentially, never beyond their end.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::formats {

class PickleCursor {
 public:
  explicit PickleCursor(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }

  // The next `count` bytes. Errors, here and below: kBadInput when the file ends before.
  Result<std::string_view> take(std::uint64_t count) {
    if (count > text_.size() - at_) {
      return bad_input("expected " + std::to_string(count) + " more bytes, found " +
                       std::to_string(text_.size() - at_));
    }
    const std::string_view part = text_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }

  // A little-endian number.
  template <class T>
  Result<T> number() {
    LOCUS_TRY(const std::string_view part, take(sizeof(T)));
    T value;
    std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }

  // Up to the next line feed, which is passed.
  Result<std::string_view> line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) {
      return bad_input("expected a line, found the end of the file");
    }
    const std::string_view part = text_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }

  // Bytes preceded by their length as a T.
  template <class T>
  Result<std::string_view> counted() {
    LOCUS_TRY(const T count, number<T>());
    return take(count);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace locus::formats
