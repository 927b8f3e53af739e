#include "renderers/html/layer_data.h"

#include <QBuffer>
#include <QImage>
#include <QImageWriter>
#include <cmath>

#include "renderers/figure/hatch.h"
#include "renderers/figure/layer_marks.h"
#include "renderers/figure/layout.h"
#include "renderers/figure/text_metrics.h"
#include "renderers/figure/words.h"
#include "renderers/html/packed_field.h"

namespace locus::html {
namespace {

using namespace figure;

QJsonArray interval(const Interval& interval) {
  return {interval.low, interval.high};
}

QJsonArray axis_of(const FieldAxis& axis) {
  return {axis.first, axis.step, text(axis.name)};
}

QJsonObject scale_data(const ColorScale& scale, const Style& style, SharedData& shared) {
  const char* transfer = scale.transfer == Transfer::kLog ? "log" : scale.transfer == Transfer::kGamma ? "gamma" : "";
  return {{"map", shared.colormap(scale.colormap)},
          {"low", static_cast<double>(scale.low)},
          {"high", static_cast<double>(scale.high)},
          {"transfer", transfer},
          {"gamma", static_cast<double>(scale.gamma)},
          {"centred", scale.centred},
          {"mask", css(scale.mask_color == kDefaultMask ? style.mask : scale.mask_color)}};
}

QJsonArray flags(const std::vector<std::uint8_t>& values) {
  QJsonArray array;
  for (const std::uint8_t value : values) {
    array.append(value != 0);
  }
  return array;
}

// A float with the digits that tell it from others: its double has ten more.
double short_value(float value) {
  return QString::number(static_cast<double>(value), 'g', 9).toDouble();
}

struct LayerWriter {
  const Panel& panel;
  const Style& style;
  SharedData& shared;
  Color color;

  QJsonObject operator()(const HeatMap& map) const {
    if (!map.field || map.field->rows <= 0 || map.field->columns <= 0) {
      return {{"kind", "nothing"}};
    }
    QJsonObject json{{"kind", "map"},
                     {"field", shared.field(map.field)},
                     {"scale", scale_data(map.scale, style, shared)},
                     {"mean", map.reduction == Reduction::kMean},
                     {"opacity", static_cast<double>(map.opacity)}};
    const Color mask = map.scale.mask_color == kDefaultMask ? style.mask : map.scale.mask_color;
    if (map.masked && (mask & 0xFF) != 0) {
      json["hatch"] = css(hatch_of(mask, style).color);
      json["hidden"] = text(map.hidden);
      json["edgeX"] = numbers(map.edge_x);
      json["edgeY"] = numbers(map.edge_y);
    }
    for (const auto& [name, list] :
         {std::pair("texts", map.texts), std::pair("details", map.details), std::pair("said", map.said)}) {
      if (list && list->size() == map.field->values.size()) {
        QJsonArray words;
        for (const std::string& each : *list) {
          words.append(text(each));
        }
        json[QLatin1String(name)] = words;
      }
    }
    return json;
  }

  QJsonObject operator()(const Bars& bars) const {
    return {{"kind", "bars"},
            {"name", text(bars.name)},
            {"edges", numbers(bars.edges)},
            {"heights", numbers(bars.heights)},
            {"opacity", bar_opacity(panel)},
            {"color", css(color)}};
  }

  QJsonObject operator()(const Curve& curve) const {
    return {{"kind", "curve"},
            {"name", text(curve.name)},
            {"x", numbers(curve.x)},
            {"y", numbers(curve.y)},
            {"low", numbers(curve.low)},
            {"high", numbers(curve.high)},
            {"stands", numbers(curve.base)},
            {"color", css(color)},
            {"width", static_cast<double>(curve.width_px)},
            {"dashed", curve.dashed ? static_cast<double>(curve.dash) : 0.0},
            {"hollow", flags(curve.hollow)}};
  }

  QJsonObject operator()(const Points& points) const {
    QJsonArray values;
    QJsonArray sizes;
    QJsonArray names;
    QJsonArray hollow;
    for (const std::uint8_t each : points.hollow) {
      hollow.append(each);
    }
    for (const float value : points.values) {
      values.append(short_value(value));
    }
    for (const float size : points.sizes_px) {
      sizes.append(short_value(size));
    }
    for (const std::string& name : points.names) {
      names.append(text(name));
    }
    return {{"kind", "points"},
            {"x", numbers(points.x)},
            {"y", numbers(points.y)},
            {"xLow", numbers(points.x_low)},
            {"xHigh", numbers(points.x_high)},
            {"yLow", numbers(points.y_low)},
            {"yHigh", numbers(points.y_high)},
            {"values", values},
            {"scale", scale_data(points.scale, style, shared)},
            {"sizes", sizes},
            {"hollow", hollow},
            {"faint", flags(points.faint)},
            {"names", names}};
  }

