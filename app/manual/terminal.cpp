#include <algorithm>

#include "app/manual/manual.h"
#include "core/base/lists.h"
#include "core/base/shown.h"

namespace locus::manual {

namespace {

// The text as it is read: without marks, and a link says where to read on.
std::string readable(const Line& line) {
  std::string text;
  for (const Span& span : line) {
    text += span.text;
    if (span.kind != Span::Kind::kLink) {
      continue;
    }
    const Place place = place_of({}, span.target);
    const std::string& topic = place.anchor.empty() ? place.page : place.anchor;
    if (place.page.empty() && place.anchor.empty()) {
      text += " (" + span.target + ")";
    } else if (topic != span.text) {
      text += " (locus help " + topic + ")";
    }
  }
  return text;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string_view word : split_terminated(text, " ")) {
    if (!line.empty() && characters_in(line) + 1 + characters_in(word) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line.append(line.empty() ? "" : " ").append(word);
    }
  }
  if (!line.empty() || lines.empty()) {
    lines.push_back(std::move(line));
  }
  return lines;
}

// `text` with `first` before its first line and spaces before the others.
std::string hanging(const std::string& text, const std::string& first, std::size_t width) {
  const std::size_t indent = characters_in(first);
  std::string out;
  for (const std::string& line : wrapped(text, width - indent)) {
    out += (out.empty() ? first : std::string(indent, ' ')) + line + "\n";
  }
  return out;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& word : wrapped(text, 1)) {
    longest = std::max(longest, characters_in(word));
  }
  return longest;
}

// As wide as their cells; where the room is short, the widest columns give way, down to their longest words.
std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows, std::size_t room) {
  std::vector<std::size_t> widths;
  std::vector<std::size_t> least;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    least.resize(widths.size());
    for (std::size_t n = 0; n < row.size(); ++n) {
      widths[n] = std::max(widths[n], characters_in(row[n]));
      least[n] = std::max(least[n], longest_word(row[n]));
    }
  }
  std::size_t total = 0;
  for (const std::size_t width : widths) {
    total += width + 2;
  }
  while (total > room + 2) {
    std::size_t widest = widths.size();
    for (std::size_t n = 0; n < widths.size(); ++n) {
      if (widths[n] > least[n] && (widest == widths.size() || widths[n] > widths[widest])) {
        widest = n;
      }
    }
    if (widest == widths.size()) {
      break;
    }
    --widths[widest];
    --total;
  }
  return widths;
}

std::string table(const Block& block, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : block.rows) {
    rows.emplace_back();
    for (const Line& cell : row) {
      rows.back().push_back(readable(cell));
    }
  }
  const std::vector<std::size_t> widths = column_widths(rows, width);
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t n = 0; n < rows[r].size(); ++n) {
      cells.push_back(wrapped(rows[r][n], widths[n]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      for (std::size_t n = 0; n < cells.size(); ++n) {
        text += padded(line < cells[n].size() ? cells[n][line] : std::string(), widths[n]) + "  ";
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    }
    if (r == 0 && !out.empty() && out != "\n") {
      std::string rule;
      for (const std::size_t each : widths) {
        for (std::size_t n = 0; n < each; ++n) {
          rule += "─";
        }
        rule += "  ";
      }
      out += rule.erase(rule.find_last_not_of(' ') + 1) + "\n";
    }
  }
  // A table whose head is empty has none.
  return out.starts_with("\n") ? out.substr(1) : out;
}

std::string heading(const Block& block) {
  const std::string text = readable(block.line);
  std::string out = text + "\n";
  for (std::size_t n = 0; block.level < 3 && n < characters_in(text); ++n) {
    out += block.level == 1 ? "═" : "─";
  }
  return block.level < 3 ? out + "\n" : out;
}

std::string code(const Block& block) {
  std::string out;
  for (const std::string_view line : split_terminated(block.text, "\n")) {
    out.append(line.empty() ? "" : "    ").append(line).append("\n");
  }
  return out;
}

std::string written(const Block& block, std::size_t width) {
  switch (block.kind) {
    case Block::Kind::kHeading:
      return heading(block);
    case Block::Kind::kItem:
      return hanging(readable(block.line), "  " + block.marker + " ", width);
    case Block::Kind::kTable:
      return table(block, width);
    case Block::Kind::kCode:
      return code(block);
    case Block::Kind::kPicture:
      return {};
    case Block::Kind::kParagraph:
      break;
  }
  return hanging(readable(block.line), {}, width);
}

}  // namespace

std::string to_terminal(std::string_view text, std::size_t width) {
  std::string out;
  bool item = false;
  for (const Block& block : parse_blocks(text)) {
    const std::string lines = written(block, width);
    const bool is_item = block.kind == Block::Kind::kItem;
    if (!lines.empty()) {
      out += (out.empty() || (item && is_item) ? "" : "\n") + lines;
      item = is_item;
    }
  }
  return out;
}

}  // namespace locus::manual
