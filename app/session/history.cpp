#include "app/session/history.h"

#include <utility>

namespace locus::workbench {

namespace {

constexpr std::size_t kMaxSteps = 200;

}  // namespace

void History::push(Step step) {
  past_.push_back(std::move(step));
  if (past_.size() > kMaxSteps) {
    past_.erase(past_.begin());
  }
  future_.clear();
}

void History::change(session::ViewState state) {
  push({state_, {}, {}, {}});
  state_ = std::move(state);
}

Step History::exchange(std::vector<Step>& from, std::vector<Step>& to, Step now) {
  Step taken = std::move(from.back());
  from.pop_back();
  to.push_back(std::move(now));
  state_ = taken.state;
  return taken;
}

void History::each_of(bool (*same)(const Step&), const std::function<void(session::ViewState&)>& use) {
  use(state_);
  for (auto* steps : {&past_, &future_}) {
    for (auto step = steps->rbegin(); step != steps->rend() && same(*step); ++step) {
      use(step->state);
    }
  }
}

void History::clear() {
  past_.clear();
  future_.clear();
}

}  // namespace locus::workbench
