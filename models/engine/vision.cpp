#include "models/engine/vision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "models/formats/tensor_source.h"

namespace locus::models {

namespace {

// Patches of one picture; more are a mistake.
constexpr std::int64_t kMaxPatches = 65536;
constexpr std::int64_t kMaxImages = 4096;
constexpr std::int64_t kMaxSourceSide = std::int64_t{1} << 24;

// The connectors' parameters under the names that a plan has for them.
std::vector<transformer::Parameter> connector_parameters(std::vector<transformer::Connector>& connectors) {
  std::vector<transformer::Parameter> all;
  for (std::size_t n = 0; n < connectors.size(); ++n) {
    const std::string prefix = n == 0 ? "connector." : "deepstack." + std::to_string(n - 1) + ".";
    for (transformer::Parameter& parameter : connectors[n].parameters()) {
      parameter.name = prefix + parameter.name;
      all.push_back(std::move(parameter));
    }
  }
  return all;
}

// A tensor of whole numbers (n, columns), or undefined where the file has none.
Result<at::Tensor> read_numbers(const formats::Source& source, const std::filesystem::path& file,
                                const std::string& name, std::int64_t columns) {
  const formats::TensorInfo* const info = source->find(name);
  if (info == nullptr) {
    return at::Tensor();
  }
  const std::string where = file.string() + ": tensor " + name;
  if (info->shape.size() != 2 || info->shape[1] != columns || info->shape[0] < 1 || info->shape[0] > kMaxImages) {
    return bad_input(
        "expected shape [images, " + std::to_string(columns) + "], found " + transformer::shape_text(info->shape),
        where);
  }
  if (info->dtype != formats::DType::kI64) {
    return bad_input("expected whole numbers (int64), found " + std::string(formats::to_text(info->dtype)), where);
  }
  return transformer::to_tensor_as_stored(*info, source).contiguous();
}

// Seconds between the groups of frames of each video; 1 where the file has none.
Result<std::vector<double>> read_seconds(const formats::Source& source, const std::filesystem::path& file,
                                         std::int64_t videos) {
  constexpr double kMaxSeconds = 1e6;
  const std::string where = file.string() + ": tensor second_per_grid_ts";
  const formats::TensorInfo* const info = source->find("second_per_grid_ts");
  if (info == nullptr) {
    return std::vector<double>(static_cast<std::size_t>(videos), 1);
  }
  if (info->shape != std::vector<std::int64_t>{videos}) {
    return bad_input("expected shape [" + std::to_string(videos) + "], found " + transformer::shape_text(info->shape),
                     where);
  }
  const at::Tensor seconds = transformer::to_tensor(*info, source).to(at::kDouble).contiguous();
  const auto* const from = seconds.data_ptr<double>();
  std::vector<double> list(from, from + videos);
  for (const double each : list) {
    if (!(each >= 0 && each <= kMaxSeconds)) {
      return bad_input("expected seconds from 0 to 1000000, found another number", where);
    }
  }
  return list;
}

std::string size_text(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + " × " + std::to_string(columns);
}

}  // namespace

Result<std::unique_ptr<Vision>> Vision::create(const families::VisionPlan& plan, std::int64_t text_width) {
  auto made = std::unique_ptr<Vision>(new Vision);
  LOCUS_TRY(made->tower_, transformer::Transformer::create(plan.tower.spec, false));
  std::vector<transformer::ConnectorSpec> specs{plan.connector};
  specs.insert(specs.end(), plan.deepstack.begin(), plan.deepstack.end());
  for (const transformer::ConnectorSpec& spec : specs) {
    LOCUS_TRY(transformer::Connector connector, transformer::Connector::create(spec, plan.tower.spec, text_width));
    made->connectors_.push_back(std::move(connector));
  }
  made->placeholders_ = plan.placeholders;
  made->videos_ = plan.videos;
  made->tokens_per_second_ = plan.tokens_per_second;
  made->newline_width_ = plan.newline ? text_width : 0;
  made->most_tiles_ = plan.most_tiles;
  return made;
}

Result<transformer::WeightBinding> Vision::bind_weights(const families::VisionPlan& plan,
                                                        const families::CheckpointFiles& checkpoint) {
  LOCUS_TRY(transformer::WeightBinding binding, transformer::bind_weights(*tower_, plan.tower, checkpoint));
  families::Plan names;
  names.further = plan.tower.further;
  for (const families::Name& row : plan.names) {
    names.name(row.parameter, row.tensor, row.layout, row.piece);
  }
  std::vector<transformer::Parameter> parameters = connector_parameters(connectors_);
  if (newline_width_ > 0) {
    parameters.push_back({"newline", {newline_width_}, &newline_});
  }
  LOCUS_TRY(transformer::WeightBinding own, transformer::bind_weights(parameters, names, checkpoint));
  binding.add(std::move(own));
  return binding;
}

void Vision::to(at::Device device) {
  tower_->to(device);
  for (transformer::Connector& connector : connectors_) {
    connector.to(device);
  }
  if (newline_.defined() && !device.is_cpu()) {
    newline_ = newline_.to(device);
  }
}

Result<TowerImage> Vision::image_of(const at::Tensor& pixels) const {
  const transformer::ImageStem& stem = tower_->spec().image;
  const std::int64_t side = stem.patch * connector().spec().cell();
  const std::int64_t height = pixels.size(1);
  const std::int64_t width = pixels.size(2);
  if (height < side || width < side || height % side != 0 || width % side != 0) {
    return bad_input("expected a picture of whole cells of " + std::to_string(side) + " pixels, found " +
                     size_text(height, width));
  }
  const std::int64_t rows = height / stem.patch;
  const std::int64_t columns = width / stem.patch;
  if (stem.frames == 0) {
    return image_of(pixels.unsqueeze(0), rows, columns);
  }
  return image_of_frames(pixels.unsqueeze(0).expand({stem.frames, -1, -1, -1}));
}

Result<TowerImage> Vision::image_of_frames(const at::Tensor& frames) const {
  const transformer::ImageStem& stem = tower_->spec().image;
  const std::int64_t side = stem.patch * connector().spec().cell();
  const std::int64_t height = frames.size(2);
  const std::int64_t width = frames.size(3);
  if (height < side || width < side || height % side != 0 || width % side != 0) {
    return bad_input("expected frames of whole cells of " + std::to_string(side) + " pixels, found " +
                     size_text(height, width));
  }
  const std::int64_t rows = height / stem.patch;
  const std::int64_t columns = width / stem.patch;
  // (frames, channels, cell rows, m, patch, cell columns, m, patch) -> cells, patches of a cell, channels, frames, patch ×
  // patch
  const std::int64_t cell = stem.cell;
  const at::Tensor apart =
      frames.reshape({stem.frames, stem.channels, rows / cell, cell, stem.patch, columns / cell, cell, stem.patch})
          .permute({2, 5, 3, 6, 1, 0, 4, 7});
  return image_of(apart.reshape({1, rows * columns, -1}), rows, columns);
}

Result<TowerImage> Vision::image_of(const at::Tensor& patches, std::int64_t rows, std::int64_t columns) const {
  const transformer::ImageStem& stem = tower_->spec().image;
  if (rows > kMaxPatches / columns) {
    return too_large("expected a picture of at most " + std::to_string(kMaxPatches) + " patches, found " +
                     size_text(rows, columns));
  }
  TowerImage image;
  image.batch.pixels = patches.contiguous();
  image.batch.positions = tower_->grid_positions(rows, columns);
  image.batch.tiles = tower_->tiles(image.batch.positions);
  image.grid = {rows, columns, stem.class_tokens, stem.registers, stem.detections};
  LOCUS_CHECK(tower_->accepts(image.batch.positions));
  return image;
}

Result<std::vector<TowerImage>> Vision::read_patches(const formats::Source& source, const std::filesystem::path& file,
                                                     bool videos) const {
  const transformer::ImageStem& stem = tower_->spec().image;
  const std::string name = videos ? "pixel_values_videos" : "pixel_values";
  const std::string grid_name = videos ? "video_grid_thw" : "image_grid_thw";
  const std::string where = file.string() + ": tensor " + name;
  const std::string grid_where = file.string() + ": tensor " + grid_name;
  const formats::TensorInfo* const info = source->find(name);
  const std::int64_t row = stem.channels * stem.frames * stem.patch * stem.patch;
  const std::string expected = "[patches, " + std::to_string(row) + "]";
  if (info == nullptr) {
    return bad_input("expected shape " + expected + ", found none", where);
  }
  const std::vector<std::int64_t>& shape = info->shape;
  if (shape.size() != 2 || shape[1] != row || shape[0] < 1) {
    return bad_input("expected shape " + expected + ", found " + transformer::shape_text(shape), where);
  }
  const at::Tensor pixels = transformer::to_tensor(*info, source);
  LOCUS_TRY(const at::Tensor grids, read_numbers(source, file, grid_name, 3));
  if (!grids.defined()) {
    return bad_input(std::string("expected shape [") + (videos ? "videos" : "images") + ", 3], found none", grid_where);
  }
  std::vector<double> seconds(static_cast<std::size_t>(grids.size(0)), 1);
  if (videos) {
    LOCUS_TRY(seconds, read_seconds(source, file, grids.size(0)));
  }
  std::vector<TowerImage> images;
  std::int64_t first = 0;
  for (std::int64_t n = 0; n < grids.size(0); ++n) {
    const auto* grid = grids.data_ptr<std::int64_t>() + 3 * n;
    const std::int64_t most_frames = videos ? kMaxImages : 1;
    const bool whole = grid[0] >= 1 && grid[0] <= most_frames && grid[1] > 0 && grid[2] > 0 && grid[1] <= kMaxPatches &&
                       grid[2] <= kMaxPatches / grid[1] && grid[1] % stem.cell == 0 && grid[2] % stem.cell == 0 &&
                       grid[0] * grid[1] * grid[2] <= shape[0] - first;
    if (!whole) {
      return bad_input(std::string("expected ") + (videos ? "frames" : "1") +
                           ", rows and columns of whole cells of the " + std::to_string(shape[0] - first) +
                           " patches left, found " + std::to_string(grid[0]) + ", " + std::to_string(grid[1]) + ", " +
                           std::to_string(grid[2]),
                       grid_where);
    }
    const std::int64_t count = grid[1] * grid[2];
    for (std::int64_t frame = 0; frame < grid[0]; ++frame, first += count) {
      LOCUS_TRY(TowerImage image, image_of(pixels.slice(0, first, first + count).unsqueeze(0), grid[1], grid[2]));
      if (videos) {
        const double own = seconds[static_cast<std::size_t>(n)];
        image.video = n;
        image.frame = frame;
        image.seconds = static_cast<double>(frame) * own;
        image.step = videos_ == image::VideoRule::kIndex     ? frame
                     : videos_ == image::VideoRule::kSeconds ? image::seconds_step(frame, own, tokens_per_second_)
                                                             : 0;
      }
      images.push_back(std::move(image));
    }
  }
  return first == shape[0] ? Result<std::vector<TowerImage>>(std::move(images))
                           : bad_input("expected the " + std::to_string(first) + " patches of " + grid_name +
                                           ", found " + std::to_string(shape[0]),
                                       where);
}

Result<std::vector<TowerImage>> Vision::read(const std::filesystem::path& file) const {
  const transformer::ImageStem& stem = tower_->spec().image;
  LOCUS_TRY(const formats::Source source, formats::open_tensors(file));
  const std::string where = file.string() + ": tensor pixel_values";
  const formats::TensorInfo* const info = source->find("pixel_values");
  const bool has_videos = source->find("pixel_values_videos") != nullptr;
  if (has_videos && videos_ == image::VideoRule::kNone) {
    return bad_input("expected none, since this model reads no videos, found one",
                     file.string() + ": tensor pixel_values_videos");
  }
  std::vector<TowerImage> images;
  if (stem.frames > 0) {
    if (info != nullptr || !has_videos) {
      LOCUS_TRY(images, read_patches(source, file, false));
    }
    if (has_videos) {
      LOCUS_TRY(std::vector<TowerImage> frames, read_patches(source, file, true));
      std::move(frames.begin(), frames.end(), std::back_inserter(images));
    }
    return images;
  }
  const std::string expected = "[images, " + std::to_string(stem.channels) + ", H, W]";
  if (info == nullptr) {
    return bad_input("expected shape " + expected + ", found none", where);
  }
  const std::vector<std::int64_t>& shape = info->shape;
  const bool fits = shape.size() == 4 && shape[1] == stem.channels && shape[0] > 0 && shape[0] <= kMaxImages &&
                    shape[2] > 0 && shape[3] > 0;
  if (!fits) {
    return bad_input("expected shape " + expected + ", found " + transformer::shape_text(shape), where);
  }
  const at::Tensor pixels = transformer::to_tensor(*info, source);
  LOCUS_TRY(const at::Tensor sizes, ends_rows() ? Result<at::Tensor>(at::Tensor())  // those of pictures before tiles
                                                : read_numbers(source, file, "image_sizes", 2));
  if (sizes.defined() && sizes.size(0) != shape[0]) {
    return bad_input("expected " + std::to_string(shape[0]) + " rows, found " + std::to_string(sizes.size(0)),
                     file.string() + ": tensor image_sizes");
  }
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    at::Tensor own = pixels[n];
    if (sizes.defined()) {
      const auto* size = sizes.data_ptr<std::int64_t>() + 2 * n;
      if (size[0] < 1 || size[1] < 1 || size[0] > shape[2] || size[1] > shape[3]) {
        return bad_input(
            "expected sizes up to " + size_text(shape[2], shape[3]) + ", found " + size_text(size[0], size[1]),
            file.string() + ": tensor image_sizes");
      }
      own = own.slice(1, 0, size[0]).slice(2, 0, size[1]);
    }
    LOCUS_TRY(TowerImage image, within(image_of(own), where));
    images.push_back(std::move(image));
  }
  return images;
}

