#include "models/transformer/weights.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include "core/base/large_pages.h"
#include "core/base/mapping_guard.h"
#include "core/base/system_files.h"
#include "core/products/integer_products.h"
#include "core/products/linear.h"
#include "core/products/packed.h"
#include "core/products/rounded_kernels.h"

namespace locus::transformer {

namespace {

using formats::DType;
using formats::TensorInfo;

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return at::kDouble;
    case DType::kF32:
      return at::kFloat;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kI64:
      return at::kLong;
    case DType::kI32:
      return at::kInt;
    case DType::kI16:
      return at::kShort;
    case DType::kI8:
      return at::kChar;
    case DType::kU8:
    case DType::kBlocks:
      return at::kByte;
    case DType::kBool:
      return at::kBool;
  }
  return at::kFloat;
}

bool is_floating(DType dtype) {
  return dtype == DType::kBlocks || dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

struct Found {
  const TensorInfo* tensor = nullptr;
  formats::Source source;
  Binding binding;
};

// The tensor of the first name that exists; without one, the first name.
Found find(const std::string& parameter, const Plan& plan, const CheckpointFiles& checkpoint) {
  const std::vector<Binding> bindings = plan.bindings(parameter);
  for (const Binding& binding : bindings) {
    if (const TensorInfo* tensor = checkpoint.find(binding.tensor); tensor != nullptr) {
      return {tensor, checkpoint.tensors, binding};
    }
    for (const formats::Source& source : plan.further) {
      if (const TensorInfo* tensor = source->find(binding.tensor); tensor != nullptr) {
        return {tensor, source, binding};
      }
    }
  }
  return {nullptr, nullptr, bindings.empty() ? Binding{parameter, Layout::kAsIs, {}, 0} : bindings.front()};
}

// Expected shape of the tensor; a stack may have more items than the binding needs.
std::vector<std::int64_t> stored_shape(const Parameter& parameter, const Binding& binding, const TensorInfo* tensor) {
  std::vector<std::int64_t> shape = parameter.shape;
  if (!shape.empty()) {  // a scalar has no parts
    shape.front() *= binding.piece.of;
  }
  if (binding.piece.by_item && !shape.empty()) {
    const std::int64_t rows = shape.front();
    const std::int64_t all = tensor == nullptr || tensor->shape.empty() ? 0 : tensor->shape.front();
    shape.front() = std::max(all - all % rows, (binding.item + 1) * rows);
  }
  if (binding.layout == Layout::kTransposed) {
    std::reverse(shape.begin(), shape.end());
  }
  if (binding.piece.stacked) {
    const std::int64_t items = tensor == nullptr || tensor->shape.empty() ? 0 : tensor->shape.front();
    shape.insert(shape.begin(), std::max(items, binding.item + 1));
  }
  return shape;
}

Status check_tensor(const TensorInfo& tensor, const Parameter& parameter, const Binding& binding) {
  const std::string where = tensor.file.string() + ": tensor " + tensor.name;
  const std::vector<std::int64_t> expected = stored_shape(parameter, binding, &tensor);
  if (binding.piece.blocks > 1 && !tensor.shape.empty() &&
      tensor.shape.front() % (binding.piece.blocks * binding.piece.of) != 0) {
    return bad_input("expected rows in " + std::to_string(binding.piece.blocks) + " blocks of " +
                         std::to_string(binding.piece.of) + " parts, found " + std::to_string(tensor.shape.front()),
                     where);
  }
  const bool fits =
      binding.layout == Layout::kReshaped ? count_of(tensor.shape) == count_of(expected) : tensor.shape == expected;
  if (!fits) {
    return bad_input("expected shape " + shape_text(expected) + ", found " + shape_text(tensor.shape), where);
  }
  if (!is_floating(tensor.dtype)) {
    return unsupported("expected floating-point weights, found " + std::string(formats::to_text(tensor.dtype)), where);
  }
  return {};
}

// The part of the tensor that the parameter uses, a view where possible.
at::Tensor part_of(at::Tensor value, const WeightBinding::Part& part) {
  const Binding& binding = part.binding;
  if (binding.piece.stacked) {
    value = value.select(0, binding.item);
  }
  if (binding.layout == Layout::kTransposed) {
    value = value.t();
  }
  if (binding.piece.by_item) {
    const std::int64_t rows = part.parameter.shape.front();
    return value.narrow(0, binding.item * rows, rows);
  }
  if (binding.piece.blocks > 1) {
    return value.unflatten(0, {binding.piece.blocks, binding.piece.of, -1})
        .select(1, binding.piece.index)
        .flatten(0, 1);
  }
  if (binding.piece.of > 1) {
    const std::int64_t rows = value.size(0) / binding.piece.of;
    value = binding.piece.interleaved ? value.slice(0, binding.piece.index, value.size(0), binding.piece.of)
                                      : value.narrow(0, binding.piece.index * rows, rows);
  }
  return value;
}

// Buffers saved by some version of the authors' code; all versions compute them from the configuration.
const std::vector<std::string>& buffers() {
  static const std::vector<std::string> endings{
      "rotary_emb.inv_freq", "rotary.inv_freq",           "rotary_emb.cos_cached", "rotary_emb.sin_cached",
      "position_ids",        "embeddings.token_type_ids", "attn.masked_bias",      "attention.masked_bias"};
  return endings;
}

bool ends_with_any(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    if (ending.ends_with('*')) {  // "text_model.*": all that begin so
      return name.rfind(ending.substr(0, ending.size() - 1), 0) == 0;
    }
    return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  });
}

