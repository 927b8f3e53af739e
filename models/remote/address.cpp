#include "models/remote/address.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/base/shown.h"

namespace locus::remote {

namespace {

constexpr std::string_view kScheme = "ssh://";
constexpr std::string_view kForm = "ssh://[user@]host[:port]/path";
constexpr int kMaxPort = 65535;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

// For a host in brackets `more` are ':' and the '%' of a zone.
bool is_name(std::string_view name, std::string_view more = {}) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_name_character(c) || more.find(c) != std::string_view::npos;
  });
}

Error wrong_part(const char* what, std::string_view found, std::string_view path) {
  return bad_input(std::string("expected ") + what + ", found \"" + shown(found) + "\"", shown(path));
}

// "host", "host:22", "[::1]:22".
Status read_host(std::string_view text, std::string_view path, Address& address) {
  std::string_view port;
  const bool in_brackets = text.starts_with('[');
  const std::size_t end = in_brackets ? text.find(']') : text.find(':');
  if (in_brackets && end == std::string_view::npos) {
    return wrong_part("a ']' after the address of a host", text, path);
  }
  const std::size_t colon = in_brackets ? end + 1 : end;
  if (colon < text.size()) {
    port = text.substr(colon);
    const char* const last = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, last, address.port);
    if (port.front() != ':' || read.ec != std::errc() || read.ptr != last || address.port < 1 ||
        address.port > kMaxPort) {
      return wrong_part("a port of 1 to 65535 after the host", port, path);
    }
  }
  const std::string_view host = in_brackets ? text.substr(1, end - 1) : text.substr(0, colon);
  if (!is_name(host, in_brackets ? ":%" : "")) {
    return wrong_part("the name of a host", host, path);
  }
  address.host = host;
  return {};
}

}  // namespace

std::string Address::peer() const {
  std::string name = user.empty() ? "" : user + "@";
  name += host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == 0 ? name : name + ":" + std::to_string(port);
}

bool is_remote(std::string_view path) {
  return path.starts_with(kScheme);
}

Result<Address> parse_address(std::string_view path) {
  const std::size_t slash = is_remote(path) ? path.find('/', kScheme.size()) : std::string_view::npos;
  if (slash == std::string_view::npos) {
    return bad_input("expected " + std::string(kForm), shown(path));
  }
  Address address;
  std::string_view place = path.substr(kScheme.size(), slash - kScheme.size());
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    if (!is_name(place.substr(0, at))) {
      return wrong_part("the name of a user before '@'", place.substr(0, at), path);
    }
    address.user = place.substr(0, at);
    place.remove_prefix(at + 1);
  }
  LOCUS_CHECK(read_host(place, path, address));
  std::string_view there = path.substr(slash);
  if (there.starts_with("//")) {
    there.remove_prefix(2);
  } else if (there.starts_with("/~/") || there == "/~") {
    there.remove_prefix(1);
  }
  if (there.empty() || there == "/" || !is_utf8(there)) {
    return wrong_part("a path in UTF-8 after the host", there, path);
  }
  address.path = there;
  return address;
}

Result<std::vector<std::string>> split_words(std::string_view text, const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    const bool more = n + 1 < text.size();
    if (c == '\\' && quote == 0 && !more) {
      return usage(name + ": expected a character after the last \\");
    }
    if (c == '\\' && (quote == 0 || (quote == '"' && more && (text[n + 1] == '"' || text[n + 1] == '\\')))) {
      word += text[++n];
      in_word = true;
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (in_word) {
        words.push_back(std::move(word));
      }
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    return usage(name + ": expected a closing " + quote);
  }
  if (in_word) {
    words.push_back(std::move(word));
  }
  if (words.empty()) {
    return usage(name + ": expected a command, found none");
  }
  return words;
}

}  // namespace locus::remote
