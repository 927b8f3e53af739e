// The one place where exceptions of LibTorch and the standard library become Errors.
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "core/base/mapping_guard.h"
#include "core/base/result.h"

namespace locus {

// kTooLarge for a failed allocation, otherwise kInternal with the first line of the message.
Error error_of(const std::exception& exception);

// work()'s Result, or what it threw as an Error; an error too where a mapped file shrank under it (kBadInput).
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    decltype(work()) result = work();
    if (std::optional<Error> lost = lost_file(); lost && result.ok()) {
      return *std::move(lost);
    }
    return result;
  } catch (const std::exception& exception) {
    return error_of(exception);
  }
}

}  // namespace locus
