// FieldTextures: the values of Fields on the GPU, with their pyramids, found again by the Field's identity. Small
// fields (thumbnails) share pages, so that thousands are drawn at once; fields above the device's largest image are cut
// into tiles. A texture goes when its Field does, or when the memory allowed is used up and the frame can do without
// it.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "renderers/figure/pyramid.h"
#include "renderers/vulkan/texture.h"
#include "renderers/vulkan/uploader.h"

namespace locus::vulkan {

// A part of a Field in a texture: its first cell is texel (x, y) of level 0.
struct FieldPart {
  std::shared_ptr<Texture> texture;
  figure::CellRect part;
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::uint32_t levels = 0;  // above the cells
};

struct FieldTextureOptions {
  VkDeviceSize limit_bytes = VkDeviceSize{1} << 30;
  std::uint32_t tile = 4096;  // a power of two; the device's limit applies too
};

class FieldTextures {
 public:
  FieldTextures(TextureFactory& factory, Uploader& uploader, const FieldTextureOptions& options);
  ~FieldTextures();

  // Begins a frame: what belonged to Fields that are gone is let go.
  void begin();

  // The parts that cover the field, uploaded now if need be; valid until the next begin().
  Result<const std::vector<FieldPart>*> find(const std::shared_ptr<const Field>& field, figure::Reduction reduction);

  VkDeviceSize bytes() const { return bytes_; }  // of all textures
  std::size_t fields() const { return entries_.size(); }

 private:
  struct Page;
  struct PageSlot {
    Page* page = nullptr;
    std::uint32_t index = 0;
  };
  struct Entry {
    std::weak_ptr<const Field> field;
    std::vector<FieldPart> parts;
    std::vector<PageSlot> page_slots;
    VkDeviceSize bytes = 0;  // of its own textures
    std::uint64_t last_frame = 0;
  };
  using Key = std::pair<const Field*, figure::Reduction>;

  Status add_small(const std::shared_ptr<const Field>& field, figure::Reduction reduction, Entry& entry);
  Status add_tiles(const std::shared_ptr<const Field>& field, figure::Reduction reduction, Entry& entry);
  Status upload(const Field& field, const figure::Pyramid& pyramid, const FieldPart& part);
  Result<PageSlot> take_slot(std::uint32_t size);
  void release(Entry& entry);
  void make_room();

  TextureFactory& factory_;
  Uploader& uploader_;
  FieldTextureOptions options_;
  std::map<Key, Entry> entries_;
  std::list<Page> pages_;
  VkDeviceSize bytes_ = 0;
  std::uint64_t frame_ = 0;
};

}  // namespace locus::vulkan
