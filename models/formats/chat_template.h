// Chat templates: how a checkpoint says that a conversation is written as one text. A template is a program in a
// foreign file and is never run: the usual ones are known by the markers in their text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace locus::formats {

struct ChatTemplate {
  std::string name;    // "ChatML"; empty: it is none of the known ones
  std::string before;  // what stands before the message of a user, without the token that begins every text
  std::string after;   // what stands behind it, up to where the answer begins
  bool trims = false;  // the message is written without the blanks around it
  std::string note{};  // what the template writes beside this and is left out; empty: nothing that is known
};

// The format of a template, by its markers; `eos` is the token that ends a text, empty where it is not known. A system
// message that the template writes where the conversation has none is part of `before`.
ChatTemplate known_template(const std::string& text, const std::string& eos);

// The template of a checkpoint, by a file of its weights: tokenizer.chat_template of a GGUF file, or chat_template.jinja
// and tokenizer_config.json beside others. Empty: there is none. Errors: those of reading.
Result<std::optional<ChatTemplate>> chat_template(const std::filesystem::path& weights);

// The message of a user in this format.
std::string as_message(const ChatTemplate& format, const std::string& text);
// The text of such a message; empty: it is none.
std::optional<std::string> text_of_message(const ChatTemplate& format, const std::string& message);

}  // namespace locus::formats
