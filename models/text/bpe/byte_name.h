// "<0x0A>": how vocabularies with byte fallback name the token of one byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace locus::text {

std::string byte_name(std::uint8_t byte);
// The byte so named; none for any other text.
std::optional<std::uint8_t> byte_of_name(std::string_view name);

}  // namespace locus::text
