#include "models/remote/server/serve.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/guarded.h"
#include "core/base/shown.h"
#include "models/remote/codec/call.h"
#include "models/remote/frames.h"
#include "models/remote/server/server_objects.h"

namespace locus::remote {

namespace {

constexpr const char* kClient = "the client";
constexpr std::size_t kMaxWaiting = 10'000;               // calls that no honest client has under way
constexpr std::size_t kPartBytes = std::size_t{1} << 18;  // between which a cancelled answer ends
constexpr std::chrono::milliseconds kProgressInterval{50};
constexpr std::chrono::seconds kPatience{5};  // with a call whose client is gone

class Server {
 public:
  Server(int input, int output, const std::function<void()>& abandon)
      : input_(input), output_(output), abandon_(abandon) {}

  Status run() {
    send(greeting());
    std::thread reader([this] { read_loop(); });
    while (std::optional<Waiting> call = next(false)) {
      answer(*call);
    }
    {
      const std::lock_guard lock(mutex_);
      answered_ = true;
      changed_.notify_all();
    }
    reader.join();
    return ended_;
  }

 private:
  struct Waiting {
    Message call;
    const Entry* entry = nullptr;
    std::stop_source stop;
  };

  // ---- the line

  Result<std::size_t> read_some(char* bytes, std::size_t size) const {
    for (;;) {
      const ssize_t count = ::read(input_, bytes, size);
      if (count >= 0) {
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) {
        return bad_input(std::string("cannot read: ") + std::strerror(errno), kClient);
      }
    }
  }

  bool send(const Message& message) {
    const auto frame = frame_of(message);
    if (!frame.ok()) {
      return send(error_message(message.id, frame.error()));
    }
    const std::lock_guard lock(writing_);
    for (std::size_t done = 0; done < frame->size() && !gone_;) {
      const ssize_t count = ::write(output_, frame->data() + done, frame->size() - done);
      gone_ = count < 0 && errno != EINTR;
      done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return !gone_;
  }

  void read_loop() {
    const ReadBytes read = [this](char* bytes, std::size_t size) { return read_some(bytes, size); };
    bool greeted = false;
    for (;;) {
      auto message = guarded([&] { return read_message(read, kClient); });
      Status status = message.ok() ? Status() : Status(message.error());
      if (message.ok() && message->has_value()) {
        status = greeted ? take(**std::move(message)) : check_greeting(**message, kClient);
        greeted = true;
      } else if (message.ok()) {
        return end({});
      }
      if (!status.ok()) {
        return end(std::move(status));
      }
    }
  }

  // Nothing arrives any more: what is under way stops, or is abandoned.
  void end(Status status) {
    std::unique_lock lock(mutex_);
    closed_ = true;
    ended_ = std::move(status);
    for (auto& [id, stop] : stops_) {
      stop.request_stop();
    }
    changed_.notify_all();
    if (!changed_.wait_for(lock, kPatience, [this] { return answered_; }) && abandon_) {
      abandon_();
    }
  }

  Status take(Message message) {
    if (message.kind == MessageKind::kCancel) {
      const std::lock_guard lock(mutex_);
      if (const auto found = stops_.find(message.id); found != stops_.end()) {
        found->second.request_stop();
      } else {
        enqueue(std::move(message), nullptr);  // it has been answered: what it made is not wanted
      }
      return {};
    }
    if (message.kind != MessageKind::kCall) {
      return bad_input("expected a call, found a message that servers send", kClient);
    }
    if (message.name == "ping") {
      answer_with(message.id, json(), {}, {});
      return {};
    }
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMaxWaiting || stops_.count(message.id) != 0) {
      return bad_input("expected a new call, found one with the id of another, or too many", kClient);
    }
    const Entry* const entry = find_call(message.name);
    enqueue(std::move(message), entry);
    return {};
  }

  // With mutex_ held.
  void enqueue(Message message, const Entry* entry) {
    Waiting call{std::move(message), entry, {}};
    if (call.call.kind == MessageKind::kCall) {
      stops_[call.call.id] = call.stop;
    }
    waiting_.push_back(std::move(call));
    changed_.notify_all();
  }

  // ---- answering

  static bool is_quick(const Waiting& call) {
    return call.entry != nullptr ? call.entry->quick
                                 : call.call.kind == MessageKind::kCancel || call.call.name == "release";
  }

