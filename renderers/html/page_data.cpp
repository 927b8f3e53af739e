#include "renderers/html/page_data.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <cmath>
#include <map>
#include <set>

#include "renderers/figure/axis_blocks.h"
#include "renderers/figure/axis_labels.h"
#include "renderers/figure/layer_marks.h"
#include "renderers/figure/panel_decor.h"
#include "renderers/figure/text_metrics.h"
#include "renderers/figure/words.h"
#include "renderers/html/layer_data.h"
#include "renderers/html/packed_field.h"

namespace locus::html {
namespace {

using namespace figure;

constexpr double kBarLines = 22;   // a colour bar's height, in text sizes: its ticks are chosen for it
constexpr double kTickRoom = 2.2;  // of a tick label along it

class Writer {
 public:
  Writer(const Figure& figure, const Style& style) : figure_(figure), style_(style), shared_(is_exact(figure)) {}

  QJsonObject document() {
    QJsonArray panels;
    for (const Panel& each : figure_.panels) {
      panels.append(panel(each));
    }
    QJsonObject theme{{"background", css(style_.background)}, {"plot", css(style_.plot_background)},
                      {"foreground", css(style_.foreground)}, {"muted", css(style_.muted)},
                      {"frame", css(style_.frame)},           {"grid", css(style_.grid)},
                      {"accent", css(style_.palette[1])},     {"text", style_.text_size}};
    return {{"title", text(figure_.title)},
            {"columns", figure_.columns},
            {"exact", shared_.exact()},
            {"theme", theme},
            {"names", names_list_},
            {"fields", shared_.fields()},
            {"images", shared_.images()},
            {"colormaps", shared_.colormaps()},
            {"panels", panels}};
  }

 private:
  // The names of an axis: each cell's, and the words that they make, null for a block.
  int names(const Axis& axis) {
    const std::shared_ptr<const std::vector<std::string>>& cells = axis.cell_names;
    const auto [found, is_new] = names_.try_emplace(cells.get(), static_cast<int>(names_.size()));
    if (is_new) {
      QJsonArray each;
      for (std::size_t n = 0; n < cells->size(); ++n) {
        each.append(text(figure::printable(name_of(*cells, n))));
      }
      QJsonArray words;
      for (const CellRun& run : runs_beside_blocks(axis, {0, std::ssize(*cells)})) {
        if (run.block) {
          words.append(QJsonArray{static_cast<double>(run.cells.begin), QJsonValue()});
          continue;
        }
        for (const Range& word : words_of(*cells, run.cells)) {
          words.append(QJsonArray{static_cast<double>(word.begin), text(figure::printable(text_of(*cells, word)))});
        }
      }
      names_list_.append(QJsonObject{{"cells", each}, {"words", words}});
    }
    return found->second;
  }

  QJsonArray blocks(const std::vector<AxisBlock>& all) {
    QJsonArray list;
    for (const AxisBlock& block : all) {
      const ImageLayer picture{block.rgba, block.width, block.height, {}, {}, 1};
      list.append(QJsonObject{{"low", block.cells.low},
                              {"high", block.cells.high},
                              {"name", text(block.name)},
                              {"image", has_pixels(picture) ? shared_.image(picture) : -1}});
    }
    return list;
  }

  QJsonObject axis(const Axis& axis, bool counts_cells) {
    QJsonObject json{{"label", text(axis.label)}, {"low", axis.view.low}, {"high", axis.view.high}};
    if (axis.logarithmic) {
      json["base"] = axis.log_base;
    }
    if (axis.cell_names && !axis.cell_names->empty()) {
      json["names"] = names(axis);
    }
    if (counts_cells || axis.cell_names) {
      json["cells"] = true;
    }
    if (axis.blocks && !axis.blocks->empty()) {
      json["blocks"] = blocks(*axis.blocks);
    }
    if (axis.of_camera) {
      json["camera"] = numbers(*axis.of_camera);
    }
    return json;
  }

  QJsonObject color_bar(const Panel& panel, const ColorScale& scale) {
    const double length = kBarLines * style_.text_size;
    QJsonArray ticks;
    for (const Tick& tick :
         color_bar_ticks(scale, length, [&](const std::string&) { return kTickRoom * style_.tick_text(); })) {
      ticks.append(QJsonArray{tick.at, text(tick.label)});
    }
    QJsonObject bar{{"label", text(panel.color_bar_label + automatic_words(scale))}, {"ticks", ticks}};
    if (!is_text(panel)) {
      bar["map"] = shared_.colormap(scale.colormap);
      return bar;
    }
    ColorScale whole;
    whole.colormap = scale.colormap;
    QJsonArray tints;
    for (int n = 0; n <= 32; ++n) {
      tints.append(css(tint_of(whole, static_cast<float>(n) / 32, style_.background, style_.palette[0])));
    }
    bar["tints"] = tints;
    return bar;
  }

  QJsonObject panel(const Panel& panel) {
    QJsonArray layers;
    for (std::size_t n = 0; n < panel.layers.size(); ++n) {
      layers.append(layer_data(panel, n, style_, shared_));
    }
    QJsonObject json{{"title", text(panel.title)},
                     {"note", text(panel.note)},
                     {"x", axis(panel.x, counts_cells(panel, true))},
                     {"y", axis(panel.y, counts_cells(panel, false))},
                     {"equal", panel.equal_aspect},
                     {"axes", panel.show_axes && !is_text(panel)},
                     {"follows", panel.follows_camera},
                     {"layers", layers}};
    if (!panel.struck.empty() && panel.title.find(panel.struck) != std::string::npos) {
      json["struck"] = text(panel.struck);
    }
    if (const auto scale = color_bar_scale(panel)) {
      json["bar"] = color_bar(panel, *scale);
    }
    return json;
  }

  const Figure& figure_;
  const Style& style_;
  SharedData shared_;
  std::map<const void*, int> names_;
  QJsonArray names_list_;
};

}  // namespace

bool is_exact(const Figure& figure) {
  std::set<const void*> seen;
  std::size_t cells = 0;
  for (const Panel& panel : figure.panels) {
    for (const Layer& layer : panel.layers) {
      const auto* map = std::get_if<HeatMap>(&layer);
      if (map != nullptr && map->field && seen.insert(map->field.get()).second) {
        cells += map->field->values.size();
      }
    }
  }
  return cells <= kExactCells;
}

QByteArray without_markup(QByteArray json) {
  json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e");
  return json.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029");
}

QByteArray page_data(const Figure& figure, const Style& style) {
  return without_markup(QJsonDocument(Writer(figure, style).document()).toJson(QJsonDocument::Compact));
}

}  // namespace locus::html
