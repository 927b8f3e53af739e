#include "models/convert/convert_tokenizer.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/sentence_piece/model.h"
#include "models/text/tokenizer.h"
#include "models/text/utf8.h"

namespace locus::models {

namespace {

using formats::GgufValues;

constexpr std::size_t kPieceFileLimit = 128U << 20U;

void add_bytes(GgufValues& values) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(static_cast<std::uint8_t>(byte));
    tokens.push_back(text::to_byte_level({&symbol, 1}));
  }
  values.text("tokenizer.ggml.model", "gpt2");
  values.text("tokenizer.ggml.pre", "gpt-2");
  values.texts("tokenizer.ggml.tokens", tokens);
  values.integers("tokenizer.ggml.token_type", std::vector<std::int32_t>(256, 1));
  values.texts("tokenizer.ggml.merges", {});
  values.boolean("tokenizer.ggml.add_bos_token", false);
}

void add_pieces(const text::SentencePieceModel& model, GgufValues& values) {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  for (const text::ModelPiece& piece : model.pieces) {
    std::string& token = tokens.emplace_back(piece.text);
    if (piece.type == text::ModelPiece::Type::kUserDefined) {
      text::replace_all(token, "▁", " ");  // as texts have it, where programs that read such files look for it
    }
    scores.push_back(piece.score);
    types.push_back(static_cast<std::int32_t>(piece.type));
  }
  values.text("tokenizer.ggml.model", "llama");
  values.texts("tokenizer.ggml.tokens", tokens);
  values.numbers("tokenizer.ggml.scores", scores);
  values.integers("tokenizer.ggml.token_type", types);
  for (const auto& [name, id] : {std::pair{"unknown", model.unknown}, {"bos", model.begin}, {"eos", model.end}}) {
    if (id >= 0) {
      values.integer(std::string("tokenizer.ggml.") + name + "_token_id", static_cast<std::uint32_t>(id));
    }
  }
  values.boolean("tokenizer.ggml.add_space_prefix", model.dummy_prefix);
}

}  // namespace

Result<bool> add_tokenizer(const families::CheckpointFiles& checkpoint, GgufValues& values) {
  const std::filesystem::path pieces = checkpoint.folder / "tokenizer.model";
  LOCUS_TRY(const std::string named, checkpoint.config.text("tokenizer", ""));
  const auto tokenizer = text::open_tokenizer(checkpoint.folder);
  if (named == "bytes" || (tokenizer.ok() && *tokenizer != nullptr && (*tokenizer)->kind() == "byte-level")) {
    add_bytes(values);
    return true;
  }
  std::error_code failure;
  if (!std::filesystem::exists(pieces, failure)) {
    return tokenizer.ok() && *tokenizer == nullptr;
  }
  LOCUS_TRY(const std::string bytes, read_file(pieces, kPieceFileLimit));
  const auto model = text::parse_sentence_piece_model(bytes);
  if (!model.ok() || model->kind != text::SentencePieceModel::Kind::kBpe) {
    return false;
  }
  add_pieces(*model, values);
  return true;
}

}  // namespace locus::models
