#include "app/figures/figure_job.h"

#include <algorithm>
#include <cctype>

#include "app/figures/view_input.h"
#include "app/views/shared/plots/data_file.h"
#include "app/views/shared/statement.h"

namespace locus::figures {

namespace {

constexpr int kMaxCells = 8192;      // along an axis of a figure that keeps every cell
constexpr int kMaxPageCells = 2048;  // of one whose reader unpacks them: 2048² take up to 11 MB

std::string ending_of(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending;
}

}  // namespace

double paper_width_mm(const session::PaperState& paper, std::size_t columns) {
  return paper.width_mm > 0 ? paper.width_mm : columns > 1 ? kPageMm : kColumnMm;
}

views::ViewInput paper_input(const session::Recipe& recipe, std::vector<views::Column> columns, const views::View& view,
                             const std::filesystem::path& file) {
  const double pixels = paper_width_mm(recipe.paper, columns.size()) / 25.4 * recipe.paper.dpi;
  views::ViewInput input = session::view_input(recipe.session.state, std::move(columns), view);
  const std::string ending = ending_of(file);
  input.width_px = ending == ".png"    ? static_cast<int>(std::clamp(pixels, 64.0, 65536.0))
                   : ending == ".html" ? kMaxPageCells
                                       : kMaxCells;
  input.height_px = input.width_px;
  return input;
}

namespace {

// The mark of a column with a head of its own is for the window, where it can be linked again.
std::string without_mark(std::string title) {
  const std::string mark = " ⚮ ";
  if (const std::size_t at = title.find(mark); at != std::string::npos) {
    title.replace(at, mark.size(), " · ");
  }
  return title;
}

}  // namespace

figure::Figure on_paper(figure::Figure figure, const session::PaperState& paper) {
  figure.title = paper.titles ? figure.title : "";
  for (figure::Panel& panel : figure.panels) {
    panel.title = paper.titles ? without_mark(panel.title) : "";
    if (!paper.labels) {
      panel.x.label.clear();
      panel.y.label.clear();
      panel.color_bar = panel.color_bar || !panel.color_bar_label.empty();
      panel.color_bar_label.clear();
    }
    if (!paper.legend) {
      panel.color_bar = false;
      panel.color_bar_label.clear();
      for (figure::Layer& layer : panel.layers) {
        if (auto* bars = std::get_if<figure::Bars>(&layer)) {
          bars->name.clear();
        } else if (auto* curve = std::get_if<figure::Curve>(&layer)) {
          curve->name.clear();
        } else if (auto* map = std::get_if<figure::HeatMap>(&layer)) {
          map->hidden.clear();
        }
      }
    }
  }
  return figure;
}

Status fill_digests(FigureJob& job, const StopToken& stop, const Progress& progress) {
  job.recipe.digests.assign(job.files.size(), "");
  for (std::size_t n = 0; n < job.files.size(); ++n) {
    report(progress, -1, "reading checkpoint " + std::to_string(n + 1) + " of " + std::to_string(job.files.size()));
    if (stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(job.recipe.digests[n], session::checkpoint_digest(job.files[n]));
  }
  return {};
}

paper::PaperOptions paper_options(const FigureJob& job) {
  paper::PaperOptions options;
  options.width_mm = paper_width_mm(job.recipe.paper, job.columns.size());
  options.dpi = job.recipe.paper.dpi;
  options.dark = job.recipe.paper.dark;
  options.text_pt = job.recipe.paper.text_pt;
  return options;
}

namespace {

// The statement, and which columns are not exact, also where titles and legends are left out.
std::string description_of(std::string statement, const std::vector<views::Column>& columns) {
  std::string fast;
  for (const views::Column& column : columns) {
    const models::ModelInfo& info = column.model ? column.model->info() : column.trace->model();
    fast += info.overrides.fast ? (fast.empty() ? "" : ", ") + column.name : "";
  }
  if (!fast.empty()) {
    statement += (statement.empty() ? "" : "; ") + std::string("fast products (rounded), not exact: ") + fast;
  }
  return statement;
}

}  // namespace

Result<figure::Figure> make_figure(const FigureJob& job, const std::filesystem::path& file, const StopToken& stop) {
  views::ViewInput input = paper_input(job.recipe, job.columns, *job.view, file);
  input.cache = job.cache;
  input.stop = stop;
  LOCUS_TRY(figure::Figure figure, job.view->figure(input));
  const session::ViewState& state = job.recipe.session.state;
  figure = session::as_chosen(std::move(figure), state.plots, false);
  figure.description = description_of(views::statement(job.view->info(), input, figure), job.columns);
  if (job.recipe.paper.marks) {
    figure = session::with_marks(std::move(figure), state.marks);
  }
  figure = on_paper(std::move(figure), job.recipe.paper);
  figure.recipe = to_json(job.recipe);
  return figure;
}

Status write_figures(const FigureJob& job, const std::filesystem::path& file, const WriteFigure& write,
                     const Written& written, const StopToken& stop, const Progress& progress) {
  const views::ViewInfo& view = job.view->info();
  const session::ViewState& state = job.recipe.session.state;
  const models::ModelInfo& model = job.columns.front().trace->model();
  const std::int64_t depth = state.by_depth ? views::deepest_linked(job.columns) : model.layers;
  const bool all_layers = view.uses_layer && state.layer == views::kAll;
  const bool all_heads = view.uses_head && state.head == views::kAll;
  const Range layers = all_layers ? Range{0, depth} : Range{state.layer, state.layer + 1};
  const Range heads = all_heads ? Range{0, model.heads} : Range{state.head, state.head + 1};
  const auto count = static_cast<double>(layers.size() * heads.size());
  FigureJob one = job;
  int done = 0;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      const auto own = all_layers || all_heads ? session::numbered(file, layer, head) : file;
      report(progress, done++ / count, own.filename().string());
      LOCUS_CHECK(job.inputs.check(own, job.output));
      one.recipe.session.state.layer = layer;
      one.recipe.session.state.head = head;
      LOCUS_TRY(const figure::Figure figure, make_figure(one, own, stop));
      if (stop.stop_requested()) {
        return cancelled();
      }
      LOCUS_CHECK(write(figure, own, paper_options(one)));
      written(own);
    }
  }
  return {};
}

Status write_data(const FigureJob& job, const std::filesystem::path& file, const StopToken& stop,
                  const Progress& progress) {
  LOCUS_CHECK(job.inputs.check(file, job.output));
  LOCUS_CHECK(job.inputs.check(file.string() + ".recipe.json", job.output));
  report(progress, -1, file.filename().string());
  views::ViewInput input = session::view_input(job.recipe.session.state, job.columns, *job.view);
  input.cache = job.cache;
  input.stop = stop;
  input.progress = progress;
  LOCUS_TRY(const views::DataParts parts, job.view->data_parts(input));
  return views::write_data(parts, to_json(job.recipe), file, stop, progress);
}

std::string suggested_name(const FigureJob& job) {
  const views::ViewInfo& info = job.view->info();
  const session::ViewState& state = job.recipe.session.state;
  std::string name = job.columns.front().name + "-" + info.name;
  if (info.uses_layer && state.layer >= 0) {
    name += "-l" + std::to_string(state.layer);
  }
  if (info.uses_head && state.head != views::kAll) {
    name += state.head == views::kMean ? "-mean" : "-h" + std::to_string(state.head);
  }
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == '/' || c == ':' || c >= 0x80; }, '-');
  return name;
}

}  // namespace locus::figures
