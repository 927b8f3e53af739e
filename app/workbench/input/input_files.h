// Files as the input: their kind by name, and reading them.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::workbench {

// The kind of a file by its name.
bool is_image(const std::filesystem::path& path);
bool is_video(const std::filesystem::path& path);
bool is_text(const std::filesystem::path& path);

// The reason why bytes do not look like text: a zero byte, or many bytes that are invalid UTF-8 or control characters.
// Empty: they do. Examines the first 64 KiB.
std::string why_no_text(const std::string& bytes);
// The bytes of a file as a text. Errors: kBadInput for more than 16 MiB and, unless `any`, for bytes that do not look
// like text; errors of reading.
Result<models::Input> text_of_file(const std::filesystem::path& path, bool any = false);
// The input of an image; the model reads the file when it runs.
models::Input image_of_file(const std::filesystem::path& path);

}  // namespace locus::workbench
