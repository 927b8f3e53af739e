// Examples of an atlas file: their tensors, the checks for untrusted files, and tables of tokens.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <span>

#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/atlas_run.h"
#include "models/formats/atlas/contents.h"
#include "models/formats/json/json.h"
#include "models/formats/tensor_table.h"

namespace locus::models {

const std::vector<AtlasStatistic>& example_activations() {
  static const std::vector<AtlasStatistic> all{
      {"largest", "the largest weight outside the first row and the first column"},
      {"induction", "mean weight on the tokens after earlier occurrences of the query's token"},
      {"previous", "mean weight on the token before the query"},
      {"far", "mean weight on keys at 64 tokens or more, the first token apart"},
      {"content", "the share of the logits that depends on the keys' content alone (addressing)"},
  };
  return all;
}

std::vector<TokenWeight> example_tokens(const std::vector<Example>& windows, bool queries) {
  constexpr std::size_t kMaxTokens = 50;
  std::map<std::string, double> sums;
  for (const Example& window : windows) {
    for (const ExampleCell& cell : window.cells) {
      sums[window.tokens[static_cast<std::size_t>(queries ? cell.query : cell.key)]] +=
          static_cast<double>(cell.weight);
    }
  }
  std::vector<TokenWeight> tokens;
  tokens.reserve(sums.size());
  for (const auto& [token, weight] : sums) {
    tokens.push_back({token, weight});
  }
  std::ranges::stable_sort(tokens, std::ranges::greater(), &TokenWeight::weight);
  tokens.resize(std::min(tokens.size(), kMaxTokens));
  return tokens;
}

Result<HeadExamples> Atlas::examples(std::int64_t layer, std::int64_t head) const {
  return bad_input("expected an atlas with examples of head " + std::to_string(layer) + "." + std::to_string(head) +
                   ", found none; locus atlas --what examples keeps them");
}

namespace atlas {

namespace {

using formats::DType;
using formats::TensorInfo;
using nlohmann::json;

constexpr std::int64_t kTopBit = 1, kSampledBit = 2, kWaitingBit = 4;  // of `kind`
constexpr std::int64_t kMaxWeight = 10000;
constexpr std::int64_t kMaxKept = 1000;   // of each option
constexpr std::int64_t kMaxLabel = 1000;  // bytes

std::string whole_name(const std::string& name) {
  return std::string(kOfExamples) + name;
}

std::string layer_name(std::int64_t layer, const std::string& name) {
  return whole_name("layers." + std::to_string(layer) + "." + name);
}

std::int64_t integer_at(const TensorInfo& tensor, std::int64_t n) {
  const std::byte* const from = tensor.storage.data() + static_cast<std::size_t>(n) * element_size(tensor.dtype);
  const auto read = [from](auto number) {
    std::memcpy(&number, from, sizeof number);
    return static_cast<std::int64_t>(number);
  };
  switch (tensor.dtype) {
    case DType::kI64:
      return read(std::int64_t{});
    case DType::kI32:
      return read(std::int32_t{});
    case DType::kI16:
      return read(std::int16_t{});
    default:
      return read(std::uint8_t{});
  }
}

double number_at(const TensorInfo& tensor, std::int64_t n) {
  double number = 0;
  std::memcpy(&number, tensor.storage.data() + static_cast<std::size_t>(n) * sizeof number, sizeof number);
  return number;
}

// The tensors of one file, found and checked by name.
class Reader {
 public:
  explicit Reader(const OpenedAtlas& file) : file_(file) {}

  std::string where(const std::string& name) const { return formats::tensor_context(file_.path, name); }
  const TensorInfo* find(const std::string& name) const { return file_.source->find(name); }
  // Precondition: checked.
  const TensorInfo& of(const std::string& name) const { return *find(name); }
  std::int64_t size_of(const std::string& name) const { return of(name).shape[0]; }

