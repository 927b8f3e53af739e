// One layer of a panel as the JSON that its page draws from, and what layers share.
#pragma once

#include <QJsonArray>
#include <QJsonObject>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "renderers/figure/figure.h"
#include "renderers/figure/style.h"

namespace locus::html {

QString text(const std::string& utf8);
bool has_pixels(const figure::ImageLayer& image);
QString css(figure::Color color);                       // "#rrggbbaa"
QJsonArray numbers(const std::vector<double>& values);  // null where one is not finite

// Fields, pictures and colormaps, each once however many panels show it; layers name them by their place in its list.
class SharedData {
 public:
  explicit SharedData(bool exact) : exact_(exact) {}

  // {rows, columns, row: [first, step, name], column: likewise, quantity, exponent, cells}
  int field(const std::shared_ptr<const Field>& field);
  // As a PNG in a data: URI.
  int image(const figure::ImageLayer& image);
  // 256 × RGB, base64.
  int colormap(const std::string& name);

  bool exact() const { return exact_; }
  const QJsonArray& fields() const { return fields_; }
  const QJsonArray& images() const { return images_; }
  const QJsonArray& colormaps() const { return colormaps_; }

 private:
  bool exact_;
  std::map<const void*, int> known_;
  std::map<std::string, int> maps_;
  QJsonArray fields_;
  QJsonArray images_;
  QJsonArray colormaps_;
};

// {kind: map, bars, curve, marker, box, strip or image, …} of panel.layers[index].
QJsonObject layer_data(const figure::Panel& panel, std::size_t index, const figure::Style& style, SharedData& shared);

}  // namespace locus::html
