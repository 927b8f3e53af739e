#include "models/hub/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <utility>

#include "core/base/shown.h"
#include "core/base/version.h"
#include "models/hub/url.h"

namespace locus::hub {

namespace {

constexpr int kRedirections = 10;
constexpr std::size_t kHeaders = 200;
constexpr std::size_t kHeaderBytes = std::size_t{16} << 10;

using Clock = std::chrono::steady_clock;

// libcurl's TLS may write to a connection that the other side has closed: blocks SIGPIPE in this thread.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) {
      while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

// The system's certificates, where it keeps them in another place than that for which libcurl was built; null where
// libcurl's own place has them, or none does.
const char* other_certificates() {
  const curl_version_info_data* const info = curl_version_info(CURLVERSION_NOW);
  const auto readable = [](const char* path) { return access(path, R_OK) == 0; };
  if (info->cainfo == nullptr || readable(info->cainfo)) {
    return nullptr;
  }
  constexpr std::array<const char*, 3> kPlaces{"/etc/ssl/certs/ca-certificates.crt",  // Debian, Arch
                                               "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora
                                               "/etc/ssl/ca-bundle.pem"};             // openSUSE
  const auto found = std::find_if(kPlaces.begin(), kPlaces.end(), readable);
  return found != kPlaces.end() ? *found : nullptr;
}

// One answer while it arrives.
struct Incoming {
  Response response;
  const Body* body = nullptr;
  const StopToken* stop = nullptr;
  const ConnectionOptions* options = nullptr;
  bool begun = false;
  Status error;
  Clock::time_point marked = Clock::now();  // time when so much of the body had been received
  std::int64_t received = 0;
  bool told = false;  // the transfer is slow
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kSpace);
  return start == std::string_view::npos ? std::string_view()
                                         : text.substr(start, text.find_last_not_of(kSpace) - start + 1);
}

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& incoming = *static_cast<Incoming*>(user);
  const std::string_view line(bytes, size * count);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    incoming.response.headers.clear();  // "100 Continue" came before it
  } else if (colon != std::string_view::npos) {
    std::string name(trimmed(line.substr(0, colon)));
    for (char& letter : name) {
      letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    if (incoming.response.headers.size() == kHeaders || line.size() > kHeaderBytes) {
      incoming.error = bad_input("expected at most 200 headers of 16 kB, found more", shown_url(incoming.response.url));
      return 0;
    }
    incoming.response.headers[name] = std::string(trimmed(line.substr(colon + 1)));
  }
  return line.size();
}

std::size_t take_bytes(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& [incoming, handle] = *static_cast<std::pair<Incoming*, CURL*>*>(user);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &incoming->response.status);
  if (!incoming->response.good()) {
    return size * count;
  }
  if (!std::exchange(incoming->begun, true) && incoming->body->begin) {
    incoming->error = incoming->body->begin(incoming->response);
  }
  if (incoming->error.ok() && incoming->body->bytes) {
    incoming->error = incoming->body->bytes({bytes, size * count});
  }
  return incoming->error.ok() ? size * count : 0;
}

// Reports a slow transfer once, and ends the transfer when the stop is requested.
int watch(void* user, curl_off_t, curl_off_t received, curl_off_t, curl_off_t) {
  auto& incoming = *static_cast<Incoming*>(user);
  const auto now = Clock::now();
  const std::chrono::duration<double> since = now - incoming.marked;
  if (since >= std::chrono::milliseconds(incoming.options->told_ms)) {
    const bool slow = static_cast<double>(received - incoming.received) < since.count() * kSlowest;
    if (slow && !std::exchange(incoming.told, true) && incoming.options->waiting) {
      incoming.options->waiting("waiting for " + origin_of(incoming.response.url));
    }
    incoming.marked = now;
    incoming.received = received;
  }
  return incoming.stop->stop_requested() ? 1 : 0;
}

bool is_hopeless(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
         code == CURLE_SSL_CACERT_BADFILE || code == CURLE_TOO_MANY_REDIRECTS;
}

