// Contents as a safetensors file.
#include <array>
#include <cmath>
#include <list>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/numbers.h"
#include "models/formats/atlas/contents.h"

namespace locus::models::atlas {

namespace {

using formats::DType;
using formats::OutputTensor;
using nlohmann::json;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::map<std::string, std::string> metadata_of(const Contents& contents) {
  const AtlasInfo& info = contents.info;
  json corpus = json::array();
  for (const AtlasCorpus& file : info.corpus) {
    corpus.push_back({{"name", file.name}, {"sha256", file.sha256}, {"bytes", file.bytes}});
  }
  std::map<std::string, std::string> metadata{
      {"locus.format", "atlas/1"},
      {"locus.version", info.version},
      {"locus.checkpoint", info.checkpoint},
      {"locus.sha256", info.sha256},
      {"locus.family", info.family},
      {"locus.encoding", info.encoding},
      {"locus.layers", std::to_string(info.layers)},
      {"locus.heads", std::to_string(info.heads)},
      {"locus.corpus", text_of(corpus)},
      {"locus.what", text_of(info.what)},
      {"locus.windows", std::to_string(info.windows)},
      {"locus.done", std::to_string(info.done)},
      {"locus.length", std::to_string(info.length)},
      {"locus.map_size", std::to_string(info.map_size)},
      {"locus.replicates", std::to_string(info.replicates)},
      {"locus.seed", std::to_string(info.seed)},
  };
  if (info.mixer_heads > 0) {
    metadata["locus.mixer_heads"] = std::to_string(info.mixer_heads);
  }
  if (info.examples) {
    metadata["locus.examples"] = example_options_text(*info.examples);
  }
  if (info.step) {
    metadata["locus.step"] = std::to_string(*info.step);
  }
  for (const auto& [name, value] : contents.notes) {
    metadata["locus." + name] = value;
  }
  return metadata;
}

class Tensors {
 public:
  void add(std::string name, std::vector<std::int64_t> shape, const std::vector<double>& numbers) {
    list_.push_back({std::move(name), DType::kF64, std::move(shape), std::as_bytes(std::span(numbers))});
  }
  void add_own(std::string name, std::vector<std::int64_t> shape, std::vector<double> numbers) {
    add(std::move(name), std::move(shape), own_.emplace_back(std::move(numbers)));
  }
  void add_own(std::string name, std::vector<std::int64_t> shape, std::vector<float> numbers) {
    list_.push_back({std::move(name), DType::kF32, std::move(shape),
                     std::as_bytes(std::span<const float>(own_floats_.emplace_back(std::move(numbers))))});
  }
  const std::vector<OutputTensor>& list() const { return list_; }

 private:
  std::vector<OutputTensor> list_;
  std::list<std::vector<double>> own_;  // bytes without another owner
  std::list<std::vector<float>> own_floats_;
};

std::vector<std::int64_t> with_front(std::int64_t first, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), first);
  return shape;
}

std::vector<double> intervals_of(const Table& table, const SampleCount& samples) {
  const std::size_t entries = table.sum.size();
  std::vector<double> values(2 * entries);
  for (std::size_t n = 0; n < entries; ++n) {
    const Interval interval = bootstrap_interval(table.replicates.data(), entries, n, samples);
    values[n] = interval.low;
    values[entries + n] = interval.high;
  }
  return values;
}

// The maps (H, M, M) of a compact file: their cells in float32, of causal ones those that the diagonal bounds.
void add_packed_maps(const std::string& name, const Table& table, double samples, Tensors& tensors) {
  const std::int64_t side = table.shape[1];
  const auto above = [side](std::size_t n) {
    const auto cell = static_cast<std::int64_t>(n) % (side * side);
    return cell % side > cell / side;
  };
  bool causal = true;
  for (std::size_t n = 0; n < table.sum.size() && causal; ++n) {
    causal = !above(n) || std::isnan(table.sum[n]);
  }
  std::vector<float> sums;
  std::vector<float> deviations;
  for (std::size_t n = 0; n < table.sum.size(); ++n) {
    if (!causal || !above(n)) {
      sums.push_back(static_cast<float>(table.sum[n]));
      deviations.push_back(static_cast<float>(deviation(table.sum[n], table.squares[n], samples)));
    }
  }
  const std::vector<std::int64_t> shape{table.shape[0], packed_cells(side, causal)};
  tensors.add_own(name, shape, std::move(sums));
  tensors.add_own(name + ".deviation", shape, std::move(deviations));
}

Status add_table(const Contents& contents, const Table& table, bool compact, Tensors& tensors) {
  const std::string name = tensor_name({table.statistic, table.layer, table.null});
  const auto samples = contents.samples.find(samples_name(samples_of(table.statistic), table.null));
  if (compact && samples == contents.samples.end()) {
    return internal("atlas: " + name + " has no count of samples");
  }
  const std::int64_t side = contents.info.map_size;
  if (compact && table.replicates.empty() && table.shape.size() == 3 && table.shape[1] == side &&
      table.shape[2] == side) {
    add_packed_maps(name, table, samples->second.count, tensors);
    return {};
  }
  tensors.add(name, table.shape, table.sum);
  tensors.add(name + ".squares", table.shape, table.squares);
  if (table.replicates.empty()) {
    return {};
  }
  if (!compact) {
    tensors.add(name + ".replicates", with_front(contents.info.replicates, table.shape), table.replicates);
    return {};
  }
  tensors.add_own(name + ".interval", with_front(2, table.shape), intervals_of(table, samples->second));
  return {};
}

}  // namespace

Status write_atlas(const std::filesystem::path& path, const Contents& contents, bool compact) {
  Tensors tensors;
  for (const auto& [name, samples] : contents.samples) {
    std::vector<double> numbers{samples.count};
    if (!compact) {
      numbers.insert(numbers.end(), samples.replicates.begin(), samples.replicates.end());
    }
    const auto size = static_cast<std::int64_t>(numbers.size());
    tensors.add_own("samples." + name, {size}, std::move(numbers));
  }
  for (const auto& [name, numbers] : contents.axes) {
    tensors.add("axes." + name, {static_cast<std::int64_t>(numbers.size())}, numbers);
  }
  for (const Table& table : contents.tables) {
    LOCUS_CHECK(add_table(contents, table, compact, tensors));
  }
  std::vector<OutputTensor> list = tensors.list();
  const auto examples =
      contents.info.examples ? example_tensors(contents.examples, contents.info) : std::vector<OwnTensor>();
  for (const OwnTensor& tensor : examples) {
    list.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  return formats::write_safetensors(path, list, metadata_of(contents));
}

}  // namespace locus::models::atlas
