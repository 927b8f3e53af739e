#include "app/views/alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace locus::views {

namespace {

// A token and the bytes it shares with another.
struct Overlap {
  std::int64_t token = 0;
  double bytes = 0;
  double size = 1;  // bytes of the token
};

std::vector<Overlap> overlaps_of(const Range& bytes, const models::Trace& with) {
  std::vector<Overlap> list;
  for (std::int64_t n = 0; n < with.length(); ++n) {
    const Range own = with.tokens()[static_cast<std::size_t>(n)].bytes;
    const Range both{std::max(own.begin, bytes.begin), std::min(own.end, bytes.end)};
    if (both.begin < both.end) {
      list.push_back({n, static_cast<double>(both.size()), static_cast<double>(own.size())});
    }
  }
  return list;
}

}  // namespace

std::int64_t aligned(const models::Trace& from, std::int64_t token, const models::Trace& to) {
  if (token < 0 || token >= from.length()) {
    return kNone;
  }
  const std::int64_t same = token < to.length() ? token : kNone;
  const Range bytes = from.tokens()[static_cast<std::size_t>(token)].bytes;
  if (&from == &to || bytes.empty() || from.text() != to.text()) {
    return same;
  }
  if (same != kNone && to.tokens()[static_cast<std::size_t>(same)].bytes == bytes) {
    return same;
  }
  // Special tokens have no bytes and may stand anywhere, so the order of the ends is no help.
  for (std::int64_t n = 0; n < to.length(); ++n) {
    if (to.tokens()[static_cast<std::size_t>(n)].bytes.contains(bytes.end - 1)) {
      return n;
    }
  }
  return kNone;
}

std::int64_t aligned_key(const models::Trace& from, std::int64_t token, const models::Trace& to) {
  if (!from.crosses() && !to.crosses()) {
    return aligned(from, token, to);
  }
  return token >= 0 && token < from.keys() && token < to.keys() ? token : kNone;
}

bool same_tokens(const models::Trace& a, const models::Trace& b) {
  const auto same = [](const models::TokenInfo& one, const models::TokenInfo& other) {
    return one.bytes.begin == other.bytes.begin && one.bytes.end == other.bytes.end;
  };
  return std::equal(a.tokens().begin(), a.tokens().end(), b.tokens().begin(), b.tokens().end(), same) &&
         std::equal(a.key_tokens().begin(), a.key_tokens().end(), b.key_tokens().begin(), b.key_tokens().end(), same);
}

Field laid_out(const Field& field, const models::Trace& from, const models::Trace& to, Range rows, Range columns,
               bool additive) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const auto first_row = static_cast<std::int64_t>(std::llround(field.row_axis.first));
  const auto first_column = static_cast<std::int64_t>(std::llround(field.column_axis.first));
  std::vector<std::vector<Overlap>> keys;
  for (std::int64_t key = columns.begin; key < columns.end; ++key) {
    const Range bytes = to.tokens()[static_cast<std::size_t>(key)].bytes;
    keys.push_back(overlaps_of(bytes, from));
    const std::int64_t special = bytes.empty() ? aligned(to, key, from) : kNone;
    if (special != kNone && from.tokens()[static_cast<std::size_t>(special)].bytes.empty()) {
      keys.back().push_back({special, 1, 1});
    }
  }
  Field out = Field::zeros(rows.size(), columns.size());
  out.row_axis = {"query", "token", static_cast<double>(rows.begin), 1};
  out.column_axis = {"key", "token", static_cast<double>(columns.begin), 1};
  for (std::int64_t r = 0; r < out.rows; ++r) {
    const std::int64_t row = aligned(to, rows.begin + r, from) - first_row;
    for (std::int64_t c = 0; c < out.columns; ++c) {
      double sum = 0;
      double shares = 0;
      for (const Overlap& overlap : keys[static_cast<std::size_t>(c)]) {
        const std::int64_t column = overlap.token - first_column;
        const bool there = row >= 0 && row < field.rows && column >= 0 && column < field.columns;
        const float value = there ? field.at(row, column) : kNaN;
        if (!std::isnan(value)) {
          sum += static_cast<double>(value) * overlap.bytes / (additive ? overlap.size : 1);
          shares += overlap.bytes;
        }
      }
      out.at(r, c) = shares > 0 ? static_cast<float>(additive ? sum : sum / shares) : kNaN;
    }
  }
  return out;
}

std::int64_t query_of(const ViewInput& input, const Column& column) {
  return aligned(*input.columns.front().trace, input.query, *column.trace);
}

std::int64_t key_of(const ViewInput& input, const Column& column) {
  return aligned_key(*input.columns.front().trace, input.key, *column.trace);
}

std::int64_t to_first(const ViewInput& input, const Column& column, std::int64_t token) {
  return aligned(*column.trace, token, *input.columns.front().trace);
}

}  // namespace locus::views