  // −1 in `shape`: any size.
  Status expect(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape) {
    seen_.insert(name);
    const TensorInfo* const tensor = find(name);
    if (tensor == nullptr || tensor->dtype != dtype || tensor->shape.size() != shape.size()) {
      return wrong(name, dtype, shape, tensor);
    }
    for (std::size_t n = 0; n < shape.size(); ++n) {
      if (shape[n] >= 0 && tensor->shape[n] != shape[n]) {
        return wrong(name, dtype, shape, tensor);
      }
    }
    return {};
  }

  // Whole numbers of `least` … `most`, none below the one before it by less than `step`.
  Status expect_numbers(const std::string& name, std::int64_t least, std::int64_t most, std::int64_t step) const {
    const TensorInfo& tensor = of(name);
    std::int64_t before = least - step;
    for (std::int64_t n = 0; n < tensor.elements(); ++n) {
      const std::int64_t number = integer_at(tensor, n);
      if (number < least || number > most || (step >= 0 && number < before + step)) {
        return bad_input("expected whole numbers of " + std::to_string(least) + " to " + std::to_string(most) +
                             (step < 0    ? ""
                              : step == 0 ? ", none smaller than the one before it"
                                          : ", ascending") +
                             ", found " + std::to_string(number),
                         where(name));
      }
      before = number;
    }
    return {};
  }

  // Every tensor of examples has been asked for.
  Status expect_no_others() const {
    for (const TensorInfo& tensor : file_.source->tensors()) {
      if (tensor.name.starts_with(kOfExamples) && seen_.count(tensor.name) == 0) {
        return bad_input("expected no tensor of examples of this name", where(tensor.name));
      }
    }
    return {};
  }

