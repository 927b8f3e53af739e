// Session: everything the workbench restores, as plain data, and its file (JSON, `*.locus.json`). Paths in a file are
// relative to its folder, so that a session and its checkpoints can move together (portable.h).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/session/marks.h"
#include "app/session/navigator_choice.h"
#include "app/session/plot_choices.h"
#include "app/views/shared/view.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/api/model.h"

namespace locus::session {

inline constexpr const char* kSessionFormat = "session/1";
inline constexpr std::size_t kLongestFile = 64U << 20;  // of a session or a recipe, in bytes

struct CheckpointEntry {
  std::filesystem::path path;
  models::Overrides overrides;  // "what if": another column of the same checkpoint
  bool shown = true;            // a column of the canvas
  // The column reads this text, whatever the input is; empty: the input.
  std::optional<std::string> text{};
  // Changes that its runs make to the model.
  models::Edits edits{};
  // The layer and head that its column shows, whatever the others do; empty: it follows them.
  std::optional<views::HeadRef> own{};
  // The base of an adapter, on the computer of `path`, instead of the one that the adapter names; empty: that one.
  std::filesystem::path base{};

  // Whether both open the same weights under the same encoding, whatever their edits.
  bool same_model(const CheckpointEntry& other) const {
    return path == other.path && base == other.base && overrides == other.overrides;
  }

  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

// The state of the canvas, apart from the runs themselves.
struct ViewState : views::ViewParameters {
  std::string view = "attention";
  // As typed, or in an older file: the heads that columns have of their own, by their place, layer kNone for those that
  // follow. assign_unlinked_heads() gives them to the columns' checkpoints.
  std::vector<views::HeadRef> unlinked;
  models::Side side = models::Side::kDecoder;  // of encoder–decoders
  std::map<std::string, Settings> options;     // view name → its controls
  PlotChoices plots;                           // of the view's curves and bars
  Marks marks;                                 // on its maps
  NavigatorChoice navigator;

  friend bool operator==(const ViewState&, const ViewState&) = default;
};

// Shows another view, without the visible part, the choices of plots and the marks, which belong to the view before.
void show_view(ViewState& state, const std::string& view);

// A named state: an entry of the list of figures, and a figure when there is no display.
struct Bookmark {
  std::string name;  // "TAPE Fig. 8"
  ViewState state;
  std::optional<models::Input> input{};    // empty: whatever the input is
  std::vector<CheckpointEntry> columns{};  // the checkpoints that are compared; empty: those that are shown
  std::string about{};                     // one line: what is seen there
};

struct Session {
  std::vector<CheckpointEntry> checkpoints;
  models::Input input;
  ViewState state;
  std::vector<Bookmark> bookmarks;
};

// The fields of a view's state that files have (state_fields.h).
template <class State>
struct FieldOf;
using StateField = FieldOf<ViewState>;
using StateFields = std::vector<StateField>;
const StateFields& state_fields();

// The session as the text of a file in `folder`.
std::string to_json(const Session& session, const std::filesystem::path& folder,
                    const StateFields& fields = state_fields());
// Atomic. Errors: kBadInput when it cannot be written.
Status save_session(const Session& session, const std::filesystem::path& path);
// Errors: kBadInput naming the file, the field, what is expected and what was found. A checkpoint that does not exist
// is no error here.
Result<Session> load_session(const std::filesystem::path& path);

// The same from the text of `file`, whose paths are relative to `folder`.
Result<Session> parse_session(const std::string& text, const std::string& file, const std::filesystem::path& folder,
                              const StateFields& fields = state_fields());

// Gives the shown ones of these checkpoints the heads that the state has for them by place; it has none then.
void assign_unlinked_heads(ViewState& state, std::vector<CheckpointEntry>& checkpoints);

// " base 2000 ntk:4", behind a checkpoint's name: its overrides, its edits and the beginning of a text of its own. What
// it opened as says which layers obey, where the entry names none and not all that turn do, and the format of quantised
// weights that the name has not (" Q4_K", first).
std::string label_of(const CheckpointEntry& entry, const models::ModelInfo* opened = nullptr);
// The input of the entry's column: a decoder's part is for encoder–decoders alone.
models::Input input_of(const CheckpointEntry& entry, const models::Input& input, const models::ModelInfo& model);

// Whether a path names a session by its ending.
bool is_session(const std::filesystem::path& path);

}  // namespace locus::session
