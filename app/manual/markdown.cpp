#include "app/manual/markdown.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/base/lists.h"

namespace locus::manual {

namespace {

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

// The text between `mark` at `at` and its next occurrence, which does not follow a space; empty where there is none.
std::optional<std::string_view> between(std::string_view text, std::size_t at, std::string_view mark) {
  const std::size_t begin = at + mark.size();
  if (begin >= text.size() || text[begin] == ' ') {
    return std::nullopt;
  }
  const std::size_t end = text.find(mark, begin + 1);
  if (end == std::string_view::npos || text[end - 1] == ' ') {
    return std::nullopt;
  }
  return text.substr(begin, end - begin);
}

struct Found {
  Span span;
  std::size_t size = 0;  // characters it takes
};

std::optional<Found> link_at(std::string_view text, std::size_t at) {
  const std::size_t middle = text.find("](", at);
  const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
  if (end == std::string_view::npos || text.substr(at + 1, middle - at - 1).find('[') != std::string_view::npos) {
    return std::nullopt;
  }
  Span span{Span::Kind::kLink, plain(parse_line(text.substr(at + 1, middle - at - 1))),
            std::string(text.substr(middle + 2, end - middle - 2))};
  return Found{std::move(span), end + 1 - at};
}

// The mark that begins at `at`, where one does.
std::optional<Found> mark_at(std::string_view text, std::size_t at) {
  if (text[at] == '[') {
    return link_at(text, at);
  }
  if (text[at] == '`') {
    const std::size_t end = text.find('`', at + 1);
    return end == std::string_view::npos
               ? std::nullopt
               : std::optional(
                     Found{{Span::Kind::kCode, std::string(text.substr(at + 1, end - at - 1)), {}}, end + 1 - at});
  }
  for (const auto& [mark, kind] : {std::pair("**", Span::Kind::kBold), std::pair("*", Span::Kind::kItalic)}) {
    if (text.substr(at).starts_with(mark)) {
      if (const auto inner = between(text, at, mark)) {
        return Found{{kind, plain(parse_line(*inner)), {}}, inner->size() + 2 * std::string_view(mark).size()};
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool is_rule(std::string_view row) {
  return row.find_first_not_of("|-: ") == std::string_view::npos && row.find('-') != std::string_view::npos;
}

// The cells of "| a | b |"; a bar in `code` or behind a backslash divides nothing.
std::vector<Line> cells_of(std::string_view row) {
  std::vector<Line> cells;
  std::string cell;
  bool code = false;
  row = trimmed(row).substr(1);
  for (std::size_t n = 0; n < row.size(); ++n) {
    code = code != (row[n] == '`');
    if (row[n] == '\\' && n + 1 < row.size() && row[n + 1] == '|') {
      cell += row[++n];
    } else if (row[n] == '|' && !code) {
      cells.push_back(parse_line(trimmed(cell)));
      cell.clear();
    } else {
      cell += row[n];
    }
  }
  return cells;
}

// "- text" and "1. text": the marker and where the text begins.
std::optional<std::pair<std::string, std::string_view>> item_of(std::string_view line) {
  if (line.starts_with("- ")) {
    return std::pair(std::string("•"), line.substr(2));
  }
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string_view::npos && line.substr(digits).starts_with(". ")) {
    return std::pair(std::string(line.substr(0, digits + 1)), line.substr(digits + 2));
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(split_terminated(text, "\n")) {}

  std::vector<Block> parse() {
    while (at_ < lines_.size()) {
      if (trimmed(lines_[at_]).empty() || is_comment(lines_[at_])) {
        ++at_;
      } else {
        blocks_.push_back(next());
      }
    }
    return std::move(blocks_);
  }

 private:
  // A line for those who write the page.
  static bool is_comment(std::string_view line) { return line.starts_with("<!--"); }

  Block next() {
    const std::string_view line = lines_[at_];
    if (line.starts_with("```")) {
      return code();
    }
    if (line.starts_with("|")) {
      return table();
    }
    if (line.starts_with("#")) {
      return heading();
    }
    if (line.starts_with("![")) {
      return picture();
    }
    Block block;
    std::string text;
    if (const auto item = item_of(line)) {
      block.kind = Block::Kind::kItem;
      block.marker = item->first;
      text = trimmed(item->second);
      ++at_;
    }
    for (; at_ < lines_.size() && continues(lines_[at_]); ++at_) {
      text += (text.empty() ? "" : " ") + std::string(trimmed(lines_[at_]));
    }
    block.line = parse_line(text);
    return block;
  }

  // A line that goes on with the paragraph or item before it.
  static bool continues(std::string_view line) {
    return !trimmed(line).empty() && !is_comment(line) && line.find_first_of("#|") != 0 && !line.starts_with("```") &&
           !line.starts_with("![") && !item_of(line);
  }

  Block code() {
    Block block;
    block.kind = Block::Kind::kCode;
    block.words = trimmed(lines_[at_].substr(3));
    for (++at_; at_ < lines_.size() && !lines_[at_].starts_with("```"); ++at_) {
      block.text += std::string(lines_[at_]) + "\n";
    }
    ++at_;
    return block;
  }

  Block table() {
    Block block;
    block.kind = Block::Kind::kTable;
    for (; at_ < lines_.size() && lines_[at_].starts_with("|"); ++at_) {
      if (!is_rule(lines_[at_])) {
        block.rows.push_back(cells_of(lines_[at_]));
      }
    }
    return block;
  }

  Block heading() {
    Block block;
    block.kind = Block::Kind::kHeading;
    const std::string_view line = lines_[at_++];
    const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
    block.level = static_cast<int>(marks);
    block.line = parse_line(trimmed(line.substr(marks)));
    return block;
  }

  Block picture() {
    Block block;
    block.kind = Block::Kind::kPicture;
    const Line line = parse_line(lines_[at_++].substr(1));
    block.text = line.front().text;
    block.picture = line.front().target;
    return block;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace

Line parse_line(std::string_view text) {
  Line line;
  std::string words;
  for (std::size_t at = 0; at < text.size();) {
    if (auto found = mark_at(text, at)) {
      if (!words.empty()) {
        line.push_back({Span::Kind::kText, std::move(words), {}});
        words.clear();
      }
      at += found->size;
      line.push_back(std::move(found->span));
    } else {
      words += text[at++];
    }
  }
  if (!words.empty()) {
    line.push_back({Span::Kind::kText, std::move(words), {}});
  }
  return line;
}

std::vector<Block> parse_blocks(std::string_view text) {
  return Parser(text).parse();
}

std::string plain(const Line& line) {
  std::string text;
  for (const Span& span : line) {
    text += span.text;
  }
  return text;
}

std::string anchor_of(const Line& heading) {
  std::string anchor;
  for (const char c : plain(heading)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(byte) != 0 || byte >= 0x80 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

}  // namespace locus::manual
