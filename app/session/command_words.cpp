#include "app/session/command_words.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "app/session/portable.h"
#include "app/session/state_fields.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "models/remote/address.h"

namespace locus::session {

namespace {

using Words = std::vector<std::string>;

void add(Words& words, const std::string& flag, const std::string& value) {
  words.insert(words.end(), {flag, value});
}

std::vector<const CheckpointEntry*> columns_of(const Session& session) {
  std::vector<const CheckpointEntry*> columns;
  for (const CheckpointEntry& entry : session.checkpoints) {
    if (entry.shown) {
      columns.push_back(&entry);
    }
  }
  return columns;
}

std::string joined(const std::vector<std::int64_t>& ids) {
  return listed(
      ids, [](std::int64_t id) { return std::to_string(id); }, ",");
}

void add_input(Words& words, const models::Input& input) {
  if (input.text) {
    add(words, "--text", *input.text);
  } else if (input.ids) {
    add(words, "--ids", joined(*input.ids));
  } else if (input.image) {
    add(words, "--image", working_path(*input.image));
  }
  for (const std::filesystem::path& image : input.images) {
    add(words, "--image", working_path(image));
  }
  for (const std::filesystem::path& video : input.videos) {
    add(words, "--video", working_path(video));
  }
  if (input.video_frames.fps) {
    add(words, "--video-fps", number_text(*input.video_frames.fps));
  }
  if (input.video_frames.count) {
    add(words, "--video-frames", std::to_string(*input.video_frames.count));
  }
  if (input.pixels) {
    add(words, "--pixels", working_path(*input.pixels));
  }
  if (!input.picture.empty()) {
    add(words, "--picture", models::to_text(input.picture));
  }
  if (input.decoder_text) {
    add(words, "--decoder-text", *input.decoder_text);
  } else if (input.decoder_ids) {
    add(words, "--decoder-ids", joined(*input.decoder_ids));
  }
  if (input.position_start != 0) {
    add(words, "--position-start", std::to_string(input.position_start));
  }
}

// The flags of fields that are not as they are by themselves, and the view's options.
void add_state(Words& words, const ViewState& state) {
  const Words flags = flag_words(state_fields(), state);
  words.insert(words.end(), flags.begin(), flags.end());
  if (const auto own = state.options.find(state.view); own != state.options.end()) {
    for (const auto& [name, value] : own->second.values()) {
      add(words, "--option", name + "=" + to_text(value));
    }
  }
}

// The columns of a command line: those that are named, and one behind them that the others are compared with.
struct Named {
  std::vector<const CheckpointEntry*> columns;
  const CheckpointEntry* reference = nullptr;  // null: one of the columns, or none
};

// Settings that all named columns share are written once; a reference is written without edits.
bool can_be_said(const Named& named) {
  const CheckpointEntry& first = *named.columns.front();
  const bool alike = std::all_of(named.columns.begin(), named.columns.end(), [&](const CheckpointEntry* entry) {
    return !entry->text && entry->overrides == first.overrides && entry->base == first.base &&
           entry->edits == first.edits;
  });
  const CheckpointEntry* last = named.reference;
  return alike && (last == nullptr || (!last->text && last->overrides == first.overrides && last->base == first.base &&
                                       last->edits.empty()));
}

std::optional<Named> named_columns(const std::vector<const CheckpointEntry*>& columns, const ViewState& state) {
  const auto last = static_cast<std::int64_t>(columns.size()) - 1;
  const std::int64_t reference = state.reference < 0 ? last : std::min(state.reference, last);
  Named named{columns, nullptr};
  const bool plain = columns.front()->edits.empty();
  if (can_be_said(named) && (!state.difference || reference == last || plain)) {
    const bool by_name = state.difference && state.reference >= 0 && last > 0 && plain;
    named.reference = by_name ? columns[static_cast<std::size_t>(reference)] : nullptr;
    return named;
  }
  // Edited columns before the one that they are compared with.
  named = {{columns.begin(), columns.end() - 1}, columns.back()};
  if (!state.difference || reference != last || named.columns.empty() || !can_be_said(named)) {
    return std::nullopt;
  }
  return named;
}

// The heads that columns have of their own, in the order of the command line.
std::vector<views::HeadRef> own_heads(const std::vector<const CheckpointEntry*>& columns) {
  std::vector<views::HeadRef> heads;
  heads.reserve(columns.size());
  for (const CheckpointEntry* entry : columns) {
    heads.push_back(entry->own.value_or(views::HeadRef{views::kNone, 0}));
  }
  const bool any = std::any_of(columns.begin(), columns.end(), [](const auto* entry) { return entry->own; });
  return any ? heads : std::vector<views::HeadRef>();
}

}  // namespace

Result<Words> command_words(const Recipe& recipe) {
  const auto columns = columns_of(recipe.session);
  if (columns.empty()) {
    return unsupported("no checkpoint is shown");
  }
  ViewState state = recipe.session.state;
  const auto named = named_columns(columns, state);
  if (!named) {
    return unsupported(
        "columns with what-if settings, edits or texts of their own have no command line: export the figure, and draw "
        "it again with locus figure --recipe FILE");
  }
  state.unlinked = own_heads(columns);
  Words words{"figure", state.view};
  for (const CheckpointEntry* entry : named->columns) {
    words.push_back(working_path(entry->path));
  }
  if (named->reference != nullptr) {
    add(words, "--reference", working_path(named->reference->path));
    state.difference = false;  // said by it
  }
  const CheckpointEntry& first = *named->columns.front();
  if (!first.base.empty()) {
    add(words, "--base", remote::is_remote(first.path.native()) ? first.base.string() : working_path(first.base));
  }
  if (first.overrides.rope_base) {
    add(words, "--rope-base",
        models::with_layers(number_text(*first.overrides.rope_base), first.overrides.rope_base_layers));
  }
  if (!first.overrides.rope_scaling.empty()) {
    add(words, "--rope-scaling",
        models::with_layers(first.overrides.rope_scaling, first.overrides.rope_scaling_layers));
  }
  if (first.overrides.fast) {
    add(words, "--speed", "fast");
  }
  if (first.overrides.stage != 0) {
    add(words, "--stage", std::to_string(first.overrides.stage));
  }
  if (!first.overrides.half.empty()) {
    add(words, "--half", first.overrides.half);
  }
  for (const models::Edit& edit : first.edits) {
    add(words, "--edit", models::to_text(edit));
  }
  add_input(words, recipe.session.input);
  add_state(words, state);
  const Words paper = flag_words(paper_fields(), recipe.paper);
  words.insert(words.end(), paper.begin(), paper.end());
  return words;
}

std::string shell_line(const Words& words) {
  std::string line = "locus";
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || std::string("-_./,:=@+").find(static_cast<char>(c)) != std::string::npos;
    });
    std::string quoted = "'";
    for (const char c : word) {
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    line += " " + (plain ? word : quoted + "'");
  }
  return line;
}

}  // namespace locus::session
