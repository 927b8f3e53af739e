// Families as files: what is refused, families of the program written as files, and what a file can say.
#include "models/families/files/family_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/shown.h"
#include "models/api/families.h"
#include "models/api/verify.h"
#include "models/families/files/family_files.h"
#include "models/families/list.h"
#include "models/transformer/transformer.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using families::Family;

Result<const Family*> built_in(const std::string& name) {
  for (const Family& family : families::families()) {
    if (family.name == name) {
      return &family;
    }
  }
  return unsupported("expected a family of the program, found " + shown(name));
}

Result<Family> read(const std::string& text) {
  return families::read_family_file(text, "odd.json", built_in);
}

// The plan of a config alone.
Result<families::Plan> plan_of(const Family& family, const std::string& config) {
  LOCUS_TRY(const formats::Config parsed, formats::Config::parse_json(config, "config.json"));
  families::CheckpointFiles checkpoint;
  checkpoint.config = parsed;
  return families::read_plan(family, checkpoint);
}

families::Plan plan_of_file(const std::string& text, const std::string& config) {
  const Result<Family> family = read(text);
  EXPECT_TRUE(family.ok()) << family.error().describe();
  Result<families::Plan> plan = family.ok() ? plan_of(*family, config) : Result<families::Plan>(family.error());
  EXPECT_TRUE(plan.ok()) << plan.error().describe();
  return plan.ok() ? *std::move(plan) : families::Plan();
}

const std::string kShape =
    R"("vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 24)";

// ---- what is refused

struct Wrong {
  const char* text;
  const char* place;  // what the error names
};

class FamilyFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(families());
    const char* const before = std::getenv("XDG_CONFIG_HOME");
    before_ = before == nullptr ? "" : before;
    setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    golden_ = fs::path(test::source_dir()) / "tests" / "golden" / "families" / "olmo2";
    fs::copy_file(golden_ / "model.safetensors", folder_.path() / "model.safetensors");
  }
  void TearDown() override {
    before_.empty() ? unsetenv("XDG_CONFIG_HOME") : setenv("XDG_CONFIG_HOME", before_.c_str(), 1);
  }
  fs::path families() const { return folder_.path() / "locus" / "families"; }
  // OLMo 2 under another model type, with these fields more.
  Result<std::shared_ptr<const models::Model>> opened(const std::string& type, const std::string& more) {
    std::string config = read_file(golden_ / "config.json", 1 << 20).value();
    const std::string named = R"("model_type": "olmo2")";
    const std::size_t at = config.find(named);
    EXPECT_NE(at, std::string::npos);
    config.replace(at, named.size(), R"("model_type": ")" + type + "\"" + more);
    folder_.write("config.json", config);
    return models::open(folder_.path(), {});
  }

  Result<const Family*> written(const std::string& name, const std::string& rest) {
    folder_.write(name + ".json", R"({"family": 1, "name": ")" + name + "\"" + rest + "}");
    return families::read_family(folder_.path() / (name + ".json"));
  }

  test::TemporaryFolder folder_;
  fs::path golden_;
  std::string before_;
};

