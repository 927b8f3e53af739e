// locus families: the families of checkpoints, in the program and in files; a check of a file.
#include <algorithm>
#include <memory>

#include "app/cli/command.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/families.h"

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

Status run_families(const std::vector<std::string>& words, const Context& context) {
  if (words.empty()) {
    print_families(context.console);
    return {};
  }
  if (words.front() != "check" || words.size() != 2) {
    return usage("families: expected nothing, or check FILE, found " + shown(words.front()));
  }
  LOCUS_TRY(const models::FamilyInfo family, models::check_family(words.back()));
  context.console.print(printable(family.file) + ": family " + printable(family.name) + ", model types " +
                        types_of(family));
  return {};
}

}  // namespace

Action declare_families(Arguments& arguments) {
  auto words = std::make_shared<std::vector<std::string>>();
  arguments.positionals("check FILE", *words, "check a family's file, rather than list all families");
  return [words](const Context& context) { return run_families(*words, context); };
}

}  // namespace locus::cli
