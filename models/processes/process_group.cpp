// models/api/process_group.h with LibTorch's c10d: processes meet in a TCPStore and exchange tensors by Gloo.
#include "models/api/process_group.h"
#include "models/api/local.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/processes/heartbeat.h"
#include "models/processes/job.h"

#if defined(LOCUS_GLOO)
// After ATen, which the precompiled header has.
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

namespace locus::models {

namespace {

using processes::Job;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

#if defined(LOCUS_GLOO)

constexpr std::chrono::minutes kMeeting{5};
constexpr std::chrono::hours kLongestWork{24 * 365};  // the heartbeat decides who is alive, not a timeout
constexpr std::chrono::seconds kGoodbyes{20};
constexpr std::chrono::milliseconds kLastWords{1500};

using Work = decltype(std::declval<c10d::ProcessGroupGloo&>().barrier());
using StorePointer = c10::intrusive_ptr<c10d::Store>;

// A connection to the job's store; rank 0 keeps the store unless torchrun does.
StorePointer connect(const Job& job, bool keeps) {
  c10d::TCPStoreOptions options;
  options.port = job.port;
  options.isServer = keeps;
  options.waitWorkers = false;
  options.timeout = kMeeting;
  [](auto& newer) {
    if constexpr (requires { newer.useLibUV; }) {
      newer.useLibUV = false;  // Debian builds LibTorch 2 without it, and its default is true
    }
  }(options);
  const StorePointer store = c10::make_intrusive<c10d::TCPStore>(job.address, options);
  return c10::make_intrusive<c10d::PrefixStore>("locus/" + job.attempt, store);
}

processes::BeatStore beats_of(const StorePointer& store) {
  return {[store](const std::string& key, const std::string& value) {
            store->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
          },
          [store](const std::string& key) -> std::string {
            if (!store->check({key})) {
              return {};
            }
            const std::vector<std::uint8_t> value = store->get(key);
            return {value.begin(), value.end()};
          }};
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.rfind("127.", 0) == 0;
}

std::shared_ptr<::gloo::transport::Device> device_of(const Job& job) {
  using c10d::ProcessGroupGloo;
  if (const std::string name = variable("GLOO_SOCKET_IFNAME"); !name.empty()) {
    return ProcessGroupGloo::createDeviceForInterface(name);
  }
  return is_loopback(job.address) ? ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                  : ProcessGroupGloo::createDefaultDevice();
}

class GlooGroup : public ProcessGroup {
 public:
  explicit GlooGroup(const Job& job) : job_(job), store_(connect(job, job.rank == 0 && !job.has_store)) {
    const auto options = c10d::ProcessGroupGloo::Options::create(kLongestWork);
    options->devices = {device_of(job)};
    options->threads = 2;
    gloo_ =
        c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", store_),
                                                    static_cast<int>(job.rank), static_cast<int>(job.size), options);
    heartbeat_ = std::make_unique<processes::Heartbeat>(
        beats_of(connect(job, false)),
        processes::Heartbeat::Options{.rank = job.rank, .size = job.size, .host = host_name()});
  }

  ~GlooGroup() override {
    if (failed_ || lost().stop_requested()) {
      if (job_.rank == 0) {
        std::this_thread::sleep_for(kLastWords);  // the others read the reason before the store is gone
      }
      // Its threads may wait for lost processes, and its destructor for them: left to the end of the process.
      static_cast<void>(gloo_.release());
      static_cast<void>(store_.release());
      static_cast<void>(heartbeat_.release());
      return;
    }
    if (job_.rank == 0) {
      heartbeat_->wait_for_others(kGoodbyes);
    }
    heartbeat_.reset();
  }

  std::int64_t rank() const override { return job_.rank; }
  std::int64_t size() const override { return job_.size; }
  StopToken lost() const override { return heartbeat_->lost(); }
  std::string reason() const override { return heartbeat_->reason(); }

  Status gather(std::span<const double> numbers, std::vector<std::vector<double>>& all) override {
    std::vector<at::Tensor> input{tensor_of(const_cast<double*>(numbers.data()), numbers.size())};
    std::vector<std::vector<at::Tensor>> outputs;
    if (job_.rank == 0) {
      all.resize(static_cast<std::size_t>(job_.size));
      outputs.emplace_back();
      for (std::vector<double>& each : all) {
        each.resize(numbers.size());
        outputs.front().push_back(tensor_of(each.data(), each.size()));
      }
    }
    return work([&] { return gloo_->gather(outputs, input, c10d::GatherOptions()); });
  }

  Status broadcast(std::span<double> numbers) override { return spread(numbers); }
  Status broadcast(std::span<float> numbers) override { return spread(numbers); }

  Status add_up(std::span<float> numbers) override { return reduce(numbers); }
  Status add_up(std::span<double> numbers) override { return reduce(numbers); }
  void fail(const std::string& why) override { heartbeat_->fail(why); }

 private:
  template <class Number>
  static at::Tensor tensor_of(Number* numbers, std::size_t count) {
    return at::from_blob(numbers, {static_cast<std::int64_t>(count)}, c10::CppTypeToScalarType<Number>::value);
  }

  template <class Number>
  Status spread(std::span<Number> numbers) {
    std::vector<at::Tensor> tensors{tensor_of(numbers.data(), numbers.size())};
    return work([&] { return gloo_->broadcast(tensors); });
  }

  template <class Number>
  Status reduce(std::span<Number> numbers) {
    std::vector<at::Tensor> tensors{tensor_of(numbers.data(), numbers.size())};
    return work([&] { return gloo_->allreduce(tensors); });
  }

  Error lost_error() {
    failed_ = true;
    return internal("stopped: " + reason());
  }

  // Waits until the others have done their part, or one of them is lost.
  template <class Begin>
  Status work(const Begin& begin) {
    try {
      const Work begun = begin();
      while (!begun->isCompleted()) {
        if (lost().stop_requested()) {
          static_cast<void>(Work(begun).release());  // it may still write
          return lost_error();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      begun->wait();
      return {};
    } catch (const std::exception& exception) {
      heartbeat_->suspect(error_of(exception).message);
      return lost_error();
    }
  }

  Job job_;
  StorePointer store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::unique_ptr<processes::Heartbeat> heartbeat_;
  bool failed_ = false;
};

Result<std::shared_ptr<ProcessGroup>> open_group(const Job& job) {
  try {
    return std::shared_ptr<ProcessGroup>(std::make_shared<GlooGroup>(job));
  } catch (const std::exception& exception) {
    return bad_input("rank " + std::to_string(job.rank) + " cannot meet the other processes at " + job.address + ":" +
                     std::to_string(job.port) + ": " + error_of(exception).message);
  }
}

#else

Result<std::shared_ptr<ProcessGroup>> open_group(const Job& job) {
  return unsupported("WORLD_SIZE is " + std::to_string(job.size) +
                     ", and this build has no Gloo to join several processes; build it with libgloo-dev");
}

#endif

}  // namespace

Result<std::shared_ptr<ProcessGroup>> local::open_process_group() {
  LOCUS_TRY(const std::optional<Job> job, processes::read_job(variable));
  return job ? open_group(*job) : std::shared_ptr<ProcessGroup>();
}

}  // namespace locus::models
