// Pictures that OpenCV writes and reads, to hold the own decoders against. Not in builds without images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace locus::test {

// A picture of 61 × 43 pixels of many colours. `kind`: "grey", "rgb", "rgba", "grey16", "rgb16". `options` are
// OpenCV's imwrite() flags with their values; the file's ending chooses the format.
void write_colours(const std::filesystem::path& file, const std::string& kind, const std::vector<int>& options = {});

// Pixels of 8 bits, red, green and blue, row-major.
void write_rgb(const std::filesystem::path& file, std::vector<std::uint8_t> rgb, int width, int height);

// RGBA, 8 bits per channel, row-major; samples of 16 bits are divided by 257.
std::vector<std::uint8_t> decoded_by_opencv(const std::filesystem::path& file);

}  // namespace locus::test
