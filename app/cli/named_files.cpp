#include "app/cli/named_files.h"

#include <filesystem>
#include <map>

#include "app/figures/input_paths.h"
#include "models/formats/files_read.h"
#include "models/formats/hub_cache.h"

namespace locus::cli {

namespace {

namespace fs = std::filesystem;

void add_checkpoint(const std::string& word, InputFiles& inputs) {
  const Result<fs::path> found = formats::find_checkpoint(word);
  if (!found.ok()) {
    return;  // who opens it says so
  }
  inputs.add(*found);
  for (const fs::path& file : formats::files_read(*found)) {
    inputs.add(file);
  }
  if (session::is_session(*found)) {
    if (const auto session = session::load_session(*found); session.ok()) {
      session::add_inputs(*session, inputs);
    }
  }
}

}  // namespace

InputFiles inputs_of(const std::vector<NamedFiles>& files, const std::string& command) {
  InputFiles inputs;
  for (const NamedFiles& named : files) {
    if (named.command != command || named.use == FileUse::kWritten) {
      continue;
    }
    for (const std::string& word : named.typed()) {
      if (named.use == FileUse::kCheckpoint) {
        add_checkpoint(word, inputs);
      } else {
        inputs.add(word);
      }
    }
  }
  return inputs;
}

Status check_outputs(const std::vector<NamedFiles>& files, const std::string& command, const InputFiles& inputs) {
  std::map<fs::path, std::string> outputs;
  for (const NamedFiles& named : files) {
    if (named.command != command || named.use != FileUse::kWritten) {
      continue;
    }
    for (const std::string& word : named.typed()) {
      LOCUS_CHECK(inputs.check(word, named.name));
      std::error_code code;
      const fs::path path = fs::weakly_canonical(word, code);
      const auto [known, first] = outputs.emplace(code ? fs::path(word) : path, named.name);
      if (!first && known->second != named.name && fs::status(path, code).type() != fs::file_type::character) {
        return usage(named.name + ": expected another file than " + known->second + ", found " + word);
      }
    }
  }
  return {};
}

}  // namespace locus::cli
