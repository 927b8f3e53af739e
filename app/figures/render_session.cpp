#include "app/figures/render_session.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "app/figures/drawn_figures.h"
#include "app/figures/input_paths.h"
#include "app/figures/open_columns.h"
#include "app/figures/view_input.h"
#include "app/session/pins.h"
#include "app/session/portable.h"
#include "app/session/recipe.h"
#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "core/base/shown.h"
#include "models/api/machine.h"
#include "models/remote/address.h"

namespace locus::figures {

namespace {

namespace fs = std::filesystem;

constexpr double kPanelMm = 120;

constexpr std::size_t kLongestName = 100;  // of a file, in letters, without what tells it from others and its ending

// "TAPE Fig. 7a: dot products" → "tape-fig-7a-dot-products", as far as a file's name may go.
std::string file_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (out.size() == kLongestName) {
      break;
    }
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') {
    out.pop_back();
  }
  return out.empty() ? "figure" : out;
}

// The name of each figure's files: figures that are called alike keep one each.
std::vector<std::string> file_names(const std::vector<session::Bookmark>& figures) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const session::Bookmark& each : figures) {
    std::string name = file_name(each.name);
    for (int n = 2; !taken.insert(name).second; ++n) {
      name = file_name(each.name) + "-" + std::to_string(n);
    }
    names.push_back(std::move(name));
  }
  return names;
}

// Whether a name has this part, without regard to case.
bool holds(const std::string& name, const std::string& part) {
  const auto alike = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(name.begin(), name.end(), part.begin(), part.end(), alike) != name.end() || part.empty();
}

// The files that a figure shows.
std::vector<fs::path> sources_of(const std::vector<session::CheckpointEntry>& entries, const models::Input& input) {
  std::vector<fs::path> sources;
  sources.reserve(entries.size());
  for (const session::CheckpointEntry& entry : entries) {
    sources.push_back(entry.path);
  }
  for (const auto& file : {input.image, input.pixels}) {
    if (file) {
      sources.push_back(*file);
    }
  }
  sources.insert(sources.end(), input.images.begin(), input.images.end());
  sources.insert(sources.end(), input.videos.begin(), input.videos.end());
  return sources;
}

std::vector<session::CheckpointEntry> found(const std::vector<session::CheckpointEntry>& entries,
                                            const std::string& figure, std::vector<std::string>& warnings) {
  std::vector<session::CheckpointEntry> there;
  for (const session::CheckpointEntry& entry : entries) {
    std::error_code code;
    if (!entry.shown) {
      continue;
    }
    if (remote::is_remote(entry.path.native()) || fs::exists(entry.path, code)) {
      there.push_back(entry);
    } else {
      warnings.push_back(figure + ": checkpoint " + entry.path.filename().string() + " is not at " +
                         entry.path.string());
    }
  }
  return there;
}

// Models, measurements and digests that the figures of a session share.
struct Workshop {
  session::ColumnMaker maker;
  std::shared_ptr<views::FieldCache> cache;
  std::map<std::vector<std::string>, std::string> digests;  // of files, which are read once
  InputFiles inputs;
  StopToken stop;

  Result<std::string> digest(const std::vector<std::string>& files) {
    const auto known = digests.find(files);
    if (known != digests.end()) {
      return known->second;
    }
    LOCUS_TRY(const std::string digest, session::checkpoint_digest(files));
    return digests.emplace(files, digest).first->second;
  }
};

