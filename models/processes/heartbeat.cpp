#include "models/processes/heartbeat.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace locus::models::processes {

namespace {

constexpr const char* kGoodbye = "goodbye";

std::string beat_key(std::int64_t rank) {
  return "beat/" + std::to_string(rank);
}

std::string host_key(std::int64_t rank) {
  return "host/" + std::to_string(rank);
}

}  // namespace

Heartbeat::Heartbeat(BeatStore store, Options options) : store_(std::move(store)), options_(std::move(options)) {
  const Clock::time_point now = Clock::now();
  reached_ = now;
  for (std::int64_t rank = 0; rank < options_.size; ++rank) {
    if (rank != options_.rank && (options_.rank == 0 || rank == 0)) {
      others_.push_back({rank, {}, now, false});
    }
  }
  store_.set(host_key(options_.rank), options_.host);
  thread_ = std::thread([this] { watch(); });
}

Heartbeat::~Heartbeat() {
  stops_ = true;
  thread_.join();
  try {
    store_.set(beat_key(options_.rank), kGoodbye);
  } catch (const std::exception&) {
    return;  // the store is gone: no process is left to inform
  }
}

std::string Heartbeat::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void Heartbeat::lose(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) {
      return;
    }
    reason_ = reason;
  }
  source_.request_stop();
}

void Heartbeat::watch() {
  while (!stops_ && !source_.stop_requested()) {
    try {
      beat();
      reached_ = Clock::now();
    } catch (const std::exception&) {
      // The store runs on rank 0, or on the process that started the job.
      if (suspects_ || Clock::now() - reached_ > options_.suspect) {
        lose("rank 0 ended: its store cannot be reached");
      }
    }
    for (auto waited = std::chrono::milliseconds(0); waited < options_.pause && !stops_;
         waited += std::chrono::milliseconds(20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

void Heartbeat::beat() {
  store_.set(beat_key(options_.rank), std::to_string(++count_));
  if (const std::string lost = store_.get("lost"); !lost.empty()) {
    lose(lost);
    return;
  }
  suspects_ = suspects_ || !store_.get("suspect").empty();
  bool all = true;
  for (Other& other : others_) {
    look_at(other);
    all = all && other.gone;
  }
  all_gone_ = all;
}

void Heartbeat::look_at(Other& other) {
  const std::string beat = store_.get(beat_key(other.rank));
  const Clock::time_point now = Clock::now();
  other.gone = beat == kGoodbye;
  if (beat != other.beat) {
    other.beat = beat;
    other.heard = now;
  }
  const auto limit = suspects_ ? options_.suspect : options_.limit;
  if (!other.gone && now - other.heard > limit) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - other.heard).count();
    const std::string host = store_.get(host_key(other.rank));
    const std::string reason = "rank " + std::to_string(other.rank) + (host.empty() ? "" : " on " + host) +
                               " ended or was not heard of for " + std::to_string(seconds) + " s";
    if (options_.rank == 0) {
      store_.set("lost", reason);
    }
    lose(reason);
  }
}

void Heartbeat::suspect(const std::string& why) {
  suspects_ = true;
  try {
    store_.set("suspect", why);
  } catch (const std::exception&) {
    lose("rank 0 ended: its store cannot be reached");
  }
  const Clock::time_point start = Clock::now();
  // Rank 0 checks the others after `suspect`; a rank that watches only rank 0 learns of them two beats later.
  const auto most = options_.suspect + 6 * options_.pause;
  while (!source_.stop_requested() && Clock::now() - start < most) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  lose("another process of the job ended: " + why);
}

void Heartbeat::fail(const std::string& why) {
  const std::string reason = "rank " + std::to_string(options_.rank) + " on " + options_.host + ": " + why;
  try {
    if (!source_.stop_requested()) {
      store_.set("lost", reason);
    }
  } catch (const std::exception&) {
    return;  // no process is left to inform
  }
  lose(reason);
}

void Heartbeat::wait_for_others(std::chrono::milliseconds most) {
  const Clock::time_point start = Clock::now();
  while (!all_gone_ && !source_.stop_requested() && Clock::now() - start < most) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace locus::models::processes
