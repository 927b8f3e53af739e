#include "models/api/logit_attribution.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/guarded.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/rerun.h"
#include "models/transformer/direct_path.h"

namespace locus::models {

namespace {

Status check_attribution(const ModelInfo& info, std::int64_t length, const AttributionOptions& options) {
  for (const std::int64_t id : {options.token, options.against}) {
    if (id >= info.vocabulary) {
      return bad_input("logit attribution: expected a " + std::string(info.image ? "class" : "token") + " below " +
                       std::to_string(info.vocabulary) + ", found " + std::to_string(id));
    }
  }
  if (options.position >= length || (info.image && options.position >= 0)) {
    return bad_input(info.image ? "logit attribution: an image's classes have no position"
                                : "logit attribution: expected a position below " + std::to_string(length) +
                                      ", found " + std::to_string(options.position));
  }
  return {};
}

// The rows that the head reads, of a run of `length` tokens.
Range rows_read(const transformer::Observation& seen, const transformer::ObserveOptions& options) {
  return options.read.empty() ? Range{0, seen.stream.size(1)} : options.read;
}

// Inverts logit = cap·tanh(x/cap).
double before_cap(double logit, double cap) {
  constexpr double kMaxShare = 1 - 1e-7;  // a logit of float32 may be the cap itself
  return cap * std::atanh(std::clamp(logit / cap, -kMaxShare, kMaxShare));
}

// A logit of a row, or the mean of all, and what a cap of the logits (0: none) added to it.
struct Read {
  double logit = 0;
  double capped = 0;
};

Read read_output(const at::Tensor& logits, std::int64_t output, double cap) {
  const auto capped = [&](double logit) { return cap > 0 ? logit - before_cap(logit, cap) : 0; };
  if (output != transformer::kEveryOutput) {
    const double logit = logits[output].item<double>();
    return {logit, capped(logit)};
  }
  Read mean;
  const auto* const values = logits.data_ptr<double>();
  for (std::int64_t n = 0; n < logits.numel(); ++n) {
    mean.logit += values[n] / static_cast<double>(logits.numel());
    mean.capped += capped(values[n]) / static_cast<double>(logits.numel());
  }
  return mean;
}

}  // namespace

Result<LogitAttribution> local::logit_attribution(const Model& model, const Trace& trace,
                                                  const AttributionOptions& options, StopToken stop,
                                                  const Progress& progress) {
  return guarded([&]() -> Result<LogitAttribution> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const Rerun run, rerun_of(model, trace, "logit attribution"));
    const ModelInfo& info = model.info();
    LOCUS_CHECK(check_attribution(info, run.length(), options));
    LogitAttribution made;
    made.position = info.image ? 0 : options.position < 0 ? run.length() - 1 : options.position;
    const transformer::ObserveOptions observe{.read = info.image ? Range{} : Range{made.position, made.position + 1},
                                              .writes = true,
                                              .stop = std::move(stop),
                                              .progress = progress};
    LOCUS_TRY(const transformer::Observation seen, run.transformer.observe(run.batch, observe));
    const at::Tensor logits = seen.logits[0][0].to(at::kCPU, at::kDouble);
    const std::int64_t token = options.token < 0 ? logits.argmax().item<std::int64_t>() : options.token;
    const auto name = [&](std::int64_t id) { return run.data.label ? run.data.label(id) : std::to_string(id); };
    std::vector<transformer::OutputWeight> outputs{{token, 1}};
    made.token = name(token);
    if (options.against >= 0) {
      outputs.push_back({options.against, -1});
      made.against = name(options.against);
    } else if (options.centred) {  // against another token the mean cancels
      outputs.push_back({transformer::kEveryOutput, -1});
    }
    const double cap = run.transformer.spec().logit_cap;
    double capped = 0;  // what the cap adds
    for (const transformer::OutputWeight& output : outputs) {
      const Read read = read_output(logits, output.output, cap);
      made.logit += output.weight * read.logit;
      capped += output.weight * read.capped;
    }
    LOCUS_TRY(transformer::DirectPath path,
              transformer::direct_path(run.transformer, run.batch, seen, rows_read(seen, observe), outputs));
    made.heads = layer_head_field(info.layers, info.heads, "logit");
    std::transform(path.heads.data_ptr<double>(), path.heads.data_ptr<double>() + path.heads.numel(),
                   made.heads.values.begin(), [](double share) { return static_cast<float>(share); });
    for (std::int64_t layer = 0; layer < info.layers; ++layer) {
      if (!info.layer_info[static_cast<std::size_t>(layer)].attends) {
        const auto first = made.heads.values.begin() + layer * info.heads;
        std::fill(first, first + info.heads, std::numeric_limits<float>::quiet_NaN());
      }
    }
    made.feed_forwards = std::move(path.feed_forwards);
    made.mixers = std::move(path.mixers);
    made.biases = std::move(path.biases);
    made.ends = std::move(path.ends);
    if (cap > 0) {
      made.ends.emplace_back("cap", capped);
    }
    return made;
  });
}

}  // namespace locus::models
