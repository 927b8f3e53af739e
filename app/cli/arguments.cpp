#include "app/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

namespace locus::cli {

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

void Arguments::text(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("TEXT");
}

void Arguments::text(const std::string& name, std::optional<std::string>& value, const std::string& help) {
  app_.add_option_function<std::string>(
          name, [&value](const std::string& given) { value = given; }, help)
      ->type_name("TEXT");
}

void Arguments::integer(const std::string& name, std::int64_t& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("N")->capture_default_str();
}

void Arguments::number(const std::string& name, double& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("X")->capture_default_str();
}

void Arguments::number(const std::string& name, std::optional<double>& value, const std::string& help) {
  app_.add_option_function<double>(
          name, [&value](const double& given) { value = given; }, help)
      ->type_name("X");
}

void Arguments::list(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help)->type_name("TEXT ...")->expected(1, 1 << 20);
}

void Arguments::repeated(const std::string& name, std::vector<std::string>& values, const std::string& help,
                         const std::string& form) {
  app_.add_option_function<std::string>(
          name, [&values](const std::string& given) { values.push_back(given); }, help)
      ->type_name(form)
      ->trigger_on_parse();
}

void Arguments::choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
                       const std::string& help) {
  std::string names;
  for (const std::string& choice : choices) {
    names += (names.empty() ? "" : "|") + choice;
  }
  const auto check = [choices, names](const std::string& given) {
    return std::find(choices.begin(), choices.end(), given) == choices.end() ? "expected " + names + ", found " + given
                                                                             : std::string();
  };
  app_.add_option(name, value, help)->type_name(names)->check(check)->capture_default_str();
}

void Arguments::positional(const std::string& name, std::string& value, bool required, const std::string& help) {
  app_.add_option(name, value, help)->required(required)->type_name("");
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help)->type_name("");
}

void Arguments::footer(const std::string& text) {
  app_.footer(text);
}

Parser::Parser() : app_(std::make_unique<CLI::App>("Locus: see how a transformer addresses positions.", "locus")) {
  app_->set_version_flag("--version", "locus " LOCUS_VERSION);
  app_->set_help_flag("-h,--help", "print this help");
  app_->require_subcommand(0, 1);
  app_->get_formatter()->column_width(38);
}

Parser::~Parser() = default;

Arguments Parser::root() {
  return Arguments(*app_);
}

Arguments Parser::add_command(const std::string& name, const std::string& summary) {
  CLI::App* const app = app_->add_subcommand(name, summary);
  app->set_help_flag("-h,--help", "print this help");
  commands_.push_back(app);
  return Arguments(*app);
}

Result<Parsed> Parser::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app_->help();  // the chosen sub-command's, with the program's name before its own
    return Parsed{Parsed::Kind::kPrinted};
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return Parsed{Parsed::Kind::kPrinted};
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return usage(line + " (see --help)");
  }
  const auto chosen = app_->get_subcommands();
  if (chosen.empty()) {
    return Parsed{};
  }
  const auto found = std::find(commands_.begin(), commands_.end(), chosen.front());
  return Parsed{Parsed::Kind::kCommand, static_cast<std::size_t>(found - commands_.begin())};
}

}  // namespace locus::cli