// Parts by item cover their tensor, so that none of its rows is left out.
Status check_items(const std::vector<WeightBinding::Part>& parts) {
  std::map<const TensorInfo*, std::int64_t> rows;
  for (const WeightBinding::Part& part : parts) {
    if (part.binding.piece.by_item) {
      rows[part.tensor] += part.parameter.shape.front();
    }
  }
  for (const auto& [tensor, count] : rows) {
    if (tensor->shape.front() != count) {
      return bad_input("expected " + std::to_string(count) + " rows, found " + std::to_string(tensor->shape.front()),
                       tensor->file.string() + ": tensor " + tensor->name);
    }
  }
  return {};
}

Error missing(const std::vector<std::pair<Binding, const Parameter*>>& absent, const CheckpointFiles& checkpoint) {
  const std::vector<std::int64_t> shape = stored_shape(*absent.front().second, absent.front().first, nullptr);
  const std::string more = absent.size() > 1 ? " (and " + std::to_string(absent.size() - 1) + " more are missing)" : "";
  const auto& files = checkpoint.tensors->files();
  const std::string file = files.size() == 1 ? files.front().string() : checkpoint.path.string();
  return bad_input("expected shape " + shape_text(shape) + ", found none" + more,
                   file + ": tensor " + absent.front().first.tensor);
}

}  // namespace

Result<const TensorInfo*> bound_tensor(const Parameter& parameter, const Plan& plan,
                                       const CheckpointFiles& checkpoint) {
  const Found found = find(parameter.name, plan, checkpoint);
  if (found.tensor != nullptr) {
    LOCUS_CHECK(check_tensor(*found.tensor, parameter, found.binding));
  }
  return found.tensor;
}

bool is_skipped(const std::string& tensor, const Plan& plan) {
  return ends_with_any(tensor, plan.skipped) || ends_with_any(tensor, buffers());
}

Result<WeightBinding> bind_weights(Transformer& model, const Plan& plan, const CheckpointFiles& checkpoint) {
  return bind_weights(model.parameters(), plan, checkpoint);
}

Result<WeightBinding> bind_weights(const std::vector<Parameter>& parameters, const Plan& plan,
                                   const CheckpointFiles& checkpoint) {
  WeightBinding binding;
  std::set<const TensorInfo*> used;
  std::set<std::tuple<const TensorInfo*, std::int64_t, std::int64_t>>
      counted;  // parts of tensors: two parameters may share one
  std::vector<std::pair<Binding, const Parameter*>> absent;
  for (const Parameter& parameter : parameters) {
    const Found found = find(parameter.name, plan, checkpoint);
    const Binding& part = found.binding;
    if (found.tensor == nullptr || counted.emplace(found.tensor, part.item, part.piece.index).second) {
      binding.parameters += count_of(parameter.shape);
    }
    if (found.tensor == nullptr) {
      absent.emplace_back(found.binding, &parameter);
      continue;
    }
    LOCUS_CHECK(check_tensor(*found.tensor, parameter, found.binding));
    used.insert(found.tensor);
    binding.parts.push_back({parameter, found.tensor, found.source, found.binding});
  }
  if (!absent.empty()) {
    return missing(absent, checkpoint);
  }
  LOCUS_CHECK(check_items(binding.parts));
  std::vector<formats::Source> sources{checkpoint.tensors};
  sources.insert(sources.end(), plan.further.begin(), plan.further.end());
  for (const formats::Source& source : sources) {
    for (const TensorInfo& tensor : source->tensors()) {
      if (used.count(&tensor) == 0 && tensor.elements() > 0 && !is_skipped(tensor.name, plan)) {
        binding.unexpected.push_back(tensor.name);
      }
    }
  }
  return binding;
}

