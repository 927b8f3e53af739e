// Reading the header of an atlas file, with the checks for untrusted files.
#include <cstring>
#include <set>

#include "core/base/checked.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/formats/atlas/contents.h"
#include "models/formats/json/json.h"
#include "models/formats/tensor_table.h"

namespace locus::models::atlas {

namespace {

using formats::DType;
using formats::TensorInfo;
using nlohmann::json;

constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHeads = 65536;
constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;
constexpr std::int64_t kMaxReplicates = 10000;
constexpr std::int64_t kMaxListed = std::int64_t{1} << 24;  // longest axis

// Reads the metadata of one file.
class Metadata {
 public:
  Metadata(const formats::TensorSource& source, const std::filesystem::path& path)
      : entries_(source.metadata()), path_(path.string()) {}

  std::string where(const std::string& key) const { return path_ + ": metadata locus." + key; }
  std::string text(const std::string& key) const {
    const auto found = entries_.find("locus." + key);
    return found == entries_.end() ? "" : found->second;
  }
  Status whole(const std::string& key, std::int64_t least, std::int64_t most, std::int64_t& value) const {
    const auto number = parse_number<std::int64_t>(text(key));
    if (!number || *number < least || *number > most) {
      return bad_input("expected a whole number of " + std::to_string(least) + " to " + std::to_string(most) +
                           ", found " + shown(text(key)),
                       where(key));
    }
    value = *number;
    return {};
  }

 private:
  const std::map<std::string, std::string>& entries_;
  std::string path_;
};

Status read_corpus(const Metadata& metadata, std::vector<AtlasCorpus>& corpus) {
  LOCUS_TRY(const json list, parse_json(metadata.text("corpus"), metadata.where("corpus")));
  if (!list.is_array()) {
    return bad_input("expected a list, found " + shown_value(list), metadata.where("corpus"));
  }
  for (const json& each : list) {
    LOCUS_TRY(const JsonObject file, JsonObject::of(each, metadata.where("corpus")));
    AtlasCorpus entry;
    LOCUS_TRY(entry.name, file.get<std::string>("name"));
    LOCUS_TRY(entry.sha256, file.get<std::string>("sha256"));
    LOCUS_TRY(entry.bytes, file.get<std::int64_t>("bytes"));
    corpus.push_back(std::move(entry));
  }
  return {};
}

Status read_what(const Metadata& metadata, std::vector<std::string>& what) {
  LOCUS_TRY(const json list, parse_json(metadata.text("what"), metadata.where("what")));
  for (const json& each : list) {
    if (!list.is_array() || !each.is_string()) {
      return bad_input("expected a list of names, found " + shown_value(list), metadata.where("what"));
    }
    what.push_back(each.get<std::string>());
  }
  return {};
}

Result<AtlasInfo> read_info(const Metadata& metadata) {
  AtlasInfo info;
  info.version = metadata.text("version");
  info.checkpoint = metadata.text("checkpoint");
  info.sha256 = metadata.text("sha256");
  info.family = metadata.text("family");
  info.encoding = metadata.text("encoding");
  LOCUS_CHECK(metadata.whole("layers", 1, kMaxLayers, info.layers));
  LOCUS_CHECK(metadata.whole("heads", 1, kMaxHeads, info.heads));
  LOCUS_CHECK(metadata.whole("windows", 1, kMaxLength, info.windows));
  LOCUS_CHECK(metadata.whole("done", 0, info.windows, info.done));
  LOCUS_CHECK(metadata.whole("length", 2, kMaxLength, info.length));
  LOCUS_CHECK(metadata.whole("map_size", 0, 1024, info.map_size));
  LOCUS_CHECK(metadata.whole("replicates", 0, kMaxReplicates, info.replicates));
  const auto seed = parse_number<std::uint64_t>(metadata.text("seed"));
  if (!seed) {
    return bad_input("expected a seed, found " + shown(metadata.text("seed")), metadata.where("seed"));
  }
  info.seed = *seed;
  if (!metadata.text("mixer_heads").empty()) {
    LOCUS_CHECK(metadata.whole("mixer_heads", 1, kMaxHeads, info.mixer_heads));
  }
  if (!metadata.text("step").empty()) {
    std::int64_t step = 0;
    LOCUS_CHECK(metadata.whole("step", 0, std::int64_t{1} << 60, step));
    info.step = step;
  }
  if (!metadata.text("examples").empty()) {
    LOCUS_TRY(info.examples, read_example_options(metadata.text("examples"), metadata.where("examples")));
  }
  LOCUS_CHECK(read_corpus(metadata, info.corpus));
  LOCUS_CHECK(read_what(metadata, info.what));
  return info;
}

// Removes `prefix` from the start.
bool take(std::string_view& text, std::string_view prefix) {
  const bool there = text.starts_with(prefix);
  text.remove_prefix(there ? prefix.size() : 0);
  return there;
}

// The name of a table, for a tensor with sums.
std::optional<TableName> parse_table(std::string_view name) {
  TableName table;
  table.null = take(name, "null.") ? AtlasNull::kShuffled : AtlasNull::kText;
  if (take(name, "layers.")) {
    const std::size_t dot = name.find('.');
    const auto layer = parse_number<std::int64_t>(name.substr(0, dot));
    if (dot == std::string_view::npos || !layer || *layer < 0) {
      return std::nullopt;
    }
    table.layer = *layer;
    name.remove_prefix(dot + 1);
  } else if (!take(name, "model.")) {
    return std::nullopt;
  }
  table.statistic = name;
  return name.empty() ? std::nullopt : std::optional(table);
}

constexpr std::string_view kDeviation = ".deviation";  // of packed maps
constexpr std::string_view kReplicates = ".replicates";
constexpr std::array<std::string_view, 4> kParts{".squares", kReplicates, ".interval", kDeviation};

bool is_part(std::string_view name) {
  for (const std::string_view part : kParts) {
    if (name.ends_with(part)) {
      return true;
    }
  }
  return false;
}

class Checker {
 public:
  explicit Checker(OpenedAtlas& file) : file_(file) {}

