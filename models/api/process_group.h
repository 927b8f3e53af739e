// ProcessGroup: several processes of one job, on one machine or many, as torchrun and srun start them: by the
// environment variables MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE. No ATen type appears here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::models {

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  // Requested when another process ends or is not heard of for 20 seconds; reason() then says which.
  virtual StopToken lost() const = 0;
  virtual std::string reason() const = 0;

  // Every process calls these in the same order. Errors: kInternal with reason() where another process ended.
  // Rank 0 gets the numbers of every rank in `all`, in the order of ranks; the others nothing. As many of each rank.
  virtual Status gather(std::span<const double> numbers, std::vector<std::vector<double>>& all) = 0;
  // Every process gets the numbers of rank 0.
  virtual Status broadcast(std::span<double> numbers) = 0;
  virtual Status broadcast(std::span<float> numbers) = 0;
  // The sum over all processes, to the same bits on all of them.
  virtual Status add_up(std::span<float> numbers) = 0;
  virtual Status add_up(std::span<double> numbers) = 0;

  // This process cannot go on: the others stop with this reason.
  virtual void fail(const std::string& why) = 0;
};

// The group that the environment names: null where WORLD_SIZE is not set or 1. Waits until all processes are there, at
// most 5 minutes. Errors: kUsage for variables that are missing or no numbers; kUnsupported where the build has no
// Gloo; kBadInput when the others cannot be reached.
Result<std::shared_ptr<ProcessGroup>> open_process_group();

// "rank 1 of 4 on node7"; "1 process" of null.
std::string describe(const ProcessGroup* group);

// Name of this machine; empty where it has none.
std::string host_name();

}  // namespace locus::models
