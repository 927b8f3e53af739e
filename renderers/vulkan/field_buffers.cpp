#include "renderers/vulkan/field_buffers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace locus::vulkan {
namespace {

constexpr std::int64_t kStrip = 32;  // columns
constexpr std::uint32_t kPageTexels = 1U << 20;
constexpr std::uint32_t kSmallestSlot = 1U << 10;
constexpr std::uint32_t kLargestSlot = 1U << 17;  // 256 × 256 cells with their pyramid fit
constexpr int kBandLevels = 8;                    // above the cells, that a band has whole
constexpr std::int64_t kBand = 1 << kBandLevels;  // rows

// Cells without a value as a number below all others: shaders need not ask for NaNs, which compilers may assume away.
void write_values(const float* values, std::int64_t count, float* texels) {
  constexpr float kNone = -3.4e38F;
  constexpr float kLeast = -3.0e38F;
  for (std::int64_t n = 0; n < count; ++n) {
    const float value = values[n];
    texels[n] = value == value ? std::max(value, kLeast) : kNone;
  }
}

// Rows of a level into strips that are `strip` texels apart; a few rows at a time, so that both sides stay in cache.
void write_strips(const float* values, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* texels,
                  std::int64_t strip) {
  constexpr std::int64_t kRows = 32;
  for (std::int64_t row = 0; row < rows; row += kRows) {
    for (std::int64_t column = 0; column < columns; column += kStrip) {
      float* out = texels + column / kStrip * strip + row * kStrip;
      for (std::int64_t r = row; r < std::min(row + kRows, rows); ++r, out += kStrip) {
        write_values(values + r * stride + column, std::min(kStrip, columns - column), out);
      }
    }
  }
}

// The levels of a part from texel 0 on.
std::vector<StripLevel> levels_of(std::int64_t rows, std::int64_t columns) {
  std::vector<StripLevel> levels;
  std::int64_t first = 0;
  for (int n = 0; n <= figure::Pyramid::kMaxLevels; ++n) {
    levels.push_back({figure::level_size(rows, n), figure::level_size(columns, n), first, 0});
    StripLevel& level = levels.back();
    level.strip = level.rows * kStrip;
    first += level.texels();
    if (level.rows == 1 && level.columns == 1) {
      break;
    }
  }
  return levels;
}

std::int64_t texels_of(const std::vector<StripLevel>& levels) {
  return levels.back().first + levels.back().texels();
}

// All bands of a part but the last are kBand rows high, the last at least that: no cell of the levels that a band has
// is made from two bands.
std::int64_t bands_of(std::int64_t rows) {
  return std::max<std::int64_t>(1, rows / kBand);
}
Range rows_of(std::int64_t band, std::int64_t rows) {
  return {band * kBand, band + 1 == bands_of(rows) ? rows : (band + 1) * kBand};
}
std::int64_t band_of(std::int64_t row, std::int64_t rows) {
  return std::min(row / kBand, bands_of(rows) - 1);
}

}  // namespace

std::int64_t StripLevel::texels() const {
  return (columns + kStrip - 1) / kStrip * strip;
}

// A buffer of equal slots.
struct FieldBuffers::Page {
  std::shared_ptr<Texels> texels;
  std::uint32_t slot_texels = 0;
  std::vector<std::uint32_t> free;

  std::uint32_t slots() const { return kPageTexels / slot_texels; }
};

FieldBuffers::FieldBuffers(TextureFactory& factory, Uploader& uploader, const FieldBufferOptions& options)
    : factory_(factory), uploader_(uploader), options_(options) {
  const double most = factory.gpu().limits.maxTexelBufferElements;
  const auto side = static_cast<std::uint32_t>(std::sqrt(most / 1.5));  // with the pyramid and the last strip's rest
  options_.tile = std::bit_floor(std::max(1U, std::min(options.tile, side)));
}

FieldBuffers::~FieldBuffers() = default;

void FieldBuffers::begin() {
  ++frame_;
  cells_left_ = options_.slice_cells > 0 ? options_.slice_cells : std::numeric_limits<std::int64_t>::max();
  waiting_ = 0;
  bytes_written_ = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.field.expired()) {
      release(entry->second);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  for (auto page = pages_.begin(); page != pages_.end();) {
    if (page->free.size() == page->slots() && pages_.size() > 1) {
      bytes_ -= page->texels->buffer().bytes();
      uploader_.retire(page->texels);
      page = pages_.erase(page);
    } else {
      ++page;
    }
  }
}

void FieldBuffers::release(Entry& entry) {
  for (const PageSlot& slot : entry.page_slots) {
    slot.page->free.push_back(slot.index);
  }
  if (entry.page_slots.empty()) {
    for (FieldPart& part : entry.parts) {
      uploader_.retire(std::move(part.texels));
    }
  }
  bytes_ -= entry.bytes;
  entry = {};
}

