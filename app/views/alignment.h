// Alignment of tokens between runs whose tokenizers differ: by the text they cover.
#pragma once

#include <cstdint>

#include "app/views/view.h"

namespace locus::views {

// The token of `to` that stands for `token` of `from`: the one that holds the last byte of its text, so that a query
// has read at least as much; the same index where the tokens agree, where there is no text (ids, images, special
// tokens) and where the texts differ. kNone for a token that does not exist in either.
std::int64_t aligned(const models::Trace& from, std::int64_t token, const models::Trace& to);

// The same for keys, which of cross-attention are the encoder's: there the same index.
std::int64_t aligned_key(const models::Trace& from, std::int64_t token, const models::Trace& to);

// Whether two runs split the same text at the same places; of cross-attention both texts.
bool same_tokens(const models::Trace& a, const models::Trace& b);

// A map of `from`'s tokens, whole cells, laid out on `rows` × `columns` of `to`'s tokens: a row is that of aligned(),
// a key's cell is made of the cells of the keys that cover its text: their sum by shares of bytes where the values are
// shares of a whole (`additive`: weights), else their mean. NaN where there is nothing.
Field laid_out(const Field& field, const models::Trace& from, const models::Trace& to, Range rows, Range columns,
               bool additive);

// The query or key of a column, from the input's own, which counts the first column's tokens.
std::int64_t query_of(const ViewInput& input, const Column& column);
std::int64_t key_of(const ViewInput& input, const Column& column);

// That column's token as the input counts it.
std::int64_t to_first(const ViewInput& input, const Column& column, std::int64_t token);

}  // namespace locus::views
