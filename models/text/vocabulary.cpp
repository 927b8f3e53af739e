#include "models/text/vocabulary.h"

#include <algorithm>
#include <utility>

#include "models/text/bpe/byte_level.h"
#include "models/text/token_model.h"
#include "models/text/utf8.h"

namespace locus::text {

void Vocabulary::add(std::string entry, std::int32_t id) {
  const auto [place, added] = ids_.emplace(std::move(entry), id);
  if (added) {
    entries_.emplace(id, &place->first);
    end_ = std::max<std::int64_t>(end_, std::int64_t{id} + 1);
  }
}

std::optional<std::int32_t> Vocabulary::find(std::string_view entry) const {
  const auto found = ids_.find(entry);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Vocabulary::entry(std::int64_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second;
}

std::optional<std::array<std::int32_t, 256>> Vocabulary::fallback_bytes() const {
  std::array<std::int32_t, 256> ids{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto id = find(byte_name(static_cast<std::uint8_t>(byte)));
    if (!id) {
      return std::nullopt;
    }
    ids[byte] = *id;
  }
  return ids;
}

Error no_piece(std::string_view part) {
  return bad_input("the vocabulary has no token for \"" + readable(part.substr(0, 40)) + "\" and no unknown token");
}

}  // namespace locus::text
