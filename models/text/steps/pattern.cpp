#include "models/text/steps/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr std::size_t kSourceLimit = 16384;
constexpr std::uint32_t kHeapLimitKib = 65536;

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

void add(std::vector<Fragment>& fragments, std::size_t begin, std::size_t end, bool match) {
  if (begin < end) {
    fragments.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), match});
  }
}

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : compiled(compiled) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(compiled); }
  pcre2_code* compiled;
};

Result<Pattern> Pattern::regex(const std::string& source) {
  const std::unique_ptr<pcre2_compile_context, FreeMatch> limits(pcre2_compile_context_create(nullptr));
  pcre2_set_max_pattern_length(limits.get(), kSourceLimit);
  int error = 0;
  PCRE2_SIZE position = 0;
  // Anchored: each call tries one position, so that the caller can limit the time of a whole text.
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C, &error, &position, limits.get());
  if (compiled == nullptr) {
    return bad_input("regular expression: " + message_of(error) + " at byte " + std::to_string(position));
  }
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);  // without it (or on failure) the interpreter runs
  Pattern pattern;
  pattern.code_ = std::make_shared<const Code>(compiled);
  return pattern;
}

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Status Pattern::split(std::string_view text, std::uint32_t begin, std::uint32_t end,
                      std::vector<Fragment>& fragments) const {
  if (code_) {
    return split_regex(text, begin, end, fragments);
  }
  std::size_t at = begin;
  while (!literal_.empty()) {
    const std::size_t found = text.substr(0, end).find(literal_, at);
    if (found == std::string_view::npos) {
      break;
    }
    add(fragments, at, found, false);
    add(fragments, found, found + literal_.size(), true);
    at = found + literal_.size();
  }
  add(fragments, at, end, false);
  return {};
}

namespace {

// One pass of a compiled pattern over the valid stretches of a text.
class Scanner {
 public:
  Scanner(const pcre2_code* code, std::size_t bytes)
      : code_(code),
        data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        deadline_(std::chrono::steady_clock::now() + std::chrono::seconds(3) + std::chrono::microseconds(bytes)) {
    pcre2_set_match_limit(context_.get(), static_cast<std::uint32_t>(1'000'000 + 16 * bytes));
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
  }

  // End of a match that begins at `at` (`at` itself: no match, or an empty one), in valid UTF-8.
  Result<std::size_t> match(std::string_view text, std::size_t at) {
    if ((++calls_ & 15U) == 0 && std::chrono::steady_clock::now() > deadline_) {
      return too_large("the split pattern takes too long on this text");
    }
    int found = run(text, at, PCRE2_NO_UTF_CHECK);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = run(text, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
    }
    if (found == PCRE2_ERROR_NOMATCH) {
      return at;
    }
    if (found < 0) {
      return too_large("the split pattern cannot be matched on this text: " + message_of(found));
    }
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data_.get());
    if (span[0] != at || span[1] < at) {
      return bad_input("the split pattern moves the start of its match (\\K)");
    }
    return span[1];
  }

 private:
  int run(std::string_view text, std::size_t at, std::uint32_t options) {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, options, data_.get(),
                       context_.get());
  }

  const pcre2_code* code_;
  std::unique_ptr<pcre2_match_data, FreeMatch> data_;
  std::unique_ptr<pcre2_match_context, FreeMatch> context_;
  std::chrono::steady_clock::time_point deadline_;
  unsigned calls_ = 0;
};

std::size_t valid_until(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (!character.valid) {
      break;
    }
    at += character.bytes;
  }
  return at;
}

}  // namespace

Status Pattern::split_regex(std::string_view text, std::uint32_t begin, std::uint32_t end,
                            std::vector<Fragment>& fragments) const {
  const std::string_view whole = text.substr(0, end);
  Scanner scanner(code_->compiled, end - begin);
  std::size_t between = begin;  // end of the previous match
  for (std::size_t first = begin; first < end;) {
    const std::size_t last = valid_until(whole, first);
    const std::string_view run = whole.substr(first, last - first);
    for (std::size_t at = 0; at < run.size();) {
      LOCUS_TRY(const std::size_t to, scanner.match(run, at));
      if (to == at) {
        at += character_at(run, at).bytes;
        continue;
      }
      add(fragments, between, first + at, false);
      add(fragments, first + at, first + to, true);
      at = to;
      between = first + at;
    }
    first = last + 1;  // skips the invalid byte
  }
  add(fragments, between, end, false);
  return {};
}

}  // namespace locus::text
