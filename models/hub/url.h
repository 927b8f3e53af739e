// Addresses of the web, taken apart and put together by libcurl's rules, which are those of its requests.
#pragma once

#include <string>
#include <string_view>

namespace locus::hub {

// "https://host:443" in lower case: what a token is kept to. Empty for what is no http or https address.
std::string origin_of(const std::string& url);

// Where `location`, which may be relative, leads from `base`; empty for what is no address.
std::string resolved(const std::string& base, const std::string& location);

// One segment of a path: everything but letters, digits and "-._~" as %XX, '/' too.
std::string escaped(std::string_view segment);

// For messages: scheme, host and path, without a user's name and without a query, which may hold signatures.
std::string shown_url(const std::string& url);

}  // namespace locus::hub