  // The next call, which is waited for; of quick ones none where none waits.
  std::optional<Waiting> next(bool quick) {
    std::unique_lock lock(mutex_);
    if (!quick) {
      changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    }
    const auto found = quick ? std::find_if(waiting_.begin(), waiting_.end(), is_quick) : waiting_.begin();
    if (closed_ || found == waiting_.end()) {
      return std::nullopt;
    }
    Waiting call = std::move(*found);
    waiting_.erase(found);
    return call;
  }

  void answer(const Waiting& waiting) {
    const std::int64_t id = waiting.call.id;
    if (waiting.call.kind == MessageKind::kCancel) {
      return known_.forget_call(id);
    }
    std::string parts;
    const StopToken stop = waiting.stop.get_token();
    const std::int64_t resting = known_.begin(id);
    const Result<json> result =
        stop.stop_requested() ? Result<json>(cancelled()) : guarded([&] { return outcome(waiting, parts); });
    {
      const std::lock_guard lock(mutex_);
      stops_.erase(id);
    }
    if (!result.ok() || stop.stop_requested()) {
      known_.forget_call(id);
    }
    known_.end(resting);
    answer_with(id, result, std::move(parts), stop);
  }

  void answer_with(std::int64_t id, const Result<json>& result, std::string parts, const StopToken& stop) {
    Message message;
    message.id = id;
    message.kind = MessageKind::kPart;
    for (std::size_t at = 0; result.ok() && at < parts.size() && !stop.stop_requested(); at += kPartBytes) {
      const auto* const first = reinterpret_cast<const std::uint8_t*>(parts.data()) + at;
      message.body = json::binary(std::vector<std::uint8_t>(first, first + std::min(kPartBytes, parts.size() - at)));
      send(message);
    }
    if (stop.stop_requested() || !result.ok()) {
      Error error = result.ok() ? cancelled() : result.error();
      error.message = known_.as_client_says(error.message);
      error.context = known_.as_client_says(error.context);
      send(error_message(id, error));
      return;
    }
    message.kind = MessageKind::kResult;
    message.body = *result;
    send(message);
  }

  Result<json> outcome(const Waiting& waiting, std::string& parts) {
    const Message& call = waiting.call;
    const StopToken stop = waiting.stop.get_token();
    auto told = std::chrono::steady_clock::time_point();
    const Progress progress = [this, &call, told](const ProgressReport& news) mutable {
      const auto now = std::chrono::steady_clock::now();
      if (now - told >= kProgressInterval) {
        told = now;
        tell(call.id, news);
      }
    };
    if (waiting.entry != nullptr) {
      const Served served{known_,
                          stop,
                          progress,
                          [this] { rest(); },
                          [this, &call](const std::shared_ptr<const models::Trace>& trace) { tell(call.id, trace); },
                          &parts};
      return waiting.entry->serve(call.body, served);
    }
    if (call.name == "release") {
      known_.release(call.body.is_number_integer() ? call.body.get<std::int64_t>() : 0);
      return json();
    }
    if (call.name == "file.put") {
      return known_.put_file(call.body);
    }
    if (call.name == "file.make") {
      return known_.make_file(call.body, stop, progress);
    }
    if (call.name == "file.read") {
      return known_.read_file(call.body, parts);
    }
    return unsupported("a call that this server does not know: " + shown(call.name));
  }

  // Answers tiles while a run rests.
  void rest() {
    while (const std::optional<Waiting> call = next(true)) {
      answer(*call);
    }
  }

  void tell(std::int64_t id, const ProgressReport& news) {
    Message message;
    message.kind = MessageKind::kProgress;
    message.id = id;
    message.fraction = news.fraction >= 0 ? std::min(news.fraction, 1.0) : -1;
    message.text = printable(known_.as_client_says(news.what));
    send(message);
  }

  void tell(std::int64_t id, const std::shared_ptr<const models::Trace>& trace) {
    Writer writer(known_);
    Message message;
    message.kind = MessageKind::kNews;
    message.id = id;
    message.body = written(writer, trace);
    if (frame_of(message).ok()) {
      send(message);
    }
  }

  const int input_;
  const int output_;
  const std::function<void()>& abandon_;
  ServerObjects known_;
  std::mutex writing_;
  std::atomic<bool> gone_ = false;  // the client reads no more
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::map<std::int64_t, std::stop_source> stops_;  // of calls that wait or run
  bool closed_ = false;
  bool answered_ = false;  // nothing is under way any more
  Status ended_;
};

}  // namespace

Status serve(int input, int output, const std::function<void()>& abandon) {
  sigset_t broken;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);  // a client that is gone is an error of write()
  ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
  return Server(input, output, abandon).run();
}

}  // namespace locus::remote
