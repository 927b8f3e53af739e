#include "renderers/vulkan/image_textures.h"

#include <QImage>
#include <cstring>

namespace locus::vulkan {

void ImageTextures::begin() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.pixels.expired()) {
      uploader_.retire(std::move(entry->second.texture));
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

Result<std::shared_ptr<Texture>> ImageTextures::find(const figure::ImageMark& mark) {
  const auto found = entries_.find(mark.rgba.get());
  if (found != entries_.end()) {
    if (found->second.pixels.lock() == mark.rgba) {
      return found->second.texture;
    }
    uploader_.retire(std::move(found->second.texture));
    entries_.erase(found);
  }
  QImage image(mark.rgba->data(), static_cast<int>(mark.width), static_cast<int>(mark.height),
               static_cast<qsizetype>(mark.width * 4), QImage::Format_RGBA8888);
  image = image.convertToFormat(QImage::Format_RGBA8888_Premultiplied);
  if (image.width() > kLargest || image.height() > kLargest) {
    image = image.scaled(kLargest, kLargest, Qt::KeepAspectRatio, Qt::SmoothTransformation)
                .convertToFormat(QImage::Format_RGBA8888_Premultiplied);
  }
  ImageOptions options;
  options.width = static_cast<std::uint32_t>(image.width());
  options.height = static_cast<std::uint32_t>(image.height());
  const std::size_t line_bytes = static_cast<std::size_t>(options.width) * 4;
  LOCUS_TRY(auto texture, Texture::create(factory_, options));
  LOCUS_TRY(const Uploader::Staged staged, uploader_.stage(line_bytes * options.height));
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(staged.data + static_cast<std::size_t>(y) * line_bytes, image.constScanLine(y), line_bytes);
  }
  uploader_.add_new(texture->image());
  uploader_.copy(texture->image(), staged, {0, 0}, {options.width, options.height});
  entries_[mark.rgba.get()] = {mark.rgba, texture};
  return texture;
}

}  // namespace locus::vulkan
