#include "app/cli/figure_options.h"

#include <algorithm>
#include <filesystem>

#include "app/cli/paint.h"
#include "app/cli/settings_text.h"
#include "app/views/shared/view.h"
#include "core/base/shown.h"
#include "models/api/machine.h"
#include "models/formats/hub_cache.h"
#include "models/remote/address.h"

namespace locus::cli {
namespace {

namespace fs = std::filesystem;

// Where a PATH lies: as it is, in the hub's cache, or on another machine.
Result<fs::path> place_of(const std::string& word) {
  if (remote::is_remote(word)) {
    return fs::path(word);
  }
  LOCUS_TRY(const fs::path found, formats::find_checkpoint(word));
  return fs::absolute(found).lexically_normal();
}

// The column that the others are compared with: one of them, or one more.
void add_reference(session::CheckpointEntry entry, session::Session& session) {
  auto& columns = session.checkpoints;
  const auto known = std::find(columns.begin(), columns.end(), entry);
  session.state.reference = known - columns.begin();
  if (known == columns.end() || columns.size() < 2) {
    session.state.reference = static_cast<std::int64_t>(columns.size());
    columns.push_back(std::move(entry));
  }
}

// The recipe that the command line spells out.
Result<session::Recipe> recipe_of(const FigureOptions& options) {
  if (options.words.size() < 2) {
    return usage("figure: expected VIEW and PATH, or --recipe FILE (see locus figure --help)");
  }
  session::Recipe recipe;
  session::Session& session = recipe.session;
  session.state.view = options.words.front();
  LOCUS_TRY(const views::View* view, views::find_view(session.state.view));
  LOCUS_TRY(const models::Edits edits, options.edits.read());
  LOCUS_TRY(const models::Overrides overrides, options.overrides.read());
  for (std::size_t n = 1; n < options.words.size(); ++n) {
    LOCUS_TRY(const fs::path path, place_of(options.words[n]));
    session.checkpoints.push_back({path, overrides, true, {}, edits});
  }
  if (!options.reference.empty()) {
    LOCUS_TRY(const fs::path path, place_of(options.reference));
    add_reference({path, overrides, true}, session);
  }
  if (options.input.given()) {
    LOCUS_TRY(session.input, options.input.read());
  }
  LOCUS_CHECK(options.state.read(session.state));
  session::assign_unlinked_heads(session.state, session.checkpoints);
  session.state.difference = session.state.difference || !options.reference.empty();
  LOCUS_TRY(const auto pairs, split_pairs("--option", options.view_options));
  LOCUS_TRY(session.state.options[session.state.view], views::parse_options(*view, pairs));
  LOCUS_CHECK(options.paper.read(recipe.paper));
  return recipe;
}

// PATHs beside --recipe say where its checkpoints are now, in its order. Errors: kUsage for another number of them,
// kBadInput for a checkpoint that is not found.
Status place_checkpoints(const FigureOptions& options, session::Recipe& recipe) {
  std::vector<session::CheckpointEntry*> shown;
  for (session::CheckpointEntry& entry : recipe.session.checkpoints) {
    if (entry.shown) {
      shown.push_back(&entry);
    }
  }
  if (!options.words.empty() && options.words.size() != shown.size()) {
    return usage("--recipe: expected no PATH, or one for each of its " + std::to_string(shown.size()) +
                 " checkpoints, found " + std::to_string(options.words.size()));
  }
  for (std::size_t n = 0; n < shown.size(); ++n) {
    fs::path& path = shown[n]->path;
    if (!options.words.empty()) {
      LOCUS_TRY(path, place_of(options.words[n]));
    }
    std::error_code code;
    if (!remote::is_remote(path.native()) && !fs::exists(path, code)) {
      return bad_input("checkpoint " + path.filename().string() + ": expected it at " + path.string() +
                           ", or by its name or SHA-256 beside the recipe, found it nowhere; say where it is: locus "
                           "figure --recipe FILE PATH…",
                       options.recipe);
    }
  }
  return {};
}

Result<session::Recipe> read_recipe(const FigureOptions& options) {
  std::error_code ignored;
  if (!options.words.empty() && views::find_view(options.words.front()).ok() &&
      !fs::exists(options.words.front(), ignored)) {
    return usage("--recipe determines the view: expected only PATHs with it, found the view " + options.words.front());
  }
  const std::string other = options.input.given()           ? "INPUT"
                            : !options.reference.empty()    ? "--reference"
                            : !options.view_options.empty() ? "--option"
                                                            : options.state.given();
  if (!other.empty()) {
    return usage(
        "--recipe determines the figure: expected no INPUT, --reference, --option or flag of the view with it, found " +
        other);
  }
  LOCUS_TRY(const std::string text, read_recipe_text(options.recipe));
  LOCUS_TRY(session::Recipe recipe, session::parse_recipe(text, options.recipe));
  LOCUS_CHECK(options.paper.read(recipe.paper));
  LOCUS_CHECK(place_checkpoints(options, recipe));
  return recipe;
}

std::string view_help() {
  std::string text = "views:";
  for (const views::View* view : views::views()) {
    text += "\n  " + view->info().name + ": " + view->info().shows;
    for (const views::Control& control : view->info().controls) {
      text += "\n    --option " + control.name + "=" + to_text(control.fallback) + "  " + control.help;
    }
  }
  return text;
}

}  // namespace

void FigureOptions::declare(Arguments& arguments) {
  arguments.positionals("VIEW|PATH", words, "a view, then the checkpoints or traces to compare, one column each");
  std::vector<std::string> names;
  for (const views::View* view : views::views()) {
    names.push_back(view->info().name);
  }
  arguments.propose("VIEW|PATH", std::move(names));
  arguments.files("PATH", FileUse::kCheckpoint, [this] { return words; });
  declare_input(arguments);
  overrides.declare_speed(arguments);
  arguments.text(
      "--recipe", recipe,
      "make the figure of this file (or .recipe.json) again; PATHs give the current places of its checkpoints",
      FileUse::kRead);
  arguments.flag("--allow-ssh", allow_ssh, "with --recipe: start ssh to the machines that it names");
  state.declare(arguments);
  arguments.text("--reference", reference,
                 "the checkpoint that the others are compared with: one of the PATHs, or an additional column",
                 FileUse::kCheckpoint);
  arguments.repeated("--option", view_options, "an option of the view");
  arguments.text("--out", out, "file to draw: .png, .svg, .pdf or .html", FileUse::kWritten);
  arguments.text("--data", data, "file for the numbers: .npy or .csv", FileUse::kWritten);
  arguments.files("--data", FileUse::kWritten, [this] {
    return data.empty() ? std::vector<std::string>() : std::vector<std::string>{data + ".recipe.json"};
  });
  paper.declare(arguments);
  arguments.footer(view_help());
}

Result<session::Recipe> FigureOptions::read(const std::string& base) const {
  LOCUS_TRY(session::Recipe named, recipe.empty() ? recipe_of(*this) : read_recipe(*this));
  for (session::CheckpointEntry& entry : named.session.checkpoints) {
    entry.base = base.empty() ? entry.base : session::base_for(entry.path, base);
  }
  if (recipe.empty()) {
    return named;
  }
  for (const session::CheckpointEntry& entry : named.session.checkpoints) {
    const std::string machine = allow_ssh ? std::string() : models::unallowed_machine_of(entry.path);
    if (entry.shown && !machine.empty()) {
      return bad_input("expected checkpoints of this machine, found one of " + shown(machine) +
                           ": --allow-ssh starts ssh to the machines that a file names",
                       recipe);
    }
  }
  return named;
}

}  // namespace locus::cli
