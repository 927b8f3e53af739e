#include "app/cli/help_pages.h"

#include "app/manual/manual.h"
#include "core/base/shown.h"

namespace locus::cli {
namespace {

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

}  // namespace

Status print_help(const HelpRequest& request, Console& console) {
  if (!request.search.empty()) {
    return request.topic.empty() ? print_found(request.search, console)
                                 : Status(usage("help: expected TOPIC or --search, found both"));
  }
  if (request.topic.empty()) {
    print_topics(console);
    return {};
  }
  LOCUS_TRY(const manual::Place place, manual::find_topic(request.topic));
  const std::string_view text = manual::text_of(place);
  std::string out = request.markdown ? std::string(text) : manual::to_terminal(text);
  while (out.ends_with('\n')) {
    out.pop_back();
  }
  console.print(out);
  return {};
}

}  // namespace locus::cli
