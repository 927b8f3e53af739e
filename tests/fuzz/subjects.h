// What the mutation run damages: one file each of everything that Locus reads, with the commands that read it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/mutate.h"

namespace locus::fuzz {

struct Subject {
  std::filesystem::path file;  // is damaged in its place, and put back
  Form form = Form::kBytes;
  std::vector<std::vector<std::string>> commands;  // of locus, without the program; "session FILE" only reads it
};

// Writes checkpoints of every layout, GGUF files, tokenizers, pictures, traces, sessions, recipes and training records
// below `folder`. Throws std::runtime_error where one cannot be made.
std::vector<Subject> write_subjects(const std::filesystem::path& folder);

// Runs a command in this process; the exit status.
int run_command(const std::vector<std::string>& command);

// One line a subject, for another process.
std::string to_text(const std::vector<Subject>& subjects);
std::vector<Subject> subjects_of(const std::string& text);

}  // namespace locus::fuzz