  Status check() {
    for (const TensorInfo& tensor : file_.source->tensors()) {
      if (tensor.name.starts_with(kOfExamples)) {
        continue;  // checked together
      }
      const bool either = tensor.name.ends_with(kReplicates);  // F64 in older files
      const bool small = is_packed(tensor.name) || either;
      if (tensor.dtype != (small ? DType::kF32 : DType::kF64) && !(either && tensor.dtype == DType::kF64)) {
        return bad_input(
            "expected " + std::string(small ? "F32" : "F64") + ", found " + std::string(tensor.type_name()),
            where(tensor.name));
      }
      LOCUS_CHECK(place(tensor));
    }
    for (const std::string& name : parts_) {
      const std::string whole = name.substr(0, name.rfind('.'));
      if (sums_.count(whole) == 0) {
        return bad_input("expected tensor " + whole + " beside it, found none", where(name));
      }
    }
    for (const TableName& table : file_.tables) {
      LOCUS_CHECK(check_table(table));
    }
    return check_examples(file_);
  }

 private:
  std::string where(const std::string& tensor) const { return formats::tensor_context(file_.path, tensor); }

  // Whether the tensor is one of the two of the maps of a compact file.
  bool is_packed(std::string_view name) const {
    if (name.ends_with(kDeviation)) {
      name.remove_suffix(kDeviation.size());
    }
    return parse_table(name) && file_.source->find(std::string(name) + std::string(kDeviation)) != nullptr;
  }

  Status place(const TensorInfo& tensor) {
    std::string_view name = tensor.name;
    if (take(name, "axes.")) {
      LOCUS_CHECK(check_list(tensor, 1, kMaxListed));
      file_.axes[std::string(name)] = numbers_of(file_, tensor.name);
    } else if (take(name, "samples.")) {
      LOCUS_CHECK(check_list(tensor, 1, 1 + file_.info.replicates));
      std::vector<double> numbers = numbers_of(file_, tensor.name);
      const double count = numbers.front();
      file_.samples[std::string(name)] = {count, {numbers.begin() + 1, numbers.end()}};
    } else if (is_part(name)) {
      parts_.push_back(tensor.name);
    } else if (const auto table = parse_table(name); table) {
      sums_.insert(tensor.name);
      file_.tables.push_back(*table);
    } else {
      return bad_input("expected layers.N.STATISTIC, model.STATISTIC, samples.NAME or axes.NAME", where(tensor.name));
    }
    return {};
  }

  Status check_list(const TensorInfo& tensor, std::int64_t least, std::int64_t most) const {
    if (tensor.shape.size() != 1 || tensor.shape[0] < least || tensor.shape[0] > most) {
      return bad_input("expected [" + std::to_string(least) + " … " + std::to_string(most) + "], found " +
                           formats::shape_text(tensor.shape),
                       where(tensor.name));
    }
    return {};
  }

  Status check_shape(const std::string& name, std::vector<std::int64_t> expected, std::int64_t front) const {
    const TensorInfo* const tensor = file_.source->find(name);
    if (front > 0) {
      expected.insert(expected.begin(), front);
    }
    if (tensor == nullptr || tensor->shape != expected) {
      return bad_input("expected " + formats::shape_text(expected) + ", found " +
                           (tensor == nullptr ? "none" : formats::shape_text(tensor->shape)),
                       where(name));
    }
    return {};
  }

