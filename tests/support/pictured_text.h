// Texts with pictures in them: the tiny checkpoints of tests/golden/families-vlm with their ids and pixels.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::test {

// tests/golden/families-vlm/FAMILY.
std::filesystem::path pictured_folder(const std::string& family);
// Its reference's ids, token types, and its pictures or their pixels. Errors: the reader's.
Result<models::Input> pictured_input(const std::string& family, bool files = false);

// The text of tests/golden/videos with a picture and a video of three groups of frames, for families of Qwen. Errors: the
// reader's.
Result<models::Input> filmed_input(const std::string& family);

// A GIF of grey frames, frame n of level 2n, each shown for so many hundredths of a second. Its codes are all of eight bits:
// a clear code stands before each hundred.
std::string grey_gif(int frames, int width, int height, int hundredths);

}  // namespace locus::test