std::int64_t Vision::count(const TowerImage& image) const {
  return connector().spec().count(image.grid.rows, image.grid.columns, tower_->prefix_tokens());
}

namespace {

// Python's a // b of numbers above 0.
std::int64_t floor_divided(double a, double b) {
  const double quotient = (a - std::fmod(a, b)) / b;
  const double below = std::floor(quotient);
  return static_cast<std::int64_t>(below) + (quotient - below > 0.5 ? 1 : 0);
}

// Cells on both sides of a reduced one, and the part of the second: bilinear between middles, without widening.
struct Between {
  std::int64_t first = 0;
  std::int64_t second = 0;
  double part = 0;
};
Between between(std::int64_t cell, std::int64_t from, std::int64_t to) {
  const double at =
      std::max(0.0, (static_cast<double>(cell) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5);
  const auto first = std::min(static_cast<std::int64_t>(at), from - 1);
  return {first, std::min(first + 1, from - 1), at - static_cast<double>(first)};
}

struct Corners {
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> shares{};
};
Corners alone(std::int64_t vector) {
  return {{vector, vector, vector, vector}, {1, 0, 0, 0}};
}

}  // namespace

image::CellWindow Vision::covered(std::span<const TowerImage> picture) {
  const TowerImage& tile = picture.back();
  return image::covered_cells(tile.tile.rows * tile.grid.rows, tile.tile.columns * tile.grid.columns, tile.source_width,
                              tile.source_height);
}

Result<std::int64_t> Vision::count(std::span<const TowerImage> picture) const {
  if (!ends_rows()) {
    std::int64_t sum = 0;
    for (const TowerImage& part : picture) {
      sum += count(part);
    }
    return sum;
  }
  const ImageGrid cells = reduced(picture);
  if (cells.rows < 1 || cells.columns < 1) {
    return bad_input("expected a picture that covers a row and a column of cells, found one of " +
                     size_text(picture.back().source_height, picture.back().source_width) + " pixels");
  }
  return count(picture.front()) + cells.rows * (cells.columns + 1);
}

ImageGrid Vision::reduced(std::span<const TowerImage> picture) const {
  constexpr double kMost = 1.1;  // of both sides, which stay as they are
  const image::CellWindow window = covered(picture);
  const std::int64_t side = picture.back().grid.rows;
  const double ratio = most_tiles_ == 0 || side == 0 ? 1
                                                     : std::sqrt(static_cast<double>(window.rows * window.columns) /
                                                                 static_cast<double>(most_tiles_ * side * side));
  if (ratio <= kMost) {
    return {window.rows, window.columns};
  }
  const auto whole = [ratio](std::int64_t cells) { return floor_divided(static_cast<double>(cells), ratio); };
  return {whole(window.rows), whole(window.columns)};
}

VectorOrder Vision::order(const std::vector<TowerImage>& images, const std::vector<std::size_t>& parts) const {
  if (!ends_rows()) {
    return {};
  }
  std::int64_t newline = 0;  // behind the vectors of all parts
  for (const TowerImage& image : images) {
    newline += count(image);
  }
  std::vector<Corners> order;
  bool any_reduced = false;
  std::size_t next = 0;
  std::int64_t first = 0;  // vector of the picture
  for (const std::size_t own : parts) {
    const auto picture = std::span<const TowerImage>(images).subspan(next, own);
    const TowerImage& tile = picture.back();
    const std::int64_t cells = count(tile);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      order.push_back(alone(first + cell));
    }
    const image::CellWindow window = covered(picture);
    const ImageGrid to = reduced(picture);
    any_reduced = any_reduced || to.rows != window.rows || to.columns != window.columns;
    const auto vector_at = [&](std::int64_t row, std::int64_t column) {
      row += window.top;
      column += window.left;
      const std::int64_t of = row / tile.grid.rows * tile.tile.columns + column / tile.grid.columns;
      return first + (1 + of) * cells + row % tile.grid.rows * tile.grid.columns + column % tile.grid.columns;
    };
    for (std::int64_t row = 0; row < to.rows; ++row) {
      const Between down = between(row, window.rows, to.rows);
      for (std::int64_t column = 0; column < to.columns; ++column) {
        const Between across = between(column, window.columns, to.columns);
        order.push_back({{vector_at(down.first, across.first), vector_at(down.first, across.second),
                          vector_at(down.second, across.first), vector_at(down.second, across.second)},
                         {(1 - down.part) * (1 - across.part), (1 - down.part) * across.part,
                          down.part * (1 - across.part), down.part * across.part}});
      }
      order.push_back(alone(newline));
    }
    next += own;
    first += static_cast<std::int64_t>(own) * cells;
  }
  std::vector<std::int64_t> index;
  std::vector<double> shares;
  for (const Corners& each : order) {
    index.insert(index.end(), each.index.begin(), each.index.end());
    shares.insert(shares.end(), each.shares.begin(), each.shares.end());
  }
  constexpr std::int64_t kCorners = 4;
  const at::Tensor corners = at::tensor(at::ArrayRef<std::int64_t>(index), at::kLong).view({-1, kCorners});
  if (!any_reduced) {
    return {corners.select(1, 0).contiguous(), {}};
  }
  return {corners, at::tensor(at::ArrayRef<double>(shares), at::kDouble).view({-1, kCorners})};
}

