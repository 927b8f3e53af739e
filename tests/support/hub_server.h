// HubServer: a hub of the tests' own on the loopback interface, with one model, a second server to which large files
// are redirected as the hub does, and faults.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace locus::test {

// How one file is served. Faults of bodies are those of GET alone.
struct ServedFile {
  std::string content;
  bool large = false;                 // named by its SHA-256, and redirected to the second server
  std::string etag;                   // instead of its own
  std::string size;                   // instead of its own, as the hub says it
  std::string length;                 // Content-Length of the body instead of its own; "none": no such header
  std::string extra;                  // bytes behind the content
  std::string body;                   // instead of the content, of the same length
  std::string location;               // where it is redirected to
  std::string commit;                 // X-Repo-Commit instead of the model's
  std::int64_t cut_after = -1;        // bytes of an answer after which the line closes
  int cuts = 1 << 20;                 // how many answers are cut
  std::int64_t bytes_per_second = 0;  // 0: as fast as it goes
  bool ignores_range = false;
  bool refuses_range = false;  // 416
  int status = 0;              // of that many answers
  int failures = 0;
};

// Small files are in the model's own git, large ones beside it.
inline ServedFile small_file(const std::string& content) {
  ServedFile file;
  file.content = content;
  return file;
}
inline ServedFile large_file(const std::string& content) {
  ServedFile file = small_file(content);
  file.large = true;
  return file;
}

class HubServer {
 public:
  // What came in.
  struct Seen {
    bool second = false;  // at the second server
    std::string method;
    std::string path;
    std::string authorization;
    std::string range;
  };

  explicit HubServer(std::string model = "some-one/tiny");
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  // Before the first request of it, or while nobody asks.
  std::map<std::string, ServedFile> files;
  std::string listing;  // instead of its own
  std::int64_t listing_bytes_per_second = 0;
  bool silent = false;       // nothing is answered
  std::string wanted_token;  // without it: 401

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(ports_[0]); }
  std::string second() const { return "http://127.0.0.1:" + std::to_string(ports_[1]); }
  const std::string& commit() const { return commit_; }
  std::vector<Seen> seen() const;
  // Requests for the body of a file.
  std::vector<Seen> bodies(const std::string& file) const;

 private:
  void accept_all();
  void answer(int line, bool second);
  void answer_listing(int line);
  void answer_file(int line, const Seen& seen, const std::string& name);
  void send_body(int line, ServedFile& file, const std::string& head, const std::string& body);
  std::string own_listing() const;

  std::string model_;
  std::string commit_ = std::string(40, '7');
  int listeners_[2] = {-1, -1};
  int ports_[2] = {0, 0};
  mutable std::mutex mutex_;  // of files' counters and of seen_
  std::vector<Seen> seen_;
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> lines_;
  std::thread acceptor_;
};

}  // namespace locus::test
