#include "tests/support/hub_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/sha256.h"

namespace locus::test {

namespace {

int listen_at(int& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool listens = ::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                       ::listen(listener, 16) == 0 &&
                       ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  port = listens ? ntohs(address.sin_port) : 0;
  return listener;
}

bool send_all(int line, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(line, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) {
      return false;
    }
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

// The lines of a request up to the empty one.
std::string receive_head(int line) {
  std::string head;
  char byte = 0;
  while (head.find("\r\n\r\n") == std::string::npos && ::recv(line, &byte, 1, 0) == 1) {
    head += byte;
  }
  return head;
}

// The value of a header; empty: none.
std::string value_in(const std::string& head, const std::string& name) {
  const std::size_t start = head.find("\r\n" + name + ": ");
  if (start == std::string::npos) {
    return {};
  }
  const std::size_t first = start + name.size() + 4;
  return head.substr(first, head.find("\r\n", first) - first);
}

std::string name_of_blob(const ServedFile& file) {
  // A small file's name on the hub is its SHA-1 in git: any 40 digits here.
  return !file.etag.empty() ? file.etag : file.large ? sha256(file.content) : sha256(file.content).substr(0, 40);
}

std::string status_line(int status) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nConnection: close\r\n";
}

}  // namespace

HubServer::HubServer(std::string model) : model_(std::move(model)) {
  listeners_[0] = listen_at(ports_[0]);
  listeners_[1] = listen_at(ports_[1]);
  acceptor_ = std::thread([this] { accept_all(); });
}

HubServer::~HubServer() {
  ends_ = true;
  acceptor_.join();
  for (std::thread& line : lines_) {
    line.join();
  }
  ::close(listeners_[0]);
  ::close(listeners_[1]);
}

std::vector<HubServer::Seen> HubServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::vector<HubServer::Seen> HubServer::bodies(const std::string& file) const {
  std::vector<Seen> found;
  for (const Seen& one : seen()) {
    if (one.method == "GET" && one.path.ends_with("/" + file)) {
      found.push_back(one);
    }
  }
  return found;
}

void HubServer::accept_all() {
  while (!ends_) {
    pollfd waits[2] = {{listeners_[0], POLLIN, 0}, {listeners_[1], POLLIN, 0}};
    if (::poll(waits, 2, 20) <= 0) {
      continue;
    }
    for (const bool second : {false, true}) {
      if ((waits[second ? 1 : 0].revents & POLLIN) != 0) {
        const int line = ::accept4(listeners_[second ? 1 : 0], nullptr, nullptr, SOCK_CLOEXEC);
        lines_.emplace_back([this, line, second] {
          answer(line, second);
          ::shutdown(line, SHUT_WR);
          ::close(line);
        });
      }
    }
  }
}

std::string HubServer::own_listing() const {
  std::string siblings;
  for (const auto& [name, file] : files) {
    siblings += (siblings.empty() ? R"({"rfilename": ")" : R"(, {"rfilename": ")") + name + "\"}";
  }
  return R"({"id": ")" + model_ + R"(", "sha": ")" + commit_ + R"(", "siblings": [)" + siblings + "]}";
}

void HubServer::answer(int line, bool second) {
  const std::string head = receive_head(line);
  const std::size_t space = head.find(' ');
  if (space == std::string::npos) {
    return;
  }
  Seen one{second, head.substr(0, space), head.substr(space + 1, head.find(' ', space + 1) - space - 1),
           value_in(head, "Authorization"), value_in(head, "Range")};
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(one);
  }
  if (!second && !wanted_token.empty() && one.authorization != "Bearer " + wanted_token) {
    send_all(line, status_line(401) + "X-Error-Code: RepoNotFound\r\nContent-Length: 0\r\n\r\n");
    return;
  }
  while (silent && !ends_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::string api = "/api/models/" + model_ + "/revision/";
  const std::string resolve = "/" + model_ + "/resolve/" + commit_ + "/";
  if (one.path == api + "main" || one.path == api + "v1%2Fb" || one.path == api + commit_) {
    answer_listing(line);
  } else if (one.path.starts_with(resolve) && files.count(one.path.substr(resolve.size())) > 0) {
    answer_file(line, one, one.path.substr(resolve.size()));
  } else if (second && files.count(one.path.substr(1)) > 0) {
    answer_file(line, one, one.path.substr(1));
  } else {
    send_all(line, status_line(404) + "X-Error-Code: EntryNotFound\r\nContent-Length: 0\r\n\r\n");
  }
}

void HubServer::answer_listing(int line) {
  const std::string text = listing.empty() ? own_listing() : listing;
  ServedFile file = small_file(text);
  file.bytes_per_second = listing_bytes_per_second;
  send_body(line, file, status_line(200) + "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n", text);
}

void HubServer::answer_file(int line, const Seen& seen, const std::string& name) {
  ServedFile& file = files.at(name);
  bool fails = false;
  {
    const std::lock_guard lock(mutex_);
    fails = seen.method == "GET" && file.failures > 0;
    file.failures -= fails ? 1 : 0;
  }
  const std::string size = file.size.empty() ? std::to_string(file.content.size()) : file.size;
  const std::string etag = name_of_blob(file);
  std::string head = "X-Repo-Commit: " + (file.commit.empty() ? commit_ : file.commit) + "\r\n";
  if (fails) {
    send_all(line, status_line(file.status) + "Content-Length: 0\r\n\r\n");
  } else if (!seen.second && (file.large || !file.location.empty())) {
    const std::string to = file.location.empty() ? second() + "/" + name : file.location;
    head += "X-Linked-Etag: \"" + etag + "\"\r\nX-Linked-Size: " + size + "\r\nLocation: " + to + "\r\n";
    send_all(line, status_line(302) + head + "Content-Length: 0\r\n\r\n");
  } else if (seen.method == "HEAD") {
    send_all(line, status_line(200) + head + "ETag: W/\"" + etag + "\"\r\nContent-Length: " + size + "\r\n\r\n");
  } else if (!seen.range.empty() && file.refuses_range) {
    send_all(line, status_line(416) + "Content-Length: 0\r\n\r\n");
  } else {
    const std::string whole = (file.body.empty() ? file.content : file.body) + file.extra;
    std::size_t from = 0;
    if (!seen.range.empty() && !file.ignores_range) {
      from = std::min(whole.size(), static_cast<std::size_t>(std::stoull(seen.range.substr(6))));
      head += "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(whole.size() - 1) + "/" +
              std::to_string(whole.size()) + "\r\n";
    }
    const std::string body = whole.substr(from);
    if (file.length != "none") {
      head += "Content-Length: " + (file.length.empty() ? std::to_string(body.size()) : file.length) + "\r\n";
    }
    const bool part = !seen.range.empty() && !file.ignores_range;
    send_body(line, file, status_line(part ? 206 : 200) + head + "\r\n", body);
  }
}

void HubServer::send_body(int line, ServedFile& file, const std::string& head, const std::string& body) {
  std::size_t end = body.size();
  {
    const std::lock_guard lock(mutex_);
    if (file.cut_after >= 0 && file.cuts > 0) {
      --file.cuts;
      end = std::min(end, static_cast<std::size_t>(file.cut_after));
    }
  }
  const std::size_t step =
      file.bytes_per_second > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(file.bytes_per_second) / 50) : end;
  bool open = send_all(line, head);
  for (std::size_t at = 0; open && at < end && !ends_; at += step) {
    open = send_all(line, body.substr(at, std::min(step, end - at)));
    if (file.bytes_per_second > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

}  // namespace locus::test
