// Job: the processes of a job, from environment variables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace locus::models::processes {

struct Job {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string address;  // of rank 0
  std::uint16_t port = 0;
  bool has_store = false;  // torchrun runs the store in which ranks meet
  std::string attempt;     // torchrun's count of restarts
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; empty where WORLD_SIZE is not set or 1. Errors: kUsage naming
// the variable that is missing or wrong.
using Variables = std::function<std::string(const char* name)>;
Result<std::optional<Job>> read_job(const Variables& variables);

}  // namespace locus::models::processes
