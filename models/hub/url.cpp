#include "models/hub/url.h"

#include <curl/curl.h>

#include <memory>

#include "core/base/shown.h"

namespace locus::hub {

namespace {

struct UrlCloser {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlParts = std::unique_ptr<CURLU, UrlCloser>;

UrlParts parse_url(const std::string& url) {
  UrlParts parts(curl_url());
  return parts && curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK ? std::move(parts) : nullptr;
}

std::string part_of(const UrlParts& parts, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (!parts || curl_url_get(parts.get(), which, &text, flags) != CURLUE_OK) {
    return {};
  }
  std::string copy(text);
  curl_free(text);
  return copy;
}

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return text;
}

}  // namespace

std::string origin_of(const std::string& url) {
  const UrlParts parts = parse_url(url);
  const std::string scheme = lower(part_of(parts, CURLUPART_SCHEME));
  const std::string host = lower(part_of(parts, CURLUPART_HOST));
  if ((scheme != "http" && scheme != "https") || host.empty()) {
    return {};
  }
  return scheme + "://" + host + ":" + part_of(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

std::string resolved(const std::string& base, const std::string& location) {
  const UrlParts parts = parse_url(base);
  if (!parts || curl_url_set(parts.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK) {
    return {};
  }
  return part_of(parts, CURLUPART_URL);
}

std::string escaped(std::string_view segment) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char symbol : segment) {
    if (kPlain.find(symbol) != std::string_view::npos) {
      text += symbol;
      continue;
    }
    const auto byte = static_cast<unsigned char>(symbol);
    text += '%';
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

std::string shown_url(const std::string& url) {
  const UrlParts parts = parse_url(url);
  if (!parts) {
    return "an address that cannot be read";
  }
  const std::string port = part_of(parts, CURLUPART_PORT);
  return shown(part_of(parts, CURLUPART_SCHEME) + "://" + part_of(parts, CURLUPART_HOST) +
                   (port.empty() ? "" : ":" + port) + part_of(parts, CURLUPART_PATH),
               200);
}

}  // namespace locus::hub
