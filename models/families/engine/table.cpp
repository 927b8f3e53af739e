// Tables of families: reading a plan from one, and the fields of a config.json from a spec.
#include <algorithm>
#include <utility>

#include "core/base/lists.h"
#include "core/base/shown.h"
#include "models/families/engine/family.h"
#include "models/families/engine/heads.h"
#include "models/families/engine/slots.h"
#include "models/formats/json/settings_json.h"
#include "models/transformer/transformer.h"

namespace locus::families {

namespace {

using transformer::Activation;

template <class... Cases>
struct Either : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Either(Cases...) -> Either<Cases...>;

// Reads one field. Required fields have no fallback; a fallback equal to the slot's value keeps it.
Status read_field(const Field& field, const Config& config, Draft& draft) {
  const std::string_view name = spelled(config, field.names);
  for (const std::string_view other : field.names) {  // another spelling may repeat the value
    config.repeats(name, other);
  }
  const bool required = std::holds_alternative<std::monostate>(field.fallback);
  return std::visit(
      Either{[&](std::int64_t& (*slot)(Draft&)) -> Status {
               const auto* const fallback = std::get_if<std::int64_t>(&field.fallback);
               LOCUS_TRY(slot(draft), required ? config.integer(name) : config.integer(name, fallback ? *fallback : 0));
               return {};
             },
             [&](double& (*slot)(Draft&)) -> Status {
               const auto* const fallback = std::get_if<double>(&field.fallback);
               LOCUS_TRY(slot(draft), required ? config.number(name) : config.number(name, fallback ? *fallback : 0));
               return {};
             },
             [&](bool& (*slot)(Draft&)) -> Status {
               const auto* const fallback = std::get_if<bool>(&field.fallback);
               LOCUS_TRY(slot(draft), required ? config.boolean(name) : config.boolean(name, fallback && *fallback));
               return {};
             },
             [&](Activation& (*slot)(Draft&)) -> Status {
               const auto* const fallback = std::get_if<const char*>(&field.fallback);
               LOCUS_TRY(const std::string named, config.text(name, fallback ? *fallback : ""));
               LOCUS_TRY(slot(draft), transformer::parse_activation(named));
               return {};
             }},
      field.slot);
}

SettingValue value_of(const Field& field, Draft& draft) {
  return std::visit(Either{[&](Activation& (*slot)(Draft&)) { return SettingValue(to_text(slot(draft))); },
                           [&](auto& (*slot)(Draft&)) { return SettingValue(slot(draft)); }},
                    field.slot);
}

// is_causal: false makes a decoder bidirectional, with its windows extended equally to both sides, both ends included,
// as in transformers 5. Its decoders with ALiBi add a slope times the key's index, which both ways is no bias of the
// distance.
Status read_direction(const Config& config, transformer::Spec& spec) {
  LOCUS_TRY(const bool causal, config.boolean("is_causal", true));
  if (causal || !spec.causal) {
    return {};
  }
  for (const transformer::LayerSpec& layer : spec.layers) {
    if (layer.attention.chunk > 0 || layer.cross) {
      return unsupported("expected true with attention chunks or beside an encoder, found false",
                         config.context("is_causal"));
    }
  }
  for (const transformer::EncodingSpec& encoding : spec.encodings) {
    if (encoding.name == "alibi") {
      return unsupported("expected true with ALiBi, found false", config.context("is_causal"));
    }
  }
  spec.causal = false;
  spec.each([](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.window += layer.attention.window > 0 ? 1 : 0;
  });
  return {};
}

bool of_window(const Field& field) {
  return field.slot == Slot(slot::window);
}

void add_names(const std::vector<Name>& names, const std::string& prefix, Plan& plan) {
  for (const Name& each : names) {
    plan.name(each.parameter, prefix + each.tensor, each.layout, each.piece);
  }
}

// A tensor of a row in the first layer, of the first item.
std::string of_first_layer(const std::string& tensor) {
  std::string name;
  for (const std::string_view part : split(tensor, ".")) {
    const bool joined = part.ends_with("_J");
    name += (name.empty() ? "" : ".") + (part == "N" || part == "J" ? std::string("0")
                                         : joined                   ? std::string(part.substr(0, part.size() - 1)) + "0"
                                                                    : std::string(part));
  }
  return name;
}

// Puts the row whose tensor the checkpoint has before others of the same parameter of the layers: a file that is written
// again gets the names that it had.
void order_rows(const CheckpointFiles& checkpoint, Plan& plan) {
  const auto is_there = [&](const Name& row) {
    const std::string tensor = of_first_layer(row.tensor);
    return checkpoint.find(tensor) != nullptr || checkpoint.find(tensor + ".weight") != nullptr ||
           checkpoint.find(tensor + ".bias") != nullptr;
  };
  for (auto row = plan.names.begin(); row != plan.names.end(); ++row) {
    const auto next = std::find_if(row + 1, plan.names.end(), [&](const Name& each) {
      return each.parameter == row->parameter && each.parameter.starts_with("layers.") && !is_there(*row) &&
             is_there(each);
    });
    if (next != plan.names.end()) {
      std::rotate(row, next, next + 1);
    }
  }
}

// Equality except for the layout of q, k and v, and for encoding options with default values.
bool same(transformer::Spec left, transformer::Spec right) {
  for (transformer::Spec* spec : {&left, &right}) {
    const auto made = transformer::Transformer::create(*spec, false);
    for (std::size_t n = 0; made.ok() && n < spec->encodings.size(); ++n) {
      spec->encodings[n].options = (*made)->encodings()[n].encoding->settings();
    }
    for (transformer::LayerSpec& layer : spec->layers) {
      layer.attention.qkv = transformer::QkvLayout::kSeparate;
    }
  }
  return left == right;
}

}  // namespace

void Family::set(Field field) {
  const auto known =
      std::find_if(fields.begin(), fields.end(), [&](const Field& each) { return each.slot == field.slot; });
  if (known == fields.end()) {
    fields.push_back(std::move(field));
  } else {
    *known = std::move(field);
  }
}

void Family::rename(const Name& row) {
  const std::vector<std::string> replaced = spelled_out(row.parameter);
  std::vector<Name> kept;
  for (const Name& each : names) {
    const std::vector<std::string> parameters = spelled_out(each.parameter);
    const std::vector<std::string> tensors = spelled_out(each.tensor);
    for (std::size_t n = 0; n < parameters.size(); ++n) {
      if (std::find(replaced.begin(), replaced.end(), parameters[n]) == replaced.end()) {
        kept.push_back({parameters[n], tensors[n], each.layout, each.piece});
      }
    }
  }
  names = std::move(kept);
  names.push_back(row);
}

Result<transformer::Spec> spec_of(Draft draft, const Config& config) {
  transformer::AttentionSpec& attention = draft.layer.attention;
  attention.kv_heads = attention.kv_heads == kFollows ? attention.heads : attention.kv_heads;
  if (attention.latent.rank > 0) {
    constexpr std::int64_t kMaxWidth = std::int64_t{1} << 23;
    const std::int64_t rotated = attention.latent.rotated;
    const bool sizes = rotated > 0 && rotated <= kMaxWidth && draft.plain_width > 0 && draft.plain_width <= kMaxWidth;
    attention.head_width = sizes ? rotated + draft.plain_width : 0;
  }
  if (attention.head_width == kFollows) {
    LOCUS_TRY(attention.head_width, divided_heads(draft.spec.width, attention.heads, config));
  }
  if (draft.layer.feed_forward.inner == kFollows) {
    constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;
    draft.layer.feed_forward.inner = draft.spec.width > 0 && draft.spec.width <= kMaxWidth ? 4 * draft.spec.width : 0;
  }
  if (draft.token_width > 0 && draft.token_width != draft.spec.width) {
    draft.spec.embedding_width = draft.token_width;
  }
  if (attention.norm.form != transformer::QueryNormForm::kNone) {
    attention.norm.eps = draft.query_norm_eps > 0 ? draft.query_norm_eps : draft.spec.norm_eps;
  }
  if (draft.attention_bias || draft.qkv_bias) {
    attention.set_qkv_bias(true);
  }
  attention.output_bias = attention.output_bias || draft.attention_bias;
  LOCUS_CHECK(within(transformer::validate(draft.layer, draft.count), config.file()));
  draft.spec.repeat(draft.layer, draft.count);
  LOCUS_CHECK(check_spec(draft.spec, config));
  return std::move(draft.spec);
}

Result<Plan> read_table(const Family& family, const CheckpointFiles& checkpoint, const Config& config) {
  Draft draft;
  draft.layer.attention.kv_heads = draft.layer.attention.head_width = draft.layer.feed_forward.inner = kFollows;
  draft.layer.attention.qkv = transformer::QkvLayout::kSeparate;
  if (family.fixed != nullptr) {
    family.fixed(draft);
  }
  for (const Family::Step& step : family.steps) {
    LOCUS_CHECK(step.set(config, draft));
  }
  for (const Field& field : family.fields) {
    LOCUS_CHECK(read_field(field, config, draft));
  }
  // A window of 0 keys is an error; null means no window.
  const auto window = std::find_if(family.fields.begin(), family.fields.end(), of_window);
  if (window != family.fields.end() && config.has(window->names.front()) && draft.layer.attention.window < 1) {
    return bad_input("expected at least 1, found " + std::to_string(draft.layer.attention.window),
                     config.context(window->names.front()));
  }
  for (const std::string_view flag : family.refused) {
    LOCUS_TRY(const bool set, config.boolean(flag, false));
    if (set) {
      return unsupported("field " + std::string(flag) + ": Locus reads checkpoints without it", config.file());
    }
  }
  LOCUS_CHECK(check_fixed_fields(config, family.fixed_fields));
  Plan plan;
  LOCUS_TRY(plan.spec, spec_of(std::move(draft), config));
  const std::string prefix =
      family.prefixes.empty() ? "" : checkpoint.prefix_of(family.prefixes, std::string(family.anchor));
  add_names(family.names, prefix, plan);
  if (!family.outside.empty()) {
    std::string first = family.outside.front().tensor;
    first += first.ends_with(".weight") || first.ends_with(".bias") ? "" : ".weight";
    add_names(family.outside, checkpoint.prefix_of(family.outside_prefixes, first), plan);
  }
  plan.skipped = family.skipped;
  if (family.finish != nullptr) {
    LOCUS_CHECK(family.finish(checkpoint, plan));
  }
  LOCUS_CHECK(read_direction(config, plan.spec));
  transformer::separate_shapes(plan.spec);
  LOCUS_CHECK(check_spec(plan.spec, config));
  plan.unverified = unverified_by(family, config);
  if (!plan.unverified.empty()) {
    plan.warnings.push_back(std::string(family.file) + ": family " + std::string(family.name) +
                            " is not verified: compare it with its authors' code (locus verify, locus help families)");
  }
  return plan;
}

Result<Plan> read_plan(const Family& family, const CheckpointFiles& checkpoint) {
  LOCUS_TRY(Plan plan,
            family.read != nullptr ? family.read(checkpoint) : read_table(family, checkpoint, checkpoint.config));
  if (checkpoint.tensors != nullptr) {
    order_rows(checkpoint, plan);
    settle_head(checkpoint, plan);
  }
  return plan;
}

std::optional<Written> written(const Family& family, const transformer::Spec& spec) {
  Settings encoding;
  if (family.write_encoding == nullptr || !family.write_encoding(spec, encoding)) {
    return std::nullopt;
  }
  Draft draft{spec, spec.first(), spec.depth()};
  const transformer::AttentionSpec& attention = draft.layer.attention;
  draft.attention_bias = attention.query_bias && attention.key_bias && attention.value_bias && attention.output_bias;
  draft.qkv_bias = attention.query_bias && attention.key_bias && attention.value_bias && !attention.output_bias;
  std::vector<std::pair<std::string, SettingValue>> fields{{"model_type", std::string(family.name)}};
  Settings all = encoding;
  all.set("model_type", std::string(family.name));
  for (const Field& field : family.fields) {
    if (of_window(field) && attention.window == 0) {
      continue;  // an absent field means no window
    }
    fields.emplace_back(field.names.front(), value_of(field, draft));
    all.set(fields.back().first, fields.back().second);
  }
  for (const auto& [name, value] : encoding.values()) {
    fields.emplace_back(name, value);
  }
  // Accepts the written fields only if reading them gives the same spec.
  CheckpointFiles again;
  const Result<Config> config = Config::parse_json(models::to_json(all).dump(), "config.json");
  if (!config.ok()) {
    return std::nullopt;
  }
  Result<Plan> plan = read_table(family, again, *config);
  if (!plan.ok() || !same(plan->spec, spec)) {
    return std::nullopt;
  }
  return Written{std::move(fields), std::move(*plan)};
}

}  // namespace locus::families
