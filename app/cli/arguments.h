// Arguments: the options of one sub-command, declared once and parsed by CLI11. The only file that includes CLI11 is
// arguments.cpp: its templates cost seconds wherever they are seen.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/descriptions.h"
#include "core/base/parameter.h"
#include "core/base/result.h"

namespace CLI {
class App;
}

namespace locus::cli {

// The numbers that an option takes; any other is a usage error that names the option.
struct Bounds {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

// One option, as the table of all of them has it.
struct Option {
  std::string command;  // empty: a global one, before the sub-command
  std::string name;     // "--width-mm"
  Parameter parameter;  // its kind, default, bounds and choices
};

// The files that an option's words name.
enum class FileUse {
  kNone,
  kRead,        // a file
  kCheckpoint,  // a checkpoint's folder or file, or its name in the hub's cache; also traces and sessions
  kWritten      // a file
};

// The words typed for an option that names files.
struct NamedFiles {
  std::string command;  // empty: before the sub-command
  std::string name;
  FileUse use = FileUse::kRead;
  std::function<std::vector<std::string>()> typed;  // once parsed; lives as long as what the options are read into
};

// Words that a shell proposes as the value of an option, where not every value can be listed as a choice.
struct Proposals {
  std::string command;
  std::string name;
  std::vector<std::string> words;
};

// Each function binds `value`, which must outlive parsing and keeps its value, the default, when the option is not
// given. `use` says whether its words name files: nothing that is read may be written (named_files.h).
class Arguments {
 public:
  Arguments(CLI::App& app, std::vector<Option>& table, std::vector<NamedFiles>& files,
            std::vector<Proposals>& proposals, std::string command)
      : app_(app), table_(table), files_(files), proposals_(proposals), command_(std::move(command)) {}

  void flag(const std::string& name, bool& value, const std::string& help);
  void text(const std::string& name, std::string& value, const std::string& help, FileUse use = FileUse::kNone);
  void text(const std::string& name, std::optional<std::string>& value, const std::string& help,
            FileUse use = FileUse::kNone);
  void integer(const std::string& name, std::int64_t& value, Bounds bounds, const std::string& help);
  void integer(const std::string& name, std::optional<std::int64_t>& value, Bounds bounds, const std::string& help);
  void number(const std::string& name, double& value, Bounds bounds, const std::string& help);
  void number(const std::string& name, std::optional<double>& value, Bounds bounds, const std::string& help);
  // Given several times, or with several values after it: `--corpus A B --corpus C`.
  void list(const std::string& name, std::vector<std::string>& values, const std::string& help,
            FileUse use = FileUse::kNone);
  // Given several times, one value each: `--option a=1 --option b=2`. `form` is how help writes a value.
  void repeated(const std::string& name, std::vector<std::string>& values, const std::string& help,
                const std::string& form = "KEY=VALUE");
  // One of `choices`; what `value` holds need not be among them, and is the default.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
              const std::string& help);
  // Any of these: what was typed, checked. A toggle without words of its own is a flag: "true" when it is given.
  // Its help, a sentence in the window, loses its capital.
  void parameter(const std::string& name, Parameter parameter, std::optional<std::string>& typed);
  void positional(const std::string& name, std::string& value, bool required, const std::string& help,
                  FileUse use = FileUse::kNone);
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help,
                   FileUse use = FileUse::kNone);
  // The files of an option that are not its words themselves.
  void files(const std::string& name, FileUse use, std::function<std::vector<std::string>()> typed);
  // Words that shells propose as the value of an option.
  void propose(const std::string& name, std::vector<std::string> words);
  // Leaves options out of --help: the manual alone tells of them.
  void hide(const std::vector<std::string>& names);
  // Shown at the end of --help.
  void footer(const std::string& text);

 private:
  // Checks what is typed and hands it on.
  void checked(const std::string& name, const Parameter& parameter, const std::string& type,
               const std::function<void(const SettingValue&)>& use);

  CLI::App& app_;
  std::vector<Option>& table_;
  std::vector<NamedFiles>& files_;
  std::vector<Proposals>& proposals_;
  std::string command_;
};

// The result of parsing a command line.
struct Parsed {
  enum class Kind { kCommand, kNone, kPrinted };
  Kind kind = Kind::kNone;
  std::size_t command = 0;  // index into the names given
};

// Declares the globals everywhere, lets `declare` add the options of each sub-command, parses. --help and --version are
// printed here (kPrinted). Errors: kUsage, one line.
class Parser {
 public:
  // `version_text`: what --version prints; empty: the version alone.
  explicit Parser(const std::string& version_text = {});
  ~Parser();
  Arguments root();
  Arguments add_command(const std::string& name, const std::string& summary);
  Result<Parsed> parse(int argc, const char* const* argv);
  // Every option that was declared and takes a value it can refuse.
  const std::vector<Option>& options() const { return table_; }
  // Every option whose words name files.
  const std::vector<NamedFiles>& files() const { return files_; }
  // All that was declared, as --help has it.
  std::vector<CommandText> describe() const;

 private:
  CommandText describe(const CLI::App& app, const std::string& name) const;
  std::vector<std::string> words_of(const std::string& command, const std::string& name) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<Option> table_;
  std::vector<NamedFiles> files_;
  std::vector<Proposals> proposals_;
  std::vector<CLI::App*> commands_;
};

}  // namespace locus::cli
