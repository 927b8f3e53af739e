// Rows of edits: a map of all heads' knock-outs against as many whole runs.
#include <memory>
#include <optional>
#include <string>

#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/experiments/layer_reuse.h"
#include "models/experiments/outputs.h"
#include "tests/bench/groups.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

namespace {

struct KnockOutCase {
  const char* name;
  bool all_logits;
};

// What a map measures of each run.
double measured(const at::Tensor& logits, const at::Tensor& ids) {
  return logits.size(0) > 1 ? mean_loss(logits, ids) : logits[0].log_softmax(-1)[0].item<double>();
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
              LOCUS_TRY(runs, LayerReuse::begin(model, info, batch, one.all_logits, rig.options().stop));
              return {};
            }));
  // A whole run after each layer's, so that whatever else the machine does slows both alike.
  for (std::int64_t layer = 0; layer < info.layers; ++layer) {
    LOCUS_TRY(const double layer_ms, Rig::once([&]() -> Status {
                for (std::int64_t head = 0; head < info.heads; ++head) {
                  const Edit edit{.layer = {{layer}}, .head = {{head}}};
                  LOCUS_TRY(const at::Tensor logits, runs->logits({edit}, layer, {}));
                  sum += measured(logits, batch.ids[0]);
                }
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
             (one.all_logits ? "; logits of every token are not" : "");
  rig.add(std::move(row));
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
  return {};
}

}  // namespace locus::bench