TEST_F(FamilyFile, WrongFilesAreRefusedInOneLineWithTheirPlace) {
  const std::vector<Wrong> files{
      {R"({"family": 1, "name": "x", "inherits": "llama")", "odd.json"},
      {R"([1])", "$: expected an object"},
      {R"({"name": "x", "inherits": "llama"})", "$.family: expected 1"},
      {R"({"family": 2, "name": "x", "inherits": "llama"})", "$.family: expected 1"},
      {R"({"family": 1, "inherits": "llama"})", "$.name"},
      {R"({"family": 1, "name": "../x", "inherits": "llama"})", "$.name"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "hook": "rm"})", "$.hook"},
      {R"({"family": 1, "name": "x", "inherits": "horoscope"})", "$.inherits"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "types": "x"})", "$.types: expected a list"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"colour": 1}})", "$.set.colour: expected a slot"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"width": "wide"}})", "$.set.width"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"causal": 0}})", "$.set.causal"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"norm": "batch"}})", "$.set.norm"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"activation": "loud"}})", "$.set.activation"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"width": {"exec": "rm"}}})", "found exec"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"width": {"over": [1]}}})", "$.set.width.over"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"logit_cap": {"inverse": 0}}})", "$.set.logit_cap"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"width": {"field": "a", "then": 1}}})", "found then"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "fields": {"a": "colour"}})", "$.fields.a: expected a slot"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "fields": {"a": ["width", "wide"]}})", "$.fields.a"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "fields": {"a": "width", "b": "width"}})", "$.fields.b"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"width": 1}, "fields": {"b": "width"}})",
       "$.fields.b"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "fields": {"a|b": "width", "b": "heads"}})", "$.fields.b"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "settled": {"a": [[1]]}})", "$.settled.a[0]"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "encodings": {"a": {"base": 1}}})", "$.encodings.a"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "encodings": {"a": {"kind": "compass"}}})", "$.encodings.a"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "encodings": {"a": {"rope": "r", "pairs": "all"}}})",
       "$.encodings.a.pairs"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "layers": [{"when": 1}]})", "$.layers[0].when"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "layers": [{"list": "a", "set": {}}]})", "$.layers[0]"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "layers": [{"at": [1], "set": {}}]})", "$.layers[0]"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "layers": [{"else": true, "set": {"width": 8}}]})",
       "$.layers[0].set.width"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "layers": [{"else": true, "set": {"encoding": "far"}}]})",
       "$.layers[0].set.encoding"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "tensors": {"layers.N.colour": "c"}})",
       "$.tensors.layers.N.colour"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "tensors": {"layers.N.attention.{query,key}": "qk"}})",
       "$.tensors.layers.N.attention.{query,key}"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "tensors": {"final_norm": ["norm", "3/2"]}})",
       "$.tensors.final_norm[1]"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "tensors": {"final_norm": ["norm", "heads", "1/2"]}})",
       "$.tensors.final_norm"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"width": {"multiple": [1]}}})",
       "$.set.width.multiple"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "set": {"logit_cap": {"multiple": [5, 0]}}})",
       "$.set.logit_cap"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "tensors": {"final_norm": "a", "final_norm.weight": "b"}})",
       "two for final_norm.weight"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "tensors": {"final_norm": null}})",
       "row for parameter final_norm.weight"},
      {R"({"family": 1, "name": "x", "inherits": "llama", "head": 3})", "$.head"},
  };
  for (const Wrong& file : files) {
    SCOPED_TRACE(file.text);
    const Result<Family> family = read(file.text);
    ASSERT_FALSE(family.ok());
    const std::string line = family.error().describe();
    EXPECT_EQ(family.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(line.starts_with("odd.json")) << line;
    EXPECT_NE(line.find(file.place), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

TEST_F(FamilyFile, LongFilesAreRefused) {
  const std::string text =
      R"({"family": 1, "name": "x", "note": ")" + std::string(families::kFamilyFileLimit, 'a') + R"("})";
  const Result<Family> family = read(text);
  ASSERT_FALSE(family.ok());
  EXPECT_NE(family.error().describe().find("at most 64 KB"), std::string::npos) << family.error().describe();
}

TEST_F(FamilyFile, CirclesAndLongLinesOfInheritanceAreRefused) {
  folder_.write("b.json", R"({"family": 1, "name": "b", "inherits": "a"})");
  const Result<const Family*> circle = written("a", R"(, "inherits": "b")");
  ASSERT_FALSE(circle.ok());
  EXPECT_EQ(circle.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(circle.error().describe().find("circle"), std::string::npos) << circle.error().describe();
  for (int n = 1; n <= 9; ++n) {
    const std::string next = n == 9 ? "llama" : "l" + std::to_string(n + 1);
    folder_.write("l" + std::to_string(n) + ".json",
                  R"({"family": 1, "name": "l)" + std::to_string(n) + R"(", "inherits": ")" + next + R"("})");
  }
  EXPECT_FALSE(families::read_family(folder_.path() / "l1.json").ok());
  EXPECT_TRUE(written("short", R"(, "inherits": "llama")").ok());
}

TEST_F(FamilyFile, TheNameIsThatOfTheFile) {
  folder_.write("one.json", R"({"family": 1, "name": "two", "inherits": "llama"})");
  const Result<const Family*> family = families::read_family(folder_.path() / "one.json");
  ASSERT_FALSE(family.ok());
  EXPECT_NE(family.error().describe().find("$.name"), std::string::npos);
}

TEST_F(FamilyFile, EveryFileOfTheProgramIsRead) {
  std::size_t files = 0;
  for (const families::FamilyFile& file : families::family_files()) {
    EXPECT_FALSE(file.error.has_value()) << (file.error ? file.error->describe() : "");
    EXPECT_FALSE(file.family != nullptr && file.family->replaces) << file.path;
    ++files;
  }
  EXPECT_GT(files, 40U);
}

// ---- families of the program as files

void expect_same_plan(const families::Plan& ours, const families::Plan& theirs) {
  EXPECT_TRUE(ours.spec == theirs.spec);
  const auto made = transformer::Transformer::create(theirs.spec, false);
  ASSERT_TRUE(made.ok());
  for (const transformer::Parameter& parameter : (*made)->parameters()) {
    const auto mine = ours.bindings(parameter.name);
    const auto other = theirs.bindings(parameter.name);
    ASSERT_EQ(mine.size(), other.size()) << parameter.name;
    for (std::size_t n = 0; n < mine.size(); ++n) {
      EXPECT_EQ(mine[n].tensor, other[n].tensor) << parameter.name;
      EXPECT_EQ(mine[n].layout, other[n].layout) << parameter.name;
      EXPECT_EQ(mine[n].piece.index, other[n].piece.index) << parameter.name;
      EXPECT_EQ(mine[n].piece.of, other[n].piece.of) << parameter.name;
    }
  }
}

TEST_F(FamilyFile, TwinsOfFamiliesGiveTheSamePlan) {
  const fs::path twins = fs::path(test::source_dir()) / "tests" / "models" / "families" / "twins";
  const std::string window = R"(, "sliding_window": 8)";
  const std::vector<std::pair<std::string, std::vector<std::string>>> configs{
      {"llama",
       {"", R"(, "rope_theta": 7, "tie_word_embeddings": true, "attention_bias": true, "num_key_value_heads": 2)"}},
      {"mistral", {"", window + R"(, "head_dim": 6)"}},
      {"qwen3", {"", window + R"(, "use_sliding_window": true, "max_window_layers": 2)"}},
      {"olmo2", {"", R"(, "num_key_value_heads": 1)"}},
      {"granite", {"", R"(, "logits_scaling": 4, "embedding_multiplier": 3, "residual_multiplier": 0.5)"}},
      {"mixtral", {"", window + R"(, "num_local_experts": 3)"}},
      {"starcoder2", {"", window + R"(, "use_bias": false)"}},
      {"qwen3_moe",
       {R"(, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8)",
        R"(, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "mlp_only_layers": [2], "decoder_sparse_step": 2)"}},
      {"smollm3", {"", R"(, "no_rope_layers": [1, 0, 0, 1])", R"(, "no_rope_layer_interval": 2)"}},
      {"bert", {"", R"(, "hidden_act": "relu", "type_vocab_size": 3)"}},
  };
  for (const auto& [name, rest] : configs) {
    const Result<std::string> text = read_file(twins / (name + ".json"), families::kFamilyFileLimit);
    ASSERT_TRUE(text.ok()) << text.error().describe();
    const Result<Family> file = read(*text);
    ASSERT_TRUE(file.ok()) << file.error().describe();
    const Result<const Family*> own = built_in(name);
    ASSERT_TRUE(own.ok());
    for (const std::string& more : rest) {
      SCOPED_TRACE(name + more);
      const Result<families::Plan> ours = plan_of(*file, "{" + kShape + more + "}");
      const Result<families::Plan> theirs = plan_of(**own, "{" + kShape + more + "}");
      ASSERT_TRUE(ours.ok()) << ours.error().describe();
      ASSERT_TRUE(theirs.ok()) << theirs.error().describe();
      expect_same_plan(*ours, *theirs);
    }
  }
}

// ---- what a file can say

// Whatever a file says, it is read or refused in one line.
TEST_F(FamilyFile, DamagedFilesAreReadOrRefused) {
  fuzz::Mutator mutator(7);
  int refused = 0;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "assets/families")) {
    const std::string whole = read_file(entry.path(), 1 << 20).value();
    for (int n = 0; n < 40; ++n) {
      const Result<Family> family = read(mutator.damaged(whole, fuzz::Form::kJson));
      ++files;
      if (!family.ok()) {
        ++refused;
        EXPECT_EQ(family.error().describe().find('\n'), std::string::npos) << family.error().describe();
      }
    }
  }
  EXPECT_GT(files, 2000);
  EXPECT_GT(refused, files / 4);
  EXPECT_LT(refused, files);
}

TEST_F(FamilyFile, OfAUserIsNotVerifiedUntilTheAuthorsValuesAgree) {
  folder_.write("locus/families/right.json", R"({"family": 1, "name": "right", "inherits": "olmo2"})");
  folder_.write("locus/families/twice.json",
                R"({"family": 1, "name": "twice", "inherits": "olmo2", "set": {"embedding_scale": 2}})");
  for (const std::string name : {"twice", "right"}) {
    SCOPED_TRACE(name);
    const auto first = opened(name, "");
    ASSERT_TRUE(first.ok()) << first.error().describe();
    EXPECT_FALSE((*first)->info().unverified.empty());
    EXPECT_TRUE(std::any_of((*first)->info().warnings.begin(), (*first)->info().warnings.end(),
                            [](const auto& each) { return each.find("is not verified") != each.npos; }));
    const auto report = models::verify_expected(**first, golden_ / "expected.safetensors");
    ASSERT_TRUE(report.ok()) << report.error().describe();
    EXPECT_EQ(report->passed, name == "right");
    EXPECT_EQ(report->verified, name == "right" ? "right" : "");
    const auto again = opened(name, "");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)->info().unverified.empty(), name == "right");
  }
  // Another size and another name of the weights is verified with it, another form of the layers is not.
  const auto larger = opened("right", R"(, "_name_or_path": "larger")");
  ASSERT_TRUE(larger.ok());
  EXPECT_TRUE((*larger)->info().unverified.empty());
  const auto other = opened("right", R"(, "mlp_bias": false)");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->info().unverified.empty());
}

