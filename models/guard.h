// The one place where exceptions of LibTorch and the standard library become Errors.
#pragma once

#include <ATen/ATen.h>

#include <exception>
#include <new>
#include <string>

#include "core/base/result.h"

namespace locus::models {

// kTooLarge for memory that could not be had, otherwise kInternal with the first line of the message.
Error error_of(const std::exception& exception);

// work()'s Result, or what it threw as an Error.
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return error_of(exception);
  }
}

}  // namespace locus::models
