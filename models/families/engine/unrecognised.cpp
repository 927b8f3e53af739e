#include "models/families/engine/unrecognised.h"

#include <algorithm>

#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/families/engine/family.h"

namespace locus::families {

namespace {

constexpr std::size_t kNamed = 3;  // of many, as many are shown

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t n = 0; n < std::min(names.size(), kNamed); ++n) {
    list += (n == 0 ? "" : ", ") + shown(names[n], 60);
  }
  return list + (names.size() > kNamed ? ", …" : "");
}

std::string tensors_of(const formats::TensorSource& source) {
  std::vector<std::string> names;
  for (const formats::TensorInfo& tensor : source.tensors()) {
    const std::string shape = listed(tensor.shape, [](std::int64_t size) { return std::to_string(size); });
    names.push_back(tensor.name + " [" + shape + "]");
  }
  const std::string count = names.size() == 1 ? "one tensor" : std::to_string(names.size()) + " tensors";
  return count + (names.empty() ? "" : " (" + list_of(names) + ")");
}

// What a training script left beside the tensors of its pickle.
std::string beside(const CheckpointFiles& checkpoint) {
  const std::string& json = checkpoint.tensors->extra_json();
  const Result<Config> extra = json.empty() ? Result<Config>(Config()) : Config::parse_json(json, "");
  return extra.ok() && !extra->names().empty() ? " beside a training script's " + list_of(extra->names()) : "";
}

std::string known_families() {
  return listed_known(families(), "checkpoints", &Family::name);
}

}  // namespace

Error unrecognised(const CheckpointFiles& checkpoint) {
  const auto& metadata = checkpoint.tensors->metadata();
  const auto format = metadata.find("locus.format");
  const std::string kind = format == metadata.end() ? "" : format->second;
  if (kind.starts_with("trace/")) {
    return unsupported("expected a checkpoint, found a trace of a run: it opens in the window and in locus figure",
                       checkpoint.path.string());
  }
  if (kind.starts_with("training/")) {
    return unsupported("expected a checkpoint, found the state of a training beside it: open its folder",
                       checkpoint.path.string());
  }
  const std::string type = model_type(checkpoint);
  if (!type.empty()) {
    return unsupported(
        "expected a family that Locus reads, found model_type " + shown(type, 80) + "; known: " + known_families(),
        checkpoint.path.string());
  }
  const std::string config =
      checkpoint.config.file().empty() ? "no config.json" : "a config.json without a model_type that is known";
  return unsupported("expected a checkpoint of a family that Locus reads, found " + config + " and " +
                         tensors_of(*checkpoint.tensors) + beside(checkpoint) +
                         "; what opens: a folder with the config.json of " + known_families() +
                         ", or weights with the tensor names of one of them",
                     checkpoint.path.string());
}

}  // namespace locus::families
