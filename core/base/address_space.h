// The addresses that a process may use, where they are limited (`ulimit -v`, strict overcommit). OpenBLAS asks for its
// memory again for ever where it gets none: what it will need is looked for before.
#pragma once

#include <cstddef>

namespace locus {

bool address_space_is_limited();

// Whether so many bytes can be mapped now.
bool could_map(std::size_t bytes);

}  // namespace locus
