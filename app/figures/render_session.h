// The figures of a session as files, without a window.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/figures/figure_job.h"
#include "app/session/session.h"

namespace locus::figures {

struct RenderedSession {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;  // a line for each checkpoint that is not there and each figure it was needed for
  bool stopped = false;               // the rest was not drawn
  int kept = 0;                       // figures that are newer than what they show, among the files
};

struct RenderOptions {
  std::string only;                    // draws only figures whose names contain this; empty: all
  std::filesystem::path session_file;  // what the session was read from: its figures are drawn again only where they
                                       // are older than it, the program, or what they show; empty: all are drawn
};

// Draws every figure of a session (its bookmarks, or its state when it has none) as PNG, PDF and HTML into `folder`. A
// checkpoint that is not there is left out with a warning, and so is a figure that cannot do without it. Opens
// checkpoints and runs models on the calling thread. Errors: those of checkpoints that are there, of views and of
// `write` (paper::export_figure); kBadInput when the folder cannot be written; kUsage where no figure has the name that
// `only` asks for. Says which figure it is at.
Result<RenderedSession> render_session(const session::Session& session, const std::filesystem::path& folder,
                                       const WriteFigure& write, const StopToken& stop = {},
                                       const Progress& progress = {}, const RenderOptions& options = {});

}  // namespace locus::figures
