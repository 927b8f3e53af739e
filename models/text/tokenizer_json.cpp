#include <algorithm>
#include <utility>

#include "core/base/shown.h"
#include "models/formats/json/json.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/steps/post_processor.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

using Json = nlohmann::json;
using ModelResult = Result<std::unique_ptr<TokenModel>>;

constexpr std::int64_t kLargestId = 0x7FFFFFFE;

const Json& field(const JsonObject& object, const std::string& name) {
  static const Json kNull;
  const Json* found = object.find(name);
  return found == nullptr ? kNull : *found;
}

// "a b" or ["a", "b"].
Result<std::pair<std::string, std::string>> parse_merge(const Json& value, const std::string& where) {
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    return std::pair(value[0].get<std::string>(), value[1].get<std::string>());
  }
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || space == 0 || space + 1 == text.size() ||
      text.find(' ', space + 1) != std::string::npos) {
    return bad_input("merges: expected \"a b\" or [\"a\", \"b\"], found " +
                         value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60),
                     where);
  }
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

Result<std::optional<std::int32_t>> parse_unknown(const JsonObject& object, const Vocabulary& vocabulary) {
  LOCUS_TRY(const std::string name, object.text("unk_token", ""));
  return name.empty() ? std::nullopt : vocabulary.find(name);
}

// A list in the merges' order, or an object from "a b" to its rank.
Result<Merges> parse_merges(const JsonObject& object, bool bytes) {
  Merges merges;
  const auto add = [&](const Json& line) -> Status {
    LOCUS_TRY(auto merge, parse_merge(line, object.where()));
    if (bytes) {
      merge.first = from_byte_level(merge.first).value_or(merge.first);
      merge.second = from_byte_level(merge.second).value_or(merge.second);
    }
    merges.push_back(std::move(merge));
    return {};
  };
  const Json* const stored = object.find("merges");
  if (stored == nullptr || !stored->is_object()) {
    LOCUS_TRY(const Json* const lines, object.array("merges"));
    merges.reserve(lines->size());
    for (const Json& line : *lines) {
      LOCUS_CHECK(add(line));
    }
    return merges;
  }
  LOCUS_TRY(const JsonObject ranks, object.object("merges"));
  std::vector<std::pair<std::int64_t, std::string>> ordered;
  for (const auto& [line, unused] : stored->items()) {
    LOCUS_TRY(const std::int64_t rank, ranks.integer(line, 0));
    ordered.emplace_back(rank, line);
  }
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [rank, line] : ordered) {
    LOCUS_CHECK(add(line));
  }
  return merges;
}

ModelResult parse_bpe(const JsonObject& object, bool bytes) {
  LOCUS_TRY(Vocabulary vocabulary, parse_vocabulary(field(object, "vocab"), object.where(), bytes));
  LOCUS_TRY(const Merges merges, parse_merges(object, bytes));
  BpeOptions options;
  options.bytes = bytes;
  LOCUS_TRY(options.ignore_merges, object.boolean("ignore_merges", false));
  LOCUS_TRY(options.byte_fallback, object.boolean("byte_fallback", false));
  LOCUS_TRY(options.fuse_unknown, object.boolean("fuse_unk", false));
  LOCUS_TRY(options.continuing_prefix, object.text("continuing_subword_prefix", ""));
  LOCUS_TRY(options.word_suffix, object.text("end_of_word_suffix", ""));
  if (bytes) {  // they are spelled like the entries
    options.continuing_prefix = from_byte_level(options.continuing_prefix).value_or(options.continuing_prefix);
    options.word_suffix = from_byte_level(options.word_suffix).value_or(options.word_suffix);
  }
  LOCUS_TRY(options.unknown, parse_unknown(object, vocabulary));
  return within(make_bpe(std::move(vocabulary), merges, options), object.where());
}

