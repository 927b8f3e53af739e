#include "models/formats/torch/torch_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/base/shown.h"
#include "models/formats/tensor_table.h"
#include "models/formats/torch/pickle.h"
#include "models/formats/torch/torch_content.h"
#include "models/formats/torch/zip_records.h"

namespace locus::formats {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kPickleLimit = 256U << 20U;
// Tensors may share elements (tied weights, views), but their total size is limited by the file's.
constexpr std::int64_t kSharingFactor = 16;
constexpr std::int64_t kSharingFloor = std::int64_t{64} << 20;
// torch.serialization.MAGIC_NUMBER and PROTOCOL_VERSION of the form before zip.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kLegacyProtocol = 1001;

// The pickle with the tensors and, in its order, the bytes of each storage.
struct Opened {
  Pickle pickle;
  std::vector<Bytes> storages;
};

// −1 where the number does not fit.
std::int64_t storage_bytes(const PickleStorage& storage, std::int64_t count) {
  const auto width = static_cast<std::int64_t>(storage.dtype ? element_size(*storage.dtype) : 1);
  return checked_product({count, width}).value_or(-1);
}

std::string storage_context(const std::filesystem::path& path, const PickleStorage& storage) {
  return path.string() + ": storage " + shown(storage.key, 40);
}

Result<Opened> open_zip(Bytes bytes, const std::filesystem::path& path) {
  LOCUS_TRY(const auto records, read_zip_records(bytes, path));
  constexpr std::string_view kPickleName = "data.pkl";
  std::optional<std::string_view> folder;
  Bytes text;
  for (const auto& [name, content] : records) {
    const bool whole = name == kPickleName || name.ends_with("/data.pkl");
    if (whole && (!folder || name.size() < folder->size() + kPickleName.size())) {
      folder = name.substr(0, name.size() - kPickleName.size());
      text = content;
    }
  }
  if (!folder) {
    return bad_input("expected a record data.pkl as torch.save writes it, found none", path.string());
  }
  if (text.size() > kPickleLimit) {
    return too_large(
        "expected a pickle of at most " + std::to_string(kPickleLimit) + " bytes, found " + std::to_string(text.size()),
        path.string());
  }
  if (const auto order = records.find(std::string(*folder) + "byteorder");
      order != records.end() && order->second.size() == 3) {
    return unsupported("expected little-endian numbers, found big-endian ones", path.string());
  }
  LOCUS_TRY(Pickle pickle, within(read_pickle(text), path.string()));
  Opened opened{std::move(pickle), {}};
  for (const PickleStorage& storage : opened.pickle.storages) {
    const auto record = records.find(std::string(*folder) + "data/" + std::string(storage.key));
    if (record == records.end()) {
      return bad_input("expected its record, found none", storage_context(path, storage));
    }
    const std::int64_t size = storage_bytes(storage, storage.count);
    if (size < 0 || static_cast<std::uint64_t>(size) > record->second.size()) {
      return bad_input("expected " + std::to_string(storage.count) + " elements, found a record of " +
                           std::to_string(record->second.size()) + " bytes",
                       storage_context(path, storage));
    }
    opened.storages.push_back(record->second.first(static_cast<std::size_t>(size)));
  }
  return opened;
}

// Reads the next pickle of the old form and moves `rest` after it.
Result<Pickle> next_pickle(Bytes& rest, const char* what, const std::filesystem::path& path) {
  LOCUS_TRY(Pickle pickle,
            within(read_pickle(rest.first(std::min(rest.size(), kPickleLimit))), path.string() + ": " + what));
  rest = rest.subspan(pickle.size);
  return pickle;
}

// The old form: pickles of a magic number, a version, facts of the machine, the content and the storages' keys; then
// each storage as a count of elements (int64) and its bytes.
Result<Opened> open_legacy(Bytes bytes, const std::filesystem::path& path) {
  using Kind = PickleValue::Kind;
  Bytes rest = bytes;
  const auto magic = next_pickle(rest, "magic number", path);
  if (!magic.ok() || magic->at(magic->root).kind != Kind::kOpaque || magic->at(magic->root).text != kLegacyMagic) {
    return bad_input("expected a file of torch.save, found neither a zip archive nor torch's magic number",
                     path.string());
  }
  LOCUS_TRY(const Pickle version, next_pickle(rest, "version", path));
  if (version.at(version.root).kind != Kind::kInteger || version.at(version.root).integer != kLegacyProtocol) {
    return bad_input("expected version 1001 of torch's older form, found another", path.string());
  }
  LOCUS_TRY(const Pickle machine, next_pickle(rest, "machine", path));
  const PickleValue& facts = machine.at(machine.root);
  for (std::size_t n = 0; facts.kind == Kind::kDict && n + 1 < facts.items.size(); n += 2) {
    const PickleValue& value = machine.at(facts.items[n + 1]);
    if (machine.at(facts.items[n]).text == "little_endian" && value.kind == Kind::kBool && value.integer == 0) {
      return unsupported("expected little-endian numbers, found big-endian ones", path.string());
    }
  }
  LOCUS_TRY(Pickle content, next_pickle(rest, "content", path));
  LOCUS_TRY(const Pickle keys, next_pickle(rest, "storage keys", path));
  std::map<std::string_view, std::size_t> order;
  for (std::size_t n = 0; n < content.storages.size(); ++n) {
    order.emplace(content.storages[n].key, n);
  }
  Opened opened{std::move(content), {}};
  opened.storages.resize(opened.pickle.storages.size());
  const PickleValue& list = keys.at(keys.root);
  std::size_t found = 0;
  for (const PickleId id : list.items) {
    const auto place = order.find(keys.at(id).text);
    if (list.kind != Kind::kList || keys.at(id).kind != Kind::kText || place == order.end()) {
      return bad_input("expected a list of the storages' keys, found something else", path.string());
    }
    const PickleStorage& storage = opened.pickle.storages[place->second];
    const std::string context = storage_context(path, storage);
    if (rest.size() < 8) {
      return bad_input("expected its count of elements, found the end of the file", context);
    }
    std::int64_t count = 0;
    std::memcpy(&count, rest.data(), 8);
    rest = rest.subspan(8);
    const std::int64_t size = count == storage.count ? storage_bytes(storage, count) : -1;
    if (size < 0 || static_cast<std::uint64_t>(size) > rest.size()) {
      return bad_input("expected " + std::to_string(storage.count) + " elements, found " + std::to_string(count) +
                           " and " + std::to_string(rest.size()) + " bytes",
                       context);
    }
    opened.storages[place->second] = rest.first(static_cast<std::size_t>(size));
    rest = rest.subspan(static_cast<std::size_t>(size));
    order.erase(place);
    ++found;
  }
  if (found != opened.storages.size()) {
    return bad_input("expected " + std::to_string(opened.storages.size()) + " storages, found " + std::to_string(found),
                     path.string());
  }
  return opened;
}

// Checks that every element is inside the storage: offset + Σ (dim − 1) · stride is the last one.
Result<TensorInfo> place(const PickleTensor& tensor, Bytes storage, const std::string& name,
                         const std::filesystem::path& path) {
  TensorInfo info{name, tensor.dtype, tensor.shape, tensor.strides, tensor.offset, storage, path};
  std::vector<std::int64_t> dense;
  std::int64_t count = 0;
  if (!row_major(tensor.shape, dense, count)) {
    return bad_input("expected a shape whose size fits 63 bits, found " + shape_text(tensor.shape),
                     tensor_context(path, name));
  }
  if (count == 0) {
    info.offset = 0;
    return info;
  }
  const auto room = static_cast<std::int64_t>(storage.size() / element_size(tensor.dtype));
  std::optional<std::int64_t> last = tensor.offset;
  for (std::size_t n = 0; last && *last < room && n < tensor.shape.size(); ++n) {
    const auto reach = checked_product({tensor.shape[n] - 1, tensor.strides[n]});
    last = reach ? checked_sum({*last, *reach}) : std::nullopt;
  }
  if (!last || *last >= room) {
    return bad_input("expected elements inside its storage of " + std::to_string(room) + ", found shape " +
                         shape_text(tensor.shape) + ", strides " + shape_text(tensor.strides) + " from " +
                         std::to_string(tensor.offset),
                     tensor_context(path, name));
  }
  return info;
}

}  // namespace