at::Tensor Vision::arranged(const at::Tensor& vectors, const VectorOrder& order) const {
  if (!order.index.defined()) {
    return vectors;
  }
  const at::Tensor all = at::cat({vectors, newline_.to(vectors.scalar_type()).unsqueeze(0)});
  const at::Tensor index = order.index.to(vectors.device());
  if (!order.shares.defined()) {
    return all.index_select(0, index);
  }
  const at::Tensor corners = all.index_select(0, index.flatten()).view({index.size(0), index.size(1), all.size(1)});
  return (corners * order.shares.to(vectors.device(), vectors.scalar_type()).unsqueeze(-1)).sum(1);
}

Result<std::vector<std::size_t>> Vision::find_tiles(const std::filesystem::path& file,
                                                    const image::Preprocessing& options,
                                                    std::vector<TowerImage>& images) const {
  LOCUS_TRY(const formats::Source source, formats::open_tensors(file));
  LOCUS_TRY(const at::Tensor sizes, read_numbers(source, file, "image_sizes", 2));
  const std::string where = file.string() + ": tensor image_sizes";
  if (!sizes.defined()) {
    return bad_input("expected shape [images, 2], found none", where);
  }
  std::vector<std::size_t> parts;
  std::size_t next = 0;
  for (std::int64_t n = 0; n < sizes.size(0); ++n) {
    const auto* const size = sizes.data_ptr<std::int64_t>() + 2 * n;
    if (size[0] < 1 || size[1] < 1 || size[0] > kMaxSourceSide || size[1] > kMaxSourceSide) {
      return bad_input("expected heights and widths from 1 to " + std::to_string(kMaxSourceSide) + ", found " +
                           size_text(size[0], size[1]),
                       where);
    }
    const image::TilePlace grid = image::canvas_of(size[1], size[0], options);
    const auto own = static_cast<std::size_t>(1 + grid.rows * grid.columns);
    for (std::size_t part = 0; part < own && next + part < images.size(); ++part) {
      TowerImage& image = images[next + part];
      image.source_height = size[0];
      image.source_width = size[1];
      if (part > 0) {
        const auto tile = static_cast<std::int64_t>(part) - 1;
        image.tile = {grid.rows, grid.columns, tile / grid.columns, tile % grid.columns};
      }
    }
    parts.push_back(own);
    next += own;
  }
  return next == images.size() ? Result<std::vector<std::size_t>>(std::move(parts))
                               : bad_input("expected pictures of " + std::to_string(images.size()) +
                                               " parts, as pixel_values has, found " + std::to_string(next),
                                           where);
}

