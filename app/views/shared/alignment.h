// Alignment of tokens between runs whose tokenizers differ: by the text they cover.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

// The token of `to` that stands for `token` of `from`, as token_of() finds it; the same index where there is no text
// (ids, images) and where the texts differ. kNone for a token that does not exist in either.
std::int64_t aligned(const models::Trace& from, std::int64_t token, const models::Trace& to);

// Whether two runs split the same text at the same places; of cross-attention both texts.
bool same_tokens(const models::Trace& a, const models::Trace& b);

// A map of `from`'s tokens, whole cells, laid out on `rows` × `columns` of `to`'s tokens: a row is that of aligned(),
// a key's cell is made of the cells of the keys that cover its text: their sum by shares of bytes where the values are
// shares of a whole (`additive`: weights), else their mean. NaN where there is nothing.
Field laid_out(const Field& field, const models::Trace& from, const models::Trace& to, Range rows, Range columns,
               bool additive);

// The column's own token for one that is chosen or pointed at; kNone: it has none.
std::int64_t own_token(const ViewInput& input, const Token& token, const Column& column);
std::int64_t own_key(const ViewInput& input, const Token& key, const Column& column);
// An axis of the column's own tokens for figure::Axis::of_camera, whose camera counts the first column's: where the
// same text is. Null where both have the same tokens, or no text in common.
using AxisTable = std::shared_ptr<const std::vector<double>>;
AxisTable query_axis(const ViewInput& input, const Column& column);
AxisTable key_axis(const ViewInput& input, const Column& column);

// The query of a column, from the input's.
std::int64_t query_of(const ViewInput& input, const Column& column);

// The column's token that an option names by its number, as the first column counts; −1 where it names none. Errors:
// kUsage where the column has nothing for it.
Result<std::int64_t> token_option(const ViewInput& input, const std::string& name, const Column& column);

// A token of that column as one that all columns know: with its text, where the first column splits it otherwise.
// Empty where the first column has nothing for it and there is no text in common.
std::optional<Token> token_at(const ViewInput& input, const Column& column, std::int64_t own);
std::optional<Token> key_at(const ViewInput& input, const Column& column, std::int64_t own);

}  // namespace locus::views
