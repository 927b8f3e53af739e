#include "app/cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/base/atomic_file.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::cli {

namespace {

constexpr std::chrono::seconds kProgressInterval{10};
constexpr int kStopped = 130;  // as shells say of SIGINT

}  // namespace

Status Console::open_log(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  LOCUS_CHECK(check_writable(path));
  log_.open(path, std::ios::app);
  if (!log_) {
    return bad_input("cannot be opened for writing", path);
  }
  return {};
}

void Console::print(const std::string& text) {
  end_progress();
  const std::string lines = printable_lines(text);
  std::cout << lines << '\n';
  log(lines);
}

void Console::warn(const std::string& message) {
  if (warned_.insert(message).second) {
    note("warning: " + message);
  }
}

void Console::note(const std::string& message) {
  end_progress();
  const std::string line = "locus: " + one_line(message);
  std::cerr << line + '\n';  // at once: processes of a job share the stream
  log(line);
}

int Console::fail(const Error& error) {
  std::cout.flush();
  const bool stopped = error.code == ErrorCode::kCancelled;
  note((stopped ? "" : "error: ") + error.describe());
  return stopped ? kStopped : static_cast<int>(error.code);
}

int Console::finish(int status) {
  end_progress();
  errno = 0;
  std::cout.flush();
  const bool written = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  const bool logged = !log_.is_open() || log_.good();
  log_.clear();
  if (status == 0 && !written) {
    return fail(bad_input("cannot write" + why, "standard output"));
  }
  return status == 0 && !logged ? fail(bad_input("cannot write", "--log")) : status;
}

void Console::progress(const std::string& text) {
  const std::string line = one_line(text);
  log(line);
  if (isatty(STDERR_FILENO) != 0) {
    std::cerr << "\r\033[K" << line << std::flush;
    progress_open_ = true;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ >= kProgressInterval) {
    std::cerr << line << std::endl;
    last_progress_ = now;
  }
}

void Console::end_progress() {
  if (progress_open_) {
    std::cerr << '\n';
    progress_open_ = false;
  }
}

void Console::log(const std::string& line) {
  if (log_.is_open()) {
    log_ << line << std::endl;
  }
}

void hold_standard_streams() {
  const char* const devices[] = {"/dev/null", "/dev/full", "/dev/full"};
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is this stream's, since those before it are open.
      [[maybe_unused]] const int opened = open(devices[stream], stream == 0 ? O_RDONLY : O_WRONLY);
    }
  }
}

Error keeping(Error error, const std::string& kept) {
  if (error.code == ErrorCode::kCancelled) {
    error.message = "cancelled; " + kept;
    error.context.clear();
  }
  return error;
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += (begin == 0 ? "" : "\n") + printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string one_line(const std::string& text) {
  constexpr std::size_t kMaxCharacters = 2000;  // quotes are far shorter: what is longer is a mistake of ours
  std::string line = text;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return shown(line, kMaxCharacters);
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

}  // namespace locus::cli