TEST_F(FamilyFile, ValuesAreFormulasOfFields) {
  const std::string file = R"({"family": 1, "name": "x", "inherits": "llama", "set": {
      "embedding_scale": {"sqrt": {"field": "hidden_size"}},
      "logit_scale": {"over": [{"field": "base|old_base", "or": 8, "null": 2}, {"plus": [{"field": "hidden_size"}, 16]}]},
      "residual_scale": {"inverse": {"times": [2, {"field": "depth", "or": 2}]}},
      "logit_cap": {"multiple": [{"field": "cap", "or": 7.5}, 4]}}})";
  const families::Plan absent = plan_of_file(file, "{" + kShape + "}");
  EXPECT_EQ(absent.spec.embedding_scale, 4);
  EXPECT_EQ(absent.spec.logit_scale, 0.25);
  EXPECT_EQ(absent.spec.residual_scale, 0.25);
  EXPECT_EQ(absent.spec.logit_cap, 8);
  EXPECT_EQ(plan_of_file(file, "{" + kShape + R"(, "cap": 8.9})").spec.logit_cap, 8);
  EXPECT_EQ(plan_of_file(file, "{" + kShape + R"(, "cap": 9})").spec.logit_cap, 12);
  const families::Plan present = plan_of_file(file, "{" + kShape + R"(, "base": null, "depth": 5})");
  EXPECT_EQ(present.spec.logit_scale, 0.0625);
  EXPECT_EQ(present.spec.residual_scale, 0.1);
  EXPECT_EQ(plan_of_file(file, "{" + kShape + R"(, "old_base": 16})").spec.logit_scale, 0.5);
}

