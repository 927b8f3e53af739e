#include "models/text/sentence_piece/model.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

// A text while the rules are applied.
class Normalization {
 public:
  Normalization(const SentencePieceModel& model, const AddedTokenFinder& kept, const MappedText& text)
      : model_(model), kept_(kept), text_(text), bytes_(text.text()), builder_(text) {}

  Result<MappedText> run() && {
    std::size_t at = model_.remove_extra_spaces ? first_after_spaces() : 0;
    if (at == bytes_.size()) {
      return MappedText();
    }
    if (model_.dummy_prefix && !model_.space_is_suffix) {
      builder_.replace(space(), at, at);
    }
    bool after_space = model_.remove_extra_spaces;
    while (at < bytes_.size()) {
      const Step step = step_at(at);
      std::string_view rest = step.text;
      while (after_space && rest.starts_with(' ')) {
        rest.remove_prefix(1);
      }
      if (!rest.empty()) {
        write(rest, at, at + step.length);
        after_space = model_.remove_extra_spaces && rest.ends_with(' ');
      }
      at += step.length;
      if (builder_.size() > growth_limit(bytes_.size())) {
        return too_large("the text grows beyond " + std::to_string(growth_limit(bytes_.size())) +
                         " bytes when it is normalised");
      }
    }
    while (model_.remove_extra_spaces && builder_.text().ends_with(space())) {
      builder_.truncate(builder_.size() - space().size());
    }
    if (model_.dummy_prefix && model_.space_is_suffix) {
      builder_.replace(space(), bytes_.size(), bytes_.size());
    }
    return std::move(builder_).finish();
  }

 private:
  struct Step {
    std::string_view text;
    std::size_t length = 0;  // source range of the replacement
  };

  std::string_view space() const { return model_.escape_spaces ? "▁" : " "; }

  Step step_at(std::size_t at) const {
    if (const auto match = kept_.longest_at(bytes_, at); match.token != nullptr) {
      return {bytes_.substr(at, match.end - at), match.end - at};
    }
    if (model_.charsmap) {
      if (const auto found = model_.charsmap->longest_prefix(bytes_.substr(at))) {
        return {found->replacement, found->length};
      }
    }
    const Character character = character_at(bytes_, at);
    if (!character.valid && !model_.bytes) {
      return {"\xEF\xBF\xBD", 1};
    }
    return {bytes_.substr(at, character.bytes), character.bytes};
  }

  std::size_t first_after_spaces() const {
    std::size_t at = 0;
    while (at < bytes_.size()) {
      const Step step = step_at(at);
      if (step.text != " ") {
        break;
      }
      at += step.length;
    }
    return at;
  }

  // `rest` is the end of the rewritten source bytes [begin, end).
  void write(std::string_view rest, std::size_t begin, std::size_t end) {
    if (!model_.escape_spaces || rest.find(' ') == std::string_view::npos) {
      builder_.replace(rest, begin, end);
      return;
    }
    std::string escaped(rest);
    replace_all(escaped, " ", space());
    builder_.replace(escaped, begin, end);
  }

  const SentencePieceModel& model_;
  const AddedTokenFinder& kept_;
  const MappedText& text_;
  std::string_view bytes_;
  MappedTextBuilder builder_;
};

}  // namespace

Result<MappedText> normalize(const SentencePieceModel& model, const AddedTokenFinder& kept, const MappedText& text) {
  return Normalization(model, kept, text).run();
}

}  // namespace locus::text
