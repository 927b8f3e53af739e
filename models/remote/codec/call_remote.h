// Where a function of the facade is asked of a model or a trace of another machine.
//
//   Result<Field> head_difference(const Trace& first, const Trace& second, …) {
//     if (auto answer = remote::call_remote<&head_difference>(first, second, …)) {
//       return *std::move(answer);
//     }
//     …  // both are here
//
// The function is one of calls.h's lists; the server calls the same one.
#pragma once

#include <optional>
#include <type_traits>

#include "core/base/result.h"

namespace locus::remote {

template <auto Function>
struct Call;

template <class R, class... A, R (*Function)(A...)>
struct Call<Function> {
  // The answer of the other computer, where one of the arguments is a model, trace or path there; none where all are
  // here. Errors: the function's own; kUnsupported for arguments of two machines; that of a lost line.
  static std::optional<R> run(const std::remove_cvref_t<A>&... arguments);
};
template <class R, class C, class... A, R (C::*Function)(A...) const>
struct Call<Function> {
  static std::optional<R> run(const C& object, const std::remove_cvref_t<A>&... arguments);
};

template <auto Function, class... A>
auto call_remote(const A&... arguments) {
  return Call<Function>::run(arguments...);
}

}  // namespace locus::remote
