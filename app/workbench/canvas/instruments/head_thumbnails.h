// HeadThumbnails: small maps of single heads, made by the worker when one is asked for, and kept.
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
  static constexpr std::int64_t kCells = 40;  // along each side, at most

  // The map of a head's weights; null while it is made: `made` is called once it is there. May be called while a frame
  // is drawn: it is asked for after that.
  std::shared_ptr<const Field> of(Worker& worker, const views::Column& column, const views::HeadRef& head,
                                  const std::function<void()>& made);

 private:
  struct Kept {
    std::weak_ptr<const models::Trace> trace;
    views::HeadRef head;
    std::shared_ptr<const Field> map;  // null: there is none
  };
  void ask(Worker& worker, const std::function<void()>& made);

  std::list<Kept> kept_;  // newest first
  std::optional<std::pair<views::Column, views::HeadRef>> wanted_;
};

}  // namespace locus::workbench
