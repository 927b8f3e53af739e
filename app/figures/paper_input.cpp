#include "app/figures/paper_input.h"

#include <algorithm>
#include <cctype>

#include "app/figures/view_input.h"

namespace locus::session {

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

double paper_width_mm(const PaperState& paper, std::size_t columns) {
  return paper.width_mm > 0 ? paper.width_mm : columns > 1 ? kPageMm : kColumnMm;
}

views::ViewInput paper_input(const Recipe& recipe, std::vector<views::Column> columns, const views::View& view,
                             const std::filesystem::path& file) {
  const double pixels = paper_width_mm(recipe.paper, columns.size()) / 25.4 * recipe.paper.dpi;
  views::ViewInput input = view_input(recipe.session.state, std::move(columns), view);
  const std::string ending = ending_of(file);
  input.width_px = ending == ".png"    ? static_cast<int>(std::clamp(pixels, 64.0, 65536.0))
                   : ending == ".html" ? kMaxPageCells
                                       : kMaxCells;
  input.height_px = input.width_px;
  return input;
}

figure::Figure on_paper(figure::Figure figure, const PaperState& paper) {
  figure.title = paper.titles ? figure.title : "";
  for (figure::Panel& panel : figure.panels) {
    panel.title = paper.titles ? panel.title : "";
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
        }
      }
    }
  }
  return figure;
}

}  // namespace locus::session
