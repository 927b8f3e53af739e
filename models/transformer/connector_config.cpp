#include "models/transformer/connector_config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/formats/json/json.h"
#include "models/transformer/locus_fields.h"

namespace locus::transformer {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr WordTable<ConnectorKind, 9> kKinds{{{"join", ConnectorKind::kJoin},
                                              {"join-apart", ConnectorKind::kJoinApart},
                                              {"pool", ConnectorKind::kPool},
                                              {"norm", ConnectorKind::kNorm},
                                              {"linear", ConnectorKind::kLinear},
                                              {"activation", ConnectorKind::kActivation},
                                              {"gated", ConnectorKind::kGated},
                                              {"halve", ConnectorKind::kHalve},
                                              {"scale", ConnectorKind::kScale}}};
constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kLongestName = 64;

bool has_parameters(ConnectorKind kind) {
  return kind == ConnectorKind::kNorm || kind == ConnectorKind::kLinear || kind == ConnectorKind::kGated ||
         kind == ConnectorKind::kScale;
}

bool is_name(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return !name.empty() && name.size() <= kLongestName && name.find_first_not_of(kAllowed) == name.npos;
}

// The value named by a field's word; `fallback` where the field is absent.
template <class Names, class Value>
Result<Value> word(const JsonObject& object, const char* field, const Names& names, Value fallback) {
  const json* const found = object.find(field);
  if (found == nullptr) {
    return fallback;
  }
  const std::optional<Value> named = found->is_string() ? find_word(names, found->get<std::string>()) : std::nullopt;
  return named ? Result<Value>(*named) : object.wrong(field, "one of " + words_of(names));
}

Result<ConnectorStep> read_step(const json& value, const std::string& where) {
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  if (object.find("kind") == nullptr) {
    return object.wrong("kind", "one of " + words_of(kKinds));
  }
  ConnectorStep step;
  LOCUS_TRY(step.kind, word(object, "kind", kKinds, step.kind));
  LOCUS_TRY(step.name, object.text("name", step.name));
  if (has_parameters(step.kind) ? !is_name(step.name) : !step.name.empty()) {
    return object.wrong("name", has_parameters(step.kind) ? "up to 64 letters, digits and _" : "none");
  }
  LOCUS_TRY(step.size, object.integer("size", step.size));
  LOCUS_TRY(step.bias, object.boolean("bias", step.bias));
  LOCUS_TRY(step.weight, object.boolean("weight", step.weight));
  LOCUS_TRY(step.norm, word(object, "norm", kNorms, step.norm));
  LOCUS_TRY(step.eps, object.number("eps", step.eps));
  if (!(step.eps >= 0 && step.eps <= 1)) {
    return object.wrong("eps", "a number from 0 to 1");
  }
  if (object.find("activation") != nullptr) {
    LOCUS_TRY(const std::string named, object.get<std::string>("activation"));
    LOCUS_TRY(step.activation, within(parse_activation(named), where));
  }
  return step;
}

Result<std::vector<std::int64_t>> read_states(const JsonObject& object) {
  LOCUS_TRY(const json* const list, object.array("states"));
  if (list->empty() || list->size() > static_cast<std::size_t>(kMaxLayers)) {
    return object.wrong("states", "a list of states of the tower");
  }
  std::vector<std::int64_t> states;
  for (const json& each : *list) {
    const std::optional<std::int64_t> state = whole_number(each, 0, kMaxLayers);
    if (!state) {
      return object.wrong("states", "whole numbers from 0 to " + std::to_string(kMaxLayers));
    }
    states.push_back(*state);
  }
  return states;
}

ordered_json step_json(const ConnectorStep& step) {
  ordered_json object = {{"kind", word_of(kKinds, step.kind)}};
  if (has_parameters(step.kind)) {
    object["name"] = step.name;
    object["bias"] = step.bias;
  }
  if (step.kind == ConnectorKind::kNorm) {
    object["norm"] = word_of(kNorms, step.norm);
    object["eps"] = step.eps;
    if (!step.weight) {
      object["weight"] = false;
    }
  } else if (step.kind != ConnectorKind::kActivation && step.kind != ConnectorKind::kHalve &&
             step.kind != ConnectorKind::kScale) {
    object["size"] = step.size;
  }
  if (step.kind == ConnectorKind::kActivation || step.kind == ConnectorKind::kGated ||
      step.kind == ConnectorKind::kHalve) {
    object["activation"] = to_text(step.activation);
  }
  return object;
}

}  // namespace

ordered_json connector_config(const ConnectorSpec& spec) {
  ordered_json steps = ordered_json::array();
  for (const ConnectorStep& step : spec.steps) {
    steps.push_back(step_json(step));
  }
  return {{"states", spec.states}, {"class_tokens", spec.class_tokens}, {"steps", std::move(steps)}};
}

Result<ConnectorSpec> parse_connector_config(const json& config, const std::string& file) {
  LOCUS_TRY(const JsonObject object, JsonObject::of(config, file + ": connector"));
  ConnectorSpec spec;
  LOCUS_TRY(spec.states, read_states(object));
  LOCUS_TRY(spec.class_tokens, object.boolean("class_tokens", spec.class_tokens));
  LOCUS_TRY(const json* const steps, object.array("steps"));
  if (steps->empty() || steps->size() > kMaxSteps) {
    return object.wrong("steps", "a list of 1 to " + std::to_string(kMaxSteps) + " steps");
  }
  for (const json& each : *steps) {
    const std::string where = object.where() + ": steps[" + std::to_string(spec.steps.size()) + "]";
    LOCUS_TRY(ConnectorStep step, read_step(each, where));
    const auto same = [&](const ConnectorStep& other) { return !step.name.empty() && other.name == step.name; };
    if (std::any_of(spec.steps.begin(), spec.steps.end(), same)) {
      return bad_input("name: expected one that no step before has, found " + step.name, where);
    }
    spec.steps.push_back(std::move(step));
  }
  return spec;
}

}  // namespace locus::transformer