TEST_F(FamilyFile, FieldsHaveWordsOfTheirOwn) {
  const std::string text = R"({"family": 1, "name": "x", "inherits": "llama", "fields": {
      "qk": [["attention.norm", "none", {"true": "head", "false": "none"}], ["norm_eps", 0.5, {"true": 0.25, "false": 0.5}]],
      "afn": ["activation", "silu", {"gelu": "gelu_tanh"}]}})";
  const families::Plan plan = plan_of_file(text, "{" + kShape + R"(, "qk": true, "afn": "gelu"})");
  EXPECT_EQ(plan.spec.first().attention.norm.form, transformer::QueryNormForm::kHead);
  EXPECT_EQ(plan.spec.first().feed_forward.activation, transformer::Activation::kGeluTanh);
  EXPECT_EQ(plan.spec.norm_eps, 0.25);
  EXPECT_EQ(plan_of_file(text, "{" + kShape + "}").spec.norm_eps, 0.5);
  const Result<Family> family = read(text);
  ASSERT_TRUE(family.ok());
  const Result<families::Plan> wrong = plan_of(*family, "{" + kShape + R"(, "afn": "loud"})");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().describe().find("afn"), std::string::npos) << wrong.error().describe();
}

std::vector<std::int64_t> windows(const families::Plan& plan) {
  std::vector<std::int64_t> list;
  for (const transformer::LayerSpec& layer : plan.spec.layers) {
    list.push_back(layer.attention.window);
  }
  return list;
}