  QJsonObject operator()(const Marker& marker) const {
    return {{"kind", "marker"},    {"vertical", marker.direction == Marker::Direction::kVertical},
            {"at", marker.at},     {"label", text(marker.label)},
            {"color", css(color)}, {"dashed", marker.dashed}};
  }

  QJsonObject operator()(const Box& box) const {
    return {{"kind", "box"}, {"x", interval(box.x)}, {"y", interval(box.y)}, {"color", css(color)}};
  }

  QJsonObject operator()(const TokenStrip& strip) const {
    QJsonArray tokens;
    for (std::size_t n = 0; n < strip.tokens.size(); ++n) {
      QJsonArray token{text(figure::printable(name_of(strip.tokens, n)))};
      if (n < strip.values.size() && !std::isnan(strip.values[n])) {
        const Color tint = tint_of(strip.scale, strip.values[n], style.background, style.palette[0]);
        token.append(short_value(strip.values[n]));
        token.append(css(tint));
        token.append(is_light(tint) ? "#101010" : "#fafafa");
      }
      tokens.append(token);
    }
    QJsonArray lines;  // the tokens that begin one
    QJsonArray words;  // and those that may
    for (std::size_t n = 1; n < strip.tokens.size(); ++n) {
      if (ends_line(strip.tokens[n - 1]) && strip.tokens[n] != "\n" && strip.tokens[n] != "⏎") {
        lines.append(static_cast<double>(n));
      } else if (begins_word(strip.tokens, n)) {
        words.append(static_cast<double>(n));
      }
    }
    return {{"kind", "strip"},
            {"tokens", tokens},
            {"lines", lines},
            {"words", words},
            {"selected", static_cast<double>(strip.selected)}};
  }

  QJsonObject operator()(const ImageLayer& image) const {
    if (!has_pixels(image)) {
      return {{"kind", "nothing"}};
    }
    return {{"kind", "image"},
            {"image", shared.image(image)},
            {"x", interval(image.x)},
            {"y", interval(image.y)},
            {"opacity", static_cast<double>(image.opacity)}};
  }
};

}  // namespace

QString text(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

bool has_pixels(const ImageLayer& image) {
  return image.rgba && image.width > 0 && image.height > 0 &&
         image.rgba->size() >= static_cast<std::size_t>(image.width * image.height) * 4;
}

QString css(Color color) {
  return "#" + QString::number(color, 16).rightJustified(8, '0');
}

QJsonArray numbers(const std::vector<double>& values) {
  QJsonArray array;
  for (const double value : values) {
    array.append(value);  // null where it is not finite
  }
  return array;
}

int SharedData::field(const std::shared_ptr<const Field>& field) {
  const auto [found, is_new] = known_.try_emplace(field.get(), static_cast<int>(fields_.size()));
  if (is_new) {
    const PackedField packed = pack(*field, exact_ ? Precision::kSingle : Precision::kHalf);
    fields_.append(QJsonObject{{"rows", static_cast<double>(field->rows)},
                               {"columns", static_cast<double>(field->columns)},
                               {"row", axis_of(field->row_axis)},
                               {"column", axis_of(field->column_axis)},
                               {"quantity", text(field->quantity)},
                               {"exponent", packed.exponent},
                               {"cells", QString::fromLatin1(packed.text)}});
  }
  return found->second;
}

int SharedData::image(const ImageLayer& image) {
  const auto [found, is_new] = known_.try_emplace(image.rgba.get(), static_cast<int>(images_.size()));
  if (is_new) {
    const QImage pixels(image.rgba->data(), static_cast<int>(image.width), static_cast<int>(image.height),
                        static_cast<qsizetype>(image.width) * 4, QImage::Format_RGBA8888);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QImageWriter(&buffer, "png").write(pixels);
    images_.append("data:image/png;base64," + QString::fromLatin1(buffer.data().toBase64()));
  }
  return found->second;
}

int SharedData::colormap(const std::string& name) {
  const auto [found, is_new] = maps_.try_emplace(name, static_cast<int>(colormaps_.size()));
  if (is_new) {
    QByteArray bytes;
    for (const std::uint32_t color : figure::colormaps()[colormap_index(name)].colors) {
      bytes.append(static_cast<char>(color >> 16 & 0xFF));
      bytes.append(static_cast<char>(color >> 8 & 0xFF));
      bytes.append(static_cast<char>(color & 0xFF));
    }
    colormaps_.append(QString::fromLatin1(bytes.toBase64()));
  }
  return found->second;
}

QJsonObject layer_data(const Panel& panel, std::size_t index, const Style& style, SharedData& shared) {
  const LayerWriter writer{panel, style, shared, layer_color(panel, index, style)};
  return std::visit(writer, panel.layers[index]);
}

}  // namespace locus::html