void WeightBinding::add(WeightBinding other) {
  const std::size_t own = parts.size();
  parameters += other.parameters;
  for (Part& part : other.parts) {
    const bool shared =
        std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(own), [&](const Part& each) {
          return each.tensor == part.tensor && each.binding.item == part.binding.item &&
                 each.binding.piece.index == part.binding.piece.index;
        });
    parameters -= shared ? count_of(part.parameter.shape) : 0;
    parts.push_back(std::move(part));
  }
  const std::set<std::string> unread(other.unexpected.begin(), other.unexpected.end());
  std::erase_if(unexpected, [&](const std::string& name) { return unread.count(name) == 0; });
}

namespace {

// A matrix of quantised blocks, as stored.
at::Tensor packed_matrix(const TensorInfo& info, const formats::Source& source) {
  products::Packed matrix;
  matrix.format = info.blocks;
  matrix.data = info.storage.data();
  matrix.inputs = info.row_elements();
  matrix.outputs = matrix.inputs == 0 ? 0 : info.elements() / matrix.inputs;
  matrix.interleaved = info.interleaved;
  matrix.owner = source;
  return products::packed_tensor(std::move(matrix));
}

// Rows first, first + step, …, `count` of them, of a matrix that is made of several tensors.
at::Tensor assembled_matrix(const TensorInfo& info, std::int64_t first, std::int64_t step, std::int64_t count) {
  constexpr std::int64_t kRows = 64;  // a task: files keep neighbouring rows together
  products::Packed matrix;
  matrix.format = info.blocks;
  matrix.inputs = info.row_elements();
  matrix.outputs = count;
  const std::int64_t bytes = matrix.row_bytes();
  const std::shared_ptr<std::byte[]> rows =
      std::make_shared_for_overwrite<std::byte[]>(static_cast<std::size_t>(count * bytes));
  at::parallel_for(0, count, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; row += kRows) {
      info.assembled->write(first + row * step, step, std::min(kRows, end - row), rows.get() + row * bytes);
    }
  });
  matrix.data = rows.get();
  matrix.owner = rows;
  return products::packed_tensor(std::move(matrix));
}

at::Tensor expanded(const TensorInfo& info, const formats::Source& source) {
  if (info.assembled == nullptr) {
    return products::dense(packed_matrix(info, source)).view(info.shape);
  }
  const std::int64_t rows = info.row_elements() == 0 ? 0 : info.elements() / info.row_elements();
  std::vector<std::int64_t> shape = info.shape;
  if (info.columns) {
    std::swap(shape.back(), shape[shape.size() - 2]);
  }
  const at::Tensor values = products::dense(assembled_matrix(info, 0, 1, rows)).view(shape);
  return info.columns ? values.transpose(-1, -2) : values;
}

}  // namespace

at::Tensor to_tensor_as_stored(const TensorInfo& info, const formats::Source& source) {
  if (info.blocks != nullptr) {
    return expanded(info, source);
  }
  const auto type = at::TensorOptions(scalar_type(info.dtype));
  const std::size_t size = formats::element_size(info.dtype);
  if (info.elements() == 0) {
    return at::empty(info.shape, type);
  }
  auto* bytes = const_cast<std::byte*>(info.storage.data());  // from_blob takes no const; nothing writes through it
  if (reinterpret_cast<std::uintptr_t>(bytes) % size != 0) {
    at::Tensor copy = at::empty({static_cast<std::int64_t>(info.storage.size() / size)}, type);
    std::memcpy(copy.data_ptr(), bytes, copy.nbytes());
    return copy.as_strided(info.shape, info.strides, info.offset);
  }
  return at::from_blob(
      bytes + static_cast<std::size_t>(info.offset) * size, info.shape, info.strides, [source](void*) {}, type);
}

at::Tensor to_tensor(const TensorInfo& info, const formats::Source& source) {
  return to_tensor_as_stored(info, source).to(at::kFloat);
}

