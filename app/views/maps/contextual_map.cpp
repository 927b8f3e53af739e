#include "app/views/maps/contextual_map.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/controls.h"
#include "core/base/numbers.h"

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

// R² of a straight line through pairs, their squared correlation; none where one side is constant.
class Line {
 public:
  void add(double x, double y) {
    ++n_;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    yy_ += y * y;
    xy_ += x * y;
  }
  std::optional<double> r_squared() const {
    const double x = n_ * xx_ - x_ * x_;
    const double y = n_ * yy_ - y_ * y_;
    const double both = n_ * xy_ - x_ * y_;
    return n_ < 3 || x <= 0 || y <= 0 ? std::nullopt : std::optional(both * both / (x * y));
  }

 private:
  double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
};

}  // namespace

std::string counted_by(const Field& positions, const std::vector<bool>& marked) {
  if (positions.column_axis.step != 1 || positions.row_axis.step != 1) {
    return {};
  }
  const auto first_query = static_cast<std::int64_t>(positions.row_axis.first);
  const auto first_key = static_cast<std::int64_t>(positions.column_axis.first);
  const auto is_marked = [&](std::int64_t token) {
    return token >= 0 && token < static_cast<std::int64_t>(marked.size()) && marked[static_cast<std::size_t>(token)];
  };
  Line of_marked;
  Line of_tokens;
  for (std::int64_t r = 0; r < positions.rows; ++r) {
    const std::int64_t query = first_query + r;
    std::int64_t count = 0;  // marked tokens from the key to the query
    for (std::int64_t key = query; key >= first_key; --key) {
      count += is_marked(key) ? 1 : 0;
      if (key - first_key < positions.columns && std::isfinite(positions.at(r, key - first_key))) {
        const auto position = static_cast<double>(positions.at(r, key - first_key));
        of_marked.add(static_cast<double>(count), position);
        of_tokens.add(static_cast<double>(query - key + 1), position);
      }
    }
  }
  const auto by_marked = of_marked.r_squared();
  const auto by_tokens = of_tokens.r_squared();
  return !by_marked || !by_tokens ? std::string()
                                  : "R² with the number of marked keys " + fixed_text(*by_marked, 3) +
                                        ", with that of all keys " + fixed_text(*by_tokens, 3);
}

std::vector<bool> marked_tokens(const models::Trace& trace, const std::string& pattern) {
  const std::vector<std::string> wanted = characters(unescaped(pattern));
  std::vector<bool> marked;
  for (const models::TokenInfo& token : trace.tokens()) {
    const Range bytes = token.bytes.clamped({0, static_cast<std::int64_t>(trace.text().size())});
    const std::string text = bytes.empty() ? token.label
                                           : trace.text().substr(static_cast<std::size_t>(bytes.begin),
                                                                 static_cast<std::size_t>(bytes.size()));
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
