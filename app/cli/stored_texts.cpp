// The texts of the executable that starts at once.
#include <map>
#include <string_view>

#include "app/cli/descriptions.h"

namespace locus::cli {

std::string stored_texts_source(const std::vector<CommandText>& commands) {
  std::map<std::string, std::string> texts{{"help --man", man_page(commands)},
                                           {"help --completion bash", bash_completion(commands)},
                                           {"help --completion zsh", zsh_completion(commands)},
                                           {"help --completion fish", fish_completion(commands)}};
  for (const CommandText& command : commands) {
    texts[command.name + (command.name.empty() ? "--help" : " --help")] = command.help;
  }
  std::string source =
      "// Printed by `locus help --stored`.\n#include \"app/start/stored_texts.h\"\n\nnamespace locus::start {\n\n"
      "const std::vector<StoredText>& stored_texts() {\n  static const std::vector<StoredText> texts{\n";
  for (const auto& [words, text] : texts) {
    const std::string_view whole = text;
    source.append("      {\"").append(words).append("\", R\"~~~(");
    source.append(whole.substr(0, whole.size() - 1)).append(")~~~\"},\n");
  }
  return source + "  };\n  return texts;\n}\n\n}  // namespace locus::start\n";
}

}  // namespace locus::cli
