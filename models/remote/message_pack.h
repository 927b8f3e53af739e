// MessagePack from the other end of a connection as a tree: nothing in it is believed before it is checked.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::remote {

constexpr std::size_t kMaxDepth = 32;          // lists and objects in each other
constexpr std::size_t kMaxValues = 1'000'000;  // values and names of a message; numbers of tiles travel as bytes

// One value that fills `bytes`. Memory is taken for what was read, never for what a header promises. Errors: kBadInput
// with `peer` as context for bytes that are no MessagePack or go on after the value, text that is not UTF-8, names that
// are no text or come twice, extension types, and more than the limits above.
Result<nlohmann::json> parse_message_pack(std::string_view bytes, const std::string& peer);

}  // namespace locus::remote
