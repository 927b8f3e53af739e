#include "renderers/vulkan/label_atlas.h"

#include <QImage>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace locus::vulkan {
namespace {

constexpr std::int32_t kPad = 2;  // glyphs may stick out of their advance; the outermost texels stay clear
constexpr figure::Color kWhite = 0xFFFFFFFF;

// Whether any texel is not grey: a glyph with colours of its own.
bool has_colors(const QImage& image) {
  for (int y = 0; y < image.height(); ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
    if (std::any_of(line, line + image.width(),
                    [](QRgb texel) { return qRed(texel) != qGreen(texel) || qGreen(texel) != qBlue(texel); })) {
      return true;
    }
  }
  return false;
}

QImage draw(const text::Typeface& typeface, const std::string& text, double size_px, const Label& label,
            figure::Color color) {
  QImage image(label.width, label.height, QImage::Format_RGBA8888_Premultiplied);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  figure::PlacedText placed;
  placed.text = text;
  placed.at = {static_cast<double>(label.left), static_cast<double>(label.ascent)};
  placed.size = size_px;
  placed.color = color;
  typeface.draw(painter, placed);
  painter.end();
  return image;
}

}  // namespace

Result<std::unique_ptr<LabelAtlas>> LabelAtlas::create(TextureFactory& factory, Uploader& uploader,
                                                       const text::Typeface& typeface) {
  ImageOptions options;
  options.width = kSize;
  options.height = kSize;
  LOCUS_TRY(auto texture, Texture::create(factory, options));
  uploader.add_new(texture->image());
  return std::unique_ptr<LabelAtlas>(new LabelAtlas(std::move(texture), uploader, typeface));
}

void LabelAtlas::restart() {
  labels_.clear();
  uploader_.forget_copies(texture_->image());
  x_ = 0;
  y_ = 0;
  shelf_ = 0;
}

Result<Label> LabelAtlas::find(const std::string& text, double size_px, figure::Color color) {
  const std::string key = text + '\0' + std::to_string(std::lround(size_px * 16));
  const auto found = labels_.find(key);
  if (found != labels_.end() && !found->second.colored) {
    return found->second;
  }
  const std::string colored_key = key + '\0' + std::to_string(color);
  const auto colored = labels_.find(colored_key);
  if (colored != labels_.end()) {
    return colored->second;
  }
  LOCUS_TRY(const Label label, add(text, size_px, color));
  labels_[key] = label;
  if (label.colored) {
    labels_[colored_key] = label;
  }
  return label;
}

bool LabelAtlas::place(Label& label) {
  const auto size = static_cast<std::int32_t>(kSize);
  if (x_ + label.width > size) {
    x_ = 0;
    y_ += shelf_;
    shelf_ = 0;
  }
  if (label.width > size || y_ + label.height > size) {
    return false;
  }
  label.x = x_;
  label.y = y_;
  x_ += label.width;
  shelf_ = std::max(shelf_, label.height);
  return true;
}

Result<Label> LabelAtlas::add(const std::string& text, double size_px, figure::Color color) {
  Label label;
  label.left = kPad;
  label.ascent = static_cast<std::int32_t>(std::ceil(1.1 * size_px)) + kPad;
  const double width = std::ceil(typeface_.width(text, size_px)) + 2 * kPad + 1;
  label.width = static_cast<std::int32_t>(std::min(width, static_cast<double>(kSize)));
  label.height = label.ascent + static_cast<std::int32_t>(std::ceil(0.35 * size_px)) + kPad;
  if (!place(label)) {
    return too_large("full", kFull);
  }
  QImage image = draw(typeface_, text, size_px, label, kWhite);
  label.colored = has_colors(image);
  if (label.colored) {
    image = draw(typeface_, text, size_px, label, color | 0xFF);
  }
  const std::size_t line_bytes = static_cast<std::size_t>(label.width) * 4;
  LOCUS_TRY(const Uploader::Staged staged, uploader_.stage(line_bytes * static_cast<std::size_t>(label.height)));
  for (int y = 0; y < label.height; ++y) {
    std::memcpy(staged.data + static_cast<std::size_t>(y) * line_bytes, image.constScanLine(y), line_bytes);
  }
  uploader_.copy(texture_->image(), staged, {label.x, label.y},
                 {static_cast<std::uint32_t>(label.width), static_cast<std::uint32_t>(label.height)});
  return label;
}

}  // namespace locus::vulkan
