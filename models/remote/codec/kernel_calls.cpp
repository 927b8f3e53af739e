// Calls of models/api/kernel.h.
#include "models/api/kernel.h"

#include "models/remote/codec/call.h"
#include "models/remote/codec/checks.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

template <>
struct Expected<&models::head_kernel> : AnyAnswer {
  static Status check(const models::HeadKernel& answer, const models::Model&, const models::Trace&,
                      const models::KernelRequest& request, const auto&...) {
    const auto rows = static_cast<std::int64_t>(answer.pairs.rows.size());
    LOCUS_CHECK(remote::check(answer.reach >= 0 && answer.reach <= request.reach, "a distance that was asked for"));
    LOCUS_CHECK(check_length(answer.mean, answer.reach + 1, "a number for each distance"));
    LOCUS_CHECK(remote::check(answer.spread.empty() || answer.spread.size() == answer.mean.size(),
                              "a deviation for each distance"));
    LOCUS_CHECK(
        remote::check(answer.error.empty() || answer.error.size() == answer.mean.size(), "an error for each distance"));
    LOCUS_CHECK(check_list(answer.pairs));
    return remote::check(rows == 0 || (answer.parts.rows == rows && answer.parts.columns == answer.reach + 1 &&
                                       static_cast<std::int64_t>(answer.share.size()) == rows),
                         "a row for each pair");
  }
};
template <>
struct Allowed<&models::strongest_token_pairs> {
  static Status check(const auto& /*model*/, const auto& /*trace*/, const models::KernelRequest& /*request*/,
                      std::int64_t /*distance*/, std::int64_t count, const auto&...) {
    return check_count("count", count, kMaxListed);
  }
};
template <>
struct Expected<&models::strongest_token_pairs> : AnyAnswer {
  static Status check(const std::vector<models::TokenPair>& answer, const models::Model&, const models::Trace&,
                      const models::KernelRequest&, std::int64_t, std::int64_t count, const auto&...) {
    return remote::check(static_cast<std::int64_t>(answer.size()) <= count, "no more pairs than were asked for");
  }
};

#define LOCUS_KERNEL_CALLS(CALL)                   \
  CALL("head_kernel", false, &models::head_kernel) \
  CALL("strongest_token_pairs", false, &models::strongest_token_pairs)
LOCUS_CALLS(kernel_calls, LOCUS_KERNEL_CALLS)

}  // namespace locus::remote