ModelResult parse_unigram(const JsonObject& object) {
  LOCUS_TRY(const Json* const entries, object.array("vocab"));
  Vocabulary vocabulary;
  UnigramOptions options;
  for (const Json& entry : *entries) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return bad_input("vocab: expected [piece, score], found " +
                           entry.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60),
                       object.where());
    }
    vocabulary.add(entry[0].get<std::string>(), static_cast<std::int32_t>(options.scores.size()));
    options.scores.push_back(entry[1].get<double>());
  }
  if (object.find("unk_id") != nullptr) {
    LOCUS_TRY(const std::int64_t unknown, object.integer("unk_id", 0));
    if (unknown < 0 || unknown >= vocabulary.end()) {
      return object.wrong("unk_id", "an id below " + std::to_string(vocabulary.end()));
    }
    options.unknown = static_cast<std::int32_t>(unknown);
  }
  LOCUS_TRY(options.byte_fallback, object.boolean("byte_fallback", false));
  return within(make_unigram(std::move(vocabulary), std::move(options)), object.where());
}

ModelResult parse_word_piece(const JsonObject& object) {
  LOCUS_TRY(Vocabulary vocabulary, parse_vocabulary(field(object, "vocab"), object.where(), false));
  WordPieceOptions options;
  LOCUS_TRY(const std::string name, object.text("unk_token", "[UNK]"));
  const auto unknown = vocabulary.find(name);
  if (!unknown) {
    return object.wrong("unk_token", "an entry of the vocabulary");
  }
  options.unknown = *unknown;
  LOCUS_TRY(options.continuing_prefix, object.text("continuing_subword_prefix", "##"));
  LOCUS_TRY(options.longest_word, object.integer("max_input_chars_per_word", 100));
  return make_word_piece(std::move(vocabulary), std::move(options));
}

// Early files have no type field: each model has a characteristic field.
std::string model_type(const JsonObject& object, const std::string& named) {
  if (!named.empty()) {
    return named;
  }
  const Json* vocabulary = object.find("vocab");
  return object.find("merges") != nullptr                     ? "BPE"
         : vocabulary != nullptr && vocabulary->is_array()    ? "Unigram"
         : object.find("max_input_chars_per_word") != nullptr ? "WordPiece"
                                                              : "WordLevel";
}

ModelResult parse_model(const JsonObject& object, bool bytes) {
  LOCUS_TRY(const std::string named, object.text("type", ""));
  const std::string type = model_type(object, named);
  if (type == "BPE") {
    return parse_bpe(object, bytes);
  }
  if (bytes && (type == "Unigram" || type == "WordPiece" || type == "WordLevel")) {
    return unsupported("model \"" + shown(type) + "\" with ByteLevel", object.where());
  }
  if (type == "Unigram") {
    return parse_unigram(object);
  }
  if (type == "WordPiece") {
    return parse_word_piece(object);
  }
  if (type == "WordLevel") {
    LOCUS_TRY(Vocabulary vocabulary, parse_vocabulary(field(object, "vocab"), object.where(), false));
    LOCUS_TRY(const auto unknown, parse_unknown(object, vocabulary));
    return make_word_level(std::move(vocabulary), unknown);
  }
  return unsupported("model \"" + type.substr(0, 80) + "\"", object.where());
}

// The form write_byte_tokenizer() writes: entry b is byte b, and nothing else.
bool is_byte_vocabulary(const PipelineParts& parts) {
  const Vocabulary& vocabulary = parts.model->vocabulary();
  if (!parts.pre_tokenizers.byte_level || !parts.pre_tokenizers.steps.empty() || !parts.normalizers.empty() ||
      !parts.added.empty() || !parts.before.empty() || !parts.after.empty() || vocabulary.size() != 256) {
    return false;
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(static_cast<std::uint8_t>(byte));
    if (vocabulary.find({&symbol, 1}) != byte) {
      return false;
    }
  }
  return true;
}

// Llama's fast tokenizers rebuild their template from the configuration's flags.
void apply_flags(const TokenizerConfig& config, PipelineParts& parts) {
  if (!config.tokenizer_class.starts_with("Llama") || !(config.add_bos || config.add_eos)) {
    return;
  }
  const auto set = [&](std::optional<bool> wanted, const char* name, std::vector<std::int64_t>& frame) {
    const auto named = config.special.find(name);
    const auto id = named == config.special.end() ? std::nullopt : find_token(parts, named->second);
    if (wanted && (!*wanted || id)) {
      frame = *wanted ? std::vector<std::int64_t>{*id} : std::vector<std::int64_t>{};
    }
  };
  set(config.add_bos, "bos", parts.before);
  set(config.add_eos, "eos", parts.after);
}

