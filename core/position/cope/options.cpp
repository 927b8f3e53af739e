#include <cmath>

#include "core/position/cope/cope.h"

namespace locus::position {

const OptionTable<CopeOptions> kCopeOptions{
    {"gates", &CopeOptions::gates,
     "what gates are computed from: key, sep-key (own projection of the layer's input), value",
     OneOf{{"key", "sep-key", "value"}}},
    {"form", &CopeOptions::form, "interpolate; mlp (CoPE_MLP: a network of p); alibi (CoPE_ALiBi: m·p)",
     OneOf{{"interpolate", "mlp", "alibi"}}},
    {"with", &CopeOptions::with, "none; relative (adds Shaw's term); rope (content from rotated q and k)",
     OneOf{{"none", "relative", "rope"}}},
    {"p_max", &CopeOptions::p_max, "largest position; positions 0 … p_max have vectors", Whole{1, 1 << 24}},
    {"scale_positions", &CopeOptions::scale_positions,
     "divide q·e[p] by √D too, as the published repository does by default"},
    {"per_layer", &CopeOptions::per_layer, "every layer has its own position vectors: layers.N.…"},
    {"every", &CopeOptions::every, "CoPE in layers 0, K, 2K …; the others have `with` alone", Whole{1, 1 << 20}},
    {"rotate_gates", &CopeOptions::rotate_gates, "with rope: gates from the rotated q and k"},
    {"hidden", &CopeOptions::hidden, "units of CoPE_MLP's network", Whole{1, 1 << 16}},
    {"slopes", &CopeOptions::slopes, "CoPE_ALiBi: halving (first_slope·2^−h), alibi (ALiBi's), learned (from 0)",
     OneOf{{"halving", "alibi", "learned"}}},
    {"first_slope", &CopeOptions::first_slope, "CoPE_ALiBi with halving slopes: m of head 0"},
    {"relative_length", &CopeOptions::relative_length, "with relative: distances with a vector; 0: the trained length",
     Whole{0, std::int64_t{1} << 31}},
    {"gate_bias", &CopeOptions::gate_bias, "gates sep-key: the projection W_g has a bias"},
    {"hard_attention", &CopeOptions::hard_attention, "attend to the largest logit alone; evaluation only"},
};

Result<CopeOptions> CopeOptions::from(const Settings& settings) {
  LOCUS_TRY(CopeOptions options, kCopeOptions.read(settings));
  LOCUS_TRY(options.rope, RopeOptions::from(settings));
  if (options.gate_bias && options.gates != "sep-key") {
    return bad_input("option gate_bias: expected false unless gates is sep-key, found true with gates " +
                     options.gates);
  }
  if (!std::isfinite(options.first_slope)) {
    return wrong_option("first_slope", "a number", options.first_slope);
  }
  return options;
}

Settings CopeOptions::settings() const {
  return kCopeOptions.written(*this, rope.settings());
}

const Description& Cope::about() {
  static const Description description{
      .name = "cope",
      .title = "Contextual position encoding (CoPE)",
      .paper = "Golovneva et al. 2024, arXiv:2405.18719",
      .equation = "q_i·k_j/√D + q_i·e[p_ij], p_ij = min(Σ_{k=j..i} σ(q_i·k_k/√D), p_max)",
      .content = "q·k/√D (rotated with `with: rope`)",
      .parameters = {{"position_embedding", "(D, p_max + 1)", "e, shared by heads; form interpolate"},
                     {"layers.N.gate_key.weight", "(Hkv·D, C)", "W_g; gates sep-key"},
                     {"layers.N.gate_key.bias", "(Hkv·D)", "b_g; gates sep-key with gate_bias"},
                     {"relative_embedding", "(relative_length, D)", "Shaw's vectors; with relative"},
                     {"mlp.0.weight", "(hidden, 1)", "form mlp"},
                     {"mlp.0.bias", "(hidden)", "form mlp"},
                     {"mlp.2.weight", "(D, hidden)", "form mlp"},
                     {"mlp.2.bias", "(D)", "form mlp"},
                     {"layers.N.slopes", "(H)", "m; form alibi with learned slopes"}},
      .options = kCopeOptions.described(RopeOptions::described()),
      .scores = true,
      .has_gates = true,
      .has_waves = true,
      .waves_where = {"with", "rope"},
  };
  return description;
}

}  // namespace locus::position
