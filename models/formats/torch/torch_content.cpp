#include "models/formats/torch/torch_content.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/shown.h"
#include "models/formats/json/json_events.h"

namespace locus::formats {

namespace {

using Kind = PickleValue::Kind;

constexpr int kDepthLimit = 64;
constexpr std::size_t kStepLimit = 2'000'000;  // a value may be shared, so a walk can be longer than the pickle
constexpr std::size_t kTensorNameLimit = 4096;
constexpr std::size_t kNameBytesLimit = 64U << 20U;
constexpr std::size_t kContentLimit = 1U << 20U;
constexpr std::array<std::string_view, 3> kWrappers{"model", "state_dict", "model_state_dict"};

// Walks the tensors below a value.
class Walk {
 public:
  explicit Walk(const Pickle& pickle) : pickle_(pickle) {}

  // Adds every tensor below `id` to `tensors`, named by its path after `prefix`.
  Status gather(PickleId id, const std::string& prefix, int depth = 0) {
    const PickleValue& value = pickle_.at(id);
    if (++steps_ > kStepLimit || depth > kDepthLimit) {
      return bad_input(depth > kDepthLimit ? "nested deeper than " + std::to_string(kDepthLimit) + " levels"
                                           : "values shared too often");
    }
    if (prefix.size() > kTensorNameLimit) {
      return bad_input("expected names of at most " + std::to_string(kTensorNameLimit) + " bytes, found a longer one");
    }
    if (value.kind == Kind::kTensor) {
      name_bytes_ += prefix.size();
      if (name_bytes_ > kNameBytesLimit) {
        return bad_input("tensor names of more than " + std::to_string(kNameBytesLimit) + " bytes");
      }
      tensors.emplace_back(prefix.empty() ? "tensor" : prefix, static_cast<std::size_t>(value.integer));
      return {};
    }
    const std::string start = prefix.empty() ? "" : prefix + ".";
    if (value.kind == Kind::kDict) {
      for (std::size_t n = 0; n + 1 < value.items.size(); n += 2) {
        const PickleValue& name = pickle_.at(value.items[n]);
        if (name.kind == Kind::kText || name.kind == Kind::kInteger) {
          LOCUS_CHECK(gather(value.items[n + 1],
                             start + (name.kind == Kind::kText ? std::string(name.text) : std::to_string(name.integer)),
                             depth + 1));
        }
      }
    } else if (value.kind == Kind::kList || value.kind == Kind::kTuple) {
      for (std::size_t n = 0; n < value.items.size(); ++n) {
        LOCUS_CHECK(gather(value.items[n], start + std::to_string(n), depth + 1));
      }
    }
    return {};
  }

  std::vector<std::pair<std::string, std::size_t>> tensors;

 private:
  const Pickle& pickle_;
  std::size_t steps_ = 0;
  std::size_t name_bytes_ = 0;
};

// Values without tensors as JSON text, up to a size.
class ContentText {
 public:
  explicit ContentText(const Pickle& pickle) : pickle_(pickle) {}

  // True when the limit is exceeded; the text so far is then useless.
  bool full() const { return text.size() + unwritten_ > kContentLimit || steps_ > kStepLimit; }

  void write(PickleId id, int depth = 0) {
    const PickleValue& value = pickle_.at(id);
    if (full() || depth > kDepthLimit) {
      text += "null";
      return;
    }
    switch (value.kind) {
      case Kind::kBool:
        text += value.integer != 0 ? "true" : "false";
        return;
      case Kind::kInteger:
        text += std::to_string(value.integer);
        return;
      case Kind::kNumber:
        return write_number(value.number);
      case Kind::kText:
        if (value.text.size() > kContentLimit) {
          unwritten_ += value.text.size();
          return;
        }
        text += json_quote(is_utf8(value.text) ? std::string(value.text) : shown(value.text, kContentLimit));
        return;
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kSet:
        return write_list(value, depth);
      case Kind::kDict:
        return write_object(value, depth, {});
      case Kind::kInert:
        // Writes an object as its fields: argparse's Namespace, a configuration class.
        if (value.items.size() == 3 && pickle_.at(value.items[2]).kind == Kind::kDict) {
          return write_object(pickle_.at(value.items[2]), depth, {});
        }
        break;
      default:
        break;
    }
    text += "null";
  }

