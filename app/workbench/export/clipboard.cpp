#include "app/workbench/export/clipboard.h"

#include <QApplication>
#include <QClipboard>
#include <QImage>
#include <QMimeData>
#include <QSettings>
#include <algorithm>
#include <map>
#include <utility>

#include "app/figures/view_input.h"
#include "app/session/command_words.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/workbench/export/export.h"
#include "app/workbench/export/export_dialog.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/sha256.h"
#include "core/base/shown.h"
#include "core/base/version.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr double kScreenDpi = 192;
constexpr std::size_t kHashLetters = 12;  // of a recipe's SHA-256, as far as it is said
constexpr std::size_t kInputBytes = 60;   // of the text, in a caption

struct Copy {
  paper::Pixels pixels;
  std::string svg;
};

std::string latex_text(const std::string& text) {
  static const std::map<char, std::string> written{{'\\', "\\textbackslash{}"},
                                                   {'~', "\\textasciitilde{}"},
                                                   {'^', "\\textasciicircum{}"},
                                                   {'\n', " "},
                                                   {'\r', " "},
                                                   {'\t', " "}};
  std::string out;
  for (const char c : text) {
    const bool marked = std::string("#$%&_{}").find(c) != std::string::npos;
    const auto other = written.find(c);
    out += other != written.end() ? other->second : (marked ? "\\" : "") + std::string(1, c);
  }
  return out;
}

// The text's beginning, cut between characters.
std::string beginning(const std::string& text) {
  std::size_t end = std::min(text.size(), kInputBytes);
  while (end > 0 && end < text.size() && continues_character(text[end])) {
    --end;
  }
  return text.substr(0, end) + (end < text.size() ? "…" : "");
}

}  // namespace

std::string latex_of(const figures::FigureJob& job, const std::string& finding) {
  const views::ViewInfo& info = job.view->info();
  const std::string models = listed(job.columns, &views::Column::name);
  const views::HeadRef head =
      views::head_of_column(session::view_input(job.recipe.session.state, job.columns, *job.view), 0);
  std::string caption = info.title;
  const models::ModelInfo& first = job.columns.front().trace->model();
  if (info.uses_layer && info.uses_head) {
    caption += ", " + views::head_label(first, head.layer, head.head);
  } else if (info.uses_layer) {
    caption += ", layer " + std::to_string(head.layer);
  }
  caption += ": " + models + ".";
  if (!finding.empty()) {
    caption += " " + finding + ".";
  }
  if (const auto& text = job.recipe.session.input.text; text && info.uses_input) {
    caption += " Text: “" + beginning(*text) + "”.";
  }
  const std::string name = figures::suggested_name(job);
  const double width = figures::paper_width_mm(job.recipe.paper, job.columns.size());
  return "\\begin{figure}\n  \\centering\n  \\includegraphics[width=" + number_text(width) + "mm]{" + name +
         ".pdf}\n  \\caption{" + latex_text(caption) + " Recipe " +
         sha256(to_json(job.recipe)).substr(0, kHashLetters) + " (Locus " + std::string(program_version()) +
         ").}\n  \\label{fig:" + name + "}\n\\end{figure}\n";
}

void copy_figure(Studio& studio, const QSettings& settings, const Copied& done) {
  auto job = shown_job(studio);
  if (!job) {
    done(job.error());
    return;
  }
  job->recipe.paper = kept_paper(settings);
  job->recipe.paper.dpi = kScreenDpi;
  studio.worker().submit<Copy>(
      Priority::kExact, "copy", "Copying the figure",
      [job = *std::move(job)](const StopToken& stop, const Progress& /*progress*/) -> Result<Copy> {
        Copy copy;
        const paper::PaperOptions paper = paper_options(job);
        LOCUS_TRY(const figure::Figure figure, make_figure(job, "clipboard.png", stop));
        LOCUS_TRY(copy.pixels, paper::render(figure, paper));
        LOCUS_TRY(const figure::Figure drawing, make_figure(job, "clipboard.svg", stop));  // keeps every cell
        LOCUS_TRY(copy.svg, paper::encode(drawing, paper::Format::kSvg, paper));
        return copy;
      },
      [done](const Result<Copy>& copy) {
        if (!copy) {
          done(copy.error());
          return;
        }
        const paper::Pixels& pixels = copy->pixels;
        const QImage image(pixels.rgba.data(), pixels.width, pixels.height, QImage::Format_RGBA8888);
        auto* both = new QMimeData;
        both->setImageData(image.copy());
        both->setData(QStringLiteral("image/svg+xml"), QByteArray::fromStdString(copy->svg));
        QApplication::clipboard()->setMimeData(both);
        done({});
      });
}

Result<std::vector<std::string>> shown_command(const Studio& studio) {
  LOCUS_TRY(const figures::FigureJob job, shown_job(studio));
  LOCUS_TRY(std::vector<std::string> words, session::command_words(job.recipe));
  words.insert(words.end(), {"--out", figures::suggested_name(job) + ".pdf"});
  return words;
}

Result<std::vector<std::string>> head_command(const Studio& studio, std::size_t column, const views::HeadRef& head) {
  LOCUS_TRY(figures::FigureJob job, shown_job(studio));
  LOCUS_TRY(job.view, views::find_view("attention"));
  const std::size_t own = std::min(column, job.columns.size() - 1);
  session::Session& session = job.recipe.session;
  job.columns = {job.columns[own]};
  job.columns.front().own.reset();
  session.checkpoints = {session.checkpoints[own]};
  session.checkpoints.front().own.reset();
  if (auto& text = session.checkpoints.front().text) {  // of its own: it is the only input now
    session.input = {};
    session.input.text = std::exchange(text, std::nullopt);
  }
  const models::Side side = session.state.side;
  session.state = {};
  session.state.view = job.view->info().name;
  session.state.side = side;
  session.state.layer = head.layer;
  session.state.head = head.head;
  LOCUS_TRY(std::vector<std::string> words, session::command_words(job.recipe));
  words.insert(words.end(), {"--out", figures::suggested_name(job) + ".pdf"});
  return words;
}

void copy_head_command(Studio& studio, std::size_t column, const views::HeadRef& head, const Copied& done) {
  const auto words = head_command(studio, column, head);
  if (words) {
    QApplication::clipboard()->setText(qt(session::shell_line(*words)));
  }
  done(words ? Status() : Status(words.error()));
}

void copy_command(Studio& studio, const Copied& done) {
  const auto words = shown_command(studio);
  if (!words) {
    done(words.error());
    return;
  }
  QApplication::clipboard()->setText(qt(session::shell_line(*words)));
  done({});
}

void copy_latex(Studio& studio, const QSettings& settings, const Copied& done) {
  auto job = shown_job(studio);
  if (!job) {
    done(job.error());
    return;
  }
  job->recipe.paper = kept_paper(settings);
  studio.worker().submit<std::string>(
      Priority::kExact, "copy", "Copying the figure's LaTeX",
      [job = *std::move(job)](const StopToken& stop, const Progress& progress) mutable -> Result<std::string> {
        LOCUS_CHECK(fill_digests(job, stop, progress));  // as in the recipe of the file
        LOCUS_TRY(const figure::Figure figure, make_figure(job, "clipboard.pdf", stop));
        return latex_of(job, figure.description);
      },
      [done](const Result<std::string>& text) {
        if (text) {
          QApplication::clipboard()->setText(qt(*text));
        }
        done(text ? Status() : Status(text.error()));
      });
}

}  // namespace locus::workbench
