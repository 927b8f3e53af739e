#include "models/families/files/file_encodings.h"

#include <algorithm>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/base/words.h"
#include "models/families/engine/rope.h"
#include "models/transformer/transformer.h"

namespace locus::families {

namespace {

using formats::Node;

// Words of the file and RoPE's own.
constexpr WordTable<const char*, 3> kPairs{{{"halves", "half"}, {"neighbours", "interleaved"}, {"swapped", "swapped"}}};

void read_rope(const Node& node, FileEncoding& encoding) {
  encoding.kind = "rope";
  node.each_field([&](const std::string& name, const Node& value) {
    if (name == "rope" && value.value().is_list()) {
      value.read(encoding.paths);
    } else if (name == "rope") {
      value.read(encoding.paths.emplace_back());
    } else if (name == "base") {
      encoding.base.push_back(Value::read(value));
    } else if (name == "bases") {
      value.read(encoding.bases);
    } else if (name == "fraction") {
      encoding.fraction.push_back(Value::read(value));
    } else if (name == "pairs") {
      std::string pairs;
      value.read(pairs);
      if (const auto layout = find_word(kPairs, pairs)) {
        encoding.layout = *layout;
      } else {
        value.fail("halves, neighbours or swapped");
      }
    } else {
      value.fail(
          bad_input(value.path() + ": expected one of rope, base, bases, fraction, pairs, found " + shown(name)));
    }
  });
  if (encoding.paths.empty()) {
    node.fail("a path of the config");
  }
  if (!encoding.bases.empty() && encoding.paths != std::vector<std::string>{"rope_parameters"}) {
    node.fail("bases beside rope_parameters");
  }
}

// Checks the name of the encoding, and the options that are constants, on a small model.
void check_kind(const Node& node, const FileEncoding& encoding) {
  transformer::Spec spec;
  spec.trained_length = 16;
  transformer::EncodingSpec own{encoding.kind, {}};
  for (const auto& [name, value] : encoding.options) {
    if (value.constant()) {
      if (const Result<SettingValue> set = value.of(Config()); set.ok()) {
        own.options.set(name, *set);
      }
    }
  }
  spec.encodings = {own};
  if (const auto made = transformer::Transformer::create(spec, false); !made.ok()) {
    node.fail(made.error().within(node.path()));
  }
}

Result<Config> block_of(const FileEncoding& encoding, const Config& config) {
  for (const std::string& path : encoding.paths) {
    if (config.has(path)) {
      return config.object(path);
    }
  }
  return Config();
}

Result<transformer::EncodingSpec> encoding_of(const FileEncoding& encoding, const Config& config) {
  Settings options;
  if (encoding.kind != "rope" || encoding.paths.empty()) {
    for (const auto& [name, value] : encoding.options) {
      LOCUS_TRY(SettingValue set, value.of(config));
      options.set(name, std::move(set));
    }
    return transformer::EncodingSpec{encoding.kind, std::move(options)};
  }
  LOCUS_TRY(const Config block, block_of(encoding, config));
  double base = 10000;
  if (!encoding.base.empty()) {
    LOCUS_TRY(base, encoding.base.front().number(config));
  }
  LOCUS_TRY(options, rope_options(config, block, base, {.whole = encoding.fraction.empty()}));
  double fraction = 1;
  if (!encoding.fraction.empty()) {
    LOCUS_TRY(fraction, encoding.fraction.front().number(config));
  }
  LOCUS_TRY(const double own, block.number("partial_rotary_factor", fraction));
  const bool proportional = options.has("proportion");  // the factor is applied already
  if (!proportional && encoding.fraction.empty() && own != 1) {
    return unsupported("expected 1, found " + general_text(own, 6), block.context("partial_rotary_factor"));
  }
  if (encoding.layout != std::string_view("half")) {
    options.set("layout", std::string(encoding.layout));
  }
  if (!proportional && own != 1) {
    options.set("fraction", own);
  }
  return transformer::EncodingSpec{"rope", std::move(options)};
}

// One RoPE for all layers, or one per layer type where the config has blocks for them.
Status set_only_rope(const FileEncoding& encoding, const Config& config, Plan& plan) {
  double base = 10000;
  if (!encoding.base.empty()) {
    LOCUS_TRY(base, encoding.base.front().number(config));
  }
  double fraction = 1;
  if (!encoding.fraction.empty()) {
    LOCUS_TRY(const double fallback, encoding.fraction.front().number(config));
    LOCUS_TRY(fraction, rotated_fraction(config, fallback));
  }
  return set_rope(config, plan, base, encoding.layout, fraction);
}

// One encoding for each base of a list; layers of base 0 have none.
Status set_bases(const std::string& list, const Config& config, Plan& plan) {
  if (!config.has(list)) {
    return {};
  }
  LOCUS_TRY(const std::vector<double> bases, config.numbers(list));
  LOCUS_CHECK(check_entries(bases.size(), plan.spec.depth(), config.context(list)));
  if (plan.spec.encodings.size() != 1) {
    return unsupported("expected one RoPE beside a list of bases, found one for each layer type", config.context(list));
  }
  const transformer::EncodingSpec one = plan.spec.encodings.front();
  std::vector<double> known;
  plan.spec.encodings.clear();
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    const double base = bases[static_cast<std::size_t>(n)];
    const auto found = std::find(known.begin(), known.end(), base);
    layer.encoding = base == 0 ? -1 : found - known.begin();
    if (base != 0 && found == known.end()) {
      known.push_back(base);
      plan.spec.encodings.push_back(one);
      plan.spec.encodings.back().options.set("base", base);
    }
  });
  if (known.empty()) {
    plan.spec.encodings.push_back(one);
  }
  return {};
}

}  // namespace

std::vector<FileEncoding> read_file_encodings(const Node& node) {
  std::vector<FileEncoding> encodings;
  node.expect_object();
  node.each_field([&](const std::string& name, const Node& value) {
    FileEncoding encoding;
    encoding.name = name;
    value.expect_object();
    if (value.has("kind")) {
      value.get("kind", encoding.kind);
      value.each_field([&](const std::string& option, const Node& set) {
        if (option != "kind") {
          encoding.options.emplace_back(option, Value::read(set));
        }
      });
      check_kind(value, encoding);
    } else if (value.has("rope")) {
      read_rope(value, encoding);
    } else {
      value.fail("rope or kind");
    }
    encodings.push_back(std::move(encoding));
  });
  return encodings;
}

Status apply_file_encodings(const std::vector<FileEncoding>& encodings, const Config& config, Plan& plan) {
  if (encodings.size() == 1 && encodings.front().paths == std::vector<std::string>{"rope_parameters"}) {
    LOCUS_CHECK(set_only_rope(encodings.front(), config, plan));
    return encodings.front().bases.empty() ? Status() : set_bases(encodings.front().bases, config, plan);
  }
  plan.spec.encodings.clear();
  for (const FileEncoding& encoding : encodings) {
    LOCUS_TRY(transformer::EncodingSpec own, encoding_of(encoding, config));
    plan.spec.encodings.push_back(std::move(own));
  }
  plan.spec.each([](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = 0; });
  return {};
}

}  // namespace locus::families
