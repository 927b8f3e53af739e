#include "models/api/repeated_text.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"

namespace locus::models {

namespace {

// The special token that begins the run's text; none where it begins with text.
std::vector<std::int64_t> first_special(const std::vector<TokenInfo>& tokens) {
  return begins_with_special(tokens) ? std::vector{tokens.front().id} : std::vector<std::int64_t>();
}

// (N) lists of P ids.
std::vector<std::vector<std::int64_t>> copies_of(const ModelInfo& info, const Trace& trace, std::size_t special,
                                                 const RepeatedTextOptions& options) {
  std::vector<std::vector<std::int64_t>> copies;
  if (options.own_text) {
    std::vector<std::int64_t>& own = copies.emplace_back();
    for (std::size_t n = special; n < trace.tokens().size() && std::ssize(own) < options.period; ++n) {
      own.push_back(trace.tokens()[n].id);
    }
    return copies;
  }
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<std::int64_t> draw(0, info.vocabulary - 1);
  for (std::int64_t n = 0; n < options.inputs; ++n) {
    std::vector<std::int64_t>& drawn = copies.emplace_back(static_cast<std::size_t>(options.period));
    std::generate(drawn.begin(), drawn.end(), [&] { return draw(random); });
  }
  return copies;
}

// Writes −log p of the tokens `begin` … begin + field.columns − 1 of a run into a row of the field.
void score(const at::Tensor& logits, const std::vector<std::int64_t>& ids, std::size_t begin, std::int64_t row,
           Field& field) {
  const auto first = static_cast<std::int64_t>(begin);
  const at::Tensor next = at::tensor(ids).slice(0, first, first + field.columns).unsqueeze(1);
  const at::Tensor shares =
      logits.slice(0, first - 1, first - 1 + field.columns).to(at::kCPU, at::kDouble).log_softmax(-1);
  const at::Tensor nats = shares.gather(1, next).squeeze(1).neg().to(at::kFloat).contiguous();
  std::copy_n(nats.data_ptr<float>(), field.columns, field.values.begin() + row * field.columns);
}

Field loss_field(std::int64_t inputs, std::int64_t tokens) {
  Field field = Field::zeros(inputs, tokens);
  field.quantity = "loss (nats)";
  field.row_axis = {"input", "", 0, 1};
  field.column_axis = {"token of the copy", "token", 1, 1};
  return field;
}

}  // namespace

Result<RepeatedLoss> local::repeated_loss(const Model& model, const Trace& trace, const RepeatedTextOptions& options,
                                          StopToken stop, const Progress& progress) {
  const ModelInfo& info = model.info();
  if (info.image || !info.causal) {
    return unsupported("text given twice: expected a causal text model; " + info.name + " is none");
  }
  const std::vector<std::int64_t> special = first_special(trace.tokens());
  const auto copies = copies_of(info, trace, special.size(), options);
  const std::int64_t period = copies.empty() ? 0 : std::ssize(copies.front());
  if (period < 2) {
    return bad_input("text given twice: expected an input of at least 2 tokens, found " +
                     (copies.empty() ? "no input" : std::to_string(period)));
  }
  RepeatedLoss loss{loss_field(std::ssize(copies), period - 1), loss_field(std::ssize(copies), period - 1)};
  for (std::size_t n = 0; n < copies.size(); ++n) {
    report(progress, static_cast<double>(n) / static_cast<double>(copies.size()), "text given twice");
    std::vector<std::int64_t> ids = special;
    ids.insert(ids.end(), copies[n].begin(), copies[n].end());
    ids.insert(ids.end(), copies[n].begin(), copies[n].end());
    LOCUS_TRY(const TracePointer run, model.run({.ids = ids}, {.keep = {"logits"}, .all_logits = true}, stop));
    LOCUS_CHECK(guarded([&]() -> Status {
      const at::NoGradGuard no_grad;
      LOCUS_TRY(const TraceData* data, data_of(*run));
      if (!data->logits.defined() || data->logits.size(0) != std::ssize(ids)) {
        return unsupported("text given twice: expected the logits of every token; " + info.name + " gives none");
      }
      const std::size_t first = special.size() + 1;
      score(data->logits, ids, first, static_cast<std::int64_t>(n), loss.first);
      score(data->logits, ids, first + static_cast<std::size_t>(period), static_cast<std::int64_t>(n), loss.second);
      return {};
    }));
  }
  return loss;
}

}  // namespace locus::models
