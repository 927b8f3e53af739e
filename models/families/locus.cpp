// Locus's own checkpoints (`model_type: locus`): config.json as in locus_config.h, tensors under Transformer's
// parameter names; those of an image tower begin with "vision.", those of its connector with "connector.".
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/families/engine/vision.h"
#include "models/families/list.h"
#include "models/formats/json/json.h"
#include "models/transformer/connector_config.h"
#include "models/transformer/locus_config.h"
#include "models/transformer/locus_fields.h"
#include "models/transformer/transformer.h"

namespace locus::families {

namespace {

constexpr std::size_t kConfigLimit = 16 << 20;

// Rows from each parameter `ours` + its name to the tensor `theirs` + its name.
std::vector<Name> prefixed(const std::vector<transformer::Parameter>& parameters, const std::string& ours,
                           const std::string& theirs) {
  std::set<std::string> patterns;
  for (const transformer::Parameter& parameter : parameters) {
    patterns.insert(named_by_pattern(parameter.name));
  }
  std::vector<Name> rows;
  for (const std::string& pattern : patterns) {
    rows.push_back({ours + pattern, theirs + pattern});
  }
  return rows;
}

// Reads `vision`, `connector` and `placeholder`, which occur together; null where the file has none of them.
Result<std::shared_ptr<const VisionPlan>> read_vision_fields(const nlohmann::json& config, const Plan& text,
                                                             const std::string& file) {
  LOCUS_TRY(const JsonObject object, JsonObject::of(config, file));
  const nlohmann::json* const vision = object.find("vision");
  const nlohmann::json* const connector = object.find("connector");
  const nlohmann::json* const placeholder = object.find("placeholder");
  if (vision == nullptr && connector == nullptr && placeholder == nullptr) {
    return std::shared_ptr<const VisionPlan>();
  }
  if (vision == nullptr || connector == nullptr || placeholder == nullptr) {
    return bad_input("expected vision, connector and placeholder together", file);
  }
  if (text.spec.is_image()) {
    return bad_input("vision: expected a text model with it, found an image model", file);
  }
  auto plan = std::make_shared<VisionPlan>();
  LOCUS_TRY(plan->tower.spec, transformer::parse_locus_config(*vision, file + ": vision"));
  if (!plan->tower.spec.is_image() || plan->tower.spec.head) {
    return bad_input("vision: expected an image model without head", file);
  }
  LOCUS_TRY(plan->connector, transformer::parse_connector_config(*connector, file));
  const std::optional<std::int64_t> id = whole_number(*placeholder, 0, text.spec.vocabulary - 1);
  if (!id) {
    return object.wrong("placeholder", "an id from 0 to " + std::to_string(text.spec.vocabulary - 1));
  }
  plan->placeholders.id = *id;
  LOCUS_TRY(const auto tower, within(transformer::Transformer::create(plan->tower.spec, false), file + ": vision"));
  plan->tower.names = prefixed(tower->parameters(), "", "vision.");
  LOCUS_TRY(transformer::Connector made,
            within(transformer::Connector::create(plan->connector, plan->tower.spec, text.spec.width), file));
  plan->names = prefixed(made.parameters(), "connector.", "connector.");
  return std::shared_ptr<const VisionPlan>(std::move(plan));
}

// Marks each field of the lists in locus_fields.h as read; another reader has used them.
class Ask {
 public:
  explicit Ask(const Config& config) : config_(config) {}
  void operator()(const char* field, auto&) { config_.has(field); }
  void name(const char* field, const auto&, auto&) { config_.has(field); }

 private:
  const Config& config_;
};

void mark_read(const Config& config, transformer::Spec spec) {
  Ask ask(config);
  transformer::visit_model(ask, spec);
  transformer::visit_layer(ask, spec.layers.front());
  for (const char* const field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "position_encoding", "layers", "cross", "image", "norm_place",
        "qkv_bias", "window_from_layer", "vision", "connector", "placeholder"}) {
    config.has(field);
  }
}

Result<Plan> read_locus(const CheckpointFiles& checkpoint) {
  Plan plan;
  const std::string file = checkpoint.config.file();
  LOCUS_TRY(const std::string text, read_file(file, kConfigLimit));
  LOCUS_TRY(const nlohmann::json config, parse_json(text, file));
  LOCUS_TRY(plan.spec, transformer::parse_locus_config(config, file));
  plan.own_names = true;
  LOCUS_TRY(plan.vision, read_vision_fields(config, plan, file));
  mark_read(checkpoint.config, plan.spec);
  return plan;
}

}  // namespace

const Family kLocus{.name = "locus", .read = read_locus};

}  // namespace locus::families
