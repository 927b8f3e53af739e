// HTTP and HTTPS requests, one after the other, on connections that are kept open.
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

// A server's answer. Names of headers are in lower case; headers of redirections are included unless a later answer has
// them itself.
struct Response {
  long status = 0;
  std::map<std::string, std::string> headers;
  std::string url;        // address that answered
  std::string broken;     // reason why the transfer broke; empty: it is complete
  bool hopeless = false;  // another attempt cannot succeed: a certificate, an unknown protocol

  std::string header(const std::string& name) const;  // empty: none
  bool good() const { return broken.empty() && status >= 200 && status < 300; }
};

// Receives the body of an answer of status 2xx; other bodies are dropped. An error of either function ends the request
// with it.
struct Body {
  std::function<Status(const Response&)> begin;  // before the first byte
  std::function<Status(std::string_view)> bytes;
};

struct ConnectionOptions {
  std::string origin;   // the only origin that receives the token (origin_of())
  std::string token;    // of "Authorization: Bearer"; empty: none
  long connect_s = 19;  // to establish a connection
  long stall_s = 19;    // seconds with less than kSlowest bytes a second after which the connection counts as broken
  int told_ms = 5000;   // seconds of that kind after which `waiting` is called, once a request
  std::function<void(const std::string& what)> waiting = {};
};

class Connection {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Follows up to ten redirections; a head request follows those on the same origin only and returns one that leads
  // elsewhere. Errors: kCancelled within a second of the stop; kBadInput for an address other than http or https, and
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
