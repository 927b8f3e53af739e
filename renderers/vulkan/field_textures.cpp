#include "renderers/vulkan/field_textures.h"

#include <algorithm>
#include <bit>

namespace locus::vulkan {
namespace {

constexpr std::uint32_t kPageSize = 1024;
constexpr std::uint32_t kSmallestSlot = 32;
constexpr std::uint32_t kLargestSlot = 256;

ImageOptions value_image(std::uint32_t width, std::uint32_t height, std::uint32_t levels) {
  ImageOptions options;
  options.width = width;
  options.height = height;
  options.levels = levels;
  options.format = VK_FORMAT_R32_SFLOAT;
  return options;
}

// Cells without a value as a number below all others: shaders need not ask for NaNs, which compilers may assume away.
void write_values(const float* values, std::size_t count, std::byte* out) {
  constexpr float kNone = -3.4e38F;
  constexpr float kLeast = -3.0e38F;
  auto* texels = reinterpret_cast<float*>(out);
  for (std::size_t n = 0; n < count; ++n) {
    const float value = values[n];
    texels[n] = value == value ? std::max(value, kLeast) : kNone;
  }
}

}  // namespace

// A texture of equal square slots, each aligned to its size so that levels of slots are slots of levels.
struct FieldTextures::Page {
  std::shared_ptr<Texture> texture;
  std::uint32_t slot_size = 0;
  std::vector<std::uint32_t> free;

  std::uint32_t slots_a_row() const { return kPageSize / slot_size; }
};

FieldTextures::FieldTextures(TextureFactory& factory, Uploader& uploader, const FieldTextureOptions& options)
    : factory_(factory), uploader_(uploader), options_(options) {
  options_.tile = std::bit_floor(std::min(options.tile, factory.gpu().limits.maxImageDimension2D));
}

FieldTextures::~FieldTextures() = default;

void FieldTextures::begin() {
  ++frame_;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.field.expired()) {
      release(entry->second);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  for (auto page = pages_.begin(); page != pages_.end();) {
    const std::size_t all = static_cast<std::size_t>(page->slots_a_row()) * page->slots_a_row();
    if (page->free.size() == all && pages_.size() > 1) {
      bytes_ -= page->texture->image().bytes();
      uploader_.retire(page->texture);
      page = pages_.erase(page);
    } else {
      ++page;
    }
  }
}

void FieldTextures::release(Entry& entry) {
  for (const PageSlot& slot : entry.page_slots) {
    slot.page->free.push_back(slot.index);
  }
  if (entry.page_slots.empty()) {
    for (FieldPart& part : entry.parts) {
      uploader_.retire(std::move(part.texture));
    }
  }
  bytes_ -= entry.bytes;
  entry.page_slots.clear();
  entry.parts.clear();
}

// Lets go of the textures not used for longest until the limit holds; what this frame shows stays.
void FieldTextures::make_room() {
  while (bytes_ > options_.limit_bytes) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      const bool candidate = entry->second.bytes > 0 && entry->second.last_frame < frame_;
      if (candidate && (oldest == entries_.end() || entry->second.last_frame < oldest->second.last_frame)) {
        oldest = entry;
      }
    }
    if (oldest == entries_.end()) {
      return;
    }
    release(oldest->second);
    entries_.erase(oldest);
  }
}

Result<const std::vector<FieldPart>*> FieldTextures::find(const std::shared_ptr<const Field>& field,
                                                          figure::Reduction reduction) {
  Entry& entry = entries_[{field.get(), reduction}];
  if (!entry.parts.empty() && entry.field.lock() == field) {
    entry.last_frame = frame_;
    return &std::as_const(entry.parts);
  }
  release(entry);
  entry.field = field;
  entry.bytes = 0;
  entry.last_frame = frame_;
  const bool small = std::max(field->rows, field->columns) <= static_cast<std::int64_t>(kLargestSlot);
  const Status status = small ? add_small(field, reduction, entry) : add_tiles(field, reduction, entry);
  if (!status) {
    release(entry);
    entries_.erase({field.get(), reduction});
    return status.error();
  }
  make_room();
  return &std::as_const(entry.parts);
}

