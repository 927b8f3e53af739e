#include <cctype>
#include <map>

#include "app/session/session.h"
#include "app/session/view_input.h"
#include "app/views/view.h"
#include "app/workbench/workbench.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

// "TAPE Fig. 7a: dot products" → "tape-fig-7a-dot-products".
std::string file_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
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

Result<std::vector<views::Column>> run_columns(const Session& session) {
  std::vector<views::Column> columns;
  for (const CheckpointEntry& entry : session.checkpoints) {
    if (!entry.shown) {
      continue;
    }
    models::OpenOptions options;
    options.overrides = entry.overrides;
    LOCUS_TRY(auto model, models::open(entry.path, options));
    LOCUS_TRY(auto trace, model->run(session.input));
    columns.push_back({model->info().name, std::move(model), std::move(trace)});
  }
  return columns;
}

}  // namespace

Result<std::vector<std::filesystem::path>> render_session(const std::filesystem::path& path,
                                                          const std::filesystem::path& folder) {
  LOCUS_TRY(const Session session, load_session(path));
  LOCUS_TRY(const auto columns, run_columns(session));
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return bad_input("cannot make the folder: " + code.message(), folder.string());
  }
  std::vector<Bookmark> figures = session.bookmarks;
  if (figures.empty()) {
    figures.push_back({session.state.view, session.state});
  }
  std::vector<std::filesystem::path> files;
  for (const Bookmark& each : figures) {
    LOCUS_TRY(const views::View* view, views::find_view(each.state.view));
    const views::ViewInput input = view_input(each.state, columns, *view);
    for (const views::Column& column : columns) {
      LOCUS_CHECK(view->available(column));
    }
    LOCUS_TRY(const figure::Figure figure, view->figure(input));
    paper::PaperOptions paper;
    paper.width_mm = columns.size() > 1 ? 174 : 120;
    for (const char* ending : {".png", ".pdf"}) {
      const auto file = folder / (file_name(each.name) + ending);
      LOCUS_CHECK(paper::export_figure(figure, file, paper));
      files.push_back(file);
    }
  }
  return files;
}

}  // namespace locus::workbench
