// models/api/atlas.h: an atlas file for reading, and its contents for resuming.
#include "models/api/atlas.h"
#include "models/api/atlas_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/atlas_statistics.h"
#include "models/formats/atlas/contents.h"

namespace locus::models {

namespace {

using atlas::OpenedAtlas;
using atlas::SampleCount;
using atlas::samples_name;
using atlas::TableName;
using atlas::tensor_name;

constexpr double kNormal = 1.959963984540054;  // Φ⁻¹(0.975)

class OpenAtlas : public Atlas {
 public:
  explicit OpenAtlas(OpenedAtlas file) : file_(std::move(file)) {
    for (const TableName& table : file_.tables) {
      if (std::find(names_.begin(), names_.end(), table.statistic) == names_.end()) {
        names_.push_back(table.statistic);
      }
    }
  }

  const AtlasInfo& info() const override { return file_.info; }
  const std::vector<std::string>& statistics() const override { return names_; }

  bool of_model(const std::string& statistic) const override {
    return file_.source->find(tensor_name({statistic, kAtlasOfModel})) != nullptr;
  }

  bool has(const std::string& statistic, AtlasNull null) const override {
    return std::any_of(file_.tables.begin(), file_.tables.end(),
                       [&](const TableName& table) { return table.statistic == statistic && table.null == null; });
  }

  const std::vector<double>& axis(const std::string& name) const override {
    static const std::vector<double> none;
    const auto found = file_.axes.find(name);
    return found == file_.axes.end() ? none : found->second;
  }

  Result<HeadExamples> examples(std::int64_t layer, std::int64_t head) const override {
    const bool known = layer >= 0 && layer < file_.info.layers && head >= 0 && head < file_.info.heads;
    if (!file_.info.examples || !known) {
      return Atlas::examples(layer, head);
    }
    LOCUS_TRY(HeadExamples examples, atlas::read_examples(file_, layer, head));
    const std::vector<double>& edges = axis("examples.edges");
    const auto counts = values("examples.histogram", layer, AtlasNull::kText);
    const auto bins = std::ssize(edges) - 1;
    if (bins > 0 && counts.ok() && std::ssize(counts->mean) == bins * file_.info.heads) {
      const auto own = counts->mean.begin() + head * bins;
      examples.edges = edges;
      std::transform(own, own + bins, std::back_inserter(examples.histogram),
                     [&](double share) { return share * counts->samples; });
    }
    return examples;
  }

  Result<AtlasValues> values(const std::string& statistic, std::int64_t layer, AtlasNull null) const override {
    const std::string name = tensor_name({statistic, layer, null});
    const formats::TensorInfo* const tensor = file_.source->find(name);
    if (tensor == nullptr || !has(statistic, null)) {
      return bad_input("expected a statistic of the atlas, found " + shown(name), file_.path.string());
    }
    const SampleCount& samples = file_.samples.at(samples_name(atlas::samples_of(statistic), null));
    AtlasValues values;
    values.shape = tensor->shape;
    values.samples = samples.count;
    values.mean = numbers_of(file_, name);
    if (const std::vector<double> deviations = numbers_of(file_, name + ".deviation"); !deviations.empty()) {
      fill_packed(deviations, values);
      fill_normal(values);
      return values;
    }
    fill_deviation(numbers_of(file_, name + ".squares"), values);
    if (const std::vector<float> replicates = floats_of(file_, name + ".replicates"); !replicates.empty()) {
      for (std::size_t n = 0; n < values.mean.size(); ++n) {
        const auto [low, high] = atlas::bootstrap_interval(replicates.data(), values.mean.size(), n, samples);
        values.low.push_back(low);
        values.high.push_back(high);
      }
    } else if (const std::vector<double> both = numbers_of(file_, name + ".interval"); !both.empty()) {
      const auto half = both.begin() + static_cast<std::ptrdiff_t>(values.mean.size());
      values.low.assign(both.begin(), half);
      values.high.assign(half, both.end());
    } else {
      fill_normal(values);
    }
    return values;
  }

