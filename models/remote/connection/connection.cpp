#include "models/remote/connection/connection.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/shown.h"
#include "models/remote/connection/permission.h"

namespace locus::remote {

namespace {

constexpr std::size_t kKeptFiles = 32;
constexpr std::size_t kKeptAnswers = 512;
constexpr std::size_t kKeptWords = 4000;  // bytes of what the program says of itself
constexpr std::chrono::milliseconds kPingInterval{1000};
constexpr std::chrono::milliseconds kIdlePing{2000};  // a line without messages is measured so often
constexpr std::chrono::milliseconds kPause{20};
constexpr std::chrono::milliseconds kPollTime{500};    // how often a silent line is looked at
constexpr std::chrono::milliseconds kBesideStop{100};  // a Ctrl-C ends ssh before it is seen here

thread_local bool never_waits = false;
thread_local StopToken stop_of_thread;

// The last line of a text that is not empty.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return shown(text.substr(text.rfind('\n') + 1), 200);
}

Message call_of(std::int64_t id, const std::string& name, nlohmann::json body) {
  Message call;
  call.kind = MessageKind::kCall;
  call.id = id;
  call.name = name;
  call.body = std::move(body);
  return call;
}

// Who is told of silent machines.
struct Listener {
  std::mutex mutex;
  std::function<void(const std::string&)> tell;
  models::SilenceLimits limits;
};

// "5 s".
std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string((time.count() + 999) / 1000) + " s";
}

Listener& listener() {
  static Listener own;
  return own;
}

// The lines that are there, by their command.
struct Lines {
  std::mutex mutex;
  std::map<std::vector<std::string>, std::weak_ptr<Connection>> lines;
};

Lines& lines() {
  static Lines all;
  return all;
}

}  // namespace

Result<std::shared_ptr<Connection>> Connection::to(const Address& address, const StopToken& stop) {
  if (!may_reach(address.peer())) {
    return bad_input(
        "expected a machine that you named or agreed to, found one that a file names: --allow-ssh allows it",
        address.peer());
  }
  LOCUS_TRY(const std::vector<std::string> command, command_for(address, std::getenv("LOCUS_SSH")));
  Lines& all = lines();
  std::vector<std::string> key = command;
  key.push_back(address.peer());
  {
    const std::lock_guard lock(all.mutex);
    if (const auto known = all.lines.find(key); known != all.lines.end()) {
      if (auto line = known->second.lock(); line && !line->lost()) {
        return line;
      }
    }
  }
  LOCUS_TRY(Child child, within(Child::start(command), address.peer()));
  LOCUS_TRY(Pipe wake, make_pipe());
  const auto line = std::make_shared<Connection>(address.peer(), std::move(child), std::move(wake));
  LOCUS_CHECK(line->wait_for_greeting(stop.stop_possible() ? stop : stop_of_thread));
  const std::lock_guard lock(all.mutex);
  all.lines[key] = line;
  return line;
}

Connection::Connection(std::string name, Child child, Pipe wake)
    : name_(std::move(name)), child_(std::move(child)), wake_(std::move(wake)) {
  outgoing_.push_back(*frame_of(greeting()));
  writer_ = std::jthread([this](const StopToken& closing) { write_loop(closing); });
  reader_ = std::jthread([this](const StopToken& closing) { read_loop(closing); });
}

Connection::~Connection() {
  reader_.request_stop();
  writer_.request_stop();
  wake_.write.close();  // both wait for that end too
}

double Connection::latency_ms() const {
  const std::lock_guard lock(mutex_);
  if (ping_id_ == 0 || lost_) {
    return latency_ms_;
  }
  // One that is late says more than the last that was in time.
  return std::max(latency_ms_, std::chrono::duration<double, std::milli>(Clock::now() - pinged_).count());
}

std::optional<Error> Connection::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

Status Connection::wait_for_greeting(const StopToken& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return greeted_ || lost_; })) {
    return cancelled();
  }
  return lost_ ? Status(*lost_) : Status();
}

void Connection::lose(Error error) {
  const std::lock_guard lock(mutex_);
  if (lost_) {
    return;
  }
  if (const std::string said = last_line(said_); !said.empty()) {
    error.message += " (" + said + ")";
  }
  lost_ = std::move(error);
  for (auto& [id, pending] : pending_) {
    if (!pending->done) {
      pending->error = lost_;
      pending->done = true;
    }
  }
  pending_.clear();
  changed_.notify_all();
}

void Connection::hear() {
  const std::lock_guard lock(mutex_);
  heard_ = Clock::now();
  told_ = false;
}

// A greeting is due, or the answer to a ping, which a server gives whatever it computes.
void Connection::look() {
  Listener& who = listener();
  const std::lock_guard listening(who.mutex);
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    const auto silent = Clock::now() - (greeted_ ? std::max(heard_, pinged_) : heard_);
    ends = silent >= who.limits.lost;
    if (lost_ || (greeted_ && ping_id_ == 0) || silent < who.limits.told || (!ends && std::exchange(told_, true))) {
      return;
    }
  }
  if (ends) {
    lose(bad_input("expected an answer within " + seconds_text(who.limits.lost) + ", found none", name_));
  } else if (who.tell) {
    who.tell("waiting for " + name_ + ", which has said nothing for " + seconds_text(who.limits.told));
  }
}

