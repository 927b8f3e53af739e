#include "app/session/session.h"

#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "models/text/json.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kLongestFile = 64U << 20;

}  // namespace

Status save_session(const Session& session, const std::filesystem::path& path) {
  return write_file(path, to_json(session, path.parent_path().empty() ? "." : path.parent_path()));
}

Result<Session> load_session(const std::filesystem::path& path) {
  LOCUS_TRY(const std::string text, read_file(path, kLongestFile));
  LOCUS_TRY(const nlohmann::json document, parse_json(text, path.string()));
  return parse_session(document, path.string(), std::filesystem::absolute(path).parent_path());
}

std::string label_of(const models::Overrides& overrides) {
  std::string label;
  if (overrides.rope_base) {
    label += " base " + to_text(SettingValue(*overrides.rope_base));
  }
  if (!overrides.rope_scaling.empty()) {
    label += " " + overrides.rope_scaling;
  }
  return label;
}

bool is_session(const std::filesystem::path& path) {
  return path.filename().string().ends_with(".locus.json");
}

}  // namespace locus::workbench
