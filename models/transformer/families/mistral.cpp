// Mistral: Llama with a window; query i sees keys i−w+1 … i.
#include "models/transformer/families/list.h"
#include "models/transformer/families/llama.h"
#include "models/transformer/families/slots.h"

namespace locus::families {

const Family kMistral = [] {
  Family family = llama("mistral");
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  return family;
}();

}  // namespace locus::families
