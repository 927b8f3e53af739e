// Result<T>: a value, or the Error that says why there is none. Every function that can fail across a floor returns
// one; exceptions of LibTorch and OpenCV are turned into Errors once, on the models floor.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace locus {

// The kind of an error, which is also the exit status of the command line (assets/manual/command-line.md).
enum class ErrorCode {
  kInternal = 1,     // our own bug
  kUsage = 2,        // the command line or the call was malformed
  kBadInput = 3,     // a file, checkpoint, text or image that cannot be used as it is
  kUnsupported = 4,  // understood, but not something this build can do
  kTooLarge = 5,     // needs more memory or time than allowed
  kCancelled = 6,    // the user asked to stop; exit status 130, or what was kept says (app/cli/console.h)
};

// One line for a person: `context` is where (a file, "FILE: tensor NAME"), `message` is what, with expected and found.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string context;

  // "context: message", or the message alone when there is no context.
  std::string describe() const { return context.empty() ? message : context + ": " + message; }

  // The same error seen from further out: `outer` is put before the context.
  Error within(const std::string& outer) const {
    return {code, message, context.empty() ? outer : outer + ": " + context};
  }
};

inline Error bad_input(std::string message, std::string context = {}) {
  return {ErrorCode::kBadInput, std::move(message), std::move(context)};
}
inline Error unsupported(std::string message, std::string context = {}) {
  return {ErrorCode::kUnsupported, std::move(message), std::move(context)};
}
inline Error too_large(std::string message, std::string context = {}) {
  return {ErrorCode::kTooLarge, std::move(message), std::move(context)};
}
inline Error usage(std::string message) {
  return {ErrorCode::kUsage, std::move(message), {}};
}
inline Error internal(std::string message) {
  return {ErrorCode::kInternal, std::move(message), {}};
}
inline Error cancelled() {
  return {ErrorCode::kCancelled, "cancelled", {}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition: ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

// The result, or its error seen from further out: see Error::within().
template <class T>
Result<T> within(Result<T> result, const std::string& outer) {
  return result.ok() ? std::move(result) : Result<T>(result.error().within(outer));
}

}  // namespace locus

#define LOCUS_JOIN_(a, b) a##b
#define LOCUS_JOIN(a, b) LOCUS_JOIN_(a, b)

// LOCUS_TRY(auto x, f()): x = the value of f(), or return f()'s error from the enclosing function.
#define LOCUS_TRY(declaration, expression)           \
  auto LOCUS_JOIN(result_, __LINE__) = (expression); \
  if (!LOCUS_JOIN(result_, __LINE__).ok()) {         \
    return LOCUS_JOIN(result_, __LINE__).error();    \
  }                                                  \
  declaration = *std::move(LOCUS_JOIN(result_, __LINE__))  // NOLINT(bugprone-macro-parentheses): it may declare

// LOCUS_CHECK(f()): return f()'s error from the enclosing function if it failed.
#define LOCUS_CHECK(expression)                                                                 \
  if (auto LOCUS_JOIN(status_, __LINE__) = (expression); !LOCUS_JOIN(status_, __LINE__).ok()) { \
    return LOCUS_JOIN(status_, __LINE__).error();                                               \
  }
