// Web addresses, parsed and composed by libcurl, so that they match its requests.
#pragma once

#include <string>
#include <string_view>

namespace locus::hub {

// "https://host:443" in lower case, the scope of a token. Empty for anything but an http or https address.
std::string origin_of(const std::string& url);

// `location`, which may be relative to `base`, as an absolute address; empty for an invalid address.
std::string resolved(const std::string& base, const std::string& location);

// Escapes one segment of a path: everything but letters, digits and "-._~" becomes %XX, '/' too.
std::string escaped(std::string_view segment);

// An address for messages: scheme, host and path, without user name and without query, which may hold signatures.
std::string shown_url(const std::string& url);

}  // namespace locus::hub
