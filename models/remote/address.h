// Where a remote model is, `ssh://[user@]host[:port]/path`, and the words of a command that reaches it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::remote {

struct Address {
  std::string user;  // empty: ssh's own choice
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;      // 0: ssh's own choice
  std::string path;  // there: "/data/model", "~/model", or "ORG/NAME" of the hub's cache

  // "user@host:port", without what is not given: how errors name the other end.
  std::string peer() const;
};

// Whether a path is one of another machine, well-formed or not.
bool is_remote(std::string_view path);

// `ssh://host/path` is the absolute path, `ssh://host/~/path` one in the home folder, `ssh://host//ORG/NAME` the name
// of the hub's cache. Errors: kBadInput for a missing host or path, a port outside 1 … 65535, a user or host that
// begins with '-' and so could be taken for an option, characters that names of users and hosts do not have, and a path
// that is not UTF-8.
Result<Address> parse_address(std::string_view path);

// The words of a command as a shell splits them: at spaces and tabs, with '…', "…" (in which \" and \\ are escapes) and
// \ before any character. Nothing else has a meaning, and no shell runs. Errors: kUsage for no word, a quote that does
// not end, and a \ at the end; `name` is whose value it is.
Result<std::vector<std::string>> split_words(std::string_view text, const std::string& name);

}  // namespace locus::remote
