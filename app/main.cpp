// locus: the workbench and the command line, one program.
#include "app/build_facts.h"
#include "app/cli/command_line.h"
#include "core/base/library_settings.h"
#if LOCUS_GUI
#include "app/cli/interrupt.h"
#include "app/cli/paint.h"
#include "app/figures/assets.h"
#include "app/figures/render_session.h"
#include "app/session/session.h"
#include "app/workbench/window/run_workbench.h"
#include "renderers/paper/paper.h"
#endif

namespace {

bool has_new_settings = false;  // which libraries that are loaded already do not know

#if LOCUS_GUI

using locus::Result;

// The figures of the session among the paths, or of the bundled one.
Result<int> draw_figures(const locus::cli::WorkbenchRequest& request, const locus::cli::Context& context) {
  std::filesystem::path session = locus::figures::bundled_session();
  for (const std::string& path : request.paths) {
    if (!locus::session::is_session(path)) {
      return locus::usage("--figures: expected a session (.locus.json), found " + path);
    }
    session = path;
  }
  if (session.empty()) {
    return locus::bad_input("expected a bundled session, found none; name one: locus --figures FOLDER FILE.locus.json");
  }
  LOCUS_TRY(const auto painter, locus::cli::Painter::create());
  const locus::cli::Interrupt interrupt;
  LOCUS_TRY(const auto opened, locus::session::load_session(session));
  const auto drawn = locus::figures::render_session(
      opened, request.figures, locus::paper::export_figure, interrupt.token(),
      [&](const locus::ProgressReport& news) { context.console.progress(news.what); }, {request.only, session});
  context.console.end_progress();
  LOCUS_TRY(const auto rendered, drawn);
  for (const std::string& warning : rendered.warnings) {
    context.console.warn(warning);
  }
  for (const std::filesystem::path& file : rendered.files) {
    context.console.print(file.string());
  }
  if (rendered.kept > 0) {
    const std::size_t all = rendered.files.size() / 3;  // a PNG, a PDF and a page each
    context.console.note(std::to_string(rendered.kept) + " of " + std::to_string(all) +
                         (rendered.kept == 1 ? " figures is newer than what it shows, and was not drawn again"
                                             : " figures are newer than what they show, and were not drawn again"));
  }
  if (rendered.stopped) {
    return locus::cli::keeping(locus::cancelled(),
                               std::to_string(rendered.files.size()) + " files were written to " + request.figures);
  }
  if (rendered.files.empty()) {
    return locus::bad_input("expected at least one figure that can be drawn, found none; see the warnings",
                            session.string());
  }
  return 0;
}

Result<int> open_workbench(int argc, char** argv, const locus::cli::WorkbenchRequest& request,
                           const locus::cli::Context& context) {
  if (!request.figures.empty()) {
    return draw_figures(request, context);
  }
  if (has_new_settings) {
    locus::restart(argv);
  }
  locus::workbench::WorkbenchOptions options;
  options.paths.assign(request.paths.begin(), request.paths.end());
  options.config_dir = context.globals.config_dir;
  options.threads = context.globals.threads;
  options.memory_limit_mb = context.globals.memory_limit_mb;
  options.device = context.globals.device;
  options.base = context.globals.base;
  options.warn = [&](const std::string& message) { context.console.warn(message); };
  options.fail = [&](const locus::Error& error) { return context.console.fail(error); };
  return locus::workbench::run_workbench(argc, argv, options);
}

constexpr locus::cli::OpenWorkbench kOpenWorkbench = open_workbench;

#else

constexpr locus::cli::OpenWorkbench kOpenWorkbench = nullptr;

#endif

}  // namespace

int main(int argc, char** argv) {
  has_new_settings = locus::set_library_defaults();
  return locus::cli::run_command_line(argc, argv, kOpenWorkbench, locus::kVersionText);
}
