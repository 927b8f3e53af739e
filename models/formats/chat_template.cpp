#include "models/formats/chat_template.h"

#include <memory>
#include <utility>

#include "models/api/files.h"
#include "models/formats/gguf/gguf.h"
#include "models/formats/json/tree.h"

namespace locus::formats {

namespace {

constexpr std::int64_t kLongestFile = std::int64_t{16} << 20;
constexpr const char* kBlanks = " \t\r\n";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The line feeds of its string literals are written as such, or as \n.
std::string with_line_feeds(const std::string& text) {
  std::string plain;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const bool escaped = text.compare(n, 2, "\\n") == 0;
    plain += escaped ? '\n' : text[n];
    n += escaped ? 1 : 0;
  }
  return plain;
}

// The system message that a string literal of the template holds as a whole; empty: none does.
std::string default_system(const std::string& text, const std::string& begin, const std::string& end) {
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const char quote = at == 0 ? '\0' : text[at - 1];
    const std::size_t from = at + begin.size();
    const std::size_t to = text.find(end, from);
    if ((quote == '\'' || quote == '"') && to != std::string::npos && text.find(quote, from) > to) {
      return text.substr(from, to - from);
    }
  }
  return {};
}

// What a template writes that depends on more than the message.
std::string left_out(const std::string& text) {
  return contains(text, "strftime_now") || contains(text, "date_string") ? "a system message with the date"
         : contains(text, "[SYSTEM_PROMPT]")                             ? "a system prompt"
                                                                         : "";
}

ChatTemplate chat_ml(const std::string& text) {
  ChatTemplate made{"ChatML", "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"};
  if (const std::string system = default_system(text, "<|im_start|>system\n", "<|im_end|>"); !system.empty()) {
    made.before = "<|im_start|>system\n" + system + "<|im_end|>\n" + made.before;
  }
  for (const char quote : {'\'', '"'}) {  // models that think before they answer
    made.after += contains(text, std::string("<|im_start|>assistant\n<think>\n") + quote) ? "<think>\n" : "";
  }
  return made;
}

// Blanks beside the marks differ between its versions.
ChatTemplate inst(const std::string& text) {
  ChatTemplate made{contains(text, "<<SYS>>") ? "Llama 2" : "Mistral", contains(text, "[INST] ") ? "[INST] " : "[INST]",
                    contains(text, " [/INST]") ? " [/INST]" : "[/INST]"};
  made.trims = made.name == "Llama 2";
  return made;
}

// Phi's and Zephyr's, which end a message with a token of their own or with that of the text.
ChatTemplate user_mark(const std::string& text, const std::string& eos) {
  const bool own = contains(text, "<|end|>");
  if (!own && eos.empty()) {
    return {};
  }
  const std::string line = contains(text, "<|user|>\n") ? "\n" : "";
  const std::string answer = own ? line : "\n";  // Zephyr's answer begins on its own line
  return {own ? "Phi" : "Zephyr", "<|user|>" + line, (own ? "<|end|>" + line : eos + "\n") + "<|assistant|>" + answer};
}

Result<std::optional<std::string>> text_in(const std::filesystem::path& file) {
  if (!models::file_exists(file)) {
    return std::optional<std::string>();
  }
  LOCUS_TRY(std::string text, models::file_text(file, kLongestFile));
  return std::optional(std::move(text));
}

// A text, or {"content": a text}.
std::string word_of(const Tree* value) {
  const Tree* const inner = value != nullptr && value->is_object() ? value->find("content") : value;
  return inner == nullptr ? std::string() : inner->as<std::string>().value_or("");
}

// A text, or [{"name": "default", "template": a text}, …].
std::string template_in(const Tree* value) {
  if (value == nullptr || !value->is_list()) {
    return word_of(value);
  }
  for (const Tree& each : value->items()) {
    if (word_of(each.find("name")) == "default") {
      return word_of(each.find("template"));
    }
  }
  return {};
}

Result<std::optional<ChatTemplate>> in_gguf(const std::filesystem::path& file) {
  LOCUS_TRY(const Source source, open_gguf(file));
  const std::shared_ptr<const GgufMetadata> metadata = source->gguf();
  if (metadata == nullptr) {
    return std::optional<ChatTemplate>();
  }
  LOCUS_TRY(const std::optional<std::string_view> text, metadata->text("tokenizer.chat_template"));
  if (!text) {
    return std::optional<ChatTemplate>();
  }
  LOCUS_TRY(const std::optional<std::int64_t> eos, metadata->integer("tokenizer.ggml.eos_token_id"));
  LOCUS_TRY(const std::vector<std::string_view> tokens, metadata->texts("tokenizer.ggml.tokens"));
  const bool known = eos && *eos >= 0 && *eos < std::ssize(tokens);
  return std::optional(
      known_template(std::string(*text), known ? std::string(tokens[static_cast<std::size_t>(*eos)]) : std::string()));
}

}  // namespace

ChatTemplate known_template(const std::string& text, const std::string& eos) {
  const std::string plain = with_line_feeds(text);
  const bool of_roles = contains(plain, "'<|' + message['role'] + '|>'");  // "<|user|>" among them
  ChatTemplate made;
  if (contains(plain, "<|im_sep|>")) {
    made = {"Phi-4", "<|im_start|>user<|im_sep|>", "<|im_end|><|im_start|>assistant<|im_sep|>"};
  } else if (contains(plain, "<|im_start|>")) {
    made = chat_ml(plain);
  } else if (contains(plain, "<start_of_turn>")) {
    made = {"Gemma", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", true};
  } else if (contains(plain, "<|start_header_id|>")) {
    made = {"Llama 3", "<|start_header_id|>user<|end_header_id|>\n\n",
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", true};
  } else if (contains(plain, "[INST]")) {
    made = inst(plain);
  } else if (contains(plain, "<|user|>") || of_roles) {
    made = user_mark(plain, eos);
  }
  made.note = made.name.empty() ? std::string() : left_out(plain);
  return made;
}

Result<std::optional<ChatTemplate>> chat_template(const std::filesystem::path& weights) {
  if (weights.extension() == ".gguf") {
    return in_gguf(weights);
  }
  const std::filesystem::path folder = weights.parent_path();
  LOCUS_TRY(const std::optional<std::string> own, text_in(folder / "chat_template.jinja"));
  const std::filesystem::path config = folder / "tokenizer_config.json";
  LOCUS_TRY(const std::optional<std::string> text, text_in(config));
  Tree fields;
  if (text) {
    LOCUS_TRY(fields, Tree::parse(*text, config.string()));
  }
  const std::string written = own ? *own : template_in(fields.find("chat_template"));
  return written.find_first_not_of(kBlanks) == std::string::npos
             ? std::optional<ChatTemplate>()
             : std::optional(known_template(written, word_of(fields.find("eos_token"))));
}

std::string as_message(const ChatTemplate& format, const std::string& text) {
  const std::size_t from = format.trims ? text.find_first_not_of(kBlanks) : 0;
  const std::size_t to = format.trims ? text.find_last_not_of(kBlanks) + 1 : text.size();
  return format.before + (from == std::string::npos ? std::string() : text.substr(from, to - from)) + format.after;
}

std::optional<std::string> text_of_message(const ChatTemplate& format, const std::string& message) {
  const bool is_one = message.size() >= format.before.size() + format.after.size() &&
                      message.starts_with(format.before) && message.ends_with(format.after);
  return is_one ? std::optional(
                      message.substr(format.before.size(), message.size() - format.before.size() - format.after.size()))
                : std::nullopt;
}

}  // namespace locus::formats
