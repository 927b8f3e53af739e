#include "models/processes/job.h"

#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::models::processes {

namespace {

Result<std::int64_t> whole(const Variables& variables, const char* name, std::int64_t least, std::int64_t most) {
  const std::string text = variables(name);
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < least || *number > most) {
    return usage("environment variable " + std::string(name) + ": expected a whole number of " + std::to_string(least) +
                 " to " + std::to_string(most) + ", found " + (text.empty() ? "none" : shown(text)));
  }
  return *number;
}

constexpr std::int64_t kMaxProcesses = 65536;

}  // namespace

Result<std::optional<Job>> read_job(const Variables& variables) {
  if (variables("WORLD_SIZE").empty()) {
    return std::optional<Job>();
  }
  Job job;
  LOCUS_TRY(job.size, whole(variables, "WORLD_SIZE", 1, kMaxProcesses));
  if (job.size == 1) {
    return std::optional<Job>();
  }
  LOCUS_TRY(job.rank, whole(variables, "RANK", 0, job.size - 1));
  LOCUS_TRY(const std::int64_t port, whole(variables, "MASTER_PORT", 1, 65535));
  job.port = static_cast<std::uint16_t>(port);
  job.address = variables("MASTER_ADDR");
  if (job.address.empty()) {
    return usage("environment variable MASTER_ADDR: expected the address of rank 0, found none");
  }
  job.has_store = variables("TORCHELASTIC_USE_AGENT_STORE") == "True";
  job.attempt = variables("TORCHELASTIC_RESTART_COUNT");
  return std::optional(job);
}

}  // namespace locus::models::processes
