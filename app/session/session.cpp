#include "app/session/session.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "core/base/atomic_file.h"

namespace locus::session {

namespace {

constexpr std::size_t kLabelBytes = 24;  // of a column's own text

// The text's beginning on one line, cut between characters.
std::string beginning(const std::string& text) {
  std::size_t end = std::min(text.size(), kLabelBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  std::string line = text.substr(0, end);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line + (end < text.size() ? "…" : "");
}

// The format of quantised weights; "" of others, and where the checkpoint's name has it.
std::string quantised_format(const models::ModelInfo& opened) {
  constexpr std::array<std::string_view, 4> kPlain{"float64", "float32", "float16", "bfloat16"};
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  const std::string& format = opened.dtype;
  const bool plain = std::find(kPlain.begin(), kPlain.end(), format) != kPlain.end();
  const bool named =
      std::search(opened.name.begin(), opened.name.end(), format.begin(), format.end(), same) != opened.name.end();
  return plain || named ? "" : format;
}

}  // namespace

Status save_session(const Session& session, const std::filesystem::path& path) {
  return write_file(path, to_json(session, path.parent_path().empty() ? "." : path.parent_path()));
}

Result<Session> load_session(const std::filesystem::path& path) {
  LOCUS_TRY(const std::string text, read_file(path, kLongestFile));
  return parse_session(text, path.string(), std::filesystem::absolute(path).parent_path());
}

void show_view(ViewState& state, const std::string& view) {
  if (state.view != view) {
    state.plots = {};
    state.marks = {};
  }
  state.view = view;
  state.camera.reset();
}

void assign_unlinked_heads(ViewState& state, std::vector<CheckpointEntry>& checkpoints) {
  auto head = state.unlinked.begin();
  for (CheckpointEntry& entry : checkpoints) {
    if (entry.shown && head != state.unlinked.end()) {
      entry.own = head->layer == views::kNone ? std::nullopt : std::optional(*head);
      ++head;
    }
  }
  state.unlinked.clear();
}

std::string label_of(const CheckpointEntry& entry, const models::ModelInfo* opened) {
  models::Overrides overrides = entry.overrides;
  if (opened != nullptr && opened->overrides.rope_base) {
    overrides.rope_base_layers = opened->overrides.rope_base_layers;
  }
  if (opened != nullptr && !opened->overrides.rope_scaling.empty()) {
    overrides.rope_scaling_layers = opened->overrides.rope_scaling_layers;
  }
  const std::string format = opened == nullptr ? "" : quantised_format(*opened);
  return (format.empty() ? "" : " " + format) + models::label_of(overrides) + models::label_of(entry.edits) +
         (entry.text ? " “" + beginning(*entry.text) + "”" : "") +
         (opened != nullptr && !opened->unverified.empty() ? " (not verified)" : "");
}

models::Input input_of(const CheckpointEntry& entry, const models::Input& input, const models::ModelInfo& model) {
  models::Input own = input;
  if (entry.text) {
    own = {};
    own.text = entry.text;
    own.decoder_text = input.decoder_text;
    own.decoder_ids = input.decoder_ids;
    own.position_start = input.position_start;
  }
  if (model.encoder_layers == 0) {
    own.decoder_text.reset();
    own.decoder_ids.reset();
  }
  return own;
}

bool is_session(const std::filesystem::path& path) {
  return path.filename().string().ends_with(".locus.json");
}

}  // namespace locus::session
