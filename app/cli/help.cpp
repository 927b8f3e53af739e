// locus help: the manual in a terminal.
#include <memory>

#include "app/cli/command.h"
#include "app/manual/manual.h"
#include "core/base/shown.h"

namespace locus::cli {
namespace {

struct HelpOptions {
  std::string topic;
  std::string search;
  bool markdown = false;
};

void print_topics(Console& console) {
  console.print(
      "locus help TOPIC prints a page of the manual. Encodings, sub-commands and the words of a heading are also");
  console.print("topics: locus help cope, locus help train, locus help exit-status.");
  constexpr std::size_t kNames = 22;
  std::string group;
  for (const manual::Page& page : manual::pages()) {
    if (page.group != group) {
      group = page.group;
      console.print("\n" + group);
    }
    console.print("  " + padded(page.name, kNames) + page.summary);
  }
}

Status print_found(const std::string& words, Console& console) {
  const std::vector<manual::Hit> hits = manual::search(words);
  if (hits.empty()) {
    return usage("--search: no section of the manual contains " + words);
  }
  for (const manual::Hit& hit : hits) {
    const std::string topic = hit.place.anchor.empty() ? hit.place.page : hit.place.anchor;
    console.print("locus help " + topic + " — " + hit.heading +
                  (hit.excerpt.empty() ? "" : ": " + one_line(hit.excerpt)));
  }
  return {};
}

Status run_help(const HelpOptions& options, const Context& context) {
  if (!options.search.empty()) {
    return options.topic.empty() ? print_found(options.search, context.console)
                                 : Status(usage("help: expected TOPIC or --search, found both"));
  }
  if (options.topic.empty()) {
    print_topics(context.console);
    return {};
  }
  LOCUS_TRY(const manual::Place place, manual::find_topic(options.topic));
  const std::string_view text = manual::text_of(place);
  std::string out = options.markdown ? std::string(text) : manual::to_terminal(text);
  while (out.ends_with('\n')) {
    out.pop_back();
  }
  context.console.print(out);
  return {};
}

}  // namespace

Action declare_help(Arguments& arguments) {
  auto options = std::make_shared<HelpOptions>();
  arguments.positional("TOPIC", options->topic, false, "a page, an encoding, a sub-command or the words of a heading");
  arguments.text("--search", options->search, "list the sections of the manual that contain these words, one per line");
  arguments.flag("--markdown", options->markdown, "print the Markdown source of the page");
  return [options](const Context& context) { return run_help(*options, context); };
}

}  // namespace locus::cli
