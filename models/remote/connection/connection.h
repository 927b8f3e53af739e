// Connection: the line to a server on another machine (`locus serve --stdio`), from this end. Calls travel with ids, so
// that several are under way at once; what comes back for one that nobody waits for any more is dropped. Two threads
// read and write, so that nobody else ever waits for the line but who asks for an answer.
//
// Everything that arrives is checked as messages are (models/remote/frames.h); an end that breaks the protocol is cut
// off. Safe to use from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/machine.h"
#include "models/remote/address.h"
#include "models/remote/connection/child.h"
#include "models/remote/frames.h"

namespace locus::remote {

// Wishes of a caller beside the answer.
struct Wants {
  StopToken stop = {};
  Progress progress = {};
  std::function<void(const nlohmann::json&)> news = {};  // called while ask() waits
  std::function<void()> pause = {};                      // called now and then while it waits
  std::size_t most_bytes = kMaxMessageBytes;             // of the answer's long blocks; more is a broken protocol
};

struct Answer {
  nlohmann::json body;
  std::string parts;  // the long blocks, one after the other
};

class Connection final : public models::Machine {
 public:
  // A line to that machine: one that is well, or else a new one, once the other end has greeted. What starts the
  // server is `command_for` of the environment's LOCUS_SSH. Errors: kBadInput where the program cannot be started or
  // the line ends, with what it said of that, for a machine that may not be reached (models/api/machine.h), and for one
  // that says nothing for a minute; kUnsupported for another protocol; kUsage for LOCUS_SSH; kCancelled.
  static Result<std::shared_ptr<Connection>> to(const Address& address, const StopToken& stop);
  // The words that start a server at that address. Without `ssh` (LOCUS_SSH, null or empty) `ssh -T -a -x -o
  // ClearAllForwardings=yes -o ServerAliveInterval=15 [-p PORT] [USER@]HOST locus serve --stdio`; otherwise its words,
  // in which %h is [USER@]HOST, %p the port (22 where none is given), %c `locus serve --stdio` and %% a %; where %c is
  // not in them these three words follow. Errors: kUsage.
  static Result<std::vector<std::string>> command_for(const Address& address, const char* ssh);

  Connection(std::string name, Child child, Pipe wake);  // for to()
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::string name() const override { return name_; }
  double latency_ms() const override;
  std::optional<Error> lost() const override;

  // Asks and waits. When the stop is requested it returns at once, and the other end is told. Errors: those of the
  // call; lost()'s; kCancelled; kTooLarge for a body that no message holds; kUnsupported on a thread that never waits
  // (models/api/machine.h).
  Result<Answer> ask(const std::string& name, nlohmann::json body, const Wants& wants = {});
  // Asks for something whose answer nobody needs.
  void tell(const std::string& name, nlohmann::json body);

  // Answers that are asked for again, by name and arguments; the last few.
  std::optional<nlohmann::json> kept(const std::string& key);
  void keep(std::string key, nlohmann::json body);

  // The number under which the other end keeps a file of this machine; `key` says which and of when. The last few are
  // kept there.
  std::optional<std::int64_t> sent_file(const std::string& key);
  void keep_file(const std::string& key, std::int64_t number);

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    const Wants* wants = nullptr;
    std::optional<ProgressReport> progress;
    std::optional<nlohmann::json> news;
    Answer answer;
    std::optional<Error> error;
    bool done = false;
  };
  Status wait_for_greeting(const StopToken& stop);
  void read_loop(const StopToken& closing);
  void write_loop(const StopToken& closing);
  Result<std::size_t> read_some(char* bytes, std::size_t size);
  // With mutex_ held:
  Status take(Message message);
  Status take_answer(Message& message);
  void send(std::string frame);
  void ping();
  // The error that ended the connection; every waiting call gets it.
  void lose(Error error);
  // Notes that something travelled, and looks whether nothing has for too long while an answer is due.
  void hear();
  void look();

  const std::string name_;
  Child child_;
  Pipe wake_;  // written to where the line is to be closed
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable_any to_write_;
  std::deque<std::string> outgoing_;
  std::map<std::int64_t, Pending*> pending_;
  std::int64_t next_id_ = 1;
  bool greeted_ = false;
  std::optional<Error> lost_;
  std::deque<std::pair<std::string, std::int64_t>> files_;  // the last used in front
  std::map<std::string, nlohmann::json> kept_;
  std::string said_;  // the last of what the program wrote to its standard error
  std::int64_t ping_id_ = 0;
  Clock::time_point pinged_;
  double latency_ms_ = 0;
  Clock::time_point heard_ = Clock::now();  // when bytes came or went
  bool told_ = false;                       // of the present silence
  std::jthread writer_;
  std::jthread reader_;  // last: started when everything above exists
};

}  // namespace locus::remote
