// Vocabularies older than tokenizer.json: vocab.json + merges.txt, vocab.txt, and tiktoken's ranks.
#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/shown.h"
#include "models/formats/json/json.h"
#include "models/text/base64.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

// Removes the first line of `text` and returns it without its end.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

Result<Merges> parse_merges(std::string_view text, const std::string& file) {
  Merges merges;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    ++number;
    if (line.empty() || line.starts_with("#version")) {
      continue;
    }
    const std::size_t space = line.find(' ');
    const auto left = from_byte_level(line.substr(0, space));
    const auto right = space == std::string_view::npos ? std::nullopt : from_byte_level(line.substr(space + 1));
    if (!left || !right || left->empty() || right->empty()) {
      return bad_input("line " + std::to_string(number) + ": expected two byte-level entries, found \"" +
                           std::string(line.substr(0, 60)) + "\"",
                       file);
    }
    merges.emplace_back(*left, *right);
  }
  return merges;
}

std::optional<std::int32_t> special_id(const TokenizerConfig& config, const PipelineParts& parts, const char* name,
                                       const char* fallback) {
  const auto named = config.special.find(name);
  return find_token(parts, named == config.special.end() ? fallback : named->second);
}

void add_special(PipelineParts& parts, const std::string& content) {
  if (const auto id = parts.model->vocabulary().find(content)) {
    parts.added.push_back({.content = content, .id = *id, .special = true});
  }
}

void put(std::optional<std::int32_t> id, std::vector<std::int64_t>& side) {
  if (id) {
    side.push_back(*id);
  }
}

// The byte-level steps shared by GPT-2, its relatives and Llama 3; decoding concatenates.
Status add_byte_level(const char* pattern, bool prefix, PipelineParts& parts) {
  if (prefix) {
    parts.pre_tokenizers.steps.push_back(prefix_space());
  }
  LOCUS_TRY(Pattern compiled, Pattern::regex(pattern));
  parts.pre_tokenizers.steps.push_back(split_by(std::move(compiled), Behaviour::kIsolated, false));
  parts.pre_tokenizers.byte_level = true;
  return {};
}

constexpr const char* kBlenderbot = "BlenderbotTokenizer";

// Whether entries are words in parts, "ne@@" or "th</w>", and not bytes, of which a space is "Ġ".
bool is_of_words(const nlohmann::json& vocabulary) {
  const auto any = [&](const auto& fits) {
    return vocabulary.is_object() && std::any_of(vocabulary.items().begin(), vocabulary.items().end(),
                                                 [&](const auto& item) { return fits(item.key()); });
  };
  return any([](const std::string& entry) { return entry.ends_with("@@") || entry.ends_with("</w>"); }) &&
         !any([](const std::string& entry) { return entry.starts_with("Ġ"); });
}

void frame_merges(const TokenizerConfig& config, PipelineParts& parts) {
  const std::string& name = config.tokenizer_class;
  if (name.starts_with("Roberta") || name.starts_with("Bart") || name.starts_with("Mvp") ||
      name.starts_with("Longformer")) {
    put(special_id(config, parts, "cls", "<s>"), parts.before);
    put(special_id(config, parts, "sep", "</s>"), parts.after);
    return;
  }
  if (name == kBlenderbot) {
    put(special_id(config, parts, "eos", "</s>"), parts.after);
    return;
  }
  if (config.add_bos.value_or(false)) {
    put(special_id(config, parts, "bos", "<|endoftext|>"), parts.before);
  }
  if (config.add_eos.value_or(false)) {
    put(special_id(config, parts, "eos", "<|endoftext|>"), parts.after);
  }
}

// Meta's names for the 256 ids after Llama 3's 128,000 ranks.
std::vector<AddedToken> llama3_tokens(std::int32_t first) {
  std::vector<std::string> names{"<|begin_of_text|>", "<|end_of_text|>"};
  int reserved = 0;
  const auto reserve = [&](int count) {
    for (int n = 0; n < count; ++n) {
      names.push_back("<|reserved_special_token_" + std::to_string(reserved++) + "|>");
    }
  };
  reserve(4);
  names.insert(names.end(), {"<|start_header_id|>", "<|end_header_id|>"});
  reserve(1);
  names.emplace_back("<|eot_id|>");
  reserve(256 - static_cast<int>(names.size()));
  std::vector<AddedToken> tokens;
  for (std::string& name : names) {
    const std::int32_t id = first + static_cast<std::int32_t>(tokens.size());
    tokens.push_back({.content = std::move(name), .id = id, .special = true});
  }
  return tokens;
}

struct RankLine {
  std::string bytes;
  std::int32_t rank = 0;
};

std::optional<RankLine> parse_rank(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) {
    return std::nullopt;
  }
  auto bytes = from_base64(line.substr(0, space));
  std::int32_t rank = -1;
  const char* end = line.data() + line.size();
  const auto [stop, failure] = std::from_chars(line.data() + space + 1, end, rank);
  if (!bytes || bytes->empty() || failure != std::errc() || stop != end || rank < 0 || rank == INT32_MAX) {
    return std::nullopt;
  }
  return RankLine{*std::move(bytes), rank};
}

}  // namespace

