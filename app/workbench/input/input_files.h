// Files as the input: what a file's name says it is, and what is read from it.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::workbench {

// What a file's name says it is.
bool is_image(const std::filesystem::path& path);
bool is_text(const std::filesystem::path& path);

// Why bytes are no text that anybody wrote: a zero byte, or many that are no UTF-8 or are control characters; empty for
// a text. Looks at the first 64 KiB.
std::string why_no_text(const std::string& bytes);
// The bytes of a file as a text. Errors: kBadInput for more than 16 MiB and, unless `any`, for bytes that are no text;
// those of reading.
Result<models::Input> text_of_file(const std::filesystem::path& path, bool any = false);
// An image, which the model reads when it runs.
models::Input image_of_file(const std::filesystem::path& path);

}  // namespace locus::workbench
