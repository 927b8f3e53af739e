// What is chosen of plots: hidden series, parts of axes, logarithms.
#include "app/session/plot_choices.h"

#include <gtest/gtest.h>

#include <cmath>

#include "renderers/figure/layout.h"

namespace locus::session {
namespace {

figure::Figure figure_of_curves() {
  figure::Figure figure;
  figure::Panel& panel = figure.panels.emplace_back();
  panel.x.view = {0, 100};
  panel.y.view = {0, 10};
  figure::Curve curve;
  curve.name = "text-rope";
  curve.x = {0, 10, 100};
  curve.y = {8, 4, 0.5};
  panel.layers.emplace_back(curve);
  curve.name = "text-rope: theory, R² 0.93";
  curve.color = 0x123456FF;
  panel.layers.emplace_back(curve);
  panel.layers.emplace_back(figure::Marker{});
  return figure;
}

figure::Panel panel_of_bars(std::vector<double> edges, std::vector<double> heights) {
  figure::Panel panel;
  panel.layers.emplace_back(figure::Bars{"tapa: μ 1", std::move(edges), std::move(heights)});
  return panel;
}

const figure::Curve& curve_of(const figure::Figure& figure, std::size_t layer) {
  return std::get<figure::Curve>(figure.panels[0].layers[layer]);
}

TEST(PlotChoices, SeriesAreCalledWithoutTheirNumbers) {
  const figure::Figure figure = figure_of_curves();
  EXPECT_EQ(series_name(figure.panels[0].layers[0]), "text-rope");
  EXPECT_EQ(series_name(figure.panels[0].layers[1]), "text-rope: theory");
  EXPECT_EQ(series_name(figure.panels[0].layers[2]), "");
  EXPECT_EQ(series_name(panel_of_bars({0, 1}, {1}).layers[0]), "tapa");
}

TEST(PlotChoices, AHiddenSeriesIsNotDrawnAndKeepsItsPlace) {
  PlotChoices choices = with_series({}, "text-rope", true);
  const figure::Figure screen = as_chosen(figure_of_curves(), choices, true);
  ASSERT_EQ(screen.panels[0].layers.size(), 3U);
  EXPECT_TRUE(curve_of(screen, 0).x.empty());
  EXPECT_EQ(curve_of(screen, 0).name, "text-rope");
  EXPECT_EQ(curve_of(screen, 1).x.size(), 3U);
  const figure::Figure paper = as_chosen(figure_of_curves(), choices, false);
  EXPECT_EQ(curve_of(paper, 0).name, "");
  const figure::Style style = figure::Style::light(12, 1);
  EXPECT_EQ(figure::layer_color(paper.panels[0], 0, style),
            figure::layer_color(figure_of_curves().panels[0], 0, style));
  choices = with_series(choices, "text-rope", false);
  EXPECT_TRUE(choices.empty());
}

TEST(PlotChoices, AnAxisIsLogarithmicWhereItsValuesAllow) {
  const figure::Panel curves = figure_of_curves().panels[0];
  EXPECT_EQ(why_not_logarithmic(curves, true), "");
  EXPECT_EQ(why_not_logarithmic(curves, false), "");  // the point at 0 is left out
  EXPECT_NE(why_not_logarithmic(panel_of_bars({-3, 1}, {1}), false).find("begin at −3"), std::string::npos);
  EXPECT_EQ(why_not_logarithmic(panel_of_bars({-3, 1}, {1}), true), "");
  EXPECT_NE(why_not_logarithmic(panel_of_bars({0, 1}, {1}), false).find("begin at 0"), std::string::npos);
  EXPECT_NE(why_not_logarithmic(panel_of_bars({1, 2}, {0}), true), "");
  figure::Panel negative = curves;
  std::get<figure::Curve>(negative.layers[0]).y[1] = -2.5;
  EXPECT_NE(why_not_logarithmic(negative, true).find("begin at −2.5"), std::string::npos);
  figure::Panel named = curves;
  named.x.cell_names = std::make_shared<const std::vector<std::string>>(3, "a");
  EXPECT_NE(why_not_logarithmic(named, false).find("names"), std::string::npos);

  const AxisChoice wanted{0, false, std::nullopt, AxisScale::kLogarithmic};
  const figure::Figure chosen = as_chosen(figure_of_curves(), with_axis({}, wanted), true);
  EXPECT_TRUE(chosen.panels[0].x.logarithmic);
  EXPECT_GT(chosen.panels[0].x.view.low, 0);
  EXPECT_LT(chosen.panels[0].x.view.low, 10);
  EXPECT_GE(chosen.panels[0].x.view.high, 100);
  EXPECT_TRUE(std::isnan(curve_of(chosen, 0).y[0]));
  EXPECT_FALSE(chosen.panels[0].y.logarithmic);
  EXPECT_EQ(chosen.panels[0].y.view, figure_of_curves().panels[0].y.view);

  figure::Figure bars;
  bars.panels.push_back(panel_of_bars({-3, 1}, {1}));
  EXPECT_FALSE(as_chosen(bars, with_axis({}, wanted), true).panels[0].x.logarithmic);
}

TEST(PlotChoices, OneAxisIsZoomedAround) {
  const figure::Interval whole{0, 100};
  const auto part = zoomed(whole, whole, 25, 0.5, false);
  ASSERT_TRUE(part);
  EXPECT_NEAR(part->low, 12.5, 1e-9);
  EXPECT_NEAR(part->high, 62.5, 1e-9);
  EXPECT_FALSE(zoomed(*part, whole, 25, 4, false));  // all of it again
  const auto decade = zoomed({1, 100}, {1, 100}, 10, 0.5, true);
  ASSERT_TRUE(decade);
  EXPECT_NEAR(decade->low, std::sqrt(10.0), 1e-9);
  EXPECT_NEAR(decade->high, 10 * std::sqrt(10.0), 1e-9);
  const auto down = zoomed({100, 0}, {100, 0}, 0, 0.5, false);
  ASSERT_TRUE(down);
  EXPECT_NEAR(down->low, 50, 1e-9);  // an axis that runs down goes on doing so
  EXPECT_NEAR(down->high, 0, 1e-9);
  EXPECT_NEAR(part_between(80, 20, whole, false)->low, 20, 1e-9);
  EXPECT_FALSE(part_between(20, 20.1, whole, false));
  EXPECT_FALSE(part_between(-20, 200, whole, false));
  EXPECT_NEAR(moved_along({20, 40}, whole, 0.5, false)->low, 30, 1e-9);
  EXPECT_NEAR(moved_along({20, 40}, whole, 9, false)->high, 100, 1e-9);
}

TEST(PlotChoices, PartsOfAxesAreSeenOfPlotsAlone) {
  figure::Figure figure = figure_of_curves();
  figure.panels.push_back(figure.panels[0]);
  figure.panels[1].layers.emplace_back(figure::HeatMap{});
  PlotChoices choices;
  for (const std::size_t panel : {0U, 1U, 7U}) {
    choices = with_axis(choices, {panel, true, figure::Interval{2, 4}, AxisScale::kAsDrawn});
  }
  const figure::Figure chosen = as_chosen(figure, choices, true);
  EXPECT_EQ(chosen.panels[0].y.view, (figure::Interval{2, 4}));
  EXPECT_EQ(chosen.panels[1].y.view, (figure::Interval{0, 10}));
  choices = with_axis(choices, {0, true, std::nullopt, AxisScale::kAsDrawn});
  EXPECT_EQ(choices.axes.size(), 2U);
}

}  // namespace
}  // namespace locus::session
