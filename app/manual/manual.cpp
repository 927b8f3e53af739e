#include "app/manual/manual.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>

#include "app/manual/embedded.h"
#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/shown.h"

namespace locus::manual {

namespace {

constexpr const char* kContents = "contents";

std::string_view embedded(const std::string& name) {
  for (const EmbeddedPage& page : embedded_pages()) {
    if (page.name == name) {
      return page.text;
    }
  }
  return {};
}

std::string title_of(std::string_view text) {
  for (const Block& block : parse_blocks(text)) {
    if (block.kind == Block::Kind::kHeading) {
      return plain(block.line);
    }
  }
  return {};
}

// A table of the contents has a link to the page in the first cell of a row and what stands there in the last.
std::vector<Page> read_pages() {
  std::vector<Page> pages{{kContents, title_of(embedded(kContents)), "every page", {}, embedded(kContents)}};
  std::string part;
  std::string group;
  for (const Block& block : parse_blocks(embedded(kContents))) {
    if (block.kind == Block::Kind::kHeading) {
      part = block.level < 3 ? plain(block.line) : part;
      group = block.level < 3 ? part : part + ": " + plain(block.line);
    }
    for (const auto& row : block.rows) {
      if (!row.front().empty() && row.front().front().kind == Span::Kind::kLink) {
        const Place place = place_of(kContents, row.front().front().target);
        const std::string_view text = embedded(place.page);
        pages.push_back({place.page, title_of(text), plain(row.back()), group, text});
      }
    }
  }
  return pages;
}

// "train" for a heading that is `locus train`, or ends so; empty for one without a name in code.
std::string name_in(const Line& heading) {
  if (heading.size() != 1 || heading.front().kind != Span::Kind::kCode) {
    return {};
  }
  const std::string& code = heading.front().text;
  const auto space = code.rfind(' ');
  return space == std::string::npos ? code : code.substr(space + 1);
}

struct Topics {
  std::map<std::string, Place> named;  // pages and names in code
  std::map<std::string, Place> words;  // headings that one page alone has
};

Topics read_topics() {
  Topics topics;
  std::set<std::string> twice;
  for (const Page& page : pages()) {
    topics.named[page.name] = {page.name, {}};
  }
  for (const Page& page : pages()) {
    for (const Block& block : parse_blocks(page.text)) {
      if (block.kind != Block::Kind::kHeading || block.level < 2) {
        continue;
      }
      const Place place{page.name, anchor_of(block.line)};
      if (const std::string name = name_in(block.line); !name.empty()) {
        topics.named.emplace(name, place);
      }
      if (!topics.words.emplace(place.anchor, place).second) {
        twice.insert(place.anchor);
      }
    }
  }
  for (const std::string& word : twice) {
    topics.words.erase(word);
  }
  return topics;
}

const Topics& topics() {
  static const Topics topics = read_topics();
  return topics;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 0x80 ? std::tolower(c) : c); });
  return out;
}

// How many letters must be put in, taken out or changed.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

std::string nearest(const std::string& topic) {
  constexpr std::size_t kShown = 4;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [name, place] : topics().named) {
    const bool part = name.find(topic) != std::string::npos || topic.find(name) != std::string::npos;
    ranked.emplace_back(part ? 0 : edits(topic, name), name);
  }
  std::ranges::sort(ranked);
  ranked.resize(std::min(kShown, ranked.size()));
  return listed(ranked, &std::pair<std::size_t, std::string>::second);
}

// A heading and what stands below it, up to the next heading.
struct Part {
  std::string anchor;
  std::string heading;
  std::string_view text;
};

std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts{{{}, {}, text}};
  bool fenced = false;
  for (const std::string_view line : split_terminated(text, "\n")) {
    fenced = fenced != line.starts_with("```");
    if (!fenced && line.starts_with("##")) {
      const Line heading = parse_line(line.substr(std::min(line.find_first_not_of("# "), line.size())));
      Part& last = parts.back();
      last.text = last.text.substr(0, static_cast<std::size_t>(line.data() - last.text.data()));
      parts.push_back(
          {anchor_of(heading), plain(heading), text.substr(static_cast<std::size_t>(line.data() - text.data()))});
    }
  }
  return parts;
}

