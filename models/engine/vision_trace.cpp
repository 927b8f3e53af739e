// The tower's side of a run: the records of all pictures as those of one, whose pictures do not see each other.
#include <algorithm>
#include <utility>

#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"

namespace locus::models {

namespace {

using transformer::LayerRecord;

// The tensors of all pictures behind each other; undefined where one is.
template <class Take>
at::Tensor behind(const std::vector<const LayerRecord*>& records, std::int64_t axis, const Take& take) {
  std::vector<at::Tensor> parts;
  for (const LayerRecord* const record : records) {
    const at::Tensor part = take(*record);
    if (!part.defined()) {
      return {};
    }
    parts.push_back(part);
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts, axis < 0 ? parts.front().dim() + axis : axis);
}

LayerRecord joined_records(const std::vector<const LayerRecord*>& records) {
  LayerRecord all;
  for (at::Tensor position::Prepared::*const member :
       {&position::Prepared::query, &position::Prepared::key, &position::Prepared::content_query,
        &position::Prepared::content_key}) {
    all.prepared.*member = behind(records, 2, [&](const LayerRecord& each) { return each.prepared.*member; });
  }
  all.prepared.positions = records.front()->prepared.positions;
  all.prepared.positions.ids = behind(records, 0, [](const LayerRecord& each) { return each.prepared.positions.ids; });
  all.log_sum_exp = behind(records, 2, [](const LayerRecord& each) { return each.log_sum_exp; });
  all.hidden = behind(records, 1, [](const LayerRecord& each) { return each.hidden; });
  all.state.positions = all.prepared.positions;
  all.state.table = behind(records, -2, [](const LayerRecord& each) { return each.state.table; });
  return all;
}

std::vector<TokenInfo> patch_tokens(const std::vector<TowerImage>& images) {
  std::vector<TokenInfo> tokens;
  for (std::size_t n = 0; n < images.size(); ++n) {
    const std::string before = images.size() > 1 ? std::to_string(n + 1) + ":" : "";
    const position::Positions& positions = images[n].batch.positions;
    for (std::int64_t at = 0; at < positions.size(); ++at) {
      const auto row = positions.ids[at][0].item<std::int64_t>();
      const auto column = positions.ids[at][1].item<std::int64_t>();
      const std::int64_t place = row * images[n].grid.columns + column;
      const bool patch = at >= positions.prefix;
      tokens.push_back({patch ? place : 0,
                        before + (patch ? std::to_string(row) + "," + std::to_string(column) : std::string("CLS")),
                        {},
                        static_cast<double>(place)});
    }
  }
  return tokens;
}

// Pictures, or tiles of pictures, that see themselves alone.
std::shared_ptr<const attention::Blocks> picture_blocks(const std::vector<TowerImage>& images, bool tiles) {
  std::vector<std::int64_t> of;
  std::int64_t next = 0;
  for (const TowerImage& image : images) {
    std::int64_t most = 0;
    for (std::int64_t at = 0; at < image.batch.positions.size(); ++at) {
      const std::int64_t own = tiles ? image.batch.tiles->of[static_cast<std::size_t>(at)] : 0;
      of.push_back(next + own);
      most = std::max(most, own);
    }
    next += most + 1;
  }
  return attention::Blocks::make(std::move(of), true);
}

}  // namespace

TraceData Vision::trace(const std::vector<TowerImage>& images, const SeenImages& seen) const {
  TraceData data;
  data.tokens = patch_tokens(images);
  const bool alone = images.size() == 1 && tower_->spec().image.cell == 1;
  if (alone) {
    data.grid = images.front().grid;
    data.picture = images.front().picture;
  }
  data.of_model = tower_->layer_encoding(0);
  data.read = seen.read;
  for (std::int64_t n = 0; n < tower_->spec().depth(); ++n) {
    std::vector<const LayerRecord*> records;
    for (const std::shared_ptr<const SeenPicture>& each : seen.pictures) {
      records.push_back(&each->tower.layers[static_cast<std::size_t>(n)]);
    }
    const LayerRecord record = joined_records(records);
    TraceLayer layer;
    layer.encoding = tower_->layer_encoding(n);
    layer.encoding_layer = tower_->encoding_layer(n);
    layer.computed = std::make_shared<const attention::ComputedScores>(layer.encoding, layer.encoding_layer,
                                                                       record.prepared, record.log_sum_exp);
    attention::Mask mask{false};
    mask.blocks = picture_blocks(images, tower_->block(n).spec().attention.tile > 0);
    layer.scores = std::make_shared<const attention::ScoreField>(layer.computed, mask);
    layer.state = record.state;
    layer.hidden = record.hidden.defined() ? record.hidden[0] : at::Tensor();
    data.layers.push_back(std::move(layer));
  }
  data.position_ids = data.layers.front().state->positions.ids;
  return data;
}

at::Tensor Vision::grids(const std::vector<TowerImage>& images, bool videos) {
  std::vector<std::int64_t> grids;
  std::int64_t last = -1;
  for (const TowerImage& image : images) {
    if ((image.video >= 0) != videos) {
      continue;
    }
    if (videos && image.video == last) {
      ++grids[grids.size() - 3];
      continue;
    }
    last = image.video;
    grids.insert(grids.end(), {1, image.grid.rows, image.grid.columns});
  }
  return grids.empty() ? at::Tensor() : at::tensor(at::ArrayRef<std::int64_t>(grids), at::kLong).view({-1, 3});
}

at::Tensor Vision::pixel_values(const std::vector<TowerImage>& images, bool videos) const {
  std::vector<at::Tensor> parts;
  std::int64_t height = 0;
  std::int64_t width = 0;
  const bool patches = tower_->spec().image.frames > 0;
  for (const TowerImage& image : images) {
    if ((image.video >= 0) != videos) {
      continue;
    }
    parts.push_back(patches ? image.batch.pixels[0] : image.batch.pixels);
    height = patches ? 0 : std::max(height, parts.back().size(2));
    width = patches ? 0 : std::max(width, parts.back().size(3));
  }
  if (parts.empty()) {
    return {};
  }
  for (at::Tensor& part : parts) {
    part = patches ? part : at::constant_pad_nd(part, {0, width - part.size(3), 0, height - part.size(2)}, 0);
  }
  return at::cat(parts);
}

}  // namespace locus::models
