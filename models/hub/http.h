// Requests over HTTP and HTTPS, one after the other, on connections that are kept between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/hub/settings.h"

namespace locus::hub {

struct Request {
  std::string url;
  bool head = false;      // the answer without its body
  std::int64_t from = 0;  // the first byte wanted: "Range: bytes=FROM-" where it is not 0
};

// What a server answered. Names of headers are in lower case; those of redirections on the way are there too, unless a
// later answer has them itself.
struct Response {
  long status = 0;
  std::map<std::string, std::string> headers;
  std::string url;        // that answered
  std::string broken;     // why the line broke before the whole answer was there; empty: it is there
  bool hopeless = false;  // broken in a way that another try does not mend: a certificate, an unknown protocol

  std::string header(const std::string& name) const;  // empty: none
  bool good() const { return broken.empty() && status >= 200 && status < 300; }
};

// Who takes the body of an answer of status 2xx; other bodies are dropped. An error of either ends the request with it.
struct Body {
  std::function<Status(const Response&)> begin;  // before the first byte
  std::function<Status(std::string_view)> bytes;
};

struct ConnectionOptions {
  std::string origin;   // that alone gets the token (origin_of())
  std::string token;    // of "Authorization: Bearer"; empty: none
  long connect_s = 19;  // until a line stands
  long stall_s = 19;    // with less than kSlowest bytes a second, after which the line counts as broken
  int told_ms = 5000;   // with as little, after which `waiting` is called, once a request
  std::function<void(const std::string& what)> waiting = {};
};

class Connection {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Follows up to ten redirections, and those of a head request on the same origin alone: what leads elsewhere is its
  // answer. Errors: kCancelled within a second of the stop; kBadInput for an address that is no http or https one, and
  // for a redirection from https to http; those of `body`.
  Result<Response> send(const Request& request, const Body& body, const StopToken& stop);

 private:
  Result<Response> send_once(const std::string& url, const Request& request, const Body& body, const StopToken& stop);

  ConnectionOptions options_;
  void* handle_ = nullptr;  // CURL*
};

// The whole body as text. Errors: as send(); kTooLarge for more than `limit` bytes.
Result<Response> fetch_text(Connection& connection, const std::string& url, std::size_t limit, std::string& text,
                            const StopToken& stop);

}  // namespace locus::hub
