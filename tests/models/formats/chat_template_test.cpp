// Chat templates are known by their markers, and write what the transformers library makes of them; none is run.
#include "models/formats/chat_template.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/gguf_bytes.h"
#include "tests/support/paths.h"

namespace locus::formats {
namespace {
namespace chat_template_suite {

nlohmann::json golden() {
  std::ifstream in(test::source_dir() + "/tests/golden/chat_templates.json");
  return nlohmann::json::parse(in);
}

class ChatTemplate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("locus_chat_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const char* name, const std::string& text) { std::ofstream(folder_ / name, std::ios::binary) << text; }
  // The name of the format that a checkpoint has; "none" for no template.
  std::string found(const char* weights = "model.safetensors") {
    const auto read = chat_template(folder_ / weights);
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().describe());
    return read.ok() && *read ? (*read)->name : "none";
  }

  std::filesystem::path folder_;
};

TEST_F(ChatTemplate, EachKnownOneWritesWhatTheLibraryWrites) {
  const nlohmann::json all = golden();
  const std::string message = all["message"];
  const std::map<std::string, std::string> names{
      {"smollm2", "ChatML"},       {"qwen2.5", "ChatML"},       {"chatml", "ChatML"}, {"gemma", "Gemma"},
      {"llama3", "Llama 3"},       {"llama2", "Llama 2"},       {"phi3", "Phi"},      {"phi4-mini", "Phi"},
      {"mistral-v0.2", "Mistral"}, {"mistral-v0.3", "Mistral"}, {"phi4", "Phi-4"},    {"zephyr", "Zephyr"},
      {"mistral-nemo", "Mistral"}};
  ASSERT_EQ(all["templates"].size(), names.size());
  for (const auto& [name, each] : all["templates"].items()) {
    std::string expected = each["text"];
    expected.erase(0, expected.starts_with("<s>") ? 3 : 0);  // the tokenizer begins every text with it
    const formats::ChatTemplate format = known_template(each["template"], "</s>");
    EXPECT_EQ(format.name, names.at(name)) << name;
    EXPECT_EQ(as_message(format, message), expected) << name;
    EXPECT_EQ(text_of_message(format, expected), message) << name;
    EXPECT_EQ(text_of_message(format, message), std::nullopt) << name;
    EXPECT_EQ(format.note, "") << name;
  }
}

TEST_F(ChatTemplate, OthersAreNotGuessed) {
  EXPECT_EQ(known_template("{{ '<|start|>user<|message|>' + message.content + '<|end|>' }}", "").name, "");
  EXPECT_EQ(known_template("{{ '<|user|>' + message['content'] + eos_token }}", "").name, "") << "of unknown end";
  const auto dated = known_template("{{ '<|start_header_id|>' }} {{- 'Today Date: ' + date_string }}", "");
  EXPECT_EQ(dated.name, "Llama 3");
  EXPECT_EQ(dated.note, "a system message with the date");
  // A system message that is put together of parts is none that can be read off.
  const auto parts = known_template("'<|im_start|>system\\n' + text + '<|im_end|>' '<|im_start|>user'", "");
  EXPECT_EQ(parts.before, "<|im_start|>user\n");
  const auto thinks = known_template("{{- '<|im_start|>assistant\\n<think>\\n' }}", "");
  EXPECT_TRUE(thinks.after.ends_with("assistant\n<think>\n"));
  EXPECT_EQ(as_message(known_template("<start_of_turn>", ""), " \n"),
            as_message(known_template("<start_of_turn>", ""), ""));
}

TEST_F(ChatTemplate, IsReadFromTheFilesOfACheckpoint) {
  EXPECT_EQ(found(), "none");
  write("tokenizer_config.json", R"({"tokenizer_class": "X"})");
  EXPECT_EQ(found(), "none");
  write("tokenizer_config.json", R"({"chat_template": "<start_of_turn>"})");
  EXPECT_EQ(found(), "Gemma");
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "tool_use", "template": "[INST]"}, {"name": "default", "template": "<|user|>"}],
            "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(found(), "Zephyr");
  write("chat_template.jinja", "<|start_header_id|>");
  EXPECT_EQ(found(), "Llama 3") << "its own file goes before";
  write("chat_template.jinja", "{{ messages }}");
  EXPECT_EQ(found(), "") << "not known";
  write("chat_template.jinja", " ");
  EXPECT_EQ(found(), "none");
  std::filesystem::remove(folder_ / "chat_template.jinja");
  write("tokenizer_config.json", "{");
  EXPECT_EQ(chat_template(folder_ / "model.safetensors").error().code, ErrorCode::kBadInput);
}

TEST_F(ChatTemplate, IsReadFromGgufFiles) {
  const nlohmann::json each = golden()["templates"]["smollm2"];
  test::GgufBytes bytes;
  bytes.text("tokenizer.chat_template", each["template"]);
  bytes.tensor("a", {8}, 0, 0);
  write("model.gguf", bytes.file(32));
  const auto read = chat_template(folder_ / "model.gguf");
  ASSERT_TRUE(read.ok()) << read.error().describe();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ(as_message(**read, "How many boats?"), each["text"]);
  test::GgufBytes zephyr;
  zephyr.text("tokenizer.chat_template", golden()["templates"]["zephyr"]["template"]);
  zephyr.integer("tokenizer.ggml.eos_token_id", 1);
  zephyr.texts("tokenizer.ggml.tokens", {"a", "</s>"});
  zephyr.tensor("a", {8}, 0, 0);
  write("zephyr.gguf", zephyr.file(32));
  EXPECT_EQ(found("zephyr.gguf"), "Zephyr");
  test::GgufBytes none;
  none.tensor("a", {8}, 0, 0);
  write("none.gguf", none.file(32));
  EXPECT_EQ(found("none.gguf"), "none");
}

}  // namespace chat_template_suite
}  // namespace
}  // namespace locus::formats