// Lets go of the buffers not used for longest until the limit holds; what this frame shows stays.
void FieldBuffers::make_room() {
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

Result<const std::vector<FieldPart>*> FieldBuffers::find(const figure::MapMark& map) {
  const std::shared_ptr<const Field>& field = map.base ? map.base : map.field;
  const Key key{field.get(), map.reduction};
  Entry& entry = entries_[key];
  Status status;
  if (entry.parts.empty() || entry.field.lock() != field) {
    release(entry);
    entry.field = field;
    status = add(*field, entry);
  } else if (entry.refined != map.refined) {
    // Rows that are refined in both are the same in both.
    const Range old = entry.refined;
    const Range now = map.refined;
    change({old.begin, std::min(old.end, now.begin)}, entry);
    change({std::max(old.begin, now.end), old.end}, entry);
    change({now.begin, std::min(now.end, old.begin)}, entry);
    change({std::max(now.begin, old.end), now.end}, entry);
  }
  entry.refined = map.refined;
  entry.last_frame = frame_;
  if (status) {
    status = upload(map, entry);
  }
  if (!status) {
    release(entry);
    entries_.erase(key);
    return status.error();
  }
  make_room();
  return &std::as_const(entry.parts);
}

Result<FieldBuffers::PageSlot> FieldBuffers::take_slot(std::uint32_t texels) {
  const std::uint32_t slot_texels = std::max(std::bit_ceil(texels), kSmallestSlot);
  auto page = std::find_if(pages_.begin(), pages_.end(),
                           [&](const Page& other) { return other.slot_texels == slot_texels && !other.free.empty(); });
  if (page == pages_.end()) {
    // Never mapped: a slot may be taken again while a frame in flight reads what was there before.
    LOCUS_TRY(auto buffer, Texels::create(factory_, kPageTexels, VK_FORMAT_R32_SFLOAT, false));
    bytes_ += buffer->buffer().bytes();
    page = pages_.insert(pages_.end(), {std::move(buffer), slot_texels, {}});
    for (std::uint32_t n = page->slots(); n-- > 0;) {
      page->free.push_back(n);
    }
  }
  const PageSlot slot{&*page, page->free.back()};
  page->free.pop_back();
  return slot;
}

// Room for the field's values: a slot of a page, or buffers of its own.
Status FieldBuffers::add(const Field& field, Entry& entry) {
  const auto tile = static_cast<std::int64_t>(options_.tile);
  for (std::int64_t row = 0; row < field.rows; row += tile) {
    for (std::int64_t column = 0; column < field.columns; column += tile) {
      FieldPart part;
      part.part = {row, column, std::min(tile, field.rows - row), std::min(tile, field.columns - column)};
      part.levels = levels_of(part.part.rows, part.part.columns);
      const auto texels = static_cast<std::uint32_t>(texels_of(part.levels));
      const bool alone = part.part.rows == field.rows && part.part.columns == field.columns;
      if (alone && texels <= kLargestSlot) {
        LOCUS_TRY(const PageSlot slot, take_slot(texels));
        entry.page_slots.push_back(slot);
        part.texels = slot.page->texels;
        for (StripLevel& level : part.levels) {
          level.first += std::int64_t{slot.index} * slot.page->slot_texels;
        }
      } else {
        LOCUS_TRY(part.texels, Texels::create(factory_, texels, VK_FORMAT_R32_SFLOAT, options_.maps_memory));
        entry.bytes += part.texels->buffer().bytes();
        bytes_ += part.texels->buffer().bytes();
      }
      entry.parts.push_back(std::move(part));
      entry.tops.emplace_back();
      entry.old_bands.emplace_back();
    }
  }
  return {};
}

void FieldBuffers::change(Range rows, Entry& entry) {
  for (std::size_t n = 0; n < entry.parts.size(); ++n) {
    const FieldPart& part = entry.parts[n];
    const Range written = Range{rows.begin - part.part.row, rows.end - part.part.row}.clamped({0, part.rows_ready});
    for (std::int64_t row = written.begin; row < written.end;) {
      const std::int64_t band = band_of(row, part.part.rows);
      entry.old_bands[n].insert(band);
      row = rows_of(band, part.part.rows).end;
    }
  }
}

std::size_t FieldBuffers::bands_left(const Entry& entry) {
  std::size_t count = 0;
  for (std::size_t n = 0; n < entry.parts.size(); ++n) {
    const FieldPart& part = entry.parts[n];
    const bool more = part.rows_ready < part.part.rows;
    const std::int64_t left = more ? bands_of(part.part.rows) - band_of(part.rows_ready, part.part.rows) : 0;
    count += static_cast<std::size_t>(left) + entry.old_bands[n].size();
  }
  return count;
}

Status FieldBuffers::upload(const figure::MapMark& map, Entry& entry) {
  for (std::size_t n = 0; n < entry.parts.size(); ++n) {
    FieldPart& part = entry.parts[n];
    std::set<std::int64_t>& old = entry.old_bands[n];
    while (part.rows_ready < part.part.rows || !old.empty()) {
      if (cells_left_ <= 0) {
        waiting_ += bands_left(entry);
        return {};
      }
      const bool first = part.rows_ready < part.part.rows;
      const std::int64_t band = first ? band_of(part.rows_ready, part.part.rows) : *old.begin();
      LOCUS_CHECK(upload_band(map, band, part, entry.tops[n]));
      old.erase(band);
    }
  }
  return {};
}

// A band's rows and what the pyramid has above them.
Status FieldBuffers::upload_band(const figure::MapMark& map, std::int64_t index, FieldPart& part,
                                 std::vector<float>& top) {
  const Range rows = rows_of(index, part.part.rows);
  const bool whole = rows.size() == part.part.rows;
  const bool again = rows.begin < part.rows_ready;
  const Field& field = *map.field;
  const figure::CellRect band{part.part.row + rows.begin, part.part.column, rows.size(), part.part.columns};
  const figure::Pyramid pyramid(map.field, band, map.reduction, whole ? figure::Pyramid::kMaxLevels : kBandLevels);
  LOCUS_CHECK(write(part, 0, rows.begin, rows.size(),
                    &field.values[static_cast<std::size_t>(band.row * field.columns + band.column)], field.columns,
                    again));
  for (std::size_t n = 0; n < pyramid.levels().size(); ++n) {
    const figure::PyramidLevel& level = pyramid.levels()[n];
    const int above = static_cast<int>(n) + 1;
    LOCUS_CHECK(write(part, above, rows.begin >> above, level.rows, level.values.data(), level.columns, again));
  }
  part.levels_ready = std::max(part.levels_ready, static_cast<int>(pyramid.levels().size()));
  part.rows_ready = std::max(part.rows_ready, rows.end);
  cells_left_ -= rows.size() * part.part.columns;
  if (!whole) {
    const std::vector<float>& coarsest = pyramid.levels().back().values;
    top.resize(static_cast<std::size_t>(bands_of(part.part.rows)) * coarsest.size());
    std::copy(coarsest.begin(), coarsest.end(), top.begin() + index * static_cast<std::ptrdiff_t>(coarsest.size()));
    if (part.rows_ready == part.part.rows) {
      return upload_top(map.reduction, part, top, again);
    }
  }
  return {};
}

// The levels above those that bands have.
Status FieldBuffers::upload_top(Reduction reduction, FieldPart& part, const std::vector<float>& top, bool again) {
  const StripLevel& base = part.levels[kBandLevels];
  auto field = std::make_shared<Field>();
  field->rows = base.rows;
  field->columns = base.columns;
  field->values = top;
  const figure::Pyramid pyramid(field, {0, 0, base.rows, base.columns}, reduction,
                                figure::Pyramid::kMaxLevels - kBandLevels);
  for (std::size_t n = 0; n < pyramid.levels().size(); ++n) {
    const figure::PyramidLevel& level = pyramid.levels()[n];
    LOCUS_CHECK(
        write(part, kBandLevels + static_cast<int>(n) + 1, 0, level.rows, level.values.data(), level.columns, again));
  }
  part.levels_ready = kBandLevels + static_cast<int>(pyramid.levels().size());
  return {};
}

Status FieldBuffers::write(const FieldPart& part, int level_number, std::int64_t first_row, std::int64_t rows,
                           const float* values, std::int64_t stride, bool again) {
  const StripLevel& level = part.levels[static_cast<std::size_t>(level_number)];
  const TexelBuffer& buffer = part.texels->buffer();
  const std::int64_t first = level.first + first_row * kStrip;
  const auto bytes = [](std::int64_t texels) { return static_cast<VkDeviceSize>(texels) * sizeof(float); };
  if (buffer.data() != nullptr && !again) {
    bytes_written_ += bytes(rows * level.columns);
    write_strips(values, stride, rows, level.columns, reinterpret_cast<float*>(buffer.data()) + first, level.strip);
    return {};
  }
  const std::int64_t strips = (level.columns + kStrip - 1) / kStrip;
  const std::int64_t strip_texels = rows * kStrip;
  LOCUS_TRY(Uploader::Staged staged, uploader_.stage(bytes(strips * strip_texels)));
  write_strips(values, stride, rows, level.columns, reinterpret_cast<float*>(staged.data), strip_texels);
  if (strip_texels == level.strip) {
    uploader_.copy(buffer, staged, bytes(first), bytes(strips * strip_texels));
    return {};
  }
  for (std::int64_t n = 0; n < strips; ++n) {
    uploader_.copy(buffer, staged, bytes(first + n * level.strip), bytes(strip_texels));
    staged.offset += bytes(strip_texels);
  }
  return {};
}

}  // namespace locus::vulkan