double Vision::connector_macs(const TowerImage& image) const {
  double macs = 0;
  for (const transformer::Connector& each : connectors_) {
    macs += each.macs(image.grid.rows, image.grid.columns, tower_->prefix_tokens());
  }
  return macs;
}

Result<transformer::ImageRows> Vision::rows(const std::vector<TowerImage>& images, const Run& run,
                                            at::Tensor* read) const {
  std::vector<std::vector<at::Tensor>> parts(connectors_.size());
  std::vector<at::Tensor> reads;
  const bool in_cells = tower_->spec().image.cell > 1;
  for (std::size_t n = 0; n < images.size(); ++n) {
    LOCUS_TRY(const std::vector<at::Tensor> states, run(n));
    for (std::size_t k = 0; k < connectors_.size(); ++k) {
      const at::Tensor own = connectors_[k].read(states, tower_->prefix_tokens());
      parts[k].push_back(connectors_[k](own, images[n].grid.rows, images[n].grid.columns, in_cells));
      if (k == 0) {
        reads.push_back(own);
      }
    }
  }
  transformer::ImageRows rows;
  rows.vectors = at::cat(parts.front());
  for (std::size_t k = 1; k < parts.size(); ++k) {
    rows.added.push_back(at::cat(parts[k]));
  }
  if (read != nullptr) {
    *read = at::cat(reads);
  }
  return rows;
}

