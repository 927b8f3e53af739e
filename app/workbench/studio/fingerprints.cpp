#include "app/workbench/studio/fingerprints.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr const char* kFingerprint = "fingerprint";  // its slot of the worker
constexpr std::size_t kMaxKept = 8;

}  // namespace

std::optional<Result<views::Fingerprint>> Fingerprints::of(const views::Column& column, std::int64_t layer,
                                                           std::int64_t head) {
  const auto known =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return each.trace.lock() == column.trace; });
  if (known != kept_.end()) {
    if (!known->heads) {
      return Result<views::Fingerprint>(known->heads.error());
    }
    const auto index = static_cast<std::size_t>(layer * column.trace->model().heads + head);
    if (layer < 0 || head < 0 || index >= known->heads->size()) {
      return Result<views::Fingerprint>(bad_input("there is no such head"));
    }
    return Result<views::Fingerprint>((*known->heads)[index]);
  }
  if (measuring_.lock() == column.trace) {
    return std::nullopt;
  }
  measuring_ = column.trace;
  worker_.submit<std::vector<views::Fingerprint>>(
      Priority::kExact, kFingerprint, "",
      [column](const StopToken& stop, const Progress& progress) { return views::fingerprints(column, stop, progress); },
      [this, trace = std::weak_ptr(column.trace)](Result<std::vector<views::Fingerprint>> heads) {
        measuring_.reset();
        if (!heads && heads.error().code == ErrorCode::kCancelled) {
          return;
        }
        std::erase_if(kept_, [](const Kept& each) { return each.trace.expired(); });
        if (kept_.size() == kMaxKept) {
          kept_.erase(kept_.begin());
        }
        kept_.push_back({trace, std::move(heads)});
        Q_EMIT changed();
      });
  return std::nullopt;
}

void Fingerprints::hold() {
  worker_.drop(kFingerprint);
  measuring_.reset();
}

std::string words_of(const views::Fingerprint& head) {
  return "previous " + share_text(head.previous) + ", first " + share_text(head.first) + ", induction " +
         share_text(head.induction) + ", distance " + fixed_text(head.distance, 1) + " tokens";
}

std::string share_text(double share) {
  return std::isnan(share) ? "–" : fixed_text(share, 2);
}

}  // namespace locus::workbench
