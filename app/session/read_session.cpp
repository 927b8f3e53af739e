// A session from its parsed file.
#include "app/session/portable.h"
#include "app/session/session.h"
#include "app/session/session_json.h"
#include "core/base/atomic_file.h"
#include "core/base/shown.h"
#include "models/remote/address.h"

namespace locus::session {

namespace {

using formats::Node;
using formats::Tree;

models::Input read_input(const Node& reader, const std::filesystem::path& folder) {
  models::Input input;
  reader.get("text", input.text);
  reader.get("decoder_text", input.decoder_text);
  reader.get("position_start", input.position_start);
  if (reader.has("text_file")) {  // written by hand: a text that several figures share
    std::string name;
    reader.get("text_file", name);
    const auto text = read_file((folder / name).lexically_normal(), kLongestFile);
    if (text) {
      input.text = *text;
    } else {
      reader.fail(text.error());
    }
  }
  const auto path = [&](const char* name, std::optional<std::filesystem::path>& value) {
    std::optional<std::string> word;
    reader.get(name, word);
    if (word) {
      value = find_stored(*word, folder);
    }
  };
  path("image", input.image);
  path("pixels", input.pixels);
  std::vector<std::string> images;
  reader.get("images", images);
  for (const std::string& image : images) {
    input.images.push_back(find_stored(image, folder));
  }
  std::vector<std::string> videos;
  reader.get("videos", videos);
  for (const std::string& video : videos) {
    input.videos.push_back(find_stored(video, folder));
  }
  reader.get("video_fps", input.video_frames.fps);
  reader.get("video_frames", input.video_frames.count);
  if (const Status frames = models::check_frames(input.video_frames); !frames.ok()) {
    reader.fail(frames.error());
  }
  std::string changes;
  reader.get("picture", changes);
  if (auto picture = models::parse_picture_changes(changes); picture.ok()) {
    input.picture = *std::move(picture);
  } else {
    reader.fail(picture.error());
  }
  reader.get("token_types", input.token_types);
  reader.get("ids", input.ids);
  reader.get("decoder_ids", input.decoder_ids);
  return input;
}

// Folders of texts and files of results that views read, where they lie beside the session.
void place_files(ViewState& state, const std::filesystem::path& folder) {
  for (auto& [view, options] : state.options) {
    for (const char* const name : {"texts", "file"}) {
      const auto path = options.text(name, "");
      std::error_code ignored;
      if (path.ok() && !path->empty() && std::filesystem::exists(folder / *path, ignored)) {
        options.set(name, (folder / *path).lexically_normal().string());
      }
    }
  }
}

// "head": [layer, head] of a column that has its own.
std::optional<views::HeadRef> read_head(const Node& node) {
  const auto& found = node.value().items();
  const auto whole = [&found](std::size_t n) { return found[n].as<std::int64_t>(); };
  const auto layer = found.size() == 2 ? whole(0) : std::nullopt;
  const auto head = found.size() == 2 ? whole(1) : std::nullopt;
  if (!layer || *layer < 0 || !head || *head < views::kMean) {
    node.fail("a layer and a head");
    return std::nullopt;
  }
  return views::HeadRef{*layer, *head};
}

void read_speed(const Node& reader, models::Overrides& overrides) {
  std::string speed = "exact";
  reader.get("speed", speed);
  overrides.fast = speed == "fast";
  if (speed != "exact" && !overrides.fast) {
    reader.field("speed").fail("exact or fast");
  }
}

void read_half(const Node& reader, models::Overrides& overrides) {
  reader.get("half", overrides.half);
  if (!overrides.half.empty() && overrides.half != "text") {
    reader.field("half").fail("text");
  }
}

CheckpointEntry read_checkpoint(const Node& reader, const std::filesystem::path& folder) {
  CheckpointEntry entry;
  std::string path;
  reader.get("path", path);
  reader.get("shown", entry.shown);
  reader.get("rope_base", entry.overrides.rope_base);
  reader.get("rope_scaling", entry.overrides.rope_scaling);
  reader.get("rope_base_layers", entry.overrides.rope_base_layers);
  reader.get("rope_scaling_layers", entry.overrides.rope_scaling_layers);
  read_speed(reader, entry.overrides);
  reader.get("stage", entry.overrides.stage);
  read_half(reader, entry.overrides);
  reader.get("text", entry.text);
  if (reader.has("head")) {
    entry.own = read_head(reader.field("head"));
  }
  if (reader.has("edits")) {
    const Tree list{{"edits", reader.field("edits").value()}};
    const auto edits = models::parse_edits(list.dump(-1, Tree::Order::kAsAdded), reader.path());
    if (edits.ok()) {
      entry.edits = *edits;
    } else {
      reader.fail(edits.error());
    }
  }
  if (path.empty()) {
    reader.fail(bad_input(reader.path() + ".path: expected a path, found " + reader.value().shown()));
  }
  entry.path = find_stored(path, folder);
  std::string base;
  reader.get("base", base);
  if (!base.empty()) {
    entry.base = remote::is_remote(path) ? std::filesystem::path(base) : find_stored(base, folder);
  }
  return entry;
}

}  // namespace

Result<Session> read_session(const Tree& document, const std::string& file, const std::filesystem::path& folder,
                             const StateFields& fields) {
  std::optional<Error> error;
  const Node reader(document, "session", error);
  reader.expect_object();
  std::string format;
  reader.get("locus", format);
  if (!error && format != kSessionFormat) {
    return bad_input(
        "expected a session (\"locus\": \"" + std::string(kSessionFormat) + "\"), found \"" + shown(format) + "\"",
        file);
  }
  Session session;
  if (reader.has("input")) {
    session.input = read_input(reader.object("input"), folder);
  }
  if (reader.has("state")) {
    session.state = read_state(reader.object("state"), fields);
    place_files(session.state, folder);
  }
  reader.each_object("checkpoints",
                     [&](const Node& entry) { session.checkpoints.push_back(read_checkpoint(entry, folder)); });
  assign_unlinked_heads(session.state, session.checkpoints);
  reader.each_object("bookmarks", [&](const Node& entry) {
    Bookmark bookmark;
    entry.get("name", bookmark.name);
    entry.get("about", bookmark.about);
    if (entry.has("state")) {
      bookmark.state = read_state(entry.object("state"), fields);
      place_files(bookmark.state, folder);
    }
    if (entry.has("input")) {
      bookmark.input = read_input(entry.object("input"), folder);
    }
    entry.each_object("columns",
                      [&](const Node& column) { bookmark.columns.push_back(read_checkpoint(column, folder)); });
    if (!bookmark.columns.empty()) {
      assign_unlinked_heads(bookmark.state, bookmark.columns);
    }
    session.bookmarks.push_back(std::move(bookmark));
  });
  if (error) {
    return error->within(file);
  }
  return session;
}

Result<Session> parse_session(const std::string& text, const std::string& file, const std::filesystem::path& folder,
                              const StateFields& fields) {
  LOCUS_TRY(const Tree document, Tree::parse(text, file));
  return read_session(document, file, folder, fields);
}

}  // namespace locus::session