 private:
  // Converts sums to means.
  static void fill_deviation(const std::vector<double>& squares, AtlasValues& values) {
    const double count = values.samples;
    for (std::size_t n = 0; n < squares.size(); ++n) {
      values.deviation.push_back(atlas::deviation(values.mean[n], squares[n], count));
      values.mean[n] = count > 0 ? values.mean[n] / count : kNaN;
    }
  }

  // Converts the sums of packed maps (H, cells) to means (H, M, M), NaN at cells that are not kept.
  void fill_packed(const std::vector<double>& deviations, AtlasValues& values) const {
    const std::int64_t side = file_.info.map_size;
    const std::int64_t heads = values.shape[0];
    const bool causal = values.shape[1] != atlas::packed_cells(side, false);
    const std::vector<double> sums = std::move(values.mean);
    values.shape = {heads, side, side};
    values.mean.assign(static_cast<std::size_t>(heads * side * side), kNaN);
    values.deviation = values.mean;
    std::size_t from = 0;
    for (std::int64_t row = 0; row < heads * side; ++row) {
      const std::int64_t cells = causal ? row % side + 1 : side;
      for (std::int64_t column = 0; column < cells; ++column, ++from) {
        const auto to = static_cast<std::size_t>(row * side + column);
        values.mean[to] = values.samples > 0 ? sums[from] / values.samples : kNaN;
        values.deviation[to] = deviations[from];
      }
    }
  }

  static void fill_normal(AtlasValues& values) {
    for (std::size_t n = 0; n < values.mean.size(); ++n) {
      const double half = kNormal * values.deviation[n] / std::sqrt(values.samples);
      values.low.push_back(values.mean[n] - half);
      values.high.push_back(values.mean[n] + half);
    }
  }

  OpenedAtlas file_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<double> pair_wavelengths(const Atlas& atlas, std::int64_t layer) {
  const std::vector<double>& of_layers = atlas.axis(atlas::kEncodingOfLayers);
  if (of_layers.empty()) {
    return atlas.axis(atlas::wavelength_axis(0));
  }
  if (layer < 0 || layer >= std::ssize(of_layers)) {
    return {};
  }
  const double encoding = of_layers[static_cast<std::size_t>(layer)];
  const bool known = encoding >= 0 && encoding < static_cast<double>(of_layers.size());
  return known ? atlas.axis(atlas::wavelength_axis(static_cast<std::size_t>(encoding))) : std::vector<double>();
}

namespace {

// What an atlas has of layers without a soft-max.
class MixerAtlas : public Atlas {
 public:
  explicit MixerAtlas(std::shared_ptr<const Atlas> whole) : whole_(std::move(whole)), info_(whole_->info()) {
    info_.heads = info_.mixer_heads;
    info_.encoding.clear();
    info_.examples.reset();
    for (const std::string& name : whole_->statistics()) {
      if (name.starts_with(atlas::kOfMixers)) {
        names_.push_back(name.substr(atlas::kOfMixers.size()));
      }
    }
  }

  const AtlasInfo& info() const override { return info_; }
  const std::vector<std::string>& statistics() const override { return names_; }
  bool of_model(const std::string& /*statistic*/) const override { return false; }
  bool has(const std::string& statistic, AtlasNull null) const override { return whole_->has(own(statistic), null); }
  const std::vector<double>& axis(const std::string& name) const override {
    static const std::vector<double> none;
    return name.starts_with("profile.") ? whole_->axis(name) : none;
  }

  // Layers without a mixer have no tensors.
  Result<AtlasValues> values(const std::string& statistic, std::int64_t layer, AtlasNull null) const override {
    Result<AtlasValues> found = whole_->values(own(statistic), layer, null);
    if (found.ok() || !has(statistic, null) || layer < 0 || layer >= info_.layers) {
      return found;
    }
    for (std::int64_t other = 0; other < info_.layers; ++other) {
      Result<AtlasValues> like = whole_->values(own(statistic), other, null);
      if (like.ok()) {
        for (std::vector<double>* const numbers : {&like->mean, &like->low, &like->high, &like->deviation}) {
          std::fill(numbers->begin(), numbers->end(), kNaN);
        }
        return like;
      }
    }
    return found;
  }

