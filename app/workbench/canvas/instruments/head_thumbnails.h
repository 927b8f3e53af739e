// HeadThumbnails: cache of small maps of single heads, computed by the worker on request.
#pragma once

#include <QObject>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "app/views/shared/view.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

class HeadThumbnails : public QObject {
  Q_OBJECT

 public:
  static constexpr std::int64_t kCells = 40;  // largest number along each side

  // The map of a head's weights; null: it is being computed, and `made` is called afterwards. May be called during a
  // frame: the request is sent after that.
  std::shared_ptr<const Field> of(Worker& worker, const views::Column& column, const views::HeadRef& head,
                                  const std::function<void()>& made);

 private:
  struct Kept {
    std::weak_ptr<const models::Trace> trace;
    views::HeadRef head;
    std::shared_ptr<const Field> map;  // null: the head has none
  };
  void ask(Worker& worker, const std::function<void()>& made);

  std::list<Kept> kept_;  // newest first
  std::optional<std::pair<views::Column, views::HeadRef>> wanted_;
};

}  // namespace locus::workbench
