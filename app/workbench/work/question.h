// Question: a run that is not begun unasked, since it would take long or much of the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/api/model.h"

namespace locus::workbench {

// What a run may take without being asked for.
struct RunLimits {
  double time_ms = 60'000;
  double memory_share = 0.5;     // of what is free
  double short_run_ms = 10'000;  // of the shorter run that is offered instead
};

struct Question {
  std::int64_t tokens = 0;
  std::int64_t pictures = 0;  // within the text
  models::Estimate estimate;
  // The first so many tokens take little, and these are their bytes of the text; 0 where there are no fewer.
  std::int64_t first = 0;
  std::int64_t first_bytes = 0;
};

// Empty where the run may start: it takes no more than the limits, or hardly more than what was agreed to before.
// `options` as the run has them; `estimate` is run_estimate()'s of these tokens, with that of the input's pictures.
std::optional<Question> question_of(const models::Model& model, const models::Input& input,
                                    const std::vector<models::TokenInfo>& tokens, const models::RunOptions& options,
                                    const models::Estimate& estimate, const models::Estimate& agreed,
                                    const RunLimits& limits);

// "262,144 tokens take about 8 h and 19.3 GB", for a person.
std::string question_text(const Question& question);
// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace locus::workbench
