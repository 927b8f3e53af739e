// Arguments: the options of one sub-command, declared once and parsed by CLI11. The only file that includes CLI11 is
// arguments.cpp: its templates cost seconds wherever they are seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace CLI {
class App;
}

namespace locus::cli {

// Each function binds `value`, which must outlive parsing and keeps its value when the option is not given.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  void flag(const std::string& name, bool& value, const std::string& help);
  void text(const std::string& name, std::string& value, const std::string& help);
  void text(const std::string& name, std::optional<std::string>& value, const std::string& help);
  void integer(const std::string& name, std::int64_t& value, const std::string& help);
  void number(const std::string& name, double& value, const std::string& help);
  void number(const std::string& name, std::optional<double>& value, const std::string& help);
  // Given several times, or with several values after it: `--corpus A B --corpus C`.
  void list(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // Given several times, one value each: `--option a=1 --option b=2`. `form` is how help writes a value.
  void repeated(const std::string& name, std::vector<std::string>& values, const std::string& help,
                const std::string& form = "KEY=VALUE");
  // One of `choices`.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
              const std::string& help);
  void positional(const std::string& name, std::string& value, bool required, const std::string& help);
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // Shown at the end of --help.
  void footer(const std::string& text);

 private:
  CLI::App& app_;
};

// What a command line asked for.
struct Parsed {
  enum class Kind { kCommand, kNone, kPrinted };
  Kind kind = Kind::kNone;
  std::size_t command = 0;  // index into the names given
};

// Declares the globals everywhere, lets `declare` add the options of each sub-command, parses. --help and --version are
// printed here (kPrinted). Errors: kUsage, one line.
class Parser {
 public:
  Parser();
  ~Parser();
  Arguments root();
  Arguments add_command(const std::string& name, const std::string& summary);
  Result<Parsed> parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::vector<CLI::App*> commands_;
};

}  // namespace locus::cli
