#include "renderers/figure/text_metrics.h"

#include <utility>

#include "core/base/shown.h"

namespace locus::figure {
namespace {

constexpr const char* kEllipsis = "…";

// The byte offsets at which code points begin, and the end.
std::vector<std::size_t> boundaries(const std::string& text) {
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (!continues_character(text[n])) {
      places.push_back(n);
    }
  }
  places.push_back(text.size());
  return places;
}

// Where a line may end at the latest so that it fits: before the last space, after the last hyphen; 0: nowhere.
std::size_t last_fitting(const TextMetrics& metrics, const std::string& text, char breaker, double size,
                         double max_width) {
  std::size_t end = 0;
  for (std::size_t at = text.find(breaker); at != std::string::npos; at = text.find(breaker, at + 1)) {
    const std::size_t length = breaker == ' ' ? at : at + 1;
    if (metrics.width(text.substr(0, length), size) > max_width) {
      break;
    }
    end = length;
  }
  return end;
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
    // Names of checkpoints have no spaces: they are broken after a hyphen.
    std::size_t end = last_fitting(metrics, rest, ' ', size, max_width);
    std::size_t next = end + 1;
    if (end == 0) {
      end = next = last_fitting(metrics, rest, '-', size, max_width);
    }
    if (end == 0) {
      lines.push_back(elided(metrics, rest, size, max_width));
      break;
    }
    lines.push_back(rest.substr(0, end));
    begin += next;
  }
  return lines;
}

std::vector<std::string> balanced(const TextMetrics& metrics, const std::string& text, double size, double max_width,
                                  int max_lines) {
  std::vector<std::string> lines = wrapped(metrics, text, size, max_width, max_lines);
  const auto length = [](const std::vector<std::string>& parts) {
    std::size_t bytes = 0;
    for (const std::string& part : parts) {
      bytes += part.size();
    }
    return bytes;
  };
  if (lines.size() < 2 || lines.back().ends_with(kEllipsis)) {
    return lines;
  }
  constexpr int kSteps = 12;
  double narrow = max_width / static_cast<double>(lines.size());
  double wide = max_width;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (narrow + wide) / 2;
    auto tried = wrapped(metrics, text, size, middle, max_lines);
    // Narrower lines may leave a word out, or need one line more.
    if (tried.size() == lines.size() && length(tried) == length(lines) && !tried.back().ends_with(kEllipsis)) {
      lines = std::move(tried);
      wide = middle;
    } else {
      narrow = middle;
    }
  }
  return lines;
}

}  // namespace locus::figure
