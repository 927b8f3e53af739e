// The Markdown that the manual's pages use: headings, paragraphs, lists, tables, fenced code, pictures, and in lines
// `code`, **bold**, *italic* and [links](page.md#heading). Lines of comments (<!-- … -->) are left out; anything else
// is text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace locus::manual {

struct Span {
  enum class Kind { kText, kCode, kBold, kItalic, kLink };
  Kind kind = Kind::kText;
  std::string text;    // what is read
  std::string target;  // of a link

  friend bool operator==(const Span&, const Span&) = default;
};

using Line = std::vector<Span>;

struct Block {
  enum class Kind { kHeading, kParagraph, kItem, kTable, kCode, kPicture };
  Kind kind = Kind::kParagraph;
  int level = 0;                        // of a heading, from 1
  std::string marker;                   // of an item: "•", "1."
  std::string words;                    // what follows the three ticks of a fence: "sh"
  std::string text;                     // of code, with its line ends; of a picture what it shows
  std::string picture;                  // its file
  Line line;                            // of headings, paragraphs and items
  std::vector<std::vector<Line>> rows;  // of a table, its head first
};

Line parse_line(std::string_view text);
std::vector<Block> parse_blocks(std::string_view text);

// The text of a line, without its marks.
std::string plain(const Line& line);

// "Exit status" → "exit-status": what a link to a heading names, as GitHub has it.
std::string anchor_of(const Line& heading);

}  // namespace locus::manual