namespace {

constexpr std::int64_t kSmallModel = 16'000'000;  // parameters, 64 MB as float32

bool keeps_storage(const WeightBinding& binding, Storage storage) {
  return storage == Storage::kAsStored || storage == Storage::kMapped ||
         (storage == Storage::kBySize && binding.parameters > kSmallModel);
}

bool stays_stored(const WeightBinding& binding, const WeightBinding::Part& part, Storage storage) {
  const DType type = part.tensor->dtype;
  return keeps_storage(binding, storage) && part.parameter.product && (type == DType::kBF16 || type == DType::kF16) &&
         part.binding.layout != Layout::kPlusOne;
}

// Whether rows that are made of several tensors are those of the parameter: only they are read.
bool reads_rows(const WeightBinding::Part& part) {
  const TensorInfo& tensor = *part.tensor;
  return tensor.assembled != nullptr && part.binding.piece.blocks == 1 && !part.binding.piece.by_item &&
         part.binding.layout == (tensor.columns ? Layout::kTransposed : Layout::kAsIs) &&
         tensor.shape.size() == (part.binding.piece.stacked ? 3 : 2);
}

// A matrix of blocks stays stored under the same conditions; its parts are whole rows.
bool stays_packed(const WeightBinding& binding, const WeightBinding::Part& part, Storage storage) {
  const Binding& own = part.binding;
  if (!keeps_storage(binding, storage) || !part.parameter.product || part.tensor->dtype != DType::kBlocks) {
    return false;
  }
  if (part.tensor->assembled != nullptr) {
    return reads_rows(part) && part.tensor->blocks->quantised();
  }
  return part.tensor->shape.size() == 2 && own.layout == Layout::kAsIs && !own.piece.stacked &&
         !own.piece.interleaved && own.piece.blocks == 1 && !own.piece.by_item;
}

at::Tensor packed_part(const WeightBinding::Part& part) {
  const Piece& piece = part.binding.piece;
  if (part.tensor->assembled != nullptr) {
    const std::int64_t all = part.tensor->shape[part.tensor->shape.size() - (part.tensor->columns ? 1 : 2)];
    const std::int64_t count = all / piece.of;
    const std::int64_t first = piece.interleaved ? piece.index : piece.index * count;
    return assembled_matrix(*part.tensor, (piece.stacked ? part.binding.item * all : 0) + first,
                            piece.interleaved ? piece.of : 1, count);
  }
  const at::Tensor whole = packed_matrix(*part.tensor, part.source);
  const std::int64_t rows = whole.size(0) / piece.of;
  return products::narrow_rows(whole, piece.index * rows, (piece.index + 1) * rows);
}

// Bytes of a part in memory or, where it stays stored, in the file.
double bytes_of(const WeightBinding& binding, const WeightBinding::Part& part, Storage storage) {
  const auto count = static_cast<double>(count_of(part.parameter.shape));
  if (stays_packed(binding, part, storage)) {
    const blocks::Format& format = *part.tensor->blocks;
    return count / static_cast<double>(format.elements) * static_cast<double>(format.bytes);
  }
  return count * (stays_stored(binding, part, storage) ? 2 : 4);
}

// The part in the parameter's layout, before it is checked.
at::Tensor value_of(const WeightBinding& binding, const WeightBinding::Part& part, Storage storage) {
  if (stays_packed(binding, part, storage)) {
    return packed_part(part);
  }
  if (reads_rows(part)) {
    return products::dense(packed_part(part));
  }
  at::Tensor value = part_of(to_tensor_as_stored(*part.tensor, part.source), part);
  value = stays_stored(binding, part, storage) ? value : value.to(at::kFloat);
  value = part.tensor->negated_exponential ? at::log(-value) : value;
  return part.tensor->blocks == nullptr ? products::ordered_rows(value, part.tensor->interleaved) : value;
}

// Whether a value's numbers are read from the file each time, and which bytes these are.
std::span<const std::byte> mapped_bytes(const at::Tensor& value, const TensorInfo& tensor) {
  const products::Packed* const packed = products::packed_of(value);
  if (packed == nullptr && (!value.device().is_cpu() || !value.is_non_overlapping_and_dense() || value.numel() == 0)) {
    return {};
  }
  const std::span bytes = packed != nullptr
                              ? std::span(packed->data, static_cast<std::size_t>(packed->outputs * packed->row_bytes()))
                              : std::span(static_cast<const std::byte*>(value.data_ptr()), value.nbytes());
  const std::byte* const end = tensor.storage.data() + tensor.storage.size();
  const std::less_equal<> not_after;
  const bool inside = not_after(tensor.storage.data(), bytes.data()) && not_after(bytes.data() + bytes.size(), end);
  return inside ? bytes : std::span<const std::byte>();
}

// Copies that some model holds, by the bytes of the mapped file that they are of. Each keeps that file mapped, so that no
// other is found at its place.
struct HeldCopies {
  std::mutex mutex;
  std::map<std::pair<const std::byte*, std::size_t>, std::weak_ptr<std::byte>> copies;
};
HeldCopies& held_copies() {
  static HeldCopies held;
  return held;
}

// Copies of mapped numbers in large pages. A tensor is copied once for all parameters and models that read it.
class LargeCopies {
 public:
  // The same value with its numbers in large pages, and the file's no longer in memory; as it is where it is not mapped.
  at::Tensor of(const at::Tensor& value, const WeightBinding::Part& part) {
    const std::span<const std::byte> mapped = mapped_bytes(value, *part.tensor);
    const std::shared_ptr<std::byte> held = mapped.empty() ? nullptr : shared(mapped, part.source);
    if (held == nullptr) {
      return value;
    }
    if (const products::Packed* const packed = products::packed_of(value)) {
      products::Packed copy = *packed;
      copy.data = held.get();
      copy.owner = held;
      return products::packed_tensor(std::move(copy));
    }
    return at::from_blob(
        held.get(), value.sizes(), value.strides(), [held](void*) {}, value.options());
  }

