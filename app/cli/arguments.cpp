#include "app/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <iostream>

#include "core/base/controls.h"
#include "core/base/listed.h"
#include "core/base/version.h"

namespace locus::cli {

namespace {

using Words = std::vector<std::string>;

// The word of help for a value: "N", "linear|log".
std::string type_of(const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::kWhole:
      return "N";
    case Parameter::Kind::kNumber:
      return "X";
    case Parameter::Kind::kList:
      return "X,Y";
    case Parameter::Kind::kText:
      return "TEXT";
    case Parameter::Kind::kToggle:
    case Parameter::Kind::kChoice:
      break;
  }
  return listed(parameter.choices, std::identity(), "|");
}

std::string type_of(FileUse use) {
  return use == FileUse::kNone ? "TEXT" : use == FileUse::kCheckpoint ? "PATH" : "FILE";
}

}  // namespace

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

void Arguments::text(const std::string& name, std::string& value, const std::string& help, FileUse use) {
  app_.add_option(name, value, help)->type_name(type_of(use));
  files(name, use, [&value] { return value.empty() ? Words() : Words{value}; });
}

void Arguments::text(const std::string& name, std::optional<std::string>& value, const std::string& help, FileUse use) {
  app_.add_option_function<std::string>(
          name, [&value](const std::string& given) { value = given; }, help)
      ->type_name(type_of(use));
  files(name, use, [&value] { return value ? Words{*value} : Words(); });
}

void Arguments::checked(const std::string& name, const Parameter& parameter, const std::string& type,
                        const std::function<void(const SettingValue&)>& use) {
  table_.push_back({command_, name, parameter});
  const auto parse_one = [name, parameter, use](const std::string& given) {
    const auto value = locus::parse(parameter, given, name);
    if (!value.ok()) {
      throw CLI::ParseError(value.error().message, CLI::ExitCodes::ValidationError);
    }
    use(*value);
  };
  CLI::Option* const option = app_.add_option_function<std::string>(name, parse_one, parameter.help)->type_name(type);
  if (parameter.fallback != SettingValue(std::string())) {
    option->default_str(to_text(parameter, parameter.fallback));
  }
}

void Arguments::integer(const std::string& name, std::int64_t& value, Bounds bounds, const std::string& help) {
  checked(name, whole(name, name, help, value, bounds.low, bounds.high), "N",
          [&value](const SettingValue& given) { value = std::get<std::int64_t>(given); });
}

void Arguments::integer(const std::string& name, std::optional<std::int64_t>& value, Bounds bounds,
                        const std::string& help) {
  Parameter parameter = whole(name, name, help, 0, bounds.low, bounds.high);
  parameter.fallback = std::string();  // there is none
  checked(name, parameter, "N", [&value](const SettingValue& given) { value = std::get<std::int64_t>(given); });
}

void Arguments::number(const std::string& name, double& value, Bounds bounds, const std::string& help) {
  checked(name, locus::number(name, name, help, value, bounds.low, bounds.high), "X",
          [&value](const SettingValue& given) { value = std::get<double>(given); });
}

void Arguments::number(const std::string& name, std::optional<double>& value, Bounds bounds, const std::string& help) {
  checked(name, locus::number(name, name, help, std::string(), bounds.low, bounds.high), "X",
          [&value](const SettingValue& given) { value = std::get<double>(given); });
}

void Arguments::list(const std::string& name, Words& values, const std::string& help, FileUse use) {
  app_.add_option(name, values, help)->type_name(type_of(use) + " ...")->expected(1, 1 << 20);
  files(name, use, [&values] { return values; });
}

void Arguments::repeated(const std::string& name, Words& values, const std::string& help, const std::string& form) {
  app_.add_option_function<std::string>(
          name, [&values](const std::string& given) { values.push_back(given); }, help)
      ->type_name(form)
      ->trigger_on_parse();
}

void Arguments::choice(const std::string& name, std::string& value, const Words& choices, const std::string& help) {
  const Parameter parameter{Parameter::Kind::kChoice, name, name, help, value, 0, 1, choices};
  checked(name, parameter, type_of(parameter),
          [&value](const SettingValue& given) { value = std::get<std::string>(given); });
}

