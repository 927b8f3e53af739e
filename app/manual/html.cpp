#include <algorithm>
#include <array>

#include "app/manual/manual.h"
#include "core/base/listed.h"

namespace locus::manual {

namespace {

constexpr std::array<std::pair<char, const char*>, 4> kEntities{
    {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}}};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto entity = std::find_if(kEntities.begin(), kEntities.end(), [c](const auto& e) { return e.first == c; });
    out += entity != kEntities.end() ? entity->second : std::string(1, c);
  }
  return out;
}

std::string span_html(const Span& span) {
  const std::string text = escaped(span.text);
  switch (span.kind) {
    case Span::Kind::kCode:
      return "<code>" + text + "</code>";
    case Span::Kind::kBold:
      return "<b>" + text + "</b>";
    case Span::Kind::kItalic:
      return "<i>" + text + "</i>";
    case Span::Kind::kLink:
      return "<a href=\"" + escaped(span.target) + "\">" + text + "</a>";
    case Span::Kind::kText:
      break;
  }
  return text;
}

std::string inline_html(const Line& line) {
  return listed(line, span_html, "");
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
