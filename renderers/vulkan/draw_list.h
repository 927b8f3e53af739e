// DrawList: a frame's quads and the batches they are drawn in; made from Scenes by a SceneBuilder.
#pragma once

#include <vector>

#include "renderers/figure/scene.h"
#include "renderers/vulkan/field_buffers.h"
#include "renderers/vulkan/image_textures.h"
#include "renderers/vulkan/label_atlas.h"
#include "renderers/vulkan/pipelines.h"

namespace locus::vulkan {

struct Batch {
  enum class Kind { kFills, kShapes, kMaps };
  Kind kind = Kind::kFills;
  MapKind map;  // of maps
  VkDescriptorSet set = VK_NULL_HANDLE;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// A rectangle of the framebuffer to begin with.
struct Background {
  VkRect2D rect{};
  figure::Color color = 0;
};

struct DrawList {
  std::vector<Background> backgrounds;
  std::vector<ShapeInstance> shapes;
  std::vector<MapInstance> maps;
  std::vector<Batch> batches;
};

// Where a Scene goes in the framebuffer: its canvas unit is `scale` pixels.
struct PlacedScene {
  const figure::Scene* scene = nullptr;
  double x_px = 0;
  double y_px = 0;
  double scale = 1;
};

class SceneBuilder {
 public:
  SceneBuilder(FieldBuffers& fields, ImageTextures& images, LabelAtlas& labels, const text::Typeface& typeface,
               DrawList& list)
      : fields_(fields), images_(images), labels_(labels), typeface_(typeface), list_(list) {}

  // Appends the scene's quads, uploading what they show.
  Status add(const PlacedScene& placed);

  Status operator()(const figure::FillMark& mark);
  Status operator()(const figure::LineMark& mark);
  Status operator()(const figure::AreaMark& mark);
  Status operator()(const figure::TextMark& mark);
  Status operator()(const figure::MapMark& mark);
  Status operator()(const figure::ImageMark& mark);

 private:
  double x(double canvas) const { return place_.x_px + canvas * place_.scale; }
  double y(double canvas) const { return place_.y_px + canvas * place_.scale; }
  ShapeInstance shape(ShapeInstance::Kind kind, figure::Color color) const;
  void push(const ShapeInstance& instance, VkDescriptorSet set);
  void push(const MapInstance& instance, const figure::ColorScale& scale, VkDescriptorSet set);
  void add_background(const figure::Scene& scene);
  void batch(const Batch& wanted, std::size_t index);
  void segment(figure::Point from, figure::Point to, double width, figure::Color color, bool flat);
  void add_part(const figure::MapMark& mark, const FieldPart& part);

  FieldBuffers& fields_;
  ImageTextures& images_;
  LabelAtlas& labels_;
  const text::Typeface& typeface_;
  DrawList& list_;
  PlacedScene place_;
  figure::Rect clip_;  // of the current mark, in pixels
};

}  // namespace locus::vulkan