// CLIP's marks of word ends, which its byte-level decoder keeps, become spaces.
Status end_words(const JsonObject& model, PipelineParts& parts) {
  LOCUS_TRY(std::string suffix, model.text("end_of_word_suffix", ""));
  if (parts.pre_tokenizers.byte_level && !suffix.empty()) {
    parts.decoders.push_back(word_end_decoder(std::move(suffix)));
  }
  return {};
}

Result<PipelineParts> parse_parts(const JsonObject& document, const std::string& file) {
  PipelineParts parts;
  LOCUS_TRY(parts.normalizers, parse_normalizer(field(document, "normalizer"), file + ": normalizer"));
  LOCUS_TRY(parts.pre_tokenizers, parse_pre_tokenizer(field(document, "pre_tokenizer"), file + ": pre_tokenizer"));
  LOCUS_TRY(const JsonObject model, document.object("model"));
  LOCUS_TRY(parts.model, parse_model(model, parts.pre_tokenizers.byte_level));
  LOCUS_TRY(parts.decoders,
            parse_decoder(field(document, "decoder"), file + ": decoder", parts.pre_tokenizers.byte_level));
  LOCUS_CHECK(end_words(model, parts));
  LOCUS_TRY(const Json* const added, document.array("added_tokens"));
  for (const Json& token : *added) {
    LOCUS_TRY(AddedToken parsed, parse_added_token(token, std::nullopt, file + ": added_tokens"));
    parts.added.push_back(std::move(parsed));
  }
  LOCUS_CHECK(parse_post_processor(field(document, "post_processor"), file + ": post_processor", parts));
  return parts;
}

}  // namespace

Result<Vocabulary> parse_vocabulary(const Json& value, const std::string& where, bool bytes) {
  LOCUS_CHECK(JsonObject::of(value, where + ": vocab"));
  Vocabulary vocabulary;
  for (const auto& [entry, id] : value.items()) {
    const std::optional<std::int64_t> number = whole_number(id, 0, kLargestId);
    if (!number) {
      return bad_input("vocab: \"" + entry.substr(0, 80) + "\": expected an id, found " +
                           id.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40),
                       where);
    }
    vocabulary.add(bytes ? from_byte_level(entry).value_or(entry) : entry, static_cast<std::int32_t>(*number));
  }
  return vocabulary;
}

Result<AddedToken> parse_added_token(const Json& value, std::optional<std::int64_t> id, const std::string& where) {
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  AddedToken token;
  LOCUS_TRY(token.content, object.text("content", ""));
  LOCUS_TRY(const std::int64_t number, object.integer("id", id.value_or(-1)));
  if (number < 0 || number > kLargestId) {
    return object.wrong("id", "an id");
  }
  constexpr std::size_t kLongest = 1024;
  if (token.content.size() > kLongest) {
    return object.wrong("content", "at most " + std::to_string(kLongest) + " bytes");
  }
  token.id = static_cast<std::int32_t>(number);
  LOCUS_TRY(token.special, object.boolean("special", false));
  LOCUS_TRY(token.normalized, object.boolean("normalized", !token.special));
  LOCUS_TRY(token.left_strip, object.boolean("lstrip", false));
  LOCUS_TRY(token.right_strip, object.boolean("rstrip", false));
  LOCUS_TRY(token.single_word, object.boolean("single_word", false));
  return token;
}

TokenizerResult parse_tokenizer_json(std::string_view text, const std::string& file, const TokenizerConfig& config) {
  LOCUS_TRY(const Json value, parse_json(text, file));
  LOCUS_TRY(const JsonObject document, JsonObject::of(value, file));
  LOCUS_TRY(PipelineParts parts, parse_parts(document, file));
  add_configured_tokens(config, parts);
  apply_flags(config, parts);
  if (is_byte_vocabulary(parts)) {
    return byte_tokenizer();
  }
  return within(make_pipeline(std::move(parts)), file);
}

}  // namespace locus::text
