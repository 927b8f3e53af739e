// Split patterns of tokenizers: Perl-compatible regular expressions or plain strings, from untrusted files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::text {

// [begin, end) of a text, and whether it is a match or lies between matches.
struct Fragment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool match = false;
};

class Pattern {
 public:
  // A regular expression over Unicode characters (PCRE2 with UTF and UCP). Errors: kBadInput with the position.
  static Result<Pattern> regex(const std::string& source);
  static Pattern literal(std::string text);

  // The text from `begin` to `end` as fragments in order, none empty. A match starts where the one before ended or
  // later; empty matches advance one character and match nothing; bytes outside any character match nothing. Errors:
  // kTooLarge when the pattern needs more steps, memory or time than a text of this length may cost.
  Status split(std::string_view text, std::uint32_t begin, std::uint32_t end, std::vector<Fragment>& fragments) const;

 private:
  struct Code;
  Status split_regex(std::string_view text, std::uint32_t begin, std::uint32_t end,
                     std::vector<Fragment>& fragments) const;

  std::shared_ptr<const Code> code_;
  std::string literal_;
};

}  // namespace locus::text
