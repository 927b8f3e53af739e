// The texts beside a figure on the canvas: none lies on the figure's own, whatever the canvas's size.
#include "app/viewport/placed_figure.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace locus::viewport {
namespace {

std::shared_ptr<const figure::Figure> square_map() {
  figure::HeatMap map;
  auto field = std::make_shared<Field>(Field::zeros(10, 10));
  map.field = field;
  figure::Panel panel;
  panel.title = "SmolLM2-135M-Instruct.Q4_1.gguf · layer 0, head 0";
  panel.x.label = "key";
  panel.y.label = "query";
  panel.x.view = panel.y.view = {0, 10};
  panel.equal_aspect = true;
  panel.layers.emplace_back(std::move(map));
  figure::Figure figure;
  figure.panels.push_back(std::move(panel));
  return std::make_shared<const figure::Figure>(std::move(figure));
}

TEST(PlacedFigure, TheStatementLiesOnNoTextOfTheFigure) {
  CanvasContent content;
  content.figure = square_map();
  content.caption = "One head: each row is a token that looks, each column a token that it looks at.";
  PlacedFigure placed;
  placed.show(content);
  int shown = 0;
  int lowered = 0;
  for (int width = 480; width <= 1200; width += 24) {
    for (int height = 360; height <= 900; height += 12) {
      placed.update(QSize(width, height), figure::Style::light(13, 1),
                    "head 0.0 gives its own token 0.26, the one before 0.23, the first 0.15");
      const PlacedCaption* const statement = placed.statement();
      if (statement == nullptr) {
        continue;
      }
      ++shown;
      lowered += statement->below ? 1 : 0;
      for (const figure::Rect& each : text_places(*placed.layout(), placed.typeface())) {
        EXPECT_TRUE(statement->area.intersected(each).empty()) << width << " × " << height;
      }
      if (placed.caption() != nullptr) {
        EXPECT_TRUE(statement->area.intersected(placed.caption()->area).empty()) << width << " × " << height;
      }
    }
  }
  EXPECT_GT(shown, 500);
  EXPECT_GT(lowered, 100);
}

}  // namespace
}  // namespace locus::viewport
