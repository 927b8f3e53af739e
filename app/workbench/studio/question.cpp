#include "app/workbench/studio/question.h"

#include <algorithm>

#include "models/api/run_estimate.h"

namespace locus::workbench {

namespace {

constexpr double kHardlyMore = 1.5;  // than what was agreed to: typing on does not ask again

bool within(const models::Model& model, const models::RunOptions& options, const models::Estimate& estimate,
            std::int64_t length, double time_ms, double memory_share) {
  const models::Estimate shapes = model.estimate(length, options);  // beside the weights
  return shapes.fits && estimate.time_ms <= time_ms &&
         (shapes.available_mb <= 0 || shapes.memory_mb <= memory_share * shapes.available_mb);
}

}  // namespace

std::optional<Question> question_of(const models::Model& model, const std::vector<models::TokenInfo>& tokens,
                                    const models::RunOptions& options, const models::Estimate& estimate,
                                    const models::Estimate& agreed, const RunLimits& limits) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  const bool was_agreed =
      estimate.time_ms <= kHardlyMore * agreed.time_ms && estimate.memory_mb <= kHardlyMore * agreed.memory_mb;
  if (was_agreed || within(model, options, estimate, length, limits.time_ms, limits.memory_share)) {
    return std::nullopt;
  }
  Question question{length, estimate, 0, 0};
  std::int64_t first = 1;
  while (2 * first < length && within(model, options, models::run_estimate(model, 2 * first, options), 2 * first,
                                      limits.short_run_ms, limits.memory_share)) {
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
  return grouped(question.tokens) + " tokens take " + models::to_text(question.estimate);
}

}  // namespace locus::workbench
