#include "app/views/shared/alignment.h"

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

// The tokens of a map's rows, or of its columns, and the text they split.
struct SplitText {
  const std::vector<models::TokenInfo>& tokens;
  const std::string& text;

  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  const Range& bytes(std::int64_t n) const { return tokens[static_cast<std::size_t>(n)].bytes; }
};

SplitText queries_of(const models::Trace& trace) {
  return {trace.tokens(), trace.text()};
}

SplitText keys_of(const models::Trace& trace) {
  return {trace.key_tokens(), trace.key_text()};
}

bool share_text(const SplitText& a, const SplitText& b) {
  return !a.text.empty() && a.text == b.text;
}

bool split_alike(const SplitText& a, const SplitText& b) {
  return std::equal(
      a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end(),
      [](const models::TokenInfo& one, const models::TokenInfo& other) { return one.bytes == other.bytes; });
}

std::int64_t aligned(const SplitText& from, std::int64_t token, const SplitText& to) {
  if (token < 0 || token >= from.length()) {
    return kNone;
  }
  const std::int64_t same = token < to.length() ? token : kNone;
  if (&from.tokens == &to.tokens || !share_text(from, to)) {
    return same;
  }
  // Most columns split alike.
  const Range& bytes = from.bytes(token);
  if (!bytes.empty() && same != kNone && to.bytes(same) == bytes && (same == 0 || to.bytes(same - 1) != bytes)) {
    return same;
  }
  return token_of(to.tokens, *text_of(from.tokens, token));
}

// Where a byte of the text is among these tokens, which begin where they begin; special tokens have no width of it.
double coordinate_of(const TokenTexts& tokens, std::int64_t byte) {
  const auto above = std::upper_bound(tokens.begin(), tokens.end(), byte,
                                      [](std::int64_t at, const TokenText& each) { return at < each.bytes.begin; });
  if (above == tokens.begin()) {
    return 0;
  }
  const TokenText& within = *(above - 1);
  const auto place = static_cast<double>(above - tokens.begin() - 1);
  const double size = std::max<double>(1, static_cast<double>(within.bytes.size()));
  return place + std::min(1.0, static_cast<double>(byte - within.bytes.begin) / size);
}

AxisTable axis_table(const SplitText& first, const SplitText& column) {
  if (!share_text(first, column) || split_alike(first, column)) {
    return nullptr;
  }
  const TokenTexts own = texts_of(column.tokens);
  auto table = std::make_shared<std::vector<double>>();
  for (const TokenText& each : texts_of(first.tokens)) {
    const double least = table->empty() ? 0 : table->back();
    table->push_back(table->empty() ? 0 : std::max(least, coordinate_of(own, each.bytes.begin)));
  }
  table->push_back(static_cast<double>(own.size()));
  return table;
}

std::int64_t own(const SplitText& first, const Token& token, const SplitText& column) {
  if (token.text && &first.tokens != &column.tokens && share_text(first, column)) {
    return token_of(column.tokens, *token.text);
  }
  return aligned(first, token.index, column);
}

std::optional<Token> as_token(const SplitText& column, std::int64_t own, const SplitText& first) {
  const std::int64_t index = aligned(column, own, first);
  if (&first.tokens == &column.tokens || !share_text(first, column)) {
    return index == kNone ? std::nullopt : std::optional(Token(index));
  }
  const auto text = text_of(column.tokens, own);
  const bool alike = text_of(first.tokens, index) == text;
  return text ? std::optional(alike ? Token(index) : Token(index, text)) : std::nullopt;
}

}  // namespace

std::int64_t aligned(const models::Trace& from, std::int64_t token, const models::Trace& to) {
  return aligned(queries_of(from), token, queries_of(to));
}

bool same_tokens(const models::Trace& a, const models::Trace& b) {
  return split_alike(queries_of(a), queries_of(b)) && split_alike(keys_of(a), keys_of(b));
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

std::int64_t own_token(const ViewInput& input, const Token& token, const Column& column) {
  return own(queries_of(*input.columns.front().trace), token, queries_of(*column.trace));
}

std::int64_t own_key(const ViewInput& input, const Token& key, const Column& column) {
  return own(keys_of(*input.columns.front().trace), key, keys_of(*column.trace));
}

AxisTable query_axis(const ViewInput& input, const Column& column) {
  return axis_table(queries_of(*input.columns.front().trace), queries_of(*column.trace));
}

AxisTable key_axis(const ViewInput& input, const Column& column) {
  return axis_table(keys_of(*input.columns.front().trace), keys_of(*column.trace));
}

std::int64_t query_of(const ViewInput& input, const Column& column) {
  return own_token(input, input.query, column);
}

Result<std::int64_t> token_option(const ViewInput& input, const std::string& name, const Column& column) {
  LOCUS_TRY(const std::int64_t typed, input.options.integer(name, kNone));
  if (typed < 0 || typed >= input.columns.front().trace->length()) {
    return typed;  // none, or one that does not exist anywhere
  }
  const std::int64_t own = own_token(input, typed, column);
  return own == kNone ? Result<std::int64_t>(usage("option " + name + ": " + column.name + " has no token for token " +
                                                   std::to_string(typed) + " of " + input.columns.front().name))
                      : own;
}

std::optional<Token> token_at(const ViewInput& input, const Column& column, std::int64_t own) {
  return as_token(queries_of(*column.trace), own, queries_of(*input.columns.front().trace));
}

std::optional<Token> key_at(const ViewInput& input, const Column& column, std::int64_t own) {
  return as_token(keys_of(*column.trace), own, keys_of(*input.columns.front().trace));
}

}  // namespace locus::views