std::vector<std::int64_t> turning(const families::Plan& plan) {
  std::vector<std::int64_t> list;
  for (const transformer::LayerSpec& layer : plan.spec.layers) {
    list.push_back(layer.encoding);
  }
  return list;
}

std::string with_layers(const std::string& rules) {
  return R"({"family": 1, "name": "x", "inherits": "llama", "encodings": {"far": {"rope": "rope_far", "base": 5}, "near": {"rope": "rope_near"}},
             "layers": )" +
         rules + "}";
}

TEST_F(FamilyFile, AListHasAnEntryForEachLayer) {
  const std::string file = with_layers(
      R"([{"else": true, "set": {"inner": {"times": [2, {"field": "widths", "or": 4}]}, "attention_scale": {"field": "scales", "or": 1}}}])");
  const families::Plan plan =
      plan_of_file(file, "{" + kShape + R"(, "widths": [1, 2, 3, 4], "scales": [0.5, 1, 2, 0.25]})");
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(plan.spec.layers[n].feed_forward.inner, static_cast<std::int64_t>(2 * (n + 1)));
  }
  EXPECT_EQ(plan.spec.layers[3].attention.scale, 0.25);
  EXPECT_EQ(plan_of_file(file, "{" + kShape + "}").spec.layers[2].feed_forward.inner, 8);
  const Result<Family> family = read(file);
  ASSERT_TRUE(family.ok());
  const Result<families::Plan> wrong = plan_of(*family, "{" + kShape + R"(, "widths": [1, 2]})");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().describe().find("widths"), std::string::npos) << wrong.error().describe();
}

