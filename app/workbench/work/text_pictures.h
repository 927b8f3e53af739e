// Pictures and videos in a text that is being typed: each belongs to a marker `<image>` or `<video>` and moves with it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace locus::workbench {

inline constexpr std::string_view kImageMark = "<image>";
inline constexpr std::string_view kVideoMark = "<video>";

// The number of markers that begin before that byte.
std::size_t marks_before(const std::string& text, std::size_t byte, std::string_view mark = kImageMark);

// The pictures of the text `after`, given those of `before`. The picture of a deleted marker is pushed onto `removed`;
// a new marker (for example after undo) takes the picture removed last, if there is one.
std::vector<std::filesystem::path> pictures_after(const std::string& before, const std::string& after,
                                                  const std::vector<std::filesystem::path>& pictures,
                                                  std::vector<std::filesystem::path>& removed,
                                                  std::string_view mark = kImageMark);

}  // namespace locus::workbench
