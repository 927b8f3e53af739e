#include "models/api/atlas_trace.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/shown.h"

namespace locus::models {

namespace {

ModelInfo info_of(const AtlasInfo& atlas, const std::filesystem::path& path) {
  ModelInfo info;
  info.name = printable(atlas.checkpoint);
  info.family = atlas.family;
  info.layers = atlas.layers;
  info.heads = info.kv_heads = atlas.heads;
  info.files = {path.string()};
  LayerInfo layer;
  layer.encoding = atlas.encoding.empty() ? -1 : 0;
  info.layer_info.assign(static_cast<std::size_t>(atlas.layers), layer);
  if (!atlas.encoding.empty()) {
    EncodingUse use;
    use.name = atlas.encoding;
    info.encodings.push_back(std::move(use));
  }
  return info;
}

class AtlasTrace final : public Trace {
 public:
  AtlasTrace(std::shared_ptr<const Atlas> atlas, const std::filesystem::path& path)
      : atlas_(std::move(atlas)), model_(info_of(atlas_->info(), path)) {
    if (auto mixers = mixers_of(atlas_)) {
      mixers_ = std::make_shared<const AtlasTrace>(std::move(mixers), path);
    }
    for (std::int64_t n = 0; n < std::max<std::int64_t>(atlas_->info().length, 1); ++n) {
      tokens_.push_back({0, std::to_string(n), {}, static_cast<double>(n)});
    }
  }

  const Atlas* atlas() const { return atlas_.get(); }
  const ModelInfo& model() const override { return model_; }
  std::shared_ptr<const Trace> side(Side side) const override { return side == Side::kMixer ? mixers_ : nullptr; }
  const std::vector<TokenInfo>& tokens() const override { return tokens_; }
  const ImageGrid& image_grid() const override { return grid_; }
  const std::string& text() const override { return text_; }
  double time_ms() const override { return 0; }
  std::int64_t memory_mb() const override { return 0; }
  std::vector<Prediction> top(std::int64_t /*count*/) const override { return {}; }
  Result<Field> map(const MapRequest& /*request*/, StopToken /*stop*/) const override { return no_scores(); }
  Result<Field> overview(const MapRequest& /*request*/, std::int64_t /*height*/, std::int64_t /*width*/,
                         Reduction /*reduction*/, StopToken /*stop*/) const override {
    return no_scores();
  }
  Result<Field> dot_product(std::int64_t /*layer*/, std::int64_t /*head*/, Range /*rows*/, Range /*columns*/,
                            const Similarity& /*similarity*/) const override {
    return no_scores();
  }
  Status write(const std::filesystem::path& /*path*/, const std::set<std::string>& /*keep*/,
               const Progress& /*progress*/, StopToken /*stop*/) const override {
    return no_scores();
  }

 private:
  Error no_scores() const {
    return unsupported("an atlas holds means over many texts, and no scores of one", model_.name);
  }

  std::shared_ptr<const Atlas> atlas_;
  std::shared_ptr<const Trace> mixers_;
  ModelInfo model_;
  std::vector<TokenInfo> tokens_;
  ImageGrid grid_;
  std::string text_;
};

}  // namespace

const Atlas* atlas_of(const Trace& trace) {
  const auto* const own = dynamic_cast<const AtlasTrace*>(&trace);
  return own == nullptr ? nullptr : own->atlas();
}

std::shared_ptr<const Trace> trace_of(std::shared_ptr<const Atlas> atlas, const std::filesystem::path& path) {
  return std::make_shared<AtlasTrace>(std::move(atlas), path);
}

Result<std::shared_ptr<const Trace>> open_atlas_trace(const std::filesystem::path& path) {
  LOCUS_TRY(std::shared_ptr<const Atlas> atlas, open_atlas(path));
  return trace_of(std::move(atlas), path);
}

}  // namespace locus::models
