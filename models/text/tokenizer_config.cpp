#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "core/base/atomic_file.h"
#include "models/formats/json/json.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kConfigLimit = 16U << 20;
constexpr const char* kSpecialNames[] = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};

Result<Json> read_object(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Json::object();
  }
  LOCUS_TRY(const std::string text, read_file(path, kConfigLimit));
  LOCUS_TRY(Json value, parse_json(text, path.string()));
  LOCUS_CHECK(JsonObject::of(value, path.string()));
  return value;
}

Status read_flag(const JsonObject& object, const char* name, std::optional<bool>& flag) {
  if (object.find(name) != nullptr) {
    LOCUS_TRY(flag, object.boolean(name, false));
  }
  return {};
}

// "bos_token": "<s>" or {"content": "<s>", …}; other kinds (false, a list) name no token.
void read_special(const JsonObject& object, TokenizerConfig& config) {
  for (const char* name : kSpecialNames) {
    const Json* token = object.find(std::string(name) + "_token");
    if (token != nullptr && token->is_object() && token->contains("content")) {
      token = &(*token)["content"];
    }
    if (token != nullptr && token->is_string()) {
      config.special.emplace(name, token->get<std::string>());
    }
  }
}

// "additional_special_tokens": names, or objects with a content.
void read_more_special(const JsonObject& object, TokenizerConfig& config) {
  const Json* const list = object.find("additional_special_tokens");
  if (list == nullptr || !list->is_array() || !config.more_special.empty()) {
    return;
  }
  for (const Json& item : *list) {
    const Json& name = item.is_object() && item.contains("content") ? item["content"] : item;
    if (name.is_string()) {
      config.more_special.push_back(name.get<std::string>());
    }
  }
}

Status read_added(const JsonObject& object, TokenizerConfig& config) {
  if (object.find("added_tokens_decoder") == nullptr) {
    return {};
  }
  LOCUS_TRY(const JsonObject tokens, object.object("added_tokens_decoder"));
  for (const auto& [key, value] : tokens.value().items()) {
    std::int64_t id = -1;
    const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (failure != std::errc() || end != key.data() + key.size()) {
      return bad_input("expected an id, found \"" + key.substr(0, 40) + "\"", tokens.where());
    }
    LOCUS_TRY(AddedToken token, parse_added_token(value, id, tokens.where()));
    config.added.push_back(std::move(token));
  }
  return {};
}

// added_tokens.json: {"<|im_end|>": 151645}.
Status read_added_ids(const Json& ids, const std::string& file, TokenizerConfig& config) {
  LOCUS_TRY(const Vocabulary vocabulary, parse_vocabulary(ids, file, false));
  std::unordered_set<std::int32_t> known;
  for (const AddedToken& token : config.added) {
    known.insert(token.id);
  }
  for (const auto& [content, id] : vocabulary.entries()) {
    if (known.insert(id).second) {
      config.added.push_back({.content = content, .id = id});
    }
  }
  return {};
}

}  // namespace

Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  const std::filesystem::path main_path = folder / "tokenizer_config.json";
  LOCUS_TRY(const Json main, read_object(main_path));
  LOCUS_TRY(const JsonObject object, JsonObject::of(main, main_path.string()));
  LOCUS_TRY(config.tokenizer_class, object.text("tokenizer_class", ""));
  if (config.tokenizer_class.ends_with("Fast")) {
    config.tokenizer_class.resize(config.tokenizer_class.size() - 4);
  }
  LOCUS_CHECK(read_flag(object, "add_bos_token", config.add_bos));
  LOCUS_CHECK(read_flag(object, "add_eos_token", config.add_eos));
  LOCUS_CHECK(read_flag(object, "add_prefix_space", config.add_prefix_space));
  LOCUS_CHECK(read_flag(object, "do_lower_case", config.lowercase));
  LOCUS_CHECK(read_flag(object, "strip_accents", config.strip_accents));
  LOCUS_CHECK(read_flag(object, "tokenize_chinese_chars", config.space_cjk));
  read_special(object, config);
  read_more_special(object, config);
  if (const Json* const language = object.find("src_lang"); language != nullptr && language->is_string()) {
    config.source_language = language->get<std::string>();
  }
  LOCUS_CHECK(read_added(object, config));

  const std::filesystem::path map_path = folder / "special_tokens_map.json";
  LOCUS_TRY(const Json map, read_object(map_path));
  LOCUS_TRY(const JsonObject map_object, JsonObject::of(map, map_path.string()));
  read_special(map_object, config);
  read_more_special(map_object, config);

  const std::filesystem::path added_path = folder / "added_tokens.json";
  LOCUS_TRY(const Json added, read_object(added_path));
  LOCUS_CHECK(read_added_ids(added, added_path.string(), config));
  return config;
}

void add_configured_tokens(const TokenizerConfig& config, PipelineParts& parts) {
  std::unordered_set<std::int32_t> ids;
  std::unordered_set<std::string> contents;
  for (const AddedToken& token : parts.added) {
    ids.insert(token.id);
    contents.insert(token.content);
  }
  for (const AddedToken& token : config.added) {
    if (!ids.contains(token.id) && contents.insert(token.content).second) {
      ids.insert(token.id);
      parts.added.push_back(token);
    }
  }
  for (const auto& [name, content] : config.special) {
    const auto known =
        std::find_if(parts.added.begin(), parts.added.end(),
                     [&, &wanted = content](const AddedToken& token) { return token.content == wanted; });
    if (known != parts.added.end()) {
      known->special = true;
    } else if (const auto id = parts.model->vocabulary().find(content)) {
      parts.added.push_back({.content = content, .id = *id, .special = true});
    }
  }
}

}  // namespace locus::text
