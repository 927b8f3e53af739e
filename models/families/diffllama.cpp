// DiffLlama: Llama whose heads come in pairs, of which the second is subtracted (differential attention); λ₀ grows with
// the layer.
#include <cmath>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_diffllama(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  plan.spec.each([](std::int64_t n, transformer::LayerSpec& layer) {
    layer.attention.difference = 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(n));
    layer.attention.value_width = 2 * layer.attention.head_width;
  });
  return {};
}

}  // namespace

const Family kDiffLlama = [] {
  Family family = llama("diffllama");
  family.finish = finish_diffllama;
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.names.push_back({"layers.N.attention.{difference_a,difference_b,difference_c,difference_d}",
                          "layers.N.self_attn.{lambda_q1,lambda_k1,lambda_q2,lambda_k2}"});
  family.harmless = {"lambda_std_dev"};
  return family;
}();

}  // namespace locus::families
