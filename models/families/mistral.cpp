// Mistral: Llama with a window; query i sees keys i−w+1 … i.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

const Family kMistral = [] {
  Family family = llama("mistral");
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  // Written by other families under this name; transformers warns, and its class then masks depending on its cache.
  family.fixed_fields = {{"layer_types"}};
  return family;
}();

}  // namespace locus::families
