#include "models/text/steps/decoder.h"

#include <array>
#include <functional>
#include <utility>

#include "models/formats/json/json.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/mapped_text.h"
#include "models/text/steps/split.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

class Step final : public Decoder {
 public:
  explicit Step(std::function<void(std::vector<std::string>&)> step) : step_(std::move(step)) {}
  void apply(std::vector<std::string>& tokens) const override { step_(tokens); }

 private:
  std::function<void(std::vector<std::string>&)> step_;
};

std::unique_ptr<const Decoder> step(std::function<void(std::vector<std::string>&)> apply) {
  return std::make_unique<Step>(std::move(apply));
}

// Changes each token separately; `change` also gets its index in the sequence.
std::unique_ptr<const Decoder> each(std::function<void(std::string&, std::size_t)> change) {
  return step([change = std::move(change)](std::vector<std::string>& tokens) {
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      change(tokens[n], n);
    }
  });
}

// Removes the spaces before punctuation and contractions, as BERT's decoder does.
void clean_up(std::string& token) {
  static constexpr std::array<std::pair<const char*, const char*>, 11> kRules{{{" .", "."},
                                                                               {" ?", "?"},
                                                                               {" !", "!"},
                                                                               {" ,", ","},
                                                                               {" ' ", "'"},
                                                                               {" n't", "n't"},
                                                                               {" 'm", "'m"},
                                                                               {" do not", " don't"},
                                                                               {" 's", "'s"},
                                                                               {" 've", "'ve"},
                                                                               {" 're", "'re"}}};
  for (const auto& [from, to] : kRules) {
    replace_all(token, from, to);
  }
}

void strip(std::string& token, const std::string& content, std::int64_t start, std::int64_t stop) {
  for (; start > 0 && !content.empty() && token.starts_with(content); --start) {
    token.erase(0, content.size());
  }
  for (; stop > 0 && !content.empty() && token.ends_with(content); --stop) {
    token.resize(token.size() - content.size());
  }
}

Result<std::unique_ptr<const Decoder>> metaspace_decoder(const JsonObject& object) {
  LOCUS_TRY(const std::string space, object.text("replacement", "▁"));
  LOCUS_TRY(const bool prefix, object.boolean("add_prefix_space", true));
  LOCUS_TRY(const std::string scheme, object.text("prepend_scheme", prefix ? "always" : "never"));
  return each([space, added = scheme != "never"](std::string& token, std::size_t place) {
    if (place == 0 && added && token.starts_with(space)) {
      token.erase(0, space.size());
    }
    replace_all(token, space, " ");
  });
}

Result<std::unique_ptr<const Decoder>> parse_replace(const JsonObject& object) {
  LOCUS_TRY(const Pattern pattern, parse_pattern(object));
  LOCUS_TRY(const std::string content, object.text("content", ""));
  return each([pattern, content](std::string& token, std::size_t) {
    std::vector<Fragment> fragments;
    // A token on which the pattern fails, or which would grow too long, is kept unchanged.
    if (!pattern.split(token, 0, static_cast<std::uint32_t>(token.size()), fragments).ok()) {
      return;
    }
    std::string result;
    for (const Fragment& fragment : fragments) {
      result += fragment.match ? content : token.substr(fragment.begin, fragment.end - fragment.begin);
      if (result.size() > growth_limit(token.size())) {
        return;
      }
    }
    token = result;
  });
}

Result<std::unique_ptr<const Decoder>> one_decoder(const std::string& type, const JsonObject& object, bool bytes) {
  if (type == "ByteLevel") {
    return each([bytes](std::string& token, std::size_t) {
      const auto raw = bytes ? std::nullopt : from_byte_level(token);
      token = raw ? *raw : token;
    });
  }
  if (type == "ByteFallback") {
    return each([](std::string& token, std::size_t) {
      if (const auto byte = byte_of_name(token)) {
        token.assign(1, static_cast<char>(*byte));
      }
    });
  }
  if (type == "Metaspace") {
    return metaspace_decoder(object);
  }
  if (type == "WordPiece") {
    LOCUS_TRY(std::string prefix, object.text("prefix", "##"));
    LOCUS_TRY(const bool cleanup, object.boolean("cleanup", true));
    return word_piece_decoder(std::move(prefix), cleanup);
  }
  if (type == "BPEDecoder") {
    LOCUS_TRY(const std::string suffix, object.text("suffix", "</w>"));
    return word_end_decoder(suffix);
  }
  if (type == "Fuse") {
    return step([](std::vector<std::string>& tokens) {
      std::string whole;
      for (const std::string& token : tokens) {
        whole += token;
      }
      tokens.assign(1, whole);
    });
  }
  if (type == "Strip") {
    LOCUS_TRY(const std::string content, object.text("content", " "));
    LOCUS_TRY(const std::int64_t start, object.integer("start", 0));
    LOCUS_TRY(const std::int64_t stop, object.integer("stop", 0));
    return each([content, start, stop](std::string& token, std::size_t) { strip(token, content, start, stop); });
  }
  if (type == "Replace") {
    return parse_replace(object);
  }
  return unsupported("decoder \"" + type.substr(0, 80) + "\"", object.where());
}

}  // namespace

std::unique_ptr<const Decoder> word_piece_decoder(std::string prefix, bool cleanup) {
  return each([prefix = std::move(prefix), cleanup](std::string& token, std::size_t place) {
    if (place > 0) {
      if (!prefix.empty() && token.starts_with(prefix)) {
        token.erase(0, prefix.size());
      } else {
        token.insert(token.begin(), ' ');
      }
    }
    if (cleanup) {
      clean_up(token);
    }
  });
}

std::unique_ptr<const Decoder> word_end_decoder(std::string suffix) {
  return step([suffix = std::move(suffix)](std::vector<std::string>& tokens) {
    for (std::size_t n = 0; n < tokens.size() && !suffix.empty(); ++n) {
      replace_all(tokens[n], suffix, n + 1 == tokens.size() ? "" : " ");
    }
  });
}

Result<Decoders> parse_decoder(const nlohmann::json& value, const std::string& where, bool bytes) {
  Decoders steps;
  if (value.is_null()) {
    return steps;
  }
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  LOCUS_TRY(const std::string type, object.text("type", ""));
  if (type != "Sequence") {
    LOCUS_TRY(auto one, one_decoder(type, object, bytes));
    steps.push_back(std::move(one));
    return steps;
  }
  LOCUS_TRY(const nlohmann::json* const members, object.array("decoders"));
  for (const auto& member : *members) {
    LOCUS_TRY(Decoders inner, parse_decoder(member, where, bytes));
    std::move(inner.begin(), inner.end(), std::back_inserter(steps));
  }
  return steps;
}

}  // namespace locus::text