TokenizerResult parse_vocabulary_and_merges(std::string_view vocabulary, std::string_view merges,
                                            const std::string& file, const TokenizerConfig& config) {
  const std::string& name = config.tokenizer_class;
  if (name.starts_with("CLIP")) {
    return unsupported("tokenizer_class " + shown(name), file);
  }
  const std::string entries_file = file + "/vocab.json";
  const std::string merges_file = file + "/merges.txt";
  LOCUS_TRY(const nlohmann::json document, parse_json(vocabulary, entries_file));
  if (is_of_words(document)) {
    return unsupported("expected byte-level entries, found parts of words", entries_file);
  }
  LOCUS_TRY(Vocabulary entries, parse_vocabulary(document, entries_file, true));
  LOCUS_TRY(const Merges parsed, parse_merges(merges, merges_file));
  PipelineParts parts;
  LOCUS_TRY(parts.model, within(make_bpe(std::move(entries), parsed, {.bytes = true}), merges_file));
  const bool qwen = name.starts_with("Qwen2");
  if (qwen) {
    LOCUS_TRY(parts.normalizers, parse_normalizer({{"type", "NFC"}}, file));
  }
  LOCUS_CHECK(add_byte_level(qwen ? kQwen2Pattern : kGpt2Pattern, config.add_prefix_space.value_or(name == kBlenderbot),
                             parts));
  add_special(parts, "<|endoftext|>");
  add_configured_tokens(config, parts);
  frame_merges(config, parts);
  return within(make_pipeline(std::move(parts)), file);
}

bool is_tiktoken(std::string_view text) {
  return parse_rank(next_line(text)).has_value();
}

TokenizerResult parse_tiktoken(std::string_view text, const std::string& file, const TokenizerConfig& config) {
  Vocabulary vocabulary;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (line.empty()) {
      continue;
    }
    auto entry = parse_rank(line);
    if (!entry) {
      return bad_input("line " + std::to_string(number) + ": expected base64 and a rank, found \"" +
                           std::string(line.substr(0, 60)) + "\"",
                       file);
    }
    if (vocabulary.find(entry->bytes) || vocabulary.entry(entry->rank) != nullptr) {
      return bad_input("line " + std::to_string(number) + ": the entry or its rank came before", file);
    }
    vocabulary.add(std::move(entry->bytes), entry->rank);
  }
  constexpr std::int64_t kLlama3Ranks = 128000;
  const bool llama3 = vocabulary.end() == kLlama3Ranks;
  PipelineParts parts;
  LOCUS_TRY(parts.model, make_rank_bpe(std::move(vocabulary)));
  LOCUS_CHECK(add_byte_level(kLlama3Pattern, false, parts));
  if (llama3) {
    parts.added = llama3_tokens(kLlama3Ranks);
  }
  add_configured_tokens(config, parts);
  if (config.add_bos.value_or(true)) {
    put(special_id(config, parts, "bos", "<|begin_of_text|>"), parts.before);
  }
  if (config.add_eos.value_or(false)) {
    put(special_id(config, parts, "eos", "<|end_of_text|>"), parts.after);
  }
  return within(make_pipeline(std::move(parts)), file);
}

TokenizerResult parse_word_list(std::string_view text, const std::string& file, const TokenizerConfig& config) {
  Vocabulary vocabulary;
  for (std::int32_t id = 0; !text.empty(); ++id) {
    vocabulary.add(std::string(next_line(text)), id);
  }
  const auto named = config.special.find("unk");
  const std::string unknown = named == config.special.end() ? "[UNK]" : named->second;
  const auto unknown_id = vocabulary.find(unknown);
  if (!unknown_id) {
    return bad_input(
        "expected the unknown token \"" + unknown + "\" among " + std::to_string(vocabulary.size()) + " lines", file);
  }
  PipelineParts parts;
  parts.model = make_word_piece(std::move(vocabulary), {.unknown = *unknown_id});
  BertNormalizerOptions normalizer;
  normalizer.lowercase = config.lowercase.value_or(true);
  normalizer.strip_accents = config.strip_accents.value_or(normalizer.lowercase);
  normalizer.space_cjk = config.space_cjk.value_or(true);
  parts.normalizers.push_back(bert_normalizer(normalizer));
  parts.pre_tokenizers.steps.push_back(bert_words());
  parts.decoders.push_back(word_piece_decoder("##", true));
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    add_special(parts, name);
  }
  add_configured_tokens(config, parts);
  put(special_id(config, parts, "cls", "[CLS]"), parts.before);
  put(special_id(config, parts, "sep", "[SEP]"), parts.after);
  return within(make_pipeline(std::move(parts)), file);
}

}  // namespace locus::text
