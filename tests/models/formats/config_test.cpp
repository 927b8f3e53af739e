#include "models/formats/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "tests/support/waits.h"

namespace locus::formats {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

Config json(const std::string& text) {
  const Result<Config> config = Config::parse_json(text, "config.json");
  EXPECT_TRUE(config.ok()) << config.error().describe();
  return config.ok() ? *config : Config();
}

std::string config_refusal(const Result<Config>& config) {
  EXPECT_FALSE(config.ok());
  if (config.ok()) {
    return "parsed";
  }
  EXPECT_EQ(config.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(config.error().describe().find('\n'), std::string::npos);
  return config.error().describe();
}

TEST(Config, TypedFields) {
  const Config config = json(R"({"hidden_size": 64, "eps": 1e-5, "whole": 4.0, "tied": true, "act": "gelu",
      "none": null, "rope_scaling": {"factor": 8, "deep": {"list": [1, 2.5]}}, "names": ["a", "b"],
      "id2label": {"0": "cat"}, "a.b": 7})");
  EXPECT_EQ(*config.integer("hidden_size"), 64);
  EXPECT_EQ(*config.number("hidden_size"), 64.0);
  EXPECT_EQ(*config.number("eps"), 1e-5);
  EXPECT_EQ(*config.integer("whole"), 4);
  EXPECT_TRUE(*config.boolean("tied"));
  EXPECT_EQ(*config.text("act"), "gelu");
  EXPECT_FALSE(config.has("none"));
  EXPECT_FALSE(config.has("absent"));
  EXPECT_FALSE(config.has("act.deeper"));
  EXPECT_EQ(*config.number("rope_scaling.factor"), 8.0);
  EXPECT_EQ(*config.numbers("rope_scaling.deep.list"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(*config.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*config.text("id2label.0"), "cat");
  EXPECT_EQ(*config.integer("a.b"), 7);
  EXPECT_EQ(*config.integer("absent", 3), 3);
  EXPECT_EQ(*config.integer("none", 3), 3);
  EXPECT_EQ(*config.text("absent", "x"), "x");
  EXPECT_EQ(config.kind("eps"), "number");
  EXPECT_EQ(config.kind("rope_scaling"), "object");
  EXPECT_EQ(config.kind("none"), "nothing");
  const Config scaling = *config.object("rope_scaling");
  EXPECT_EQ(scaling.names(), (std::vector<std::string>{"factor", "deep"}));
  EXPECT_TRUE(Config().names().empty());
}

TEST(Config, ErrorsNameFileAndField) {
  const Config config = json(R"({"rope_scaling": {"factor": "four", "list": [1, "x"]}, "half": 2.5, "list": [3.5],
      "big": 18446744073709551615})");
  EXPECT_EQ(config.number("rope_scaling.factor").error().describe(),
            "config.json: field rope_scaling.factor: expected a number, found the text \"four\"");
  EXPECT_EQ(config.object("rope_scaling")->number("factor").error().describe(),
            "config.json: field rope_scaling.factor: expected a number, found the text \"four\"");
  EXPECT_EQ(config.integer("half").error().describe(),
            "config.json: field half: expected a whole number, found the number 2.5");
  EXPECT_EQ(config.integer("half", 3).ok(), false);
  EXPECT_EQ(config.integer("absent").error().describe(),
            "config.json: field absent: expected a whole number, found none");
  EXPECT_FALSE(config.numbers("rope_scaling.list").ok());
  EXPECT_FALSE(config.integers("list").ok());
  EXPECT_FALSE(config.integer("big").ok());
  EXPECT_EQ(*config.number("big"), 0x1p64);
  EXPECT_EQ(config.integer_in("rope_scaling.factor", 1, 9).ok(), false);
  EXPECT_EQ(json(R"({"n": 0})").integer_in("n", 1, 9).error().describe(),
            "config.json: field n: expected a whole number from 1 to 9, found 0");
}

TEST(Config, RefusesMalformedJson) {
  const auto parse = [](const std::string& text) { return config_refusal(Config::parse_json(text, "config.json")); };
  EXPECT_HAS(parse(""), "config.json: not JSON at byte");
  EXPECT_HAS(parse("[]"), "config.json: expected an object, found a list");
  EXPECT_HAS(parse("{\"a\":1,\"a\":2}"), "\"a\" is there twice");
  EXPECT_HAS(parse("{\"a\":1} x"), "not JSON at byte 9");
  EXPECT_HAS(parse(std::string("{}\0", 3)), "not JSON at byte 3");
  EXPECT_HAS(parse("{\"a\":" + std::string(20'000'000, '[')), "deeper than 64");
  std::string many = "{\"a\":[0";
  for (int n = 0; n < 1'000'000; ++n) {
    many += ",0";
  }
  EXPECT_HAS(parse(many + "]}"), "more than 1000000 values");
  EXPECT_HAS(parse(std::string((64U << 20U) + 1, ' ')), "at most 67108864 bytes");
}

TEST(Config, ReadsYaml) {
  const Result<Config> config = Config::parse_yaml(
      "# comment\nPE_TYPE: seq_pe\nPE_MAX_POSITION: 20000\nSCALE: 1.0e-05\nMULTI: True\nlist: [1, 2]\nquoted: '12'\n"
      "none: ~\nempty:\nnested:\n  a: -3\n  b: \"x: y\"\nplus: +5\nword: inf\ntrailing: 12x\nworld: .inf\n",
      "pe_config.json");
  ASSERT_TRUE(config.ok()) << config.error().describe();
  EXPECT_EQ(*config->text("PE_TYPE"), "seq_pe");
  EXPECT_EQ(*config->integer("PE_MAX_POSITION"), 20000);
  EXPECT_EQ(*config->number("SCALE"), 1e-5);
  EXPECT_TRUE(*config->boolean("MULTI"));
  EXPECT_EQ(*config->integers("list"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(*config->text("quoted"), "12");
  EXPECT_FALSE(config->has("none"));
  EXPECT_FALSE(config->has("empty"));
  EXPECT_EQ(*config->integer("nested.a"), -3);
  EXPECT_EQ(*config->text("nested.b"), "x: y");
  EXPECT_EQ(*config->integer("plus"), 5);
  EXPECT_EQ(*config->text("word"), "inf");
  EXPECT_EQ(*config->text("trailing"), "12x");
  EXPECT_TRUE(std::isinf(*config->number("world")));
  EXPECT_EQ(*Config::parse_yaml("{\"a\":\t1}", "pe_config.json")->integer("a"), 1);
  EXPECT_EQ(*Config::parse_yaml("{a: 1, b: c}", "pe_config.json")->text("b"), "c");
}

TEST(Config, RefusesHostileYaml) {
  const double start_ms = test::thread_ms();
  const auto parse = [](const std::string& text) { return config_refusal(Config::parse_yaml(text, "pe_config.json")); };
  EXPECT_HAS(parse("a: &x [1]\nb: *x\n"), "no YAML anchors");
  EXPECT_HAS(parse("a: *x\n"), "not YAML");
  EXPECT_HAS(parse("a: 1\na: 2\n"), "\"a\" is there twice");
  EXPECT_HAS(parse("a: !!python/object x\n"), "no YAML tags");
  EXPECT_HAS(parse("[1]"), "expected an object, found a list");
  EXPECT_HAS(parse("? [a]\n: 1\n"), "expected a name");
  EXPECT_HAS(parse(""), "not YAML: empty");
  EXPECT_HAS(parse("a: [1"), "not YAML at line");
  EXPECT_HAS(parse("a: \xff"), "not UTF-8");
  EXPECT_HAS(parse("a: " + std::string(100, '[') + std::string(100, ']')), "deeper than 64");
  EXPECT_HAS(parse("a: " + std::string(1'000'000, '[')), "pe_config.json: ");
  EXPECT_HAS(parse("a: " + std::string(1'000'000, '{')), "pe_config.json: ");
  std::string dashes;
  std::string questions;
  std::string maps;
  for (int n = 0; n < 300'000; ++n) {
    dashes += "- ";
    questions += "? ";
    maps += "a: ";
  }
  EXPECT_HAS(parse(dashes), "pe_config.json: ");
  EXPECT_HAS(parse(questions), "pe_config.json: ");
  EXPECT_HAS(parse(maps), "pe_config.json: ");
  EXPECT_HAS(parse(std::string((1U << 20U) + 1, 'a')), "at most 1048576 bytes");
  EXPECT_LT(test::thread_ms() - start_ms, 20'000 * test::kSlower);
}

TEST(Config, LoadsFilesByName) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("locus_config_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file(folder / "config.json", "{\"a\": 1}").ok());
  ASSERT_TRUE(write_file(folder / "pe_config.json", "a: 2\n").ok());
  ASSERT_TRUE(write_file(folder / "other.json", "a: 2\n").ok());
  EXPECT_EQ(*Config::load(folder / "config.json")->integer("a"), 1);
  EXPECT_EQ(*Config::load(folder / "pe_config.json")->integer("a"), 2);
  EXPECT_HAS(config_refusal(Config::load(folder / "other.json")), "other.json: not JSON");
  EXPECT_HAS(config_refusal(Config::load(folder / "absent.json")), "absent.json");
  EXPECT_HAS(config_refusal(Config::load(folder)), "expected a file");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace locus::formats
