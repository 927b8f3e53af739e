#include "core/lazy/torch_on_demand.h"

// Defined in load_torch.cpp; null in programs that are linked with LibTorch as usual.
extern "C" {
[[gnu::weak]] bool locus_torch_is_loaded();
[[gnu::weak]] int locus_torch_threads();
[[gnu::weak]] void locus_when_torch_is_loaded(void (*call)());
}

namespace locus {

bool torch_is_loaded() {
  return locus_torch_is_loaded == nullptr || locus_torch_is_loaded();
}

int torch_threads() {
  return locus_torch_threads == nullptr ? 0 : locus_torch_threads();
}

void when_torch_is_loaded(void (*call)()) {
  if (locus_when_torch_is_loaded != nullptr) {
    locus_when_torch_is_loaded(call);
  } else {
    call();
  }
}

}  // namespace locus
