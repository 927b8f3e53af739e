#include "tests/support/sample_figures.h"

#include <cmath>
#include <limits>

namespace locus::samples {
namespace {

using namespace figure;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

const std::vector<std::string> kWords = {"<s>",  "The", " keys", " to",    " the", " old",  " cabinet",
                                         " are", " on", " the",  " table", ",",    " café", " Δ",
                                         "→",    "ж",   " and",  " one",   " is",  "."};

std::shared_ptr<const std::vector<std::string>> names(std::int64_t count) {
  std::vector<std::string> tokens;
  for (std::int64_t n = 0; n < count; ++n) {
    tokens.push_back(kWords[static_cast<std::size_t>(n) % kWords.size()]);
  }
  return std::make_shared<const std::vector<std::string>>(std::move(tokens));
}

HeatMap heat_map(std::shared_ptr<const Field> field, const char* colormap, float low, float high) {
  HeatMap map;
  map.field = std::move(field);
  map.scale.colormap = colormap;
  map.scale.low = low;
  map.scale.high = high;
  return map;
}

Panel map_panel(std::string title, HeatMap map, std::string bar) {
  Panel panel;
  panel.title = std::move(title);
  panel.x.label = "key";
  panel.y.label = "query";
  panel.x.view = {0, static_cast<double>(map.field->columns)};
  panel.y.view = {static_cast<double>(map.field->rows), 0};
  panel.equal_aspect = true;
  panel.color_bar_label = std::move(bar);
  panel.layers.push_back(std::move(map));
  return panel;
}

double gauss(double x, double mean, double sigma) {
  return std::exp(-0.5 * std::pow((x - mean) / sigma, 2));
}

Bars bars(std::string name, double mean, double sigma) {
  Bars result;
  result.name = std::move(name);
  for (int n = 0; n <= 40; ++n) {
    result.edges.push_back(-4 + 0.2 * n);
  }
  for (int n = 0; n < 40; ++n) {
    result.heights.push_back(12.0 * gauss(-3.9 + 0.2 * n, mean, sigma) + (n % 5));
  }
  return result;
}

Curve curve(std::string name, double level, double rise, bool dashed) {
  Curve result;
  result.name = std::move(name);
  result.dashed = dashed;
  for (int n = 0; n <= 8; ++n) {
    const double x = 512 * std::pow(2, n);
    const double y = level + rise * std::max(0, n - 3) + 8 * std::exp(-0.7 * n);
    result.x.push_back(x);
    result.y.push_back(y);
    result.low.push_back(y * 0.94);
    result.high.push_back(y * 1.06);
  }
  return result;
}

}  // namespace

std::shared_ptr<const Field> causal_attention(std::int64_t tokens, float slope) {
  Field field = Field::zeros(tokens, tokens);
  field.row_axis.name = "query";
  field.column_axis.name = "key";
  for (std::int64_t q = 0; q < tokens; ++q) {
    float total = 0;
    for (std::int64_t k = 0; k < tokens; ++k) {
      const float logit = -slope * static_cast<float>(q - k) + (k == 0 ? 2.0F : 0.0F) +
                          1.5F * std::sin(1.7F * static_cast<float>(q * k));
      field.at(q, k) = k <= q ? std::exp(logit) : kNone;
      total += k <= q ? field.at(q, k) : 0;
    }
    for (std::int64_t k = 0; k <= q; ++k) {
      field.at(q, k) /= total;
    }
  }
  return std::make_shared<const Field>(std::move(field));
}

std::shared_ptr<const Field> waves(std::int64_t rows, std::int64_t columns) {
  Field field = Field::zeros(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const float distance = static_cast<float>(r - c) / static_cast<float>(columns);
      field.at(r, c) = std::cos(20 * distance) * std::exp(-2 * std::abs(distance));
    }
  }
  return std::make_shared<const Field>(std::move(field));
}

Figure attention(std::int64_t tokens) {
  Figure result;
  Panel panel = map_panel("Layer 3, head 5", heat_map(causal_attention(tokens), "viridis", 0, 1), "attention weight");
  std::get<HeatMap>(panel.layers.front()).masked = true;
  panel.x.cell_names = names(tokens);
  panel.y.cell_names = panel.x.cell_names;
  result.panels.push_back(std::move(panel));
  result.recipe = R"({"view":"attention","layer":3,"head":5,"text":"café <&> \"数\""})";
  return result;
}