// How deep the heading at the begin of `text` is.
std::size_t level_of(std::string_view text) {
  return std::min(text.find_first_not_of('#'), text.size());
}

// The text around the word, which the line holds, in so many bytes or a few less.
std::string around(const std::string& line, std::string_view word) {
  constexpr std::size_t kMaxLength = 90;
  constexpr std::size_t kBefore = 30;
  const auto is_inner = [&](std::size_t at) { return (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80; };
  const std::size_t found = lower(line).find(word);
  std::size_t begin = line.size() <= kMaxLength || found < kBefore ? 0 : found - kBefore;
  while (begin > 0 && (is_inner(begin) || line[begin - 1] != ' ') && begin < found) {
    ++begin;  // whole words
  }
  std::size_t end = std::min(begin + kMaxLength, line.size());
  while (end < line.size() && end > begin && is_inner(end)) {
    --end;
  }
  return (begin > 0 ? "…" : "") + line.substr(begin, end - begin) + (end < line.size() ? "…" : "");
}

std::string line_with(std::string_view text, std::string_view word) {
  for (const Block& block : parse_blocks(text)) {
    std::vector<std::string> lines{plain(block.line), block.text};
    for (const auto& row : block.rows) {
      lines.push_back(listed(row, plain, " · "));
    }
    for (const std::string& line : lines) {
      if (lower(line).find(word) != std::string::npos && block.kind != Block::Kind::kHeading) {
        return around(line, word);
      }
    }
  }
  return {};
}

}  // namespace

const std::vector<Page>& pages() {
  static const std::vector<Page> pages = read_pages();
  return pages;
}

Result<Place> find_topic(const std::string& topic) {
  const std::string name = lower(topic);
  for (const auto* list : {&topics().named, &topics().words}) {
    if (const auto found = list->find(name); found != list->end()) {
      return found->second;
    }
  }
  return usage("unknown topic " + shown(topic) + "; nearest: " + nearest(name) + " (locus help lists all)");
}

std::string_view text_of(const Place& place) {
  const std::string_view page = embedded(place.page);
  if (place.anchor.empty()) {
    return page;
  }
  const std::vector<Part> parts = parts_of(page);
  for (auto part = parts.begin() + 1; part < parts.end(); ++part) {
    if (part->anchor == place.anchor) {
      const auto end = std::find_if(part + 1, parts.end(),
                                    [&](const Part& each) { return level_of(each.text) <= level_of(part->text); });
      const char* stop = end == parts.end() ? page.data() + page.size() : end->text.data();
      return page.substr(static_cast<std::size_t>(part->text.data() - page.data()),
                         static_cast<std::size_t>(stop - part->text.data()));
    }
  }
  return {};
}

Place place_of(const std::string& page, const std::string& link) {
  const auto hash = link.find('#');
  const std::string file = link.substr(0, hash);
  const std::string anchor = hash == std::string::npos ? std::string() : link.substr(hash + 1);
  if (file.empty()) {
    return {page, anchor};
  }
  constexpr std::string_view kEnding = ".md";
  if (file.find('/') != std::string::npos || !file.ends_with(kEnding)) {
    return {};
  }
  return {file.substr(0, file.size() - kEnding.size()), anchor};
}

std::vector<Hit> search(const std::string& words) {
  const std::string typed = lower(words);
  const std::vector<std::string_view> wanted = split_words(typed, " ");
  std::vector<Hit> in_headings;
  std::vector<Hit> in_text;
  const auto holds = [&wanted](const std::string& where) {
    return std::ranges::all_of(wanted, [&](std::string_view word) { return where.find(word) != std::string::npos; });
  };
  for (const Page& page : pages()) {
    for (const Part& part : wanted.empty() ? std::vector<Part>() : parts_of(page.text)) {
      const std::string heading = page.title + (part.heading.empty() ? "" : " › " + part.heading);
      const std::string named = lower(page.name + " " + heading);
      if (holds(named + " " + lower(part.text))) {
        (holds(named) ? in_headings : in_text)
            .push_back({{page.name, part.anchor}, heading, line_with(part.text, wanted.front())});
      }
    }
  }
  in_headings.insert(in_headings.end(), in_text.begin(), in_text.end());
  return in_headings;
}

}  // namespace locus::manual
