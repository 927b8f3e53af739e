// Pictures and videos in a text that is being typed: each belongs to a marker `<image>` or `<video>` and moves with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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

// Ids with a placeholder for each of `files` files, a caret among them, and the file that one put there would be.
struct MarkedIds {
  std::vector<std::int64_t> ids;
  std::size_t caret = 0;  // in ids
  std::size_t place = 0;  // in the files
};
// Each run of the placeholder becomes one, where runs and files are one to one; empty where neither runs nor single
// placeholders are.
std::optional<MarkedIds> single_marks(const std::vector<std::int64_t>& ids, std::size_t caret, std::int64_t placeholder,
                                      std::size_t files);

// The files of the ids `after`, given those of `before`, as pictures_after() of a text: a placeholder is a mark, or a
// run of them where a file has several. All files stay where they are neither, as with the times of a video's frames
// between its placeholders.
std::vector<std::filesystem::path> files_of_ids(const std::vector<std::int64_t>& before,
                                                const std::vector<std::int64_t>& after, std::int64_t placeholder,
                                                const std::vector<std::filesystem::path>& files,
                                                std::vector<std::filesystem::path>& removed);

}  // namespace locus::workbench