Result<std::shared_ptr<const SeenPicture>> Vision::see(const TowerImage& image,
                                                       const transformer::ObserveOptions& options) const {
  auto seen = std::make_shared<SeenPicture>();
  transformer::ObserveOptions wanted;
  wanted.hidden = true;
  wanted.stop = options.stop;
  wanted.pause = options.pause;
  LOCUS_TRY(seen->tower, tower_->observe(image.batch, wanted));
  std::vector<at::Tensor> states;
  for (transformer::LayerRecord& layer : seen->tower.layers) {
    states.push_back(layer.hidden[0]);
    layer.hidden = options.hidden ? layer.hidden : at::Tensor();
  }
  states.push_back(seen->tower.logits[0]);
  const bool in_cells = tower_->spec().image.cell > 1;
  for (const transformer::Connector& connector : connectors_) {
    const at::Tensor read = connector.read(states, tower_->prefix_tokens());
    seen->vectors.push_back(connector(read, image.grid.rows, image.grid.columns, in_cells));
    seen->read = seen->read.defined() ? seen->read : read;
  }
  seen->pixels = image.batch.pixels;
  seen->grid = image.grid;
  seen->hidden = options.hidden;
  return std::shared_ptr<const SeenPicture>(std::move(seen));
}

Result<SeenImages> Vision::observe(const std::vector<TowerImage>& images,
                                   const transformer::ObserveOptions& options) const {
  SeenImages seen;
  std::vector<at::Tensor> reads;
  std::vector<std::vector<at::Tensor>> vectors(connectors_.size());
  for (const TowerImage& image : images) {
    std::shared_ptr<const SeenPicture> own = kept_->find(image, options.hidden);
    if (own == nullptr) {
      LOCUS_TRY(own, see(image, options));
      kept_->keep(own);
    }
    reads.push_back(own->read);
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      vectors[k].push_back(own->vectors[k]);
    }
    seen.pictures.push_back(std::move(own));
  }
  const auto joined = [](const std::vector<at::Tensor>& parts) {
    return parts.size() == 1 ? parts.front() : at::cat(parts);
  };
  seen.read = joined(reads);
  seen.rows.vectors = joined(vectors.front());
  for (std::size_t k = 1; k < vectors.size(); ++k) {
    seen.rows.added.push_back(joined(vectors[k]));
  }
  return seen;
}

}  // namespace locus::models
