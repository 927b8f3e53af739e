// Locus's own checkpoints (`model_type: locus`): config.json as locus_config.h has it, tensors under Transformer's
// parameter names.
#include "core/base/atomic_file.h"
#include "models/json/json.h"
#include "models/transformer/families/engine/list.h"
#include "models/transformer/locus_config.h"

namespace locus::families {

namespace {

constexpr std::size_t kConfigLimit = 16 << 20;

Result<Plan> read_locus(const Checkpoint& checkpoint) {
  Plan plan;
  const std::string file = checkpoint.config.file();
  LOCUS_TRY(const std::string text, read_file(file, kConfigLimit));
  LOCUS_TRY(const nlohmann::json config, parse_json(text, file));
  LOCUS_TRY(plan.spec, transformer::parse_locus_config(config, file));
  plan.own_names = true;
  return plan;
}

}  // namespace

const Family kLocus{.name = "locus", .read = read_locus};

}  // namespace locus::families