Result<FieldTextures::PageSlot> FieldTextures::take_slot(std::uint32_t size) {
  const std::uint32_t slot_size = std::clamp(std::bit_ceil(size), kSmallestSlot, kLargestSlot);
  auto page = std::find_if(pages_.begin(), pages_.end(),
                           [&](const Page& other) { return other.slot_size == slot_size && !other.free.empty(); });
  if (page == pages_.end()) {
    const auto levels = static_cast<std::uint32_t>(std::countr_zero(slot_size)) + 1;
    LOCUS_TRY(auto texture,
              Texture::create(factory_, value_image(kPageSize, kPageSize, levels), Texture::Filter::kNearest));
    uploader_.add_new(texture->image());
    bytes_ += texture->image().bytes();
    page = pages_.insert(pages_.end(), {std::move(texture), slot_size, {}});
    for (std::uint32_t n = page->slots_a_row() * page->slots_a_row(); n-- > 0;) {
      page->free.push_back(n);
    }
  }
  const PageSlot slot{&*page, page->free.back()};
  page->free.pop_back();
  return slot;
}

Status FieldTextures::add_small(const std::shared_ptr<const Field>& field, figure::Reduction reduction, Entry& entry) {
  LOCUS_TRY(const PageSlot slot, take_slot(static_cast<std::uint32_t>(std::max(field->rows, field->columns))));
  entry.page_slots.push_back(slot);
  const figure::CellRect whole{0, 0, field->rows, field->columns};
  const figure::Pyramid pyramid(field, whole, reduction);
  FieldPart part{slot.page->texture, whole, 0, 0, static_cast<std::uint32_t>(pyramid.levels().size())};
  part.x = static_cast<std::int32_t>(slot.index % slot.page->slots_a_row() * slot.page->slot_size);
  part.y = static_cast<std::int32_t>(slot.index / slot.page->slots_a_row() * slot.page->slot_size);
  entry.parts.push_back(part);
  return upload(*field, pyramid, part);
}

Status FieldTextures::add_tiles(const std::shared_ptr<const Field>& field, figure::Reduction reduction, Entry& entry) {
  const auto tile = static_cast<std::int64_t>(options_.tile);
  for (std::int64_t row = 0; row < field->rows; row += tile) {
    for (std::int64_t column = 0; column < field->columns; column += tile) {
      const figure::CellRect rect{row, column, std::min(tile, field->rows - row),
                                  std::min(tile, field->columns - column)};
      const figure::Pyramid pyramid(field, rect, reduction);
      const auto levels = static_cast<std::uint32_t>(pyramid.levels().size());
      const ImageOptions options =
          value_image(static_cast<std::uint32_t>(rect.columns), static_cast<std::uint32_t>(rect.rows), levels + 1);
      LOCUS_TRY(auto texture, Texture::create(factory_, options, Texture::Filter::kNearest));
      uploader_.add_new(texture->image());
      entry.bytes += texture->image().bytes();
      bytes_ += texture->image().bytes();
      entry.parts.push_back({std::move(texture), rect, 0, 0, levels});
      LOCUS_CHECK(upload(*field, pyramid, entry.parts.back()));
    }
  }
  return {};
}

Status FieldTextures::upload(const Field& field, const figure::Pyramid& pyramid, const FieldPart& part) {
  const auto columns = static_cast<std::size_t>(part.part.columns);
  const auto rows = static_cast<std::size_t>(part.part.rows);
  LOCUS_TRY(const Uploader::Staged cells, uploader_.stage(rows * columns * sizeof(float)));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first =
        (static_cast<std::size_t>(part.part.row) + row) * static_cast<std::size_t>(field.columns) +
        static_cast<std::size_t>(part.part.column);
    write_values(&field.values[first], columns, cells.data + row * columns * sizeof(float));
  }
  const GpuImage& image = part.texture->image();
  uploader_.copy(image, cells, 0, {part.x, part.y},
                 {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows)});
  for (std::uint32_t n = 0; n < part.levels; ++n) {
    const figure::PyramidLevel& level = pyramid.levels()[n];
    const std::size_t bytes = level.values.size() * sizeof(float);
    LOCUS_TRY(const Uploader::Staged staged, uploader_.stage(bytes));
    write_values(level.values.data(), level.values.size(), staged.data);
    uploader_.copy(image, staged, n + 1, {part.x >> (n + 1), part.y >> (n + 1)},
                   {static_cast<std::uint32_t>(level.columns), static_cast<std::uint32_t>(level.rows)});
  }
  return {};
}

}  // namespace locus::vulkan