  // Entries of the dict that are neither tensors nor in `skip`.
  void write_object(const PickleValue& dict, int depth, const std::vector<PickleId>& skip) {
    text += '{';
    steps_ += dict.items.size();
    // A later entry replaces an earlier one of the same name, as in Python.
    std::map<std::string, PickleId> entries;
    for (std::size_t n = 0; n + 1 < dict.items.size() && !full(); n += 2) {
      const PickleValue& name = pickle_.at(dict.items[n]);
      if ((name.kind == Kind::kText && name.text.size() <= kTensorNameLimit && is_utf8(name.text)) ||
          name.kind == Kind::kInteger) {
        entries[name.kind == Kind::kText ? std::string(name.text) : std::to_string(name.integer)] = dict.items[n + 1];
      }
    }
    bool first = true;
    for (const auto& [name, id] : entries) {
      if (full() || pickle_.at(id).kind == Kind::kTensor || std::find(skip.begin(), skip.end(), id) != skip.end()) {
        continue;
      }
      text += first ? "" : ",";
      text += json_quote(name) + ":";
      write(id, depth + 1);
      first = false;
    }
    text += '}';
  }

  std::string text;

 private:
  void write_number(double number) {
    std::array<char, 32> buffer{};
    const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    text += std::isfinite(number) && code == std::errc() ? std::string(buffer.data(), end) : "null";
  }

  void write_list(const PickleValue& list, int depth) {
    text += '[';
    steps_ += list.items.size();
    for (std::size_t n = 0; n < list.items.size() && !full(); ++n) {
      text += n == 0 ? "" : ",";
      write(list.items[n], depth + 1);
    }
    text += ']';
  }

  const Pickle& pickle_;
  std::size_t steps_ = 0;
  std::size_t unwritten_ = 0;
};

std::optional<PickleId> entry(const Pickle& pickle, const PickleValue& dict, std::string_view name) {
  std::optional<PickleId> found;
  for (std::size_t n = 0; n + 1 < dict.items.size(); n += 2) {
    const PickleValue& each = pickle.at(dict.items[n]);
    if (each.kind == Kind::kText && each.text == name) {
      found = dict.items[n + 1];
    }
  }
  return found;
}

void strip_module(std::vector<std::pair<std::string, std::size_t>>& tensors) {
  constexpr std::string_view kModule = "module.";
  const auto has = [&](const auto& each) { return each.first.starts_with(kModule); };
  if (!tensors.empty() && std::all_of(tensors.begin(), tensors.end(), has)) {
    for (auto& each : tensors) {
      each.first.erase(0, kModule.size());
    }
  }
}

}  // namespace

Result<TorchContent> read_torch_content(const Pickle& pickle) {
  TorchContent content;
  for (const std::string& name : pickle.inert) {
    content.warnings.push_back("Python's " + name + " is not read");
  }
  const PickleValue& root = pickle.at(pickle.root);
  Walk walk(pickle);
  std::vector<PickleId> taken;
  if (root.kind == Kind::kDict) {
    for (const std::string_view wrapper : kWrappers) {
      const std::optional<PickleId> id = entry(pickle, root, wrapper);
      if (id && walk.tensors.empty() && pickle.at(*id).kind == Kind::kDict) {
        LOCUS_CHECK(walk.gather(*id, ""));
        taken.push_back(*id);
      }
    }
  }
  const bool wrapped = !walk.tensors.empty();
  if (!wrapped) {
    LOCUS_CHECK(walk.gather(pickle.root, ""));
  }
  strip_module(walk.tensors);
  content.tensors = std::exchange(walk.tensors, {});
  if (wrapped) {
    if (const std::optional<PickleId> id = entry(pickle, root, "pe_model")) {
      LOCUS_CHECK(walk.gather(*id, ""));
      taken.push_back(*id);
    }
    strip_module(walk.tensors);
    for (const auto& [name, tensor] : std::exchange(walk.tensors, {})) {
      content.tensors.emplace_back("pe_model." + name, tensor);
    }
    for (std::size_t n = 0; n + 1 < root.items.size(); n += 2) {
      const PickleValue& name = pickle.at(root.items[n]);
      if (name.kind == Kind::kText && std::find(taken.begin(), taken.end(), root.items[n + 1]) == taken.end()) {
        LOCUS_CHECK(walk.gather(root.items[n + 1], std::string(name.text.substr(0, kTensorNameLimit))));
      }
    }
    if (const std::size_t left = walk.tensors.size(); left > 0) {
      content.warnings.push_back(std::to_string(left) + (left == 1 ? " tensor" : " tensors") + " beside the model " +
                                 (left == 1 ? "is" : "are") + " left out: " + shown(walk.tensors[0].first, 80) +
                                 (left == 1 ? "" : ", …"));
    }
  }
  if (root.kind == Kind::kDict) {
    ContentText json(pickle);
    json.write_object(root, 0, taken);
    if (json.full()) {
      content.warnings.push_back("values beside the tensors take more than 1 MiB and are left out");
    } else if (json.text != "{}") {
      content.extra_json = std::move(json.text);
    }
  }
  return content;
}

}  // namespace locus::formats
