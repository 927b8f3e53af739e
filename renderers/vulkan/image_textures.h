// ImageTextures: RGBA images on the GPU, found again by the identity of their pixels; a texture goes when the pixels
// do.
#pragma once

#include <map>
#include <memory>

#include "renderers/figure/scene.h"
#include "renderers/vulkan/texture.h"
#include "renderers/vulkan/uploader.h"

namespace locus::vulkan {

class ImageTextures {
 public:
  static constexpr int kLargest = 2048;  // larger images are scaled down smoothly

  ImageTextures(TextureFactory& factory, Uploader& uploader) : factory_(factory), uploader_(uploader) {}

  void begin();
  Result<std::shared_ptr<Texture>> find(const figure::ImageMark& mark);

 private:
  using Pixels = std::vector<std::uint8_t>;
  struct Entry {
    std::weak_ptr<const Pixels> pixels;
    std::shared_ptr<Texture> texture;
  };

  TextureFactory& factory_;
  Uploader& uploader_;
  std::map<const Pixels*, Entry> entries_;
};

}  // namespace locus::vulkan