void Arguments::parameter(const std::string& name, Parameter parameter, std::optional<std::string>& typed) {
  if (!parameter.help.empty()) {
    parameter.help.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(parameter.help.front())));
  }
  if (parameter.kind == Parameter::Kind::kToggle && parameter.choices.empty()) {
    app_.add_flag_callback(
        name, [&typed] { typed = "true"; }, parameter.help);
    return;
  }
  checked(name, parameter, type_of(parameter),
          [&typed, parameter](const SettingValue& value) { typed = to_text(parameter, value); });
}

void Arguments::positional(const std::string& name, std::string& value, bool required, const std::string& help,
                           FileUse use) {
  app_.add_option(name, value, help)->required(required)->type_name("");
  files(name, use, [&value] { return value.empty() ? Words() : Words{value}; });
}

void Arguments::positionals(const std::string& name, Words& values, const std::string& help, FileUse use) {
  app_.add_option(name, values, help)->type_name("");
  files(name, use, [&values] { return values; });
}

void Arguments::files(const std::string& name, FileUse use, std::function<Words()> typed) {
  if (use != FileUse::kNone) {
    files_.push_back({command_, name, use, std::move(typed)});
  }
}

void Arguments::propose(const std::string& name, Words words) {
  proposals_.push_back({command_, name, std::move(words)});
}

void Arguments::hide(const Words& names) {
  for (const std::string& name : names) {
    app_.get_option(name)->group("");
  }
}

void Arguments::footer(const std::string& text) {
  app_.footer(text);
}

Parser::Parser(const std::string& version_text)
    : app_(std::make_unique<CLI::App>("Locus: see how a transformer addresses positions.", "locus")) {
  const std::string version = "locus " + std::string(program_version());
  app_->set_version_flag("--version", version_text.empty() ? version : version_text);
  app_->set_help_flag("-h,--help", "print this help");
  app_->require_subcommand(0, 1);
  app_->get_formatter()->column_width(38);
}

Parser::~Parser() = default;

Arguments Parser::root() {
  return Arguments(*app_, table_, files_, proposals_, "");
}

Arguments Parser::add_command(const std::string& name, const std::string& summary) {
  CLI::App* const app = app_->add_subcommand(name, summary);
  app->set_help_flag("-h,--help", "print the options of the sub-command");
  commands_.push_back(app);
  return Arguments(*app, table_, files_, proposals_, name);
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

// The words of a choice, or those that are proposed.
Words Parser::words_of(const std::string& command, const std::string& name) const {
  for (const Proposals& each : proposals_) {
    if (each.command == command && each.name == name) {
      return each.words;
    }
  }
  for (const Option& each : table_) {
    if (each.command == command && each.name == name) {
      return each.parameter.choices;
    }
  }
  return {};
}

CommandText Parser::describe(const CLI::App& app, const std::string& name) const {
  CommandText text{name, app.get_description(), {}, app.get_footer(), app.help(name.empty() ? "" : app_->get_name())};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) {
      continue;
    }
    OptionText each;
    each.positional = option->get_positional();
    for (const std::string& letter : option->get_snames()) {
      each.names.push_back("-" + letter);
    }
    for (const std::string& word : option->get_lnames()) {
      each.names.push_back("--" + word);
    }
    if (each.positional) {
      each.names = {option->get_name(true)};
    }
    const std::string& last = each.names.back();
    const bool file = std::any_of(files_.begin(), files_.end(), [&](const NamedFiles& known) {
      return known.command == name && (last == known.name || (each.positional && last.ends_with(known.name)));
    });
    each.words = words_of(name, last);
    each.kind = file ? ValueKind::kFile : option->get_items_expected_max() == 0 ? ValueKind::kNone : ValueKind::kWord;
    each.value = option->get_type_name();
    each.help = option->get_description();
    each.fallback = option->get_default_str();
    text.options.push_back(std::move(each));
  }
  return text;
}

std::vector<CommandText> Parser::describe() const {
  std::vector<CommandText> texts{describe(*app_, "")};
  for (const CLI::App* const command : commands_) {
    texts.push_back(describe(*command, command->get_name()));
  }
  return texts;
}

}  // namespace locus::cli
