// A tokenizer from token tables, as GGUF files contain them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer_files.h"

namespace locus::text {

// The values under tokenizer.ggml in a GGUF file. The texts must outlive the call only.
struct TokenTables {
  std::string file;  // for messages
  // "llama": scored merges of SentencePiece; "gpt2": merges of bytes; "t5": unigram pieces; "bert": WordPiece.
  std::string model;
  std::string pre;                       // how "gpt2" cuts a text into words
  std::vector<std::string_view> tokens;  // by id
  std::vector<double> scores;            // of "llama" and "t5", by id
  std::vector<std::int64_t> types;       // by id, as SentencePiece numbers them; empty: all normal
  std::vector<std::string_view> merges;  // of "gpt2": "a b", the first to be joined first
  std::optional<std::int64_t> begin;     // ids of the tokens around a text
  std::optional<std::int64_t> end;
  std::optional<std::int64_t> unknown;
  std::optional<bool> add_begin;
  std::optional<bool> add_end;
  std::optional<bool> space_before;         // of "llama" and "t5": a space before the text
  std::optional<bool> remove_extra_spaces;  // of "t5"
  std::string charsmap;                     // of "t5": SentencePiece's precompiled normalisation; empty: none
};

// Errors: kBadInput for tables of different lengths, ids beyond them and unknown types; kUnsupported for another model
// and for an unknown way to split words.
TokenizerResult tokenizer_of(const TokenTables& tables);

}  // namespace locus::text
