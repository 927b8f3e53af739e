// The manual: the pages of assets/manual, compiled in, and what is found in them. `locus help` prints them, Help shows
// them in the window, and both name a place by its topic.
//
// A topic is a page ("attention"), or a heading: one that is a name in `code` ("cope", "train" for `locus train`), or
// the words of one that no other page has ("exit-status").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/manual/markdown.h"
#include "core/base/result.h"

namespace locus::manual {

struct Page {
  std::string name;     // "attention", of the file attention.md
  std::string title;    // its first heading
  std::string summary;  // what the contents say of it
  std::string group;    // the heading of the contents it stands below: "Reference", "Views: Look"
  std::string_view text;
};

// In the order of the contents, which come first.
const std::vector<Page>& pages();

struct Place {
  std::string page;
  std::string anchor;  // of a heading; empty: the whole page

  friend bool operator==(const Place&, const Place&) = default;
};

// Errors: kUsage naming the nearest topics.
Result<Place> find_topic(const std::string& topic);

// The page, or the part of it below the heading; empty for a place that does not exist.
std::string_view text_of(const Place& place);

// "page.md#heading" on `page` → its place; an address on the web has none (empty page).
Place place_of(const std::string& page, const std::string& link);

struct Hit {
  Place place;
  std::string heading;  // of the page and of the part
  std::string excerpt;  // of the line where the first word was found, what stands around it
};

// The parts of pages that hold every word, without regard to case: those whose headings hold them first.
std::vector<Hit> search(const std::string& words);

// As they are read in a terminal: no marks, tables in columns, `width` characters a line.
std::string to_terminal(std::string_view text, std::size_t width = 80);

// As a page of Qt's rich text.
struct HtmlColors {
  std::string shade = "#f0f0f0";  // behind code and heads of tables
};
std::string to_html(std::string_view text, const HtmlColors& colors);

}  // namespace locus::manual
