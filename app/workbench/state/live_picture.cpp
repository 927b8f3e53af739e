#include "app/workbench/state/live_picture.h"

#include <algorithm>
#include <utility>

namespace locus::workbench {

namespace {

constexpr int kPicturePatienceMs =
    300;  // that a run and its figure may take to their end before what is newer stops them

using models::PictureChange;
using models::PictureChanges;
using models::PictureNumber;
using models::PictureStep;

const models::PictureStepForm& form_of(PictureStep step) {
  return models::picture_steps()[static_cast<std::size_t>(step)];
}

PictureChange initial_step(PictureStep step) {
  PictureChange change{step, {}};
  const auto& numbers = form_of(step).numbers;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    change.numbers[n].value = numbers[n].initial;
  }
  return change;
}

bool changes_nothing(const PictureChange& change) {
  const PictureChange initial = initial_step(change.step);
  return std::ranges::equal(change.numbers, initial.numbers, {}, &PictureNumber::value, &PictureNumber::value);
}

template <class Changes>
auto last_of(Changes& changes, PictureStep step) {
  const auto found =
      std::find_if(changes.rbegin(), changes.rend(), [step](const PictureChange& each) { return each.step == step; });
  return found == changes.rend() ? changes.end() : std::prev(found.base());
}

}  // namespace

PictureNumber number_of(const PictureChanges& changes, PictureStep step, std::size_t index) {
  const auto found = last_of(changes, step);
  if (found == changes.end()) {
    return {initial_step(step).numbers[index].value, models::LengthUnit::kPatches};
  }
  PictureNumber number = found->numbers[index];
  if (number.value == 0) {  // is as long in every unit
    number.unit = models::LengthUnit::kPatches;
  }
  return number;
}

PictureChanges with_number(PictureChanges changes, PictureStep step, std::size_t index, PictureNumber number) {
  auto found = last_of(changes, step);
  if (found == changes.end()) {
    const bool before_shift =
        step != PictureStep::kShift && !changes.empty() && changes.back().step == PictureStep::kShift;
    found = changes.insert(before_shift ? changes.end() - 1 : changes.end(), initial_step(step));
  }
  const models::PictureStepNumber& form = form_of(step).numbers[index];
  number.unit = form.length ? number.unit : models::LengthUnit::kPixels;
  number.value = std::clamp(number.value, lowest_of(form, number.unit), highest_of(form, number.unit));
  found->numbers[index] = number;
  if (changes_nothing(*found)) {
    changes.erase(found);
  }
  return changes;
}

LivePicture::LivePicture(Studio& studio, QObject* parent) : QObject(parent), studio_(studio) {
  patience_.setSingleShot(true);
  patience_.setInterval(kPicturePatienceMs);
  connect(&patience_, &QTimer::timeout, this, &LivePicture::apply);
  connect(&studio_, &Studio::figure_changed, this, &LivePicture::apply, Qt::QueuedConnection);
}

void LivePicture::begin() {
  begun_ = false;
  before_ = studio_.input().picture;
}

void LivePicture::show(const PictureChanges& changes) {
  next_ = changes;
  if (!patience_.isActive()) {
    patience_.start();
  }
  if (studio_.settled()) {
    apply();
  }
}

void LivePicture::make(const PictureChanges& changes) {
  begin();
  show(changes);
  end();
}

void LivePicture::apply() {
  const auto changes = std::exchange(next_, std::nullopt);
  if (!changes) {
    return;
  }
  patience_.stop();
  models::Input input = studio_.input();
  if (*changes == input.picture || (!input.image && input.images.empty())) {
    return;
  }
  input.picture = *changes;
  if (std::exchange(begun_, true)) {
    studio_.inputs().replace(input);
  } else {
    studio_.inputs().set_input(input);
  }
}

}  // namespace locus::workbench
