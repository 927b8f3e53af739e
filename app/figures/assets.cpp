#include <array>
#include <system_error>

#include "app/figures/assets.h"

namespace locus::figures {

// <prefix>/bin/locus has <prefix>/share/locus/assets; build/<preset>/locus and the tests below it have those of their
// tree.
std::filesystem::path assets_folder() {
  std::error_code code;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", code).parent_path();
  for (const auto& folder :
       std::array{program / "../share/locus/assets", program / "../../assets", program / "../../../assets"}) {
    if (std::filesystem::is_directory(folder / "sessions", code)) {
      return std::filesystem::weakly_canonical(folder, code);
    }
  }
  return {};
}

std::filesystem::path bundled_session() {
  const auto folder = assets_folder();
  return folder.empty() ? folder : folder / "sessions" / "first-light.locus.json";
}

}  // namespace locus::figures
