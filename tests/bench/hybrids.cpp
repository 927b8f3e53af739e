// Rows of layers without a soft-max: recurrences beside their products, and one token more of a hybrid, however long the
// text.
#include <functional>
#include <memory>
#include <string>

#include "core/mixers/gated_recurrence.h"
#include "core/mixers/selective_scan.h"
#include "models/transformer/transformer.h"
#include "tests/bench/groups.h"
#include "tests/bench/reading.h"
#include "tests/bench/runs.h"

namespace locus::bench {

using namespace models;

namespace {

using transformer::Mixing;

// Three layers with a mixer of twice the model's width, and one with attention.
transformer::Spec hybrid(Mixing kind, bool quick) {
  transformer::Spec spec;
  spec.vocabulary = 1000;
  spec.width = quick ? 128 : 512;
  spec.tied_head = true;
  transformer::LayerSpec layer;
  layer.attention.heads = spec.width / 64;
  layer.attention.kv_heads = 1;
  layer.attention.head_width = 64;
  layer.feed_forward = {4 * spec.width, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, 4);
  for (std::size_t n = 0; n + 1 < spec.layers.size(); ++n) {
    transformer::LayerSpec& mixing = spec.layers[n];
    mixing.attends = false;
    mixing.encoding = -1;
    mixing.mixer.kind = kind;
    mixing.mixer.value_width = 64;
    mixing.mixer.heads = 2 * spec.width / 64;
    mixing.mixer.key_heads = kind == Mixing::kStateSpace ? 1 : mixing.mixer.heads;
    mixing.mixer.key_width = kind == Mixing::kSelective ? 16 : 64;
    mixing.mixer.step_rank = spec.width / 16;
  }
  return spec;
}

// Recurrences of single channels, which no product computes, beside the products that give their inputs and take their
// output.
Status add_recurrences(Rig& rig) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = rig.quick() ? 128 : 16384;
  const std::int64_t width = rig.quick() ? 64 : 1024;
  const std::int64_t channels = 2 * width;
  constexpr std::int64_t kStates = 16;
  const at::Tensor x = at::randn({length, width});
  const at::Tensor inputs = at::randn({1, length, channels});
  const at::Tensor up = at::randn({2 * channels, width});
  const at::Tensor down = at::randn({width, channels});
  at::Tensor result;
  const auto projections = [&]() -> Status {
    result = at::linear(x, up);
    result = at::linear(inputs, down);
    return {};
  };
  const mixers::ScanInputs scanned{inputs,
                                   at::rand({1, length, channels}) * 0.1,
                                   -at::arange(1, kStates + 1, at::kFloat).expand({channels, kStates}),
                                   at::randn({1, length, kStates}),
                                   at::randn({1, length, kStates}),
                                   {}};
  const mixers::RecurrenceInputs decaying{inputs, -at::rand({1, length, channels})};
  const auto add = [&](const std::string& name, const std::function<void(at::Tensor & state)>& mix) -> Status {
    LOCUS_TRY(const Timed times, rig.time(
                                     [&]() -> Status {
                                       at::Tensor state;
                                       mix(state);
                                       return {};
                                     },
                                     projections));
    rig.add(name + ", T = " + std::to_string(length), times, "the products into and out of it", Target::kRatioAtMost,
            1.5);
    return {};
  };
  LOCUS_CHECK(add("selective scan", [&](at::Tensor& state) { mixers::selective_scan(scanned, state); }));
  return add("gated recurrence", [&](at::Tensor& state) { mixers::gated_recurrence(decaying, state); });
}

}  // namespace

Status bench_hybrids(Rig& rig) {
  LOCUS_CHECK(add_recurrences(rig));
  for (const Mixing kind : {Mixing::kDelta, Mixing::kStateSpace, Mixing::kLightning, Mixing::kConvolution,
                            Mixing::kSelective, Mixing::kRecurrence}) {
    const transformer::Spec spec = hybrid(kind, rig.quick());
    LOCUS_TRY(const auto model, transformer::Transformer::create(spec, true, 1));
    const ByteSpans weights = weights_read(*model);
    for (const std::int64_t length : {rig.quick() ? 40 : 2000, rig.quick() ? 80 : 16000}) {
      LOCUS_TRY(transformer::ReusedTokens reused, begin_run(*model, length));
      LOCUS_TRY(const Timed times,
                rig.time([&] { return append_token(*model, reused); }, [&] { return read_once(weights); }));
      rig.add("appended token, " + transformer::to_text(spec.first().mixer) + ", T = " + std::to_string(length), times,
              "reading the weights once", Target::kNone, 0);
    }
  }
  return {};
}

}  // namespace locus::bench
