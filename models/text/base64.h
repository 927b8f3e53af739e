// Base64 with the standard alphabet (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace locus::text {

// The bytes; none when the text is not base64. Padding may be missing.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace locus::text
