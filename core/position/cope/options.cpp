#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "core/position/cope/cope.h"

namespace locus::position {

namespace {

Status one_of(std::string_view option, const std::string& found, std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), found) != known.end()) {
    return {};
  }
  return bad_input("option " + std::string(option) + ": expected one of " + listed(known) + ", found " + shown(found));
}

Status in_range(std::string_view option, std::int64_t found, std::int64_t low, std::int64_t high) {
  if (found >= low && found <= high) {
    return {};
  }
  return bad_input("option " + std::string(option) + ": expected " + std::to_string(low) + " … " +
                   std::to_string(high) + ", found " + std::to_string(found));
}

std::vector<OptionDescription> described() {
  std::vector<OptionDescription> options{
      {"gates", "key", "what gates are computed from: key, sep-key (own projection of the layer's input), value"},
      {"form", "interpolate", "interpolate; mlp (CoPE_MLP: a network of p); alibi (CoPE_ALiBi: m·p)"},
      {"with", "none", "none; relative (adds Shaw's term); rope (content from rotated q and k)"},
      {"p_max", "64", "largest position; positions 0 … p_max have vectors"},
      {"scale_positions", "false", "divide q·e[p] by √D too, as the published repository does by default"},
      {"per_layer", "false", "every layer has its own position vectors: layers.N.…"},
      {"every", "1", "CoPE in layers 0, K, 2K …; the others have `with` alone"},
      {"rotate_gates", "false", "with rope: gates from the rotated q and k"},
      {"hidden", "64", "units of CoPE_MLP's network"},
      {"slopes", "halving", "CoPE_ALiBi: halving (first_slope·2^−h), alibi (ALiBi's), learned (from 0)"},
      {"first_slope", "1", "CoPE_ALiBi with halving slopes: m of head 0"},
      {"relative_length", "0", "with relative: distances with a vector; 0: the trained length"},
      {"gate_bias", "false", "gates sep-key: the projection W_g has a bias"},
      {"hard_attention", "false", "attend to the largest logit alone; evaluation only"},
  };
  std::ranges::move(RopeOptions::described(), std::back_inserter(options));
  return options;
}

}  // namespace

Result<CopeOptions> CopeOptions::from(const Settings& settings) {
  CopeOptions options;
  LOCUS_TRY(options.gates, settings.text("gates", options.gates));
  LOCUS_TRY(options.form, settings.text("form", options.form));
  LOCUS_TRY(options.with, settings.text("with", options.with));
  LOCUS_TRY(options.p_max, settings.integer("p_max", options.p_max));
  LOCUS_TRY(options.scale_positions, settings.boolean("scale_positions", options.scale_positions));
  LOCUS_TRY(options.per_layer, settings.boolean("per_layer", options.per_layer));
  LOCUS_TRY(options.every, settings.integer("every", options.every));
  LOCUS_TRY(options.rotate_gates, settings.boolean("rotate_gates", options.rotate_gates));
  LOCUS_TRY(options.hidden, settings.integer("hidden", options.hidden));
  LOCUS_TRY(options.slopes, settings.text("slopes", options.slopes));
  LOCUS_TRY(options.first_slope, settings.number("first_slope", options.first_slope));
  LOCUS_TRY(options.relative_length, settings.integer("relative_length", options.relative_length));
  LOCUS_TRY(options.gate_bias, settings.boolean("gate_bias", options.gate_bias));
  LOCUS_TRY(options.hard_attention, settings.boolean("hard_attention", options.hard_attention));
  LOCUS_TRY(options.rope, RopeOptions::from(settings));
  LOCUS_CHECK(one_of("gates", options.gates, {"key", "sep-key", "value"}));
  LOCUS_CHECK(one_of("form", options.form, {"interpolate", "mlp", "alibi"}));
  LOCUS_CHECK(one_of("with", options.with, {"none", "relative", "rope"}));
  LOCUS_CHECK(one_of("slopes", options.slopes, {"halving", "alibi", "learned"}));
  LOCUS_CHECK(in_range("p_max", options.p_max, 1, 1 << 24));
  LOCUS_CHECK(in_range("every", options.every, 1, 1 << 20));
  LOCUS_CHECK(in_range("hidden", options.hidden, 1, 1 << 16));
  LOCUS_CHECK(in_range("relative_length", options.relative_length, 0, std::int64_t{1} << 31));
  if (options.gate_bias && options.gates != "sep-key") {
    return bad_input("option gate_bias: expected false unless gates is sep-key, found true with gates " +
                     options.gates);
  }
  if (!std::isfinite(options.first_slope)) {
    return bad_input("option first_slope: expected a number, found " + to_text(SettingValue(options.first_slope)));
  }
  return options;
}

Settings CopeOptions::settings() const {
  Settings settings = rope.settings();
  settings.set("gates", gates);
  settings.set("form", form);
  settings.set("with", with);
  settings.set("p_max", p_max);
  settings.set("scale_positions", scale_positions);
  settings.set("per_layer", per_layer);
  settings.set("every", every);
  settings.set("rotate_gates", rotate_gates);
  settings.set("hidden", hidden);
  settings.set("slopes", slopes);
  settings.set("first_slope", first_slope);
  settings.set("relative_length", relative_length);
  settings.set("gate_bias", gate_bias);
  settings.set("hard_attention", hard_attention);
  return settings;
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
      .options = described(),
      .scores = true,
      .has_gates = true,
      .has_waves = true,
      .waves_where = {"with", "rope"},
  };
  return description;
}

}  // namespace locus::position
