#include <algorithm>
#include <cctype>
#include <map>

#include "app/session/paper_input.h"
#include "app/session/recipe.h"
#include "app/session/session.h"
#include "app/session/view_input.h"
#include "app/views/view.h"
#include "app/workbench/workbench.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr double kPageMm = 174;
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

// The models and runs of a session's figures, each made once.
class Runs {
 public:
  explicit Runs(const StopToken& stop) : stop_(stop) {}
  const StopToken& stop() const { return stop_; }

  Result<std::vector<views::Column>> columns(const std::vector<CheckpointEntry>& entries, const models::Input& input) {
    std::vector<views::Column> columns;
    for (const CheckpointEntry& entry : entries) {
      if (!entry.shown) {
        continue;
      }
      LOCUS_TRY(auto model, open(entry));
      LOCUS_TRY(auto trace, run(model, input_of(entry, input)));
      std::string name = unique_name(model->info().name + label_of(entry), columns);
      columns.push_back({std::move(name), std::move(model), std::move(trace)});
    }
    return columns;
  }

 private:
  using ModelPointer = std::shared_ptr<const models::Model>;
  using TracePointer = std::shared_ptr<const models::Trace>;
  struct Run {
    ModelPointer model;
    models::Input input;
    TracePointer trace;
  };

  Result<ModelPointer> open(const CheckpointEntry& entry) {
    for (const auto& [known, model] : models_) {
      if (known.path == entry.path && known.overrides == entry.overrides) {
        return model;
      }
    }
    models::OpenOptions options;
    options.overrides = entry.overrides;
    LOCUS_TRY(auto model, models::open(entry.path, options));
    models_.emplace_back(entry, model);
    return model;
  }

  Result<TracePointer> run(const ModelPointer& model, const models::Input& input) {
    for (const Run& known : runs_) {
      if (known.model == model && known.input == input) {
        return known.trace;
      }
    }
    LOCUS_TRY(auto trace, model->run(input, {}, stop_));
    runs_.push_back({model, input, trace});
    return trace;
  }

  std::vector<std::pair<CheckpointEntry, ModelPointer>> models_;
  std::vector<Run> runs_;
  StopToken stop_;
};

std::vector<CheckpointEntry> found(const std::vector<CheckpointEntry>& entries, const std::string& figure,
                                   std::vector<std::string>& warnings) {
  std::vector<CheckpointEntry> there;
  for (const CheckpointEntry& entry : entries) {
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

// One figure of the session, with everything to draw it again.
class Drawing {
 public:
  static Result<Drawing> make(const Bookmark& bookmark, const std::vector<CheckpointEntry>& entries,
                              const models::Input& input, Runs& runs, std::shared_ptr<views::FieldCache> cache) {
    Drawing drawing;
    LOCUS_TRY(drawing.view_, views::find_view(bookmark.state.view));
    LOCUS_TRY(drawing.columns_, runs.columns(entries, input));
    for (const views::Column& column : drawing.columns_) {
      LOCUS_CHECK(drawing.view_->available(column));
      LOCUS_TRY(drawing.recipe_.digests.emplace_back(), checkpoint_digest(column.model->info().files));
    }
    drawing.recipe_.session.checkpoints = entries;
    drawing.recipe_.session.input = input;
    drawing.recipe_.session.state = bookmark.state;
    drawing.cache_ = std::move(cache);
    drawing.stop_ = runs.stop();
    // Figures of several panels beside each other have a page's width.
    LOCUS_TRY(const figure::Figure figure, drawing.figure("any.png"));
    drawing.recipe_.paper.width_mm = figure.columns > 1 ? kPageMm : kPanelMm;
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
    views::ViewInput input = paper_input(recipe_, columns_, *view_, file);
    input.cache = cache_;
    input.stop = stop_;
    return view_->figure(input);
  }

  const views::View* view_ = nullptr;
  std::vector<views::Column> columns_;
  Recipe recipe_;
  std::shared_ptr<views::FieldCache> cache_;
  StopToken stop_;
};

}  // namespace

Result<RenderedSession> render_session(const std::filesystem::path& path, const std::filesystem::path& folder,
                                       const StopToken& stop) {
  LOCUS_TRY(const Session session, load_session(path));
  return render_session(session, folder, stop, {});
}

Result<RenderedSession> render_session(const Session& session, const std::filesystem::path& folder,
                                       const StopToken& stop, const Progress& progress) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return bad_input("cannot make the folder: " + code.message(), folder.string());
  }
  std::vector<Bookmark> figures = session.bookmarks;
  if (figures.empty()) {
    figures.push_back({session.state.view, session.state});
  }
  Runs runs(stop);
  const auto cache = std::make_shared<views::FieldCache>(std::size_t{256} << 20);
  RenderedSession rendered;
  for (const Bookmark& each : figures) {
    report(progress, static_cast<double>(&each - figures.data()) / static_cast<double>(figures.size()), each.name);
    const std::size_t warned = rendered.warnings.size();
    const auto entries = found(each.columns.empty() ? session.checkpoints : each.columns, each.name, rendered.warnings);
    const bool complete = rendered.warnings.size() == warned;
    if (entries.empty()) {
      rendered.warnings.push_back(each.name + ": not drawn");
      continue;
    }
    const auto drawing = Drawing::make(each, entries, each.input.value_or(session.input), runs, cache);
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
    for (const char* ending : {".png", ".pdf"}) {
      const auto file = folder / (file_name(each.name) + ending);
      LOCUS_CHECK(drawing->write(file));
      rendered.files.push_back(file);
    }
  }
  return rendered;
}

}  // namespace locus::workbench