  Status check_table(const TableName& table) const {
    const std::string name = tensor_name(table);
    const std::vector<std::int64_t>& shape = file_.source->find(name)->shape;
    const bool of_layer = table.layer != kAtlasOfModel;
    const std::int64_t heads = table.statistic.starts_with(kOfMixers) ? file_.info.mixer_heads : file_.info.heads;
    if (table.layer >= file_.info.layers || shape.empty() || (of_layer && shape[0] != heads)) {
      return bad_input("expected a layer below " + std::to_string(file_.info.layers) + " and " + std::to_string(heads) +
                           " heads, found " + formats::shape_text(shape),
                       where(name));
    }
    const std::string counts = samples_name(samples_of(table.statistic), table.null);
    const auto samples = file_.samples.find(counts);
    if (samples == file_.samples.end()) {
      return bad_input("expected tensor samples." + counts + ", found none", where(name));
    }
    if (file_.source->find(name + std::string(kDeviation)) != nullptr) {
      const std::int64_t side = file_.info.map_size;
      const bool fits = shape.size() == 2 && shape[1] > 0 &&
                        (shape[1] == packed_cells(side, true) || shape[1] == packed_cells(side, false));
      return fits ? check_shape(name + std::string(kDeviation), shape, 0)
                  : bad_input("expected [heads, " + std::to_string(packed_cells(side, true)) + " or " +
                                  std::to_string(packed_cells(side, false)) + "], the cells of a map of " +
                                  std::to_string(side) + " pixels on a side, found " + formats::shape_text(shape),
                              where(name));
    }
    LOCUS_CHECK(check_shape(name + ".squares", shape, 0));
    if (file_.source->find(name + ".replicates") != nullptr) {
      const auto replicates = static_cast<std::int64_t>(samples->second.replicates.size());
      return check_shape(name + ".replicates", shape, std::max<std::int64_t>(replicates, 1));
    }
    return file_.source->find(name + ".interval") == nullptr ? Status() : check_shape(name + ".interval", shape, 2);
  }

  OpenedAtlas& file_;
  std::set<std::string> sums_;
  std::vector<std::string> parts_;
};

const std::set<std::string> kKnown{"format",   "version", "checkpoint",  "sha256",   "family",
                                   "encoding", "layers",  "heads",       "corpus",   "what",
                                   "windows",  "done",    "length",      "map_size", "replicates",
                                   "seed",     "step",    "mixer_heads", "examples"};

}  // namespace

namespace {

template <typename Stored, typename T>
void copy_numbers(const TensorInfo& tensor, std::vector<T>& numbers) {
  const std::byte* from = tensor.storage.data() + static_cast<std::size_t>(tensor.offset) * sizeof(Stored);
  for (T& number : numbers) {
    Stored stored;
    std::memcpy(&stored, from, sizeof(Stored));
    number = static_cast<T>(stored);
    from += sizeof(Stored);
  }
}

// The numbers of a float64 or float32 tensor as T.
template <typename T>
std::vector<T> numbers_as(const OpenedAtlas& file, const std::string& tensor) {
  const TensorInfo* const info = file.source->find(tensor);
  if (info == nullptr) {
    return {};
  }
  std::vector<T> numbers(static_cast<std::size_t>(info->elements()));
  if (info->dtype == DType::kF32) {
    copy_numbers<float>(*info, numbers);
  } else {
    copy_numbers<double>(*info, numbers);
  }
  return numbers;
}

}  // namespace

std::vector<double> numbers_of(const OpenedAtlas& file, const std::string& tensor) {
  return numbers_as<double>(file, tensor);
}

std::vector<float> floats_of(const OpenedAtlas& file, const std::string& tensor) {
  return numbers_as<float>(file, tensor);
}

Result<OpenedAtlas> open_file(const std::filesystem::path& path) {
  LOCUS_TRY(formats::Source source, formats::open_tensors(path));
  const Metadata metadata(*source, path);
  if (metadata.text("format") != "atlas/1") {
    return bad_input("expected atlas/1, found " + shown(metadata.text("format")), metadata.where("format"));
  }
  OpenedAtlas file;
  file.path = path;
  LOCUS_TRY(file.info, read_info(metadata));
  for (const auto& [name, value] : source->metadata()) {
    if (name.starts_with("locus.") && kKnown.count(name.substr(6)) == 0) {
      file.notes[name.substr(6)] = value;
    }
  }
  file.source = std::move(source);
  LOCUS_CHECK(Checker(file).check());
  return file;
}

}  // namespace locus::models::atlas