TEST_F(FamilyFile, TheFirstRuleThatFitsALayerApplies) {
  using List = std::vector<std::int64_t>;
  const std::string file = with_layers(
      R"([{"list": "layer_types", "is": "sliding_attention", "every": 3, "at": [1, 2], "set": {"window": 7, "encoding": "near"}},
          {"else": true, "set": {"encoding": null}}])");
  EXPECT_EQ(windows(plan_of_file(file, "{" + kShape + "}")), (List{0, 7, 7, 0}));
  EXPECT_EQ(turning(plan_of_file(file, "{" + kShape + "}")), (List{-1, 1, 1, -1}));
  const std::string listed =
      R"(, "layer_types": ["sliding_attention", "full_attention", "full_attention", "sliding_attention"]})";
  EXPECT_EQ(windows(plan_of_file(file, "{" + kShape + listed)), (List{7, 0, 0, 7}));
  const std::string groups = with_layers(
      R"([[{"from": 1, "before": {"field": "last", "or": 3}, "set": {"window": 5}}], [{"in": {"field": "flat"}, "set": {"encoding": null}}],
          [{"if": "cut", "letters": {"field": "pattern"}, "is": "L", "set": {"soft_cap": 2}}], [{"every": 2, "set": {"inner": 8}}]])");
  const families::Plan plan =
      plan_of_file(groups, "{" + kShape + R"(, "flat": [0, 3], "cut": true, "pattern": "LG", "last": 2})");
  EXPECT_EQ(windows(plan), (List{0, 5, 0, 0}));
  EXPECT_EQ(turning(plan), (List{-1, 0, 0, -1}));
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(plan.spec.layers[n].attention.soft_cap, n % 2 == 0 ? 2 : 0) << n;
    EXPECT_EQ(plan.spec.layers[n].feed_forward.inner, n % 2 == 1 ? 8 : 24) << n;
  }
}

TEST_F(FamilyFile, EntriesOfAListThatNoRuleNamesAreRefused) {
  const Result<Family> family =
      read(with_layers(R"([{"list": "layer_types", "is": "sliding_attention", "set": {"window": 7}}])"));
  ASSERT_TRUE(family.ok()) << family.error().describe();
  for (const char* const list :
       {R"(["linear_attention", "full_attention", "full_attention", "full_attention"])", R"(["full_attention"])"}) {
    const Result<families::Plan> plan = plan_of(*family, "{" + kShape + R"(, "layer_types": )" + list + "}");
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(plan.error().describe().find("layer_types"), std::string::npos) << plan.error().describe();
  }
}

TEST_F(FamilyFile, LayersHaveBasesOfTheirOwn) {
  const std::string file =
      R"({"family": 1, "name": "x", "inherits": "llama", "encodings": {"all": {"rope": "rope_parameters", "bases": "bases"}}})";
  const families::Plan plan = plan_of_file(file, "{" + kShape + R"(, "bases": [100, 0, 7, 100]})");
  EXPECT_EQ(turning(plan), (std::vector<std::int64_t>{0, -1, 1, 0}));
  EXPECT_EQ(plan.spec.encodings[1].options.number("base", 0).value(), 7);
  EXPECT_EQ(plan_of_file(file, "{" + kShape + "}").spec.encodings.size(), 1U);
}

TEST_F(FamilyFile, AHalfOfARowTakesThePlaceOfThatHalfAlone) {
  const std::string file =
      R"({"family": 1, "name": "x", "inherits": "llama", "set": {"norm": "layer"}, "tensors": {"final_norm.weight": ["last", "plus one"]}})";
  const families::Plan plan = plan_of_file(file, "{" + kShape + "}");
  EXPECT_EQ(plan.bindings("final_norm.weight").front().tensor, "model.last");
  EXPECT_EQ(plan.bindings("final_norm.weight").front().layout, transformer::Layout::kPlusOne);
  EXPECT_EQ(plan.bindings("final_norm.bias").front().tensor, "model.norm.bias");
  EXPECT_EQ(plan.bindings("final_norm.bias").front().layout, transformer::Layout::kAsIs);
}

// ---- when a checkpoint opens

TEST_F(FamilyFile, OpensAsTheFileSays) {
  ASSERT_TRUE(
      write_file(families() / "twin-of-olmo.json", R"({"family": 1, "name": "twin-of-olmo", "inherits": "olmo2"})")
          .ok());
  const auto model = opened("twin-of-olmo", "");
  ASSERT_TRUE(model.ok()) << model.error().describe();
  EXPECT_EQ((*model)->info().family, "twin-of-olmo");
  const test::Golden golden("families/olmo2/expected");
  const at::Tensor logits = test::logits_of(**model, golden["input_ids"].view({1, -1}));
  EXPECT_LT((logits - golden["logits"]).abs().max().item<double>(), 1e-4);
}

