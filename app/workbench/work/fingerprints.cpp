#include "app/workbench/work/fingerprints.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/measured/atlas_values.h"
#include "core/base/numbers.h"
#include "models/api/atlas_trace.h"

namespace locus::workbench {

namespace {

constexpr const char* kFingerprint = "fingerprint";  // its slot of the worker
constexpr std::size_t kMaxKept = 8;

// An atlas holds the means over its texts: nothing is left to be measured.
void take_from(const models::Atlas& atlas, HeadSurvey& survey) {
  const std::pair<const char*, double views::Fingerprint::*> statistics[] = {
      {"previous", &views::Fingerprint::previous},   {"first", &views::Fingerprint::first},
      {"induction", &views::Fingerprint::induction}, {"distance", &views::Fingerprint::distance},
      {"entropy", &views::Fingerprint::entropy},     {"self", &views::Fingerprint::self}};
  for (const auto& [name, value] : statistics) {
    const auto heads = views::head_intervals(atlas, name);
    for (std::size_t n = 0; heads && n < std::min(heads->size(), survey.prints.size()); ++n) {
      survey.prints[n].*value = (*heads)[n].mean;
    }
  }
  survey.measured = survey.layers;
  survey.done = true;
}

}  // namespace

std::shared_ptr<HeadSurvey> Fingerprints::kept(const views::Column& column) {
  const auto known =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return each.trace.lock() == column.trace; });
  if (known != kept_.end()) {
    return known->survey;
  }
  std::erase_if(kept_, [](const Kept& each) { return each.trace.expired(); });
  if (kept_.size() == kMaxKept) {
    kept_.erase(kept_.begin());
  }
  auto survey = std::make_shared<HeadSurvey>();
  survey->layers = column.trace->model().layers;
  survey->heads = column.trace->model().heads;
  const views::Fingerprint none{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
  survey->prints.assign(static_cast<std::size_t>(survey->layers * survey->heads), none);
  if (const models::Atlas* atlas = models::atlas_of(*column.trace)) {
    take_from(*atlas, *survey);
  }
  kept_.push_back({column.trace, survey});
  return survey;
}

const HeadSurvey* Fingerprints::known(const views::Column& column) const {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return each.trace.lock() == column.trace; });
  return found == kept_.end() ? nullptr : found->survey.get();
}

const HeadSurvey& Fingerprints::survey(const views::Column& column) {
  const std::shared_ptr<HeadSurvey> survey = kept(column);
  measure(column, survey);
  return *survey;
}

std::optional<Result<views::Fingerprint>> Fingerprints::of(const views::Column& column, std::int64_t layer,
                                                           std::int64_t head) {
  const HeadSurvey& all = survey(column);
  if (all.error) {
    return Result<views::Fingerprint>(*all.error);
  }
  if (!all.done) {
    return std::nullopt;
  }
  if (layer < 0 || head < 0 || layer >= all.layers || head >= all.heads) {
    return Result<views::Fingerprint>(bad_input("there is no such head"));
  }
  return Result<views::Fingerprint>(all.at(layer, head));
}

void Fingerprints::measure(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey) {
  if (measuring_ || paused_ || survey->done || survey->error) {
    return;
  }
  measuring_ = true;
  if (survey->measured < survey->layers) {
    measure_layer(column, survey);
  } else {
    measure_induction(column, survey);
  }
}

void Fingerprints::measure_layer(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey) {
  worker_.submit<std::vector<views::Fingerprint>>(
      Priority::kExact, kFingerprint, "",
      [column, layer = survey->measured](const StopToken& stop, const Progress& progress) {
        return views::fingerprints(column, {layer, layer + 1}, stop, progress);
      },
      [this, column, survey](Result<std::vector<views::Fingerprint>> heads) {
        if (heads) {
          const auto count = std::min(heads->size(), static_cast<std::size_t>(survey->heads));
          std::copy_n(heads->begin(), count,
                      survey->prints.begin() + static_cast<std::ptrdiff_t>(survey->measured * survey->heads));
          ++survey->measured;
        }
        end_step(column, survey, heads ? nullptr : &heads.error());
      });
}

void Fingerprints::measure_induction(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey) {
  worker_.submit<std::vector<double>>(
      Priority::kExact, kFingerprint, "",
      [column](const StopToken& stop, const Progress& progress) {
        return views::induction_scores(column, stop, progress);
      },
      [this, column, survey](Result<std::vector<double>> scores) {
        for (std::size_t n = 0; scores && n < std::min(scores->size(), survey->prints.size()); ++n) {
          survey->prints[n].induction = (*scores)[n];
        }
        survey->done = scores.ok();
        end_step(column, survey, scores ? nullptr : &scores.error());
      });
}

void Fingerprints::end_step(const views::Column& column, const std::shared_ptr<HeadSurvey>& survey,
                            const Error* error) {
  measuring_ = false;
  if (error != nullptr && error->code == ErrorCode::kCancelled) {
    return;
  }
  if (error != nullptr) {
    survey->error = *error;
  }
  measure(column, survey);
  Q_EMIT changed();
}

void Fingerprints::hold() {
  worker_.drop(kFingerprint);
  measuring_ = false;
}

void Fingerprints::pause() {
  paused_ = true;
  hold();
}

std::string words_of(const views::Fingerprint& head) {
  return "previous " + share_text(head.previous) + ", first " + share_text(head.first) + ", induction " +
         share_text(head.induction) + ", distance " + fixed_text(head.distance, 1) + " tokens";
}

std::string share_text(double share) {
  return std::isnan(share) ? "–" : fixed_text(share, 2);
}

}  // namespace locus::workbench