 private:
  std::shared_ptr<std::byte> shared(std::span<const std::byte> mapped, const formats::Source& source) {
    HeldCopies& held = held_copies();
    const std::lock_guard lock(held.mutex);
    std::erase_if(held.copies, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<std::byte>& known = held.copies[{mapped.data(), mapped.size()}];
    if (std::shared_ptr<std::byte> same = known.lock()) {
      return same;
    }
    const std::shared_ptr<std::byte> copy = copied(mapped);
    if (copy == nullptr) {
      return nullptr;
    }
    const auto owner = std::make_shared<std::pair<std::shared_ptr<std::byte>, formats::Source>>(copy, source);
    std::shared_ptr<std::byte> kept(owner, copy.get());
    known = kept;
    return kept;
  }

  std::shared_ptr<std::byte> copied(std::span<const std::byte> mapped) {
    std::shared_ptr<std::byte> copy = pages_.take(mapped.size());
    constexpr std::size_t kAtOnce = std::size_t{16} << 20;  // of which both copies are in memory
    for (std::size_t begin = 0; copy != nullptr && begin < mapped.size(); begin += kAtOnce) {
      const std::span<const std::byte> part = mapped.subspan(begin, std::min(kAtOnce, mapped.size() - begin));
      std::memcpy(copy.get() + begin, part.data(), part.size());
      release_mapping(part);
    }
    return copy;
  }

  LargePages pages_;
};

// Whether weights may be copied from the file: they take a small share of the memory that is left.
bool may_be_copied(const WeightBytes& bytes, Storage storage) {
  constexpr double kShare = 8;
  return storage != Storage::kMapped && LargePages::are_offered() && kShare * bytes.all() <= available_bytes();
}

}  // namespace

WeightBytes weight_bytes(const WeightBinding& binding, Storage storage) {
  WeightBytes bytes;
  for (const WeightBinding::Part& part : binding.parts) {
    const bool stays = stays_stored(binding, part, storage) || stays_packed(binding, part, storage);
    (stays && part.tensor->assembled == nullptr ? bytes.stored : bytes.converted) += bytes_of(binding, part, storage);
  }
  return bytes;
}

double expanded_bytes(const WeightBinding& binding, Storage storage) {
  double bytes = 0;
  for (const WeightBinding::Part& part : binding.parts) {
    bytes += static_cast<double>(count_of(part.parameter.shape)) * (stays_stored(binding, part, storage) ? 2 : 4);
  }
  return bytes;
}

bool has_fast_products(const WeightBinding& binding, Storage storage) {
  return std::any_of(binding.parts.begin(), binding.parts.end(), [&](const WeightBinding::Part& part) {
    return stays_packed(binding, part, storage) &&
           (products::rounded_dot(*part.tensor->blocks) != nullptr || products::has_integers(*part.tensor->blocks));
  });
}

std::vector<std::string> load(const WeightBinding& binding, Storage storage, const StopToken& stop,
                              const Progress& progress) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> warnings;
  const auto megabytes = [](double bytes) { return std::to_string(static_cast<std::int64_t>(bytes / 1e6)); };
  const WeightBytes bytes = weight_bytes(binding, storage);
  const double whole = bytes.all();
  const bool copied = may_be_copied(bytes, storage);
  LargeCopies copies;
  double read = 0;
  for (const WeightBinding::Part& part : binding.parts) {
    if (stop.stop_requested()) {
      break;
    }
    report(progress, read / std::max(whole, 1.0),
           "reading the weights, " + megabytes(read) + " of " + megabytes(whole) + " MB");
    read += bytes_of(binding, part, storage);
    at::Tensor value = value_of(binding, part, storage);
    value = copied ? copies.of(value, part) : value;
    if (!products::all_finite(value)) {
      warnings.push_back(part.tensor->file.string() + ": tensor " + part.tensor->name +
                         ": holds values that are not finite");
    }
    if (part.binding.layout == Layout::kReshaped) {
      value = value.reshape(part.parameter.shape);
    } else if (part.binding.layout == Layout::kPlusOne && !part.tensor->one_added) {
      value = value + 1;
    }
    *part.parameter.value = value;
  }
  return warnings;
}

