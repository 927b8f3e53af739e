#include "app/workbench/canvas/instruments/head_thumbnails.h"

#include <QTimer>
#include <algorithm>
#include <utility>

namespace locus::workbench {

namespace {

constexpr const char* kThumbnailSlot = "thumbnail";
constexpr std::size_t kMaxThumbnails = 256;

}  // namespace

std::shared_ptr<const Field> HeadThumbnails::of(Worker& worker, const views::Column& column, const views::HeadRef& head,
                                                const std::function<void()>& made) {
  const auto known = std::ranges::find_if(
      kept_, [&](const Kept& each) { return each.head == head && each.trace.lock() == column.trace; });
  if (known != kept_.end()) {
    return known->map;
  }
  const bool asked = wanted_ && wanted_->first.trace == column.trace && wanted_->second == head;
  if (!asked) {
    wanted_ = {column, head};
    QTimer::singleShot(0, this, [this, &worker, made] { ask(worker, made); });
  }
  return nullptr;
}

void HeadThumbnails::ask(Worker& worker, const std::function<void()>& made) {
  if (!wanted_) {
    return;
  }
  const auto [column, head] = *wanted_;
  worker.submit<Field>(
      Priority::kPreview, kThumbnailSlot, "",
      [column = column, head = head](StopToken stop, const Progress& /*progress*/) {
        models::MapRequest request;
        request.layer = head.layer;
        request.head = head.head;
        request.mark_masked = true;
        const std::int64_t rows = std::min(kCells, column.trace->length());
        const std::int64_t columns = std::min(kCells, column.trace->keys());
        auto sampled = column.trace->preview(request, rows, columns, stop);
        return sampled || sampled.error().code == ErrorCode::kCancelled
                   ? std::move(sampled)
                   : column.trace->overview(request, rows, columns, Reduction::kMax, stop);
      },
      [this, trace = std::weak_ptr(column.trace), head = head, made](Result<Field> map) {
        wanted_.reset();
        if (!map && map.error().code == ErrorCode::kCancelled) {
          return;
        }
        std::erase_if(kept_, [](const Kept& each) { return each.trace.expired(); });
        kept_.push_front({trace, head, map ? std::make_shared<const Field>(*std::move(map)) : nullptr});
        if (kept_.size() > kMaxThumbnails) {
          kept_.pop_back();
        }
        made();
      });
}

}  // namespace locus::workbench
