#include <memory>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/tokenizer.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  Result<std::vector<Token>> encode(std::string_view text, bool /*special*/) const override {
    std::vector<Token> tokens;
    tokens.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
      const auto begin = static_cast<std::int64_t>(at);
      tokens.push_back({static_cast<std::uint8_t>(text[at]), {begin, begin + 1}});
    }
    return tokens;
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string bytes;
    for (const std::int64_t id : ids) {
      if (id >= 0 && id < 256) {
        bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(id)));
      }
    }
    return bytes;
  }

  std::string label(std::int64_t id) const override {
    if (id < 0 || id >= 256) {
      return std::string("#").append(std::to_string(id));
    }
    const char byte = static_cast<char>(static_cast<std::uint8_t>(id));
    return readable({&byte, 1});
  }

  bool is_special(std::int64_t /*id*/) const override { return false; }
  std::int64_t vocabulary() const override { return 256; }
  std::string kind() const override { return "byte-level"; }
};

}  // namespace

std::shared_ptr<const Tokenizer> byte_tokenizer() {
  return std::make_shared<ByteTokenizer>();
}

Status write_byte_tokenizer(const std::filesystem::path& folder) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    const char value = static_cast<char>(static_cast<std::uint8_t>(byte));
    bytes.push_back(to_byte_level({&value, 1}));
  }
  return write_file(folder / "tokenizer.json", byte_level_tokenizer_json(bytes, {}, Segmentation::kWhole));
}

}  // namespace locus::text
