// Contents as a safetensors file.
#include <cmath>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

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

std::vector<std::int64_t> with_front(std::int64_t first, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), first);
  return shape;
}

// A tensor of a table.
struct Part {
  std::string name;
  DType dtype = DType::kF64;
  std::vector<std::int64_t> shape;
  std::function<std::vector<std::byte>(const Table&)> bytes;
};

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
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

// Whether a cell of maps with so many pixels on a side lies above the diagonal.
bool is_above(std::size_t cell, std::int64_t side) {
  const auto own = static_cast<std::int64_t>(cell) % (side * side);
  return own % side > own / side;
}

// The maps (H, M, M) of a compact file: `number` of their cells in float32, of causal ones those that the diagonal
// bounds.
std::vector<std::byte> packed(const Table& table, bool causal, const std::function<double(std::size_t cell)>& number) {
  std::vector<float> numbers;
  for (std::size_t n = 0; n < table.sum.size(); ++n) {
    if (!causal || !is_above(n, table.shape[1])) {
      numbers.push_back(static_cast<float>(number(n)));
    }
  }
  return bytes_of(numbers);
}

std::vector<Part> packed_maps(const std::string& name, const Table& table, double samples) {
  const std::int64_t side = table.shape[1];
  bool causal = true;
  for (std::size_t n = 0; n < table.sum.size() && causal; ++n) {
    causal = !is_above(n, side) || std::isnan(table.sum[n]);
  }
  const auto sums = [causal](const Table& own) {
    return packed(own, causal, [&](std::size_t n) { return own.sum[n]; });
  };
  const auto deviations = [causal, samples](const Table& own) {
    return packed(own, causal, [&](std::size_t n) { return deviation(own.sum[n], own.squares[n], samples); });
  };
  const std::vector<std::int64_t> shape{table.shape[0], packed_cells(side, causal)};
  return {{name, DType::kF32, shape, sums}, {name + ".deviation", DType::kF32, shape, deviations}};
}

// The tensors of a table, whose bytes are those of a table that is made once more.
Result<std::vector<Part>> parts_of(const Contents& contents, const Table& table, bool compact) {
  const std::string name = tensor_name({table.statistic, table.layer, table.null});
  const auto samples = contents.samples.find(samples_name(samples_of(table.statistic), table.null));
  if (compact && samples == contents.samples.end()) {
    return internal("atlas: " + name + " has no count of samples");
  }
  const std::int64_t side = contents.info.map_size;
  if (compact && table.replicates.empty() && table.shape.size() == 3 && table.shape[1] == side &&
      table.shape[2] == side) {
    return packed_maps(name, table, samples->second.count);
  }
  std::vector<Part> parts{
      {name, DType::kF64, table.shape, [](const Table& own) { return bytes_of(own.sum); }},
      {name + ".squares", DType::kF64, table.shape, [](const Table& own) { return bytes_of(own.squares); }}};
  if (!table.replicates.empty() && compact) {
    const SampleCount& counts = samples->second;
    parts.push_back({name + ".interval", DType::kF64, with_front(2, table.shape),
                     [&counts](const Table& own) { return bytes_of(intervals_of(own, counts)); }});
  } else if (!table.replicates.empty()) {
    parts.push_back({name + ".replicates", DType::kF32, with_front(contents.info.replicates, table.shape),
                     [](const Table& own) { return bytes_of(own.replicates); }});
  }
  return parts;
}

// The tensors of all tables, one table and one tensor of it in memory at a time.
class TableTensors {
 public:
  explicit TableTensors(const TableSource& tables) : tables_(tables) {}

  void add(std::size_t table, Part part, std::vector<OutputTensor>& list) {
    OutputTensor tensor{part.name, part.dtype, part.shape, {}};
    tensor.make = [this, table, bytes = std::move(part.bytes)]() -> std::span<const std::byte> {
      if (made_ != table) {
        table_ = tables_.table(table);
        made_ = table;
      }
      bytes_ = bytes(table_);
      return bytes_;
    };
    list.push_back(std::move(tensor));
  }

 private:
  const TableSource& tables_;
  std::optional<std::size_t> made_;
  Table table_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Status write_atlas(const std::filesystem::path& path, const Contents& contents, const TableSource& tables,
                   bool compact) {
  std::vector<OutputTensor> list;
  std::list<std::vector<double>> counts;
  const auto add = [&list](const std::string& name, const std::vector<double>& numbers) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    list.push_back({name, DType::kF64, {size}, std::as_bytes(std::span(numbers))});
  };
  for (const auto& [name, samples] : contents.samples) {
    std::vector<double>& numbers = counts.emplace_back(1, samples.count);
    if (!compact) {
      numbers.insert(numbers.end(), samples.replicates.begin(), samples.replicates.end());
    }
    add("samples." + name, numbers);
  }
  for (const auto& [name, numbers] : contents.axes) {
    add("axes." + name, numbers);
  }
  TableTensors tensors(tables);
  for (std::size_t n = 0; n < tables.count; ++n) {
    LOCUS_TRY(std::vector<Part> parts, parts_of(contents, tables.table(n), compact));
    for (Part& part : parts) {
      tensors.add(n, std::move(part), list);
    }
  }
  const auto examples =
      contents.info.examples ? example_tensors(contents.examples, contents.info) : std::vector<OwnTensor>();
  for (const OwnTensor& tensor : examples) {
    list.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  return formats::write_safetensors(path, list, metadata_of(contents));
}

Status write_atlas(const std::filesystem::path& path, const Contents& contents, bool compact) {
  return write_atlas(path, contents, {contents.tables.size(), [&](std::size_t n) { return contents.tables[n]; }},
                     compact);
}

}  // namespace locus::models::atlas
