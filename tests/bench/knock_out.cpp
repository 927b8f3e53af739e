// Rows of edits: a map of all heads' knock-outs against as many whole runs, an effect whose unedited pass is kept, and
// what both read of a large vocabulary.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/api/kernel.h"
#include "models/api/knock_out.h"
#include "models/api/local.h"
#include "models/api/logit_lens.h"
#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/experiments/layer_reuse.h"
#include "models/experiments/output_sums.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"
#include "tests/support/paths.h"

namespace locus::bench {

using namespace models;

namespace {

struct KnockOutCase {
  const char* name;
  bool all_logits;
};

// What a whole run measures.
double measured(const at::Tensor& logits, const at::Tensor& ids) {
  const at::Tensor shares = logits.log_softmax(-1);
  return logits.size(0) > 1 ? -shares.slice(0, 0, -1).gather(1, ids.slice(0, 1).unsqueeze(1)).mean().item<double>()
                            : shares[0][0].item<double>();
}

// What a map measures of the runs of a layer's heads, from the inputs of the head (R, C).
Result<double> measured(const transformer::Transformer& model, const std::vector<at::Tensor>& streams,
                        const at::Tensor& ids) {
  const at::Tensor read = at::cat(streams);
  const std::int64_t rows = streams.front().size(0);
  const at::Tensor next = rows > 1 ? at::cat({ids.slice(0, 1), ids.slice(0, 0, 1)}) : at::zeros({1}, at::kLong);
  const auto runs = static_cast<std::int64_t>(streams.size());
  LOCUS_TRY(const OutputSums sums, output_sums(model, read, {.ids = next.repeat({runs})}));
  return (sums.log_sum_exp - sums.own.to(at::kDouble)).sum().item<double>();
}

Status add_knock_out(Rig& rig, const transformer::Transformer& model, const KnockOutCase& one) {
  const std::int64_t length = rig.quick() ? 32 : 256;
  const ModelInfo info = shape_info(model);
  transformer::Batch batch;
  batch.ids = at::randint(info.vocabulary, {1, length}, at::kLong);
  batch.positions = model.positions(length);
  const transformer::ObserveOptions whole{.all_logits = one.all_logits, .stop = rig.options().stop};
  double sum = 0;
  double map_ms = 0;
  double whole_ms = 0;
  std::optional<LayerReuse> runs;
  LOCUS_TRY(map_ms, Rig::once([&]() -> Status {
              LOCUS_TRY(runs,
                        LayerReuse::begin(model, info, batch, one.all_logits ? Range{} : Range{length - 1, length},
                                          rig.options().stop));
              return {};
            }));
  // A whole run after each layer's, so that whatever else the machine does slows both alike.
  for (std::int64_t layer = 0; layer < info.layers; ++layer) {
    LOCUS_TRY(const double layer_ms, Rig::once([&]() -> Status {
                std::vector<Edits> edits;
                for (std::int64_t head = 0; head < info.heads; ++head) {
                  edits.push_back({{.layer = {{layer}}, .head = {{head}}}});
                }
                LOCUS_TRY(const std::vector<at::Tensor> streams, runs->streams(edits, layer, {}));
                LOCUS_TRY(const double of_layer, measured(model, streams, batch.ids[0]));
                sum += of_layer;
                return {};
              }));
    LOCUS_TRY(const double run_ms, Rig::once([&]() -> Status {
                LOCUS_TRY(const transformer::Observation seen, model.observe(batch, whole));
                sum += measured(seen.logits[0], batch.ids[0]);
                return {};
              }));
    map_ms += layer_ms;
    whole_ms += run_ms;
  }
  const std::int64_t heads = info.layers * info.heads;
  Row row;
  row.name = std::string("knock-out of ") + one.name + ", T = " + std::to_string(length);
  row.value = map_ms;
  row.unit = "ms";
  row.reference_name = std::to_string(heads) + " whole runs";
  row.reference = whole_ms / static_cast<double>(info.layers) * static_cast<double>(heads);
  row.bounds = one.all_logits ? Target::kNone : Target::kRatioAtMost;
  row.target = one.all_logits ? 0 : 0.6;
  row.note = std::string("zero each of ") + std::to_string(heads) + " heads; layers below are taken over" +
             (one.all_logits ? "; logits of every token are not, but share passes over the vocabulary" : "");
  rig.add(std::move(row));
  return {};
}

// The soft-max of every token over a large vocabulary, as a logit lens reads it of each layer.
Status add_vocabulary(Rig& rig) {
  transformer::Spec spec;
  spec.vocabulary = rig.quick() ? 8192 : 262144;
  spec.width = rig.quick() ? 64 : 640;
  spec.encodings = {{"rope", {}}};
  spec.trained_length = 256;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 4;
  layer.attention.head_width = spec.width / 4;
  layer.feed_forward = {spec.width, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, 1);
  LOCUS_TRY(const std::unique_ptr<transformer::Transformer> model, transformer::Transformer::create(spec, true, 1));
  const at::Tensor stream = at::randn({214, spec.width});
  const StopToken stop = rig.options().stop;
  LOCUS_TRY(const Timed times, rig.time(
                                   [&]() -> Status {
                                     LOCUS_TRY(const OutputSums sums, output_sums(*model, stream, {.stop = stop}));
                                     return {};
                                   },
                                   [&]() -> Status {
                                     const at::Tensor logits = model->head()(stream.unsqueeze(0))[0];
                                     const auto [largest, likeliest] = logits.max(-1, true);
                                     const at::Tensor sums = (logits - largest).exp_().sum(-1, false, at::kDouble);
                                     return {};
                                   }));
  rig.add("likeliest of " + std::to_string(spec.vocabulary) + " tokens, T = 214", times, "whole rows of logits",
          Target::kRatioAtMost, 0.95, "a row of the logit lens");
  return {};
}

// The effect of an edit of the last layer, again and again, as the strip below the text shows it.
Status add_effect(Rig& rig) {
  const std::int64_t length = rig.quick() ? 32 : 256;
  CheckpointParts parts;
  LOCUS_TRY(parts.transformer, transformer::Transformer::create(gpt2_small(length, rig.quick()), true, 1));
  parts.info = shape_info(*parts.transformer);
  parts.info.name = "random";
  const std::int64_t last = parts.info.layers - 1;
  const LoadedModel model(std::move(parts));
  const at::Tensor ids = random_ids(*model.checkpoint().parts().transformer, length)[0].contiguous();
  const Input input{.ids =
                        std::vector<std::int64_t>(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + length)};
  const Edit edit{.layer = {{last}}, .head = {{0}}};
  LOCUS_TRY(const std::shared_ptr<const Model> edited, model.edited({edit}));
  LOCUS_TRY(const TracePointer trace, edited->run(input, {}, rig.options().stop));
  const auto measure = [&]() -> Status { return status_of(local::effect_on(*edited, *trace, rig.options().stop, {})); };
  LOCUS_TRY(const Timed times, rig.time(measure, [&]() -> Status {
    {
      LastUneditedPass& kept = model.checkpoint().unedited_pass();
      const std::lock_guard lock(kept.mutex);
      kept.pass.reset();
    }
    return measure();
  }));
  rig.add("effect of an edit of the last layer, T = " + std::to_string(length), times, "with its unedited pass",
          Target::kRatioAtMost, 0.9, "the unedited pass of the same input is kept");
  return {};
}

// Tokens of a sample text; of models without a tokenizer, random ones.
std::vector<std::int64_t> sample_ids(const Model& model, std::int64_t length) {
  const std::filesystem::path samples = std::filesystem::path(test::source_dir()) / "assets/samples";
  const auto text = read_file(samples / "held-out.txt", 1 << 20);
  const auto tokens = text.ok() ? model.tokenize({.text = *text}) : Result<std::vector<TokenInfo>>(text.error());
  std::vector<std::int64_t> ids;
  for (std::int64_t n = 0; n < length; ++n) {
    const auto at = static_cast<std::size_t>(n);
    ids.push_back(tokens.ok() && at < tokens->size() ? (*tokens)[at].id : std::rand() % model.info().vocabulary);
  }
  return ids;
}

// What takes long of a real file with a large vocabulary: every row of the logit lens, a head's kernel, and the change of
// loss without each head.
Status add_file(Rig& rig, const std::string& file, bool fast) {
  OpenOptions opening;
  opening.overrides.fast = fast;
  LOCUS_TRY(const auto model, open(file, opening));
  const std::vector<std::string>& warnings = model->info().warnings;
  if (std::any_of(warnings.begin(), warnings.end(),
                  [](const auto& each) { return each.starts_with("fast products"); })) {
    return {};  // there are none
  }
  const std::int64_t length = rig.quick() ? 32 : 214;
  const Input input{.ids = sample_ids(*model, length)};
  const StopToken stop = rig.options().stop;
  LOCUS_TRY(const TracePointer trace, model->run(input, {.continuable = true}, stop));
  const std::string name = std::filesystem::path(file).filename().string() + ", T = " + std::to_string(length) +
                           (fast ? ", fast products" : "");
  const std::int64_t middle = model->info().layers / 2;
  const auto add = [&](const std::string& what, const std::function<Status()>& work) -> Status {
    LOCUS_TRY(const double ms, Rig::once(work));
    rig.add({.name = what + " of " + name, .value = ms, .unit = "ms", .bounds = Target::kValueAtMost, .target = 10000});
    return {};
  };
  LOCUS_CHECK(add("all rows of the logit lens", [&] { return status_of(logit_lens(*model, *trace, {}, stop)); }));
  for (const std::int64_t layer : {std::int64_t{0}, middle}) {
    LOCUS_CHECK(add("the kernel of head " + std::to_string(layer) + ".0",
                    [&] { return status_of(head_kernel(*model, *trace, {.layer = layer}, stop)); }));
  }
  const std::int64_t heads = model->info().layers * model->info().heads;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  double estimated_ms = 0;
  KnockOutOptions options{.to = HeadTo::kMean};
  options.so_far = [&](const KnockOutEffects& /*some*/, const KnockOutEstimates& estimates) {
    if (estimates.heads == heads) {
      estimated_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    }
  };
  const std::string what = "the change of loss without each of " + std::to_string(heads) + " heads";
  LOCUS_CHECK(add(what, [&] { return status_of(knock_out(*model, *trace, options, stop)); }));
  if (estimated_ms > 0) {
    rig.add({.name = what + ", estimated, of " + name,
             .value = estimated_ms,
             .unit = "ms",
             .bounds = Target::kValueAtMost,
             .target = 10000});
  }
  return {};
}

}  // namespace

Status bench_knock_out(Rig& rig) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const std::unique_ptr<transformer::Transformer> model,
            transformer::Transformer::create(gpt2_small(256, rig.quick()), true, 1));
  for (const KnockOutCase& one : {KnockOutCase{"the next token", false}, KnockOutCase{"the loss", true}}) {
    if (rig.options().stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_CHECK(add_knock_out(rig, *model, one));
  }
  LOCUS_CHECK(add_vocabulary(rig));
  LOCUS_CHECK(add_effect(rig));
  for (const bool fast : {false, true}) {
    LOCUS_CHECK(rig.options().model.empty() ? Status() : add_file(rig, rig.options().model, fast));
  }
  return {};
}

}  // namespace locus::bench
