#include "models/api/repeated_text.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/outputs.h"

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

// Writes −log p of the tokens `first` … first + field.columns − 1 into a row of the field; `losses` begin at token 1.
void score(const std::vector<double>& losses, std::int64_t first, std::int64_t row, Field& field) {
  for (std::int64_t n = 0; n < field.columns; ++n) {
    const double nats = losses[static_cast<std::size_t>(first - 1 + n)];
    field.values[static_cast<std::size_t>(row * field.columns + n)] = static_cast<float>(nats);
  }
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
    LOCUS_TRY(const TracePointer run, model.run({.ids = ids}, {.keep = {}, .before_head = true}, stop));
    const std::vector<std::int64_t> next(ids.begin() + 1, ids.end());
    LOCUS_TRY(const std::vector<double> losses,
              guarded([&] { return next_token_losses(model, *run, 0, next, "text given twice", stop); }));
    const std::int64_t first = std::ssize(special) + 1;
    score(losses, first, static_cast<std::int64_t>(n), loss.first);
    score(losses, first + period, static_cast<std::int64_t>(n), loss.second);
  }
  return loss;
}

}  // namespace locus::models
