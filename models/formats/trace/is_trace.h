// Which files are traces, for all who open a path that may be a checkpoint or a trace.
#pragma once

#include <filesystem>

namespace locus::models {

// Whether the file says that it is a trace of any version (safetensors with `locus.format` trace/…). What is wrong with
// one, open_trace() says; a file whose header cannot be read is none.
bool is_trace(const std::filesystem::path& path);

}  // namespace locus::models
