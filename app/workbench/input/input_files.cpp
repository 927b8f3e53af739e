#include "app/workbench/input/input_files.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

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

bool is_video(const std::filesystem::path& path) {
  return ends_with_any(path, {".mp4", ".m4v", ".mov", ".webm", ".mkv", ".gif", ".avi"});
}

bool is_text(const std::filesystem::path& path) {
  return ends_with_any(path, {".txt", ".md", ".py", ".cpp", ".h", ".csv", ".tex"});
}

std::string why_no_text(const std::string& bytes) {
  constexpr std::size_t kLooked = 64U << 10;
  constexpr std::size_t kFew = 8;     // strange bytes make no text a file of another kind
  constexpr std::size_t kOneIn = 20;  // a text of another encoding than UTF-8 has fewer letters beyond ASCII
  const std::string_view seen = std::string_view(bytes).substr(0, kLooked);
  if (const std::size_t zero = seen.find('\0'); zero != std::string_view::npos) {
    return "a zero byte at " + std::to_string(zero);
  }
  std::size_t strange = 0;
  for (std::size_t n = 0; n < seen.size();) {
    const auto byte = static_cast<unsigned char>(seen[n]);
    const std::size_t length = byte < 0x80   ? 1
                               : byte < 0xC2 ? 0
                               : byte < 0xE0 ? 2
                               : byte < 0xF0 ? 3
                               : byte < 0xF5 ? 4
                                             : 0;
    bool whole = length > 0;
    for (std::size_t m = 1; m < length && n + m < seen.size(); ++m) {  // the last one may be cut by the end
      whole = whole && (static_cast<unsigned char>(seen[n + m]) & 0xC0U) == 0x80U;
    }
    const bool control = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f' && byte != 0x1B;
    strange += !whole || control ? 1 : 0;
    n += whole ? length : 1;
  }
  return strange > kFew && strange * kOneIn > seen.size()
             ? std::to_string(strange) + " of " + std::to_string(seen.size()) + " bytes that are no characters"
             : "";
}

Result<models::Input> text_of_file(const std::filesystem::path& path, bool any) {
  LOCUS_TRY(std::string text, read_file(path, kLongestText));
  if (const std::string why = any ? "" : why_no_text(text); !why.empty()) {
    return bad_input("expected a text, found " + why, path.string());
  }
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