TEST_F(FamilyFile, FieldsThatNothingReadsAreRefused) {
  ASSERT_TRUE(write_file(families() / "strict.json",
                         R"({"family": 1, "name": "strict", "inherits": "olmo2", "ignore": ["known"]})")
                  .ok());
  const auto known = opened("strict", R"(, "known": 1, "resid_pdrop": 0)");
  EXPECT_TRUE(known.ok()) << known.error().describe();
  const auto refused = opened("strict", R"(, "twist": 3)");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().describe().find("twist"), std::string::npos) << refused.error().describe();
}

TEST_F(FamilyFile, ABuiltInNameIsReplacedOnlyOnDemand) {
  ASSERT_TRUE(write_file(families() / "olmo2.json", R"({"family": 1, "name": "olmo2", "inherits": "olmo2"})").ok());
  const auto refused = opened("olmo2", "");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("$.replaces"), std::string::npos) << refused.error().describe();
}

TEST_F(FamilyFile, AFileReplacesABuiltInFamily) {
  ASSERT_TRUE(
      write_file(families() / "olmo2.json",
                 R"({"family": 1, "name": "olmo2", "inherits": "olmo2", "replaces": true, "set": {"logit_scale": 2}})")
          .ok());
  const auto model = opened("olmo2", "");
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const test::Golden golden("families/olmo2/expected");
  const at::Tensor logits = test::logits_of(**model, golden["input_ids"].view({1, -1}));
  EXPECT_LT((logits - 2 * golden["logits"]).abs().max().item<double>(), 2e-4);
}

// ---- parts of a model that files use

// A model whose token 7 is dropped is one whose embedding of 7 is 0 and whose others are divided by the share of others.
TEST_F(FamilyFile, ADroppedTokenIsZeroAndScalesTheOthers) {
  transformer::Spec spec;
  spec.vocabulary = 12;
  spec.width = 16;
  spec.trained_length = 16;
  spec.causal = false;
  spec.layers.front().attention.heads = spec.layers.front().attention.kv_heads = 2;
  spec.layers.front().attention.head_width = 8;
  spec.repeat(spec.layers.front(), 2);
  spec.tied_head = false;
  spec.dropped_token = 7;
  const auto dropping = transformer::Transformer::create(spec, true, 5);
  spec.dropped_token = -1;
  const auto plain = transformer::Transformer::create(spec, true, 5);
  ASSERT_TRUE(dropping.ok() && plain.ok());
  const at::NoGradGuard no_grad;
  for (const transformer::Parameter& parameter : (*plain)->parameters()) {
    if (parameter.name == "embedding.weight") {
      parameter.value->select(0, 7).zero_();
      parameter.value->div_(1 - 2.0 / 8);
    }
  }
  const at::Tensor ids = at::tensor(std::vector<std::int64_t>{1, 7, 3, 4, 7, 6, 2, 9}).view({1, -1});
  const auto run = [&](transformer::Transformer& model) { return model.forward({ids, {}, model.positions(8)}); };
  const at::Tensor ours = run(**dropping);
  const at::Tensor theirs = run(**plain);
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 1e-5);
}

TEST_F(FamilyFile, AHeadTransformMayBeWiderThanTheEmbedding) {
  transformer::Spec spec;
  spec.head_transform = true;
  spec.head_transform_width = 48;
  spec.tied_head = true;
  EXPECT_FALSE(transformer::validate(spec).ok());
  spec.tied_head = false;
  const auto made = transformer::Transformer::create(spec, false);
  ASSERT_TRUE(made.ok());
  for (const transformer::Parameter& parameter : (*made)->parameters()) {
    if (parameter.name == "head.weight") {
      EXPECT_EQ(parameter.shape, (std::vector<std::int64_t>{spec.vocabulary, 48}));
    }
  }
}

}  // namespace
}  // namespace locus
