// The client's end of a call: whose it is, and what it wants beside the answer.
#include <algorithm>
#include <array>

#include "models/remote/codec/call.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

void ArgumentLocator::add(std::shared_ptr<const models::Machine> machine) {
  if (machine == nullptr) {
    here_ = true;
  } else if (std::find(there_.begin(), there_.end(), machine) == there_.end()) {
    there_.push_back(std::move(machine));
  }
}

Result<std::shared_ptr<Connection>> ArgumentLocator::line() const {
  if (there_.size() > 1 || (here_ && !there_.empty())) {
    const std::string other = there_.size() > 1 ? there_[1]->name() : "this one";
    return unsupported("expected runs of one machine and one connection, found " + there_[0]->name() + " and " + other +
                       "; what one machine has another cannot compute with");
  }
  if (!there_.empty()) {
    return std::const_pointer_cast<Connection>(std::dynamic_pointer_cast<const Connection>(there_.front()));
  }
  std::optional<Address> address;
  for (const std::filesystem::path& path : paths_) {
    if (here_ || !is_remote(path.native())) {
      return std::shared_ptr<Connection>();
    }
    LOCUS_TRY(Address own, parse_address(path.native()));
    if (address && address->peer() != own.peer()) {
      return unsupported("expected files of one machine, found " + address->peer() + " and " + own.peer());
    }
    address = std::move(own);
  }
  return address ? Connection::to(*address, stop_) : std::shared_ptr<Connection>();
}

Error of_peer(const Error& error, const Connection& line) {
  const bool named = error.context.starts_with(line.name()) || error.code == ErrorCode::kCancelled;
  return named ? error : error.within(line.name());
}

void want(Wants& wants, const RemoteObjects& /*objects*/, const StopToken& stop) {
  wants.stop = stop;
}

void want(Wants& wants, const RemoteObjects& /*objects*/, const Progress& progress) {
  wants.progress = progress;
}

void want(Wants& wants, const RemoteObjects& objects, const models::RunOptions& options) {
  wants.pause = options.pause;
  if (options.early) {
    wants.news = [own = objects, early = options.early](const json& tree) mutable {
      std::shared_ptr<const models::Trace> trace;
      Reader reader(own, {}, kMaxMessageBytes, "early");
      read(reader, tree, trace);
      if (reader.ok()) {
        early(std::move(trace));
      }
    };
  }
}

const std::vector<Entry>& all_calls() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> entries;
    for (const auto list :
         {trace_calls, model_calls, file_calls, analysis_calls, edit_calls, pair_calls, kernel_calls}) {
      const std::vector<Entry> more = list();
      entries.insert(entries.end(), more.begin(), more.end());
    }
    return entries;
  }();
  return all;
}

const Entry* find_call(std::string_view name) {
  const std::vector<Entry>& all = all_calls();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace locus::remote

namespace locus::models {

Result<std::shared_ptr<const Machine>> line_to(const std::filesystem::path& path, const StopToken& stop,
                                               const Progress& progress) {
  if (!remote::is_remote(path.native())) {
    return std::shared_ptr<const Machine>();
  }
  LOCUS_TRY(const remote::Address address, remote::parse_address(path.native()));
  report(progress, -1, "connecting to " + address.peer());
  LOCUS_TRY(std::shared_ptr<const Machine> line, remote::Connection::to(address, stop));
  return line;
}

}  // namespace locus::models
