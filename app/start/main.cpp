// locus: answers at once what needs neither models nor a window, and becomes the program for everything else. Loading
// the program's libraries takes most of a second: LibTorch, Qt, Vulkan and what they load, some 300 files.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/build_facts.h"
#include "app/cli/console.h"
#include "app/cli/help_pages.h"
#include "app/start/stored_texts.h"

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using locus::cli::HelpRequest;

// "figure -h" as "figure --help".
std::string as_line(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + (word == "-h" ? std::string("--help") : word);
  }
  return line;
}

// --version, and what the build has stored: --help of every sub-command, the man page, completions.
std::optional<std::string_view> stored_text(const std::string& line) {
  if (line == "--version") {
    return locus::kVersionText;
  }
  for (const locus::start::StoredText& text : locus::start::stored_texts()) {
    if (text.words == line) {
      return text.text;
    }
  }
  return std::nullopt;
}

// `help [TOPIC] [--markdown]`, `help --search WORDS`; other words are for the program to judge.
std::optional<HelpRequest> help_request(const Words& words) {
  if (words.empty() || words.front() != "help" || std::getenv("LOCUS_KERNELS") != nullptr) {
    return std::nullopt;
  }
  HelpRequest request;
  for (std::size_t n = 1; n < words.size(); ++n) {
    const std::string& word = words[n];
    const bool searches = word == "--search" && n + 1 < words.size() && request.search.empty();
    const std::string& value = searches ? words[++n] : word;
    std::string& target = searches ? request.search : request.topic;
    if (word == "--markdown") {
      request.markdown = true;
    } else if (!target.empty() || value.empty() || value.front() == '-') {
      return std::nullopt;
    } else {
      target = value;
    }
  }
  return request;
}

// The exit status where this program has the answer.
std::optional<int> answer(const Words& words) {
  const std::optional<std::string_view> text = stored_text(as_line(words));
  const std::optional<HelpRequest> help = help_request(words);
  if (!text && !help) {
    return std::nullopt;
  }
  locus::cli::hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file larger than the limit is an error of write(), which is told
  locus::cli::Console console;
  if (text) {
    std::cout << *text << '\n';
    return console.finish(0);
  }
  const locus::Status status = print_help(*help, console);
  return console.finish(status.ok() ? 0 : console.fail(status.error()));
}

// Only returns where the program cannot be started.
int become_program(char** argv) {
  std::error_code code;
  const fs::path folder = fs::read_symlink("/proc/self/exe", code).parent_path();
  const fs::path installed = folder / "../libexec/locus/locus";
  const fs::path program = fs::exists(installed, code) ? installed : folder / "libexec/locus/locus";
  ::execv(program.c_str(), argv);
  const std::string why = std::strerror(errno);
  return locus::cli::Console().fail(locus::internal("cannot start " + program.string() + ": " + why));
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + std::min(argc, 1), argv + argc);
  const std::optional<int> status = answer(words);
  return status ? *status : become_program(argv);
}
