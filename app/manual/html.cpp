#include "app/manual/manual.h"

namespace locus::manual {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string inline_html(const Line& line) {
  std::string out;
  for (const Span& span : line) {
    const std::string text = escaped(span.text);
    switch (span.kind) {
      case Span::Kind::kText:
        out += text;
        break;
      case Span::Kind::kCode:
        out += "<code>" + text + "</code>";
        break;
      case Span::Kind::kBold:
        out += "<b>" + text + "</b>";
        break;
      case Span::Kind::kItalic:
        out += "<i>" + text + "</i>";
        break;
      case Span::Kind::kLink:
        out += "<a href=\"" + escaped(span.target) + "\">" + text + "</a>";
        break;
    }
  }
  return out;
}

std::string table(const Block& block, const HtmlColors& colors) {
  std::string out = "<table cellspacing=\"0\" cellpadding=\"5\">";
  for (std::size_t r = 0; r < block.rows.size(); ++r) {
    std::string cells;
    bool empty = true;
    for (const Line& cell : block.rows[r]) {
      empty = empty && cell.empty();
      cells += (r == 0 ? "<th align=\"left\" bgcolor=\"" + colors.shade + "\">" : "<td>") + inline_html(cell) +
               (r == 0 ? "</th>" : "</td>");
    }
    out += r == 0 && empty ? "" : "<tr>" + cells + "</tr>";
  }
  return out + "</table><p></p>";
}

// Coloured as one cell of a table: Qt colours lines of <pre> as wide as their text alone.
std::string code(const Block& block, const HtmlColors& colors) {
  std::string text = escaped(block.text);
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return "<table width=\"100%\" cellspacing=\"0\" cellpadding=\"8\"><tr><td bgcolor=\"" + colors.shade +
         "\"><pre style=\"white-space:pre-wrap\">" + text + "</pre></td></tr></table><p></p>";
}

std::string heading_html(const Block& block) {
  const std::string level = std::to_string(block.level);
  return "<h" + level + "><a name=\"" + escaped(anchor_of(block.line)) + "\"></a>" + inline_html(block.line) + "</h" +
         level + ">";
}

std::string block_html(const Block& block, const HtmlColors& colors) {
  switch (block.kind) {
    case Block::Kind::kHeading:
      return heading_html(block);
    case Block::Kind::kTable:
      return table(block, colors);
    case Block::Kind::kCode:
      return code(block, colors);
    case Block::Kind::kPicture:
      return "<p><img src=\"" + escaped(block.picture) + "\" alt=\"" + escaped(block.text) + "\"></p>";
    case Block::Kind::kItem:
    case Block::Kind::kParagraph:
      break;
  }
  return "<p>" + inline_html(block.line) + "</p>";
}

}  // namespace

std::string to_html(std::string_view text, const HtmlColors& colors) {
  std::string out;
  std::string list;  // the open one: "ul", "ol" or none
  for (const Block& block : parse_blocks(text)) {
    const std::string wanted = block.kind != Block::Kind::kItem ? std::string() : block.marker == "•" ? "ul" : "ol";
    if (wanted != list) {
      out += (list.empty() ? "" : "</" + list + ">") + (wanted.empty() ? "" : "<" + wanted + ">");
      list = wanted;
    }
    out += list.empty() ? block_html(block, colors) : "<li>" + inline_html(block.line) + "</li>";
  }
  return out + (list.empty() ? "" : "</" + list + ">");
}

}  // namespace locus::manual
