// A real ssh: a server of the tests' own on the loopback address, with keys of its own. Skipped where there is none.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/base/atomic_file.h"
#include "models/api/machine.h"
#include "models/api/model.h"
#include "models/remote/connection/child.h"
#include "tests/support/far.h"
#include "tests/support/run_locus.h"
#include "tests/support/waits.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSshd = "/usr/sbin/sshd";

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One that nobody listens on.
int free_port() {
  const remote::Descriptor end(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  const bool found = ::bind(end.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(end.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return found ? ntohs(address.sin_port) : 0;
}

bool listens(int port) {
  const remote::Descriptor end(::socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = loopback(port);
  return ::connect(end.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

class FarSsh : public testing::Test {
 protected:
  FarSsh() : folder_(fs::path(testing::TempDir()) / "far_ssh"), port_(free_port()) { fs::create_directories(folder_); }
  ~FarSsh() override {
    sshd_.reset();
    fs::remove_all(folder_);
  }

  // Whether one could be started.
  bool start() {
    const std::string keygen = "ssh-keygen -q -t ed25519 -N '' -f ";
    if (!fs::exists(kSshd) || std::system((keygen + quoted("host")).c_str()) != 0 ||
        std::system((keygen + quoted("user")).c_str()) != 0) {
      return false;
    }
    fs::copy_file(folder_ / "user.pub", folder_ / "authorized");
    const std::string config = "Port " + std::to_string(port_) + "\nListenAddress 127.0.0.1\nHostKey " +
                               (folder_ / "host").string() + "\nAuthorizedKeysFile " +
                               (folder_ / "authorized").string() +
                               "\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n";
    EXPECT_TRUE(write_file(folder_ / "sshd_config", config).ok());
    std::error_code ignored;
    fs::create_directory("/run/sshd", ignored);  // where it parts with privileges; an ordinary user needs none
    auto sshd = remote::Child::start({kSshd, "-D", "-e", "-f", folder_ / "sshd_config"});
    if (!sshd.ok()) {
      return false;
    }
    sshd_.emplace(*std::move(sshd));
    for (int n = 0; n < 200; ++n) {
      if (listens(port_)) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
  }
  std::string quoted(const char* name) const { return "'" + (folder_ / name).string() + "'"; }
  std::string command(const std::string& known_hosts) const {
    return "ssh -T -F none -p %p -i " + quoted("user") + " -o IdentitiesOnly=yes -o BatchMode=yes " + known_hosts +
           " %h 'PATH=%s:/usr/bin:/bin' %c";
  }
  std::string path(const std::string& here) const { return "ssh://127.0.0.1:" + std::to_string(port_) + here; }

  fs::path folder_;
  int port_;
  std::optional<remote::Child> sshd_;
};

TEST_F(FarSsh, RunsThereAndEndsWithTheConnection) {
  if (!start()) {
    GTEST_SKIP() << "no ssh server can be started here";
  }
  const std::string checkpoint = test::source_dir() + "/assets/checkpoints/text-rope";
  models::Input input;
  input.text = "The ship left the harbour.";
  {
    const test::FarMachine machine(
        command("-o StrictHostKeyChecking=no -o UserKnownHostsFile=" + (folder_ / "known").string()));
    const auto model = models::open(path(checkpoint));
    ASSERT_TRUE(model.ok()) << model.error().describe();
    const auto far_run = (*model)->run(input);
    ASSERT_TRUE(far_run.ok()) << far_run.error().describe();
    const auto here = models::open(checkpoint);
    const auto run = (*here)->run(input);
    const auto map = (*run)->map({0, 0, Quantity::kWeight, {}, {}});
    const auto far_map = (*far_run)->map({0, 0, Quantity::kWeight, {}, {}});
    ASSERT_TRUE(map.ok() && far_map.ok());
    EXPECT_EQ(map->values, far_map->values);
    EXPECT_GT(models::machine_of(**model)->latency_ms(), 0);
    // The machine is gone.
    ::kill(sshd_->pid(), SIGTERM);
    sshd_.reset();
    const auto again = models::open(path(checkpoint));  // by the connection that is there
    EXPECT_TRUE(again.ok());
  }
  const test::FarMachine none(command("-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"));
  const auto gone = models::open(path(checkpoint));
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kBadInput);
  EXPECT_NE(gone.error().describe().find("refused"), std::string::npos) << gone.error().describe();  // ssh's own words
}

TEST_F(FarSsh, AHostThatIsNotKnownIsSshsToRefuse) {
  if (!start()) {
    GTEST_SKIP() << "no ssh server can be started here";
  }
  const test::FarMachine machine(
      command("-o StrictHostKeyChecking=yes -o UserKnownHostsFile=" + (folder_ / "nobody").string()));
  const auto model = models::open(path(test::source_dir() + "/assets/checkpoints/text-rope"));
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().describe().find("Host key verification failed"), std::string::npos)
      << model.error().describe();
}

}  // namespace
}  // namespace locus
