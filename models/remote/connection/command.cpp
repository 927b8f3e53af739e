// The command that starts a server on another machine.
#include "models/remote/connection/connection.h"

namespace locus::remote {

namespace {

constexpr const char* kVariable = "LOCUS_SSH";
constexpr const char* kServe = "locus serve --stdio";
constexpr int kSshPort = 22;

// A word of LOCUS_SSH with its fields filled in.
Result<std::string> filled(const std::string& word, const Address& address, const std::string& host,
                           bool& has_command) {
  std::string text;
  for (std::size_t n = 0; n < word.size(); ++n) {
    if (word[n] != '%') {
      text += word[n];
      continue;
    }
    const char field = n + 1 < word.size() ? word[++n] : '\0';
    if (field == 'h') {
      text += host;
    } else if (field == 'p') {
      text += std::to_string(address.port == 0 ? kSshPort : address.port);
    } else if (field == 'c') {
      text += kServe;
      has_command = true;
    } else if (field == '%') {
      text += '%';
    } else {
      return usage(std::string(kVariable) + ": expected %h, %p, %c or %% for each %, found " + word);
    }
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> Connection::command_for(const Address& address, const char* ssh) {
  const std::string host = (address.user.empty() ? "" : address.user + "@") + address.host;
  std::vector<std::string> command;
  bool has_command = false;
  if (ssh == nullptr || *ssh == '\0') {
    // A line that is dead is noticed; without a terminal there, what is sent arrives as it is. Nothing of this machine
    // is lent to that one: no agent, no display, no ports, whatever ~/.ssh/config says.
    command = {"ssh", "-T", "-a", "-x", "-o", "ClearAllForwardings=yes", "-o", "ServerAliveInterval=15"};
    if (address.port != 0) {
      command.insert(command.end(), {"-p", std::to_string(address.port)});
    }
    command.push_back(host);
  } else {
    LOCUS_TRY(const std::vector<std::string> words, split_words(ssh, kVariable));
    for (const std::string& word : words) {
      LOCUS_TRY(command.emplace_back(), filled(word, address, host, has_command));
    }
  }
  if (!has_command) {
    command.insert(command.end(), {"locus", "serve", "--stdio"});
  }
  return command;
}

}  // namespace locus::remote
