// FigureJob: one figure and everything to make it again. The window, the command line, sessions without a window and
// the clipboard all make theirs here, so that one recipe is one file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/session/recipe.h"
#include "app/views/shared/view.h"
#include "core/base/input_files.h"
#include "core/base/progress.h"
#include "renderers/paper/paper.h"

namespace locus::figures {

struct FigureJob {
  const views::View* view = nullptr;
  std::vector<views::Column> columns;           // of the recipe's checkpoints that are shown; at least one
  session::Recipe recipe;                       // layer or head views::kAll: every one
  std::vector<std::vector<std::string>> files;  // of each checkpoint's weights, for fill_digests()
  InputFiles inputs;                            // what is read: not to be written over
  std::string output = "export";                // what errors call the file
  std::shared_ptr<views::FieldCache> cache;     // what has been measured is not measured again
};

// The digests of the job's checkpoints, in its recipe. Errors: kCancelled, kBadInput for a file that cannot be read.
Status fill_digests(FigureJob& job, const StopToken& stop, const Progress& progress);

constexpr double kColumnMm = 84;  // of a two-column paper
constexpr double kPageMm = 174;

// The paper's own width, or else that of a column for one checkpoint and that of a page for several.
double paper_width_mm(const session::PaperState& paper, std::size_t columns);
paper::PaperOptions paper_options(const FigureJob& job);

// The view's input for a figure in `file`: a PNG has no more cells than pixels, SVG and PDF keep 8192 along an axis,
// HTML 2048.
views::ViewInput paper_input(const session::Recipe& recipe, std::vector<views::Column> columns, const views::View& view,
                             const std::filesystem::path& file);
// The figure without the parts that the paper leaves out.
figure::Figure on_paper(figure::Figure figure, const session::PaperState& paper);

// The figure as it is written to a file of that name, whose ending decides how finely it is drawn. Errors: the view's.
Result<figure::Figure> make_figure(const FigureJob& job, const std::filesystem::path& file, const StopToken& stop);

using WriteFigure =
    std::function<Status(const figure::Figure&, const std::filesystem::path&, const paper::PaperOptions&)>;
using Written = std::function<void(const std::filesystem::path&)>;

// Writes the figure, or one for each layer and head where all are asked for, and says `written` of each file. Errors:
// make_figure()'s, those of `write` (paper::export_figure), kUsage for a file that is read, kCancelled.
Status write_figures(const FigureJob& job, const std::filesystem::path& file, const WriteFigure& write,
                     const Written& written, const StopToken& stop, const Progress& progress = {});

// Writes the view's numbers (.npy, .csv) and their recipe. Errors: as above.
Status write_data(const FigureJob& job, const std::filesystem::path& file, const StopToken& stop,
                  const Progress& progress = {});

// A name for its file, without an ending: "text-rope-attention-l2-h1".
std::string suggested_name(const FigureJob& job);

}  // namespace locus::figures
