#include "app/workbench/input_files.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "core/base/atomic_file.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kLongestText = 16U << 20;

bool ends_with_any(const std::filesystem::path& path, std::initializer_list<const char*> endings) {
  std::string lower = path.string();
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return lower.ends_with(ending); });
}

}  // namespace

bool is_image(const std::filesystem::path& path) {
  return ends_with_any(path, {".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp"});
}

bool is_text(const std::filesystem::path& path) {
  return ends_with_any(path, {".txt", ".md", ".py", ".cpp", ".h", ".csv", ".tex"});
}

Result<models::Input> text_of_file(const std::filesystem::path& path) {
  LOCUS_TRY(std::string text, read_file(path, kLongestText));
  models::Input input;
  input.text = std::move(text);
  return input;
}

models::Input image_of_file(const std::filesystem::path& path) {
  models::Input input;
  input.image = path;
  return input;
}

}  // namespace locus::workbench