// ---- asking

void Connection::send(std::string frame) {
  outgoing_.push_back(std::move(frame));
  to_write_.notify_all();
}

void Connection::ping() {
  if (ping_id_ != 0 || (latency_ms_ > 0 && Clock::now() - pinged_ < kPingInterval)) {
    return;
  }
  ping_id_ = next_id_++;
  pinged_ = Clock::now();
  send(*frame_of(call_of(ping_id_, "ping", nullptr)));
}

void Connection::tell(const std::string& name, nlohmann::json body) {
  const std::lock_guard lock(mutex_);
  if (lost_) {
    return;
  }
  if (auto frame = frame_of(call_of(next_id_++, name, std::move(body))); frame.ok()) {
    send(*std::move(frame));
  }
}

Result<Answer> Connection::ask(const std::string& name, nlohmann::json body, const Wants& wants) {
  if (never_waits) {
    return unsupported("not known here yet, and this thread does not wait for it", name_);
  }
  const StopToken stop = wants.stop.stop_possible() ? wants.stop : stop_of_thread;
  Pending pending;
  pending.wants = &wants;
  std::unique_lock lock(mutex_);
  if (lost_) {
    return *lost_;
  }
  const Message call = call_of(next_id_++, name, std::move(body));
  LOCUS_TRY(std::string frame, frame_of(call));
  ping();
  pending_[call.id] = &pending;
  send(std::move(frame));
  while (!pending.done && !stop.stop_requested()) {
    const auto told = [&] { return pending.done || pending.progress || pending.news; };
    if (wants.pause) {
      changed_.wait_for(lock, stop, kPause, told);
    } else {
      changed_.wait(lock, stop, told);
    }
    const auto progress = std::exchange(pending.progress, std::nullopt);
    const auto news = std::exchange(pending.news, std::nullopt);
    lock.unlock();  // who is told may ask for more
    if (progress && wants.progress) {
      wants.progress(*progress);
    }
    if (news) {
      wants.news(*news);
    }
    if (wants.pause && !stop.stop_requested()) {
      wants.pause();
    }
    lock.lock();
  }
  if (pending.done && pending.error && lost_) {
    changed_.wait_for(lock, stop, kBesideStop, [] { return false; });
  }
  if (pending.done && !(pending.error && stop.stop_requested())) {
    return pending.error ? Result<Answer>(*pending.error) : Result<Answer>(std::move(pending.answer));
  }
  if (!lost_) {
    Message cancel;
    cancel.kind = MessageKind::kCancel;
    cancel.id = call.id;
    send(*frame_of(cancel));
  }
  pending_.erase(call.id);
  return cancelled();
}

std::optional<nlohmann::json> Connection::kept(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  return found == kept_.end() ? std::nullopt : std::optional(found->second);
}

void Connection::keep(std::string key, nlohmann::json body) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kKeptAnswers) {
    kept_.clear();
  }
  kept_[std::move(key)] = std::move(body);
}

std::optional<std::int64_t> Connection::sent_file(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto& each) { return each.first == key; });
  if (found == files_.end()) {
    return std::nullopt;
  }
  std::rotate(files_.begin(), found, found + 1);
  return files_.front().second;
}

void Connection::keep_file(const std::string& key, std::int64_t number) {
  std::optional<std::int64_t> dropped;
  {
    const std::lock_guard lock(mutex_);
    files_.emplace_front(key, number);
    if (files_.size() > kKeptFiles) {
      dropped = files_.back().second;
      files_.pop_back();
    }
  }
  if (dropped) {
    tell("release", *dropped);
  }
}

// ---- what arrives

Status Connection::take(Message message) {
  if (!greeted_) {
    LOCUS_CHECK(check_greeting(message, name_));
    greeted_ = true;
    ping();
    changed_.notify_all();
    return {};
  }
  if (message.kind == MessageKind::kGreeting || message.kind == MessageKind::kCall ||
      message.kind == MessageKind::kCancel) {
    return bad_input("expected an answer, found a message that clients send", name_);
  }
  if (message.id >= next_id_) {
    return bad_input("expected an answer to a call, found one to call " + std::to_string(message.id), name_);
  }
  return take_answer(message);
}

Status Connection::take_answer(Message& message) {
  const bool last = message.kind == MessageKind::kResult || message.kind == MessageKind::kError;
  if (message.id == ping_id_ && last) {
    latency_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - pinged_).count();
    ping_id_ = 0;
    return {};
  }
  const auto found = pending_.find(message.id);
  if (found == pending_.end()) {
    return {};  // nobody waits for it any more
  }
  Pending& pending = *found->second;
  if (message.kind == MessageKind::kProgress) {
    pending.progress = {message.fraction, printable(message.text)};
  } else if (message.kind == MessageKind::kNews && pending.wants->news) {
    pending.news = std::move(message.body);  // the newest alone
  } else if (message.kind == MessageKind::kPart) {
    const auto& bytes = message.body.get_binary();
    if (bytes.size() > pending.wants->most_bytes - pending.answer.parts.size()) {
      return bad_input(
          "expected an answer of at most " + std::to_string(pending.wants->most_bytes) + " bytes, found more", name_);
    }
    pending.answer.parts.append(bytes.begin(), bytes.end());
  } else if (message.kind == MessageKind::kError) {
    pending.error = Error{message.code, printable(message.text), printable(message.context)};
  } else if (message.kind == MessageKind::kResult) {
    pending.answer.body = std::move(message.body);
  }
  if (last) {
    pending.done = true;
    pending_.erase(found);
  }
  changed_.notify_all();
  return {};
}