Figure attention_pair() {
  Figure result;
  result.title = "Effect of the position encoding";
  result.columns = 3;
  result.panels.push_back(map_panel("RoPE", heat_map(causal_attention(48, 0.3F), "magma", 0, 0.6F), "weight"));
  result.panels.push_back(map_panel("TAPA", heat_map(causal_attention(48, 0.05F), "magma", 0, 0.6F), "weight"));
  Field difference = *causal_attention(48, 0.3F);
  const auto other = causal_attention(48, 0.05F);
  for (std::size_t n = 0; n < difference.values.size(); ++n) {
    difference.values[n] -= other->values[n];
  }
  result.panels.push_back(map_panel(
      "RoPE − TAPA", heat_map(std::make_shared<const Field>(std::move(difference)), "vik", -0.5F, 0.5F), "difference"));
  return result;
}

Figure thumbnails(int layers, int heads, std::int64_t tokens) {
  Figure result;
  result.columns = heads;
  for (int layer = 0; layer < layers; ++layer) {
    for (int head = 0; head < heads; ++head) {
      const float slope = 0.02F + 0.05F * static_cast<float>(layer * heads + head) / static_cast<float>(layers);
      std::string name = "L";
      name.append(std::to_string(layer)).append(" H").append(std::to_string(head));
      Panel panel = map_panel(std::move(name), heat_map(causal_attention(tokens, slope), "viridis", 0, 0.5F), "");
      panel.show_axes = false;
      panel.layers.resize(1);
      result.panels.push_back(std::move(panel));
    }
  }
  return result;
}

Figure histogram() {
  Figure result;
  Panel panel;
  panel.title = "Distance bias";
  panel.x = {"short-range minus long-range score", {-4, 4}, false, 10, nullptr};
  panel.y = {"heads", {0, 18}, false, 10, nullptr};
  panel.layers.push_back(bars("RoPE", 0.9, 0.8));
  panel.layers.push_back(bars("TAPA", -0.1, 1.1));
  Marker mean;
  mean.at = 0.9;
  mean.label = "mean of RoPE";
  panel.layers.push_back(mean);
  mean.at = -0.1;
  mean.label = "mean of TAPA";
  panel.layers.push_back(mean);
  panel.note = "144 heads, first token left out, 95 % interval over 20 texts";
  result.panels.push_back(std::move(panel));
  return result;
}

Figure length_curve() {
  Figure result;
  Panel panel;
  panel.x = {"context length (tokens)", {512, 131072}, true, 2, nullptr};
  panel.y = {"perplexity", {2, 64}, true, 10, nullptr};
  panel.layers.push_back(curve("RoPE", 9, 7, false));
  panel.layers.push_back(curve("RoPE, YaRN ×4", 9, 2, false));
  panel.layers.push_back(curve("TAPA", 8, 0.1, false));
  panel.layers.push_back(curve("theory", 6, 0, true));
  std::get<Curve>(panel.layers.back()).low.clear();
  Marker trained;
  trained.at = 4096;
  trained.label = "trained length";
  panel.layers.push_back(trained);
  result.panels.push_back(std::move(panel));
  return result;
}

Figure points() {
  Figure result;
  Panel panel;
  panel.title = "Heads";
  panel.x = {"weight on the previous token", {-0.05, 1.05}, false, 10, nullptr};
  panel.y = {"induction score", {-0.05, 1.05}, false, 10, nullptr};
  Points points;
  for (int n = 0; n < 24; ++n) {
    const double x = 0.5 + 0.5 * std::cos(0.7 * n);
    const double y = std::fmod(0.37 * n, 1.0);
    points.x.push_back(x);
    points.y.push_back(n == 20 ? std::nan("") : y);
    points.x_low.push_back(x - 0.02 * (n % 4));
    points.x_high.push_back(x + 0.03 * (n % 4));
    points.y_low.push_back(y - 0.05);
    points.y_high.push_back(n == 21 ? std::nan("") : y + 0.04);
    const int sixth = n / 6;
    points.values.push_back(static_cast<float>(sixth));
    points.sizes_px.push_back(static_cast<float>(4 + n % 8 * 2));
    points.hollow.push_back(n % 3 == 0 ? 1 : 0);
    points.faint.push_back(n % 5 == 0 ? 1 : 0);
    points.names.push_back(n % 7 == 0 ? std::to_string(n / 6) + "." + std::to_string(n % 6) : "");
  }
  points.scale.high = 3;
  panel.layers.emplace_back(std::move(points));
  panel.color_bar_label = "layer";
  Curve curve;
  curve.x = {0, 0.25, 0.5, 0.75, 1};
  curve.y = {0.1, 0.12, 0.4, 0.8, std::nan("")};
  curve.hollow = {1, 1, 0, 0, 0};
  panel.layers.emplace_back(std::move(curve));
  panel.note = "rings: as in shuffled texts";
  result.panels.push_back(std::move(panel));
  return result;
}