 private:
  Status wrong(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape,
               const TensorInfo* found) const {
    std::string expected;
    for (const std::int64_t size : shape) {
      expected += (expected.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
    }
    return bad_input(
        "expected " + std::string(to_text(dtype)) + " [" + expected + "], found " +
            (found == nullptr ? "none" : std::string(found->type_name()) + " " + formats::shape_text(found->shape)),
        where(name));
  }

  const OpenedAtlas& file_;
  std::set<std::string> seen_;
};

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kAnyOrder = -1;

bool holds(const TensorInfo& sorted, std::int64_t number) {
  std::int64_t low = 0;
  for (std::int64_t high = sorted.elements(); low < high;) {
    const std::int64_t middle = low + (high - low) / 2;
    if (integer_at(sorted, middle) < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < sorted.elements() && integer_at(sorted, low) == number;
}

Status check_known(const Reader& reader, const std::string& name, const std::string& known) {
  for (std::int64_t n = 0; n < reader.of(name).elements(); ++n) {
    if (const std::int64_t number = integer_at(reader.of(name), n); !holds(reader.of(known), number)) {
      return bad_input("expected numbers of " + known + ", found " + std::to_string(number), reader.where(name));
    }
  }
  return {};
}

std::string label_at(const Reader& reader, std::int64_t n) {
  const TensorInfo& ends = reader.of(whole_name("labels.ends"));
  const TensorInfo& bytes = reader.of(whole_name("labels.bytes"));
  const std::int64_t begin = n == 0 ? 0 : integer_at(ends, n - 1);
  return {reinterpret_cast<const char*>(bytes.storage.data()) + begin,
          static_cast<std::size_t>(integer_at(ends, n) - begin)};
}

Status check_labels(Reader& reader) {
  const std::string ids = whole_name("labels.ids");
  const std::string ends = whole_name("labels.ends");
  const std::string bytes = whole_name("labels.bytes");
  LOCUS_CHECK(reader.expect(ids, DType::kI64, {-1}));
  const std::int64_t count = reader.size_of(ids);
  LOCUS_CHECK(reader.expect(ends, DType::kI64, {count}));
  LOCUS_CHECK(reader.expect(bytes, DType::kU8, {-1}));
  LOCUS_CHECK(reader.expect_numbers(ids, 0, kMaxNumber - 1, 1));
  LOCUS_CHECK(reader.expect_numbers(ends, 0, reader.size_of(bytes), 0));
  if ((count == 0 ? 0 : integer_at(reader.of(ends), count - 1)) != reader.size_of(bytes)) {
    return bad_input("expected the last to be " + std::to_string(reader.size_of(bytes)), reader.where(ends));
  }
  for (std::int64_t n = 0; n < count; ++n) {
    const std::string label = label_at(reader, n);
    if (std::ssize(label) > kMaxLabel || !is_utf8(label)) {
      return bad_input(
          "expected labels in UTF-8 of at most " + std::to_string(kMaxLabel) + " bytes, found " + shown(label),
          reader.where(bytes));
    }
  }
  return {};
}

Status check_windows(Reader& reader, const AtlasInfo& info) {
  const std::string windows = whole_name("windows");
  const std::string ids = whole_name("ids");
  LOCUS_CHECK(reader.expect(windows, DType::kI64, {-1}));
  LOCUS_CHECK(reader.expect(ids, DType::kI64, {reader.size_of(windows), info.length}));
  LOCUS_CHECK(reader.expect_numbers(windows, 0, info.windows - 1, 1));
  return check_known(reader, ids, whole_name("labels.ids"));
}

Status check_bounds(Reader& reader, std::int64_t layer, const AtlasInfo& info, bool& known) {
  const std::string name = layer_name(layer, "bounds");
  known = reader.find(name) != nullptr;
  if (!known) {
    return {};
  }
  LOCUS_CHECK(reader.expect(name, DType::kF64, {info.heads, info.examples->levels - 1}));
  const TensorInfo& bounds = reader.of(name);
  for (std::int64_t n = 0; n < bounds.elements(); ++n) {
    const double bound = number_at(bounds, n);
    const double before = n % bounds.shape[1] == 0 ? bound : number_at(bounds, n - 1);
    if (std::isinf(bound) || bound < before || std::isnan(bound) != std::isnan(before)) {
      return bad_input("expected bounds of levels in order, or none of a head, found " + number_text(bound),
                       reader.where(name));
    }
  }
  return {};
}

// Heads and windows in order, each pair once.
Status check_order(const Reader& reader, std::int64_t layer) {
  const TensorInfo& heads = reader.of(layer_name(layer, "head"));
  const TensorInfo& windows = reader.of(layer_name(layer, "window"));
  for (std::int64_t n = 1; n < heads.elements(); ++n) {
    const auto place = [&](std::int64_t at) { return std::pair(integer_at(heads, at), integer_at(windows, at)); };
    if (place(n) <= place(n - 1)) {
      return bad_input("expected each window of a head once and in order, found " +
                           std::to_string(integer_at(windows, n)) + " of head " + std::to_string(integer_at(heads, n)),
                       reader.where(layer_name(layer, "window")));
    }
  }
  return {};
}

Status check_layer(Reader& reader, std::int64_t layer, const AtlasInfo& info) {
  const auto name = [layer](const char* part) { return layer_name(layer, part); };
  bool known = false;
  LOCUS_CHECK(check_bounds(reader, layer, info, known));
  LOCUS_CHECK(reader.expect(name("head"), DType::kI32, {-1}));
  const std::int64_t count = reader.size_of(name("head"));
  LOCUS_CHECK(reader.expect(name("window"), DType::kI64, {count}));
  LOCUS_CHECK(reader.expect(name("activation"), DType::kF64, {count}));
  LOCUS_CHECK(reader.expect(name("level"), DType::kU8, {count}));
  LOCUS_CHECK(reader.expect(name("kind"), DType::kU8, {count}));
  LOCUS_CHECK(reader.expect(name("ends"), DType::kI64, {count}));
  LOCUS_CHECK(reader.expect(name("index"), DType::kI32, {-1}));
  const std::int64_t cells = reader.size_of(name("index"));
  LOCUS_CHECK(reader.expect(name("weight"), DType::kI16, {cells}));
  LOCUS_CHECK(reader.expect_numbers(name("head"), 0, info.heads - 1, 0));
  LOCUS_CHECK(check_known(reader, name("window"), whole_name("windows")));
  LOCUS_CHECK(check_order(reader, layer));
  LOCUS_CHECK(reader.expect_numbers(name("level"), known ? 1 : 0, info.examples->levels, kAnyOrder));
  LOCUS_CHECK(reader.expect_numbers(name("kind"), 1, known ? kTopBit | kSampledBit : kTopBit | kWaitingBit, kAnyOrder));
  LOCUS_CHECK(reader.expect_numbers(name("ends"), 0, cells, 0));
  if ((count == 0 ? 0 : integer_at(reader.of(name("ends")), count - 1)) != cells) {
    return bad_input("expected the last to be " + std::to_string(cells), reader.where(name("ends")));
  }
  for (std::int64_t n = 0; n < count; ++n) {
    if (const double activation = number_at(reader.of(name("activation")), n); !std::isfinite(activation)) {
      return bad_input("expected finite numbers, found " + number_text(activation), reader.where(name("activation")));
    }
  }
  return {};
}

// The kept windows of a layer with their cells; of one head, where it is not −1.
Result<std::vector<KeptWindow>> kept_windows(const Reader& reader, const AtlasInfo& info, std::int64_t layer,
                                             std::int64_t head) {
  const auto tensor = [&](const char* part) -> const TensorInfo& { return reader.of(layer_name(layer, part)); };
  const TensorInfo& ends = tensor("ends");
  std::vector<KeptWindow> kept;
  for (std::int64_t n = 0; n < ends.elements(); ++n) {
    if (head >= 0 && integer_at(tensor("head"), n) != head) {
      continue;
    }
    const std::int64_t kind = integer_at(tensor("kind"), n);
    KeptWindow window{integer_at(tensor("head"), n),
                      integer_at(tensor("window"), n),
                      number_at(tensor("activation"), n),
                      integer_at(tensor("level"), n),
                      (kind & kTopBit) != 0,
                      (kind & kSampledBit) != 0,
                      (kind & kWaitingBit) != 0,
                      {}};
    std::int64_t before = -1;
    for (std::int64_t c = n == 0 ? 0 : integer_at(ends, n - 1); c < integer_at(ends, n); ++c) {
      const std::int64_t index = integer_at(tensor("index"), c);
      const std::int64_t weight = integer_at(tensor("weight"), c);
      if (index <= before || index >= info.length * info.length || weight < 1 || weight > kMaxWeight) {
        return bad_input("expected cells below " + std::to_string(info.length * info.length) +
                             ", ascending, with weights of 1 to 10000, found " + std::to_string(index) +
                             " with weight " + std::to_string(weight),
                         reader.where(layer_name(layer, "index")));
      }
      window.cells.push_back(index * kCellScale + weight);
      before = index;
    }
    kept.push_back(std::move(window));
  }
  return kept;
}

template <class Number>
OwnTensor tensor_of(std::string name, DType dtype, std::vector<std::int64_t> shape,
                    const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {std::move(name), dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

template <class Number>
OwnTensor list_of_numbers(std::string name, DType dtype, const std::vector<Number>& numbers) {
  return tensor_of(std::move(name), dtype, {std::ssize(numbers)}, numbers);
}

void add_layer(std::int64_t layer, const LayerExamples& examples, const AtlasInfo& info,
               std::vector<OwnTensor>& tensors) {
  std::vector<std::int32_t> heads, index;
  std::vector<std::int64_t> windows, ends;
  std::vector<double> activations;
  std::vector<std::uint8_t> levels, kinds;
  std::vector<std::int16_t> weights;
  for (const KeptWindow& kept : examples.kept) {
    heads.push_back(static_cast<std::int32_t>(kept.head));
    windows.push_back(kept.window);
    activations.push_back(kept.activation);
    levels.push_back(static_cast<std::uint8_t>(kept.level));
    kinds.push_back(static_cast<std::uint8_t>((kept.top ? kTopBit : 0) | (kept.sampled ? kSampledBit : 0) |
                                              (kept.waiting ? kWaitingBit : 0)));
    for (const std::int64_t cell : kept.cells) {
      index.push_back(static_cast<std::int32_t>(cell / kCellScale));
      weights.push_back(static_cast<std::int16_t>(cell % kCellScale));
    }
    ends.push_back(std::ssize(index));
  }
  const auto name = [layer](const char* part) { return layer_name(layer, part); };
  if (!examples.bounds.empty()) {
    tensors.push_back(tensor_of(name("bounds"), DType::kF64, {info.heads, info.examples->levels - 1}, examples.bounds));
  }
  tensors.push_back(list_of_numbers(name("head"), DType::kI32, heads));
  tensors.push_back(list_of_numbers(name("window"), DType::kI64, windows));
  tensors.push_back(list_of_numbers(name("activation"), DType::kF64, activations));
  tensors.push_back(list_of_numbers(name("level"), DType::kU8, levels));
  tensors.push_back(list_of_numbers(name("kind"), DType::kU8, kinds));
  tensors.push_back(list_of_numbers(name("ends"), DType::kI64, ends));
  tensors.push_back(list_of_numbers(name("index"), DType::kI32, index));
  tensors.push_back(list_of_numbers(name("weight"), DType::kI16, weights));
}

}  // namespace

std::vector<OwnTensor> example_tensors(const ExampleContents& contents, const AtlasInfo& info) {
  std::vector<std::int64_t> windows, ids, labelled, ends;
  std::vector<std::uint8_t> bytes;
  for (const auto& [window, own] : contents.windows) {
    windows.push_back(window);
    ids.insert(ids.end(), own.begin(), own.end());
  }
  for (const auto& [id, label] : contents.labels) {
    labelled.push_back(id);
    bytes.insert(bytes.end(), label.begin(), label.end());
    ends.push_back(std::ssize(bytes));
  }
  std::vector<OwnTensor> tensors;
  const std::int64_t count = std::ssize(windows);
  tensors.push_back(list_of_numbers(whole_name("windows"), DType::kI64, windows));
  tensors.push_back(tensor_of(whole_name("ids"), DType::kI64, {count, info.length}, ids));
  tensors.push_back(list_of_numbers(whole_name("labels.ids"), DType::kI64, labelled));
  tensors.push_back(list_of_numbers(whole_name("labels.ends"), DType::kI64, ends));
  tensors.push_back(list_of_numbers(whole_name("labels.bytes"), DType::kU8, bytes));
  for (std::size_t layer = 0; layer < contents.layers.size(); ++layer) {
    add_layer(static_cast<std::int64_t>(layer), contents.layers[layer], info, tensors);
  }
  return tensors;
}

std::string example_options_text(const ExampleOptions& options) {
  return json{
      {"activation", options.activation}, {"top", options.top}, {"sample", options.sample}, {"levels", options.levels}}
      .dump();
}

Result<ExampleOptions> read_example_options(const std::string& text, const std::string& where) {
  LOCUS_TRY(const json value, parse_json(text, where));
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  ExampleOptions options;
  LOCUS_TRY(options.activation, object.get<std::string>("activation"));
  const auto& known = example_activations();
  if (std::ranges::find(known, options.activation, &AtlasStatistic::name) == known.end()) {
    return object.wrong("activation", "one of " + listed(known, &AtlasStatistic::name));
  }
  const auto whole = [&](const char* name, std::int64_t least, std::int64_t most, std::int64_t& number) -> Status {
    LOCUS_TRY(number, object.get<std::int64_t>(name));
    const std::string expected = "a whole number of " + std::to_string(least) + " to " + std::to_string(most);
    return number < least || number > most ? Status(object.wrong(name, expected)) : Status();
  };
  LOCUS_CHECK(whole("top", 1, kMaxKept, options.top));
  LOCUS_CHECK(whole("sample", 0, kMaxKept, options.sample));
  LOCUS_CHECK(whole("levels", 2, 100, options.levels));
  return options;
}

Status check_examples(const OpenedAtlas& file) {
  Reader reader(file);
  if (!file.info.examples) {
    return reader.expect_no_others();
  }
  if (file.info.length > kLongestExample) {
    return bad_input("expected windows of at most " + std::to_string(kLongestExample) +
                         " tokens with examples, found " + std::to_string(file.info.length),
                     file.path.string());
  }
  LOCUS_CHECK(check_labels(reader));
  LOCUS_CHECK(check_windows(reader, file.info));
  for (std::int64_t layer = 0; layer < file.info.layers; ++layer) {
    LOCUS_CHECK(check_layer(reader, layer, file.info));
  }
  return reader.expect_no_others();
}

Result<ExampleContents> example_contents(const OpenedAtlas& file) {
  ExampleContents contents;
  if (!file.info.examples) {
    return contents;
  }
  const Reader reader(file);
  const TensorInfo& windows = reader.of(whole_name("windows"));
  const TensorInfo& ids = reader.of(whole_name("ids"));
  for (std::int64_t n = 0; n < windows.elements(); ++n) {
    std::vector<std::int64_t>& own = contents.windows[integer_at(windows, n)];
    for (std::int64_t t = 0; t < file.info.length; ++t) {
      own.push_back(integer_at(ids, n * file.info.length + t));
    }
  }
  const TensorInfo& labelled = reader.of(whole_name("labels.ids"));
  for (std::int64_t n = 0; n < labelled.elements(); ++n) {
    contents.labels[integer_at(labelled, n)] = label_at(reader, n);
  }
  for (std::int64_t layer = 0; layer < file.info.layers; ++layer) {
    LayerExamples& own = contents.layers.emplace_back();
    LOCUS_TRY(own.kept, kept_windows(reader, file.info, layer, -1));
    if (const TensorInfo* const bounds = reader.find(layer_name(layer, "bounds")); bounds != nullptr) {
      for (std::int64_t n = 0; n < bounds->elements(); ++n) {
        own.bounds.push_back(number_at(*bounds, n));
      }
    }
  }
  return contents;
}

Result<HeadExamples> read_examples(const OpenedAtlas& file, std::int64_t layer, std::int64_t head) {
  const Reader reader(file);
  LOCUS_TRY(const std::vector<KeptWindow> kept, kept_windows(reader, file.info, layer, head));
  const TensorInfo& windows = reader.of(whole_name("windows"));
  const TensorInfo& ids = reader.of(whole_name("ids"));
  std::map<std::int64_t, std::int64_t> rows;
  for (std::int64_t n = 0; n < windows.elements(); ++n) {
    rows[integer_at(windows, n)] = n;
  }
  std::map<std::int64_t, std::string> labels;
  const TensorInfo& labelled = reader.of(whole_name("labels.ids"));
  for (std::int64_t n = 0; n < labelled.elements(); ++n) {
    labels[integer_at(labelled, n)] = printable(label_at(reader, n));
  }
  HeadExamples examples;
  const std::int64_t length = file.info.length;
  for (const KeptWindow& one : kept) {
    Example example{one.window, one.activation, std::max<std::int64_t>(one.level, 1), one.top, one.sampled, {}, {}, {}};
    for (std::int64_t t = 0; t < length; ++t) {
      example.ids.push_back(integer_at(ids, rows.at(one.window) * length + t));
      example.tokens.push_back(labels.at(example.ids.back()));
    }
    for (const std::int64_t cell : one.cells) {
      const std::int64_t index = cell / kCellScale;
      example.cells.push_back({static_cast<std::int32_t>(index / length), static_cast<std::int32_t>(index % length),
                               static_cast<float>(static_cast<double>(cell % kCellScale) / kExampleUnits)});
    }
    examples.windows.push_back(std::move(example));
  }
  std::ranges::stable_sort(examples.windows, std::ranges::greater(), &Example::activation);
  if (const TensorInfo* const bounds = reader.find(layer_name(layer, "bounds")); bounds != nullptr) {
    const std::int64_t count = bounds->shape[1];
    for (std::int64_t n = 0; n < count && !std::isnan(number_at(*bounds, head * count + n)); ++n) {
      examples.bounds.push_back(number_at(*bounds, head * count + n));
    }
  }
  examples.query_tokens = example_tokens(examples.windows, true);
  examples.key_tokens = example_tokens(examples.windows, false);
  return examples;
}

}  // namespace atlas

}  // namespace locus::models
