// locus families: the families of checkpoints, in the program and in files; a check of a file; a draft of one.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/cli/command.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/families.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {
namespace {

std::string types_of(const models::FamilyInfo& family) {
  return listed(family.types, [](const std::string& type) { return printable(type); });
}

void print_families(Console& console) {
  const std::vector<models::FamilyInfo> list = models::families();
  std::size_t name = 0;
  std::size_t types = 0;
  for (const models::FamilyInfo& family : list) {
    name = std::max(name, characters_in(printable(family.name)));
    types = std::max(types, family.file.empty() ? 0 : characters_in(types_of(family)));
  }
  for (const models::FamilyInfo& family : list) {
    const std::string place = family.file.empty() ? "built in" : "file " + printable(family.file);
    console.print(padded(printable(family.name), name) + "  " + padded(types_of(family), types) + "  " + place +
                  (family.replaces ? ", replaces a built-in family" : ""));
    if (!family.wrong.empty()) {
      console.warn(family.wrong);
    }
  }
}

Status check_family(const std::string& file, Console& console) {
  LOCUS_TRY(const models::FamilyInfo family, models::check_family(file));
  console.print(printable(family.file) + ": family " + printable(family.name) + ", model types " + types_of(family));
  return {};
}

void warn_of(const char* what, const std::vector<std::string>& names, Console& console) {
  if (!names.empty()) {
    console.warn(what + listed(names, [](const std::string& name) { return printable(name); }));
  }
}

// The draft alone goes to standard output, so that it can be written into a file.
Status suggest_family(const std::string& path, const std::optional<std::string>& against, Console& console) {
  LOCUS_TRY(const std::filesystem::path folder, formats::find_checkpoint(path));
  const auto expected = against ? std::optional<std::filesystem::path>(*against) : std::nullopt;
  LOCUS_TRY(const models::FamilyDraft draft, models::suggest_family(folder, expected));
  std::string text = draft.text;
  text.pop_back();
  console.print(text);
  warn_of("parameters without a tensor: ", draft.absent, console);
  warn_of("tensors without a parameter: ", draft.leftover, console);
  warn_of("fields settled or ignored without being understood: ", draft.unread, console);
  warn_of("rows guessed from words: ", draft.guessed, console);
  if (!draft.opens()) {
    return unsupported("the draft does not open the checkpoint yet; complete it (locus help families)", path);
  }
  if (!against) {
    console.warn("compare the draft with the authors' code before you believe a picture (--against)");
    return {};
  }
  const std::string tried = draft.compared == 1 ? "one draft" : std::to_string(draft.compared) + " drafts";
  if (!draft.agrees) {
    return internal("none of " + tried + " agrees with the expected values; the printed one differs first in " +
                    printable(draft.first_wrong) + ", by " + general_text(draft.difference, 3));
  }
  console.warn("of " + tried + " the printed one agrees with the expected values: differences up to " +
               general_text(draft.difference, 3));
  return {};
}

Status run_families(const std::vector<std::string>& words, const std::optional<std::string>& against,
                    const Context& context) {
  const bool suggest = words.size() == 2 && words.front() == "suggest";
  if (against && !suggest) {
    return usage("--against: expected with suggest FOLDER, found without it");
  }
  if (words.empty()) {
    print_families(context.console);
    return {};
  }
  if (suggest) {
    return suggest_family(words.back(), against, context.console);
  }
  if (words.front() != "check" || words.size() != 2) {
    return usage("families: expected nothing, check FILE or suggest FOLDER, found " + shown(words.front()));
  }
  return check_family(words.back(), context.console);
}

}  // namespace

Action declare_families(Arguments& arguments) {
  struct Options {
    std::vector<std::string> words;
    std::optional<std::string> against;
  };
  auto options = std::make_shared<Options>();
  arguments.positionals("WORD", options->words,
                        "check FILE: check a family's file; suggest FOLDER: draft a file for a checkpoint that no "
                        "family reads; without either: list all families");
  arguments.text(
      "--against", options->against,
      "with suggest: values that another program computed (expected.safetensors), for what shapes do not show",
      FileUse::kRead);
  return [options](const Context& context) { return run_families(options->words, options->against, context); };
}

}  // namespace locus::cli
