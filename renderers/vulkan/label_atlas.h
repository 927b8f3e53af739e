// LabelAtlas: lines of text as pictures in one texture, rasterised by Qt: any script, shaped, with colour emoji. Text
// in one colour is stored as coverage and tinted when drawn. A full atlas starts anew.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "renderers/figure/layout.h"
#include "renderers/text/typeface.h"
#include "renderers/vulkan/texture.h"
#include "renderers/vulkan/uploader.h"

namespace locus::vulkan {

struct Label {
  // Texels in the atlas.
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t width = 0;
  std::int32_t height = 0;
  // From the picture's top left to the beginning of the baseline, in pixels.
  std::int32_t left = 0;
  std::int32_t ascent = 0;
  bool colored = false;  // has its own colours: not to be tinted
};

class LabelAtlas {
 public:
  static constexpr std::uint32_t kSize = 2048;

  static Result<std::unique_ptr<LabelAtlas>> create(TextureFactory& factory, Uploader& uploader,
                                                    const text::Typeface& typeface);

  // The label of this text at `size_px`; `color` is used by labels with colours of their own. Errors: kTooLarge when
  // the atlas is full: call restart() and ask again for all labels of the frame.
  Result<Label> find(const std::string& text, double size_px, figure::Color color);

  // The context of the error of a full atlas.
  static constexpr const char* kFull = "the texture of labels";

  // Forgets every label.
  void restart();

  const Texture& texture() const { return *texture_; }

 private:
  LabelAtlas(std::shared_ptr<Texture> texture, Uploader& uploader, const text::Typeface& typeface)
      : texture_(std::move(texture)), uploader_(uploader), typeface_(typeface) {}
  Result<Label> add(const std::string& text, double size_px, figure::Color color);
  bool place(Label& label);

  std::shared_ptr<Texture> texture_;
  Uploader& uploader_;
  const text::Typeface& typeface_;
  std::unordered_map<std::string, Label> labels_;
  // The shelf being filled.
  std::int32_t x_ = 0;
  std::int32_t y_ = 0;
  std::int32_t shelf_ = 0;
};

}  // namespace locus::vulkan
