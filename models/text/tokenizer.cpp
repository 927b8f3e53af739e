#include "models/text/tokenizer.h"

#include "core/base/atomic_file.h"
#include "models/text/byte_level.h"
#include "models/text/json.h"

namespace locus::text {
namespace {

constexpr std::size_t kFileLimit = 128U << 20;

// The form write_byte_tokenizer() writes: byte-level, no merges, entry b spells byte b.
bool is_byte_vocabulary(const nlohmann::json& document) {
  const auto model = document.value("model", nlohmann::json::object());
  const auto vocabulary = model.value("vocab", nlohmann::json::object());
  if (!vocabulary.is_object() || vocabulary.size() != 256 || !model.value("merges", nlohmann::json::array()).empty() ||
      !document.value("added_tokens", nlohmann::json::array()).empty()) {
    return false;
  }
  for (const auto& [entry, id] : vocabulary.items()) {
    const auto bytes = from_byte_level(entry);
    if (!bytes || bytes->size() != 1 || id != static_cast<std::uint8_t>(bytes->front())) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "tokenizer.json";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return std::shared_ptr<const Tokenizer>();
  }
  LOCUS_TRY(const std::string text, read_file(file, kFileLimit));
  LOCUS_TRY(const nlohmann::json document, parse_json(text, file.string()));
  if (document.is_object() && document.value("model", nlohmann::json()).is_object() && is_byte_vocabulary(document)) {
    return byte_tokenizer();
  }
  return unsupported("expected the byte vocabulary, found another model", file.string());
}

}  // namespace locus::text
