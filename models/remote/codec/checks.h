// Checks of answers in the lists of calls: see Expected.
#pragma once

#include <string>

#include "core/analysis/pairs.h"
#include "core/base/field.h"
#include "models/remote/codec/call.h"

namespace locus::remote {

// The default of Expected, of which a call replaces what it knows better.
struct AnyAnswer {
  static std::size_t most_bytes(const auto&... /*arguments*/) { return kMaxMessageBytes; }
  static Status check(const auto& /*answer*/, const auto&... /*arguments*/) { return {}; }
};

inline Status check(bool holds, const char* expected) {
  return holds ? Status() : Status(bad_input(std::string("expected ") + expected + ", found another number"));
}

// (L, H) of a run.
inline Status check_heads(const Field& field, const models::ModelInfo& model) {
  return check(field.rows == model.layers && field.columns == model.heads, "a cell for each head");
}

inline Status check_list(const analysis::PairList& list) {
  const auto rows = static_cast<std::int64_t>(list.rows.size());
  return check(list.pairs >= 0 && (rows == list.pairs || rows == list.pairs + 1), "a row for each pair");
}

// The tokens of one answer are those of an output distribution or there is none.
template <class T>
Status check_length(const std::vector<T>& list, std::int64_t length, const char* expected) {
  return check(static_cast<std::int64_t>(list.size()) == length, expected);
}

}  // namespace locus::remote
