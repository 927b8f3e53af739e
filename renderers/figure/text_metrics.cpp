#include "renderers/figure/text_metrics.h"

namespace locus::figure {
namespace {

constexpr const char* kEllipsis = "…";

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The byte offsets at which code points begin, and the end.
std::vector<std::size_t> boundaries(const std::string& text) {
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (!is_continuation(text[n])) {
      places.push_back(n);
    }
  }
  places.push_back(text.size());
  return places;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (const char byte : text) {
    if (byte == '\n') {
      clean += "⏎";
    } else if (byte == '\t') {
      clean += "⇥";
    } else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F) {
      clean += "�";
    } else {
      clean += byte;
    }
  }
  return clean;
}

std::string elided(const TextMetrics& metrics, const std::string& text, double size, double max_width) {
  if (metrics.width(text, size) <= max_width) {
    return text;
  }
  const std::vector<std::size_t> places = boundaries(text);
  std::size_t low = 0;  // code points that surely fit
  std::size_t high = places.size() - 1;
  while (low + 1 < high) {
    const std::size_t middle = (low + high) / 2;
    const bool fits = metrics.width(text.substr(0, places[middle]) + kEllipsis, size) <= max_width;
    (fits ? low : high) = middle;
  }
  return text.substr(0, places[low]) + kEllipsis;
}

std::vector<std::string> wrapped(const TextMetrics& metrics, const std::string& text, double size, double max_width,
                                 int max_lines) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::string rest = text.substr(begin);
    if (metrics.width(rest, size) <= max_width || static_cast<int>(lines.size()) + 1 >= max_lines) {
      lines.push_back(elided(metrics, rest, size, max_width));
      break;
    }
    std::size_t end = std::string::npos;
    for (std::size_t space = rest.find(' '); space != std::string::npos; space = rest.find(' ', space + 1)) {
      if (space > 0 && metrics.width(rest.substr(0, space), size) > max_width) {
        break;
      }
      end = space;
    }
    if (end == std::string::npos || end == 0) {
      lines.push_back(elided(metrics, rest, size, max_width));
      break;
    }
    lines.push_back(rest.substr(0, end));
    begin += end + 1;
  }
  return lines;
}

}  // namespace locus::figure
