#include "models/remote/connection/permission.h"

#include <mutex>
#include <set>

#include "models/api/machine.h"
#include "models/remote/address.h"

namespace locus::remote {

namespace {

struct Permissions {
  std::mutex mutex;
  bool all = true;
  std::set<std::string> peers;
};

Permissions& permissions() {
  static Permissions own;
  return own;
}

// Empty for what is no path of another computer.
std::string peer_of(const std::filesystem::path& path) {
  const auto address = is_remote(path.native()) ? parse_address(path.native()) : Result<Address>(Address());
  return address.ok() && !address->host.empty() ? address->peer() : std::string();
}

}  // namespace

bool may_reach(const std::string& peer) {
  Permissions& own = permissions();
  const std::lock_guard lock(own.mutex);
  return own.all || own.peers.contains(peer);
}

}  // namespace locus::remote

namespace locus::models {

void allow_only_machines_of(const std::vector<std::filesystem::path>& paths) {
  {
    remote::Permissions& own = remote::permissions();
    const std::lock_guard lock(own.mutex);
    own.all = false;
    own.peers.clear();
  }
  for (const std::filesystem::path& path : paths) {
    allow_machine_of(path);
  }
}

void allow_machine_of(const std::filesystem::path& path) {
  if (const std::string peer = remote::peer_of(path); !peer.empty()) {
    remote::Permissions& own = remote::permissions();
    const std::lock_guard lock(own.mutex);
    own.peers.insert(peer);
  }
}

void allow_all_machines() {
  remote::Permissions& own = remote::permissions();
  const std::lock_guard lock(own.mutex);
  own.all = true;
}

std::string unallowed_machine_of(const std::filesystem::path& path) {
  const std::string peer = remote::peer_of(path);
  return peer.empty() || remote::may_reach(peer) ? std::string() : peer;
}

}  // namespace locus::models