Result<std::size_t> Connection::read_some(char* bytes, std::size_t size) {
  bool hears = true;
  for (;;) {
    std::array<pollfd, 3> ends{pollfd{wake_.read.get(), POLLIN, 0}, pollfd{child_.output(), POLLIN, 0},
                               pollfd{hears ? child_.errors() : -1, POLLIN, 0}};
    if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) {
      return internal(std::string("poll: ") + std::strerror(errno));
    }
    if (ends[0].revents != 0) {
      return std::size_t{0};
    }
    if (ends[2].revents != 0) {
      std::array<char, 1024> said{};
      const ssize_t count = ::read(child_.errors(), said.data(), said.size());
      hears = count > 0;
      if (count > 0) {
        const std::lock_guard lock(mutex_);
        said_.append(said.data(), static_cast<std::size_t>(count));
        said_.erase(0, said_.size() - std::min(said_.size(), kKeptWords));
      }
      continue;
    }
    if (ends[1].revents != 0) {
      const ssize_t count = ::read(child_.output(), bytes, size);
      if (count >= 0) {
        hear();
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) {
        return bad_input(std::string("cannot read: ") + std::strerror(errno), name_);
      }
    }
  }
}

void Connection::read_loop(const StopToken& closing) {
  const ReadBytes read = [this](char* bytes, std::size_t size) { return read_some(bytes, size); };
  while (!closing.stop_requested()) {
    auto next = guarded([&] { return read_message(read, name_); });
    Status taken = next.ok() ? Status() : Status(next.error());
    if (next.ok() && !next->has_value()) {
      taken = bad_input("the connection ended", name_);
    } else if (next.ok()) {
      const std::lock_guard lock(mutex_);
      taken = guarded([&] { return take(**std::move(next)); });
    }
    if (!taken.ok()) {
      const bool greeted = [this] {
        const std::lock_guard lock(mutex_);
        return greeted_;
      }();
      Error error = taken.error();
      if (!greeted && error.message.starts_with("expected a message")) {
        error.message += "; does a shell there print something when it starts?";
      }
      lose(std::move(error));
      return;
    }
  }
}

// ---- what leaves

void Connection::write_loop(const StopToken& closing) {
  sigset_t broken;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);  // an end that is gone is an error of write()
  ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
  ::fcntl(child_.input(), F_SETFL, O_NONBLOCK);
  while (!closing.stop_requested()) {
    std::string frame;
    {
      std::unique_lock lock(mutex_);
      Clock::time_point idle = Clock::now();
      while (!to_write_.wait_for(lock, closing, kPollTime, [this] { return !outgoing_.empty(); })) {
        if (closing.stop_requested()) {
          return;
        }
        if (greeted_ && !lost_ && Clock::now() - idle >= kIdlePing) {
          ping();  // keeps latency_ms() up to date while nothing is asked
          idle = Clock::now();
        }
        lock.unlock();
        look();
        lock.lock();
      }
      frame = std::move(outgoing_.front());
      outgoing_.pop_front();
    }
    for (std::size_t done = 0; done < frame.size();) {
      std::array<pollfd, 2> ends{pollfd{wake_.read.get(), POLLIN, 0}, pollfd{child_.input(), POLLOUT, 0}};
      const int ready = ::poll(ends.data(), ends.size(), static_cast<int>(kPollTime.count()));
      if (ready < 0 && errno != EINTR) {
        return;
      }
      if (ready == 0) {
        look();
        continue;
      }
      if (ends[0].revents != 0 || closing.stop_requested()) {
        return;
      }
      const ssize_t count = ::write(child_.input(), frame.data() + done, frame.size() - done);
      if (count < 0 && errno != EAGAIN && errno != EINTR) {
        return;  // what the other end says, or that it ends, is read
      }
      if (count > 0) {
        done += static_cast<std::size_t>(count);
        hear();
      }
    }
  }
}

}  // namespace locus::remote

namespace locus::models {

void never_wait_on_this_thread() {
  remote::never_waits = true;
}

void tell_of_silent_machines(std::function<void(const std::string&)> tell, const SilenceLimits& limits) {
  remote::Listener& who = remote::listener();
  const std::lock_guard lock(who.mutex);
  who.tell = std::move(tell);
  who.limits = limits;
}

StopsWaiting::StopsWaiting(StopToken stop) : before_(std::exchange(remote::stop_of_thread, std::move(stop))) {}

StopsWaiting::~StopsWaiting() {
  remote::stop_of_thread = std::move(before_);
}

}  // namespace locus::models
