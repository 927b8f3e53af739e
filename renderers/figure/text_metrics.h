// TextMetrics: how wide text is, so that the layout needs no font library. Fitting text into a width is here too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace locus::figure {

// Metrics scale linearly with the size (no hinting), so that screen and paper break lines alike.
class TextMetrics {
 public:
  virtual ~TextMetrics() = default;
  // The advance of one line of UTF-8 text, in the unit of `size`.
  virtual double width(const std::string& text, double size) const = 0;

  // Above and below the baseline, for every line whatever its glyphs.
  static double ascent(double size) { return 0.93 * size; }
  static double descent(double size) { return 0.24 * size; }
  static double line_height(double size) { return 1.22 * size; }
};

// Text without control characters: line feeds become ⏎, tabs ⇥, others �.
std::string printable(std::string_view text);

// The longest beginning of `text` that fits, with "…" when something was left out; never splits a UTF-8 sequence.
std::string elided(const TextMetrics& metrics, const std::string& text, double size, double max_width);

// `text` broken at spaces, a longer word after a hyphen, into at most `max_lines` lines of `max_width`; the last is
// elided. Empty text: no line.
std::vector<std::string> wrapped(const TextMetrics& metrics, const std::string& text, double size, double max_width,
                                 int max_lines);

// The same number of lines, as equal in length as words allow: for what is centred.
std::vector<std::string> balanced(const TextMetrics& metrics, const std::string& text, double size, double max_width,
                                  int max_lines);

}  // namespace locus::figure
