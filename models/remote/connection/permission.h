// Which machines the program may reach. A file may name any: a session or a recipe of a stranger starts no ssh by being
// opened. Until allow_only_machines_of() is called, all may be reached.
#pragma once

#include <string>

namespace locus::remote {

// `peer`: Address::peer(). Safe to use from any thread.
bool may_reach(const std::string& peer);

}  // namespace locus::remote
