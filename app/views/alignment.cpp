#include "app/views/alignment.h"

#include <algorithm>

namespace locus::views {

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

std::int64_t query_of(const ViewInput& input, const Column& column) {
  return aligned(*input.columns.front().trace, input.query, *column.trace);
}

std::int64_t key_of(const ViewInput& input, const Column& column) {
  return aligned(*input.columns.front().trace, input.key, *column.trace);
}

std::int64_t to_first(const ViewInput& input, const Column& column, std::int64_t token) {
  return aligned(*column.trace, token, *input.columns.front().trace);
}

}  // namespace locus::views
