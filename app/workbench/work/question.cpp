#include "app/workbench/work/question.h"

#include <algorithm>

#include "models/api/run_estimate.h"

namespace locus::workbench {

namespace {

constexpr double kHardlyMore = 1.5;  // than what was agreed to: typing on does not ask again

// With the weights read: what is free is beside them.
bool within(const models::Estimate& estimate, double time_ms, double memory_share) {
  const double beside_weights = estimate.memory_mb - estimate.weights_mb;
  return estimate.fits && estimate.time_ms <= time_ms &&
         (estimate.available_mb <= 0 || beside_weights <= memory_share * estimate.available_mb);
}

}  // namespace

std::optional<Question> question_of(const models::Model& model, const models::Input& input,
                                    const std::vector<models::TokenInfo>& tokens, const models::RunOptions& options,
                                    const models::Estimate& estimate, const models::Estimate& agreed,
                                    const RunLimits& limits) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  const bool was_agreed =
      estimate.time_ms <= kHardlyMore * agreed.time_ms && estimate.memory_mb <= kHardlyMore * agreed.memory_mb;
  if (was_agreed || within(estimate, limits.time_ms, limits.memory_share)) {
    return std::nullopt;
  }
  Question question{length, static_cast<std::int64_t>(input.images.size() + input.videos.size()), estimate, 0, 0};
  const models::Estimate pictures = models::pictures_estimate(model, input, options);
  const auto short_run = [&](std::int64_t tokens_of_it) {
    return models::with_pictures(models::run_estimate(model, tokens_of_it, options), pictures);
  };
  std::int64_t first = 1;
  while (2 * first < length && within(short_run(2 * first), limits.short_run_ms, limits.memory_share)) {
    first *= 2;
  }
  if (!model.info().image && first > 1) {
    question.first = first;
    for (std::int64_t n = 0; n < first; ++n) {
      question.first_bytes = std::max(question.first_bytes, tokens[static_cast<std::size_t>(n)].bytes.end);
    }
  }
  return question;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto n = static_cast<std::ptrdiff_t>(digits.size()) - 3; n > (number < 0 ? 1 : 0); n -= 3) {
    digits.insert(static_cast<std::size_t>(n), ",");
  }
  return digits;
}

std::string question_text(const Question& question) {
  const std::string pictures = question.pictures > 1    ? " with " + grouped(question.pictures) + " pictures"
                               : question.pictures == 1 ? " with a picture"
                                                        : "";
  return grouped(question.tokens) + " tokens" + pictures + " take " + models::to_text(question.estimate);
}

}  // namespace locus::workbench
