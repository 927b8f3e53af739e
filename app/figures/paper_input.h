// A recipe's figure on paper: how wide it is, and how finely its view is asked to draw it. Whoever draws a recipe asks
// here, so that the same recipe makes the same file.
#pragma once

#include <filesystem>
#include <vector>

#include "app/session/recipe.h"
#include "app/views/shared/view.h"

namespace locus::session {

constexpr double kColumnMm = 84;  // of a two-column paper
constexpr double kPageMm = 174;

// The recipe's own width, or else 84 mm (a column of a paper) for one checkpoint and 174 mm (its page) for several.
double paper_width_mm(const PaperState& paper, std::size_t columns);

// The view's input for a figure in `file`: a PNG has no more cells than pixels, SVG and PDF keep 8192 along an axis,
// HTML 2048.
views::ViewInput paper_input(const Recipe& recipe, std::vector<views::Column> columns, const views::View& view,
                             const std::filesystem::path& file);

// The figure without what the paper leaves out.
figure::Figure on_paper(figure::Figure figure, const PaperState& paper);

}  // namespace locus::session