 private:
  static std::string own(const std::string& statistic) { return std::string(atlas::kOfMixers) + statistic; }

  std::shared_ptr<const Atlas> whole_;
  AtlasInfo info_;
  std::vector<std::string> names_;
};

}  // namespace

std::shared_ptr<const Atlas> mixers_of(const std::shared_ptr<const Atlas>& atlas) {
  auto mixers = std::make_shared<const MixerAtlas>(atlas);
  return mixers->info().heads == 0 || mixers->statistics().empty() ? nullptr : mixers;
}

Result<std::shared_ptr<const Atlas>> open_atlas(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return atlas::open_headvis(path);
  }
  LOCUS_TRY(OpenedAtlas file, atlas::open_file(path));
  return std::shared_ptr<const Atlas>(std::make_shared<OpenAtlas>(std::move(file)));
}

bool is_atlas(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return atlas::is_headvis(path);
  }
  if (path.extension() != ".safetensors" || !std::filesystem::is_regular_file(path, ignored)) {
    return false;
  }
  const auto source = formats::open_tensors(path);
  if (!source.ok()) {
    return false;
  }
  const auto format = (*source)->metadata().find("locus.format");
  return format != (*source)->metadata().end() && format->second.starts_with("atlas/");
}

namespace atlas {

namespace {

bool keeps_no_replicates(const OpenedAtlas& file, const TableName& name) {
  const std::string tensor = tensor_name(name);
  return file.source->find(tensor + ".interval") != nullptr || file.source->find(tensor + ".deviation") != nullptr;
}

}  // namespace

bool is_compact(const std::filesystem::path& path) {
  const auto file = open_file(path);
  return file.ok() &&
         std::ranges::any_of(file->tables, [&](const TableName& name) { return keeps_no_replicates(*file, name); });
}

Result<Contents> read_contents(const std::filesystem::path& path) {
  LOCUS_TRY(OpenedAtlas file, open_file(path));
  Contents contents;
  for (const TableName& name : file.tables) {
    const std::string tensor = tensor_name(name);
    if (keeps_no_replicates(file, name)) {
      return bad_input("expected replicates, found intervals: a compact atlas cannot be gone on with", path.string());
    }
    contents.tables.push_back({name.statistic, name.layer, name.null, file.source->find(tensor)->shape,
                               numbers_of(file, tensor), numbers_of(file, tensor + ".squares"),
                               floats_of(file, tensor + ".replicates")});
  }
  LOCUS_TRY(contents.examples, example_contents(file));
  contents.info = std::move(file.info);
  contents.samples = std::move(file.samples);
  contents.axes = std::move(file.axes);
  contents.notes = std::move(file.notes);
  return contents;
}

}  // namespace atlas

const std::vector<AtlasStatistic>& atlas_statistics() {
  static const std::vector<AtlasStatistic> all{
      {"profile", "mean weight and logit by distance"},
      {"heads", "entropy, previous, first, self, induction, distance bias of every head"},
      {"sinks", "weight on the first 16 keys, and the norms of their values"},
      {"loss", "-log p by token index"},
      {"pairs", "norms of queries and keys in each rotary pair"},
      {"retrieval", "whether a hidden sentence is copied out, by depth and length, and by which heads"},
      {"spans", "weight on the beginning, the hidden sentence, the neighbourhood and the rest while it is copied"},
      {"mean-map", "mean weight by query and key, reduced"},
      {"mixers", "heads of layers without a softmax: shares by distance, previous, first, induction, decay"},
      {"examples", "windows in which each head acts most, and a sample of each level; only where asked for", false},
  };
  return all;
}

Status has_statistic(const ModelInfo& info, const std::string& statistic) {
  if (statistic == "mixers" && !info.has_mixers()) {
    return unsupported("mixers: expected a model with layers without a softmax", info.name);
  }
  const bool predicts = statistic == "loss" || statistic == "retrieval" || statistic == "spans";
  return predicts && !info.causal ? Status(unsupported(statistic + ": expected a causal model", info.name)) : Status();
}

}  // namespace locus::models
