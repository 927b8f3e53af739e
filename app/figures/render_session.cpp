#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "app/session/input_paths.h"
#include "app/session/open_columns.h"
#include "app/session/paper_input.h"
#include "app/session/pins.h"
#include "app/session/recipe.h"
#include "app/session/session.h"
#include "app/session/view_input.h"
#include "app/views/view.h"
#include "app/workbench/window/workbench.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr double kPanelMm = 120;

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

std::vector<session::CheckpointEntry> found(const std::vector<session::CheckpointEntry>& entries,
                                            const std::string& figure, std::vector<std::string>& warnings) {
  std::vector<session::CheckpointEntry> there;
  for (const session::CheckpointEntry& entry : entries) {
    std::error_code code;
    if (!entry.shown) {
      continue;
    }
    if (std::filesystem::exists(entry.path, code)) {
      there.push_back(entry);
    } else {
      warnings.push_back(figure + ": checkpoint " + entry.path.filename().string() + " is not at " +
                         entry.path.string());
    }
  }
  return there;
}

// What the figures of a session share.
struct Workshop {
  session::ColumnMaker maker;
  std::shared_ptr<views::FieldCache> cache;
  std::map<std::vector<std::string>, std::string> digests;  // of files, which are read once
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
class Drawing {
 public:
  static Result<Drawing> make(const session::Bookmark& bookmark, std::vector<session::CheckpointEntry> entries,
                              const models::Input& input, Workshop& workshop) {
    Drawing drawing;
    drawing.recipe_.session.state = bookmark.state;
    session::hand_out_heads(drawing.recipe_.session.state, entries);
    LOCUS_TRY(drawing.view_, views::find_view(bookmark.state.view));
    LOCUS_TRY(drawing.columns_, workshop.maker.columns(entries, input));
    for (std::size_t n = 0; n < entries.size(); ++n) {  // all are shown
      const views::Column& column = drawing.columns_[n];
      LOCUS_CHECK(drawing.view_->available(column));
      LOCUS_TRY(drawing.recipe_.digests.emplace_back(), workshop.digest(files_of(entries[n], column.model.get())));
    }
    session::ViewState& state = drawing.recipe_.session.state;
    if (const auto sides = session::on_side(drawing.columns_, state.side); !sides.empty()) {
      session::settle_tokens(state, *sides.front().trace);  // as `locus figure` does, whose file is the same
    }
    drawing.recipe_.session.checkpoints = entries;
    drawing.recipe_.session.input = input;
    drawing.cache_ = workshop.cache;
    drawing.stop_ = workshop.stop;
    // Figures of several panels beside each other have a page's width.
    LOCUS_TRY(const figure::Figure figure, drawing.figure("any.png"));
    drawing.recipe_.paper.width_mm = figure.columns > 1 ? session::kPageMm : kPanelMm;
    return drawing;
  }

  Status write(const std::filesystem::path& file) const {
    LOCUS_TRY(figure::Figure figure, this->figure(file));
    figure.recipe = to_json(recipe_);
    paper::PaperOptions paper;
    paper.width_mm = recipe_.paper.width_mm;
    paper.dpi = recipe_.paper.dpi;
    return paper::export_figure(figure, file, paper);
  }

 private:
  Result<figure::Figure> figure(const std::filesystem::path& file) const {
    views::ViewInput input = session::paper_input(recipe_, columns_, *view_, file);
    input.cache = cache_;
    input.stop = stop_;
    return view_->figure(input);
  }

  const views::View* view_ = nullptr;
  std::vector<views::Column> columns_;
  session::Recipe recipe_;
  std::shared_ptr<views::FieldCache> cache_;
  StopToken stop_;
};

}  // namespace

Result<RenderedSession> render_session(const std::filesystem::path& path, const std::filesystem::path& folder,
                                       const StopToken& stop, const Progress& progress) {
  LOCUS_TRY(const session::Session session, session::load_session(path));
  return render_session(session, folder, stop, progress);
}

Result<RenderedSession> render_session(const session::Session& session, const std::filesystem::path& folder,
                                       const StopToken& stop, const Progress& progress) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return bad_input("cannot make the folder: " + code.message(), folder.string());
  }
  InputFiles inputs;
  session::add_inputs(session, inputs);
  std::vector<session::Bookmark> figures = session.bookmarks;
  if (figures.empty()) {
    figures.push_back({session.state.view, session.state});
  }
  Workshop workshop{session::ColumnMaker([](const auto& checkpoint, const auto& options, StopToken,
                                            const Progress&) { return models::open(checkpoint, options); },
                                         [&stop](const models::Model& model, const models::Input& input) {
                                           return model.run(input, {}, stop);
                                         }),
                    std::make_shared<views::FieldCache>(std::size_t{256} << 20),
                    {},
                    stop};
  RenderedSession rendered;
  std::set<std::string> taken;  // names of files: figures that are called alike keep one each
  for (const session::Bookmark& each : figures) {
    const auto n = &each - figures.data();
    report(progress, static_cast<double>(n) / static_cast<double>(figures.size()),
           "figure " + std::to_string(n + 1) + " of " + std::to_string(figures.size()) + ", " + each.name);
    const std::size_t warned = rendered.warnings.size();
    const auto entries = found(each.columns.empty() ? session.checkpoints : each.columns, each.name, rendered.warnings);
    const bool complete = rendered.warnings.size() == warned;
    if (entries.empty()) {
      rendered.warnings.push_back(each.name + ": not drawn");
      continue;
    }
    const auto drawing = Drawing::make(each, entries, each.input.value_or(session.input), workshop);
    rendered.stopped = stop.stop_requested();
    if (rendered.stopped) {
      return rendered;
    }
    if (!drawing && complete) {
      return drawing.error().within(each.name);
    }
    if (!drawing) {
      rendered.warnings.push_back(each.name + ": not drawn: " + drawing.error().describe());
      continue;
    }
    std::string name = file_name(each.name);
    for (int n = 2; !taken.insert(name).second; ++n) {
      name = file_name(each.name) + "-" + std::to_string(n);
    }
    for (const char* ending : {".png", ".pdf"}) {
      const auto file = folder / (name + ending);
      LOCUS_CHECK(inputs.check(file, each.name));
      LOCUS_CHECK(drawing->write(file));
      rendered.files.push_back(file);
    }
  }
  return rendered;
}

}  // namespace locus::workbench
