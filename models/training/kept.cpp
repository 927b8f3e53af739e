#include "models/training/kept.h"

#include <map>
#include <string>
#include <system_error>

#include "core/base/numbers.h"

namespace locus::training {

namespace {

constexpr const char* kStep = "step";

}  // namespace

std::filesystem::path kept_folder(const std::filesystem::path& out, std::int64_t step) {
  return out / (kStep + std::to_string(step));
}

std::vector<std::filesystem::path> kept_folders(const std::filesystem::path& out) {
  std::map<std::int64_t, std::filesystem::path> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(out, failure)) {
    const std::string name = entry.path().filename().string();
    const auto step = name.starts_with(kStep) ? parse_number<std::int64_t>(name.substr(4)) : std::nullopt;
    std::error_code ignored;
    if (step && *step >= 0 && name == kStep + std::to_string(*step) && entry.is_directory(ignored) &&
        !entry.is_symlink(ignored)) {
      found[*step] = entry.path();
    }
  }
  std::vector<std::filesystem::path> folders;
  for (const auto& [step, folder] : found) {
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace locus::training