// One figure of the session, with everything to draw it again.
Result<FigureJob> job_of(const session::Bookmark& bookmark, std::vector<session::CheckpointEntry> entries,
                         const models::Input& input, Workshop& workshop) {
  FigureJob job;
  session::ViewState& state = job.recipe.session.state;
  state = bookmark.state;
  session::assign_unlinked_heads(state, entries);
  LOCUS_TRY(job.view, views::find_view(state.view));
  LOCUS_CHECK(session::check_names({entries, input, {}, {}}));
  LOCUS_TRY(job.columns, workshop.maker.columns(entries, input));
  for (std::size_t n = 0; n < entries.size(); ++n) {  // all are shown
    LOCUS_CHECK(job.view->available(job.columns[n]));
    LOCUS_TRY(job.recipe.digests.emplace_back(), workshop.digest(files_of(entries[n], job.columns[n].model.get())));
  }
  if (const auto sides = session::on_side(job.columns, state.side); !sides.empty()) {
    session::resolve_tokens(state, *sides.front().trace);  // as `locus figure` does, whose file is the same
  }
  job.recipe.session.checkpoints = std::move(entries);
  job.recipe.session.input = input;
  job.inputs = workshop.inputs;
  job.output = shown(bookmark.name);
  job.cache = workshop.cache;
  // Figures of several panels beside each other have a page's width.
  LOCUS_TRY(const figure::Figure figure, make_figure(job, "any.png", workshop.stop));
  job.recipe.paper.width_mm = figure.columns > 1 ? kPageMm : kPanelMm;
  return job;
}

}  // namespace

Result<RenderedSession> render_session(const session::Session& session, const std::filesystem::path& folder,
                                       const WriteFigure& write, const StopToken& stop, const Progress& progress,
                                       const RenderOptions& options) {
  const models::StopsWaiting waiting(stop);  // for other machines
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return bad_input("cannot make the folder: " + code.message(), folder.string());
  }
  std::vector<session::Bookmark> figures = session.bookmarks;
  if (figures.empty()) {
    figures.push_back({session.state.view, session.state});
  }
  const std::vector<std::string> names = file_names(figures);
  if (!options.only.empty() && std::none_of(figures.begin(), figures.end(), [&](const session::Bookmark& each) {
        return holds(each.name, options.only);
      })) {
    return usage("--only: expected a part of the name of a figure, found " + shown(options.only));
  }
  DrawnFigures drawn(folder, options.session_file);
  Workshop workshop{session::ColumnMaker([](const auto& checkpoint, const auto& options, StopToken,
                                            const Progress&) { return models::open(checkpoint, options); },
                                         [&stop](const models::Model& model, const models::Input& input) {
                                           return model.run(input, {}, stop);
                                         }),
                    std::make_shared<views::FieldCache>(std::size_t{256} << 20),
                    {},
                    {},
                    stop};
  session::add_inputs(session, workshop.inputs);
  RenderedSession rendered;
  for (const session::Bookmark& each : figures) {
    const auto n = &each - figures.data();
    const std::string& name = names[static_cast<std::size_t>(n)];
    if (!holds(each.name, options.only)) {
      continue;
    }
    report(progress, static_cast<double>(n) / static_cast<double>(figures.size()),
           "figure " + std::to_string(n + 1) + " of " + std::to_string(figures.size()) + ", " + shown(each.name));
    const std::size_t warned = rendered.warnings.size();
    const auto entries =
        found(each.columns.empty() ? session.checkpoints : each.columns, shown(each.name), rendered.warnings);
    const bool complete = rendered.warnings.size() == warned;
    if (entries.empty()) {
      rendered.warnings.push_back(shown(each.name) + ": not drawn");
      continue;
    }
    const models::Input& input = each.input ? *each.input : session.input;
    const std::string text = input.text.value_or("");  // it may come from a file
    if (complete && drawn.current(name, text, sources_of(entries, input))) {
      const auto files = drawn.files(name);
      rendered.files.insert(rendered.files.end(), files.begin(), files.end());
      ++rendered.kept;
      continue;
    }
    const auto job = job_of(each, entries, input, workshop);
    rendered.stopped = stop.stop_requested();
    if (rendered.stopped) {
      return rendered;
    }
    if (!job && complete) {
      return job.error().within(shown(each.name));
    }
    if (!job) {
      rendered.warnings.push_back(shown(each.name) + ": not drawn: " + job.error().describe());
      continue;
    }
    for (const char* ending : {".png", ".pdf", ".html"}) {
      const Status written = write_figures(
          *job, folder / (name + ending), write,
          [&](const std::filesystem::path& file) { rendered.files.push_back(file); }, stop);
      rendered.stopped = !written && written.error().code == ErrorCode::kCancelled;
      if (rendered.stopped) {
        return rendered;
      }
      LOCUS_CHECK(written);
    }
    if (complete) {
      drawn.add(name, text);
    }
  }
  return rendered;
}

}  // namespace locus::figures