Result<Source> read_torch_file(Bytes bytes, std::shared_ptr<const void> owner, const std::filesystem::path& path) {
  const bool zip = bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0;
  LOCUS_TRY(const Opened opened, zip ? open_zip(bytes, path) : open_legacy(bytes, path));
  LOCUS_TRY(TorchContent content, within(read_torch_content(opened.pickle), path.string()));
  if (content.tensors.empty()) {
    std::string names;
    for (const std::string& name : opened.pickle.inert) {
      names += (names.empty() ? "; not read: " : ", ") + name;
    }
    return bad_input("expected tensors, found none" + shown(names, 200), path.string());
  }
  TensorTable table;
  std::int64_t total = 0;
  for (const auto& [name, index] : content.tensors) {
    const PickleTensor& tensor = opened.pickle.tensors[index];
    LOCUS_TRY(TensorInfo info, place(tensor, opened.storages[tensor.storage], name, path));
    const auto size = checked_product({info.elements(), static_cast<std::int64_t>(element_size(info.dtype))});
    const auto sum = size ? checked_sum({total, *size}) : std::nullopt;
    total = sum.value_or(total);
    if (!sum || total / kSharingFactor > static_cast<std::int64_t>(bytes.size()) + kSharingFloor / kSharingFactor) {
      return bad_input("expected tensors of about the file's " + std::to_string(bytes.size()) +
                           " bytes, found far more that share them",
                       tensor_context(path, name));
    }
    table.tensors.push_back(std::move(info));
  }
  table.extra_json = std::move(content.extra_json);
  for (const std::string& warning : content.warnings) {
    table.warnings.push_back(path.string() + ": " + warning);
  }
  table.files = {path};
  table.owners.push_back(std::move(owner));
  return make_source(std::move(table));
}

}  // namespace locus::formats