namespace {

// The parameters under the plan's names: q|k|v split where it names three tensors.
std::vector<std::pair<std::string, at::Tensor>> named_parameters(Transformer& model, const Plan& plan) {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (const Parameter& parameter : model.parameters()) {
    const at::Tensor value = products::dense(parameter.value->detach());
    constexpr std::string_view kFused = "attention.qkv.";
    const std::size_t at = parameter.name.find(kFused);
    if (at == std::string::npos || !plan.bindings(parameter.name).empty()) {
      named.emplace_back(parameter.name, value);
      continue;
    }
    const auto layer = std::stoll(parameter.name.substr(std::string_view("layers.").size()));
    const AttentionSpec& attention = model.block(layer).spec().attention;
    const std::int64_t key = attention.kv_heads * attention.head_width;
    const auto parts = value.split_with_sizes(
        {attention.heads * attention.head_width, key, attention.kv_heads * attention.values()}, 0);
    for (const auto& [name, n] : {std::pair{"query.", 0}, std::pair{"key.", 1}, std::pair{"value.", 2}}) {
      named.emplace_back(parameter.name.substr(0, at) + "attention." + name + parameter.name.substr(at + kFused.size()),
                         parts[static_cast<std::size_t>(n)]);
    }
  }
  return named;
}

// Pieces of one stored tensor, by item and part.
using Pieces = std::map<std::int64_t, std::map<std::int64_t, at::Tensor>>;

at::Tensor joined(const Pieces& pieces, const Binding& binding) {
  std::vector<at::Tensor> items;
  for (const auto& [item, parts] : pieces) {
    std::vector<at::Tensor> rows;
    for (const auto& [index, part] : parts) {
      rows.push_back(binding.piece.blocks > 1 ? part.unflatten(0, {binding.piece.blocks, -1}) : part);
    }
    at::Tensor value = rows.front();
    if (binding.piece.blocks > 1) {
      value = at::stack(rows, 1).flatten(0, 2);
    } else if (rows.size() > 1) {
      value = binding.piece.interleaved ? at::stack(rows, 1).flatten(0, 1) : at::cat(rows, 0);
    }
    items.push_back(binding.layout == Layout::kTransposed ? value.t() : value);
  }
  return binding.piece.stacked ? at::stack(items) : binding.piece.by_item ? at::cat(items) : items.front();
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> stored_tensors(Transformer& model, const Plan& plan) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> order;
  std::map<std::string, std::pair<Binding, Pieces>> stored;
  for (const auto& [name, value] : named_parameters(model, plan)) {
    const std::vector<Binding> bindings = plan.bindings(name);
    const Binding binding = bindings.empty() ? Binding{name, Layout::kAsIs, {}, 0} : bindings.front();
    auto [place, fresh] = stored.try_emplace(binding.tensor, binding, Pieces{});
    if (fresh) {
      order.push_back(binding.tensor);
    }
    const bool items = binding.piece.stacked || binding.piece.by_item;
    place->second.second[items ? binding.item : 0][binding.piece.index] =
        binding.layout == Layout::kPlusOne ? value - 1 : value;
  }
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const std::string& name : order) {
    const auto& [binding, pieces] = stored.at(name);
    tensors.emplace_back(name, joined(pieces, binding).contiguous());
  }
  return tensors;
}

}  // namespace locus::transformer
