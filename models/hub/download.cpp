#include "models/hub/download.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/formats/hub_name.h"
#include "models/hub/partial_file.h"
#include "models/hub/url.h"

namespace locus::hub {

namespace {

constexpr std::size_t kSumDigits = 64;
constexpr std::int64_t kLargestFile = std::int64_t{1} << 50;

std::optional<std::int64_t> size_in(std::string_view text) {
  const auto size = parse_number<std::int64_t>(text);
  return size && *size >= 0 && *size <= kLargestFile ? size : std::nullopt;
}

// "W/\"abc\"" is abc.
std::string plain_etag(std::string etag) {
  if (etag.starts_with("W/")) {
    etag = etag.substr(2);
  }
  return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"' ? etag.substr(1, etag.size() - 2) : etag;
}

// The first byte of "bytes 5-9/10", where its total is `total`.
std::optional<std::int64_t> first_of_range(const std::string& range, std::int64_t total) {
  const std::string_view text(range);
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (!text.starts_with("bytes ") || dash == std::string_view::npos || slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view said = text.substr(slash + 1);
  return said == "*" || size_in(said) == total ? size_in(text.substr(6, dash - 6)) : std::nullopt;
}

std::string byte_count(std::int64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

// True where an answer fits the request: the rest of the file, or the whole file, which restarts it.
Status begin_body(const Response& answer, const RemoteFile& file, PartialFile& partial) {
  if (answer.status == 200) {
    if (partial.size() > 0) {
      LOCUS_CHECK(partial.clear());
    }
  } else if (answer.status != 206 || first_of_range(answer.header("content-range"), file.bytes) != partial.size()) {
    return bad_input("expected the bytes from " + std::to_string(partial.size()) + " of " + std::to_string(file.bytes) +
                         ", found \"" + shown(answer.header("content-range")) + "\" (status " +
                         std::to_string(answer.status) + ")",
                     file.name);
  }
  const std::string said = answer.header("content-length");
  const std::int64_t missing = file.bytes - partial.size();
  return said.empty() || size_in(said) == missing
             ? Status()
             : bad_input("expected " + byte_count(missing) + ", found an answer of \"" + shown(said) + "\"", file.name);
}

// Fetches all missing bytes, over as many connections as needed.
Status fetch_rest(Connection& connection, const HubSettings& settings, const RemoteFile& file, PartialFile& partial,
                  const StopToken& stop, const BytesThere& there) {
  int tries = 0;
  Patience patience(settings);
  while (partial.size() < file.bytes) {
    const std::int64_t before = partial.size();
    const auto begun = std::chrono::steady_clock::now();
    bool more = false;
    const auto begin = [&](const Response& answer) { return begin_body(answer, file, partial); };
    const auto take = [&](std::string_view bytes) -> Status {
      more = static_cast<std::int64_t>(bytes.size()) > file.bytes - partial.size();
      if (more) {
        return bad_input("expected " + byte_count(file.bytes) + ", found more", file.name);
      }
      LOCUS_CHECK(partial.append(bytes));
      there(partial.size());
      return {};
    };
    const auto answer = connection.send({file.url, false, before}, {begin, take}, stop);
    if (more) {
      LOCUS_CHECK(partial.clear());
    }
    if (!answer.ok()) {
      return answer.error();
    }
    if (partial.size() == file.bytes) {
      break;
    }
    if (answer->status == 416) {
      LOCUS_CHECK(partial.clear());
    } else if (!answer->good() && !may_come_back(*answer)) {
      return refusal(*answer, file.name);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const std::int64_t more_bytes = partial.size() - before;
    if (more_bytes > 0 && static_cast<double>(more_bytes) >= took.count() * kSlowest) {
      tries = 0;
      patience.begin();
    } else {
      ++tries;
    }
    if (tries == settings.tries || (tries > 0 && patience.ends())) {
      const std::string why = answer->broken.empty() ? "status " + std::to_string(answer->status) : answer->broken;
      return bad_input("the line broke " + std::to_string(tries) + " times (" + why + "); " +
                           byte_count(partial.size()) + " of " + std::to_string(file.bytes) +
                           " are kept for the next time",
                       file.name);
    }
    if (pause(settings, tries, stop)) {
      return cancelled();
    }
  }
  return {};
}

}  // namespace

bool RemoteFile::has_sum() const {
  return etag.size() == kSumDigits && etag.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<RemoteFile> describe_file(const std::string& name, const std::string& url, const std::string& commit,
                                 const Response& answer) {
  const bool linked = !answer.header("x-linked-etag").empty();
  if (!answer.good() && !(linked && answer.broken.empty() && answer.status >= 300 && answer.status < 400)) {
    return refusal(answer, name);
  }
  if (answer.header("x-repo-commit") != commit) {
    return bad_input("expected a file of commit " + commit + ", found \"" + shown(answer.header("x-repo-commit")) +
                         "\" (X-Repo-Commit)",
                     name);
  }
  RemoteFile file{name, url, plain_etag(answer.header(linked ? "x-linked-etag" : "etag")), 0};
  if (!formats::is_hub_part(file.etag) || file.etag.ends_with(".incomplete")) {
    return bad_input("expected an etag of letters and digits, found \"" + shown(file.etag) + "\"", name);
  }
  const std::string said =
      answer.header("x-linked-size").empty() ? answer.header("content-length") : answer.header("x-linked-size");
  const auto bytes = size_in(said);
  if (!bytes) {
    return bad_input("expected a size in bytes, found \"" + shown(said) + "\"", name);
  }
  file.bytes = *bytes;
  return file;
}

Error refusal(const Response& answer, const std::string& what) {
  const std::string host = shown_url(answer.url);
  const std::string code = answer.header("x-error-code");
  std::string message;
  if (!answer.broken.empty()) {
    message = "cannot be fetched: " + answer.broken;
  } else if (code == "GatedRepo") {
    message = "the hub gives it only to those whom its authors let in: ask there, and set HF_TOKEN";
  } else if (code == "RevisionNotFound") {
    message = "the model has no such revision";
  } else if (answer.status == 404 || code == "RepoNotFound") {
    message = "the hub has no such model or file, or shows it only to some (HF_TOKEN)";
  } else if (answer.status == 401 || answer.status == 403) {
    message = "the hub refuses it (status " + std::to_string(answer.status) + "): HF_TOKEN is missing or not accepted";
  } else if (answer.status == 429) {
    message = "the hub asks to come back later (status 429)";
  } else {
    message = "expected the file, found an answer of status " + std::to_string(answer.status);
  }
  return bad_input(message + ", at " + host, what);
}

bool may_come_back(const Response& answer) {
  return answer.broken.empty() ? answer.status == 408 || answer.status == 429 || answer.status >= 500 || answer.good()
                               : !answer.hopeless;
}

bool pause(const HubSettings& settings, int n, const StopToken& stop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(n < 1 ? 0 : settings.pause_ms << (n - 1));
  while (Clock::now() < end && !stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return stop.stop_requested();
}

Status download(Connection& connection, const HubSettings& settings, const CacheFolder& folder, const RemoteFile& file,
                const StopToken& stop, const BytesThere& there, const std::function<void()>& waiting) {
  const std::filesystem::path blob = folder.blob(file.etag);
  LOCUS_TRY(const DownloadLock lock, DownloadLock::take(folder.lock(file.etag), stop, waiting));
  std::error_code code;
  if (std::filesystem::is_regular_file(blob, code)) {
    const std::uintmax_t bytes = std::filesystem::file_size(blob, code);
    if (!code && bytes == static_cast<std::uintmax_t>(file.bytes)) {
      there(file.bytes);  // another process has just fetched it
      return {};
    }
    if (!code && !file.has_sum()) {  // other snapshots may link to it
      return bad_input("expected " + std::to_string(bytes) +
                           " bytes, those of the file of the same etag that is there (" + blob.string() + "), found " +
                           std::to_string(file.bytes),
                       file.name);
    }
  }
  LOCUS_TRY(PartialFile partial, PartialFile::open(folder.partial(file.etag), file.has_sum(), file.bytes, stop));
  bool inherited = partial.size() > 0;  // left by an earlier download, possibly of other ranges
  there(partial.size());
  for (;;) {
    LOCUS_CHECK(fetch_rest(connection, settings, file, partial, stop, there));
    if (!file.has_sum() || partial.sum() == file.etag) {
      return partial.finish(blob);
    }
    const std::string found = partial.sum();
    LOCUS_CHECK(partial.clear());
    if (!inherited) {
      std::filesystem::remove(folder.partial(file.etag), code);
      return bad_input("expected SHA-256 " + file.etag + ", found " + found + "; it was not kept", file.name);
    }
    inherited = false;
  }
}

}  // namespace locus::hub
