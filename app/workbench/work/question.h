// Question: the cost of a run that starts only after the user has agreed, because it takes long or much memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/api/model.h"

namespace locus::workbench {

// Limits of runs that start without a question.
struct RunLimits {
  double time_ms = 60'000;
  double memory_share = 0.5;     // of the free memory
  double short_run_ms = 10'000;  // for the shorter run offered instead
};

struct Question {
  std::int64_t tokens = 0;
  std::int64_t pictures = 0;  // inside the text
  models::Estimate estimate;
  // Number of first tokens that run quickly, and their bytes in the text; 0: none fewer than all.
  std::int64_t first = 0;
  std::int64_t first_bytes = 0;
};

// Empty: the run may start, since its cost is within the limits or close to what was agreed to before. `options`: those
// of the run; `estimate`: run_estimate() of these tokens, including the input's pictures.
std::optional<Question> question_of(const models::Model& model, const models::Input& input,
                                    const std::vector<models::TokenInfo>& tokens, const models::RunOptions& options,
                                    const models::Estimate& estimate, const models::Estimate& agreed,
                                    const RunLimits& limits);

// For example "262,144 tokens take about 8 h and 19.3 GB".
std::string question_text(const Question& question);
// Formats 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace locus::workbench