Figure token_strip() {
  Figure result;
  Panel panel;
  panel.title = "Attention of “cabinet”";
  TokenStrip strip;
  strip.tokens = *names(57);
  strip.tokens[25] = "\n";
  for (std::size_t n = 0; n < strip.tokens.size(); ++n) {
    strip.values.push_back(n % 9 == 8 ? kNone : 0.5F + 0.5F * std::sin(static_cast<float>(n)));
  }
  strip.scale.colormap = "cividis";
  strip.selected = 6;
  panel.layers.push_back(std::move(strip));
  panel.color_bar_label = "weight";
  result.panels.push_back(std::move(panel));
  return result;
}

// A disc on a slope of greys: 120 × 80.
ImageLayer disc_picture() {
  constexpr std::int64_t kWidth = 120;
  constexpr std::int64_t kHeight = 80;
  std::vector<std::uint8_t> rgba;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      const bool disc = (x - 40) * (x - 40) + (y - 40) * (y - 40) < 700;
      const std::uint8_t level = disc ? 235 : static_cast<std::uint8_t>(60 + x);
      rgba.insert(rgba.end(), {level, static_cast<std::uint8_t>(disc ? 120 : level),
                               static_cast<std::uint8_t>(disc ? 60 : 180), 255});
    }
  }
  ImageLayer image;
  image.rgba = std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba));
  image.width = kWidth;
  image.height = kHeight;
  image.x = {0, 12};
  image.y = {0, 8};
  return image;
}

Figure attention_pictures(std::int64_t columns) {
  constexpr std::int64_t kRows = 2;
  const ImageLayer picture = disc_picture();
  std::vector<std::string> tokens;
  std::vector<AxisBlock> blocks;
  for (int image = 1; image <= 2; ++image) {
    for (int word = 0; word < 4 * image; ++word) {
      tokens.push_back(kWords[3 * static_cast<std::size_t>(image) + static_cast<std::size_t>(word)]);
    }
    const std::string name = "image " + std::to_string(image);
    const auto begin = static_cast<double>(tokens.size());
    for (std::int64_t cell = 0; cell < kRows * columns; ++cell) {
      tokens.push_back(name + " " + std::to_string(cell / columns) + "," + std::to_string(cell % columns));
    }
    blocks.push_back({{begin, static_cast<double>(tokens.size())}, name, picture.rgba, picture.width, picture.height});
  }
  Figure result = attention(static_cast<std::int64_t>(tokens.size()));
  Panel& panel = result.panels.front();
  panel.x.cell_names = panel.y.cell_names = std::make_shared<const std::vector<std::string>>(std::move(tokens));
  panel.x.blocks = panel.y.blocks = std::make_shared<const std::vector<AxisBlock>>(std::move(blocks));
  return result;
}

Figure image_overlay() {
  Figure result;
  Panel panel = map_panel("Rollout", heat_map(waves(8, 12), "magma", -1, 1), "attention");
  std::get<HeatMap>(panel.layers.front()).opacity = 0.5F;
  panel.layers.insert(panel.layers.begin(), disc_picture());
  panel.x.label = "patch column";
  panel.y.label = "patch row";
  result.panels.push_back(std::move(panel));
  return result;
}

std::optional<Figure> by_name(const std::string& name) {
  if (name == "attention") {
    return attention(20);
  }
  if (name == "attention-long") {
    return attention(200);
  }
  if (name == "attention-pair") {
    return attention_pair();
  }
  if (name == "thumbnails") {
    return thumbnails(6, 8, 48);
  }
  if (name == "histogram") {
    return histogram();
  }
  if (name == "length-curve") {
    return length_curve();
  }
  if (name == "points") {
    return points();
  }
  if (name == "token-strip") {
    return token_strip();
  }
  if (name == "attention-pictures") {
    return attention_pictures(4);
  }
  if (name == "image-overlay") {
    return image_overlay();
  }
  return std::nullopt;
}

}  // namespace locus::samples
