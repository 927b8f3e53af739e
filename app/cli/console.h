// Console: what a sub-command prints. Results go to standard output, warnings and the one line of an error to standard
// error, and all of them to the log file when there is one.
#pragma once

#include <chrono>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::cli {

class Console {
 public:
  // Errors: kBadInput when the log file cannot be opened. An empty path means no log.
  Status open_log(const std::string& path);

  // One line of standard output, or several; what would move a terminal as escapes (printable_lines()).
  void print(const std::string& text);
  // "locus: warning: …", each once.
  void warn(const std::string& message);
  // "locus: …": something worth knowing, on standard error.
  void note(const std::string& message);
  // "locus: error: …", always one line; returns the exit status that belongs to it. The user's own stop is no error:
  // "locus: cancelled; …", 130.
  int fail(const Error& error);
  // Flushes; `status`, or that of an error where standard output or the log did not take all that was written.
  int finish(int status);
  // A line that replaces itself on a terminal; where there is none, one of them every ten seconds.
  void progress(const std::string& text);
  // Ends the progress line.
  void end_progress();
  void log(const std::string& line);

 private:
  std::ofstream log_;
  std::set<std::string> warned_;
  bool progress_open_ = false;
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
};

// Opens what stands for standard streams that the program was started without, so that no file takes their numbers:
// what is read is empty, what is written fails.
void hold_standard_streams();

// `error`, with what was kept where it is the user's stop: "cancelled; no trace was written".
Error keeping(Error error, const std::string& kept);

// The lines of `text`, each without controls, marks of direction and broken UTF-8, which become escapes
// (core/base/shown.h).
std::string printable_lines(std::string_view text);

// `text` on one line: its line ends and tabs become spaces, other controls and broken UTF-8 escapes
// (core/base/shown.h).
std::string one_line(const std::string& text);

// `text` behind spaces, `width` characters in all.
std::string right(const std::string& text, std::size_t width);

}  // namespace locus::cli
