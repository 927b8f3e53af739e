// FieldBuffers: the values of Fields on the GPU, with their pyramids, found again by the Field's identity. Small fields
// (thumbnails) share buffers, so that thousands are drawn at once; fields of more cells than a buffer may have are cut
// into parts. A buffer goes when its Field does, or when the memory allowed is used up and the frame can do without it.
// For a field that becomes exact (HeatMap::base) only the bands that changed are written, as many a frame as of a new
// one; until then their older values are drawn.
//
// A level lies in strips of 32 columns: cell (row, column) is texel first + column / 32 · strip + row · 32 + column
// mod 32. What a tile of the screen reads is then a few runs of memory, not a piece of a hundred far rows.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "renderers/figure/pyramid.h"
#include "renderers/figure/scene.h"
#include "renderers/vulkan/texture.h"
#include "renderers/vulkan/uploader.h"

namespace locus::vulkan {

struct StripLevel {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t first = 0;  // texel
  std::int64_t strip = 0;  // texels from a strip to the next

  std::int64_t texels() const;
};

// A part of a Field in texels.
struct FieldPart {
  std::shared_ptr<Texels> texels;
  figure::CellRect part;
  std::vector<StripLevel> levels;  // the cells, then the pyramid's
  std::int64_t rows_ready = 0;     // of the part; the others follow in later frames
  int levels_ready = 0;            // above the cells
};

struct FieldBufferOptions {
  VkDeviceSize limit_bytes = VkDeviceSize{1} << 30;
  std::uint32_t tile = 4096;     // cells along a side of a part, a power of two; the device's limit applies too
  std::int64_t slice_cells = 0;  // about as many are uploaded in a frame, the rest in the next ones; 0: all
  bool maps_memory = true;       // write the device's memory where it can be, without staging
};

class FieldBuffers {
 public:
  FieldBuffers(TextureFactory& factory, Uploader& uploader, const FieldBufferOptions& options);
  ~FieldBuffers();

  // Begins a frame: what belonged to Fields that are gone is let go.
  void begin();

  // The parts that cover the map's field, uploaded now as far as this frame's slice goes; valid until the next begin().
  Result<const std::vector<FieldPart>*> find(const figure::MapMark& map);

  VkDeviceSize bytes() const { return bytes_; }  // of all buffers
  std::size_t fields() const { return entries_.size(); }
  VkDeviceSize bytes_written() const { return bytes_written_; }  // in this frame, without staging
  bool pending() const { return waiting_ > 0; }     // something asked for in this frame is not uploaded to its end
  std::size_t waiting() const { return waiting_; }  // bands of rows of that

 private:
  struct Page;
  struct PageSlot {
    Page* page = nullptr;
    std::uint32_t index = 0;
  };
  struct Entry {
    std::weak_ptr<const Field> field;  // or the base of one
    Range refined;
    std::vector<FieldPart> parts;
    std::vector<std::vector<float>> tops;           // a part: the coarsest level that its bands have, a row a band
    std::vector<std::set<std::int64_t>> old_bands;  // a part: bands to be written again
    std::vector<PageSlot> page_slots;
    VkDeviceSize bytes = 0;  // of its own buffers
    std::uint64_t last_frame = 0;
  };
  using Key = std::pair<const Field*, Reduction>;

  Status add(const Field& field, Entry& entry);
  // These rows of the field are no longer what was written.
  static void change(Range rows, Entry& entry);
  static std::size_t bands_left(const Entry& entry);  // that are not uploaded
  Status upload(const figure::MapMark& map, Entry& entry);
  Status upload_band(const figure::MapMark& map, std::int64_t index, FieldPart& part, std::vector<float>& top);
  Status upload_top(Reduction reduction, FieldPart& part, const std::vector<float>& top, bool again);
  // With `again` earlier frames may still be reading what is there.
  Status write(const FieldPart& part, int level, std::int64_t first_row, std::int64_t rows, const float* values,
               std::int64_t stride, bool again);
  Result<PageSlot> take_slot(std::uint32_t texels);
  void release(Entry& entry);
  void make_room();

  TextureFactory& factory_;
  Uploader& uploader_;
  FieldBufferOptions options_;
  std::map<Key, Entry> entries_;
  std::list<Page> pages_;
  VkDeviceSize bytes_ = 0;
  VkDeviceSize bytes_written_ = 0;
  std::uint64_t frame_ = 0;
  std::int64_t cells_left_ = 0;  // of this frame's slice
  std::size_t waiting_ = 0;
};

}  // namespace locus::vulkan