// Requests with their own headers.
class HeaderList {
 public:
  ~HeaderList() { curl_slist_free_all(list_); }
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

bool is_redirection(const Response& response) {
  return response.broken.empty() && response.status >= 300 && response.status < 400 &&
         !response.header("location").empty();
}

}  // namespace

std::string Response::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

Connection::Connection(ConnectionOptions options) : options_(std::move(options)) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  handle_ = ready == CURLE_OK ? curl_easy_init() : nullptr;
}

Connection::~Connection() {
  curl_easy_cleanup(static_cast<CURL*>(handle_));
}

Result<Response> Connection::send_once(const std::string& url, const Request& request, const Body& body,
                                       const StopToken& stop) {
  CURL* const handle = static_cast<CURL*>(handle_);
  if (handle == nullptr) {
    return internal("libcurl cannot be started");
  }
  Incoming incoming;
  incoming.response.url = url;
  incoming.body = &body;
  incoming.stop = &stop;
  incoming.options = &options_;
  std::pair<Incoming*, CURL*> taker{&incoming, handle};
  HeaderList headers;
  headers.add("Accept-Encoding: identity");  // sizes and ranges refer to the file
  if (!options_.token.empty() && origin_of(url) == options_.origin) {
    headers.add("Authorization: Bearer " + options_.token);
  }
  std::array<char, CURL_ERROR_SIZE> why{};
  const std::string agent = "locus/" + std::string(program_version());
  const std::string range = std::to_string(request.from) + "-";
  curl_easy_reset(handle);  // resets options only: connections stay open
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  if (const char* const certificates = other_certificates()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, certificates);
  }
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, agent.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, why.data());
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, options_.connect_s);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(kSlowest));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, options_.stall_s);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, watch);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &incoming);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &incoming);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &taker);
  curl_easy_setopt(handle, CURLOPT_NOBODY, request.head ? 1L : 0L);
  if (request.from > 0) {
    curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());
  }
  CURLcode code = CURLE_OK;
  {
    const NoPipeSignal quiet;
    code = curl_easy_perform(handle);
  }
  if (stop.stop_requested()) {
    return cancelled();
  }
  LOCUS_CHECK(incoming.error);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &incoming.response.status);
  if (code != CURLE_OK) {
    const std::string text(why.data());
    incoming.response.broken = shown(text.empty() ? curl_easy_strerror(code) : text, 200);
    incoming.response.hopeless = is_hopeless(code);
  } else if (incoming.response.good() && !incoming.begun && body.begin) {  // an empty body
    LOCUS_CHECK(body.begin(incoming.response));
  }
  return std::move(incoming.response);
}

Result<Response> Connection::send(const Request& request, const Body& body, const StopToken& stop) {
  std::string url = request.url;
  std::map<std::string, std::string> earlier;
  for (int n = 0; n <= kRedirections; ++n) {
    if (origin_of(url).empty()) {
      return bad_input("expected an http or https address, found " + shown_url(url));
    }
    LOCUS_TRY(Response response, send_once(url, request, body, stop));
    const std::string next = is_redirection(response) ? resolved(url, response.header("location")) : std::string();
    const bool leaves = !next.empty() && origin_of(next) != origin_of(url);
    if (next.empty() || (request.head && leaves)) {
      response.headers.merge(earlier);
      return response;
    }
    if (origin_of(url).starts_with("https:") && !origin_of(next).starts_with("https:")) {
      return bad_input("expected a redirection to https, found one to " + shown_url(next), shown_url(url));
    }
    response.headers.erase("location");
    response.headers.erase("content-length");
    response.headers.merge(earlier);
    earlier = std::move(response.headers);
    url = next;
  }
  return bad_input("expected at most 10 redirections, found more", shown_url(request.url));
}

Result<Response> fetch_text(Connection& connection, const std::string& url, std::size_t limit, std::string& text,
                            const StopToken& stop) {
  text.clear();
  const auto take = [&](std::string_view bytes) -> Status {
    if (bytes.size() > limit - text.size()) {
      return too_large("expected at most " + std::to_string(limit) + " bytes, found more", shown_url(url));
    }
    text += bytes;
    return {};
  };
  return connection.send({url}, {nullptr, take}, stop);
}

}  // namespace locus::hub
