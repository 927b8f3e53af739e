#include "app/views/maps/contextual_map.h"

#include <algorithm>
#include <cmath>

#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

constexpr std::uint32_t kBoundaryColor = 0xFFFFFFA0;
constexpr std::ptrdiff_t kMaxBoundaries = 200;  // more lines than this hide the map

// The characters of UTF-8 text, each as its bytes.
std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> list;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (continues && !list.empty()) {
      list.back() += c;
    } else {
      list.emplace_back(1, c);
    }
  }
  return list;
}

std::string unescaped(const std::string& pattern) {
  std::string text;
  for (std::size_t n = 0; n < pattern.size(); ++n) {
    const char next = pattern[n] == '\\' && n + 1 < pattern.size() ? pattern[n + 1] : '\0';
    const char meant = next == 'n' ? '\n' : next == 't' ? '\t' : next == 's' ? ' ' : next == '\\' ? '\\' : '\0';
    text += meant != '\0' ? meant : pattern[n];
    n += meant != '\0' ? 1 : 0;
  }
  return text;
}

// The mean of a field's columns that are marked, and of the others; for fields of single cells.
std::string means_of(const Field& field, const std::vector<bool>& marked) {
  if (field.column_axis.step != 1) {
    return {};
  }
  double sums[2] = {0, 0};
  std::int64_t counts[2] = {0, 0};
  for (std::int64_t r = 0; r < field.rows; ++r) {
    for (std::int64_t c = 0; c < field.columns; ++c) {
      const auto key = static_cast<std::size_t>(field.column_axis.first) + static_cast<std::size_t>(c);
      if (key < marked.size() && field.at(r, c) == field.at(r, c)) {
        sums[marked[key] ? 1 : 0] += static_cast<double>(field.at(r, c));
        ++counts[marked[key] ? 1 : 0];
      }
    }
  }
  if (counts[0] == 0 || counts[1] == 0) {
    return {};
  }
  return "mean of marked keys " + fixed_text(sums[1] / static_cast<double>(counts[1]), 3) + ", of the others " +
         fixed_text(sums[0] / static_cast<double>(counts[0]), 3);
}

}  // namespace

std::string counted_by(const Field& positions, const std::vector<bool>& marked) {
  if (positions.column_axis.step != 1 || positions.row_axis.step != 1) {
    return {};
  }
  const std::vector<analysis::TokenClass> classes{{"marked", marked}};
  analysis::ClassSums sums(classes);
  sums.add(positions);
  const std::vector<analysis::CountedClass> counted = sums.result(0);
  const double by_marked = counted.front().r_squared;
  const double by_tokens = counted.back().r_squared;
  return std::isnan(by_marked) || std::isnan(by_tokens)
             ? std::string()
             : "R² with the number of marked keys " + fixed_text(by_marked, 3) + ", with that of all keys " +
                   fixed_text(by_tokens, 3);
}

std::string token_bytes(const models::Trace& trace, const models::TokenInfo& token) {
  const Range bytes = token.bytes.clamped({0, static_cast<std::int64_t>(trace.text().size())});
  return bytes.empty()
             ? token.label
             : trace.text().substr(static_cast<std::size_t>(bytes.begin), static_cast<std::size_t>(bytes.size()));
}

std::vector<bool> marked_tokens(const models::Trace& trace, const std::string& pattern) {
  const std::vector<std::string> wanted = characters(unescaped(pattern));
  std::vector<bool> marked;
  for (const models::TokenInfo& token : trace.tokens()) {
    const std::string text = token_bytes(trace, token);
    marked.push_back(std::ranges::any_of(
        wanted, [&](const std::string& character) { return text.find(character) != std::string::npos; }));
  }
  return marked;
}

Control boundary_control(const std::string& fallback) {
  Control control =
      words("boundary", "Mark tokens with",
            "Mark keys whose token contains any of these characters; \\n is a line feed, \\s a space", "none; .,\\n");
  control.fallback = fallback;
  return control;
}

void mark_boundaries(const std::vector<bool>& marked, figure::Panel& panel) {
  if (std::ranges::count(marked, true) > kMaxBoundaries) {
    return;
  }
  for (std::size_t n = 0; n < marked.size(); ++n) {
    if (marked[n]) {
      panel.layers.emplace_back(
          figure::Marker{.at = static_cast<double>(n) + 0.5, .label = {}, .color = kBoundaryColor});
    }
  }
}

Status ContextualMap::fits(const Column& column) const {
  LOCUS_CHECK(View::fits(column));
  if (!column.trace->model().has_gates()) {
    const std::string& encoding = column.trace->model().first_encoding().name;
    return unsupported(info().title + " are CoPE's; " + column.name +
                       (encoding.empty() ? " names no encoding" : " has " + encoding));
  }
  return {};
}

models::MapRequest ContextualMap::request(const ViewInput& input) const {
  return {input.layer, head_of(input), quantity_, {}, {}};
}

Result<RefinedMap> ContextualMap::field(const ViewInput& input, const Column& column, const MapWindow& window) const {
  return fetch_refined(input, column, request(input), window);
}

Result<Field> ContextualMap::whole(const ViewInput& input, const Column& column) const {
  return column.trace->map(request(input), input.stop);
}

std::string ContextualMap::subtitle(const ViewInput& input, const Column& column) const {
  return head_label(column.trace->model(), input.layer, head_of(input));
}

void ContextualMap::decorate(const ViewInput& input, const Column& column, figure::Panel& panel) const {
  const std::vector<bool> marked = marked_tokens(*column.trace, option<std::string>(input, "boundary"));
  // A position is a sum over all keys up to the query: its mean says where keys stand, nothing of the keys themselves.
  const auto* const map = std::get_if<figure::HeatMap>(&panel.layers.front());
  if (map != nullptr) {
    panel.note = joined_notes(panel.note, quantity_ == models::Quantity::kPosition ? counted_by(*map->field, marked)
                                                                                   : means_of(*map->field, marked));
  }
  mark_boundaries(marked, panel);
}

}  // namespace locus::views
