// Console: what a sub-command prints. Results go to standard output, warnings and the one line of an error to standard
// error, and all of them to the log file when there is one.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include "core/base/result.h"

namespace locus::cli {

class Console {
 public:
  // Errors: kBadInput when the log file cannot be opened. An empty path means no log.
  Status open_log(const std::string& path);

  // One line of standard output.
  void print(const std::string& line);
  // "locus: warning: …"
  void warn(const std::string& message);
  // "locus: …": something worth knowing, on standard error.
  void note(const std::string& message);
  // "locus: error: …", always one line; returns the exit status that belongs to it.
  int fail(const Error& error);
  // A line that replaces itself on a terminal; where there is none, one of them every ten seconds.
  void progress(const std::string& line);
  // Ends the progress line.
  void end_progress();
  void log(const std::string& line);

 private:
  std::ofstream log_;
  bool progress_open_ = false;
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
};

// `text` on one line: control characters become spaces, invalid UTF-8 is replaced.
std::string one_line(const std::string& text);

// `text` behind spaces, `width` characters in all.
std::string right(const std::string& text, std::size_t width);

// "1.2 M", "823 k", "17": a count for a person.
std::string short_count(double count);

}  // namespace locus::cli
