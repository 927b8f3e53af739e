// Pictures in a text that is being typed: each belongs to a mark `<image>` and moves with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace locus::workbench {

// How many marks begin before that byte.
std::size_t marks_before(const std::string& text, std::size_t byte);

// The pictures of `after`, where those of `before` stood at its marks: a mark that was removed takes its picture with
// it, onto `removed`; one that comes back, as by undo, takes the picture that was removed last. A text with more marks
// than pictures has fewer pictures than marks.
std::vector<std::filesystem::path> pictures_after(const std::string& before, const std::string& after,
                                                  const std::vector<std::filesystem::path>& pictures,
                                                  std::vector<std::filesystem::path>& removed);

}  // namespace locus::workbench
